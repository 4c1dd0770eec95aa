"""A block of ledgers: each plays its own rounds to its end, with its lists in scratch arrays."""

from __future__ import annotations

from emulator.compiled import compiled, entry_point, merged_into_caller
from emulator.rounds.bookkeeper.check_invariants import check_end
from emulator.rounds.bookkeeper.ledger_lists import Words, is_full, load_lists, store_lists
from emulator.rounds.bookkeeper.play_round import play_round
from emulator.rounds.bookkeeper.records import Inputs, Ledger, Lists, Spans
from emulator.rounds.bookkeeper.state import State

DONE_PLAYING, SCRATCH_FULL, OUTPUT_FULL = range(3)
CHECK_ROUNDS = 64
"""Rounds between two looks for lists that are full: what comes after that is played for nothing."""


@compiled
def outputs_full(spans: Spans) -> bool:
    """Whether there was no room for what a ledger tells."""
    return spans.events.full | spans.violations.full | spans.witness.full != 0


@merged_into_caller
def play_ledger(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """A ledger's rounds up to its end; they stop short where a list was full. One that is there already stays as it is."""
    if ledger.now >= ledger.end:
        return
    spans = lists.filled[0]
    while ledger.now < ledger.end:
        play_round(lists, inputs, ledger)
        if ledger.now % CHECK_ROUNDS == 0 and (is_full(ledger) or outputs_full(spans)):
            return
    if ledger.now == inputs.scenarios[ledger.scenario].rounds and not is_full(ledger):
        check_end(lists, inputs, ledger)


@entry_point
def play_ledgers(
    old: State, new: State, inputs: Inputs, lists: Lists, words: Words, first: int, last: int, is_played: bool
) -> tuple[int, int]:
    """Ledgers [first, last), the first of which may be played and only lack room in the new state.

    Returns (where it stopped, why).
    """
    spans = lists.filled[0]
    for number in range(first, last):
        ledger = new.ledgers[number]
        if not is_played:
            events, violations, witness = spans.events.count, spans.violations.count, spans.witness.count
            for word in range(words.ledgers.shape[1]):
                words.ledgers[number, word] = words.old_ledgers[number, word]
            load_lists(old, ledger, number, words, 0, 1)
            if not is_full(ledger):
                play_ledger(lists, inputs, ledger)
            if is_full(ledger) or outputs_full(spans):
                spans.events.count, spans.violations.count, spans.witness.count = events, violations, witness
                return number, SCRATCH_FULL
        if not store_lists(new, ledger, number, words):
            return number, OUTPUT_FULL
        is_played = False
    return last, DONE_PLAYING
