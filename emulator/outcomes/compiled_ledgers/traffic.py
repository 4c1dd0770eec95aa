"""Traffic of a block's bookies, summed up; `compiled.traffic.broker_round_rows` makes rows of all blocks' sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled_ledgers.names import LedgerNames
from emulator.rounds.records import field_of

SUMS = ("bytes_produced", "bytes_in", "bytes_out", "cross_rack_bytes_out", "follower_count", "local_bytes", "entries")
_KEYS = ("scenario_id", "broker_place", "bucket")
LEDGER_TRAFFIC = pa.schema([*((name, pa.int32()) for name in _KEYS), *((name, pa.int64()) for name in SUMS)])
"""Sums of a block: broker_place of a bookie among the scenario's; bucket from 0; bytes; ledgers; entries."""


def traffic_sums(names: LedgerNames, traffic: Any) -> pa.Table:
    """Rows of LEDGER_TRAFFIC of records.Traffic."""
    scenario = names.scenario_id[np.asarray(traffic.ledger)]
    columns = [scenario, *(field_of(traffic, name) for name in ("place", "bucket", *SUMS))]
    arrays = [pa.array(np.asarray(one)).cast(field.type) for one, field in zip(columns, LEDGER_TRAFFIC, strict=True)]
    return summed(pa.table(arrays, schema=LEDGER_TRAFFIC))


def summed(sums: pa.Table) -> pa.Table:
    """One row a bookie and bucket."""
    found = sums.group_by(list(_KEYS)).aggregate([(name, "sum") for name in SUMS])
    return found.rename_columns([name.removesuffix("_sum") for name in found.column_names]).select(LEDGER_TRAFFIC.names)
