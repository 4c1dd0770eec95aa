"""What happened to a ledger in a round, in a few words: in the column of a bookie, or beside them, of writer and metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emulator.explain.fetches import Message, offsets
from emulator.explain.ledger_history import LedgerHistory, entries_words
from emulator.explain.marks import AFTER_FETCHES, CONTROLLER, INPUTS, LEADING, NBSP, WRITING, Mark, fault_marks
from emulator.explain.rows import Row

STEADY_KINDS = ("append", "acknowledge")

_STEPS = {
    **dict.fromkeys(("entries_lost", "acked_lost", "limbo_entered"), INPUTS),
    **dict.fromkeys(("ensemble_change", "recovery_started", "ledger_closed", "rereplicated"), LEADING),
}
_WORDS = {
    "ensemble_change": "ensemble changes from {from_} on",
    "recovery_started": "a recovery marks it IN_RECOVERY",
    "ledger_closed": "is closed, last entry {last}",
    "fence": "is fenced",
    "entries_lost": "LOSES ENTRIES {range}",
    "add_failed": "ADDS {range} FAIL",
    "underreplicated": "is to be replaced from {from_} on",
    "copied": "has copies of its share of {range}",
    "rereplicated": "takes a lost one's place from {from_} on",
    "filled": "has all its entries again",
    "limbo_entered": "in limbo: it doesn't know what it lost",
    "limbo_left": "is out of limbo",
}
SHAPES = {
    "ensemble_change": "election",
    "ledger_closed": "leader_lost",
    "entries_lost": "log_damaged",
    "fence": "truncate",
    "acknowledge": "append",
    "add_failed": "acked_lost",
}
"""Kinds that are drawn as one of a partition's."""


def ledger_marks(history: LedgerHistory, round_: int, first_shown: bool) -> list[Mark]:
    """Returns what happened in a round, in the order of its steps."""
    marks = [mark for fault in history.faults for mark in fault_marks(fault, round_, first_shown)]
    marks += [event_mark(event) for event in history.events.get(round_, ())]
    marks += _of_writer(history, round_)
    marks += recovery_marks(history, round_)
    marks += reader_marks(history.rows.readers, round_, CONTROLLER)
    for broker in history.columns:
        marks += _of_bookie(history, round_, broker)
    return sorted(marks, key=lambda mark: (mark.step, mark.kind not in ("fault_end", "fault")))


def event_mark(event: Row) -> Mark:
    """An event in the column of its bookie, or at the side."""
    kind, from_, to = str(event["kind"]), event["from_offset"], event["to_offset"]
    values = {"from_": from_, "last": to}
    if from_ is not None and to is not None:
        values |= {"range": offsets(from_, to)}
    text = lost_words(event) if kind == "acked_lost" else _WORDS.get(kind, kind.replace("_", " ")).format_map(_Known(values))
    if event["cause"] is not None:
        text += f" (fault{NBSP}{event['cause']})"
    broker = CONTROLLER if event["broker"] is None else int(event["broker"])
    return Mark(_STEPS.get(kind, AFTER_FETCHES), SHAPES.get(kind, kind), broker, text)


class _Known(dict[str, object]):
    """Values by name; what an event leaves open is a question mark."""

    def __missing__(self, name: str) -> str:
        return "?"


def lost_words(event: Row) -> str:
    """Returns which acknowledged entries are lost; of some of a range, how many."""
    start, end, records = event["from_offset"], event["to_offset"], event["records"]
    count = "" if records is None or records == end - start else f"{records} of "
    return f"ACKED LOST {count}{offsets(start, end)}"


def _of_writer(history: LedgerHistory, round_: int) -> Iterator[Mark]:
    sent, acknowledged = history.sent(round_), history.acknowledged(round_)
    if sent is not None:
        yield Mark(WRITING, "append", CONTROLLER, f"sends {offsets(*sent)}")
    if acknowledged is not None:
        yield Mark(AFTER_FETCHES, "acknowledge", CONTROLLER, f"acknowledges {offsets(*acknowledged)}")
    now, before = history.ledgers.get(round_), history.ledgers.get(round_ - 1)
    if now is None or before is None:
        return
    if now["writer"] != before["writer"]:
        yield Mark(AFTER_FETCHES, "writer", CONTROLLER, f"the writer is {now['writer']}")
    if now["replacing"] and now["replacing"] != before["replacing"]:
        yield Mark(AFTER_FETCHES, "writer", CONTROLLER, f"wants {' '.join(map(str, now['replacing']))} replaced")


