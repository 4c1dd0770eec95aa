"""Step 6, at its end: readers, who ask for every entry of a ledger by itself (docs/bookkeeper_rounds.md, Readers).

Entries of the same write set that the same bookies have are one Read: one is asked for as the other is. Sources: PendingReadOp
(SequenceReadRequest) and DefaultSpeculativeRequestExecutionPolicy.
"""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at, is_dead, is_heard
from emulator.rounds.bookkeeper.client_records import LateAnswer, Read
from emulator.rounds.bookkeeper.constants import (
    CLOSED,
    COME,
    FIRST_READ,
    FOUND,
    LOST,
    NEVER,
    NO_ENTRY,
    NOT_ASKED_YET,
    NOT_AVAILABLE,
    OK,
    ON_ITS_WAY,
    READ_EXCEPTION,
    TIMEOUT,
    TOO_LATE,
)
from emulator.rounds.bookkeeper.fragments import fragment_of
from emulator.rounds.bookkeeper.held import bytes_up_to
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.late_answers import ask, forget_late_answers, waits, what_became
from emulator.rounds.bookkeeper.lost_entries import every_eth, next_edge
from emulator.rounds.bookkeeper.quorums import write_index
from emulator.rounds.bookkeeper.read_entries import error_of, next_size, say, told_error
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.sizes import bytes_of_entry
from emulator.rounds.bookkeeper.speculation import first_speculation, next_pause_ms, timeout_rounds
from emulator.rounds.compiled import compiled
from emulator.rounds.entries import move
from emulator.rounds.lists import append, every, keep_first, last


