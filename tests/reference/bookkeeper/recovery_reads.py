"""How a recovery asks for the entry behind its LAC (docs/bookkeeper_rounds.md, Slow bookies)."""

from __future__ import annotations

from .ledger import Ledger
from .metadata import fragment_of
from .quorums import FOUND
from .recovery import Recovery
from .slow import LateWord, arrived


def read(ledger: Ledger, recovery: Recovery) -> None:
    """The question goes to one after the other until the answers are enough, or a slow one's is on its way for too long."""
    write_set, timeout = ledger.quorums.write_set(recovery.entry), ledger.settings.read_timeout_rounds
    if recovery.asked_round is None:
        recovery.begin_reading(ledger.now)
    come = arrived(ledger, recovery.awaited)
    for index in write_set:
        if index in come:
            word = come[index]
            recovery.hear(None if word is None else word.answer)
        elif index in recovery.awaited and ledger.now - recovery.awaited[index].asked_round >= timeout:
            del recovery.awaited[index]
            recovery.hear(None)
    _ask_in_turn(ledger, recovery, write_set)
    if recovery.speculates(ledger.now):
        _ask_for_entry(ledger, recovery, write_set[recovery.asked])
        _ask_in_turn(ledger, recovery, write_set)
    recovery.conclude()


def _ask_in_turn(ledger: Ledger, recovery: Recovery, write_set: list[int]) -> None:
    while not recovery.knows_enough and not recovery.awaited and recovery.asked < len(write_set):
        _ask_for_entry(ledger, recovery, write_set[recovery.asked])


def _ask_for_entry(ledger: Ledger, recovery: Recovery, index: int) -> None:
    """The question fences, whenever the answer comes."""
    entry = recovery.entry
    broker = fragment_of(recovery.fragments, entry).ensemble[index]
    recovery.asked += 1
    if not ledger.is_heard(broker):
        recovery.hear(None)
        return
    answer, (lag, _) = ledger.bookies[broker].read(entry), ledger.lag_of(broker)
    ledger.asked[broker] += ["fence", f"read {entry} {'ok' if answer == FOUND else 'NoEntry'}"]
    if ledger.rules.recovery_reads_fence:
        if not ledger.bookies[broker].fenced:
            ledger.event("fence", broker, cause=recovery.cause)
            ledger.coverage["fenced_by_read"] += 1
        ledger.bookies[broker].fenced = True
    if lag:
        recovery.awaited[index] = LateWord(ledger.now + lag, broker, answer, asked_round=ledger.now)
    else:
        recovery.hear(answer)
