"""What a recovery asks bookies (docs/bookkeeper_rounds.md, "Questions"): for their LAC, and for the entry behind its own."""

from __future__ import annotations

from .bookie import Bookie
from .ledger import Ledger
from .metadata import fragment_of
from .questions import Question, ask_ensemble, outcome, reach, tell_lac
from .quorums import FOUND
from .recovery import Recovery


def ask_for_lac(ledger: Ledger, recovery: Recovery) -> None:
    """Step 4: the whole ensemble is asked once, in the round of the mark; who gets the question is fenced."""
    if recovery.since_round == ledger.now:
        recovery.awaited = ask_ensemble(ledger, recovery.fragments[-1].ensemble)

    def look(question: Question, bookie: Bookie) -> None:
        ledger.asked[bookie.broker] += ["fence", "read -1 ok"]
        _fence(ledger, recovery, bookie)
        tell_lac(question, bookie)
        question.lac = bookie.header_lac  # ReadLastConfirmedOp reads the last entry

    for question in recovery.awaited.values():
        reach(ledger, question, look)


def read(ledger: Ledger, recovery: Recovery) -> None:
    """Step 6: the question goes to one after the other until the answers are enough."""
    write_set = ledger.quorums.write_set(recovery.entry)
    if recovery.asked_round is None:
        recovery.begin_reading(ledger.now)
    for index in list(recovery.awaited):
        _take(ledger, recovery, index)
    _ask_in_turn(ledger, recovery, write_set)
    if recovery.speculates(ledger.now):
        _ask(ledger, recovery, write_set)
        _ask_in_turn(ledger, recovery, write_set)
    recovery.conclude()


def _ask_in_turn(ledger: Ledger, recovery: Recovery, write_set: list[int]) -> None:
    while not recovery.knows_enough and not recovery.awaited and recovery.asked < len(write_set):
        _ask(ledger, recovery, write_set)


def _ask(ledger: Ledger, recovery: Recovery, write_set: list[int]) -> None:
    index = write_set[recovery.asked]
    recovery.asked += 1
    recovery.awaited[index] = Question(fragment_of(recovery.fragments, recovery.entry).ensemble[index], ledger.now)
    _take(ledger, recovery, index)


def _take(ledger: Ledger, recovery: Recovery, index: int) -> None:
    """Take what the question to the bookie at an index comes to."""
    entry, question = recovery.entry, recovery.awaited[index]

    def look(question: Question, bookie: Bookie) -> None:
        question.answer = bookie.read(entry)
        ledger.asked[bookie.broker] += ["fence", f"read {entry} {'ok' if question.answer == FOUND else 'NoEntry'}"]
        if ledger.rules.recovery_reads_fence:
            ledger.coverage["fenced_by_read"] += not bookie.fenced
            _fence(ledger, recovery, bookie)

    reach(ledger, question, look)
    came = outcome(ledger, question)
    if came is not None:
        del recovery.awaited[index]
        recovery.hear(came)


def _fence(ledger: Ledger, recovery: Recovery, bookie: Bookie) -> None:
    if not bookie.fenced:
        ledger.event("fence", bookie.broker, cause=recovery.cause)
    bookie.fenced = True
