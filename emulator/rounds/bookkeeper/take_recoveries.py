"""Step 6 of recoveries and of clients that open without one: what bookies answered (docs/bookkeeper_rounds.md)."""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.bookkeeper.answers_to_adds import acknowledge, complete, next_failure, take_answers_of
from emulator.rounds.bookkeeper.bookies import bookie_at, fence, is_dead, is_heard
from emulator.rounds.bookkeeper.client_records import Opening, Recovery
from emulator.rounds.bookkeeper.constants import (
    AGAIN,
    CLOSE,
    CLOSED,
    COME,
    END,
    FENCE,
    FOUND,
    NEVER,
    NO,
    NO_LAC,
    NOBODY,
    NOW,
    NOWHERE,
    OK,
    ON_ITS_WAY,
    PENDING,
    READ,
    READ_EXCEPTION,
    READERS,
    RECOVERED,
    TAKEN,
    UNKNOWN,
    WRITE,
)
from emulator.rounds.bookkeeper.entries import move
from emulator.rounds.bookkeeper.fragments import found_fragment_of, last_found
from emulator.rounds.bookkeeper.inputs import Inputs, Rules, Settings
from emulator.rounds.bookkeeper.late_answers import (
    forget_come_answers,
    forget_late_answers,
    next_late_answer,
    send_late_answer,
    waits,
    what_became,
)
from emulator.rounds.bookkeeper.quorums import covered, needed_answers, write_index
from emulator.rounds.bookkeeper.read_entries import say
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.recover import fail_attempt, replace_failed, wait_for_nobody
from emulator.rounds.bookkeeper.speculation import first_speculation, next_pause_ms, timeout_rounds
from emulator.rounds.bookkeeper.stored import lac_of
from emulator.rounds.bookkeeper.traffic import note_read
from emulator.rounds.lists import every, keep_first, last
from emulator.rounds.slots import has


@compiled
def take_recoveries(lists: Lists, inputs: Inputs, ledger: Ledger, rules: Rules) -> None:
    """Each recovery takes the answers of this round, in the order of their start."""
    settings = inputs.settings[ledger.settings]
    for number in range(ledger.recoveries.count):
        recovery = lists.recoveries[ledger.recoveries.start + number]
        phase = recovery.phase
        if recovery.attempting:
            take_adds(lists, inputs, settings, ledger, recovery, number)
        if phase == FENCE:
            take_lacs(lists, settings, ledger, recovery, number, rules)
        elif phase == READ:
            read(lists, inputs, ledger, recovery, number, rules)


@compiled
def take_adds(lists: Lists, inputs: Inputs, settings: Settings, ledger: Ledger, recovery: Recovery, number: int) -> None:
    """Answers to the entry that it writes back; with Qa of them it looks for the next one. Who failed is replaced at once."""
    while next_failure(lists, settings, ledger, number):
        replace_failed(lists, inputs, ledger, recovery, number, NOW, ledger.now + 1)
        if not recovery.attempting:
            return
    take_answers_of(lists, settings, ledger, number)
    complete(lists, settings, ledger, number)
    if recovery.phase == WRITE and acknowledge(lists, ledger, number):
        recovery.lac += 1
        recovery.phase = READ


@compiled
def take_lacs(lists: Lists, settings: Settings, ledger: Ledger, recovery: Recovery, number: int, rules: Rules) -> None:
    """LACs of those who answered the fencing question. Enough of them, and it looks for entries above the highest."""
    fragment = last_found(lists, ledger, number)
    unsure = take_late_lacs(lists, ledger, recovery, number)
    for index in range(settings.ensemble_size):
        slot = lists.found_ensembles[fragment, index]
        if has(recovery.said, index) and not bookie_at(lists, ledger, slot).limbo:
            recovery.heard |= 1 << index
            recovery.base_lac = max(recovery.base_lac, lac_of(lists, settings, ledger, slot))
    if covered(settings, recovery.heard, needed_answers(settings, rules)):
        floor = lists.found[fragment].first_entry - 1 if rules.lac_floor else NO_LAC
        recovery.base_lac = max(recovery.base_lac, floor)
        recovery.lac = recovery.base_lac
        recovery.phase = READ if rules.recover_tail else CLOSE
        recovery.fenced_round = ledger.now
        wait_for_nobody(lists, ledger, recovery, number)
        return
    somebody_is_silent = False
    for index in range(settings.ensemble_size):
        is_unheard = not has(recovery.heard | recovery.said | unsure, index)
        if is_unheard and not is_dead(lists, ledger, lists.found_ensembles[fragment, index]):
            somebody_is_silent = True
    if not somebody_is_silent or ledger.now - recovery.marked_round >= settings.read_timeout_rounds:
        fail_attempt(lists, ledger, recovery, number, READ_EXCEPTION)


