"""Ensemble changes at their edges, worked out by hand from BookKeeper's client: rounds and reference end alike. No Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.bookkeeper.by_reference import of_reference, run_of_cases
from tests.reference.bookkeeper.given import adds, case, command, crash, fault
from tests.reference.bookkeeper.simulate import simulate
from tests.rounds.bookkeeper.compared import differences, of_rounds, played

OUTAGE = fault("metadata_store_outage", None, 2, 5)


def end_of(folder: Path, given: dict[str, Any], rounds: int | None = None) -> dict[str, Any]:
    """By the rounds, which end as the reference does, whether or not they leap; before `rounds`, if that is given."""
    cut = given if rounds is None else {**given, "rounds": rounds}
    expected = of_reference(simulate(cut, watch=True))
    for leaps in (False, True):
        seen = of_rounds(played(run_of_cases({"case": cut}, folder).scenarios, leaps), 0)
        assert not differences(expected, seen)
    return seen


def test_of_two_replaced_together_one_stays_without_a_spare(tmp_path: Path) -> None:
    """EnsembleUtils.replaceBookiesInEnsemble: an error only if nobody at all was replaced.

    All three die in round 3. Bookie 1 is changed alone, for 4; 2 and 3 together, and there is 5 alone: entry 3 has two answers.
    Of entry 4 the dead bookie 3 fails, and there is nobody.
    """
    given = case(bookies=5, workload=[adds(0, 12)], faults=[crash(one, 3) for one in (1, 2, 3)])
    seen = end_of(tmp_path, given)
    assert seen["fragments"] == [(0, [1, 2, 3]), (3, [4, 5, 3])]
    assert (seen["state"], seen["last_entry"], seen["acked"], seen["failed"]) == ("CLOSED", 3, 4, 1)


def test_a_recovery_goes_on_with_one_of_two(tmp_path: Path) -> None:
    """With delayEnsembleChange two failures of one add are one change; entry 5 is written back to 4 and 2, which is enough.

    Entry 5 is on bookie 1 alone when the writer crashes; 1 and 3 are gone when it is written back, and 4 is the only spare. Back
    again 3 says no of entry 6, as 2 does.
    """
    lost = [fault("drop_adds", one, 5, 6) for one in (2, 3)]
    given = case(
        bookies=4,
        workload=[adds(0, 6)],
        faults=[*lost, fault("client_crash", None, 6), crash(1, 12), crash(3, 12, 13)],
        commands=[command("recover_ledger", 10)],
        config={"delayEnsembleChange": True},
    )
    seen = end_of(tmp_path, given)
    assert (seen["state"], seen["last_entry"]) == ("CLOSED", 5)
    assert seen["fragments"] == [(0, [1, 2, 3]), (5, [4, 2, 3])]


@pytest.mark.parametrize(("bookies", "state", "last_entry"), [(3, "CLOSED", 3), (4, "CLOSED", 4)])
def test_who_finds_nobody_stops_before_it_asks_the_store(tmp_path: Path, bookies: int, state: str, last_entry: int) -> None:
    """MetadataUpdateLoop: the new ensemble is chosen first, then written, which tells that the ledger is being recovered.

    A recovery marks the ledger in round 4, in which bookie 1 dies under entry 4, which 2 and 3 have. Without a spare the writer
    closes the ledger at its LAC in round 5; with one it is told LedgerFenced, and the recovery finds entry 4.
    """
    given = case(bookies=bookies, workload=[adds(0, 5)], faults=[crash(1, 4)], commands=[command("recover_ledger", 4)])
    seen = end_of(tmp_path, given)
    assert (seen["state"], seen["last_entry"], seen["acked"], seen["failed"]) == (state, last_entry, 4, 1)
    assert seen["recoveries"] == [("done", "OK", last_entry)]


AWAY = fault("metadata_store_outage", None, 3, 9)


@pytest.mark.parametrize(("spare", "failed_by"), [([], 6), ([crash(4, 0)], 6), ([crash(4, 3)], 10), ([crash(4, 5)], 10)])
def test_who_finds_nobody_stops_while_the_store_is_away(tmp_path: Path, spare: list[dict[str, Any]], failed_by: int) -> None:
    """MetadataUpdateLoop chooses before it writes, among those of whom BookieWatcherImpl was told last.

    Bookie 1 dies under entry 4, and the store is away in rounds 3 to 8. Without a spare the add fails in the next round, and
    those due after it, but the ledger is closed when the store is back. Of a spare that died since nobody is told until then.
    """
    given = case(bookies=4 if spare else 3, workload=[adds(0, 7)], faults=[crash(1, 4), AWAY, *spare])
    before = end_of(tmp_path / "before", given, failed_by - 1)
    assert (before["failed"], before["refused_closed"]) == (0, 0)
    after = end_of(tmp_path / "after", given, failed_by)
    assert (after["failed"], after["state"]) == (1, "OPEN" if failed_by < 10 else "CLOSED")
    end = end_of(tmp_path / "end", given)
    assert (end["state"], end["last_entry"], end["acked"], end["failed"], end["refused_closed"]) == ("CLOSED", 3, 4, 1, 2)


def test_a_recovery_chooses_of_whom_the_store_told_last(tmp_path: Path) -> None:
    """BookieWatcherImpl: bookie 4 joins while the store is away, and no client knows of it; 5 died, and is chosen all the same.

    Entry 4 is written back from round 9 on, with 1 dead. In turn 5 comes for it, and 1, which was registered, until the store is
    back in round 20.
    """
    away = fault("metadata_store_outage", None, 8, 20)
    faults = [fault("client_crash", None, 5), fault("drop_adds", 1, 4, 5), away, crash(1, 9), crash(5, 8)]
    given = case(
        (3, 3, 3),
        bookies=5,
        workload=[adds(0, 5)],
        faults=faults,
        commands=[command("recover_ledger", 7), command("add_bookie", 10, broker=4)],
    )
    assert end_of(tmp_path / "before", given, 20)["recoveries"] == [("write", None, None)]
    end = end_of(tmp_path / "end", given)
    assert (end["state"], end["last_entry"]) == ("CLOSED", 4)
    assert end["fragments"] == [(0, [1, 2, 3]), (4, [4, 2, 3])]


@pytest.mark.parametrize(("window", "lacs"), [(1, (2, 3)), (2, (4, 4))])
def test_an_add_waits_for_the_new_bookie_to_answer(tmp_path: Path, window: int, lacs: tuple[int, int]) -> None:
    """PendingAddOp: a change takes no answer away that is needed, and sendAddSuccessCallbacks is called for answers alone.

    Bookie 1 dies in round 3, entry 3 has those of 2 and 3. Bookie 4, which comes for it, is silent up to round 7. With two adds
    in flight entry 4 goes out in round 4, and its answers acknowledge both; bookie 4 answers in time for each.
    """
    silent = fault("broker_pause", 4, 0, 7)
    given = case(bookies=4, workload=[adds(0, 5, in_flight=window)], faults=[crash(1, 3), silent])
    assert end_of(tmp_path / "before", given, 7)["writer_lac"] == lacs[0]
    assert end_of(tmp_path / "after", given, 8)["writer_lac"] == lacs[1]
    assert end_of(tmp_path / "end", given)["acked"] == 5


def test_an_add_is_acknowledged_with_an_answer_that_the_change_replaces(tmp_path: Path) -> None:
    """PendingAddOp.unsetSuccessAndSendWriteRequest looks at one replaced index after the other.

    4/2/2: entry 1 is on bookies 2 and 3. While the store is away bookie 1 dies, and entry 4 doesn't get to 2 in time; 5 and 6
    come for them. Entry 1 has nothing to do with index 0, so it is acknowledged before the answer of 2, at index 1, is forgotten;
    nobody brings it to 6. It has one copy in its write set, and is gone for readers when 3 is.
    """
    faults = [crash(1, 1), fault("drop_adds", 2, 1, 2, from_offset=4, to_offset=5), OUTAGE]
    given = case((4, 2, 2), bookies=6, workload=[adds(0, 1), adds(1, 2, 4)], faults=faults, config={"addEntryTimeoutSec": 1})
    seen = end_of(tmp_path / "lives", given)
    assert seen["fragments"] == [(0, [1, 2, 3, 4]), (1, [5, 6, 3, 4])]
    assert (seen["acked"], {entry: sorted(on) for entry, on in seen["entries"].items()}) == (
        5,
        {0: [1, 2], 1: [2, 3], 2: [3, 4], 3: [4, 5], 4: [5, 6]},
    )
    assert seen["losses"] == (0, 0, 2)
    assert end_of(tmp_path / "dies", {**given, "faults": [*faults, crash(3, 9)]})["losses"] == (0, 1, 2)


@pytest.mark.parametrize(("rounds", "lacs"), [(8, (0, 1, -1)), (9, (0, 2, 2))])
def test_the_lac_is_told_a_period_after_the_last_of_several_adds(tmp_path: Path, rounds: int, lacs: tuple[int, int, int]) -> None:
    """ExplicitLacFlushPolicy: it waits where adds carried a newer LAC since the last time; PendingWriteLacOp: its write set.

    5/2/2: entry 2, with LAC 1, is on bookies 3 and 4. In round 4 three entries are new, in round 8 none: 3 and 4 are told.
    """
    given = case((5, 2, 2), workload=[adds(0, 3)], config={"explicitLacInterval": 2000})
    told = {broker: row[1] for broker, row in end_of(tmp_path, given, rounds)["bookies"].items()}
    assert told == {1: -1, 2: lacs[0], 3: lacs[1], 4: max(lacs[2], 1)}


@pytest.mark.parametrize("config", [{}, {"explicitLacInterval": 500}])
def test_a_recovery_reads_last_entries_not_explicit_lacs(tmp_path: Path, config: dict[str, int]) -> None:
    """ReadLastConfirmedOp: entry 5 carries LAC 4, so the recovery reads 5 in round 13, writes it in 14, and closes in 16.

    Who opens without recovery asks for explicit LACs, too (PendingReadLacOp).
    """
    commands = [command("open_no_recovery", 11), command("recover_ledger", 12)]
    given = case(workload=[adds(0, 6)], commands=commands, config=config)
    assert end_of(tmp_path / "before", given, 16)["state"] == "IN_RECOVERY"
    seen = end_of(tmp_path / "end", given)
    assert (seen["state"], seen["last_entry"], seen["openings"]) == ("CLOSED", 5, [(5 if config else 4, "OK")])
    assert (16, "ledger_closed") in {event[:2] for event in seen["events"]}


def test_a_lac_of_one_entry_is_told_the_first_time(tmp_path: Path) -> None:
    """Entry 0 is acknowledged in round 0, bookies are told in round 4; of a steady writer they are told by adds alone."""
    once = case(workload=[adds(0, 1)], config={"explicitLacInterval": 2000})
    assert {row[1] for row in end_of(tmp_path / "before", once, 4)["bookies"].values()} == {-1}
    assert {row[1] for row in end_of(tmp_path / "after", once, 5)["bookies"].values()} == {0}
    steady = case(rounds=400, workload=[adds(0, 301)], config={"explicitLacInterval": 2000})
    for rounds, lac in ((301, 299), (304, 299), (305, 299), (308, 299), (309, 300)):
        assert {row[1] for row in end_of(tmp_path / f"steady{rounds}", steady, rounds)["bookies"].values()} == {lac}
