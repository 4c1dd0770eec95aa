"""What readers, and copies to a remote store, read from bookies (docs/bookkeeper_rounds.md, "Readers").

    reader = begin(ledger); ledger.readers.append(reader); go_on(ledger)  # in each round

Every entry is asked for by itself, as SequenceReadRequest of BookKeeper's PendingReadOp does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .bookie import Bookie
from .metadata import fragment_of
from .questions import READ_EXCEPTION, Question, outcome, reach, told_error
from .quorums import FOUND

if TYPE_CHECKING:
    from .ledger import Ledger
    from .topics import Part, Topic


@dataclass
class EntryRead:
    """An entry that hasn't come yet. `asked`: so many of its write set were."""

    entry: int
    pause_ms: int
    speculate_round: int | None
    asked: int = 0
    awaited: list[Question] = field(default_factory=list)
    error: str | None = None
    came: bool = False

    def fails(self, error: str) -> None:
        """One more error."""
        self.error = told_error(self.error, error)


@dataclass
class Reader:
    """A client that reads all entries of a ledger."""

    at_round: int
    entries: int
    wanted: list[EntryRead] = field(default_factory=list)
    done_round: int | None = None
    read: int = 0
    read_bytes: int = 0
    remote_bytes: int = 0
    speculative: int = 0
    missing: dict[int, str] = field(default_factory=dict)
    """Entry -> error."""

    @property
    def row(self) -> tuple[object, ...]:
        """What is compared with the engine's rounds."""
        first = min(self.missing, default=None)
        error = None if first is None else self.missing[first]
        counts = (self.entries, self.read, len(self.missing), self.read_bytes, self.remote_bytes, self.speculative)
        return (self.at_round, self.done_round, *counts, first, error)


def read(ledger: Ledger, entries: Iterable[int]) -> int:
    """Read entries, each from the first heard bookie of its write set that has it; return the bytes."""
    total = 0
    for entry in entries:
        sources = [one for one in write_set_of(ledger, entry) if ledger.is_heard(one) and entry in ledger.bookies[one].entries]
        if sources:
            ledger.served[sources[0]] += ledger.slowness.sizes[entry]
            total += ledger.slowness.sizes[entry]
    return total


def write_set_of(ledger: Ledger, entry: int) -> list[int]:
    """The bookies that an entry is asked of, in order."""
    ensemble = fragment_of(ledger.metadata.fragments, entry).ensemble
    return [ensemble[index] for index in ledger.quorums.write_set(entry)]


def go_on_reading(ledger: Ledger) -> None:
    """Readers under way."""
    for reader in ledger.readers:
        for one in reader.wanted:
            _go_on(ledger, reader, one)
        _finish(ledger, reader)


def serve_readers(ledger: Ledger) -> None:
    """Step 6, at its end: readers under way go on, each read_ledger of this round begins one."""
    go_on_reading(ledger)
    commands = ledger.case.get("commands", [])
    count = sum(command["kind"] == "read_ledger" and command["round"] == ledger.now for command in commands)
    for _ in range(count + ledger.new_readers):
        last = ledger.metadata.last_entry
        end = (ledger.writer.lac if last is None else last) + 1
        first_ms = ledger.settings.first_speculative_ms
        speculate = ledger.now + ledger.settings.timeout(first_ms) if first_ms else None
        reader = Reader(ledger.now, end, [EntryRead(entry, first_ms, speculate) for entry in range(end)])
        for one in reader.wanted:
            _ask_in_turn(ledger, one)
        _finish(ledger, reader)
        ledger.readers.append(reader)
    ledger.new_readers = 0


def _go_on(ledger: Ledger, reader: Reader, one: EntryRead) -> None:
    """Answers first, then who is next in turn, then speculation."""
    for question in list(one.awaited):
        _take(ledger, one, question)
    _ask_in_turn(ledger, one)
    write_quorum = ledger.quorums.write
    if not one.came and one.awaited and one.asked < write_quorum and one.speculate_round == ledger.now:
        reader.speculative += 1
        _ask(ledger, one)
        one.pause_ms = min(2 * one.pause_ms, ledger.settings.max_speculative_ms)
        one.speculate_round = ledger.now + ledger.settings.timeout(one.pause_ms)
        _ask_in_turn(ledger, one)


def _take(ledger: Ledger, one: EntryRead, question: Question) -> None:
    """Take what a question comes to."""
    reach(ledger, question, lambda asked, bookie: _look(ledger, one, asked, bookie))
    came = outcome(ledger, question)
    if came is None:
        return
    one.awaited.remove(question)
    if came == FOUND:
        one.came = True
    else:
        one.fails(came)


def _ask_in_turn(ledger: Ledger, one: EntryRead) -> None:
    while not one.came and not one.awaited and one.asked < ledger.quorums.write:
        _ask(ledger, one)


def _ask(ledger: Ledger, one: EntryRead) -> None:
    """The next one of the write set."""
    question = Question(write_set_of(ledger, one.entry)[one.asked], ledger.now)
    one.asked += 1
    one.awaited.append(question)
    _take(ledger, one, question)


def _look(ledger: Ledger, one: EntryRead, question: Question, bookie: Bookie) -> None:
    """The bookie looks for the entry, and sends what it finds."""
    question.answer = bookie.read(one.entry)
    if question.answer == FOUND:
        ledger.served[question.bookie] += ledger.slowness.sizes[one.entry]


def _finish(ledger: Ledger, reader: Reader) -> None:
    """What came, or of which nothing is awaited any more, is over."""
    for one in reader.wanted:
        if one.came:
            reader.read += 1
            reader.read_bytes += ledger.slowness.sizes[one.entry]
            ledger.reader_bytes += ledger.slowness.sizes[one.entry]
        elif not one.awaited:
            assert one.error is not None
            reader.missing[one.entry] = one.error
    reader.wanted = [one for one in reader.wanted if not one.came and one.awaited]
    if not reader.wanted and reader.done_round is None:
        reader.done_round = ledger.now


def begin_reading_list(topic: Topic, store_up: bool) -> None:
    """Each read_topic of this round begins to read all ledgers of the list: offloaded ones from the store, at once."""
    for command in topic.case.get("commands", []):
        if command["kind"] != "read_topic" or command["round"] != topic.now:
            continue
        for part in topic.listed:
            if part.offloaded_round is None:
                part.ledger.new_readers += 1
            else:
                part.ledger.readers.append(_read_remotely(topic, part, store_up))


def _read_remotely(topic: Topic, part: Part, store_up: bool) -> Reader:
    reader = Reader(topic.now, part.entries, done_round=topic.now)
    if store_up:
        reader.read = part.entries
        reader.remote_bytes = sum(part.ledger.slowness.sizes[: part.entries])
        part.ledger.reader_remote_bytes += reader.remote_bytes
    else:
        reader.missing = dict.fromkeys(range(part.entries), READ_EXCEPTION)
    return reader
