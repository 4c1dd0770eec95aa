"""Adds, ensemble changes and closes: the tables of BookKeeper's own HandleFailuresTest and LedgerClose2Test, and more."""

from __future__ import annotations

from typing import Any

import pytest

from .given import adds, case, command, crash, end_of, fault, fragments, play
from .ledger import Ledger
from .metadata import Fragment
from .simulate import simulate

BOTH = pytest.mark.parametrize("shape", [(3, 3, 2), (3, 3, 3)])
OUTAGE = fault("metadata_store_outage", None, 1, 6)


def answers(ledger: Ledger) -> list[str]:
    return [answer for _, answer in ledger.writer.results]


@BOTH
def test_dead_bookie_is_replaced_once_for_all_adds(shape: tuple[int, int, int]) -> None:
    ledger = simulate(case(shape, workload=[adds(0, 1, 5)], faults=[crash(1, 0)])).ledger
    assert fragments(ledger) == {0: [4, 2, 3]}
    assert ledger.metadata.writes == 1
    assert ledger.writer.results == [(entry, "OK") for entry in range(5)]


@BOTH
def test_second_failure_during_a_change(shape: tuple[int, int, int]) -> None:
    faults = [crash(1, 0), fault("drop_adds", 2, 0), crash(2, 3), OUTAGE]
    ledger = simulate(case(shape, workload=[adds(0, 1, 5)], faults=faults)).ledger
    assert {first: sorted(ensemble) for first, ensemble in fragments(ledger).items()} == {0: [3, 4, 5]}
    assert ledger.metadata.writes == 2
    assert answers(ledger) == ["OK"] * 5


@BOTH
def test_failure_after_an_acknowledged_entry_adds_a_fragment(shape: tuple[int, int, int]) -> None:
    ledger = simulate(case(shape, workload=[adds(0, 2)], faults=[crash(1, 1)])).ledger
    assert fragments(ledger) == {0: [1, 2, 3], 1: [4, 2, 3]}
    assert ledger.writer.lac == 1


@pytest.mark.parametrize(("dies_in", "last"), [(0, -1), (1, 0)])
@BOTH
def test_no_spare(shape: tuple[int, int, int], dies_in: int, last: int) -> None:
    faults = [crash(1, dies_in), crash(2, dies_in)]
    ledger = simulate(case(shape, bookies=3, workload=[adds(0, 2)], faults=faults)).ledger
    assert ledger.writer.results[last + 1][1] == "NotEnoughBookiesException"
    assert end_of(ledger) == ("CLOSED", last)
    assert fragments(ledger) == {0: [1, 2, 3]}


def test_one_spare_for_two_failures() -> None:
    """The change for the first is written; there is no bookie for the second."""
    ledger = simulate(case(bookies=4, workload=[adds(0, 1)], faults=[crash(1, 0), crash(2, 0)])).ledger
    assert fragments(ledger) == {0: [4, 2, 3]}
    assert answers(ledger) == ["NotEnoughBookiesException"]
    assert end_of(ledger) == ("CLOSED", -1)


def changing(shape: tuple[int, int, int] = (3, 3, 2), **given: Any) -> Ledger:
    """A ledger whose ensemble change waits for the metadata store; entry 0 has Qa."""
    return play(Ledger(case(shape, workload=[adds(0, 1)], faults=[crash(1, 0), OUTAGE], **given)), 4)


def test_an_add_with_its_quorum_waits_for_the_change() -> None:
    ledger = changing()
    assert ledger.writer.results == []
    assert ledger.writer.window.pending[0].completed
    assert play(ledger, 6).writer.results == [(0, "OK")]


def test_close_during_a_change() -> None:
    ledger = play(changing(commands=[command("close_ledger", 3)]), 10)
    assert answers(ledger) == ["LedgerClosedException"]
    assert end_of(ledger) == ("CLOSED", -1)
    assert fragments(ledger) == {0: [1, 2, 3]}


def test_closed_by_another_during_a_change() -> None:
    ledger = changing()
    ledger.metadata.close(1234, by="another")
    assert answers(play(ledger, 10)) == ["LedgerClosedException"]
    assert end_of(ledger) == ("CLOSED", 1234)


def test_recovery_by_another_during_a_change() -> None:
    ledger = changing()
    ledger.metadata.mark_in_recovery()
    assert answers(play(ledger, 10)) == ["LedgerFencedException"]
    assert end_of(ledger) == ("IN_RECOVERY", None)
    ledger.writer.queued = 1
    assert answers(play(ledger, 11)) == ["LedgerFencedException"] * 2


