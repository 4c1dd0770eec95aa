"""Traffic sums of a block, and the table `broker_rounds` that all blocks' sums make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.columns import table_of
from emulator.outcomes.compiled.names import Names
from emulator.rounds.kafka.constants import OFFLINE
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.records import field_of

SUMS = (
    *("bytes_in", "bytes_produced", "bytes_out", "cross_rack_bytes_out", "leader_count", "follower_count", "local_bytes"),
    *("bytes_consumed", "disk_bytes_read", "bytes_uploaded", "bytes_downloaded", "bytes_waiting", "bytes_expired"),
)
TRAFFIC_SCHEMA = pa.schema(
    [("scenario_id", pa.int32()), ("broker_place", pa.int32()), ("bucket", pa.int32()), *((name, pa.int64()) for name in SUMS)]
)
"""Sums of a block: broker_place among the scenario's brokers; bucket from 0; bytes; partitions."""


def traffic_sums(names: Names, inputs: Inputs, traffic: np.ndarray) -> pa.Table:
    """The sums that are not all 0, of TRAFFIC_SCHEMA."""
    is_there = np.zeros(len(traffic), bool)
    for name in SUMS:
        is_there |= field_of(traffic, name) != 0
    at = np.flatnonzero(is_there)
    first = field_of(inputs.scenarios, "first_bucket")
    order = np.argsort(first, kind="stable")
    scenario = order[np.searchsorted(first[order], at, side="right") - 1]
    place, bucket = np.divmod(at - first[scenario], np.maximum(field_of(inputs.scenarios, "buckets")[scenario], 1))
    broker = names.broker_place[names.first_broker[scenario] + place]
    columns = [names.scenario_ids[scenario], broker, bucket, *(field_of(traffic, name)[at] for name in SUMS)]
    arrays = [pa.array(np.asarray(c)).cast(f.type) for c, f in zip(columns, TRAFFIC_SCHEMA, strict=True)]
    return pa.table(arrays, schema=TRAFFIC_SCHEMA)


def bucket_edges(rounds: int, bucket_rounds: int) -> np.ndarray:
    """The first rounds of time buckets, and the run's end."""
    return np.append(np.arange(0, rounds, bucket_rounds), rounds)


def broker_round_rows(
    scenario_id: int,
    rounds: int,
    bucket_rounds: int,
    brokers: np.ndarray,
    spans: np.ndarray,
    sums: pa.Table,
    saturated: Mapping[str, np.ndarray] | None = None,
    *,
    down: int = OFFLINE,
    names: Sequence[str] = SUMS,
) -> pa.Table:
    """The rows of `broker_rounds` for a scenario: every broker, or bookie, in every time bucket.

    `brokers`: ids by place. `spans`: BrokerSpan or BookieSpan of them in their order; who has `down` in its status does not run.
    `sums`: of all blocks and scenarios (TRAFFIC_SCHEMA, with `names` for SUMS), a bucket of a broker in any number of rows.
    `saturated`: columns of rounds in which shared budgets held fetches back, by bucket (`bucket_edges`) and broker; None where
    none are shared.
    """
    edges = bucket_edges(rounds, bucket_rounds)
    up, up_rounds = rounds_up(field_of(spans, "from_round"), field_of(spans, "status") & down == 0, edges)
    own = sums.filter(pa.compute.equal(sums.column("scenario_id"), scenario_id))
    place, bucket = (own.column(name).to_numpy() for name in ("broker_place", "bucket"))
    totals = {name: np.zeros((len(edges) - 1, len(brokers)), np.int64) for name in names}
    for name, total in totals.items():
        np.add.at(total, (bucket, place), own.column(name).to_numpy())
    columns = {
        "scenario_id": np.full(up.size, scenario_id),
        "broker": np.tile(brokers, len(edges) - 1),
        "from_round": np.repeat(edges[:-1], len(brokers)),
        "to_round": np.repeat(edges[1:], len(brokers)),
        "up": up.reshape(-1),
        "up_rounds": up_rounds.reshape(-1),
        **{name: total.reshape(-1) for name, total in totals.items()},
        **(saturated or {}),
    }
    return table_of("broker_rounds", up.size, columns)


def rounds_up(begin: np.ndarray, runs: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By bucket and broker: whether it runs in the last round, and in how many rounds.

    `begin`, `runs`: of all brokers' spans, the first round and whether it runs from then on.
    """
    end = np.append(begin[1:], 0)  # behind a broker's last span, which is at FOREVER, the next broker starts
    first = np.flatnonzero(np.append(True, begin[1:] <= begin[:-1]))
    up, up_rounds = [], []
    for from_round, to_round in zip(edges[:-1], edges[1:], strict=True):
        overlap = np.where(runs, np.maximum(np.minimum(end, to_round) - np.maximum(begin, from_round), 0), 0)
        up_rounds.append(np.add.reduceat(overlap, first))
        up.append(np.logical_or.reduceat(runs & (begin < to_round) & (end >= to_round), first))
    return np.stack(up), np.stack(up_rounds)
