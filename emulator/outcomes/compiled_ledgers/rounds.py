"""Ledgers and their bookies at the ends of traced rounds: a row of a view is a ledger in a round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.columns import lists_of, nullable, table_of, texts_at
from emulator.outcomes.compiled_ledgers.view import BROKERS, LedgerView
from emulator.rounds.bookkeeper.constants import (
    CHANGING,
    DEAD,
    DECOMMISSIONED,
    DONE,
    FAILED,
    NEVER,
    NO_ENTRY,
    NO_LAC,
    NOBODY,
    NOWHERE,
    OF_THE_WRITER,
    PHASES,
    SILENT,
    STATES,
    UNREGISTERED,
    WRITER,
    WRITER_STATES,
)
from emulator.rounds.bookkeeper.topics.records import Owner, Part
from emulator.rounds.bookkeeper.topics.state import TopicState
from emulator.rounds.packed import entries_of
from emulator.table_columns.arrow_columns import arrow_schema

ENTRY_BITS = 41
"""Entries are below FOREVER: with a ledger's place above them they are one number."""

OWNER_PHASES = ("create", "recover", "wait", "write", "close", "stopped")
"""What an owner is about, in the order of constants.CREATE, ..."""


def round_tables(view: LedgerView, rounds: np.ndarray) -> dict[str, pa.Table]:
    """Rows of `ledger_rounds` and `bookie_rounds`; `rounds`: by ledger of the view."""
    return {"ledger_rounds": _ledger_rows(view, rounds), "bookie_rounds": _bookie_rows(view, rounds)}


def _ledger_rows(view: LedgerView, rounds: np.ndarray) -> pa.Table:
    rows = np.flatnonzero(view.kept)
    ledgers = view.ledgers[rows]
    schema = arrow_schema("ledger_rounds")
    columns = view.named(rows) | {
        "round": rounds[rows],
        "state": texts_at(STATES, ledgers.state),
        "last_entry": nullable(ledgers.last_entry, NO_ENTRY),
        "fragments": _fragments(view, schema.field("fragments").type),
        "writer": texts_at(WRITER_STATES, ledgers.writer),
        "writer_lac": ledgers.lac,
        "last_add_pushed": ledgers.next_entry - 1,
        "queued": ledgers.queued,
        "ensemble": view.brokers_at(rows, view.lists.own.words[view.lists.own.offsets[rows]]),
        "replacing": _replacing(view),
        "in_flight": _in_flight(view, schema.field("in_flight").type),
        "recoveries": _recoveries(view, schema.field("recoveries").type),
        "underreplicated": np.diff(view.lists.replacements.offsets)[rows],
        "readers": _readers(view, schema.field("readers").type),
    }
    return table_of("ledger_rounds", len(rows), columns)


def _per_ledger(view: LedgerView, owners: np.ndarray) -> np.ndarray:
    """By ledger that is kept, how many of some entries are its own; these stand in the order of ledgers."""
    return np.bincount(owners, minlength=len(view.ledgers))[view.kept]


def _fragments(view: LedgerView, kind: pa.DataType) -> pa.Array:
    owners = view.owners("fragments")
    rows = np.flatnonzero(view.kept[owners])
    first = view.records("fragments").first_entry[rows]
    return lists_of(_per_ledger(view, owners[rows]), structs(kind, [first, view.ensembles(rows)]), kind)


def structs(kind: pa.DataType, columns: list[Any]) -> pa.Array:
    """The elements of lists of structs, from their fields' values."""
    fields = [kind.value_type.field(at) for at in range(kind.value_type.num_fields)]
    arrays = [one if isinstance(one, pa.Array) else pa.array(np.asarray(one)) for one in columns]
    children = [one.cast(field.type) for one, field in zip(arrays, fields, strict=True)]
    return pa.StructArray.from_arrays(children, fields=fields)


