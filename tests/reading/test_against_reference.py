"""A reader's round in SQL gives what the plain-Python reference gives, in thousands of rounds of random schedules, in one job."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from emulator.expressions.kafka.reading import decide, local, remote
from emulator.expressions.kafka.reading.consume import Broker, consumed
from emulator.expressions.kafka.reading.ordinary import after_ordinary
from emulator.expressions.kafka.reading.types import CACHED_INDEX, CAUSES, COUNTERS, FOLLOWERS, READER, WANT, Asked
from emulator.expressions.kafka.state import RUN
from tests.reference.consumers.cases import fenced_follower
from tests.reference.consumers.schedules import schedule
from tests.reference.consumers.sharing import RemoteRead, share_quota
from tests.reference.consumers.sources import IndexCache

from .situations import situations

SCHEDULES = (*range(16), 18, 23, 51, 54, 63, 85, 157)
"""Together they reach all that can be reached."""
CACHE = f"ARRAY<{CACHED_INDEX}>"
EPOCHS = "ARRAY<STRUCT<epoch: INT, start_offset: BIGINT>>"
SEGMENT = f"STRUCT<id: INT, base_offset: BIGINT, end_offset: BIGINT, epochs: {EPOCHS}, bytes: BIGINT, stored_bytes: BIGINT>"
INPUTS = {
    "seed": "INT", "readers": f"ARRAY<{READER}>", "wants": f"ARRAY<{WANT}>", "segments": f"ARRAY<{SEGMENT}>", "asked": "INT",
    "now": "INT", "is_lead": "BOOLEAN", "serves": "BOOLEAN", "client_leader": "INT", "client_epoch": "INT",
    "leader_epoch_start": "BIGINT", "leader_hw": "BIGINT", "believed_epoch": "INT", "leo": "BIGINT", "hw": "BIGINT",
    "last_stable_offset": "BIGINT", "log": f"ARRAY<STRUCT<{RUN}>>", "log_bytes": "BIGINT", "epochs": EPOCHS,
    "log_start": "BIGINT", "local_log_start": "BIGINT", "is_tiered": "BOOLEAN", "is_deleted": "BOOLEAN", "cold_below": "BIGINT",
    "page_cache_bytes": "BIGINT", "followers": FOLLOWERS, "isr": "INT", "store_up": "BOOLEAN", "lists_metadata": "BOOLEAN",
    "store_bytes": "BIGINT", "reads": "INT", "queue": "INT", "quota_bytes": "BIGINT", "cache": CACHE, "cache_bytes": "BIGINT",
    "after": f"ARRAY<{READER}>", "cache_after": CACHE,
}  # fmt: skip
ROW = Asked(
    **{name: name for name in Asked.__dataclass_fields__ if name not in ("round", "slot", "segment")},
    round="now",
    slot="asked",
    segment="get(segments, i_)",
)
BROKER = Broker("reads", "queue", "quota_bytes", "cache", "cache_bytes", "4096L")


def test_rounds_of_readers(spark: SparkSession, tmp_path: Path) -> None:
    cases = [*(schedule(seed) for seed in SCHEDULES), fenced_follower()]
    rows = [row for seed, case in enumerate(cases) for row in situations(seed, case)]
    frame = frame_of(spark, tmp_path, rows, INPUTS)
    asks = f"transform(readers, r -> {decide.asks('client_leader', 'client_epoch', 'now')})"
    got = frame.select(
        F.expr(asks).alias("asks"),
        F.expr(consumed("readers", "wants", ROW, BROKER)).alias("got"),
        F.expr(after_ordinary("readers", "wants", ROW)).alias("ordinary"),
        "asked", "after", "cache_after", "now", "seed",
    )  # fmt: skip
    ordinary = 0
    for one in got.collect():
        place = f"schedule {one['seed']}, round {one['now']}, broker {one['asked']}"
        assert set(one["asks"]) == {one["asked"]}, place
        for reader, after in zip(one["got"]["readers"], one["after"], strict=True):
            assert reader.asDict(True) == after.asDict(True), place
        assert one["got"]["cache"] == one["cache_after"], place
        assert one["ordinary"] in (None, one["after"]), place
        ordinary += one["ordinary"] is not None
    assert ordinary > 150
    readers = [reader for row in rows for reader in row["after"]]
    reached = {CAUSES[cause] for reader in readers for cause, rounds in enumerate(reader["waited"]) if rounds > 0}
    reached |= {CAUSES[one["cause"]] for reader in readers for one in reader["unread"]}
    reached |= {CAUSES[reader["stopped"]] for reader in readers if reader["stopped"] is not None}
    reached |= {name for reader in readers for name in COUNTERS if reader[name] > 0}
    assert {*CAUSES, *COUNTERS} - reached == {"epoch_unknown", "other_partition"}


def test_pieces(spark: SparkSession, tmp_path: Path) -> None:
    """Reads over cycles of unlike batches, shares of a quota, index caches."""
    rng = random.Random(7)
    rows = [_piece(rng) for _ in range(400)]
    frame = frame_of(spark, tmp_path, [row["given"] for row in rows], PIECES)
    got = frame.select(
        F.expr(local.end_within("log", "leo", "position", "limit", "leo")).alias("end"),
        F.expr(remote.shares("wanted", "quota")).alias("shares"),
        F.expr(remote.is_cached("cache", "id")).alias("hit"),
        F.expr(remote.cached("cache", "id", "size", "cache_limit")).alias("cache"),
        "at",
    ).collect()
    for one in got:
        expected = rows[one["at"]]["expected"]
        assert {name: one[name] for name in ("end", "shares", "hit")} == {
            name: expected[name] for name in ("end", "shares", "hit")
        }
        assert [(entry["segment"], entry["bytes"]) for entry in one["cache"]] == expected["cache"]


PIECES = {
    "at": "INT", "log": f"ARRAY<STRUCT<{RUN}>>", "leo": "BIGINT", "position": "BIGINT", "limit": "BIGINT",
    "wanted": "ARRAY<BIGINT>", "quota": "BIGINT", "cache": f"ARRAY<{CACHED_INDEX}>", "id": "INT", "size": "BIGINT",
    "cache_limit": "BIGINT",
}  # fmt: skip
_count = iter(range(10**6))


def _piece(rng: random.Random) -> dict[str, dict[str, Any]]:
    """One row of inputs, and what comes of them."""
    log, sizes = _log(rng)
    position = rng.randrange(len(sizes))
    limit = rng.randint(0, 12) * rng.choice((1, 50, 100))
    end = position + 1
    while end < len(sizes) and sum(sizes[position : end + 1]) <= limit:
        end += 1
    wanted = [rng.choice((None, 0, rng.randint(1, 900))) for _ in range(rng.randint(1, 5))]
    quota = rng.choice((None, rng.randint(0, 2000)))
    cache, used = IndexCache(), []
    for _ in range(rng.randint(0, 5)):
        used.append(rng.randint(1, 6))
        cache.use((0, used[-1]), 20 * used[-1], 160)
    before = list(cache.entries.items())
    id_, cache_limit = rng.randint(1, 6), rng.choice((10, 60, 160))
    hit = cache.use((0, id_), 20 * id_, cache_limit)
    return {
        "given": {
            "at": next(_count), "log": log, "leo": len(sizes), "position": position, "limit": limit, "wanted": wanted,
            "quota": quota, "cache": [{"segment": key[1], "bytes": size} for key, size in before], "id": id_,
            "size": 20 * id_, "cache_limit": cache_limit,
        },
        "expected": {
            "end": end,
            "shares": _shares(wanted, quota),
            "hit": hit,
            "cache": [(key[1], size) for key, size in cache.entries.items()],
        },
    }  # fmt: skip


def _log(rng: random.Random) -> tuple[list[dict[str, Any]], list[int]]:
    """Runs, with cycles of one batch or of several, and the size of each record."""
    runs: list[dict[str, Any]] = []
    sizes: list[int] = []
    for _ in range(rng.randint(1, 4)):
        cycle = [(rng.randint(1, 4), rng.choice((50, 100, 130))) for _ in range(rng.choice((1, 1, 2, 3)))]
        pattern = [{"records": count, "bytes": count * size} for count, size in cycle]
        runs.append(
            {
                "start_offset": len(sizes),
                "epoch": len(runs),
                "start_bytes": sum(sizes),
                "batch_records": sum(count for count, _ in cycle),
                "batch_bytes": sum(one["bytes"] for one in pattern),
                "pattern": pattern if len(cycle) > 1 else None,
            }
        )
        sizes += [size for count, size in cycle for _ in range(count)] * rng.randint(1, 3)
    return runs, sizes


def _shares(wanted: list[int | None], quota: int | None) -> list[int | None]:
    reads = [RemoteRead(None, at, at, 0, 0, None, 0, 0) for at, one in enumerate(wanted) if one is not None]  # type: ignore[arg-type]
    share_quota(reads, [one for one in wanted if one is not None], quota)
    granted = iter(read.granted_bytes for read in reads)
    return [None if one is None else next(granted) for one in wanted]


def frame_of(spark: SparkSession, folder: Path, rows: list[dict[str, Any]], types: dict[str, str]) -> Any:
    """Rows by way of a file: quicker than to hand nested ones over."""
    path = folder / "rows.json"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return spark.read.json(str(path), schema=", ".join(f"`{name}` {kind}" for name, kind in types.items()))
