"""The story of one ledger as lines: what became of it, what happened in which round, and what its clients were told."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.errors import InputError
from emulator.explain.reading import Subject, ask, read_faults
from emulator.explain.rows import Row
from emulator.explain.times import time_of, times_of
from emulator.outcomes.ask import Asker

_OF_LISTS_FIRST = ("take_over", "ledger_created")
_OF_LISTS_LAST = ("ledger_rolled_over", "ledger_deleted", "offload_failed", "offloaded", "offload_started", "bookies_freed")
_OF_LISTS = (*_OF_LISTS_FIRST, *_OF_LISTS_LAST)
"""Events of a topic that is a list of ledgers."""

_ORDER = (
    *_OF_LISTS_FIRST,
    *("entries_lost", "limbo_entered", "ensemble_change", "recovery_started", "ledger_closed", "rereplicated", "fence"),
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
        return ask(tables, f"SELECT * FROM {table} WHERE {subject.here} {more}")

    here, of_scenario = f"{subject.topic}:{subject.partition}", f"scenario {chosen['name']} ({chosen['protocol']})"
    heading = f"{here}, {of_scenario}, rounds {first} to {last} ({times_of(chosen, first, last)})"
    topic = rows("topics")
    _refuse_other_ledger(here, topic, number)
    if topic and number is None:
        of_list = [event for event in rows("events") if event["kind"] in _OF_LISTS]
        told = _happenings(read_faults(tables, subject, ())[1], of_list, subject)
        return [f"topic {heading}", "", *_list_lines(topic[0], rows("ledgers", "ORDER BY ledger")), "", *told]
    own = f"AND ledger = {number or 0}"
    (ledger,) = rows("ledgers", own)
    fragments, bookies = rows("fragments", f"{own} ORDER BY first_entry"), rows("bookies", f"{own} ORDER BY broker")
    place = "" if number is None else f"{number} of "
    lines = [f"ledger {place}{heading}", ""]
    lines += [_state(ledger), *(f"  entries from {f['first_entry']} on: bookies {f['ensemble']}" for f in fragments), ""]
    concerned = sorted({b for f in fragments for b in f["ensemble"]} | {b["broker"] for b in bookies})
    faults = read_faults(tables, subject, concerned)[1]
    lines += _happenings(faults, rows("events", own if topic else ""), subject)
    clients = rows("ledger_clients", f"{own} ORDER BY client, number")
    lines += ["", *(_client(client) for client in clients)] if clients else []
    lines += ["", "bookies at the end:", *(_bookie(bookie) for bookie in bookies)]
    of_ledger = "" if number is None else f"AND witness LIKE 'ledger {number}: %'"
    violations = rows("violations", f"{of_ledger} ORDER BY round NULLS LAST, invariant")
    return lines + [f"violated in round {v['round']}: {v['invariant']}: {v['witness']}" for v in violations]


def _refuse_other_ledger(here: str, topic: Sequence[Row], number: int | None) -> None:
    if number is None:
        return
    if not topic:
        raise InputError(f"--ledger: {here} is one ledger; allowed: no --ledger")
    if number >= topic[0]["ledgers_created"]:
        last = topic[0]["ledgers_created"] - 1
        allowed = f"0 to {last}" if last >= 0 else "no --ledger"
        raise InputError(f"--ledger: {here} has no ledger {number}; allowed: {allowed}")


def _list_lines(topic: Row, ledgers: Sequence[Row]) -> list[str]:
    """The list as it was, and what became of its messages."""
    said = f"{topic['messages']} messages, {topic['acked']} acknowledged, {topic['acked_lost']} of these lost"
    lines = [f"{said}; readers get {topic['readable']} entries, retention deleted {topic['messages_deleted']}"]
    for row in ledgers:
        end = row["writer_lac"] if row["last_entry"] is None else row["last_entry"]
        told = [
            f"from round {row['created_round']} on",
            f"messages from {row['first_message']} on, {end + 1} entries",
            row["state"],
        ]
        told += [] if row["rolled_over"] is None else [f"rolled over by {row['rolled_over']}"]
        ends = ("closed", "offloaded", "deleted_from_bookies", "deleted")
        told += [f"{end.replace('_', ' ')} in round {row[f'{end}_round']}" for end in ends if row[f"{end}_round"] is not None]
        lines.append(f"  ledger {row['ledger']}: {', '.join(told)}")
    return lines


def _state(ledger: Row) -> str:
    end = "" if ledger["last_entry"] is None else f", last entry {ledger['last_entry']}"
    told = f"; the writer acknowledged up to {ledger['writer_lac']} and is {ledger['writer']}"
    return f"{ledger['state']}{end}{told}"


def _happenings(faults: Sequence[Row], events: Sequence[Row], subject: Subject) -> list[str]:
    """One line per fault's begin and end, and per event, by round."""
    told: list[tuple[int, int, str]] = []
    for fault in faults:
        on = f" on bookie {fault['broker']}" if fault["broker"] is not None else ""
        name = f"fault {fault['fault_id']}, {fault['kind']}{on},"
        told += [(fault["from_round"], -2, f"{name} begins"), (fault["to_round"], -1, f"{name} is over")]
    told += [(event["round"], _ORDER.index(event["kind"]), _event(event)) for event in events]
    in_rounds = [(round_, text) for round_, _, text in sorted(told) if subject.first <= round_ <= subject.last]
    return [f"round {round_} ({time_of(subject.scenario, round_)}): {text}" for round_, text in in_rounds]


def _event(event: Row) -> str:
    bookie, start, end = event["broker"], event["from_offset"], event["to_offset"]
    return {
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


def _client(client: Row) -> str:
    found = "" if client["last_entry"] is None else f", found entry {client['last_entry']} to be the last"
    answer = "" if client["error"] is None else f", was told {client['error']}"
    return f"{client['client']} {client['number']}: {client['phase']}{answer}{found}"


def _bookie(bookie: Row) -> str:
    last = "no entry" if bookie["last_entry"] is None else f"last entry {bookie['last_entry']}"
    return f"  {bookie['broker']}: {last}, LAC {bookie['lac']}{', fenced' if bookie['fenced'] else ''}"
