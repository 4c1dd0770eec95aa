"""All tables of a block of topics that are lists of ledgers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.columns import lists_of, nullable, table_of, texts_at
from emulator.outcomes.compiled_ledgers.names import LedgerNames
from emulator.outcomes.compiled_ledgers.tables import LOSSES, common_tables, event_rows, ledger_columns, no_brokers, of_ledgers
from emulator.outcomes.compiled_ledgers.view import BROKERS, LedgerView
from emulator.outcomes.compiled_ledgers.violations import violation_rows
from emulator.rounds.bookkeeper.constants import CLOSED, NEVER, NOBODY, NOT_YET, ROLLED_OVER_BY
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.play_block import Told
from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.bookkeeper.topics.records import Part
from emulator.rounds.bookkeeper.topics.state import TopicState
from emulator.rounds.packed import entries_of

ROUNDS = {
    "created_round": "created_round",
    "closed_round": "closed_round",
    "deleted_round": "deleted_round",
    "offload_started_round": "offload_started_round",
    "offloaded_round": "offloaded_round",
    "deleted_from_bookies_round": "freed_round",
}
"""Column of `ledgers` -> field of Part; null where it is NEVER."""


def topic_block_tables(
    names: LedgerNames, inputs: Inputs, state: TopicState, told: Told, spare: Sequence[Sequence[int]], traced: np.ndarray
) -> dict[str, pa.Table]:
    """The rows of tables.TABLES, but for those of rounds, of a block of topics.

    `spare`: by topic, what stands for the ensemble of one without ledgers; `traced`: flags by topic.
    """
    ledgers: Any = entries_of(Ledger, state.ledgers)
    parts: Any = entries_of(Part, state.parts)
    counts = np.diff(state.ledgers.offsets)
    unit = np.repeat(np.arange(len(counts)), counts)
    kept = (parts.deleted_round == NEVER) & (parts.freed_round == NEVER)
    view = LedgerView(names, inputs, ledgers, state.lists, told, unit, kept, traced[unit])
    of_all = _sums(view, parts, len(counts))
    return common_tables(view) | {
        "partitions": _partitions(view, counts, spare),
        "outcomes": _outcomes(view, state, counts, of_all, spare),
        "events": event_rows(view, of_lists=True),
        "ledgers": table_of("ledgers", len(ledgers), ledger_columns(view) | _losses(view, parts) | _of_list(view, parts)),
        "violations": violation_rows(view, of_lists=True),
        "topics": _topics(view, state, counts, of_all),
    }


def _sums(view: LedgerView, parts: Any, topics: int) -> dict[str, np.ndarray]:
    """By topic, sums over its ledgers."""
    ledgers, each = view.ledgers, of_ledgers(view) | _losses(view, parts)
    read = np.where(ledgers.state == CLOSED, ledgers.last_entry, ledgers.lac) + 1
    listed = (parts.deleted_round == NEVER) & (parts.dropped_round == NEVER)
    deleted = parts.deleted_round != NEVER
    each |= {
        "readable": np.where(listed, read, 0),
        "ledgers_listed": listed.astype(np.int64),
        "ledgers_deleted": deleted.astype(np.int64),
        "messages_deleted": np.where(deleted, read, 0),
    }
    sums = {}
    for name, values in each.items():
        sums[name] = np.zeros(topics, np.int64)
        np.add.at(sums[name], view.unit, values)
    return sums


def _losses(view: LedgerView, parts: Any) -> dict[str, np.ndarray]:
    """By ledger: all of one that a list was written over is lost; of a deleted one it is only what was behind its end."""
    ledgers = view.ledgers
    dropped, deleted = parts.dropped_round != NEVER, parts.deleted_round != NEVER
    behind = np.where(ledgers.state == CLOSED, np.maximum(ledgers.lac - ledgers.last_entry, 0), 0)
    lost = np.where(dropped, ledgers.lac + 1, np.where(deleted, behind, ledgers.acked_lost))
    others = {name: np.where(dropped | deleted, 0, ledgers[name]) for name in LOSSES}
    return others | {"acked_lost": lost}


def _newest(view: LedgerView, counts: np.ndarray, spare: Sequence[Sequence[int]], in_order: bool) -> pa.Array:
    """By topic, the last ensemble of its newest ledger."""
    last = np.cumsum(counts) - 1
    with_ledgers = np.flatnonzero(counts)
    known = dict(zip(with_ledgers.tolist(), view.ensembles(view.last_fragments[last[with_ledgers]]).to_pylist(), strict=True))
    ensembles = [known.get(topic, list(spare[topic])) for topic in range(len(counts))]
    flat = [broker for one in ensembles for broker in (sorted(one) if in_order else one)]
    return lists_of(np.array([len(one) for one in ensembles], np.int64), np.array(flat, np.int64), BROKERS)


def _partitions(view: LedgerView, counts: np.ndarray, spare: Sequence[Sequence[int]]) -> pa.Table:
    columns = view.names.at(np.arange(len(counts))) | {"replicas": _newest(view, counts, spare, in_order=False)}
    return table_of("partitions", len(counts), columns)


def _outcomes(
    view: LedgerView, state: TopicState, counts: np.ndarray, of_all: dict[str, np.ndarray], spare: Sequence[Sequence[int]]
) -> pa.Table:
    topics: Any = state.topics
    columns = view.names.at(np.arange(len(counts))) | {name: of_all[name] for name in of_ledgers(view)}
    columns |= {
        "leaderless_rounds": topics.unwritable_rounds,
        "unwritable_rounds": topics.unwritable_rounds,
        "unacked_rounds": topics.unacked_rounds,
        "leader": np.full(len(counts), NOBODY),
        "leader_epoch": counts,
        "isr": _newest(view, counts, spare, in_order=True),
        "elr": no_brokers(len(counts), BROKERS),
    }
    return table_of("outcomes", len(counts), columns)


def _of_list(view: LedgerView, parts: Any) -> dict[str, Any]:
    """Columns of `ledgers` that only those of a list have."""
    is_remote = (parts.offloaded_round != NEVER) & (parts.deleted_round == NEVER)
    return {
        "owner": parts.owner,
        "first_message": parts.first_message,
        **{column: nullable(parts[field], NEVER) for column, field in ROUNDS.items()},
        "rolled_over": texts_at(("", *ROLLED_OVER_BY), parts.rolled_over, null=NOT_YET),
        "copy_errors": parts.copy_errors,
        "given_up_bytes": parts.given_up_bytes,
        "remote_bytes": np.where(is_remote, view.ledgers.read_bytes, 0),
        "offloaded_bytes": np.where(parts.offloaded_round != NEVER, view.ledgers.read_bytes, 0),
    }


def _topics(view: LedgerView, state: TopicState, counts: np.ndarray, of_all: dict[str, np.ndarray]) -> pa.Table:
    topics: Any = state.topics
    summed = ("acked", *LOSSES, "readable", "messages_deleted", "ledgers_listed", "ledgers_deleted")
    columns = view.names.at(np.arange(len(counts))) | {name: of_all[name] for name in summed}
    columns |= {
        "messages": topics.messages,
        "unacked": topics.unacked,
        "unwritable_rounds": topics.unwritable_rounds,
        "ledgers_created": counts,
        "list_version": topics.version,
        "take_overs": np.diff(state.owners.offsets) - 1,
    }
    return table_of("topics", len(counts), columns)
