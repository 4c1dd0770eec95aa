"""What stories of ledgers and topics end with: how it came out, what was lost and why, faults, violations."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.explain.faults import fault_words
from emulator.explain.fetches import offsets
from emulator.explain.ledger_rows import LedgerRows, TopicRows
from emulator.explain.rows import Row
from emulator.explain.summary import faults_and_violations
from emulator.explain.times import time_of


def ledger_closing(rows: LedgerRows) -> Iterator[str]:
    """Yields how it came out, a line for each fact; those that belong to one above are indented."""
    yield f"At the end of round {rows.scenario['rounds'] - 1}"
    yield f"  {state_words(rows.ledger)}"
    for fragment in rows.fragments:
        yield f"  entries from {fragment['first_entry']} on: bookies {' '.join(map(str, fragment['ensemble']))}"
    for bookie in rows.bookies:
        yield f"  bookie {bookie_words(bookie)}"
    if rows.clients:
        yield "Clients"
        for client in rows.clients:
            yield f"  {client_words(client)}"
    yield from _readers(rows)
    yield from _lost_and_faults(rows)


def topic_closing(rows: TopicRows) -> Iterator[str]:
    """Yields the same of a topic: its messages and its ledgers."""
    yield f"At the end of round {rows.scenario['rounds'] - 1}"
    yield f"  {messages_words(rows.row)}"
    for ledger in rows.ledgers:
        yield f"  ledger {ledger['ledger']}: {list_words(ledger)}"
    yield from _readers(rows)
    yield from _lost_and_faults(rows)


def _readers(rows: LedgerRows | TopicRows) -> Iterator[str]:
    if rows.readers:
        yield "Readers"
    for reader in rows.readers:
        of_list = f"of ledger {reader['ledger']}, " if isinstance(rows, TopicRows) else ""
        yield f"  {of_list}{reader_words(reader)}"


def _lost_and_faults(rows: LedgerRows | TopicRows) -> Iterator[str]:
    faults = {fault["fault_id"]: fault for fault in rows.faults}
    lost = [event for event in rows.events if event["kind"] == "acked_lost"]
    yield "Lost" if lost else "Lost: nothing that was acknowledged"
    for event in lost:
        yield f"  {loss_words(event, rows.scenario, faults.get(event['cause']))}"
    yield from faults_and_violations(rows)


def loss_words(event: Row, scenario: Row, fault: Row | None) -> str:
    """Returns when acknowledged entries were lost, which, and why."""
    start, end, broker = event["from_offset"], event["to_offset"], event["broker"]
    count = end - start if event["records"] is None else event["records"]
    of_list = "" if event["ledger"] is None else f" of ledger {event['ledger']}"
    why = "behind the end, or on no bookie any more" if broker is None else f"bookie {broker} had the last copies"
    cause = "" if event["cause"] is None else f"; fault {event['cause']}"
    cause += "" if fault is None else f", {fault_words(fault)}"
    what = f"{count} acknowledged entr{'y' if count == 1 else 'ies'}{of_list}, {offsets(start, end)}"
    return f"round {event['round']} ({time_of(scenario, event['round'])}): {what}: {why}{cause}"


def messages_words(topic: Row) -> str:
    """Returns what became of a topic's messages."""
    said = f"{topic['messages']} messages, {topic['acked']} acknowledged, {topic['acked_lost']} of these lost"
    return f"{said}; readers get {topic['readable']} entries, retention deleted {topic['messages_deleted']}"


def list_words(ledger: Row) -> str:
    """Returns what a ledger of a list was, and how it went on."""
    end = ledger["writer_lac"] if ledger["last_entry"] is None else ledger["last_entry"]
    told = [
        f"from round {ledger['created_round']} on",
        f"messages from {ledger['first_message']} on, {end + 1} entries",
        ledger["state"],
    ]
    told += [] if ledger["rolled_over"] is None else [f"rolled over by {ledger['rolled_over']}"]
    ends = ("closed", "offloaded", "deleted_from_bookies", "deleted")
    told += [f"{one.replace('_', ' ')} in round {ledger[f'{one}_round']}" for one in ends if ledger[f"{one}_round"] is not None]
    return ", ".join(told)


def state_words(ledger: Row) -> str:
    """Returns how a ledger stands, and what of its acknowledged entries isn't well."""
    end = "" if ledger["last_entry"] is None else f", last entry {ledger['last_entry']}"
    told = f"; the writer acknowledged up to {ledger['writer_lac']} and is {ledger['writer']}"
    unwell = {what: ledger[f"acked_{what}"] for what in ("lost", "unreadable", "under_replicated")}
    said = [f"{count} {what.replace('_', '-')}" for what, count in unwell.items() if count]
    return f"{ledger['state']}{end}{told}" + (f"; acknowledged entries: {', '.join(said)}" if said else "")


def client_words(client: Row) -> str:
    """Returns how far a client is, and what it was told."""
    found = "" if client["last_entry"] is None else f", found entry {client['last_entry']} to be the last"
    answer = "" if client["error"] is None else f", was told {client['error']}"
    attempt = "" if client["attempt_error"] is None else f", an attempt failed with {client['attempt_error']}"
    return f"{client['client']} {client['number']}: {client['phase']}{answer}{attempt}{found}"


def reader_words(reader: Row) -> str:
    """Returns when a reader read, what it got, from where, and what it had to ask twice for."""
    done = "on, still reading" if reader["done_round"] is None else f"to round {reader['done_round']}"
    said = [f"reader {reader['number']}: from round {reader['started_round']} {done}"]
    said.append(f"{reader['entries_read']} of {reader['entries']} entries")
    said += ["from remote storage"] if reader["remote_bytes"] else []
    said += [f"{reader['speculative']} asked of further bookies, as earlier ones took too long"] if reader["speculative"] else []
    if reader["entries_missing"]:
        said.append(f"{reader['entries_missing']} missing, the first {reader['first_missing']}: {reader['error']}")
    return ", ".join(said)


def bookie_words(bookie: Row) -> str:
    """Returns what a bookie has at the end."""
    last = "no entry" if bookie["last_entry"] is None else f"last entry {bookie['last_entry']}"
    fenced, limbo = (f", {word}" if bookie[name] else "" for name, word in (("fenced", "fenced"), ("limbo", "in limbo")))
    return f"{bookie['broker']}: {last}, LAC {bookie['lac']}, {bookie['entries']} entries{fenced}{limbo}"
