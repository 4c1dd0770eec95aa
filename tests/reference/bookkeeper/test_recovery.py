"""Fencing and recovery: BookKeeper's own LedgerRecovery2Test and ParallelLedgerRecoveryTest, both known defects, and more."""

from __future__ import annotations

from typing import Any

import pytest

from .given import adds, case, command, crash, end_of, fault, fragments, play
from .ledger import Ledger
from .rules import MUTANTS
from .simulate import Result, simulate

RECOVER = command("recover_ledger", 0)
ONCE = command("recover_ledger", 0, retry=False)


def stored(entries: dict[int, dict[int, int]], lac: int = -1, **more: Any) -> dict[str, Any]:
    """What bookies have at the start: {bookie: {entry: LAC}}."""
    return {"entries": entries, "lac": lac, **more}


def recovered(result: Result) -> tuple[str | None, int]:
    """What the first recovery's client is told, or what made it fail, and where it is."""
    recovery = result.ledger.recoveries[0]
    assert recovery.error != "LedgerRecoveryException" or recovery.attempt_error is not None
    return recovery.attempt_error if recovery.error == "LedgerRecoveryException" else recovery.error, recovery.lac


def test_no_bookie_answers() -> None:
    result = simulate(case(commands=[ONCE], faults=[crash(broker, 0) for broker in (1, 2, 3)]))
    assert recovered(result)[0] == "ReadException"
    assert end_of(result.ledger) == ("IN_RECOVERY", None)


def test_silent_bookies_are_waited_for() -> None:
    silent = [fault("broker_pause", broker, 0, 5) for broker in (1, 2)]
    result = simulate(case(commands=[ONCE], faults=silent, initial=stored({1: {0: -1}})))
    assert recovered(result) == ("OK", 0)
    silent = [fault("broker_pause", broker, 0, 15) for broker in (1, 2)]
    result = simulate(case(commands=[ONCE], faults=silent, initial=stored({1: {0: -1}})))
    assert recovered(result)[0] == "TimeoutException"


def test_nowhere_to_write_back() -> None:
    given = case(bookies=3, initial=stored({1: {0: -1}}), faults=[crash(broker, 2, 20) for broker in (1, 2, 3)])
    result = simulate({**given, "commands": [ONCE]})
    assert recovered(result)[0] == "NotEnoughBookiesException"
    assert end_of(result.ledger) == ("IN_RECOVERY", None)
    assert fragments(result.ledger) == {0: [1, 2, 3]}
    result = simulate({**given, "commands": [RECOVER]})
    assert recovered(result) == ("OK", 0)


def test_closed_by_another_while_writing_back() -> None:
    ledger = play(Ledger(case(commands=[RECOVER], initial=stored({1: {0: -1}}))), 2)
    ledger.metadata.close(-1, by="another")
    play(ledger, 10)
    assert (ledger.recoveries[0].error, ledger.recoveries[0].lac) == ("OK", -1)
    assert end_of(ledger) == ("CLOSED", -1)


def test_ensemble_added_by_another_while_writing_back() -> None:
    ledger = play(Ledger(case(commands=[ONCE], initial=stored({1: {0: -1}}), faults=[crash(2, 2)])), 2)
    ledger.metadata.put_ensemble(1, [1, 5, 3])
    play(ledger, 10)
    assert ledger.recoveries[0].error == "LedgerRecoveryException"
    assert ledger.recoveries[0].attempt_error == "UnexpectedConditionException"


def test_bookie_dead_from_the_start() -> None:
    result = simulate(case(commands=[RECOVER], initial=stored({1: {0: -1}}), faults=[crash(2, 0)]))
    assert recovered(result) == ("OK", 0)
    assert fragments(result.ledger) == {0: [1, 4, 3]}


def test_bookie_fails_at_the_second_entry() -> None:
    given = case(commands=[RECOVER], initial=stored({1: {0: -1}, 3: {1: -1}}), faults=[crash(2, 4)])
    result = simulate(given)
    assert recovered(result) == ("OK", 1)
    assert fragments(result.ledger) == {0: [1, 2, 3], 1: [1, 4, 3]}


def test_two_bookies_fail_at_the_write_back() -> None:
    given = case(commands=[RECOVER], initial=stored({1: {0: -1}}), faults=[crash(1, 2, 3), crash(2, 2, 3)])
    result = simulate(given)
    assert recovered(result) == ("OK", 0)
    assert {first: sorted(ensemble) for first, ensemble in fragments(result.ledger).items()} == {0: [3, 4, 5]}


LATE_FRAGMENT = case(
    (2, 2, 2),
    commands=[RECOVER],
    faults=[crash(3, 0)],
    initial=stored({1: {0: -1, 1: -1}, 2: {0: -1}}, lac=0, fragments={0: [1, 2], 1: [1, 3]}),
)


