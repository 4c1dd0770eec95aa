"""What fetchers had to bring at most, where each partition had one for itself: whether that was more than one brings.

Partitions that are fetched from one broker to another share fetchers (num.replica.fetchers). They are played as if each had
one for itself; where a fetcher would have been too slow for its partitions together, the scenario is played once more, and they
share it (engine/shared_fetchers.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from emulator.bandwidth.fetchers import fetchers_of_scenario
from emulator.engine.budgets.first_play import least_in_fetch, pairs_of, who_led
from emulator.inputs.arrays import Block
from emulator.outcomes.compiled.columns import by_scenario
from emulator.rounds.kafka.state import State
from emulator.scenario import Scenario

FETCH_USE_SCHEMA = pa.schema(
    [(name, pa.int32()) for name in ("scenario_id", "leader", "follower", "fetcher")]
    + [(name, pa.int64()) for name in ("followers", "fetched_bytes", "in_fetch_bytes", "whole_bytes")]
)
"""What a fetcher of two brokers (ids) had to bring partitions of a block, so many, in a round at most; what a fetch of it brings
at least, and in whole batches.
"""

LEAST_BYTES = 1 << 14
"""A block does not tell of fetchers that brought it less in a round, of which there are many; it is left out of account."""


def fetch_use(block: Block, after: State) -> pa.Table:
    """Rows of FETCH_USE_SCHEMA of a block that was played from its start. Where leaders changed each replica may have led."""
    parts, replicas = np.asarray(block.state.partitions), np.asarray(after.replicas)
    of = np.repeat(np.arange(len(parts)), parts["slots"])
    leads, follows = who_led(block.state, after, of)
    limited = np.asarray(block.inputs.scenarios)["fetches_per_round"][parts["scenario"]] == 0
    leader, follower = pairs_of(parts, leads, follows & limited[of] & (replicas["most_fetched_bytes"] > 0), of)
    ids, place = np.unique(replicas["broker"], return_inverse=True)
    part = of[follower]
    own = block.fetcher[part]
    key = ((parts["scenario"][part] * len(ids) + place[leader]) * len(ids) + place[follower]) * (own.max(initial=0) + 1) + own
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    fetched = np.bincount(group, replicas["most_fetched_bytes"][follower], len(first)).astype(np.int64)
    followers = np.bincount(group, minlength=len(first))
    in_fetch, whole = (followers * least for least in least_in_fetch(block.inputs))
    kept = np.flatnonzero(fetched >= LEAST_BYTES)
    first = first[kept]
    columns = (
        block.scenario_id[part[first]],
        replicas["broker"][leader[first]],
        replicas["broker"][follower[first]],
        own[first],
        followers[kept],
        fetched[kept],
        in_fetch[kept],
        whole[kept],
    )
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, FETCH_USE_SCHEMA, strict=True)], schema=FETCH_USE_SCHEMA)


def short_fetchers(told: pa.Table, scenarios: Sequence[Scenario]) -> dict[int, int]:
    """By scenario_id, how many fetchers may have had more to bring in a round than they can. `told`: by all blocks."""
    keys = FETCH_USE_SCHEMA.names[:4]
    summed = [(name, "sum") for name in FETCH_USE_SCHEMA.names[4:]]
    sums = by_scenario(told.group_by(keys).aggregate(summed))
    found = {}
    for scenario in scenarios:
        own = sums(scenario.scenario_id, scenario.scenario_id)
        fetchers = fetchers_of_scenario(scenario) if own.num_rows else None
        if fetchers is None or scenario.shares_fetchers:
            continue
        followers, fetched, in_fetch, whole = (own.column(f"{name}_{how}").to_numpy() for name, how in summed)
        if many := int((fetched > fetchers.most_bytes(followers, in_fetch, whole)).sum()):
            found[scenario.scenario_id] = many
    return found
