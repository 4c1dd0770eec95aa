"""Reads one ledger's rows, or those of a topic that is a list of ledgers, from the tables of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from emulator.errors import InputError
from emulator.explain.reading import Subject, read_faults
from emulator.explain.rows import Row
from emulator.outcomes.ask import Asker


@dataclass(frozen=True)
class LedgerRows:
    """The rows of one ledger in one scenario, each table's by column name (docs/tables.md).

    `number`: in its topic's list, None: it is a ledger by itself; `ledger`: its row of `ledgers`; `first_own_entry`: those below
    it were there before the run; `trace`, `bookie_trace`: rows of `ledger_rounds` and `bookie_rounds`, which may start later than
    round 0 and be empty; the other tables are whole.
    """

    scenario: Row
    topic: str
    partition: int
    number: int | None
    ledger: Row
    first_own_entry: int = 0
    fragments: Sequence[Row] = ()
    bookies: Sequence[Row] = ()
    clients: Sequence[Row] = ()
    readers: Sequence[Row] = ()
    brokers: Sequence[Row] = ()
    faults: Sequence[Row] = ()
    events: Sequence[Row] = ()
    violations: Sequence[Row] = ()
    trace: Sequence[Row] = field(default=(), repr=False)
    bookie_trace: Sequence[Row] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """What a page calls it."""
        return f"{self.topic}:{self.partition}" + ("" if self.number is None else f", ledger {self.number}")

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Every bookie that ever had to do with the ledger, by id."""
        told = {row["broker"] for row in (*self.bookies, *self.bookie_trace, *self.events)}
        return tuple(sorted({broker for row in self.fragments for broker in row["ensemble"]} | told - {None}))


@dataclass(frozen=True)
class TopicRows:
    """The rows of a topic that is a list of ledgers; `columns`: the numbers of those that are drawn.

    `row`: its row of `topics`; `trace`, `ledger_trace`: rows of `topic_rounds` and `ledger_rounds`, as of LedgerRows.
    """

    scenario: Row
    topic: str
    partition: int
    row: Row
    ledgers: Sequence[Row]
    brokers: Sequence[Row] = ()
    faults: Sequence[Row] = ()
    readers: Sequence[Row] = ()
    events: Sequence[Row] = ()
    violations: Sequence[Row] = ()
    columns: tuple[int, ...] = ()
    trace: Sequence[Row] = field(default=(), repr=False)
    ledger_trace: Sequence[Row] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """What a page calls it."""
        return f"{self.topic}:{self.partition}"


def read_ledger_or_topic(tables: Asker, subject: Subject, number: int | None) -> LedgerRows | TopicRows:
    """Returns the rows of a ledger, or of a topic if `number`, of its list, is None; of its rounds those that are told of.

    Raises InputError for a ledger that the run does not have.
    """
    topics = _rows(tables, subject, "topics")
    refuse_other_ledger(f"{subject.topic}:{subject.partition}", topics, number)
    return _topic(tables, subject, topics[0]) if topics and number is None else _ledger(tables, subject, number)


def _rows(tables: Asker, subject: Subject, table: str, more: str = "") -> list[Row]:
    return tables.rows(f"SELECT * FROM {table} WHERE {subject.here} {more}")


def refuse_other_ledger(here: str, topic: Sequence[Row], number: int | None) -> None:
    """Raises InputError for the number of a ledger that the topic's list never had; `topic`: its row of `topics`, if any."""
    if number is None:
        return
    if not topic:
        raise InputError(f"--ledger: {here} is one ledger; allowed: no --ledger")
    if number >= topic[0]["ledgers_created"]:
        last = topic[0]["ledgers_created"] - 1
        allowed = f"0 to {last}" if last >= 0 else "no --ledger"
        raise InputError(f"--ledger: {here} has no ledger {number}; allowed: {allowed}")


def _ledger(tables: Asker, subject: Subject, number: int | None) -> LedgerRows:
    own = f"AND ledger = {number or 0}"
    (ledger,) = _rows(tables, subject, "ledgers", own)
    in_rounds = f"{own} AND round BETWEEN {subject.first - 1} AND {subject.last} ORDER BY round"
    of_ledger = "" if number is None else f"AND witness LIKE 'ledger {number}: %'"
    found = LedgerRows(
        subject.scenario,
        subject.topic,
        subject.partition,
        number,
        ledger,
        0 if number is not None else ledger["next_entry"] - _rows(tables, subject, "outcomes")[0]["appended"],
        fragments=_rows(tables, subject, "fragments", f"{own} ORDER BY first_entry"),
        bookies=_rows(tables, subject, "bookies", f"{own} ORDER BY broker"),
        clients=_rows(tables, subject, "ledger_clients", f"{own} ORDER BY client, number"),
        readers=_rows(tables, subject, "ledger_readers", f"{own} ORDER BY number"),
        events=_rows(tables, subject, "events", "" if number is None else own),
        violations=_rows(tables, subject, "violations", f"{of_ledger} ORDER BY round NULLS LAST, invariant"),
        trace=_rows(tables, subject, "ledger_rounds", in_rounds),
        bookie_trace=_rows(tables, subject, "bookie_rounds", f"{in_rounds}, broker"),
    )
    return with_faults(found, tables, subject)


def with_faults(rows: LedgerRows, tables: Asker, subject: Subject) -> LedgerRows:
    """The same with the faults that concern its bookies, as far as they are known."""
    racks, faults = read_faults(tables, subject, rows.columns)
    return replace(rows, brokers=racks, faults=faults)


def _topic(tables: Asker, subject: Subject, row: Row) -> TopicRows:
    ledgers = _rows(tables, subject, "ledgers", "ORDER BY ledger")
    in_rounds = f"AND round BETWEEN {subject.first - 1} AND {subject.last} ORDER BY round"
    fragments = _rows(tables, subject, "fragments")
    events, trace = _rows(tables, subject, "events"), _rows(tables, subject, "ledger_rounds", f"{in_rounds}, ledger")
    of_bookies = {broker for one in fragments for broker in one["ensemble"]}
    of_bookies |= {broker for row in trace for one in row["fragments"] for broker in one["ensemble"]}
    of_bookies |= {event["broker"] for event in events} - {None}
    faults = read_faults(tables, subject, sorted(of_bookies))[1]
    return TopicRows(
        subject.scenario,
        subject.topic,
        subject.partition,
        row,
        ledgers,
        faults=faults,
        readers=_rows(tables, subject, "ledger_readers", "ORDER BY ledger, number"),
        events=events,
        violations=_rows(tables, subject, "violations", "ORDER BY round NULLS LAST, invariant"),
        columns=_drawn(ledgers, subject),
        trace=_rows(tables, subject, "topic_rounds", in_rounds),
        ledger_trace=trace,
    )


MOST_COLUMNS = 12
"""Ledgers that are drawn side by side, the last ones of those that the rounds tell of."""


def _drawn(ledgers: Sequence[Row], subject: Subject) -> tuple[int, ...]:
    """The ledgers that bookies had in these rounds, but for older ones where they are too many."""
    numbers = []
    for row in ledgers:
        gone = [row[name] for name in ("deleted_round", "deleted_from_bookies_round") if row[name] is not None]
        if row["created_round"] <= subject.last and min(gone, default=subject.last) >= subject.first:
            numbers.append(int(row["ledger"]))
    return tuple(numbers[-MOST_COLUMNS:])
