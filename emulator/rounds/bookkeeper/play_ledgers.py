"""A block of ledgers: each plays its own rounds to its end, with its lists in scratch arrays; leaps included."""

from __future__ import annotations

import numpy as np

from emulator.rounds.bookkeeper.check_invariants import check_end
from emulator.rounds.bookkeeper.finish import finish
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.leap import Probe, horizon, is_quiet, leap
from emulator.rounds.bookkeeper.ledger_lists import Words, is_full, load_lists, store_lists
from emulator.rounds.bookkeeper.play_round import play_round
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.state import State
from emulator.rounds.bookkeeper.told_records import Spans
from emulator.rounds.bookkeeper.traffic import is_bucket_end, know_what_is_there, next_bucket_end, tell_traffic
from emulator.rounds.calls import DONE, OUTPUT_FULL, SCRATCH_FULL
from emulator.rounds.compiled import compiled, entry_point, merged_into_caller

CHECK_ROUNDS = 64
"""Rounds between two looks for lists that are full: what comes after that is played for nothing."""


@compiled
def outputs_full(spans: Spans) -> bool:
    """Whether there was no room for what a ledger tells."""
    return spans.events.full | spans.violations.full | spans.witness.full | spans.traffic.full | spans.asked.full != 0


@merged_into_caller
def play_ledger(lists: Lists, inputs: Inputs, ledger: Ledger, ledger_words: np.ndarray, words: Words, probe: Probe) -> None:
    """A ledger's rounds up to its end; they stop short where a list was full. One that is there already stays as it is."""
    if ledger.now >= ledger.end:
        return
    spans, leaps = lists.filled[0], inputs.scenarios[ledger.scenario].leaps
    # Entries go to other bookies from one to the next: all of an ensemble have had their turn after E rounds.
    in_a_row, rounds_of_proof = 0, inputs.settings[ledger.settings].ensemble_size + 1
    if ledger.now == 0:
        know_what_is_there(lists, inputs, ledger)
    while ledger.now < ledger.end:
        told = spans.events.count
        play_round(lists, inputs, ledger)
        if is_bucket_end(inputs, ledger.scenario, ledger.now):
            tell_traffic(lists, inputs, ledger, ledger.now, True)
        if ledger.now % CHECK_ROUNDS == 0 and (is_full(ledger) or outputs_full(spans)):
            return
        if not leaps:
            continue
        if spans.events.count != told or ledger.next_change <= ledger.now + 1 or is_full(ledger):
            in_a_row = 0  # not worth a look
            continue
        in_a_row = in_a_row + 1 if is_quiet(ledger, ledger_words, words, probe) else 0
        if in_a_row >= rounds_of_proof:
            then = horizon(lists, inputs, ledger, probe.ledger_drift)
            while then > ledger.now:
                stop = next_bucket_end(inputs, ledger.scenario, ledger.now, then)
                leap(lists, inputs, ledger, ledger_words, words, probe, stop)
                if is_bucket_end(inputs, ledger.scenario, ledger.now):
                    tell_traffic(lists, inputs, ledger, ledger.now, True)
    if ledger.now == inputs.scenarios[ledger.scenario].rounds and not is_full(ledger):
        check_end(lists, inputs, ledger)
        finish(lists, inputs, ledger)


@entry_point
def play_ledgers(
    old: State,
    new: State,
    inputs: Inputs,
    lists: Lists,
    words: Words,
    probe: Probe,
    first: int,
    last: int,
    is_played: bool,
) -> tuple[int, int]:
    """Ledgers [first, last), the first of which may be played and only lack room in the new state.

    Returns (where it stopped, why).
    """
    spans = lists.filled[0]
    for number in range(first, last):
        ledger = new.ledgers[number]
        if not is_played:
            events, violations, witness = spans.events.count, spans.violations.count, spans.witness.count
            traffic, asked = spans.traffic.count, spans.asked.count
            for word in range(words.ledgers.shape[1]):
                words.ledgers[number, word] = words.old_ledgers[number, word]
            load_lists(old, ledger, number, words, 0, 1)
            if not is_full(ledger):
                play_ledger(lists, inputs, ledger, words.ledgers[number], words, probe)
            if is_full(ledger) or outputs_full(spans):
                spans.events.count, spans.violations.count, spans.witness.count = events, violations, witness
                spans.traffic.count, spans.asked.count = traffic, asked
                return number, SCRATCH_FULL
        if not store_lists(new, ledger, number, words):
            return number, OUTPUT_FULL
        is_played = False
    return last, DONE
