"""The story of one ledger as lines, from events and faults alone: where its rounds are not known, and in reports."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.explain.ledger_closing import (
    bookie_words,
    client_words,
    list_words,
    messages_words,
    reader_words,
    state_words,
)
from emulator.explain.ledger_rows import refuse_other_ledger
from emulator.explain.reading import Subject, read_faults
from emulator.explain.rows import Row
from emulator.explain.times import time_of, times_of
from emulator.outcomes.ask import Asker

_OF_LISTS_FIRST = ("take_over", "ledger_created")
_OF_LISTS_LAST = ("ledger_rolled_over", "ledger_deleted", "offload_failed", "offloaded", "offload_started", "bookies_freed")
_OF_LISTS = (*_OF_LISTS_FIRST, *_OF_LISTS_LAST)
"""Events of a topic that is a list of ledgers."""

_ORDER = (
    *_OF_LISTS_FIRST,
    *(
        "acked_lost",
        "entries_lost",
        "limbo_entered",
        "ensemble_change",
        "recovery_started",
        "ledger_closed",
        "rereplicated",
        "fence",
    ),
    *("add_failed", "underreplicated", "copied", "filled", "limbo_left"),
    *_OF_LISTS_LAST,
)
"""Events of one round, in the order in which its steps cause them."""


def ledger_lines(tables: Asker, subject: Subject, number: int | None = None) -> list[str]:
    """The story of a ledger, or of a topic that is a list of ledgers.

    `number`: which ledger of the list is told of, None: the list. Raises InputError for one that isn't there.
    """
    chosen, first, last = subject.scenario, subject.first, subject.last

    def rows(table: str, more: str = "") -> list[Row]:
        return tables.rows(f"SELECT * FROM {table} WHERE {subject.here} {more}")

    here, of_scenario = f"{subject.topic}:{subject.partition}", f"scenario {chosen['name']} ({chosen['protocol']})"
    heading = f"{here}, {of_scenario}, rounds {first} to {last} ({times_of(chosen, first, last)})"
    topic = rows("topics")
    refuse_other_ledger(here, topic, number)
    if topic and number is None:
        of_list = [event for event in rows("events") if event["kind"] in _OF_LISTS]
        told = _happenings(read_faults(tables, subject, ())[1], of_list, subject)
        listed = [f"  ledger {row['ledger']}: {list_words(row)}" for row in rows("ledgers", "ORDER BY ledger")]
        return [f"topic {heading}", "", messages_words(topic[0]), *listed, "", *told]
    own = f"AND ledger = {number or 0}"
    (ledger,) = rows("ledgers", own)
    fragments, bookies = rows("fragments", f"{own} ORDER BY first_entry"), rows("bookies", f"{own} ORDER BY broker")
    place = "" if number is None else f"{number} of "
    lines = [f"ledger {place}{heading}", ""]
    lines += [state_words(ledger), *(f"  entries from {f['first_entry']} on: bookies {f['ensemble']}" for f in fragments), ""]
    concerned = sorted({b for f in fragments for b in f["ensemble"]} | {b["broker"] for b in bookies})
    faults = read_faults(tables, subject, concerned)[1]
    lines += _happenings(faults, rows("events", own if topic else ""), subject)
    clients = rows("ledger_clients", f"{own} ORDER BY client, number")
    lines += ["", *(client_words(client) for client in clients)] if clients else []
    readers = rows("ledger_readers", f"{own} ORDER BY number")
    lines += ["", *(reader_words(reader) for reader in readers)] if readers else []
    lines += ["", "bookies at the end:", *(f"  {bookie_words(bookie)}" for bookie in bookies)]
    of_ledger = "" if number is None else f"AND witness LIKE 'ledger {number}: %'"
    violations = rows("violations", f"{of_ledger} ORDER BY round NULLS LAST, invariant")
    return lines + [f"violated in round {v['round']}: {v['invariant']}: {v['witness']}" for v in violations]


def _happenings(faults: Sequence[Row], events: Sequence[Row], subject: Subject) -> list[str]:
    """One line per fault's begin and end, and per event, by round."""
    told: list[tuple[int, int, str]] = []
    for fault in faults:
        on = f" on bookie {fault['broker']}" if fault["broker"] is not None else ""
        name = f"fault {fault['fault_id']}, {fault['kind']}{on},"
        told.append((fault["from_round"], -2, f"{name} begins"))
        if fault["to_round"] is not None:
            told.append((fault["to_round"], -1, f"{name} is over"))
    told += [(event["round"], _ORDER.index(event["kind"]), _event(event) + _cause(event)) for event in events]
    in_rounds = [(round_, text) for round_, _, text in sorted(told) if subject.first <= round_ <= subject.last]
    return [f"round {round_} ({time_of(subject.scenario, round_)}): {text}" for round_, text in in_rounds]


def _event(event: Row) -> str:
    bookie, start, end = event["broker"], event["from_offset"], event["to_offset"]
    return {
        "acked_lost": _lost(event),
        "entries_lost": f"bookie {bookie} lost entries from {start} to {None if end is None else end - 1}",
        "ensemble_change": f"the ensemble changed: entries from {start} on go to other bookies",
        "recovery_started": "a recovery marked the ledger IN_RECOVERY",
        "ledger_closed": f"the ledger was closed, last entry {end}",
        "fence": f"bookie {bookie} was fenced",
        "add_failed": f"the writer's adds of entries {start} to {None if end is None else end - 1} failed",
        "underreplicated": f"the fragment from entry {start} on needs another bookie for {bookie}",
        "copied": f"bookie {bookie} has copies of all that it is to have from {start} to {None if end is None else end - 1}",
        "rereplicated": f"bookie {bookie} took a lost one's place in the fragment from entry {start} on",
        "filled": f"bookie {bookie} has all of its entries",
        "limbo_entered": f"bookie {bookie} is in limbo: it doesn't know what it lost",
        "limbo_left": f"bookie {bookie} is out of limbo",
        "take_over": "another broker takes the topic over",
        "ledger_created": f"ledger {event['ledger']} was created, for messages from {start} on",
        "ledger_rolled_over": f"ledger {event['ledger']} is done with: its owner goes on to another one",
        "ledger_deleted": f"ledger {event['ledger']} was deleted",
        "offload_started": f"ledger {event['ledger']} is being copied to the remote store",
        "offload_failed": f"the copy of ledger {event['ledger']} to the remote store was given up",
        "offloaded": f"the remote store has ledger {event['ledger']}",
        "bookies_freed": f"bookies deleted ledger {event['ledger']}, which the remote store has",
    }[event["kind"]]


def _lost(event: Row) -> str:
    """How many acknowledged entries nobody has any more, or are behind the end."""
    start, end = event["from_offset"], event["to_offset"]
    if event["kind"] != "acked_lost":
        return ""
    count = end - start if event["records"] is None else event["records"]
    where = "behind the end" if event["broker"] is None else f"of which bookie {event['broker']} had the last copies"
    return f"{count} acknowledged entries are lost, from {start} to {end - 1}, {where}"


def _cause(event: Row) -> str:
    return "" if event["cause"] is None else f" (fault {event['cause']})"
