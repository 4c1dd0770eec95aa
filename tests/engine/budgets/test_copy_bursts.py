"""Copies that begin together where nothing was short for long: they have what their broker's network leaves. By hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.engine.budgets.all_budgets import AllDemands
from emulator.engine.budgets.shared_block import SharedBlock
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


def test_copies_that_fail_are_not_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In round 200 the store is away: four copies begin, and fail at once. No edge comes for them, whether or not a store stands
    still for a topic that has nothing to copy.
    """
    demands, rounds = SharedBlock.demands, set[int]()

    def asked(block: SharedBlock, round_: int) -> AllDemands:
        rounds.add(round_)
        return demands(block, round_)

    monkeypatch.setattr(SharedBlock, "demands", asked)
    away = '[[faults]]\nkind = "remote_storage_outage"\nfrom_round = 190\nto_round = 300\n'
    stands = '[[faults]]\nkind = "slow_remote_storage"\nbytes_per_second = 0\ntopic = "idle"\nfrom_round = 190\nto_round = 300\n'
    idle = '[[topics]]\nname = "idle"\nassignment = [[1]]\nconfig = { "remote.storage.enable" = true }\n'
    found = []
    for more in (away + idle, away + idle + stands):
        rounds.clear()
        played_text(tmp_path, SCENARIO.replace(", THREADS", "") + more, True)
        found.append(sorted(rounds))
    assert found[0] == found[1]
    assert 201 not in found[1] and any(round_ > 300 for round_ in found[1])
