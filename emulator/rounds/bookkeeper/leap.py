"""Leaps over quiet rounds of a ledger: rounds in which only counters move, each by the same amount as in the round before.

A drift goes on until something is met that rules compare with a counter or a clock: the *horizons* here, all of them
conservative; the round at a horizon is played. What fields do in a leap is said where they are declared (rounds/records.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.rounds.bookkeeper.audit import is_looked_at
from emulator.rounds.bookkeeper.bookies import span_of
from emulator.rounds.bookkeeper.client_records import Recovery
from emulator.rounds.bookkeeper.constants import (
    CLOSE,
    DONE,
    FAILED,
    FOREVER,
    MARK,
    NO_ANSWER,
    NOBODY,
    NOT_RUNNING,
    PENDING,
    WRITING,
)
from emulator.rounds.bookkeeper.copy_on import copy_on, until_copies_change
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.ledger_lists import Words
from emulator.rounds.bookkeeper.records import Bookie, Ledger, Lists
from emulator.rounds.bookkeeper.send import next_explicit_lac
from emulator.rounds.bookkeeper.sizes import NO_SIZE, size_of
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.leaps import last_due, move_counters, next_due, remember, sum_of_drift, take_drift
from emulator.rounds.lists import every
from emulator.rounds.records import kinds_of, word_of

LEDGER_KINDS = np.array(kinds_of(Ledger), np.int64)
BOOKIE_KINDS = np.array(kinds_of(Bookie), np.int64)
RECOVERY_KINDS = np.array(kinds_of(Recovery), np.int64)
NEXT_ENTRY, QUEUED = word_of(Ledger, "next_entry"), word_of(Ledger, "queued")
LAC = word_of(Ledger, "lac")
UNACKED = word_of(Ledger, "unacked")
HAS_TO = word_of(Bookie, "has_to")
"""Places of fields among the words of their records."""


class Probe(NamedTuple):
    """What leaps compare: words of the round before, and drifts."""

    ledger: np.ndarray
    ledger_drift: np.ndarray
    bookies: np.ndarray
    bookie_drifts: np.ndarray
    recoveries: np.ndarray
    recovery_drifts: np.ndarray


@compiled_into_callers
def is_quiet(ledger: Ledger, ledger_words: np.ndarray, words: Words, probe: Probe) -> bool:
    """Whether the round just played did nothing but what the round before did."""
    quiet = take_drift(LEDGER_KINDS, ledger_words, probe.ledger, probe.ledger_drift)
    for number in range(ledger.bookies.count):
        own = words.bookies[ledger.bookies.start + number]
        if not take_drift(BOOKIE_KINDS, own, probe.bookies[number], probe.bookie_drifts[number]):
            quiet = False
    for number in range(ledger.recoveries.count):
        own = words.recoveries[ledger.recoveries.start + number]
        if not take_drift(RECOVERY_KINDS, own, probe.recoveries[number], probe.recovery_drifts[number]):
            quiet = False
    return quiet


@compiled
def is_in_motion(lists: Lists, ledger: Ledger) -> bool:
    """Whether something is under way that the next rounds go on with: answers that are awaited, a recovery."""
    moves = ledger.reads.count > 0
    for at in every(ledger.requests):
        if lists.requests[at].awaited or lists.requests[at].late_answer != NO_ANSWER:
            moves = True
    for at in every(ledger.recoveries):
        phase = lists.recoveries[at].phase
        is_waiting = phase == MARK or (phase == CLOSE and not ledger.store_up)
        if phase not in (DONE, FAILED) and not is_waiting:
            moves = True
    for at in every(ledger.openings):
        if lists.openings[at].error == PENDING and ledger.store_up:
            moves = True
    return moves


@compiled
def horizon(lists: Lists, inputs: Inputs, ledger: Ledger, drift: np.ndarray) -> int:
    """The next round, from `ledger.now` on, that has to be played."""
    if is_in_motion(lists, ledger) or ledger.slowed:
        return ledger.now
    due = min(ledger.end, ledger.next_change)
    if ledger.is_copying:
        due = min(due, until_copies_change(lists, inputs, ledger))
    due = min(due, until_queue_is_empty(ledger, drift))
    due = min(due, until_lac_is_told(inputs, ledger, drift))
    due = min(due, until_entries_meet_faults(inputs, ledger, drift))
    due = min(due, until_flush_tells(lists, inputs, ledger))
    due = min(due, until_repair(lists, inputs, ledger))
    due = min(due, until_sizes_change(inputs, ledger, drift))
    return max(due, ledger.now)


@compiled
def until_queue_is_empty(ledger: Ledger, drift: np.ndarray) -> int:
    """The round in which a queue that gets shorter may not fill the writer's room any more."""
    if drift[QUEUED] >= 0:
        return FOREVER
    return ledger.now + max(0, ledger.queued // -drift[QUEUED] - 2)


@compiled
def until_lac_is_told(inputs: Inputs, ledger: Ledger, drift: np.ndarray) -> int:
    """The round in which bookies are told a LAC that no add carries."""
    settings = inputs.settings[ledger.settings]
    if settings.explicit_lac_ms == 0 or ledger.writer != WRITING or ledger.lac <= ledger.lac_told or drift[NEXT_ENTRY]:
        return FOREVER
    return next_due(ledger.now, settings.round_ms, settings.explicit_lac_ms)


@compiled
def until_entries_meet_faults(inputs: Inputs, ledger: Ledger, drift: np.ndarray) -> int:
    """The round in which entries come to those that a fault drops or holds up; all of these are played."""
    due = FOREVER
    for at in range(ledger.first_on_the_way, ledger.first_on_the_way + ledger.on_the_way):
        fault = inputs.on_the_way[at]
        if not fault.from_round <= ledger.now < fault.to_round or ledger.next_entry >= fault.to_entry or not drift[NEXT_ENTRY]:
            continue
        ahead = fault.from_entry - ledger.next_entry
        due = min(due, ledger.now + max(0, ahead // drift[NEXT_ENTRY] - 1))
    return due


@compiled
def until_sizes_change(inputs: Inputs, ledger: Ledger, drift: np.ndarray) -> int:
    """The round in which entries may have another size, where bookies' budgets are shared: what is asked of them changes."""
    if not inputs.scenarios[ledger.scenario].sharing or not drift[NEXT_ENTRY]:
        return FOREVER
    at = size_of(inputs, ledger, ledger.next_entry)
    if at == NO_SIZE:
        return FOREVER
    end = inputs.sizes[at].to_entry - ledger.first_message + ledger.first_own_entry
    return ledger.now + max(0, (end - ledger.next_entry) // drift[NEXT_ENTRY] - 1)


@compiled
def until_flush_tells(lists: Lists, inputs: Inputs, ledger: Ledger) -> int:
    """The round of a flush that changes more than how much of open runs is on disk, as where copies go on."""
    settings = inputs.settings[ledger.settings]
    if settings.flush_ms == 0:
        return FOREVER
    changes = ledger.is_copying != 0
    for at in every(ledger.bookies):
        bookie = lists.bookies[at]
        if bookie.fenced != bookie.flushed_fence and not bookie.status & NOT_RUNNING:
            changes = True
    for at in every(ledger.stored):
        run = lists.stored[at]
        if run.flushed_to != run.to_entry and not lists.bookies[ledger.bookies.start + run.bookie].status & NOT_RUNNING:
            changes = True
    return next_due(ledger.now, settings.round_ms, settings.flush_ms) if changes else FOREVER


@compiled
def until_repair(lists: Lists, inputs: Inputs, ledger: Ledger) -> int:
    """The round in which a bookie is taken for lost, a grace period is over, or somebody may take a lost one's place."""
    settings = inputs.settings[ledger.settings]
    if not settings.autorecovery:
        return FOREVER
    due = FOREVER
    for at in every(ledger.bookies):
        bookie = lists.bookies[at]
        lost_round = inputs.bookie_spans[bookie.span].lost_round
        if bookie.is_missed and lost_round >= ledger.now:
            due = min(due, lost_round)
    for at in every(ledger.replacements):
        task = lists.replacements[at]
        if task.published_round + settings.grace_rounds >= ledger.now:
            due = min(due, task.published_round + settings.grace_rounds)
        if task.target == NOBODY:
            due = min(due, next_change_of_any(inputs, ledger))
        if is_looked_at(lists, ledger, task):
            return ledger.now
    return due


@compiled
def next_change_of_any(inputs: Inputs, ledger: Ledger) -> int:
    """The next round, from `ledger.now` on, in which the faults say something else of some bookie of the cluster."""
    due = FOREVER
    for place in range(inputs.scenarios[ledger.scenario].bookies):
        span = span_of(inputs, ledger, place)  # it may begin in this round, which is still to be played
        if inputs.bookie_spans[span].from_round == ledger.now:
            return ledger.now
        due = min(due, inputs.bookie_spans[span + 1].from_round)
    return due


@compiled
def note_explicit_lac(ledger: Ledger, settings: Settings, drift: int, then: int) -> None:
    """What the writer noted of its LAC by round `then`: from the second time on as far behind as then.

    But for an entry a round: it is level with that until it looks two rounds after it last did, and then behind for good.
    """
    if settings.explicit_lac_ms == 0:
        return
    at = next_due(ledger.now, settings.round_ms, settings.explicit_lac_ms)
    if at >= then:
        return
    last = last_due(ledger.now, then, settings.round_ms, settings.explicit_lac_ms)
    noted = next_explicit_lac(ledger.explicit_lac, ledger.lac + (at - ledger.now) * drift)
    is_level = True
    while at < last and is_level:
        at = next_due(at + 1, settings.round_ms, settings.explicit_lac_ms)
        lac = ledger.lac + (at - ledger.now) * drift
        noted = next_explicit_lac(noted, lac)
        is_level = drift == 1 and noted == lac and settings.explicit_lac_ms > settings.round_ms
    ledger.explicit_lac = noted + (last - at) * drift


@compiled
def leap(lists: Lists, inputs: Inputs, ledger: Ledger, ledger_words: np.ndarray, words: Words, probe: Probe, then: int) -> None:
    """Go on to round `then` at once."""
    rounds = then - ledger.now
    settings = inputs.settings[ledger.settings]
    flush_round = -1
    if settings.flush_ms:
        flush_round = last_due(ledger.now, then, settings.round_ms, settings.flush_ms)
    ledger.unacked_rounds += sum_of_drift(ledger.unacked, probe.ledger_drift[UNACKED], rounds)
    if ledger.writer == WRITING:
        note_explicit_lac(ledger, settings, probe.ledger_drift[LAC], then)
    if ledger.is_copying:
        copy_on(lists, inputs, ledger, rounds)
    for number in range(ledger.bookies.count):
        bookie = lists.bookies[ledger.bookies.start + number]
        if flush_round >= 0 and not bookie.status & NOT_RUNNING:
            bookie.flushed_to = bookie.has_to + (flush_round - ledger.now + 1) * probe.bookie_drifts[number, HAS_TO]
        own = words.bookies[ledger.bookies.start + number]
        move_counters(BOOKIE_KINDS, own, probe.bookie_drifts[number], rounds)
    for number in range(ledger.recoveries.count):
        own = words.recoveries[ledger.recoveries.start + number]
        move_counters(RECOVERY_KINDS, own, probe.recovery_drifts[number], rounds)
    move_counters(LEDGER_KINDS, ledger_words, probe.ledger_drift, rounds)
    ledger.now = then
    remember(ledger_words, probe.ledger)
    for number in range(ledger.bookies.count):
        remember(words.bookies[ledger.bookies.start + number], probe.bookies[number])
    for number in range(ledger.recoveries.count):
        remember(words.recoveries[ledger.recoveries.start + number], probe.recoveries[number])