def recovery_marks(history: LedgerHistory, round_: int) -> Iterator[Mark]:
    """Recoveries that begin, fail, write back or end in a round."""
    now, before = history.ledgers.get(round_), history.ledgers.get(round_ - 1)
    if now is None or before is None:
        return
    there, then = ({one["number"]: one for one in row["recoveries"]} for row in (now, before))
    for number in sorted(there.keys() | then.keys()):
        if number not in there:
            yield Mark(AFTER_FETCHES, "recovery", CONTROLLER, f"recovery {number} is over")
        elif number not in then:
            yield Mark(LEADING, "recovery", CONTROLLER, f"recovery {number} begins")
        elif there[number]["phase"] == "mark" != then[number]["phase"]:
            yield Mark(AFTER_FETCHES, "recovery", CONTROLLER, f"recovery {number}: its attempt fails")
        elif there[number]["lac"] > then[number]["lac"] and then[number]["phase"] != "fence":
            yield Mark(AFTER_FETCHES, "recovery", CONTROLLER, f"recovery {number} has written back {there[number]['lac']}")


def reader_marks(readers: Sequence[Row], round_: int, column: int) -> Iterator[Mark]:
    """Readers that begin or end in a round, in one column."""
    for reader in readers:
        who = f"reader {reader['number']}"
        if reader["done_round"] == round_:
            got = "all" if not reader["entries_missing"] else f"{reader['entries_read']} of {reader['entries']} entries"
            kind = "reader" if not reader["entries_missing"] else "acked_lost"
            since = "" if reader["started_round"] == round_ else f", asked for in round {reader['started_round']}"
            yield Mark(AFTER_FETCHES, kind, column, f"{who} has {got}{since}")
        elif reader["started_round"] == round_:
            yield Mark(AFTER_FETCHES, "reader", column, f"{who} asks for {offsets(0, reader['entries'])}")


def _of_bookie(history: LedgerHistory, round_: int, broker: int) -> Iterator[Mark]:
    copies = [entry for entry in history.taken(round_, broker) if not _is_add(history, round_, entry)]
    if copies:
        yield Mark(AFTER_FETCHES, "copies", broker, f"gets {entries_words(copies)}, late or by repair")
    now, before = history.bookies.get((round_, broker)), history.bookies.get((round_ - 1, broker))
    if now is None or before is None:
        return
    if now["status"] != before["status"] and now["status"] == "heard":
        yield Mark(INPUTS, "role", broker, "is back" if before["status"] == "dead" else "is heard again")
    if now["in_ensemble"] != before["in_ensemble"]:
        yield Mark(LEADING, "replica", broker, "comes into the ensemble" if now["in_ensemble"] else "leaves the ensemble")


def _is_add(history: LedgerHistory, round_: int, entry: int) -> bool:
    """Whether a client sent an entry that a bookie newly has, and no replication worker."""
    before = history.ledgers.get(round_ - 1)
    return history.is_recovering(round_) or before is None or entry > before["writer_lac"]


def adds(history: LedgerHistory, round_: int) -> tuple[Message, ...]:
    """Returns the adds that bookies took in a round, and those that are still unanswered at its end, by bookie."""
    unanswered = history.unanswered(round_)
    found = []
    for broker in history.columns:
        taken = [entry for entry in history.taken(round_, broker) if _is_add(history, round_, entry)]
        if taken:
            words = entries_words(taken)
            what = "recovery add" if history.is_recovering(round_) else "add"
            exchange = (f"{what} {words}: stored", f"{words}: stored", words)
            found.append(Message(CONTROLLER, broker, "fetched", (f"{what} {words}",), None, exchange))
        if unanswered.get(broker):
            words = entries_words(unanswered[broker])
            found.append(Message(CONTROLLER, broker, "unanswered", (f"add {words}", words), None))
    return tuple(found)
