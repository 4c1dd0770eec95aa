"""More of what schedules with readers may have, in layers over those of schedules.py, which stay as their seeds give them.

Logs and remote segments to begin with, moments of faults, changes of what brokers read with, other sizes of fetches and indexes,
deleted records, a workload by the second, and rounds that divide no period.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from ..random_additions import with_moments
from ..tiered.given_states import given_schedule, with_late_metadata
from ..tiered.schedules import BROKERS, RECORD_BYTES, uneven

INDEX_CACHE = "remote.log.index.file.cache.total.size.bytes"
QUOTA = "remote.log.manager.fetch.max.bytes.per.second"
QUEUE = "remote.log.reader.max.pending.tasks"
THREADS = "remote.log.reader.threads"


def with_more(seed: int, case: Mapping[str, Any]) -> dict[str, Any]:
    """The case of this seed with some of all."""
    rng = random.Random(f"consumers/more/{seed}")
    found = dict(case)
    if rng.random() < 0.5:
        found = with_given_state(rng, seed, found)
    if rng.random() < 0.5:
        found = with_dying_brokers(rng, found)
    if rng.random() < 0.7:
        found = {**found, "commands": [*found["commands"], *reading_altered(rng), *_records_deleted(rng)]}
        found["consumers"] = with_larger_fetches(rng, found["consumers"])
        found["topic_config"] = {**found["topic_config"], "index.interval.bytes": rng.choice((10, 70, 100, 250))}
    if rng.random() < 0.3:
        found["workload"] = [_by_the_second(rng, row, found["round_ms"]) for row in found["workload"]]
    return uneven(seed, found) if rng.random() < 0.4 else found


def with_given_state(rng: random.Random, seed: int, case: Mapping[str, Any]) -> dict[str, Any]:
    """The case with what given_states.py begins with; without remote segments if it has no remote storage."""
    initial = given_schedule(seed)["initial"]
    if case["remote_storage"]:
        found = {**case, "initial": initial}
        return with_late_metadata(found, seed) if rng.random() < 0.4 else found
    logs = {broker: _whole(log) for broker, log in initial["replicas"].items()}
    return {**case, "initial": {**initial, "replicas": logs, "remote_segments": []}}


def _whole(log: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in log.items() if key != "segments"}
    return {**kept, "local_log_start_offset": log["log_start_offset"]}


def with_dying_brokers(rng: random.Random, case: Mapping[str, Any]) -> dict[str, Any]:
    """The case with more records, half of them of acks 0 or 1, and with brokers that die at some moment of a round."""
    workload = [{**row, "records_per_round": row["records_per_round"] * rng.choice((1, 1, 2, 4))} for row in case["workload"]]
    workload = [{**row, "acks": rng.choice("01")} if rng.random() < 0.5 else row for row in workload]
    faults = list(case["faults"])
    for _ in range(rng.choice((0, 1, 2))):
        kind, begin = rng.choice(("broker_crash", "power_loss", "disk_loss")), rng.randint(3, 40)
        interval = {"from_round": begin, "to_round": begin + rng.randint(1, 6)}
        faults.append({"kind": kind, "broker": rng.choice(BROKERS), **interval})
    return {**case, "workload": workload, "faults": with_moments(rng, faults)}


def reading_altered(rng: random.Random) -> list[dict[str, Any]]:
    """Changes of threads, queues, quotas and index caches, of one broker or of all, one by one."""
    commands: list[dict[str, Any]] = []
    for _ in range(rng.choice((1, 2, 3))):
        key, value = rng.choice(
            (
                (THREADS, rng.choice((1, 2, 5))),
                (QUEUE, rng.choice((1, 2, 100))),
                (QUOTA, rng.choice((1, 3, 5, 14)) * RECORD_BYTES),
                (INDEX_CACHE, rng.choice((10, 20, 45, 1000))),
            )
        )
        brokers = BROKERS if rng.random() < 0.4 else (rng.choice(BROKERS),)
        round_ = rng.randint(1, 44)
        commands += [{"round": round_, "kind": "alter_config", "broker": broker, "config": {key: value}} for broker in brokers]
    return commands


def _records_deleted(rng: random.Random) -> list[dict[str, Any]]:
    rounds = [rng.randint(8, 40) for _ in range(rng.choice((0, 0, 1, 2)))]
    return [{"round": round_, "kind": "delete_records", "offset": rng.choice((-1, 5, 12, 20, 33))} for round_ in rounds]


def with_larger_fetches(rng: random.Random, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, some groups with a `fetch.max.bytes` that may be less than what a fetch brings of a partition."""
    most = {group: rng.choice((None, None, 1, 2, 3, 7)) for group in sorted({row["group"] for row in rows})}
    found = []
    for row in rows:
        records = most[row["group"]]
        given = {} if records is None else {"fetch.max.bytes": records * RECORD_BYTES + rng.choice((0, 0, -30, 50))}
        found.append({**row, "config": {**row["config"], **given}})
    return found


def _by_the_second(rng: random.Random, row: Mapping[str, Any], round_ms: int) -> dict[str, Any]:
    rate = round(row["records_per_round"] * 1000 / round_ms * rng.choice((0.3, 0.77, 1, 1.5)), 2)
    return {**{key: value for key, value in row.items() if key != "records_per_round"}, "records_per_second": rate}
