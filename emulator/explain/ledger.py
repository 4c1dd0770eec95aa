"""The story of one ledger as lines: what became of it, what happened in which round, and what its clients were told."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from emulator.explain.reading import Subject, ask, literal
from emulator.explain.rows import Row

_ORDER = (
    *("entries_lost", "limbo_entered", "ensemble_change", "recovery_started", "ledger_closed", "rereplicated", "fence"),
    *("add_failed", "underreplicated", "copied", "filled", "limbo_left"),
)
"""Events of one round, in the order in which its steps cause them."""


def ledger_lines(folder: str, spark: SparkSession, subject: Subject) -> list[str]:
    """The story of a ledger."""
    chosen, first, last = subject.scenario, subject.first, subject.last

    def rows(table: str, more: str = "") -> list[Row]:
        return ask(folder, spark, f"SELECT * FROM {table} WHERE {subject.here} {more}")

    (ledger,) = rows("ledgers")
    fragments, bookies = rows("fragments", "ORDER BY first_entry"), rows("bookies", "ORDER BY broker")
    of_scenario = f"scenario {chosen['name']} ({chosen['protocol']}), rounds {first} to {last}"
    lines = [f"ledger {subject.topic}:{subject.partition}, {of_scenario}", ""]
    lines += [_state(ledger), *(f"  entries from {f['first_entry']} on: bookies {f['ensemble']}" for f in fragments), ""]
    concerned = sorted({b for f in fragments for b in f["ensemble"]} | {b["broker"] for b in bookies})
    lines += _happenings(ask(folder, spark, _faults_sql(subject, concerned)), rows("events"), first, last)
    clients = rows("ledger_clients", "ORDER BY client, number")
    lines += ["", *(_client(client) for client in clients)] if clients else []
    lines += ["", "bookies at the end:", *(_bookie(bookie) for bookie in bookies)]
    violations = rows("violations", "ORDER BY round NULLS LAST, invariant")
    return lines + [f"violated in round {v['round']}: {v['invariant']}: {v['witness']}" for v in violations]


def _faults_sql(subject: Subject, bookies: Sequence[int]) -> str:
    of_bookies = f"(broker IS NULL OR broker IN ({', '.join(map(str, bookies or [-1]))}))"
    of_topic = f"(topic IS NULL OR topic = {literal(subject.topic)})"
    of_ledger = f"{of_topic} AND (partition IS NULL OR partition = {subject.partition})"
    return f"SELECT * FROM faults WHERE {subject.in_scenario} AND {of_bookies} AND {of_ledger} ORDER BY fault_id"


def _state(ledger: Row) -> str:
    end = "" if ledger["last_entry"] is None else f", last entry {ledger['last_entry']}"
    told = f"; the writer acknowledged up to {ledger['writer_lac']} and is {ledger['writer']}"
    return f"{ledger['state']}{end}{told}"


def _happenings(faults: Sequence[Row], events: Sequence[Row], first: int, last: int) -> list[str]:
    """One line per fault's begin and end, and per event, by round."""
    told: list[tuple[int, int, str]] = []
    for fault in faults:
        on = f" on bookie {fault['broker']}" if fault["broker"] is not None else ""
        name = f"fault {fault['fault_id']}, {fault['kind']}{on},"
        told += [(fault["from_round"], -2, f"{name} begins"), (fault["to_round"], -1, f"{name} is over")]
    told += [(event["round"], _ORDER.index(event["kind"]), _event(event)) for event in events]
    return [f"round {round_}: {text}" for round_, _, text in sorted(told) if first <= round_ <= last]


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
    }[event["kind"]]


def _client(client: Row) -> str:
    found = "" if client["last_entry"] is None else f", found entry {client['last_entry']} to be the last"
    answer = "" if client["error"] is None else f", was told {client['error']}"
    return f"{client['client']} {client['number']}: {client['phase']}{answer}{found}"


def _bookie(bookie: Row) -> str:
    last = "no entry" if bookie["last_entry"] is None else f"last entry {bookie['last_entry']}"
    return f"  {bookie['broker']}: {last}, LAC {bookie['lac']}{', fenced' if bookie['fenced'] else ''}"