def test_lac_is_at_least_what_the_last_fragment_says() -> None:
    result = simulate(LATE_FRAGMENT, watch=True)
    assert fragments(result.ledger) == {0: [1, 2], 1: [1, 2]}
    assert recovered(result) == ("OK", 1)
    assert result.violations == []


def test_invalid_fragments_without_the_floor() -> None:
    """Second known defect of 4.13: an older entry is written back to the last ensemble, a failure puts it below."""
    initial = stored({1: {0: -1, 1: 0}, 2: {0: -1, 1: 0}}, lac=1, fragments={0: [1, 2], 2: [1, 3]})
    given = {**LATE_FRAGMENT, "initial": initial}
    assert simulate(given, watch=True).violations == []
    result = simulate({**given, "rules": MUTANTS["no-lac-floor"]}, watch=True)
    assert "OnlyValidFragments" in {violation.invariant for violation in result.violations}


LATE_WRITER = case(
    rounds=30,
    workload=[adds(0, 1)],
    commands=[command("recover_ledger", 1)],
    faults=[
        fault("drop_adds", 1, 0, 1),
        fault("delay_adds", 2, 0, 6),
        fault("broker_pause", 2, 1, 2),
        crash(3, 2, 3),
    ],
)
"""Entry 0 is lost to bookie 1, late to 2, and on 3, which is away when the recovery asks for entry 0."""


def test_reads_fence() -> None:
    result = simulate(LATE_WRITER, watch=True)
    assert end_of(result.ledger) == ("CLOSED", -1)
    assert result.adds == [(0, "LedgerFencedException")]
    assert result.violations == []
    assert result.ledger.coverage["fenced_by_read"] == 1


def test_acknowledged_after_the_end_when_reads_do_not_fence() -> None:
    """First known defect of 4.13: bookies 1 and 3 end the fencing, 1 and 2 the log, and then 2 takes the entry."""
    result = simulate({**LATE_WRITER, "rules": MUTANTS["recovery-reads-do-not-fence"]}, watch=True)
    assert end_of(result.ledger) == ("CLOSED", -1)
    assert result.adds[0] == (0, "OK")
    assert {"AllAckedEntriesAreReadable", "NoDivergenceBetweenClientAndMetaData"} <= {
        violation.invariant for violation in result.violations
    }


def test_a_gap_ends_the_log() -> None:
    """Entries 0 to 9 and 14 on a single bookie, LAC 8."""
    entries = {**{entry: entry - 1 for entry in range(10)}, 14: 8}
    result = simulate(case((1, 1, 1), rounds=40, commands=[RECOVER], initial=stored({1: entries}, lac=8)))
    assert recovered(result) == ("OK", 9)
    assert end_of(result.ledger) == ("CLOSED", 9)


def test_closed_before_the_recovery_marks_it() -> None:
    given = case(workload=[adds(0, 2)], commands=[command("close_ledger", 4), command("recover_ledger", 4)])
    result = simulate(given)
    assert recovered(result) == ("OK", 1)
    assert all(not bookie.fenced for bookie in result.ledger.bookies.values())


@pytest.mark.parametrize(("shape", "away", "ends"), [
    ((3, 3, 2), [3], True), ((3, 3, 2), [2, 3], False), ((2, 2, 2), [2], True), ((2, 2, 2), [1, 2], False),
    ((3, 3, 3), [2, 3], True), ((3, 2, 1), [3], False), ((5, 3, 2), [5], True), ((5, 3, 2), [3, 5], False),
    ((6, 3, 2), [1, 4], True), ((6, 3, 2), [1, 3], False),
])  # fmt: skip
def test_how_many_must_answer(shape: tuple[int, int, int], away: list[int], ends: bool) -> None:
    result = simulate(case(shape, commands=[ONCE], faults=[crash(broker, 0) for broker in away]))
    assert recovered(result) == (("OK", -1) if ends else ("ReadException", -1))


@pytest.mark.parametrize(("holder", "last"), [(3, 5), (1, 5), (2, 4)])
def test_where_the_only_copy_of_an_unacknowledged_entry_is(holder: int, last: int) -> None:
    """Of entry 5 the write set is bookies 3, 1, 2: it survives as first or second, is cut off as third."""
    others = [fault("drop_adds", broker, 0, from_offset=5) for broker in {1, 2, 3} - {holder}]
    result = simulate(case(workload=[adds(0, 6)], faults=others, commands=[command("recover_ledger", 8)]), watch=True)
    assert end_of(result.ledger) == ("CLOSED", last)
    assert result.violations == []


def test_several_entries_in_the_tail() -> None:
    """Entries 5 to 7 are on one bookie each; entry 6 is on the third of its write set and ends the log."""
    entries = {broker: {entry: entry - 1 for entry in range(5)} for broker in (1, 2, 3)}
    entries[3][5] = entries[3][6] = entries[1][7] = 4
    result = simulate(case(commands=[RECOVER], initial=stored(entries, lac=4)), watch=True)
    assert end_of(result.ledger) == ("CLOSED", 5)
    assert [result.ledger.bookies[broker].entries[5] for broker in (1, 2, 3)] == [4, 4, 4]