@compiled
def serve_readers(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """Reads under way go on, in the order of their start; then this round's readers begin."""
    settings, number = inputs.settings[ledger.settings], 0
    while number < ledger.reads.count:  # one that is parted adds another one, which goes on, too
        part_where_bookies_differ(lists, settings, ledger, ledger.reads.start + number)
        go_on(lists, inputs, ledger, lists.reads[ledger.reads.start + number])
        number += 1
    forget_settled(lists, ledger)
    for _ in range(ledger.new_readers):
        begin_reading(lists, inputs, ledger)
    ledger.new_readers = 0


@compiled
def begin_reading(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """A reader asks for every entry that is acknowledged, or recovered."""
    settings = inputs.settings[ledger.settings]
    end = (ledger.last_entry if ledger.state == CLOSED else ledger.lac) + 1
    number = ledger.readers.count
    add_reader(lists, ledger, end, ledger.now)
    entry = 0
    while entry < end:
        edge = next_size(inputs, ledger, entry, next_edge(lists, ledger, entry, end))
        for near in range(entry, min(entry + settings.ensemble_size, edge)):
            at = append(ledger.reads)
            read = lists.reads[at]
            read.client = next_client(ledger)
            read.reader = number
            read.first_entry = near
            read.to_entry = edge
            read.next_place = 0
            read.pause_ms = settings.speculate_ms
            read.speculate_round = first_speculation(settings, ledger.now)
            read.error = OK
            read.settled = 0
            is_read = ask_in_turn(lists, inputs, ledger, read)
            settle(lists, inputs, ledger, read, is_read)
            if read.settled:
                keep_first(ledger.reads, ledger.reads.count - 1)
        entry = edge


@compiled
def add_reader(lists: Lists, ledger: Ledger, entries: int, now: int) -> int:
    """One more reader, and where it is."""
    at = append(ledger.readers)
    reader = lists.readers[at]
    reader.at_round = now
    reader.done_round = now if entries == 0 else NEVER
    reader.entries = entries
    reader.read = 0
    reader.missing = 0
    reader.read_bytes = 0
    reader.remote_bytes = 0
    reader.speculative = 0
    reader.first_missing = NO_ENTRY
    reader.error = OK
    return at


@compiled
def read_remotely(lists: Lists, inputs: Inputs, ledger: Ledger, entries: int, now: int, is_up: int) -> None:
    """A reader gets all of an offloaded ledger from the remote store in this round, or nothing while that is away."""
    reader = lists.readers[add_reader(lists, ledger, entries, now)]
    reader.done_round = now
    if is_up:
        reader.read = entries
        reader.remote_bytes = bytes_up_to(inputs, ledger, entries)
        ledger.reader_remote_bytes += reader.remote_bytes
    elif entries > 0:
        reader.missing = entries
        reader.first_missing = 0
        reader.error = READ_EXCEPTION


@compiled
def next_client(ledger: Ledger) -> int:
    """The number of the next read among the clients that answers go to."""
    ledger.reads_begun += 1
    return FIRST_READ - ledger.reads_begun


@compiled
def part_where_bookies_differ(lists: Lists, settings: Settings, ledger: Ledger, place: int) -> None:
    """What bookies have may have changed for some entries of a read: those behind the change are one of their own."""
    read, size = lists.reads[place], settings.ensemble_size
    edge = next_edge(lists, ledger, read.first_entry, read.to_entry)
    behind = read.first_entry + every_eth(read.first_entry, edge, size) * size
    if behind < read.to_entry:
        at = append(ledger.reads)
        move(lists.reads, place, at)
        lists.reads[at].first_entry = behind
        lists.reads[at].client = next_client(ledger)
        for answer in every(ledger.late_answers):
            if lists.late_answers[answer].client == read.client:
                copy = append(ledger.late_answers)
                move(lists.late_answers, answer, copy)
                lists.late_answers[copy].client = lists.reads[at].client
    read.to_entry = edge


@compiled
def go_on(lists: Lists, inputs: Inputs, ledger: Ledger, read: Read) -> None:
    """Answers first, then whose turn it is, then speculation."""
    settings = inputs.settings[ledger.settings]
    is_read = take_answers_to(lists, inputs, ledger, read)
    is_read = is_read or ask_in_turn(lists, inputs, ledger, read)
    is_late = ledger.now >= read.speculate_round and read.next_place < settings.write_quorum
    if is_late and not is_read:
        lists.readers[ledger.readers.start + read.reader].speculative += entries_of(settings, read)
        is_read = ask_next(lists, inputs, ledger, read)
        read.pause_ms = next_pause_ms(settings, read.pause_ms)
        read.speculate_round = ledger.now + timeout_rounds(settings, read.pause_ms)
        is_read = is_read or ask_in_turn(lists, inputs, ledger, read)
    settle(lists, inputs, ledger, read, is_read)


@compiled
def ask_in_turn(lists: Lists, inputs: Inputs, ledger: Ledger, read: Read) -> bool:
    """Ask one after the other while no answer is awaited; whether the entries came."""
    settings = inputs.settings[ledger.settings]
    while read.next_place < settings.write_quorum and not waits(lists, ledger, read.client):
        if ask_next(lists, inputs, ledger, read):
            return True
    return False


@compiled
def ask_next(lists: Lists, inputs: Inputs, ledger: Ledger, read: Read) -> bool:
    """Ask the next bookie of the write set; whether the entries come at once."""
    settings = inputs.settings[ledger.settings]
    index = write_index(settings, read.first_entry, read.next_place)
    slot = lists.ensembles[fragment_of(lists, ledger, read.first_entry), index]
    read.next_place += 1
    if is_dead(lists, ledger, slot):
        read.error = told_error(read.error, NOT_AVAILABLE)
        return False
    ask(lists, ledger, read.client, index, slot)
    question = lists.late_answers[last(ledger.late_answers)]
    if not is_heard(lists, ledger, slot):
        return False
    look(lists, inputs, ledger, read, question)
    if question.due_round > ledger.now:
        return False
    keep_first(ledger.late_answers, ledger.late_answers.count - 1)
    return hear(read, question.said)


@compiled
def look(lists: Lists, inputs: Inputs, ledger: Ledger, read: Read, question: LateAnswer) -> None:
    """The bookie looks for the entries, and sends what it finds; a slow one's answer comes later."""
    settings, bookie = inputs.settings[ledger.settings], bookie_at(lists, ledger, question.bookie)
    question.said = say(lists, settings, ledger, question.bookie, read.first_entry)
    question.due_round = ledger.now + bookie.lag
    if question.said == FOUND:
        bookie.bytes_out += bytes_of_read(inputs, ledger, read)


@compiled
def hear(read: Read, said: int) -> bool:
    """An answer has come; whether it is the entries."""
    if said == FOUND:
        return True
    read.error = told_error(read.error, error_of(said))
    return False


@compiled
def take_answers_to(lists: Lists, inputs: Inputs, ledger: Ledger, read: Read) -> bool:
    """Answers of this round to a read, and those that never come; whether one of them is the entries."""
    settings, is_read, kept = inputs.settings[ledger.settings], False, ledger.late_answers.start
    for at in every(ledger.late_answers):
        question, became = lists.late_answers[at], ON_ITS_WAY
        if question.client == read.client:
            if question.said == NOT_ASKED_YET and is_heard(lists, ledger, question.bookie):
                look(lists, inputs, ledger, read, question)
            became = what_became(lists, settings, ledger, question)
        if became == COME and hear(read, question.said):
            is_read = True
        elif became == LOST:
            read.error = told_error(read.error, NOT_AVAILABLE)
        elif became == TOO_LATE:
            read.error = told_error(read.error, TIMEOUT)
        if became == ON_ITS_WAY:
            move(lists.late_answers, at, kept)
            kept += 1
    keep_first(ledger.late_answers, kept - ledger.late_answers.start)
    return is_read


@compiled
def settle(lists: Lists, inputs: Inputs, ledger: Ledger, read: Read, is_read: bool) -> None:
    """A read whose entries came is over, and so is one of which no answer is awaited any more: they are missing."""
    if not is_read and waits(lists, ledger, read.client):
        return
    forget_late_answers(lists, ledger, read.client)
    read.settled = 1
    reader = lists.readers[ledger.readers.start + read.reader]
    count = entries_of(inputs.settings[ledger.settings], read)
    if is_read:
        size = bytes_of_read(inputs, ledger, read)
        reader.read += count
        reader.read_bytes += size
        ledger.reader_bytes += size
    else:
        if reader.missing == 0 or read.first_entry < reader.first_missing:
            reader.first_missing = read.first_entry
            reader.error = read.error
        reader.missing += count
    if reader.read + reader.missing == reader.entries:
        reader.done_round = ledger.now


@compiled
def entries_of(settings: Settings, read: Read) -> int:
    """How many entries a read asks for."""
    return every_eth(read.first_entry, read.to_entry, settings.ensemble_size)


@compiled
def bytes_of_read(inputs: Inputs, ledger: Ledger, read: Read) -> int:
    """Bytes of the entries that a read asks for."""
    return entries_of(inputs.settings[ledger.settings], read) * bytes_of_entry(inputs, ledger, read.first_entry)


@compiled
def forget_settled(lists: Lists, ledger: Ledger) -> None:
    """Reads that are over go."""
    kept = ledger.reads.start
    for at in every(ledger.reads):
        if not lists.reads[at].settled:
            move(lists.reads, at, kept)
            kept += 1
    keep_first(ledger.reads, kept - ledger.reads.start)
