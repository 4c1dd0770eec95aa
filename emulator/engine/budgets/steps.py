"""Partitions that share budgets, too many for one task: a Spark job from edge to edge, each block's state kept between them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.engine.budgets.all_budgets import AllFlows, AllShares, all_flows_of
from emulator.engine.budgets.client_demands import ClientFlows, joined_client_flows, places_of
from emulator.engine.budgets.demands import Flows, joined_flows
from emulator.engine.budgets.first_copies import can_play_first, copies_at_once
from emulator.engine.budgets.first_play import USE_COLUMNS, Use, summed_use
from emulator.engine.budgets.shared_block import SharedBlock
from emulator.engine.kept_states import pack_state, unpack_state
from emulator.engine.rows import (
    BETWEEN_SCHEMA,
    CLIENT_FLOWS_SCHEMA,
    FLOWS_SCHEMA,
    USE_SCHEMA,
    batches_of,
    blocks_row,
)
from emulator.engine.warm_up import compile_rounds
from emulator.engine.worker_memory import keep_loaded
from emulator.inputs.arrays.shared import SharedBudgets

FLOW_TABLES = ("flows", "client_flows")
"""What a step tells of what is asked for at its end."""

UNSURE = -1
"""Budget of a row of `use` that says that a credit is unsure."""


@dataclass(frozen=True)
class Step:
    """Rounds [from_round, to_round) of all blocks. `shares`: of the edge at from_round; None: a window of the first play."""

    from_round: int
    to_round: int
    shares: AllShares | None
    is_last: bool


def play_step(
    step: Step, state_at: Sequence[int], names: Collection[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Play a step of some blocks (BETWEEN_SCHEMA): rows of rows.TABLES side by side, and `keeps`, 1 for the state.

    `names`: the tables that are told.
    """
    for batch in batches:
        for number, payload, state in zip(*(batch.column(name) for name in BETWEEN_SCHEMA.names), strict=True):
            told, kept = _play(step, state_at, number.as_py(), payload.as_buffer(), state.as_buffer())
            for keeps, tables in ((0, told), (1, {"between": kept})):
                for rows in batches_of(tables, names):
                    yield rows.append_column("keeps", pa.array(np.full(rows.num_rows, keeps, np.int32)))
    keep_loaded()


def _play(step: Step, state_at: Sequence[int], number: int, payload: Any, state: Any) -> tuple[dict[str, pa.Table], pa.Table]:
    """(what a block tells in a step, its row of `between`, none behind the last one)."""
    block = SharedBlock(payload, [at for at in state_at if step.from_round <= at < step.to_round])
    compile_rounds(block.block)
    stretches = block.stretches
    if state is not None:
        stretches.state = unpack_state(state)
    if step.shares is not None:
        block.limit(block.demands(step.from_round), step.shares)
    block.begin_window()
    block.play_to(step.to_round)
    tables = stretches.told_tables(step.from_round == 0 < step.to_round)
    if step.is_last:
        tables |= stretches.end_tables()
    else:
        tables |= flow_rows(all_flows_of(block.demands(step.to_round)))
    if step.shares is None and block.shared.is_by_edges and not block.shared.limits_clients:
        tables["use"] = _use_rows(block.use(step.from_round, step.to_round))
    if step.is_last and step.from_round == 0 and can_play_first(block.shared):
        tables["copies"] = copies_at_once(block, step.to_round)
    tables["blocks"] = blocks_row(number, len(block.block.partition), stretches.seconds)
    if step.is_last:
        return tables, BETWEEN_SCHEMA.empty_table()
    row = ([number], [bytes(payload)], [pack_state(stretches.state)])
    return tables, pa.table([pa.array(v, f.type) for v, f in zip(row, BETWEEN_SCHEMA, strict=True)], schema=BETWEEN_SCHEMA)


def flow_rows(flows: AllFlows) -> dict[str, pa.Table]:
    """What is asked for, as rows by table."""
    kinds = (flows.fetches, FLOWS_SCHEMA), (flows.clients, CLIENT_FLOWS_SCHEMA)
    tables = [pa.table([pa.array(getattr(own, column)) for column in schema.names], schema=schema) for own, schema in kinds]
    return dict(zip(FLOW_TABLES, tables, strict=True))


def flows_from(rows_of: Mapping[str, pa.Table], shared: SharedBudgets) -> AllFlows:
    """The flows of all blocks, from their rows by table."""
    of_fetches, (place, *of_clients) = ([column.to_numpy() for column in rows_of[name].columns] for name in FLOW_TABLES)
    size = places_of(shared)
    clients = [np.bincount(place, weights=values, minlength=size).astype(np.int64) for values in of_clients]
    return AllFlows(joined_flows([Flows(*of_fetches)]), joined_client_flows([ClientFlows(*clients)]))


def _use_rows(use: Use) -> pa.Table:
    columns = np.array([getattr(use, name) for name in USE_COLUMNS]).astype(np.int64)
    if use.is_unsure:
        columns = np.column_stack([columns, [UNSURE, *[0] * (len(USE_COLUMNS) - 1)]])
    return pa.Table.from_arrays(list(columns), schema=USE_SCHEMA)


def use_from(rows: pa.Table) -> Use:
    """The use of all blocks, from their rows."""
    columns = [rows.column(name).to_numpy() for name in USE_SCHEMA.names]
    drawn = columns[0] != UNSURE
    return summed_use([column[drawn] for column in columns], not drawn.all())
