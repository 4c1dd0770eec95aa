"""Traffic of a block's bookies, summed up, and the rows of `broker_rounds` that all blocks' sums make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.outcomes.compiled.columns import field_of, table_of
from emulator.outcomes.compiled.traffic import bucket_edges, rounds_up
from emulator.outcomes.compiled_ledgers.names import LedgerNames
from emulator.rounds.bookkeeper.constants import DEAD

SUMS = ("bytes_produced", "bytes_in", "bytes_out", "cross_rack_bytes_out", "follower_count", "local_bytes", "entries")
_KEYS = ("scenario_id", "place", "bucket")
LEDGER_TRAFFIC = pa.schema([*((name, pa.int32()) for name in _KEYS), *((name, pa.int64()) for name in SUMS)])
"""Sums of a block: `place` of a bookie among the scenario's, `bucket` from 0; bytes; ledgers; entries."""


def traffic_sums(names: LedgerNames, traffic: Any) -> pa.Table:
    """Rows of LEDGER_TRAFFIC of records.Traffic."""
    scenario = names.scenario_id[np.asarray(traffic.ledger)]
    columns = [scenario, *(field_of(traffic, name) for name in (*_KEYS[1:], *SUMS))]
    arrays = [pa.array(np.asarray(one)).cast(field.type) for one, field in zip(columns, LEDGER_TRAFFIC, strict=True)]
    return summed(pa.table(arrays, schema=LEDGER_TRAFFIC))


def summed(sums: pa.Table) -> pa.Table:
    """One row a bookie and bucket."""
    found = sums.group_by(list(_KEYS)).aggregate([(name, "sum") for name in SUMS])
    return found.rename_columns([name.removesuffix("_sum") for name in found.column_names]).select(LEDGER_TRAFFIC.names)


def bookie_traffic_rows(
    scenario_id: int, rounds: int, bucket_rounds: int, bookies: np.ndarray, spans: np.ndarray, sums: pa.Table
) -> pa.Table:
    """The rows of `broker_rounds` of a scenario: every bookie in every time bucket.

    `bookies`: ids by place. `spans`: records.BookieSpan of the bookies in their order, each one's last at FOREVER. `sums`: of all
    blocks and scenarios (LEDGER_TRAFFIC).
    """
    edges = bucket_edges(rounds, bucket_rounds)
    up, up_rounds = rounds_up(field_of(spans, "from_round"), field_of(spans, "status") & DEAD == 0, edges)
    own = sums.filter(pc.equal(sums.column("scenario_id"), scenario_id))
    place, bucket = (own.column(name).to_numpy() for name in _KEYS[1:])
    totals = {name: np.zeros((len(edges) - 1, len(bookies)), np.int64) for name in SUMS}
    for name, total in totals.items():
        np.add.at(total, (bucket, place), own.column(name).to_numpy())
    columns = {
        "scenario_id": np.full(up.size, scenario_id),
        "broker": np.tile(bookies, len(edges) - 1),
        "from_round": np.repeat(edges[:-1], len(bookies)),
        "to_round": np.repeat(edges[1:], len(bookies)),
        "up": up.reshape(-1),
        "up_rounds": up_rounds.reshape(-1),
        **{name: total.reshape(-1) for name, total in totals.items()},
    }
    return table_of("broker_rounds", up.size, columns)
