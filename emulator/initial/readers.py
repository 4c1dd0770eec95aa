"""Consumers before round 0: readers without a position, and what a row knows of its broker."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from emulator.expressions.kafka.reading.step import new_reader
from emulator.expressions.kafka.reading.types import READER
from emulator.expressions.kafka.serve_consumers import IS_ASKED_FIRST, NO_INDEXES
from emulator.inputs import ScenarioInputs
from emulator.inputs.change_types import arrow_type
from emulator.inputs.consumers import groups_of, page_cache_shares, racks_of

_SITES = "ARRAY<STRUCT<broker: INT, page_cache_bytes: BIGINT, rack_masks: ARRAY<INT>>>"
_STARTS_HERE = IS_ASKED_FIRST.replace("client_leader", "leader")

READERS_AT_START = {
    "readers": f"IF({_STARTS_HERE}, array_repeat({new_reader()}, reader_count), CAST(array() AS ARRAY<{READER}>))",
    "reader_groups": f"IF({_STARTS_HERE}, sequence(0, reader_count - 1), CAST(array() AS ARRAY<INT>))",
    "cached_indexes": NO_INDEXES,
    "site": "get(sites, slot)",
}
"""SQL of the columns of consumers before round 0, where `reader_count` is not null."""


def reader_columns(inputs: ScenarioInputs) -> dict[str, pa.Array]:
    """By state: how many groups ever read the partition (`reader_count`), and by slot what it knows of its broker (`sites`).

    Both are null where none does.
    """
    table, states = inputs.partition_table, inputs.states
    counts = np.array([len(groups_of(feed.consumers)) for feed in inputs.feeds], np.int32)[table.feed_id[states]]
    sites = _sites(inputs) if counts.any() else [None] * len(states)
    return {
        "reader_count": pa.array(counts, mask=counts == 0),
        "sites": pa.array([site if count else None for site, count in zip(sites, counts, strict=True)], arrow_type(_SITES)),
    }


def _sites(inputs: ScenarioInputs) -> list[list[dict[str, Any]]]:
    rack_of = {broker.id: broker.rack for broker in inputs.scenario.brokers}
    racks = racks_of(inputs.scenario)
    sites = []
    for state, shares in zip(inputs.states.tolist(), page_cache_shares(inputs), strict=True):
        brokers = inputs.worlds[int(inputs.partition_table.world_id[state])].brokers
        masks = [sum(1 << slot for slot, broker in enumerate(brokers) if rack_of[broker] == rack) for rack in racks]
        sites.append(
            [
                {"broker": broker, "page_cache_bytes": share, "rack_masks": masks}
                for broker, share in zip(brokers, shares, strict=True)
            ]
        )
    return sites