def test_older_fragment_changed_by_another_during_a_change() -> None:
    given = case(workload=[adds(0, 5)], faults=[crash(1, 1), crash(3, 2), fault("metadata_store_outage", None, 3, 8)])
    ledger = play(Ledger(given), 7)
    assert fragments(ledger) == {0: [1, 2, 3], 1: [4, 2, 3]}
    ledger.metadata.fragments[0].ensemble[2] = 5
    assert fragments(play(ledger, 20)) == {0: [1, 2, 5], 1: [4, 2, 3], 2: [4, 2, 5]}
    assert answers(ledger) == ["OK"] * 5


@pytest.mark.parametrize(("last", "result"), [(1, "OK"), (0, "MetadataVersionException"), (5, "MetadataVersionException")])
def test_close_of_a_ledger_that_another_closed(last: int, result: str) -> None:
    ledger = play(Ledger(case(workload=[adds(0, 2)], commands=[command("close_ledger", 5)])), 4)
    ledger.metadata.close(last, by="another")
    assert play(ledger, 8).writer.closes == [result]
    assert end_of(ledger) == ("CLOSED", last)


def test_close_wins_over_a_recovery_that_is_not_done() -> None:
    ledger = play(Ledger(case(workload=[adds(0, 2)], commands=[command("close_ledger", 5)])), 4)
    ledger.metadata.mark_in_recovery()
    assert play(ledger, 8).writer.closes == ["OK"]
    assert end_of(ledger) == ("CLOSED", 1)


def test_close_with_an_add_in_flight() -> None:
    silent = [fault("drop_adds", broker, 0) for broker in (1, 2)]
    ledger = simulate(case(workload=[adds(0, 1)], faults=silent, commands=[command("close_ledger", 3)])).ledger
    assert answers(ledger) == ["LedgerClosedException"]
    assert end_of(ledger) == ("CLOSED", -1)


def test_second_close_waits_for_the_first() -> None:
    commands = [command("close_ledger", 2), command("close_ledger", 3)]
    given = case(workload=[adds(0, 1)], faults=[OUTAGE], commands=commands)
    assert play(Ledger(given), 5).writer.closes == []
    assert simulate(given).ledger.writer.closes == ["OK", "OK"]


def test_adds_are_acknowledged_in_order() -> None:
    """Entries 1 and 2 have all they need, entry 0 lacks two bookies until its adds timed out and both were replaced in turn."""
    lost = [fault("drop_adds", broker, 0, from_offset=0, to_offset=1) for broker in (2, 3)]
    ledger = play(Ledger(case(workload=[adds(0, 1, 3)], faults=lost, config={"addEntryTimeoutSec": 2})), 3)
    assert [add.completed for add in ledger.writer.window.pending] == [False, True, True]
    assert play(ledger, 5).writer.results == []
    assert play(ledger, 6).writer.results == [(0, "OK"), (1, "OK"), (2, "OK")]
    assert fragments(ledger) == {0: [1, 4, 2]}


TWO_TIME_OUTS = case(
    workload=[adds(0, 12)],
    faults=[fault("drop_adds", broker, 5, 6, from_offset=5, to_offset=6) for broker in (2, 3)],
    config={"addEntryTimeoutSec": 1},
)
"""Entry 5 is lost on the way to bookies 2 and 3, which both live."""


def test_two_time_outs_of_one_add_are_changed_in_turn() -> None:
    """The first failure is changed alone; the second one's change takes bookie 2 again, which is registered and free by then."""
    ledger = play(Ledger(TWO_TIME_OUTS), 8)
    assert fragments(ledger) == {0: [1, 2, 3], 5: [1, 4, 3]}
    assert fragments(play(ledger, 9)) == {0: [1, 2, 3], 5: [1, 4, 2]}
    assert play(ledger, 30).writer.results == [(entry, "OK") for entry in range(12)]


def test_two_time_outs_in_different_rounds() -> None:
    """Of an add that needs all answers: it is lost to bookie 2, and then held up on its way to 4, which came for it."""
    faults = [fault("drop_adds", 2, 5, 6), fault("delay_adds", 4, 5, 20)]
    ledger = play(Ledger({**TWO_TIME_OUTS, **case((3, 3, 3)), "faults": faults}), 8)
    assert fragments(ledger) == {0: [1, 2, 3], 5: [1, 4, 3]}
    assert fragments(play(ledger, 11)) == {0: [1, 2, 3], 5: [1, 2, 3]}


