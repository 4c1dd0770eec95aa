"""Truncation detected by epoch (KIP-320), on the failures of KIP-101 and KIP-405; and what Kafka's client does not detect."""

from __future__ import annotations

from typing import Any

import pytest

from ..tiered.cases import RECORD_BYTES, fault, given_log, produce, remote, tiered_case
from .cases import counts, group, ms, seen, unread
from .rules import MUTANTS
from .simulate import Result, simulate


def _hard_failures(consumers: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    """KIP-405, scenario 3 (2 of KIP-101): 1 and 2 crash in round 3, 2 has flushed msg0 only, is back first and leads in epoch 2.

    0 and 1 are remote. msg3 comes in round 12 and msg4 in 20, which closes 2's segment 1-1; what is copied goes in round 25.
    """
    both = [given_log(3, [[0, 0]], segments=[2], flushed_offset=flushed) for flushed in (3, 1)]
    return tiered_case(
        **{
            "rounds": 32,
            "config": {"log.retention.check.interval.ms": ms(25)},
            "topic_config": {"segment.ms": 1000, "local.retention.bytes": RECORD_BYTES, "unclean.leader.election.enable": True},
            "initial": {
                "leader": 1,
                "leader_epoch": 0,
                "isr": [1, 2],
                "replicas": dict(zip((1, 2), both, strict=True)),
                "remote_segments": [remote(0, 1, [[0, 0]])],
            },
            "workload": [produce(12), produce(20)],
            "faults": [fault("broker_crash", 3, 17, broker=1), fault("power_loss", 3, 6, broker=2)],
            "consumers": consumers,
            **given,
        }
    )


def _read(result: Result, name: str = "g") -> list[tuple[int, int]]:
    """What the group read, as (epoch, offset), in order."""
    return [record for taken in result.readers[name].taken for record in taken.records]


def test_the_scenario_with_a_reader_that_has_read_msg1() -> None:
    """Position 2 of LE-0; 2 says that LE-0 ends at 1: back to 1, and msg3 instead of msg1."""
    reader = group(start=0, records_per_round=2, to_round=2)
    result = simulate(_hard_failures([reader, {**reader, "from_round": 4, "to_round": None}]), watch=True)
    led = next(event.round for event in result.partition.ledger.events if event.kind == "unclean_election")
    rows = {row["round"]: row for row in result.trace}
    assert (rows[1]["position"], rows[1]["epoch"]) == (2, 0)
    assert (rows[led]["answer"], rows[led]["position"], rows[led]["epoch"]) == ("truncated", 1, 0)
    assert unread(result, "loss") == [("truncated", led, led + 1, 1, 2)]
    assert _read(result) == [(0, 0), (0, 1), (2, 1), (2, 2)]
    assert counts(result)["truncations"] == counts(result)["read_lost"] == 1
    assert counts(result)["resets"] == 0
    assert unread(result, "stretch")[0][0] == "leaderless"
    assert {name for _, name, _ in result.violations} <= {"ConsistentRead"}


def test_before_kip_320_it_passes_over_msg3() -> None:
    """With the position valid again nobody tells the reader that 1 is another record now."""
    reader = group(start=0, records_per_round=2, to_round=2)
    case = _hard_failures([reader, {**reader, "from_round": 18, "to_round": None}])
    result = simulate({**case, "read_rules": MUTANTS["no-epoch-check"]}, watch=True)
    assert _read(result) == [(0, 0), (0, 1), (2, 2)]
    assert "ReadsOneLog" in {name for _, name, _ in result.violations}
    assert (2, 1) in _read(simulate(case))


def test_without_a_policy_the_reader_stops() -> None:
    reader = group(start=0, records_per_round=2, to_round=2, auto_offset_reset="none")
    result = simulate(_hard_failures([reader, {**reader, "from_round": 4, "to_round": None}]))
    assert (counts(result)["stopped"], counts(result)["position"]) == ("truncated", 2)
    assert unread(result, "loss") == [("truncated", 6, 7, 1, 2)]


def test_a_position_without_an_epoch_is_not_checked() -> None:
    """Started at 3 by number, it has read nothing: above the log end of the new leader, and reset."""
    rows = [group(start=3, to_round=2), group(from_round=4)]
    result = simulate(_hard_failures(rows))
    assert unread(result, "skip", "loss") == []
    assert counts(result)["resets"] == 1 and counts(result)["truncations"] == 0
    assert _read(result) == [(2, 1), (2, 2)]


@pytest.mark.parametrize("fetches", [1, 2])
def test_reads_go_by_the_epochs(fetches: int) -> None:
    """From the start, when all but the last record are remote only: msg0 from 0-1, then msg3 from 1-1, never msg1.

    With two fetches a round that is one read of two pieces.
    """
    late = group(start="earliest", from_round=27)
    result = simulate(_hard_failures([late], fetches_per_round=fetches), watch=True)
    taken = result.readers["g"].taken
    remotely: list[list[tuple[int, int]]] = [[(0, 0)], [(2, 1)]] if fetches == 1 else [[(0, 0), (2, 1)]]
    assert [one.records for one in taken if one.source == "remote"] == remotely
    assert [one.records for one in taken if one.source == "page_cache"] == [[(2, 2)]]
    assert counts(result)["remote_requests"] == 2  # a fetch ends there as well: msg1 is not in hand
    assert result.violations == []


@pytest.mark.parametrize("fetches", [1, 2])
def test_kafka_reads_on_to_the_end_of_the_segment(fetches: int) -> None:
    """RemoteLogManager.read: with 0 comes msg1, which no log has any more; msg3 is passed over, whatever is read then."""
    case = _hard_failures([group(start="earliest", from_round=27)], fetches_per_round=fetches)
    result = simulate({**case, "read_rules": MUTANTS["remote-read-to-segment-end"]}, watch=True)
    assert _read(result) == [(0, 0), (0, 1), (2, 2)]
    assert "ReadsLineage" in {name for _, name, _ in result.violations}


def test_an_older_epoch_that_reaches_further_hides_a_truncation() -> None:
    """The check compares offsets only. The reader has 10 and 11 of epoch 2; the new leader has them, and more, of epoch 1."""
    case = tiered_case(
        rounds=10,
        topic_config={"unclean.leader.election.enable": True},
        initial={
            "leader": 1,
            "leader_epoch": 2,
            "isr": [1],
            "replicas": {1: given_log(12, [[0, 0], [2, 10]]), 2: given_log(15, [[0, 0], [1, 8]])},
        },
        faults=[fault("link_cut", 0, 10, broker=1, peer=2), fault("broker_crash", 3, 10, broker=1)],
        consumers=[group(start=8)],
    )
    result = simulate(case, watch=True)
    assert seen(result)[2] == 12
    cache = result.partition.replicas[2].log.cache
    assert cache.entries == [(0, 0), (1, 8), (3, 15)]
    assert cache.end_offset_for(2, 15) == (1, 15)
    assert counts(result)["truncations"] == 0
    assert _read(result) == [(0, 8), (0, 9), (2, 10), (2, 11), (1, 12), (1, 13), (1, 14)]
    assert result.readers["g"].misled
    # one epoch lower than 12 it would have been found
    case["initial"]["replicas"][2] = given_log(11, [[0, 0], [1, 8]])
    assert counts(simulate(case))["truncations"] == 1


def test_a_clean_election_costs_no_round() -> None:
    case = tiered_case(
        rounds=6,
        replicas=[2, 1],
        initial={
            "leader": 1,
            "leader_epoch": 0,
            "isr": [1, 2],
            "replicas": {1: given_log(20, [[0, 0]]), 2: given_log(20, [[0, 0]])},
        },
        commands=[{"round": 3, "kind": "preferred_leader_election"}],
        consumers=[group(start=0, records_per_round=4)],
    )
    result = simulate(case, watch=True)
    assert seen(result) == [0, 4, 8, 12, 16, 20]
    assert result.readers["g"].leader == (2, 1)
    assert result.violations == []
