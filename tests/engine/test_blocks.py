"""How partitions are cut into blocks and jobs, and what a task hands to Spark; no Spark."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from emulator.engine import blocks, rows
from emulator.engine.blocks import BLOCKS_PER_CORE, MOST_PARTITIONS, cut, plan_blocks


def test_blocks_weigh_alike() -> None:
    weights = np.random.default_rng(1).integers(1, 100, 10_000).astype(float)
    bounds = cut(weights, 32, MOST_PARTITIONS)
    sums = [weights[a:b].sum() for a, b in pairwise(bounds)]
    assert (bounds[0], bounds[-1], len(sums)) == (0, 10_000, 32)
    assert max(sums) < 1.01 * weights.sum() / 32


def test_a_heavy_partition_costs_its_own_time_only() -> None:
    weights = np.ones(1_000)
    weights[500] = 1_000.0
    bounds = cut(weights, 8, MOST_PARTITIONS)
    heavy = max(pairwise(bounds), key=lambda ends: weights[slice(*ends)].sum())
    assert weights[slice(*heavy)].sum() < 1_000 + 2_000 / 8


@pytest.mark.parametrize("count", [1, 3, 1_000])
def test_no_block_is_empty_or_too_large(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MOST_PARTITIONS", 20)
    plan = plan_blocks(np.ones(count), 2, 1e9)
    sizes = np.diff(plan.bounds)
    assert (sizes.sum(), sizes.min() > 0, sizes.max() <= 20) == (count, True, True)
    assert [b for job in range(plan.job_count) for b in plan.blocks_of(job)] == list(range(len(sizes)))


@pytest.mark.parametrize(("weight", "count"), [(1.0, 1), (3.9, 1), (4.1, 2), (15.0, 7), (1_000.0, 12)])
def test_threads_have_blocks_that_are_worth_it(weight: float, count: int) -> None:
    """Of a driver with three cores; weights by LEAST_WEIGHT / 2."""
    plan = plan_blocks(np.full(1_000, weight * blocks.LEAST_WEIGHT / 2 / 1_000), 3, None)
    assert (plan.block_count, plan.job_count) == (count, 1)


def test_every_job_has_blocks_for_all_cores() -> None:
    plan = plan_blocks(np.ones(10_000), 3, 10_000 / 3 / 5)
    assert plan.job_count == 5
    assert all(len(plan.blocks_of(job)) >= 3 * BLOCKS_PER_CORE for job in range(5))


def test_tables_go_to_spark_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """In packs of 7 rows; what is shorter has nothing at its end."""
    monkeypatch.setattr(rows, "ROWS_PER_PACK", 7)
    schema = rows.TABLES["traffic"]
    traffic = pa.table([pa.array(range(20)).cast(field.type) for field in schema], schema=schema)
    blocks = pa.Table.from_pylist([{"block": 3, "partitions": 1, "seconds": 0.5}], rows.BLOCKS_SCHEMA)
    tables = {name: schema.empty_table() for name, schema in rows.TABLES.items()} | {"traffic": traffic, "blocks": blocks}
    together = pa.Table.from_batches(rows.batches_of(tables))
    assert [[pack is not None for pack in together.column(name).to_pylist()] for name in ("traffic", "blocks", "trace")] == [
        [True] * 3,
        [True, False, False],
        [False] * 3,
    ]
    packs = [pa.ipc.open_stream(pack.as_buffer()).read_all() for pack in together.column("traffic")]
    assert [pack.num_rows for pack in packs] == [7, 7, 6]
    assert rows.unpacked(rows.batches_of(tables), "traffic").equals(traffic)
