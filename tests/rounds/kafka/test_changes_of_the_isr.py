"""When the ISR is large enough, and what becomes of a change of it that the controller has not heard of: by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.rounds.kafka.test_reassignments import both, to

FORGETFUL = {"kind": "stale_metadata", "broker": 1, "from_round": 8, "to_round": 24}
"""Broker 1 leads all the while. It is told nothing up to round 24, and in 25 first asks a controller that answers."""


def crash(broker: int, from_round: int, to_round: int) -> dict[str, Any]:
    return {"kind": "broker_crash", "broker": broker, "from_round": from_round, "to_round": to_round}


def cut(broker: int) -> dict[str, Any]:
    """It cannot ask for anything when the controller answers."""
    return {"kind": "link_cut", "broker": broker, "peer": 1, "from_round": 20, "to_round": 27}


def joins(folder: Path, *faults: dict[str, Any]) -> list[tuple[int, int]]:
    """(round, broker) of who joins the ISR from round 9 on."""
    return [(e.round, e.broker) for e in both(folder, [], [FORGETFUL, *faults]).events if e.kind == "isr_expand" and e.round > 8]


def test_all_replicas_are_enough_where_there_are_fewer_than_the_minimum(tmp_path: Path) -> None:
    """min.insync.replicas is 2, and from round 8 on 1 is the only replica (Partition.effectiveMinIsr)."""
    alone = both(tmp_path, [to(8, 1)], **{"min.insync.replicas": 2})
    assert alone.outcomes["refused"] == alone.outcomes["under_min_isr_rounds"] == alone.outcomes["unwritable_rounds"] == 0
    assert alone.outcomes["acked"] == 30 * 5


def test_a_replica_that_is_added_counts(tmp_path: Path) -> None:
    """With 4 there are two replicas, both of which acks=all asks for, until 4 is in the ISR."""
    added = both(tmp_path, [to(8, 1), to(15, 1, 4)], **{"min.insync.replicas": 2})
    [joined] = [e.round for e in added.events if e.kind == "isr_expand"]
    assert added.outcomes["under_min_isr_rounds"] == joined - 15 == 2
    assert added.outcomes["refused"] == 5 * 3  # it is refused in the round in which 4 joins, too: appends come first


def test_a_join_is_pending_until_the_controller_answers(tmp_path: Path) -> None:
    """3 asks to join in round 9 and is another broker from 18 on (KIP-903): until 25 nobody else may ask, 2 cannot then."""
    away = [crash(3, 2, 8), crash(2, 2, 14)]
    assert joins(tmp_path, *away, cut(2)) == [(25, 3), (27, 2)]
    assert joins(tmp_path, *away, crash(3, 12, 18), cut(2)) == [(25, 3), (27, 2)]
    assert joins(tmp_path, *away, crash(3, 12, 18)) == [(25, 2), (25, 3)]


def test_a_join_that_was_asked_for_before_the_restart_is_refused(tmp_path: Path) -> None:
    """3 asked for it in round 9, and can't ask when the controller answers: without a restart it joins all the same."""
    assert joins(tmp_path, crash(3, 2, 8), cut(3)) == [(25, 3)]
    assert joins(tmp_path, crash(3, 2, 8), crash(3, 12, 18), cut(3)) == [(27, 3)]


def test_a_controller_that_changed_the_isr_refuses_what_was_asked_before(tmp_path: Path) -> None:
    """3 asked for it in round 9; 2 is fenced in 15, so that the partition has another epoch."""
    assert joins(tmp_path, crash(3, 2, 8), crash(2, 12, 22), cut(3)) == [(25, 2), (27, 3)]
