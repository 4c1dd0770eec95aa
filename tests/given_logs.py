"""Cases that start from given logs, as a scenario file: broker 1 leads, broker 2 follows it from round 0 on."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tests.reference.scenario_toml import to_tables

HEAD = """
name = "given-logs"
rounds = 8
cluster = { brokers = 2, config = { "auto.leader.rebalance.enable" = false, "replica.fetch.wait.max.ms" = 0 } }
variants = [
    { name = "kip279", protocol = "kafka-kip279" },
    { name = "kip101", protocol = "kafka-kip101" },
    { name = "high-watermark", protocol = "kafka-high-watermark" },
]
"""


class Given(NamedTuple):
    """The logs at the start: "0-1 e1, e2" has offsets 0 and 1 of epoch 1, and knows of epoch 2, which has no record."""

    leader: str
    follower: str
    leader_hw: int = 0
    follower_hw: int = 0
    appends_in_round: int | None = None


def given_logs(cases: dict[str, Given]) -> str:
    """The text of a scenario file with a topic for each case."""
    rows: list[tuple[str, dict[str, Any]]] = []
    for topic, case in cases.items():
        leader = _log(case.leader, case.leader_hw)
        epoch = leader["epochs"][-1][0]
        rows += [
            ("topics", {"name": topic, "assignment": [[1, 2]]}),
            ("initial.partitions", {"topic": topic, "partition": 0, "leader": 1, "leader_epoch": epoch, "isr": [1]}),
            ("initial.replicas", {"topic": topic, "partition": 0, "broker": 1, **leader}),
            ("initial.replicas", {"topic": topic, "partition": 0, "broker": 2, **_log(case.follower, case.follower_hw)}),
        ]
        if case.appends_in_round is not None:
            round_ = case.appends_in_round
            rows.append(("workload", {"topic": topic, "from_round": round_, "to_round": round_ + 1, "records_per_round": 1}))
    return HEAD + to_tables(rows)


def _log(text: str, hw: int) -> dict[str, Any]:
    """The log as keys of [[initial.replicas]]."""
    epochs: list[list[int]] = []
    log_start = leo = None
    for part in text.split(", "):
        match = re.fullmatch(r"(?:(\d+)(?:-(\d+))? )?e(\d+)", part)
        assert match is not None, part
        first, last, epoch = match.groups()
        if first is None:
            assert leo is not None
            epochs.append([int(epoch), leo])
            continue
        log_start = int(first) if log_start is None else log_start
        epochs.append([int(epoch), int(first)])
        leo = int(last or first) + 1
    return {"log_start_offset": log_start, "leo": leo, "hw": hw, "epochs": epochs}
