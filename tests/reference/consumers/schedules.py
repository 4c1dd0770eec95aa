"""Small random schedules of a tiered partition with readers: which invariants do the mutants break, the round itself none?

python -m reference.consumers.schedules [SCHEDULES [NAME ...]]     (from the tests folder; names as in SUBJECTS)

The partitions are those of tiered/schedules.py, with racks, a small page cache, and three groups. Most groups take less in a
round than a fetch brings, and so have some of it in hand; most schedules have longer segments, for several fetches of each. In
half of them a round holds several fetches, of followers and of readers, some of which take more than one. In a quarter segments
are short, and groups read several of them in a round. After an unclean election groups read what others read otherwise.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from ..schedule_command import print_broken
from ..tiered import schedules as tiered
from .invariants import INVARIANTS, RESET
from .rules import MUTANTS, REAL, ReadRules
from .settings import RACK_AWARE
from .simulate import simulate

SCHEDULES = 600
SUBJECTS: dict[str, ReadRules] = {"consumers": REAL, **MUTANTS}
EXCUSED_BY_LOSSES = frozenset({"ConsistentRead"})
"""By an unclean election, or by one of a replica that lost committed records to a fault: C and D of docs/invariants.md."""
BY_LOCAL_RETENTION = {"leader.election.eligible.local.log.ms", "remote.copy.lag.bytes"}
"""Keys of later KIPs that say something about what stays local, or are refused if that is less."""


def schedule(seed: int, by_local_log: bool = True) -> dict[str, Any]:
    """One schedule, as `simulate` takes it; with leaders by local log (KIP-1303) in some if `by_local_log`."""
    rng = random.Random(f"consumers/{seed}")
    case = tiered.schedule(seed, by_local_log)
    record = tiered.RECORD_BYTES
    case["racks"] = {1: "a", 2: "b", 3: rng.choice("ab")}
    case.pop("rack_count", None)
    case["faults"] = [{**one, "rack": "ab"[int(one["rack"])]} if "rack" in one else one for one in case["faults"]]
    case["page_cache_bytes"] = rng.choice((None, 2 * record, 8 * record))
    case["config"] |= {
        "replica.selector.class": rng.choice((None, RACK_AWARE)),
        "remote.log.index.file.cache.total.size.bytes": rng.choice((20, 40, 1000)),
        "remote.log.manager.fetch.max.bytes.per.second": rng.choice((None, 2 * record, 6 * record)),
    }
    case["remote_storage"] |= {"read_bytes_per_second": rng.choice((None, None, 4 * record)), "read_ms": rng.choice((0, 0, 500))}
    case["config"] |= {
        "remote.log.reader.threads": rng.choice((1, 10)),
        "remote.log.reader.max.pending.tasks": rng.choice((0, 100)),
    }
    for row in case["workload"]:
        row["record_bytes"] = rng.choice((record, record, 60, 130))
    groups = [_group(rng, f"group-{number}") for number in range(3)]
    more = random.Random(f"consumers/in hand/{seed}")
    case["consumers"] = [row for rows in groups for row in (_in_small_parts(more, rows) if more.random() < 0.7 else rows)]
    case = _with_several_fetches(random.Random(f"consumers/fetches/{seed}"), _with_more_remote_reads(more, case))
    return _with_several_pieces(random.Random(f"consumers/pieces/{seed}"), case)


def _with_more_remote_reads(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """The case, often with longer segments, no local ones behind the active, no quota, or one thread for all reads."""
    topic_config, config, store = dict(case["topic_config"]), dict(case["config"]), dict(case["remote_storage"])
    if rng.random() < 0.6:
        topic_config["segment.bytes"] = rng.choice((5, 7, 10)) * tiered.RECORD_BYTES
        if not topic_config.keys() & BY_LOCAL_RETENTION:
            topic_config["local.retention.bytes"] = 0
    if rng.random() < 0.4:
        config["remote.log.manager.fetch.max.bytes.per.second"] = None
    if rng.random() < 0.25:
        config["remote.log.reader.threads"], store["read_ms"] = 1, 500
    return {**case, "topic_config": topic_config, "config": config, "remote_storage": store}


FETCHING: tuple[dict[str, float], ...] = (
    {"fetches_per_round": 2},
    {"fetches_per_round": 3},
    {"fetches_per_round": 5},
    {"fetch_round_trip_ms": tiered.ROUND_MS / 3},
    {"fetch_round_trip_ms": 30.125, "fetch_bytes_per_second": 3000},
    {"fetch_bytes_per_second": 20_000},
)


def _with_several_fetches(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """The case, every other with several fetches a round, most often with short ones, much to read, and too few threads."""
    if rng.random() < 0.5:
        return case
    config, topic_config, store = dict(case["config"]), dict(case["topic_config"]), dict(case["remote_storage"])
    if rng.random() < 0.5:
        config["remote.log.reader.threads"], store["read_ms"] = rng.choice((1, 1, 2)), rng.choice((100, 130, 240, 500))
    if rng.random() < 0.5:
        config["remote.log.manager.fetch.max.bytes.per.second"] = None
    if rng.random() < 0.7:
        topic_config["segment.bytes"], store["copy_bytes_per_second"] = 12 * tiered.RECORD_BYTES, None
        if not topic_config.keys() & BY_LOCAL_RETENTION:
            topic_config["local.retention.bytes"] = 0
    more = rng.choice((0, 2, 4))
    return {
        **case,
        **rng.choice(FETCHING),
        "config": config,
        "topic_config": topic_config,
        "remote_storage": store,
        "workload": [{**row, "records_per_round": row["records_per_round"] + more} for row in case["workload"]],
        "consumers": in_short_fetches(rng, case["consumers"]),
    }


def _with_several_pieces(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """The case, one in four with short segments, several fetches a round, and groups most of which have much to read."""
    if rng.random() < 0.75:
        return case
    config, topic_config, store = dict(case["config"]), dict(case["topic_config"]), dict(case["remote_storage"])
    topic_config["segment.bytes"], store["copy_bytes_per_second"] = rng.choice((2, 3, 4)) * tiered.RECORD_BYTES, None
    if not topic_config.keys() & BY_LOCAL_RETENTION:
        topic_config["local.retention.bytes"] = 0
    if rng.random() < 0.6:
        config["remote.log.manager.fetch.max.bytes.per.second"] = rng.choice((None, 14 * tiered.RECORD_BYTES))
        store["read_bytes_per_second"] = rng.choice((None, None, 14 * tiered.RECORD_BYTES))
    kept = {key: value for key, value in case.items() if key not in ("fetch_round_trip_ms", "fetch_bytes_per_second")}
    others = {row["group"]: _of_several_pieces(rng) for row in case["consumers"] if rng.random() < 0.7}
    consumers = [_late(row, *others[row["group"]]) if row["group"] in others else row for row in case["consumers"]]
    fetching = {"fetches_per_round": rng.choice((2, 4, 6, 10))}
    changed = {"config": config, "topic_config": topic_config, "remote_storage": store, "consumers": consumers}
    return {**kept, **fetching, **changed}


def _of_several_pieces(rng: random.Random) -> tuple[int, int, dict[str, Any]]:
    """As `_short_fetches`, of groups that take more than a segment in a round."""
    record = tiered.RECORD_BYTES
    limits = rng.choice(({}, {"records_per_round": rng.choice((5, 7))}, {"bytes_per_round": rng.choice((5, 8)) * record - 50}))
    return rng.choice((0, 10, 20)), rng.choice((1, 2, 3, 50)) * record, {"start": "earliest", **limits}


def in_short_fetches(rng: random.Random, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of which most groups have much to read when they start or come back, and take more in a round than a fetch brings."""
    others = {row["group"]: _short_fetches(rng) for row in rows if rng.random() < 0.8}
    return [_late(row, *others[row["group"]]) if row["group"] in others else row for row in rows]


