"""Random schedules that begin with logs, segments and remote segments that a history could have left, and change more settings.

They are for comparing engines: after such a start invariants need not hold.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from ..random_logs import random_initial
from .schedules import BROKERS, RECORD_BYTES, ROUND_MS, schedule

LEFTOVERS = ("COPY_STARTED", "COPY_FINISHED", "DELETE_STARTED", "DELETE_FINISHED")
LAST_ROUND_OF_COMMANDS = 40


def given_schedule(seed: int) -> dict[str, Any]:
    """A schedule with a state to begin with, as `simulate` takes it."""
    case, rng = schedule(seed, by_local_log=False), random.Random(f"given/{seed}")
    initial = random_initial(rng, case["replicas"])
    leader = initial["replicas"][case["replicas"][0]]
    local_start = rng.randint(leader["log_start_offset"], leader["hw"])
    copied = _copied(rng, leader, local_start)
    covered = copied[-1]["end_offset"] + 1 if copied else leader["log_start_offset"]
    logs = {}
    for broker, log in initial["replicas"].items():
        most = local_start if log is leader else min(covered, log["hw"])
        start = local_start if log is leader else rng.randint(log["log_start_offset"], max(log["log_start_offset"], most))
        logs[broker] = _with_segments(rng, log, start)
    others = _leftovers(rng, [log for log in initial["replicas"].values() if log["epochs"]])
    commands = case["commands"] + [_command(rng) for _ in range(rng.choice((0, 0, 1, 2)))]
    return {
        **case,
        "initial": {**initial, "replicas": logs, "remote_segments": copied + others},
        "commands": sorted(commands, key=lambda command: command["round"]),
    }


def _with_segments(rng: random.Random, log: Mapping[str, Any], local_start: int) -> dict[str, Any]:
    """The log with its local part from `local_start` on, in some segments."""
    inside = range(local_start + 1, log["leo"])
    given = {**log, "record_bytes": RECORD_BYTES, "local_log_start_offset": local_start}
    if "flushed_offset" in log:
        given["flushed_offset"] = max(log["flushed_offset"], local_start)
    if rng.random() < 0.8:
        given["segments"] = sorted({local_start, *rng.sample(inside, min(len(inside), rng.randint(0, 4)))})
    return given


def _copied(rng: random.Random, leader: Mapping[str, Any], local_start: int) -> list[dict[str, Any]]:
    """Segments of the leader's log from its log start on, one behind the other, at least up to its local log start."""
    rows: list[dict[str, Any]] = []
    base = leader["log_start_offset"]
    until = rng.randint(local_start, leader["hw"])
    while base < until:
        end = min(base + rng.randint(0, 4), leader["hw"] - 1)
        rows.append(_remote(rng, base, end, leader["epochs"] if rng.random() < 0.5 else None))
        base = end + 1
    return rows


def _leftovers(rng: random.Random, logs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Other attempts, perhaps of a lineage that was given up, in any state."""
    rows = []
    for _ in range(rng.choice((0, 0, 1, 2, 3)) if logs else 0):
        log = rng.choice(logs)
        first, last = log["epochs"][0][1], log["leo"] - 1
        if first <= last:
            base = rng.randint(first, last)
            row = _remote(rng, base, rng.randint(base, last), log["epochs"])
            rows.append({**row, "state": rng.choice(LEFTOVERS)})
    return rows


def _remote(rng: random.Random, base: int, end: int, epochs: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"base_offset": base, "end_offset": end, "bytes": (end - base + 1) * RECORD_BYTES}
    return row if epochs is None else {**row, "epochs": [entry for entry in epochs if entry[1] <= end]}


def _command(rng: random.Random) -> dict[str, Any]:
    """A change of retention, of a broker's copies, or the end of the topic."""
    round_ = rng.randint(1, LAST_ROUND_OF_COMMANDS)
    if rng.random() < 0.1:
        return {"round": round_, "kind": "delete_topic"}
    key, value = rng.choice(
        (
            ("retention.bytes", rng.choice((-1, 5, 12)) * RECORD_BYTES),
            ("retention.ms", rng.choice((4, 10, 30)) * ROUND_MS),
            ("local.retention.bytes", rng.choice((-2, 0, 3 * RECORD_BYTES))),
            ("local.retention.ms", rng.choice((-2, 3 * ROUND_MS))),
            ("segment.bytes", rng.randint(1, 6) * RECORD_BYTES),
            ("remote.log.manager.copy.max.bytes.per.second", rng.choice((1, 20, 100))),
        )
    )
    value = max(value, -1) if key == "retention.bytes" else value
    command: dict[str, Any] = {"round": round_, "kind": "alter_config", "config": {key: value}}
    return {**command, "broker": rng.choice(BROKERS)} if key.startswith("remote.log.manager") else command


def with_late_metadata(case: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The schedule with segments that no broker has read of, others of another copier, a copy under way, in another order."""
    rng, initial = random.Random(f"late metadata/{seed}"), case["initial"]
    brokers = list(initial["replicas"])
    leader = initial.get("leader", case["replicas"][0])
    segments = [dict(row) for row in initial["remote_segments"]]
    for row in segments:
        if rng.random() < 0.5:
            row["copier"] = rng.choice(brokers)
        if rng.random() < 0.3:
            row["unread"] = True
    started = [row for row in segments if row.get("state") == "COPY_STARTED"]
    if started and leader != -1 and rng.random() < 0.8:
        row = rng.choice(started)
        row.pop("unread", None)
        row["copier"], row["moved_bytes"] = leader, rng.randrange(row["bytes"])
    rng.shuffle(segments)
    return {**case, "initial": {**initial, "remote_segments": segments}}
