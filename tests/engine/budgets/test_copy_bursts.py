"""Copies that begin together where nothing was short for long: they have what their broker's network leaves. By hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.budgets.test_one_budget import played_text, sums_by_bucket

SCENARIO = """
rounds = 500
round_ms = 1000
[cluster]
brokers = 1
network_bytes_per_second = 10000
config = { "remote.log.storage.system.enable" = true, "remote.log.manager.task.interval.ms" = 1000, THREADS }
[remote_storage]
copy_bytes_per_second = 5000
[[topics]]
name = "t"
assignment = [[1], [1], [1], [1]]
config = { "remote.storage.enable" = true, "segment.bytes" = 200000 }
[[workload]]
topic = "t"
records_per_round = 1
record_bytes = 1000
acks = "1"
"""


@pytest.mark.parametrize("leaps", [True, False])
@pytest.mark.parametrize(("threads", "at_once"), [(10, 4), (3, 3)])
def test_copies_that_begin_together_share_the_network(tmp_path: Path, leaps: bool, threads: int, at_once: int) -> None:
    """Of four partitions a segment of 200,000 bytes is full in rounds 200 and 400: 5,000 bytes a round for each copy, of 10,000.

    Nothing was short before, so that the edges are far apart. In the round in which copies begin they are not limited.
    """
    text = SCENARIO.replace("THREADS", f'"remote.log.manager.copier.thread.pool.size" = {threads}')
    sums = sums_by_bucket(played_text(tmp_path, text, leaps), 500, 0, brokers=1)
    assert sums.bytes_produced.tolist() == [100_000] * 20
    assert sums.bytes_uploaded.max() <= 25 * 10_000 + (at_once - 2) * 5000
    assert sums.bytes_uploaded[8:16].sum() == 4 * 200_000
