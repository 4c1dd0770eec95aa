"""All tables of a block of ledgers by themselves, and what they have in common with those of ledgers of topics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.columns import nullable, table_of, texts_at
from emulator.outcomes.compiled_ledgers.entries import entry_rows
from emulator.outcomes.compiled_ledgers.names import LedgerNames
from emulator.outcomes.compiled_ledgers.view import LedgerView
from emulator.outcomes.compiled_ledgers.violations import violation_rows
from emulator.rounds.bookkeeper.constants import (
    ALL_BETWEEN,
    CLOSED,
    DONE,
    ERRORS,
    EVENT_KINDS,
    NEVER,
    NO_ENTRY,
    NO_FAULT,
    NOBODY,
    OK,
    PENDING,
    PHASES,
    STATES,
    WRITER_STATES,
)
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.play_block import Told
from emulator.rounds.bookkeeper.state import State
from emulator.table_columns.arrow_columns import arrow_schema

TABLES = (
    "partitions", "outcomes", "events", "ledgers", "fragments", "entries", "bookies", "ledger_clients",
    "ledger_readers", "violations", "topics", "ledger_rounds", "bookie_rounds", "topic_rounds",
)  # fmt: skip
"""Output tables whose rows a block has."""

LOSSES = ("acked_lost", "acked_unreadable", "acked_under_replicated")
"""Columns of `outcomes`, `ledgers` and `topics`, and fields of Ledger."""

READ = ("offload_read_bytes", "reader_bytes", "reader_remote_bytes")
"""Columns of `ledgers`, and fields of Ledger."""

BLOCK_TABLES: dict[str, pa.Schema] = {name: arrow_schema(name) for name in TABLES}
"""By name the columns of what a block gives."""


def ledger_block_tables(names: LedgerNames, inputs: Inputs, state: State, told: Told) -> dict[str, pa.Table]:
    """The rows of TABLES, but for those of rounds, of a block of ledgers by themselves."""
    count = len(state.ledgers)
    ledgers: Any = state.ledgers
    view = LedgerView(names, inputs, ledgers, state, told, np.arange(count), np.ones(count, bool), ledgers.traced != 0)
    replicas = view.ensembles(view.last_fragments)
    outcomes = (
        view.names.at(view.unit)
        | of_ledgers(view)
        | {
            "leaderless_rounds": view.ledgers.unwritable_rounds,
            "unwritable_rounds": view.ledgers.unwritable_rounds,
            "unacked_rounds": view.ledgers.unacked_rounds,
            "leader": np.full(count, NOBODY),
            "leader_epoch": np.diff(state.fragments.offsets),
            "isr": view.ensembles(view.last_fragments, in_order=True),
            "elr": no_brokers(count, replicas.type),
        }
    )
    return common_tables(view) | {
        "partitions": table_of("partitions", count, view.names.at(view.unit) | {"replicas": replicas}),
        "outcomes": table_of("outcomes", count, outcomes),
        "events": event_rows(view, of_lists=False),
        "ledgers": table_of("ledgers", count, ledger_columns(view)),
        "violations": violation_rows(view, of_lists=False),
        "topics": table_of("topics", 0, {"topic": pa.array([], pa.string())}),
    }


def no_brokers(count: int, kind: pa.DataType) -> pa.Array:
    """So many empty lists."""
    return pa.ListArray.from_arrays(pa.array(np.zeros(count + 1, np.int32)), pa.array([], kind.value_type), type=kind)


def common_tables(view: LedgerView) -> dict[str, pa.Table]:
    """Fragments, entries, bookies, clients and readers of ledgers."""
    owners = view.owners("fragments")
    rows = np.flatnonzero(view.kept[owners])
    columns = view.named(owners[rows]) | {
        "first_entry": view.records("fragments").first_entry[rows],
        "ensemble": view.ensembles(rows),
    }
    return {
        "fragments": table_of("fragments", len(rows), columns),
        "entries": entry_rows(view),
        "bookies": _bookies(view),
        "ledger_clients": _clients(view),
        "ledger_readers": _readers(view),
    }


def of_ledgers(view: LedgerView) -> dict[str, np.ndarray]:
    """By ledger, what of `outcomes` counts its entries."""
    ledgers = view.ledgers
    end = np.where(ledgers.state == CLOSED, ledgers.last_entry + 1, ledgers.next_entry)
    return {
        "appended": ledgers.next_entry - ledgers.first_own_entry,
        "acked": ledgers.lac + 1 - ledgers.first_own_entry,
        **{name: ledgers[name] for name in LOSSES},
        "refused": ledgers.refused_fenced + ledgers.refused_closed + ledgers.failed_adds,
        "elections": ledgers.ensemble_changes,
        "hw": ledgers.lac + 1,
        "leo": end,
    }


def ledger_columns(view: LedgerView) -> dict[str, Any]:
    """Columns of `ledgers` that those of topics have, too."""
    ledgers, every = view.ledgers, np.arange(len(view.ledgers))
    copied = ("next_entry", "ensemble_changes", "adds_resent", "failed_adds", "refused_fenced", "refused_closed")
    sizes = {name: view.settings[name] for name in ("ensemble_size", "write_quorum", "ack_quorum")}
    return (
        view.named(every)
        | sizes
        | {
            **{name: ledgers[name] for name in (*copied, "unwritable_rounds", "entries_copied")},
            "state": texts_at(STATES, ledgers.state),
            "last_entry": nullable(ledgers.last_entry, NO_ENTRY),
            "writer_lac": ledgers.lac,
            "error": texts_at(ERRORS, ledgers.error, null=0),
            "writer": texts_at(WRITER_STATES, ledgers.writer),
            "underreplicated": np.diff(view.lists.replacements.offsets),
            **{name: ledgers[name] for name in (*LOSSES, *READ)},
        }
    )


def _bookies(view: LedgerView) -> pa.Table:
    bookies, owners = view.records("bookies"), view.owners("bookies")
    rows = np.flatnonzero(view.kept[owners] & ((bookies.last_entry != NO_ENTRY) | (bookies.fenced != 0)))
    own = bookies[rows]
    columns = view.named(owners[rows]) | {
        "broker": own.broker,
        "last_entry": nullable(own.last_entry, NO_ENTRY),
        "lac": own.lac,
        "fenced": own.fenced != 0,
        "entries": own.entries,
        "bytes": own.entry_bytes,
        "limbo": own.limbo != 0,
    }
    return table_of("bookies", len(rows), columns)


def _clients(view: LedgerView) -> pa.Table:
    """Recoveries, openings and closes, in the order of their start within each kind."""
    tables = []
    for client, name in (("recovery", "recoveries"), ("reader", "openings"), ("close", "closes")):
        owners, offsets = view.owners(name), getattr(view.lists, name).offsets
        attempt_error = view.records(name).attempt_error if name == "recoveries" else np.full(len(owners), PENDING)
        if name == "closes":
            error = view.lists.closes.words[:, 0]
            phase = np.full(len(owners), DONE)
            last_entry = view.ledgers.last_entry[owners]
        else:
            own = view.records(name)
            error = own.error
            phase = own.phase if name == "recoveries" else np.where(own.error == PENDING, 0, DONE)
            last_entry = np.where(own.phase == DONE, own.lac, NO_ENTRY) if name == "recoveries" else own.lac
        columns = view.named(owners) | {
            "client": pa.array([client] * len(owners), pa.string()),
            "number": np.arange(len(owners)) - offsets[owners],
            "phase": texts_at(PHASES, phase),
            "last_entry": nullable(last_entry, NO_ENTRY),
            "error": texts_at(ERRORS, error, null=PENDING),
            "attempt_error": texts_at(ERRORS, attempt_error, null=PENDING),
        }
        tables.append(table_of("ledger_clients", len(owners), columns))
    return pa.concat_tables(tables)


def _readers(view: LedgerView) -> pa.Table:
    readers, owners = view.records("readers"), view.owners("readers")
    copied = ("entries", "remote_bytes", "speculative")
    columns = view.named(owners) | {
        "number": np.arange(len(owners)) - view.lists.readers.offsets[owners],
        "started_round": readers.at_round,
        "done_round": nullable(readers.done_round, NEVER),
        "entries_read": readers.read,
        "entries_missing": readers.missing,
        "bytes_read": readers.read_bytes,
        **{name: readers[name] for name in copied},
        "first_missing": nullable(readers.first_missing, NO_ENTRY),
        "error": texts_at(ERRORS, readers.error, null=OK),
    }
    return table_of("ledger_readers", len(owners), columns)


def event_rows(view: LedgerView, of_lists: bool) -> pa.Table:
    """The table `events`; `of_lists`: ledgers are of topics' lists, and have their numbers."""
    told: Any = view.told.events
    columns = view.names.at(np.asarray(told.ledger)) | {
        "round": told.at_round,
        "kind": texts_at(EVENT_KINDS, told.kind),
        "broker": nullable(told.broker, NOBODY),
        "from_offset": nullable(told.from_entry, NO_ENTRY),
        "to_offset": nullable(told.to_entry, NO_ENTRY),
        "records": nullable(told.entries, ALL_BETWEEN),
        "cause": nullable(told.cause, NO_FAULT),
    }
    if of_lists:
        columns["ledger"] = nullable(told.in_list, NOBODY)
    return table_of("events", len(told), columns)
