"""Traffic sums of a block, and the table `broker_rounds` that all blocks' sums make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from emulator.inputs.arrays.columns import offsets_of
from emulator.outcomes.compiled.columns import by_scenario, table_of
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

SCENARIOS_AT_ONCE = 64
"""Scenarios whose rows of broker_rounds are made together: of thousands of brokers all would take gigabytes beside the table."""


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


class BrokersOf(NamedTuple):
    """The brokers, or bookies, of a scenario.

    `ids`: by place. `spans`: BrokerSpan or BookieSpan of them in their order. `saturated`: columns of rounds in which shared
    budgets held fetches back, by bucket (`bucket_edges`) and broker; those that are not there are 0 for all scenarios.
    """

    scenario_id: int
    rounds: int
    ids: np.ndarray
    spans: np.ndarray
    saturated: Mapping[str, np.ndarray]


def broker_round_rows(
    given: Sequence[BrokersOf], bucket_rounds: int, sums: pa.Table, *, down: int = OFFLINE, names: Sequence[str] = SUMS
) -> pa.Table:
    """The rows of `broker_rounds` of scenarios: every broker, or bookie, in every time bucket.

    `given`: with ascending scenario_id. `sums`: of all their blocks (TRAFFIC_SCHEMA, with `names` for SUMS), a bucket of a broker
    in any number of rows. Who has `down` in its status does not run.
    """
    own, found = by_scenario(sums), []
    for first in range(0, len(given), SCENARIOS_AT_ONCE):
        some = given[first : first + SCENARIOS_AT_ONCE]
        of_some = own(some[0].scenario_id, some[-1].scenario_id)
        found.append(_rows_of_some(some, bucket_rounds, of_some, down, names))
    return pa.concat_tables(found)


def _rows_of_some(given: Sequence[BrokersOf], bucket_rounds: int, sums: pa.Table, down: int, names: Sequence[str]) -> pa.Table:
    """Likewise, of so many scenarios that all columns of theirs are worked out as one."""
    rounds, brokers = np.array([(one.rounds, len(one.ids)) for one in given], np.int64).T
    buckets = -(-rounds // bucket_rounds)
    first = offsets_of(brokers * buckets)
    row = np.arange(first[-1])
    of = np.repeat(np.arange(len(given)), brokers * buckets)
    bucket, place = np.divmod(row - first[of], brokers[of])
    ids, before = np.concatenate([one.ids for one in given]), offsets_of(brokers)
    scenario_ids = np.array([one.scenario_id for one in given])
    up, up_rounds = _rounds_up(given, bucket_rounds, down)
    scenario = np.searchsorted(scenario_ids, sums.column("scenario_id").to_numpy())
    at = first[scenario] + sums.column("bucket").to_numpy() * brokers[scenario] + sums.column("broker_place").to_numpy()
    columns = {
        "scenario_id": scenario_ids[of],
        "broker": ids[before[of] + place],
        "from_round": bucket * bucket_rounds,
        "to_round": np.minimum((bucket + 1) * bucket_rounds, rounds[of]),
        "up": up[bucket, before[of] + place],
        "up_rounds": up_rounds[bucket, before[of] + place],
    }
    for name in names:
        columns[name] = np.zeros(len(row), np.int64)
        np.add.at(columns[name], at, sums.column(name).to_numpy())
    for name in given[0].saturated:
        columns[name] = np.concatenate([one.saturated[name] for one in given])
    return table_of("broker_rounds", len(row), columns)


def _rounds_up(given: Sequence[BrokersOf], bucket_rounds: int, down: int) -> tuple[np.ndarray, np.ndarray]:
    """By bucket and broker, of all scenarios in their order: whether it runs in the last round, and in how many rounds."""
    begin = np.concatenate([field_of(one.spans, "from_round") for one in given])
    runs = np.concatenate([field_of(one.spans, "status") for one in given]) & down == 0
    rounds = np.repeat([one.rounds for one in given], [len(one.spans) for one in given])
    end = np.append(begin[1:], 0)  # behind a broker's last span, which is at FOREVER, the next broker starts
    first = np.flatnonzero(np.append(True, begin[1:] <= begin[:-1]))
    up, up_rounds = [], []
    for from_round in range(0, int(rounds.max()), bucket_rounds):
        to_round = np.minimum(from_round + bucket_rounds, rounds)
        overlap = np.where(runs, np.maximum(np.minimum(end, to_round) - np.maximum(begin, from_round), 0), 0)
        up_rounds.append(np.add.reduceat(overlap, first))
        up.append(np.logical_or.reduceat(runs & (begin < to_round) & (end >= to_round), first))
    return np.stack(up), np.stack(up_rounds)
