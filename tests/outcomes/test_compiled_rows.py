"""Tables of blocks of compiled rounds, from hand-made final states and told rows; no Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from emulator.faults.timeline import broker_timelines
from emulator.inputs.arrays import prepare, read_block
from emulator.outcomes.compiled import BLOCK_TABLES, BrokersOf, Names, block_tables, broker_round_rows, fence_events
from emulator.outcomes.compiled.columns import by_scenario, table_of
from emulator.outcomes.compiled.traffic import SUMS, TRAFFIC_SCHEMA
from emulator.rounds.kafka.constants import (
    ELECTION,
    EMPTY,
    FENCED,
    FETCHED,
    FOREVER,
    NEVER,
    NO_EPOCH,
    NOT_SENT,
    OFFLINE,
    RETURNING,
)
from emulator.rounds.kafka.invariants import EVENTUALLY_IN_SYNC, EVENTUALLY_LED, LEADER_COMPLETENESS, STRONG_ISR
from emulator.rounds.kafka.list_records import EpochEntry, Segment
from emulator.rounds.kafka.reading.records import Unread
from emulator.rounds.kafka.told import Told
from emulator.rounds.kafka.told_records import Event, PartitionTraceRow, TraceRow, Traffic, Violation
from emulator.rounds.packed import Packed
from emulator.rounds.records import rows
from emulator.scenario import Scenario, load_run

SCENARIO = """
rounds = 30
[cluster]
brokers = 4
[[topics]]
name = "a"
partitions = 1
replication_factor = 2
[[topics]]
name = "b"
assignment = [[4, 1, 3], [2, 3, 1]]
config = { "min.insync.replicas" = 2 }
[[workload]]
topic = "*"
records_per_round = 1
[[faults]]
kind = "broker_crash"
broker = 2
from_round = 5
to_round = 9
[[variants]]
name = "short"
rounds = 20
"""

Row = dict[str, Any]


@pytest.fixture
def scenarios(tmp_path: Path) -> tuple[Scenario, ...]:
    (tmp_path / "s.toml").write_text(SCENARIO)
    return load_run(str(tmp_path / "s.toml")).scenarios


@pytest.fixture
def block(scenarios: tuple[Scenario, ...]) -> Any:
    """b:0, b:1 and then a:0 of the base, then b:0 of the variant: places 0 to 3."""
    return read_block(prepare(scenarios, {}, True, 25).block(np.array([1, 2, 0, 4])))


def records(record: type, *values: dict[str, int]) -> Any:
    made = rows(record, len(values))
    for at, fields in enumerate(values):
        for name, value in fields.items():
            made[name][at] = value
    return made


def told(block: Any, **given: Any) -> Told:
    kinds = {
        "events": Event, "trace": TraceRow, "trace_epochs": EpochEntry, "trace_partitions": PartitionTraceRow,
        "trace_segments": Segment, "violations": Violation, "witness_epochs": EpochEntry, "unread": Unread,
    }  # fmt: skip
    return Told(**({n: rows(r, 0) for n, r in kinds.items()} | {"traffic": rows(Traffic, block.traffic)} | given))


def rows_of(block: Any, table: str, of: Any = None, state: Any = None) -> list[Row]:
    names = Names(block)
    fences, counts = fence_events(names, block.inputs, block.state)
    tables = block_tables(names, block.inputs, fences, state or block.state, of or told(block), [], counts)
    assert {name: t.schema.names for name, t in tables.items()} == {name: s.names for name, s in BLOCK_TABLES.items()}
    found: list[Row] = tables[table].to_pylist()
    return found


def test_partitions_have_their_brokers_in_order(block: Any) -> None:
    found = [(r["scenario_id"], r["topic"], r["partition"], r["replicas"], r["min_isr"]) for r in rows_of(block, "partitions")]
    assert found[0] == (0, "b", 0, [4, 1, 3], 2)
    assert found[1] == (0, "b", 1, [2, 3, 1], 2)
    assert (found[2][:3], len(found[2][3]), found[2][4]) == ((0, "a", 0), 2, 1)
    assert found[3] == (1, "b", 0, [4, 1, 3], 2)


def test_outcomes_name_brokers(block: Any) -> None:
    partitions = block.state.partitions
    partitions.isr[0], partitions.elr[0], partitions.leader[0] = 0b011, 0b100, 1
    partitions.acked_total[0], partitions.end_hw[0], partitions.end_leo[0], partitions.epoch[0] = 7, 8, 9, 3
    partitions.leader[1] = -1
    found = rows_of(block, "outcomes")
    assert (found[0]["isr"], found[0]["elr"], found[0]["leader"], found[0]["leader_epoch"]) == ([1, 4], [3], 1, 3)
    assert (found[0]["acked"], found[0]["hw"], found[0]["leo"]) == (7, 8, 9)
    assert found[1]["leader"] == -1
    assert found[0]["remote_copy_requests"] == 0


def test_replicas_are_those_assigned_at_the_end(block: Any) -> None:
    partitions, replicas = block.state.partitions, block.state.replicas
    partitions.assigned[0], partitions.isr[0] = 0b101, 0b001
    replicas.leading_epoch[:] = NO_EPOCH
    replicas.leading_epoch[0] = 2
    replicas.status[2] = OFFLINE
    replicas.leo[2], replicas.log_start[2], replicas.local_start[2], replicas.local_bytes[2] = 50, 10, 12, 4000
    found = [r for r in rows_of(block, "replicas") if (r["scenario_id"], r["topic"], r["partition"]) == (0, "b", 0)]
    assert [(r["broker"], r["role"], r["in_isr"]) for r in found] == [(4, "leader", True), (3, "offline", False)]
    names = ("log_start_offset", "local_log_start_offset", "leo", "local_bytes")
    assert [found[1][name] for name in names] == [10, 12, 50, 4000]
    replicas.status[0] = OFFLINE
    assert rows_of(block, "replicas")[0]["role"] == "offline"


def test_leader_epochs_end_where_the_next_one_starts(block: Any) -> None:
    caches: Any = [[0, 0], [2, 7]], [[0, 0]], [], [[5, 1]]
    offsets = np.zeros(len(block.state.replicas) + 1, np.int64)
    offsets[1:5], offsets[5:] = np.cumsum([len(cache) for cache in caches]), 4
    epochs = Packed(np.array([entry for cache in caches for entry in cache]), offsets)
    block.state.partitions.assigned[0] = 0b101
    found = rows_of(block, "leader_epochs", state=block.state._replace(epochs=epochs))
    columns = ("topic", "partition", "broker", "epoch", "start_offset", "end_offset")
    assert [tuple(r[c] for c in columns) for r in found] == [
        ("b", 0, 4, 0, 0, 7), ("b", 0, 4, 2, 7, None), ("b", 1, 2, 5, 1, None),
    ]  # fmt: skip


def test_events_are_told_and_follow_from_fences(block: Any) -> None:
    """Broker 2 is fenced and comes back; a broker that is to come later has no such events."""
    first = int(block.state.replicas.span[3])  # broker 2 of b:1
    spans = block.inputs.spans
    assert [spans.from_round[first + at] for at in (0, 1)] == [0, 5]
    last = next(at for at in range(first, len(spans)) if spans.from_round[at] == FOREVER)
    spans.status[first:last] = 0
    spans.status[first + 1] = FENCED
    spans.cause[first + 1] = 0
    spans.status[last - 1] = RETURNING
    spans.cause[last - 1] = -1
    block.state.partitions.assigned[1] = 0b011
    event = {
        "partition": 3, "at_round": 4, "kind": ELECTION, "broker": 4, "leader_epoch": 1, "from_offset": -1, "to_offset": 6,
        "cause": -1, "records": -1,
    }  # fmt: skip
    found = [tuple(r.values()) for r in rows_of(block, "events", told(block, events=records(Event, event)))]
    assert found[0] == (1, "b", 0, 4, "election", 4, 1, None, 6, None, None, None)
    fences = [(*row[:6], row[9]) for row in found[1:] if row[:3] == (0, "b", 1) and row[5] == 2]
    at_end = int(spans.from_round[last - 1])
    assert fences[0] == (0, "b", 1, 5, "fenced", 2, 0)
    assert set(fences[-2:]) == {(0, "b", 1, at_end, kind, 2, None) for kind in ("fenced", "unfenced")}
    assert not [row for row in found if row[:3] == (0, "b", 1) and row[5] == 1]


def test_witnesses_are_told_in_words(block: Any) -> None:
    seen = {
        "partition": 1, "at_round": 9, "invariant": STRONG_ISR, "cause": 0, "broker": 2, "leader": 3, "leader_epoch": 4,
        "leader_leo": 20, "leader_hw": 19, "leo": 18, "hw": 17, "agreed_to": 16, "epochs": 2, "leader_epochs": 1,
    }  # fmt: skip
    elected = {
        "partition": 1, "at_round": 10, "invariant": LEADER_COMPLETENESS, "cause": -1, "broker": 2, "leader_epoch": 5,
        "from_offset": 3, "to_offset": 6, "records_epoch": 4,
    }  # fmt: skip
    end = {
        "partition": 0, "at_round": 29, "invariant": EVENTUALLY_IN_SYNC, "cause": -1, "broker": 1, "leader": 4,
        "leader_epoch": 2, "leader_hw": 9, "leo": 8, "heard_round": NEVER,
    }  # fmt: skip
    unled = end | {"invariant": EVENTUALLY_LED, "leader": -1, "heard_round": -1}
    epochs = records(
        EpochEntry, {"epoch": 0, "start_offset": 0}, {"epoch": 1, "start_offset": 5}, {"epoch": 4, "start_offset": 6}
    )
    found = rows_of(
        block, "violations", told(block, violations=records(Violation, elected, seen, end, unled), witness_epochs=epochs)
    )
    assert [r["witness"] for r in found] == [
        "broker 2, elected in epoch 5, lacks offsets 3 to 5 of epoch 4",
        "broker 2: LEO 18, HW 17, epochs [[0, 0], [1, 5]]; leader 3 of epoch 4: LEO 20, HW 19, epochs [[4, 6]]; alike below 16",
        "broker 1 in round 29: LEO 8, last heard in round -1000000000; leader 4 in epoch 2, HW 9",
        "broker 1 in round 29: LEO 8, last heard in round -1; leader none in epoch 2, HW 9",
    ]
    assert [(r["round"], r["invariant"], r["cause"]) for r in found] == [
        (10, "LeaderCompleteness", None), (9, "StrongIsr", 0), (29, "EventuallyInSync", None), (29, "EventuallyLed", None),
    ]  # fmt: skip


def test_traces(block: Any) -> None:
    trace = records(
        TraceRow,
        {
            "partition": 0,
            "at_round": 3,
            "broker": 1,
            "role": 0,
            "remote_leo": 5,
            "in_isr": 1,
            "fetch_state": FETCHED,
            "epochs": 2,
            "segments": 2,
        },
        {"partition": 1, "at_round": 3, "broker": 2, "role": 2, "remote_leo": -1, "in_isr": 0, "fetch_state": NOT_SENT},
        {"partition": 1, "at_round": 3, "broker": 3, "role": 1, "remote_leo": -1, "fetch_state": EMPTY, "epochs": 1},
    )
    epochs = records(EpochEntry, {"epoch": 0}, {"epoch": 1, "start_offset": 5}, {"epoch": 4, "start_offset": 6})
    of_partitions = records(
        PartitionTraceRow, {"partition": 1, "at_round": 3, "leader": 2, "isr": 0b101, "last_known_elr": 0b010}
    )
    segments = records(Segment, {"base_offset": 0}, {"base_offset": 7})
    of = told(block, trace=trace, trace_epochs=epochs, trace_segments=segments, trace_partitions=of_partitions)
    found = rows_of(block, "trace", of)
    assert [(r["role"], r["remote_leo"], r["in_isr"], r["fetch_state"]) for r in found] == [
        ("follower", 5, True, "fetched"), ("offline", None, False, None), ("leader", None, False, "empty"),
    ]  # fmt: skip
    assert [[(e["epoch"], e["start_offset"]) for e in r["epochs"]] for r in found] == [[(0, 0), (1, 5)], [], [(4, 6)]]
    assert [r["local_segments"] for r in found] == [[0, 7], None, None]
    assert found[0]["latest_offset"] is None
    (row,) = rows_of(block, "trace_partitions", of)
    assert (row["leader"], row["isr"], row["elr"], row["last_known_elr"]) == (1, [1, 2], [], [3])


def test_traffic_adds_up_over_blocks(block: Any, scenarios: tuple[Scenario, ...]) -> None:
    """Two blocks; the variant's last bucket ends with it."""
    traffic = rows(Traffic, block.traffic)
    second = block.inputs.scenarios[1]
    assert (block.inputs.scenarios[0].buckets, second.buckets) == (2, 1)
    traffic[2 * 2 + 1].bytes_in = 10  # broker 3 of the base, its second bucket
    traffic[second.first_bucket + 2].leader_count = 4  # broker 4 of the variant, in the block its third
    sums = rows_of(block, "traffic", told(block, traffic=traffic))
    assert [(r["scenario_id"], r["broker_place"], r["bucket"]) for r in sums] == [(0, 2, 1), (1, 3, 0)]
    assert [{name: r[name] for name in SUMS if r[name]} for r in sums] == [{"bytes_in": 10}, {"leader_count": 4}]

    both = pa.Table.from_pylist([*sums, *sums])
    prepared = prepare(scenarios, {}, True, 25)
    brokers = [prepared.brokers_of(at) for at in range(len(scenarios))]
    given = [BrokersOf(at, scenarios[at].rounds, of.ids, of.spans, {}) for at, of in enumerate(brokers)]
    rows_made = broker_round_rows(given, 25, both).to_pylist()
    found = {tuple(row[name] for name in ("scenario_id", "broker", "from_round", "to_round")): row for row in rows_made}
    assert [row["scenario_id"] for row in rows_made] == [0] * 8 + [1] * 4
    assert len(found) == 4 * (2 + 1)
    assert found[0, 3, 25, 30]["bytes_in"] == 20
    assert found[1, 4, 0, 20]["leader_count"] == 8
    assert (found[0, 2, 0, 25]["up"], found[0, 2, 0, 25]["up_rounds"]) == _up(scenarios[0], 25)
    assert (found[1, 1, 0, 20]["up"], found[1, 1, 0, 20]["up_rounds"]) == (True, 20)


def _up(scenario: Scenario, to_round: int) -> tuple[bool, int]:
    """Whether broker 2 runs in the last round before this one, and in how many of those before."""
    brokers = [(b.id, b.rack) for b in scenario.brokers]
    segments = broker_timelines(scenario.faults, brokers, scenario.rounds, scenario.session_timeout_rounds)[2]
    running = [r for s in segments if not s.offline for r in range(s.from_round, s.to_round) if r < to_round]
    return to_round - 1 in running, len(running)


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(ValueError, match="table outcomes has no columns lost"):
        table_of("outcomes", 1, {"lost": [1]})


def test_rows_of_some_scenarios_are_found_in_a_table_of_all() -> None:
    own = by_scenario(pa.table({"scenario_id": pa.array([7, 2, 7, 3], pa.int32()), "at": [0, 1, 2, 3]}))
    assert sorted(own(7, 7).column("at").to_pylist()) == [0, 2]
    assert own(2, 6).column("at").to_pylist() == [1, 3]
    assert own(4, 6).num_rows == own(8, 8).num_rows == 0
    assert by_scenario(TRAFFIC_SCHEMA.empty_table())(0, 9).schema == TRAFFIC_SCHEMA