def test_window_limits_what_is_in_flight() -> None:
    lost = [fault("drop_adds", broker, 0, 1) for broker in (1, 2, 3)]
    rows = simulate(case(workload=[adds(0, 1, per_round=5, in_flight=2)], faults=lost, config={"addEntryTimeoutSec": 1})).rounds
    assert [row["pending"] for row in rows[:3]] == [[0, 1], [0, 1], [0, 1]]
    assert [len(row["adds"]) for row in rows[3:7]] == [0, 2, 4, 5]


def test_silent_bookie_fails_after_the_timeout_and_may_be_picked_again() -> None:
    """Bookie 1 is replaced by 4 while it is silent; it is still registered when 2 dies, and the lowest free id."""
    given = case(bookies=5, rounds=40, workload=[adds(0, 30)], config={"addEntryTimeoutSec": 1})
    ledger = simulate({**given, "faults": [fault("broker_pause", 1, 3, 12), crash(2, 8)]}).ledger
    ensembles = list(fragments(ledger).values())
    assert ensembles[:3] == [[1, 2, 3], [4, 2, 3], [4, 1, 3]]
    assert answers(ledger) == ["OK"] * 30


def test_delayed_ensemble_change() -> None:
    """One bookie of 3/3/2 may fail as long as it likes; with a second one gone no entry has a quorum."""
    given = case(rounds=20, workload=[adds(0, 12)], config={"delayEnsembleChange": True})
    assert fragments(simulate({**given, "faults": [crash(1, 2)]}).ledger) == {0: [1, 2, 3]}
    ledger = simulate({**given, "faults": [crash(1, 2), crash(3, 6)]}).ledger
    assert fragments(ledger) == {0: [1, 2, 3], 6: [4, 2, 5]}
    assert answers(ledger) == ["OK"] * 12


def test_explicit_lac() -> None:
    """Without it readers lag an entry behind for good."""
    given = case(rounds=20, workload=[adds(0, 3)])
    assert simulate(given).rounds[-1]["reader_lac"] == 1
    assert simulate({**given, "config": {"explicitLacInterval": 1000}}).rounds[-1]["reader_lac"] == 2


def test_minimum_of_racks() -> None:
    racks = {1: "a", 2: "b", 3: "a", 4: "a", 5: "b"}
    given = case((3, 2, 2), bookies=5, racks=racks, workload=[adds(0, 4)], faults=[crash(2, 1)], placement="rack_aware")
    assert fragments(simulate(given).ledger) == {0: [1, 2, 3], 1: [1, 5, 3]}
    other = {**given, "racks": {**racks, 5: "a"}}
    assert fragments(simulate(other).ledger) == {0: [1, 2, 3], 1: [1, 4, 3]}
    ledger = simulate({**other, "config": {"enforceMinNumRacksPerWriteQuorum": True}}).ledger
    assert answers(ledger)[1] == "NotEnoughBookiesException"


def test_new_ensemble_of_a_rack_aware_policy() -> None:
    given = case((3, 2, 2), bookies=6, racks={1: "a", 2: "a", 3: "a", 4: "b", 5: "b", 6: "c"}, placement="rack_aware")
    del given["replicas"]
    ensemble = Ledger(given).metadata.fragments[0].ensemble
    assert ensemble == [1, 4, 6]
    assert Ledger({**given, "placement": "lowest_free_id"}).metadata.fragments == [Fragment(0, [1, 2, 3])]


def test_bookie_that_lost_its_session_is_not_picked() -> None:
    """In round 2 the silent bookie 4 still has its session, in round 5 it hasn't.

    Entry 1 had its two answers when 4 came for bookie 1, and is acknowledged when 4 has timed out.
    """
    silent = fault("broker_pause", 4, 0, 50)
    given = case(bookies=5, session_timeout_rounds=3, workload=[adds(0, 10)], config={"addEntryTimeoutSec": 1})
    assert fragments(simulate({**given, "faults": [silent, crash(1, 5)]}).ledger)[5] == [5, 2, 3]
    picked = fragments(simulate({**given, "faults": [silent, crash(1, 1)]}).ledger)
    assert picked == {0: [1, 2, 3], 1: [4, 2, 3], 2: [5, 2, 3]}