def _brokers(view: LedgerView, owners: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """Ids of bookies of ledgers."""
    brokers: np.ndarray = view.records("bookies").broker[view.lists.bookies.offsets[owners] + slots]
    return brokers


def _replacing(view: LedgerView) -> pa.Array:
    failures, owners = view.records("failures"), view.owners("failures")
    rows = np.flatnonzero((failures.client == WRITER) & (failures.when == CHANGING) & view.kept[owners])
    brokers = _brokers(view, owners[rows], failures.bookie[rows])
    order = np.lexsort((brokers, owners[rows]))
    return lists_of(_per_ledger(view, owners[rows]), brokers[order], BROKERS)


def _in_flight(view: LedgerView, kind: pa.DataType) -> pa.Array:
    adds, owners = view.records("adds"), view.owners("adds")
    rows = np.flatnonzero((adds.client == WRITER) & (adds.acknowledged == 0) & view.kept[owners])
    rows = rows[np.lexsort((adds.entry[rows], owners[rows]))]
    own, owner = adds[rows], owners[rows]
    keys = keys_of(owner, own.entry)
    size = view.lists.own.words.shape[1]
    took = ((own.acked[:, None] >> np.arange(size)) & 1).astype(bool)
    ensembles = view.lists.own.words[view.lists.own.offsets[owner]]
    taken_by = _brokers(view, np.repeat(owner, took.sum(axis=1)), ensembles[took])
    acked = lists_of(took.sum(axis=1), taken_by, BROKERS)
    requests, of_request = view.records("requests"), view.owners("requests")
    asked = np.flatnonzero((requests.client == WRITER) & (requests.awaited != 0) & view.kept[of_request])
    of_add = np.searchsorted(keys, keys_of(of_request[asked], requests.entry[asked]))
    is_known = of_add < len(keys)
    is_known[is_known] = keys[of_add[is_known]] == keys_of(of_request[asked], requests.entry[asked])[is_known]
    asked, of_add = asked[is_known], of_add[is_known]
    order = np.lexsort((requests.index[asked], of_add))
    awaited = _brokers(view, of_request[asked], requests.bookie[asked])[order]
    waiting = lists_of(np.bincount(of_add, minlength=len(rows)), awaited, BROKERS)
    return lists_of(_per_ledger(view, owner), structs(kind, [own.entry, acked, waiting]), kind)


def keys_of(owners: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """Entries of ledgers as numbers in the order of ledgers, then entries."""
    keys: np.ndarray = (owners.astype(np.int64) << ENTRY_BITS) + entries
    return keys


def _recoveries(view: LedgerView, kind: pa.DataType) -> pa.Array:
    own, owners = view.records("recoveries"), view.owners("recoveries")
    rows = np.flatnonzero((own.phase != DONE) & (own.phase != FAILED) & view.kept[owners])
    number = rows - view.lists.recoveries.offsets[owners[rows]]
    fields = [number, texts_at(PHASES, own.phase[rows]), own.lac[rows], _awaited(view, owners[rows], number)]
    return lists_of(_per_ledger(view, owners[rows]), structs(kind, fields), kind)


def _readers(view: LedgerView, kind: pa.DataType) -> pa.Array:
    """Readers under way."""
    own, owners = view.records("readers"), view.owners("readers")
    rows = np.flatnonzero((own.done_round == NEVER) & view.kept[owners])
    number = rows - view.lists.readers.offsets[owners[rows]]
    reads = view.records("reads")
    keys = zip(view.owners("reads").tolist(), reads.client.tolist(), strict=True)
    reader_of = dict(zip(keys, reads.reader.tolist(), strict=True))
    fields = [number, own.read[rows], own.missing[rows], _awaited(view, owners[rows], number, reader_of)]
    return lists_of(_per_ledger(view, owners[rows]), structs(kind, fields), kind)


def _awaited(
    view: LedgerView, owners: np.ndarray, numbers: np.ndarray, reader_of: Mapping[tuple[int, int], int] | None = None
) -> pa.Array:
    """By recovery the bookies that it awaits, by id; with `reader_of`, (ledger, client of a read) -> reader, by reader."""
    asked, of_question = view.records("late_answers"), view.owners("late_answers")
    brokers = _brokers(view, of_question, asked.bookie)
    awaited: dict[tuple[int, int], set[int]] = {}
    for owner, client, broker in zip(of_question.tolist(), asked.client.tolist(), brokers.tolist(), strict=True):
        number = client if reader_of is None else reader_of.get((owner, client))
        if number is not None:
            awaited.setdefault((owner, number), set()).add(broker)
    of_each = [sorted(awaited.get(key, ())) for key in zip(owners.tolist(), numbers.tolist(), strict=True)]
    return lists_of(np.array([len(one) for one in of_each], np.int64), np.array(sum(of_each, []), np.int64), BROKERS)


def _bookie_rows(view: LedgerView, rounds: np.ndarray) -> pa.Table:
    bookies, owners = view.records("bookies"), view.owners("bookies")
    rows = np.flatnonzero(view.kept[owners])
    own, owner = bookies[rows], owners[rows]
    ensembles = view.lists.own.words[view.lists.own.offsets[owner]]
    is_index = np.arange(ensembles.shape[1]) < view.settings.ensemble_size[owner][:, None]
    slots = rows - view.lists.bookies.offsets[owner]
    in_ensemble = (is_index & (ensembles == slots[:, None])).any(axis=1)
    held = runs_held(view)
    status = np.where(own.status & DEAD, 2, np.where(own.status & SILENT, 1, 0))
    kind = arrow_schema("bookie_rounds").field("held").type
    runs = held["of_bookie"]
    is_kept = view.kept[owners[runs]] if len(runs) else np.zeros(0, bool)
    counts = np.bincount(runs[is_kept], minlength=len(bookies))[rows]
    ranges = structs(kind, [held[name][is_kept] for name in ("ensemble_index", "from_entry", "to_entry")])
    columns = view.named(owner) | {
        "round": rounds[owner],
        "broker": own.broker,
        "status": texts_at(("heard", "silent", "dead"), status),
        "registered": own.status & (UNREGISTERED | DECOMMISSIONED) == 0,
        "in_ensemble": in_ensemble,
        "fenced": own.fenced != 0,
        "limbo": own.limbo != 0,
        "last_entry": nullable(held["last_entry"][rows], NO_ENTRY),
        "lac": held["lac"][rows],
        "entries": held["entries"][rows],
        "held": lists_of(counts, ranges, kind),
    }
    return table_of("bookie_rounds", len(rows), columns)


def runs_held(view: LedgerView) -> Mapping[str, np.ndarray]:
    """What bookies have: `of_bookie`, `ensemble_index`, `from_entry` and `to_entry` by run, the rest by bookie.

    Of copies that are only a part of an index's share each entry is a run.
    """
    stored, owners, bookies = view.records("stored"), view.owners("stored"), view.records("bookies")
    of_bookie = view.lists.bookies.offsets[owners] + stored.bookie
    number = np.arange(len(stored)) - view.lists.stored.offsets[owners]
    is_open = (bookies.open_run[of_bookie] == number) & (bookies.open_run[of_bookie] != NOWHERE)
    ends = np.where(is_open, bookies.has_to[of_bookie], stored.to_entry)
    sizes, quorums = view.settings.ensemble_size[owners], view.settings.write_quorum[owners]
    last = np.full(len(stored), NO_ENTRY, np.int64)
    entries, of_residues = np.zeros(len(bookies), np.int64), np.zeros(len(stored), np.int64)
    for residue in range(int(sizes.max(initial=0))):
        is_in = stored.residues >> residue & 1 == 1
        of_residues += is_in
        last = np.where(is_in, np.maximum(last, ends - 1 - (ends - 1 - residue) % sizes), last)
        below = [(end - residue + sizes - 1) // sizes for end in (stored.from_entry, ends)]
        np.add.at(entries, of_bookie, np.where(is_in, below[1] - below[0], 0))
    last_entry = np.full(len(bookies), NO_ENTRY, np.int64)
    np.maximum.at(last_entry, of_bookie, last)
    lac = np.maximum(bookies.explicit_lac, NO_LAC)
    newest = np.flatnonzero(last == last_entry[of_bookie])
    np.maximum.at(lac, of_bookie[newest], _headers(view, owners[newest], stored.header[newest], last[newest]))
    whole = np.stack([of_bookie, stored.index, stored.from_entry, ends], axis=1)
    runs = [whole[of_residues == quorums]]
    for at in np.flatnonzero(of_residues < quorums):
        of_run = np.arange(stored.from_entry[at], ends[at])
        of_run = of_run[stored.residues[at] >> of_run % sizes[at] & 1 == 1]
        runs.append(np.stack(np.broadcast_arrays(of_bookie[at], stored.index[at], of_run, of_run + 1), axis=1))
    by_run = np.concatenate(runs)
    by_run = by_run[np.lexsort((by_run[:, 1], by_run[:, 2], by_run[:, 0]))]
    names = ("of_bookie", "ensemble_index", "from_entry", "to_entry")
    return dict(zip(names, by_run.T, strict=True)) | {"last_entry": last_entry, "lac": lac, "entries": entries}


def _headers(view: LedgerView, owners: np.ndarray, header: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """LACs in the headers of entries."""
    lacs = header.astype(np.int64)
    sent = np.flatnonzero(header == OF_THE_WRITER)
    headers, of_header = view.records("headers"), view.owners("headers")
    keys = keys_of(of_header, headers.from_entry)
    own = headers[np.searchsorted(keys, keys_of(owners[sent], entries[sent]), "right") - 1]
    lacs[sent] = own.lac + (entries[sent] - own.from_entry) // own.step * own.step
    return lacs


def topic_round_rows(view: LedgerView, state: TopicState, topics: np.ndarray, rounds: np.ndarray, listed: np.ndarray) -> pa.Table:
    """Rows of `topic_rounds`, one a topic of `state`; `topics`: their places, `rounds`: by topic, `listed`: flags by ledger."""
    own: Any = state.topics
    parts: Any = entries_of(Part, state.parts)
    owners: Any = entries_of(Owner, state.owners)
    last = owners[state.owners.offsets[1:] - 1]
    counts = np.diff(state.ledgers.offsets)
    of_topic = np.repeat(np.arange(len(counts)), counts)
    acked = np.bincount(of_topic, view.ledgers.lac + 1 - view.ledgers.first_own_entry, minlength=len(counts)).astype(np.int64)
    remote = listed & (parts.offloaded_round >= 0)
    columns = view.names.at(topics) | {
        "round": rounds,
        "messages": own.messages,
        "acked": acked,
        "unacked": own.unacked,
        "owner": np.diff(state.owners.offsets) - 1,
        "owner_phase": texts_at(OWNER_PHASES, last.phase),
        "writes": nullable(last.part, NOBODY),
        "listed": _numbers(view, of_topic, listed, len(counts)),
        "offloading": nullable(own.offloading, NOBODY),
        "offloaded": _numbers(view, of_topic, remote, len(counts)),
        "list_version": own.version,
    }
    return table_of("topic_rounds", len(counts), columns)


def _numbers(view: LedgerView, of_topic: np.ndarray, wanted: np.ndarray, topics: int) -> pa.Array:
    """By topic the numbers of its ledgers that are wanted."""
    rows = np.flatnonzero(wanted)
    return lists_of(np.bincount(of_topic[rows], minlength=topics), view.ledgers.in_list[rows], BROKERS)