@compiled
def take_late_lacs(lists: Lists, ledger: Ledger, recovery: Recovery, number: int) -> int:
    """What slow bookies answered to the fencing question; one in limbo is asked again, as one is that died.

    Returns the mask of indices that answered from limbo.
    """
    unsure = 0
    at = next_late_answer(lists, ledger, number, NOWHERE)
    while at != NOWHERE:
        late = lists.late_answers[at]
        recovery.waits_for &= ~(1 << late.index)
        if not is_dead(lists, ledger, late.bookie) and late.said == TAKEN:
            recovery.heard |= 1 << late.index
            recovery.base_lac = max(recovery.base_lac, late.lac)
        elif not is_dead(lists, ledger, late.bookie):
            unsure |= 1 << late.index
        at = next_late_answer(lists, ledger, number, at)
    forget_come_answers(lists, ledger, number)
    return unsure


@compiled
def read(lists: Lists, inputs: Inputs, ledger: Ledger, recovery: Recovery, number: int, rules: Rules) -> None:
    """Ask the write set of the entry behind its LAC in turn, until the answers are enough; the question fences.

    A slow one is waited for, and after a while the next one is asked, too.
    """
    settings, verdict = inputs.settings[ledger.settings], AGAIN
    if recovery.asked_round == NEVER:
        recovery.asked_round = ledger.now
        recovery.next_place = 0
        recovery.pause_ms = settings.speculate_ms
        recovery.speculate_round = first_speculation(settings, ledger.now)
    else:
        verdict = take_late_reads(lists, settings, ledger, recovery, number, rules)
    if verdict == AGAIN:
        verdict = ask_in_turn(lists, inputs, ledger, recovery, number, rules)
    if verdict == AGAIN and ledger.now >= recovery.speculate_round and recovery.next_place < settings.write_quorum:
        verdict = ask_next(lists, inputs, ledger, recovery, number, rules)
        recovery.pause_ms = next_pause_ms(settings, recovery.pause_ms)
        recovery.speculate_round = ledger.now + timeout_rounds(settings, recovery.pause_ms)
        if verdict == AGAIN:
            verdict = ask_in_turn(lists, inputs, ledger, recovery, number, rules)
    if verdict == AGAIN and recovery.waits_for:
        return
    wait_for_nobody(lists, ledger, recovery, number)
    if verdict == RECOVERED:
        recovery.phase = WRITE
    elif verdict == END:
        recovery.phase = CLOSE
    else:
        fail_attempt(lists, ledger, recovery, number, READ_EXCEPTION)


@compiled
def ask_in_turn(lists: Lists, inputs: Inputs, ledger: Ledger, recovery: Recovery, number: int, rules: Rules) -> int:
    """Ask one after the other while no answer is awaited. What the answers come to."""
    verdict = AGAIN
    while verdict == AGAIN and not recovery.waits_for and recovery.next_place < inputs.settings[ledger.settings].write_quorum:
        verdict = ask_next(lists, inputs, ledger, recovery, number, rules)
    return verdict


@compiled
def ask_next(lists: Lists, inputs: Inputs, ledger: Ledger, recovery: Recovery, number: int, rules: Rules) -> int:
    """The next one of the write set is asked, and fenced; a slow one's answer is awaited. What the answers come to."""
    settings, entry = inputs.settings[ledger.settings], recovery.lac + 1
    index = write_index(settings, entry, recovery.next_place)
    slot = lists.found_ensembles[found_fragment_of(lists, ledger, number, entry), index]
    recovery.next_place += 1
    said = say(lists, settings, ledger, slot, entry)
    if said == FOUND:
        note_read(lists, inputs, ledger, slot, NOBODY, entry)
    if is_heard(lists, ledger, slot):
        if rules.recovery_reads_fence:
            fence(lists, ledger, slot, recovery.cause)
        if bookie_at(lists, ledger, slot).lag > 0:
            send_late_answer(lists, ledger, number, index, slot, said, NO_LAC)
            recovery.waits_for |= 1 << index
            return AGAIN
    return conclude(settings, recovery, said, rules)


