"""Quiet rounds that are leapt over give what they give when they are played: state, events and traffic. No Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.state import LIST_RECORDS
from emulator.rounds.records import CONSTANT, SCRATCH, fields_of, words_of
from tests.reference.random_layers import layered_batch
from tests.reference.random_scenarios import random_batch, to_toml
from tests.reference.stretched import stretched
from tests.rounds.kafka.compared import Played, events_of, played, scenarios_of, with_protocol

LONGER = 20
NOT_STATE = (SCRATCH, CONSTANT)


def fields(record: type) -> list[str]:
    return [name for name, field in fields_of(record).items() if field.type is np.int64 and field.kind not in NOT_STATE]


def differences(plain: Played, leapt: Played) -> list[object]:
    """Fields, entries of lists, events, traffic and violations that differ."""
    found: list[object] = []
    for record, of in ((Partition, "partitions"), (Replica, "replicas")):
        for name in fields(record):
            left, right = getattr(plain.state, of)[name], getattr(leapt.state, of)[name]
            found += [(of, name, int(at), int(left[at]), int(right[at])) for at in np.flatnonzero(left != right)]
    left_events, right_events = events_of(plain), events_of(leapt)
    for place in left_events.keys() | right_events.keys():
        left_rows, right_rows = (rows.get(place, []) for rows in (left_events, right_events))
        if left_rows != right_rows and sorted(map(str, left_rows)) != sorted(map(str, right_rows)):
            found.append(("events", place))
    for name in plain.told.traffic.dtype.names:
        if (plain.told.traffic[name] != leapt.told.traffic[name]).any():
            found.append(("traffic", name))
    for lists in LIST_RECORDS:
        left, right = getattr(plain.state, lists), getattr(leapt.state, lists)
        if (left.offsets != right.offsets).any():
            found.append((lists, "offsets", int(np.flatnonzero(left.offsets != right.offsets)[0])))
        elif (left.words != right.words).any():
            found.append((lists, "words", [int(at) for at in np.argwhere(left.words != right.words)[0]]))
    if not np.array_equal(words_of(plain.told.violations), words_of(leapt.told.violations)):
        found.append(("violations",))
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


@pytest.mark.parametrize(
    ("seed", "protocol", "layers"),
    [
        (71, "kafka", ("elr", "late_news", "fetching", "moments", "reassigned", "rates")),
        (72, "kafka", ("fetching", "reassigned", "cut_racks", "seldom", "limits", "retained", "deleted", "rates")),
        (73, "kafka-kip101", ("late_news", "fetching", "moments", "reassigned", "uneven", "limits", "retained")),
    ],
)
def test_leaps_over_layers_change_nothing(tmp_path: Path, seed: int, protocol: str, layers: tuple[str, ...]) -> None:
    """Several fetches a round, deaths within one, reassignments, rates: what a cluster by default has, drawn apart."""
    batch = stretched(layered_batch(seed, 40, *layers), 20)
    scenarios = with_protocol(scenarios_of(to_toml(batch), tmp_path), protocol).scenarios
    plain, leapt = played(scenarios, traced=False, leaps=False), played(scenarios, traced=False, leaps=True)
    assert differences(plain, leapt)[:5] == []
    assert leapt.state.partitions["played"].sum() * 4 < plain.state.partitions["played"].sum() * 3


CAUGHT_UP_APART = """
name = "apart"
rounds = 400
[cluster]
brokers = 3
racks = 2
session_timeout_rounds = 6
fetches_per_round = 1
config = { "replica.fetch.max.bytes" = 400 }
[[topics]]
name = "t"
assignment = [[1, 3, 2]]
config = { "segment.bytes" = 3000 }
[[workload]]
topic = "t"
records_per_round = 2
record_bytes = 100
acks = "1"
[[faults]]
kind = "broker_pause"
broker = 3
from_round = 10
to_round = 60
[[faults]]
kind = "rack_isolation"
rack = "0"
clients = true
from_round = 62
to_round = 390
"""


def test_who_catches_up_with_a_leader_that_is_cut_off(tmp_path: Path) -> None:
    """With its rack-mate: nothing else changes when 3 has all that 1 has, of which it lacks 100 records, and gets 4 a round."""
    scenarios = scenarios_of(CAUGHT_UP_APART, tmp_path).scenarios
    plain, leapt = played(scenarios, traced=True, leaps=False), played(scenarios, traced=False, leaps=True)
    leo = {(int(row["at_round"]), int(row["broker"])): int(row["leo"]) for row in plain.told.trace}
    assert leo[200, 3] == leo[200, 1] == leo[62, 1] > leo[62, 3] + 90
    assert differences(plain, leapt) == []
    assert leapt.state.partitions["played"].sum() < 200


CLOSED_BY_RETENTION = """
name = "closed"
rounds = 400
round_ms = 500
[cluster]
brokers = 1
config = { "log.retention.check.interval.ms" = 20000, "remote.log.storage.system.enable" = true }
[[topics]]
name = "t"
partitions = 1
replication_factor = 1
config = { "remote.storage.enable" = true, "local.retention.bytes" = 0, "segment.bytes" = 1000000, "segment.ms" = 15000 }
[[workload]]
topic = "t"
records_per_round = 2
record_bytes = 100
acks = "1"
"""


def test_a_segment_is_as_old_as_its_first_chunk(tmp_path: Path) -> None:
    """Retention closes the active one in round 120, the next begins in 121, and is old enough 30 rounds after that."""
    scenarios = scenarios_of(CLOSED_BY_RETENTION, tmp_path).scenarios
    plain, leapt = played(scenarios, traced=False, leaps=False), played(scenarios, traced=False, leaps=True)
    assert differences(plain, leapt) == []
    rolls = {row["round"] for rows in events_of(plain).values() for row in rows if row["kind"] == "segment_roll"}
    assert {120, 151} <= rolls
    assert leapt.state.partitions["played"].sum() < 200


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
    assert leapt.state.partitions["played"].max() < 10, "leaps go through the ends of time buckets"
    produced = [4 * 10 * 100 * 17_280] * 10
    assert leapt.told.traffic["bytes_produced"].reshape(3, 10).sum(axis=0).tolist() == produced
    for name in ("bytes_in", "bytes_out"):
        fetched = leapt.told.traffic[name].reshape(3, 10).sum(axis=0).tolist()
        assert fetched == [2 * written for written in produced], "two followers have a round's records at its end"
    ends = [(bucket + 1) * produced[0] for bucket in range(10)]
    assert (leapt.told.traffic["local_bytes"].reshape(3, 10).sum(axis=0) == [3 * end for end in ends]).all()