def _short_fetches(rng: random.Random) -> tuple[int, int, dict[str, Any]]:
    """How many rounds a group is late, bytes of a fetch, and what it takes in a round."""
    record = tiered.RECORD_BYTES
    limits = rng.choice(({}, {"records_per_round": rng.choice((2, 3, 5))}, {"bytes_per_round": 4 * record - 50}))
    return rng.choice((0, rng.randint(5, 15))), rng.choice((1, 2, 3)) * record, {"start": "earliest", **limits}


def _late(row: dict[str, Any], rounds: int, fetch_bytes: int, limits: dict[str, Any]) -> dict[str, Any]:
    moved: dict[str, Any] = {key: row[key] + rounds for key in ("from_round", "to_round") if key in row}
    config = {**row["config"], "max.partition.fetch.bytes": fetch_bytes}
    return {**row, "records_per_round": None, "bytes_per_round": None, **limits, **moved, "config": config}


def _in_small_parts(rng: random.Random, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A group's rows with limits of a round, by bytes, by records or both, that leave part of a fetch; most start early."""
    records = rng.choice((1, 2, 2, 3))
    by_bytes = {"bytes_per_round": records * tiered.RECORD_BYTES + rng.choice((0, 0, -50))}
    by_records = {"records_per_round": records}
    limits = rng.choice((by_bytes, by_records, by_bytes | by_records))
    start = "earliest" if rng.random() < 0.7 else rows[0]["start"]
    fetch = rng.choice((records + 1, records + 1, 2 * records + 1, 50)) * tiered.RECORD_BYTES
    given = {"start": start, "records_per_round": None, **limits}
    return [{**row, **given, "config": {**row["config"], "max.partition.fetch.bytes": fetch}} for row in rows]


def _group(rng: random.Random, name: str) -> list[dict[str, Any]]:
    """A group that reads all the time, from some round on, or with a pause."""
    row: dict[str, Any] = {
        "group": name,
        "start": rng.choice(("earliest", "earliest", "latest", None, rng.randint(0, 30))),
        "records_per_round": rng.choice((None, 1, 2, 5)),
        "rack": rng.choice((None, "a", "b")),
        "config": {
            "auto.offset.reset": rng.choice(("earliest", "earliest", "latest", "latest", "none")),
            "isolation.level": rng.choice(("read_committed", "read_uncommitted")),
            "max.partition.fetch.bytes": rng.choice((1, 3, 50)) * tiered.RECORD_BYTES,
            "metadata.max.age.ms": rng.choice((2, 8, 600)) * tiered.ROUND_MS,
        },
    }
    begins = rng.choice((0, 0, rng.randint(1, 30)))
    if rng.random() < 0.5:
        return [{**row, "from_round": begins}]
    paused = begins + rng.randint(3, 12)
    return [{**row, "from_round": begins, "to_round": paused}, {**row, "from_round": paused + rng.randint(5, 20)}]


def broken(rules: ReadRules, seeds: Iterable[int]) -> dict[str, list[int]]:
    """For each invariant the seeds of the schedules in which it is broken without an excuse."""
    found: dict[str, list[int]] = {name: [] for name in (*INVARIANTS, RESET)}
    for seed in seeds:
        result = simulate({**schedule(seed), "read_rules": rules}, watch=True)
        names = {name for _, name, _ in result.violations}
        ledger = result.partition.ledger
        if ledger.counts["unclean_elections"] or any(event.kind == "committed_lost" for event in ledger.events):
            names -= EXCUSED_BY_LOSSES
        for name in names:
            found[name].append(seed)
    return {name: of_one for name, of_one in found.items() if of_one}


if __name__ == "__main__":
    print_broken(SUBJECTS, broken, SCHEDULES)