@compiled
def take_late_reads(lists: Lists, settings: Settings, ledger: Ledger, recovery: Recovery, number: int, rules: Rules) -> int:
    """Late answers in the order of the questions; of a dead bookie, or after the time-out, it is unknown. What they come to."""
    verdict, kept = AGAIN, ledger.late_answers.start
    for at in every(ledger.late_answers):
        late, became = lists.late_answers[at], ON_ITS_WAY
        if late.client == number:
            became = what_became(lists, settings, ledger, late)
        if became == ON_ITS_WAY:
            move(lists.late_answers, at, kept)
            kept += 1
        elif verdict == AGAIN:
            recovery.waits_for &= ~(1 << late.index)
            verdict = conclude(settings, recovery, late.said if became == COME else UNKNOWN, rules)
    keep_first(ledger.late_answers, kept - ledger.late_answers.start)
    return verdict


@compiled
def conclude(settings: Settings, recovery: Recovery, said: int, rules: Rules) -> int:
    """What one more answer comes to: the entry is there, or Qf say that they haven't got it."""
    answer = as_taken(said, rules)
    if answer == FOUND:
        return RECOVERED
    if answer == NO:
        recovery.said_no += 1
    return END if recovery.said_no >= needed_answers(settings, rules) else AGAIN


@compiled
def as_taken(answer: int, rules: Rules) -> int:
    """What a recovery takes an answer for."""
    if answer == NO and not rules.no_is_an_answer:
        return UNKNOWN
    if answer == UNKNOWN and not rules.unknown_is_no_answer:
        return NO
    return answer


@compiled
def open_without_recovery(lists: Lists, settings: Settings, ledger: Ledger) -> None:
    """The last entry of a closed ledger; else the largest LAC of the last ensemble, if those who are heard cover it."""
    for number in range(ledger.openings.count):
        opening = lists.openings[ledger.openings.start + number]
        if opening.error != PENDING or (opening.asked_round == NEVER and not ledger.store_up):
            continue
        client = READERS - number
        if opening.asked_round != NEVER:
            take_late_tellings(lists, ledger, opening, client)
        elif ledger.state == CLOSED:
            opening.lac = ledger.last_entry
            opening.error = OK
            continue
        else:
            ask_ensemble(lists, settings, ledger, opening, client)
        is_covered = covered(settings, opening.heard, settings.write_quorum - settings.ack_quorum + 1)
        is_over = ledger.now - opening.asked_round >= settings.read_timeout_rounds
        if not is_covered and not is_over and waits(lists, ledger, client):
            continue
        if is_covered:
            opening.lac = opening.largest_lac
        opening.error = OK if is_covered else READ_EXCEPTION
        forget_late_answers(lists, ledger, client)


@compiled
def ask_ensemble(lists: Lists, settings: Settings, ledger: Ledger, opening: Opening, client: int) -> None:
    """A reader asks all bookies of the last ensemble for their LAC; slow ones answer late, those in limbo don't know."""
    opening.asked_round = ledger.now
    fragment = last(ledger.fragments)
    for index in range(settings.ensemble_size):
        slot = lists.ensembles[fragment, index]
        bookie = bookie_at(lists, ledger, slot)
        if not is_heard(lists, ledger, slot) or bookie.limbo:
            continue
        lac = lac_of(lists, settings, ledger, slot)
        if bookie.lag > 0:
            send_late_answer(lists, ledger, client, index, slot, TAKEN, lac)
            continue
        opening.heard |= 1 << index
        opening.largest_lac = max(opening.largest_lac, lac)


@compiled
def take_late_tellings(lists: Lists, ledger: Ledger, opening: Opening, client: int) -> None:
    """LACs that slow bookies told a reader."""
    at = next_late_answer(lists, ledger, client, NOWHERE)
    while at != NOWHERE:
        late = lists.late_answers[at]
        if not is_dead(lists, ledger, late.bookie):
            opening.heard |= 1 << late.index
            opening.largest_lac = max(opening.largest_lac, late.lac)
        at = next_late_answer(lists, ledger, client, at)
    forget_come_answers(lists, ledger, client)