def test_recovery_waits_for_who_may_have_the_entry() -> None:
    given = case(bookies=3, initial=stored({1: {0: -1}, 2: {0: -1}}), commands=[command("recover_ledger", 2)])
    result = simulate({**given, "faults": [crash(1, 0, 20), crash(2, 3, 20)]}, watch=True)
    assert [result.rounds[round_]["state"] for round_ in (1, 2, 19, 59)] == ["OPEN", "IN_RECOVERY", "IN_RECOVERY", "CLOSED"]
    assert recovered(result) == ("OK", 0)
    assert result.violations == []


def test_replaced_bookie_of_a_failed_attempt_is_forgotten() -> None:
    """BOOKKEEPER-355: bookie 1 is down, its replacement 4 fails too; then 1 and 4 are back and 2 is down."""
    given = case(bookies=4, initial=stored({2: {0: -1}, 3: {0: -1}}), commands=[RECOVER])
    silent = [fault("broker_pause", 4, 0, 3), fault("broker_pause", 3, 2, 8)]
    faults = [*silent, crash(1, 0, 8), crash(4, 3, 8), crash(2, 8)]
    ledger = play(Ledger({**given, "faults": faults}), 2)
    assert [change.ensemble for change in ledger.recoveries[0].changes] == [[4, 2, 3]]
    play(ledger, 30)
    assert end_of(ledger) == ("CLOSED", 0)
    assert fragments(ledger) == {0: [1, 4, 3]}


def test_two_recoveries_at_once() -> None:
    commands = [command("recover_ledger", round_) for round_ in (6, 6, 7)]
    result = simulate(case(workload=[adds(0, 5)], commands=commands), watch=True)
    assert [(one.error, one.lac) for one in result.ledger.recoveries] == [("OK", 4)] * 3
    assert result.violations == []


def test_bookie_that_was_down_is_not_fenced_when_it_is_back() -> None:
    result = simulate(case(workload=[adds(0, 5)], commands=[command("recover_ledger", 6)], faults=[crash(3, 5, 20)]))
    assert {one.broker: one.fenced for one in result.ledger.bookies.values() if one.knows_ledger} == {
        1: True, 2: True, 3: False, 4: False,
    }  # fmt: skip


def test_fenced_writer_closes_where_it_is() -> None:
    """It wins over a recovery that waits for bookies: the recovery then takes its word."""
    faults = [fault("drop_adds", 3, 0, from_offset=4), crash(1, 8, 30)]
    given = case(bookies=3, workload=[adds(0, 5), adds(10, 11)], commands=[command("recover_ledger", 6)], faults=faults)
    ledger = Ledger({**given, "faults": [*faults, fault("broker_pause", 2, 7, 9)]})
    play(ledger, 59)
    assert ledger.metadata.state == "CLOSED"
    assert ledger.recoveries[0].lac == ledger.metadata.last_entry == 4


def test_crashed_writer_leaves_the_tail_to_the_recovery() -> None:
    """Both copies of entry 3 come late, when nobody waits for them any more."""
    late = [fault("delay_adds", broker, 3, 6) for broker in (1, 2, 3)]
    given = case(workload=[adds(0, 10)], faults=[*late, fault("client_crash", None, 4)], commands=[command("recover_ledger", 8)])
    result = simulate(given, watch=True)
    assert result.ledger.writer.lac == 2
    assert end_of(result.ledger) == ("CLOSED", 3)
    assert result.violations == []


def test_recovery_waits_for_the_metadata_store() -> None:
    outage = fault("metadata_store_outage", None, 5, 20)
    result = simulate(case(workload=[adds(0, 5)], commands=[command("recover_ledger", 6)], faults=[outage]))
    assert [result.rounds[round_]["state"] for round_ in (19, 20, 59)] == ["OPEN", "IN_RECOVERY", "CLOSED"]


def test_open_without_recovery() -> None:
    commands = [command("open_no_recovery", 5), command("open_no_recovery", 12), command("open_no_recovery", 20)]
    faults = [crash(1, 12, 14), crash(2, 12, 14)]
    result = simulate(case(workload=[adds(0, 5)], commands=[*commands, command("close_ledger", 15)], faults=faults))
    assert [(one.lac, one.error) for one in result.ledger.openings] == [(3, None), (None, "ReadException"), (4, None)]


def test_late_answers_to_a_write_back_are_answers() -> None:
    """Bookie 4 replaces 1 at entry 0 and answers a round later, when entry 1 is looked for: it is not replaced for that."""
    entries = {broker: dict.fromkeys(range(12), -1) for broker in (2, 3)}
    given = case(commands=[RECOVER], initial=stored(entries), faults=[crash(1, 0)], config={"addEntryTimeoutSec": 1})
    result = simulate(given)
    assert recovered(result) == ("OK", 11)
    assert fragments(result.ledger) == {0: [4, 2, 3]}
