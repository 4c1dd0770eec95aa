"""The copysets of a cluster as rows, and the chance that failures hold one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from emulator.arrow.schemas import to_arrow_schema
from emulator.graphs.copysets import Sets, blocking_rows, counted_sets, loss_probability, sizes_of
from emulator.graphs.placed import NOBODY, Placed
from emulator.graphs.schema import GRAPH_TABLES

DATA, WRITES = "data", "writes"


def failure_sets(cluster: Placed) -> dict[str, tuple[Sets, NDArray[np.int64]]]:
    """Returns by what is lost the sets of places of brokers that take it, and of how many partitions each is one."""
    return {DATA: counted_sets([cluster.replicas]), WRITES: counted_sets(blocking_rows(cluster.replicas, cluster.min_isr))}


def copyset_rows(cluster: Placed, found: dict[str, tuple[Sets, NDArray[np.int64]]]) -> pa.Table:
    """Returns the rows of table `copysets`."""
    schema = to_arrow_schema(GRAPH_TABLES["copysets"])
    tables = [schema.empty_table()]
    for loses, (sets, counts) in found.items():
        columns = [
            pa.array(np.full(len(sets), cluster.scenario_id, np.int32)),
            pa.array(np.full(len(sets), loses)) if len(sets) else pa.array([], pa.string()),
            broker_lists(cluster, sets),
            pa.array(_racks_of(cluster, sets)),
            pa.array(counts),
        ]
        tables.append(pa.table(columns, names=schema.names).cast(schema))
    return pa.concat_tables(tables)


def broker_lists(cluster: Placed, sets: Sets) -> pa.ListArray:
    """Returns sets of places as lists of broker ids."""
    ends = np.concatenate([[0], np.cumsum(sizes_of(sets))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(cluster.brokers[sets[sets >= 0]], pa.int32()))


def _racks_of(cluster: Placed, sets: Sets) -> NDArray[np.int32]:
    if not len(sets):
        return np.zeros(0, np.int32)
    racks = np.sort(np.where(sets >= 0, cluster.rack_places[sets], NOBODY), axis=1)
    others = (np.diff(racks, axis=1, prepend=NOBODY) != 0) & (racks >= 0)
    return others.sum(axis=1).astype(np.int32)


def chance_rows(
    cluster: Placed, found: dict[str, tuple[Sets, NDArray[np.int64]]], most_failures: int, seed: int
) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of table `copyset_chances`: 1 to `most_failures` brokers at once, and any one rack."""
    places = range(len(cluster.brokers))
    for loses, (sets, _) in found.items():
        before = (cluster.scenario_id, loses)
        for failures in range(1, min(most_failures, len(places)) + 1):
            chance = loss_probability(sets, places, failures, seed)
            yield *before, "brokers", failures, len(sets), chance.probability, chance.low, chance.high, chance.draws
        racks = len(cluster.rack_names)
        if racks:
            of_rack = cluster.rack_places
            within = (sets < 0) | (of_rack[sets] == of_rack[sets[:, :1]]) if len(sets) else np.zeros((0, 1), np.bool_)
            struck = np.unique(of_rack[sets[within.all(axis=1), 0]]) if len(sets) else np.zeros(0, np.int32)
            share = int((struck < racks).sum()) / racks
            yield *before, "racks", 1, len(sets), share, share, share, 0
