"""The engine's runs with shared bandwidth against an oracle that was written from docs/kafka_rounds.md alone.

Compared round by round: all replicas' logs, high watermarks, what leaders know of them, the controller, events, outcomes, and by
broker and ten rounds the bytes and the columns of broker_rounds that say who was held back. Covered: network, disk, page cache,
throttles that change, quotas of producers, producers that wait and give up, quota edges; with all kinds of faults, reassignments
and rates of any kind. Not covered: consumers, tiers and copies, shared fetchers, bookies, brokers that differ in their budgets,
records above max.message.bytes, variants of the protocol, and what waits through a time without a leader in which other records
are written (`slept_over_a_change` in tests/reference/bandwidth/clients.py).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from emulator.bandwidth.sharing import floored
from emulator.engine.budgets.all_budgets import all_flows_of
from emulator.engine.budgets.shares import quotas_of
from tests.engine.budgets.bandwidth_compared import differences_of
from tests.engine.budgets.test_edges_by_hand import asked, block_at, fetches_of, shared_out
from tests.reference.bandwidth.random_scenarios import Layers, scenario_text


@pytest.mark.parametrize("seed", range(8))
def test_random_scenarios(seed: int, tmp_path: Path) -> None:
    layers = replace(Layers.everything(), seldom=False, long=False) if seed % 2 else Layers.everything()
    run, found = differences_of(scenario_text(seed, layers), tmp_path)
    if not any(clients.slept_over_a_change for clients in run.clients.values()):
        assert not found, found[:5]


# --- what it found, by hand ---

WAITING = """
rounds = 60
round_ms = 1000
[cluster]
brokers = 3
quota_window_rounds = 10
network_bytes_per_second = 100000
[[topics]]
name = "t"
assignment = [[1], [2], [3]]
[[workload]]
topic = "t"
partitions = "0"
to_round = 13
records_per_round = 4
record_bytes = 1000
[[workload]]
topic = "t"
partitions = "0"
from_round = 13
records_per_round = 1
record_bytes = 1000
"""


def test_what_waits_is_what_each_round_brought(tmp_path: Path) -> None:
    """At 2,000 bytes a round ten rounds of 4,000 are sent by round 20; three more of these wait, and seven of 1,000."""
    block = block_at(0, tmp_path, scenario=WAITING)
    np.asarray(block.stretches.state.partitions)["produce_quota_bytes"][0] = 2000
    block.play_to(20)
    clients = all_flows_of(block.demands(20)).clients
    assert clients is not None
    assert clients.demand[0] == 1000 + (3 * 4000 + 7 * 1000) // 10


DISKS = """
rounds = 60
round_ms = 1000
[cluster]
brokers = 3
quota_window_rounds = 10
disk_bytes_per_second = 10000
page_cache_bytes = 3
[[topics]]
name = "t"
assignment = [[1], [1, 2], [1, 2]]
[[workload]]
topic = "t"
partitions = "0"
records_per_round = 9
record_bytes = 1000
[[workload]]
topic = "t"
partitions = "1"
to_round = 20
records_per_round = 4
record_bytes = 1000
[[workload]]
topic = "t"
partitions = "2"
from_round = 25
records_per_round = 1
record_bytes = 100
[[faults]]
kind = "broker_crash"
broker = 2
from_round = 1
to_round = 25
"""


def test_a_fetcher_that_reads_a_disk_for_one_of_its_partitions_is_a_connection_of_it(tmp_path: Path) -> None:
    """Broker 2 lacks 19 rounds of partition 1, which broker 1 reads from its disk, and nothing of 2. Of 10,000 bytes two
    partitions' clients, who want 9,100, and the fetcher, which wants 7,600, have 3,333 a connection.
    """
    block = block_at(25, tmp_path, scenario=DISKS)
    demands, shares = fetches_of(block, 25), shared_out(block, 25)
    assert demands.demand.tolist() == [0, 0, 7600, 0, 100]
    assert quotas_of(demands, shares)[2] == 3333


RESTARTS = """
rounds = 60
round_ms = 1000
[cluster]
brokers = 3
session_timeout_rounds = 3
quota_window_rounds = 10
config = { "leader.replication.throttled.rate" = 500 }
[[topics]]
name = "t"
assignment = [[1, 2], [3], [3]]
config = { "leader.replication.throttled.replicas" = "*" }
[[faults]]
kind = "broker_crash"
broker = 2
from_round = 10
to_round = 40
[[faults]]
kind = "broker_crash"
broker = 1
from_round = 10
to_round = 30
"""


def test_a_leader_that_restarts_has_read_who_is_in_sync(tmp_path: Path) -> None:
    """Both die knowing that both are in sync; the ISR is broker 1 alone since. In round 30 it is back: broker 2 is throttled."""
    dead = block_at(29, tmp_path, scenario=RESTARTS)
    assert [row[2] for row in asked(dead, 29)] == [False]
    dead.play_to(30)
    assert [row[2] for row in asked(dead, 30)] == [True]


def test_clients_that_are_cut_off_ask_for_nothing(tmp_path: Path) -> None:
    cut = '[[faults]]\nkind = "isolation"\nbroker = 1\nfrom_round = 10\nto_round = 21\nclients = BOOL\n'
    for clients, demand in ((False, 1000), (True, 0)):
        block = block_at(20, tmp_path, scenario=WAITING + cut.replace("BOOL", str(clients).lower()))
        found = all_flows_of(block.demands(20)).clients
        assert found is not None
        assert found.demand[0] == demand


def test_whole_bytes_are_whole() -> None:
    """4.35 * 100 and 0.69 * 4800 are a little below whole numbers in floats."""
    assert 4.35 * 100 < 435
    assert 0.69 * 4800 < 3312
    assert floored(np.array([4.35 * 100, 0.69 * 4800, 434.9, 7.0, 0.0])).tolist() == [435, 3312, 434, 7, 0]
    assert floored(np.array([1e9 - 0.01, 1e12 - 0.5])).tolist() == [10**9 - 1, 10**12 - 1]
