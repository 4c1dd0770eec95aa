"""Quiet rounds that are leapt over give what they give when they are played: state, events and traffic. No Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.records import CONSTANT, SCRATCH, fields_of
from tests.reference.random_scenarios import random_batch, to_toml
from tests.rounds.kafka.compared import Played, events_of, played, scenarios_of, with_protocol

LONGER = 20
NOT_STATE = (SCRATCH, CONSTANT)


def fields(record: type) -> list[str]:
    return [name for name, field in fields_of(record).items() if field.type is np.int64 and field.kind not in NOT_STATE]


def differences(plain: Played, leapt: Played) -> list[object]:
    """Fields, events and traffic that differ."""
    found: list[object] = []
    for record, of in ((Partition, "partitions"), (Replica, "replicas")):
        for name in fields(record):
            left, right = getattr(plain.state, of)[name], getattr(leapt.state, of)[name]
            found += [(of, name, int(at), int(left[at]), int(right[at])) for at in np.flatnonzero(left != right)]
    left_events, right_events = events_of(plain), events_of(leapt)
    for place in left_events.keys() | right_events.keys():
        left_rows, right_rows = (sorted(map(str, rows.get(place, []))) for rows in (left_events, right_events))
        if left_rows != right_rows:
            found.append(("events", place))
    for name in plain.told.traffic.dtype.names:
        if (plain.told.traffic[name] != leapt.told.traffic[name]).any():
            found.append(("traffic", name))
    return found


@pytest.mark.parametrize(
    ("seed", "protocol", "elr", "late_news", "uneven"),
    [
        (1, "kafka", False, False, False),
        (2, "kafka", False, False, False),
        (24, "kafka", True, True, False),
        (33, "kafka-high-watermark", False, False, False),
        (34, "kafka-kip279", False, False, False),
        (44, "kafka", True, True, True),
        (46, "kafka", False, False, True),
    ],
)
@pytest.mark.parametrize("cut_racks", [False, True])
def test_leaps_change_nothing(
    tmp_path: Path, seed: int, protocol: str, elr: bool, late_news: bool, uneven: bool, cut_racks: bool
) -> None:
    batch = random_batch(seed, 60 if cut_racks else 150, elr, late_news, uneven=uneven, cut_racks=cut_racks)
    run = with_protocol(scenarios_of(to_toml(batch), tmp_path), protocol)
    longer = [replace(scenario, rounds=scenario.rounds * LONGER) for scenario in run.scenarios]
    for scenarios in (run.scenarios, longer):
        plain, leapt = played(scenarios, traced=False, leaps=False), played(scenarios, traced=False, leaps=True)
        assert differences(plain, leapt)[:5] == []
    assert leapt.state.partitions["played"].sum() < plain.state.partitions["played"].sum() / 4


def test_a_quiet_day_is_a_few_rounds(tmp_path: Path) -> None:
    text = """
        name = "quiet"
        rounds = 172_800
        [cluster]
        brokers = 3
        [[topics]]
        name = "t"
        partitions = 4
        replication_factor = 3
        [[workload]]
        topic = "t"
        records_per_round = 10
        record_bytes = 100
    """
    leapt = played(scenarios_of(text, tmp_path).scenarios, traced=False, leaps=True, bucket_rounds=17_280)
    assert leapt.state.partitions["appended"].tolist() == [1_728_000] * 4
    assert leapt.state.partitions["played"].max() < 100
