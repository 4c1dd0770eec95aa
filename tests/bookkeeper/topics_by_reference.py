"""Topics of the reference (tests/reference/bookkeeper/topics.py) as scenarios of the engine, and both sides' results alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tests.bookkeeper.by_reference import COLUMNS, LOSSES, OF_EVENTS, Case, first_rounds, of_engine, of_reference
from tests.engine_helpers import Row
from tests.reference.bookkeeper.simulate import Result, snapshot
from tests.reference.bookkeeper.topics import Part, Topic, losses_of

OF_TOPICS = (
    *("ledger_created", "ledger_rolled_over", "ledger_deleted", "take_over"),
    *("offload_started", "offload_failed", "offloaded", "bookies_freed"),
)
"""Kinds of events of a topic."""
OF_COPIES = ("copy_errors", "given_up_bytes")
"""Columns of `ledgers` about copies to a remote store that failed."""
_OF_THE_TOPIC = ("events", "violations", "closes", "entries", "losses", "unacked_rounds")
"""What of a ledger is compared by the topic, or follows from the rest."""
_OF_GONE = (
    *("state", "last_entry", "writer_lac", "acked", "failed", "refused_fenced", "refused_closed", "read", "readers"),
    *("error", *COLUMNS),
)


def as_engine_takes_it(case: Case, played: Topic) -> dict[str, Any]:
    """The case with the keys by which the engine knows a list, and as many rows as it needs."""
    of_list = {"managedLedger": True, "maxLedgers": max(1, len(played.parts))}
    given = {key: value for key, value in case.items() if key not in ("replicas", "rules")}
    return {**given, "topic_config": {**case.get("topic_config", {}), **of_list}}


def of_played(topic: Topic) -> dict[str, Any]:
    """What the reference ends with."""
    ended = [of_reference(Result(part.ledger, [snapshot(part.ledger)], [])) for part in topic.parts]
    losses = [losses_of(part) for part in topic.parts]
    parts = zip(topic.parts, ended, losses, strict=True)
    events = [
        (*key[:3], p.number, *key[3:]) for p, one in zip(topic.parts, ended, strict=True) for key in one["events"].elements()
    ]
    return _flat(_of_part(part, one, lost) for part, one, lost in parts) | {
        "losses": tuple(sum(own[at] for own in losses) for at in range(len(LOSSES))),
        "acked": sorted(topic.acked),
        "readable": len(topic.readable),
        "listed": len(topic.listed),
        "messages": topic.messages,
        "unacked": topic.owners[-1].unacked,
        "unwritable_rounds": topic.unwritable_rounds,
        "unacked_rounds": topic.unacked_rounds,
        "list_version": topic.version,
        "take_overs": len(topic.owners) - 1,
        "events": Counter(topic.events) + Counter(events),
        "violations": first_rounds((v.invariant, v.round) for v in topic.violations if not v.excused),
    }


def _flat(ledgers: Iterable[dict[str, Any]]) -> dict[str, Any]:
    rows = list(ledgers)
    of_each = {f"ledger {number}: {name}": value for number, row in enumerate(rows) for name, value in row.items()}
    return {"ledgers": len(rows), **of_each}


def _of_part(part: Part, ended: dict[str, Any], losses: tuple[int, int, int]) -> dict[str, Any]:
    ended["acked"] -= sum(message < 0 for message in part.messages)  # of before the run
    kept = (
        [name for name in ended if name not in _OF_THE_TOPIC]
        if part.deleted_round is None and part.freed_round is None
        else _OF_GONE
    )
    of_list = ("owner", "created_round", "closed_round", "deleted_round", "rolled_over", "offloaded_round", *OF_COPIES)
    own = {name: getattr(part, name) for name in of_list} | {"deleted_from_bookies_round": part.freed_round}
    own |= {"losses": losses}
    return own | {name: ended[name] for name in kept} | {"messages": part.messages[: part.entries]}


def of_tables(tables: Mapping[str, list[Row]]) -> dict[str, Any]:
    """What the engine wrote of one topic."""
    (topic,) = tables["topics"]
    (outcomes,) = tables["outcomes"]
    rows = sorted(tables["ledgers"], key=lambda row: row["ledger"])
    for name in ("acked", "unwritable_rounds", *LOSSES):
        assert topic[name] == outcomes[name]
    return _flat(_of_row(row, tables) for row in rows) | {
        "losses": tuple(topic[name] for name in LOSSES),
        "acked": sorted(m for row in rows for m in range(row["first_message"], row["first_message"] + row["writer_lac"] + 1)),
        "readable": topic["readable"],
        "listed": topic["ledgers_listed"],
        "messages": topic["messages"],
        "unacked": topic["unacked"],
        "unwritable_rounds": topic["unwritable_rounds"],
        "unacked_rounds": outcomes["unacked_rounds"],
        "list_version": topic["list_version"],
        "take_overs": topic["take_overs"],
        "events": Counter(_event(row) for row in tables["events"]),
        "violations": first_rounds((v["invariant"], v["round"]) for v in tables["violations"]),
    }


def _event(row: Row) -> tuple[Any, ...]:
    if row["kind"] in OF_TOPICS:
        return (row["round"], row["kind"], row["ledger"], row["cause"])
    key = tuple(row[name] for name in OF_EVENTS)
    return (*key[:3], row["ledger"], *key[3:])


def _of_row(ledger: Row, tables: Mapping[str, list[Row]]) -> dict[str, Any]:
    own = {
        name: [row for row in tables[name] if row["ledger"] == ledger["ledger"]]
        for name in ("fragments", "bookies", "ledger_clients", "ledger_readers")
    }
    common = {
        "ledgers": [ledger],
        "outcomes": [{"acked": ledger["writer_lac"] + 1, "unacked_rounds": None}],
        "entries": [],
        "events": [],
        "violations": [],
    }
    ended = of_engine(own | common)
    held = ledger["deleted_round"] is None and ledger["deleted_from_bookies_round"] is None
    kept = [name for name in ended if name not in _OF_THE_TOPIC] if held else _OF_GONE
    of_list = (
        "owner",
        "created_round",
        "closed_round",
        "deleted_round",
        "rolled_over",
        "offloaded_round",
        "deleted_from_bookies_round",
        *OF_COPIES,
    )
    last = ledger["writer_lac"] if ledger["last_entry"] is None else ledger["last_entry"]
    messages = list(range(ledger["first_message"], ledger["first_message"] + last + 1))
    own_losses = {"losses": tuple(ledger[name] for name in LOSSES)}
    return own_losses | {name: ledger[name] for name in of_list} | {name: ended[name] for name in kept} | {"messages": messages}
