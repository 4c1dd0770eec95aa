"""What is asked for and shared out at an edge, by hand: a broker that was away for twenty rounds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from emulator.bandwidth.budgets import KINDS
from emulator.engine.budgets.all_budgets import all_flows_of, all_shares_of
from emulator.engine.budgets.demands import (
    BY_FOLLOWER,
    BY_LEADER,
    IN_SYNC,
    NO_FLOW,
    OF_FETCHER,
    SIZE,
    Demands,
    flow_of,
    flows_of,
)
from emulator.engine.budgets.edges import Edge, first_edge
from emulator.engine.budgets.first_play import windows_of
from emulator.engine.budgets.saturated import PLACES
from emulator.engine.budgets.shared_block import SharedBlock, block_payloads
from emulator.engine.budgets.shares import FlowShares, quotas_of
from emulator.inputs.arrays import prepare
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.scenario import load_run

SCENARIO = """
rounds = 60
round_ms = 1000
[cluster]
brokers = 3
session_timeout_rounds = 3
quota_window_rounds = 10
fetches_per_round = 1
LIMITS
config = { "auto.leader.rebalance.enable" = false, "replica.fetch.max.bytes" = 2500 RATES }
[[topics]]
name = "t"
assignment = [[1, 2, 3], [2, 1, 3], [2, 1]]
config = { "min.insync.replicas" = 1, FOLLOWERS = "0:3", LEADERS = "1:2" }
[[workload]]
topic = "t"
partitions = "0-1"
records_per_round = 1
record_bytes = 1000
acks = "all"
[[faults]]
kind = "broker_crash"
broker = AWAY
from_round = BEGINS
to_round = ENDS
"""


def block_at(
    round_: int,
    folder: Path,
    limits: str = "network_bytes_per_second = 5000",
    rates: str = "",
    ends: int = 25,
    away: int = 3,
    begins: int = 5,
    scenario: str = SCENARIO,
) -> SharedBlock:
    """The block before a round, without quotas until then."""
    text = scenario
    for name in ("leader", "follower"):
        text = text.replace(f"{name.upper()}S =", f'"{name}.replication.throttled.replicas" =')
    text = text.replace("LIMITS", limits).replace("RATES", rates).replace("ENDS", str(ends))
    text = text.replace("AWAY", str(away)).replace("BEGINS", str(begins))
    (folder / "s.toml").write_text(text)
    prepared = prepare([load_run(str(folder / "s.toml")).scenarios[0]], {}, True, 25)
    block = SharedBlock(block_payloads(prepared, 0, [np.arange(3)])[0], ())
    block.play_to(round_)
    return block


def fetches_of(block: SharedBlock, round_: int) -> Demands:
    """What followers ask for."""
    found = block.demands(round_).fetches
    assert found is not None
    return found


def shared_out(block: SharedBlock, round_: int) -> FlowShares:
    """What followers get."""
    found = all_shares_of(all_flows_of(block.demands(round_)), block.shared, round_).fetches
    assert found is not None
    return found


def asked(block: SharedBlock, round_: int) -> list[tuple[int, int, int, int, int]]:
    """By replica: places of the leader's and the own broker, whether throttles hold it, what it asks for; followers only."""
    found = fetches_of(block, round_)
    rows = []
    for at in np.flatnonzero(found.follows).tolist():
        pair, flags = divmod(int(found.flow[at]), OF_FETCHER)
        by_leader, by_follower = (bool(flags & by and not flags & IN_SYNC) for by in (BY_LEADER, BY_FOLLOWER))
        rows.append((*divmod(pair, 3), by_leader, by_follower, int(found.demand[at])))
    return rows


def test_who_lacks_asks_for_it_in_even_parts(tmp_path: Path) -> None:
    # Broker 3 lacks 20 rounds of 1000 bytes: 2000 a round and what comes, but replica.fetch.max.bytes is 2500.
    block = block_at(25, tmp_path)
    assert asked(block, 25) == [(0, 1, 0, 0, 1000), (0, 2, 0, 1, 2500), (1, 0, 0, 0, 1000), (1, 2, 1, 0, 2500), (1, 0, 0, 0, 0)]
    clients = all_flows_of(block.demands(25)).clients
    assert clients is not None
    produced = {broker: int(demand) for broker, demand in enumerate(clients.demand[:3]) if demand}
    assert produced == {0: 1000, 1: 1000}  # what clients append on leaders of brokers 1 and 2


def test_more_fetches_ask_for_more(tmp_path: Path) -> None:
    two = SCENARIO.replace("fetches_per_round = 1", "fetches_per_round = 2")
    assert [row[-1] for row in asked(block_at(25, tmp_path, scenario=two), 25)] == [1000, 3000, 1000, 3000, 0]
    # t = 490000 us and a few: two a round of a second.
    timed = SCENARIO.replace("fetches_per_round = 1", "fetch_round_trip_ms = 490")
    assert [row[-1] for row in asked(block_at(25, tmp_path, scenario=timed), 25)] == [1000, 3000, 1000, 3000, 0]
    rates = ', "replica.fetch.response.max.bytes" = 1400'
    assert [row[-1] for row in asked(block_at(25, tmp_path, rates=rates, scenario=timed), 25)] == [1000, 2800, 1000, 2800, 0]


def test_larger_batches_come_whole(tmp_path: Path) -> None:
    """Batches of 6000 bytes come one a fetch, whatever replica.fetch.max.bytes is (KIP-74): broker 3 lacks 20 of them."""
    two = SCENARIO.replace("record_bytes = 1000", "record_bytes = 6000").replace("fetches_per_round = 1", "fetches_per_round = 2")
    assert [row[-1] for row in asked(block_at(25, tmp_path, "", scenario=two), 25)] == [6000, 12_000, 6000, 12_000, 0]
    # t = 240 ms + 60 of the bytes: three a round of a second, as the 18000 in even parts are.
    timed = two.replace("fetches_per_round = 2", "fetch_round_trip_ms = 240\nfetch_bytes_per_second = 100000")
    assert [row[-1] for row in asked(block_at(25, tmp_path, "", scenario=timed), 25)] == [6000, 18_000, 6000, 18_000, 0]


def test_inputs_are_those_of_the_round(tmp_path: Path) -> None:
    away = block_at(24, tmp_path, ends=26)
    assert [row[-1] for row in asked(away, 24)] == [1000, 0, 1000, 0, 0]
    away.play_to(26)
    assert [row[-1] for row in asked(away, 26)] == [1000, 2500, 1000, 2500, 0]  # it is back in this round
    assert [row[3] for row in asked(away, 26)] == [0, 1, 0, 0, 0]  # and outside the ISR still


def test_a_leader_that_comes_back_does_not_know_that_it_leads(tmp_path: Path) -> None:
    # Broker 1 leads partition 0 and is back in round 26, before anybody is elected; of partition 1 it lacks three rounds.
    away = block_at(26, tmp_path, away=1, begins=23)
    assert [row[-1] for row in asked(away, 26)] == [0, 0, 1000 + 300, 1000, 0]


def test_shares(tmp_path: Path) -> None:
    block = block_at(25, tmp_path, "network_bytes_per_second = 4000")
    demands = fetches_of(block, 25)
    shares = shared_out(block, 25)
    # Into broker 3: 5000 of 4000. Out of brokers 1 and 2 then go 1000 + 2000, into them 1000 from clients and 1000.
    assert shares.used_up.tolist() == [KINDS.index("network_in") * 3 + 2, PLACES.index("followers") * 3 + 2]
    quotas = quotas_of(demands, shares)
    # Partition 2 asks for nothing but may: what is left of broker 2's 4000 out, and of broker 1's in, is for all who draw on it.
    left_of_1_in, left_of_2_out = (4000 - 1000 - 1000) // 2, (4000 - 3000) // 3
    assert quotas.tolist() == [UNKNOWN, 1500, 2000, UNKNOWN, 1333, 2000, UNKNOWN, 333]
    assert (min(left_of_1_in, left_of_2_out), (4000 - 3000) // 2) == (333, 500)


@pytest.mark.parametrize(("rate", "left"), [(1500, 500), (500, 0)])
def test_throttles_hold_who_is_listed_and_outside(tmp_path: Path, rate: int, left: int) -> None:
    """That of broker 2 counts the 1000 that broker 1 asks for in sync, and leaves broker 3 the rest; broker 1 is never held."""
    rates = f', "leader.replication.throttled.rate" = {rate}, "follower.replication.throttled.rate" = 700'
    block = block_at(25, tmp_path, "", rates)
    demands = fetches_of(block, 25)
    shares = shared_out(block, 25)
    held = [("leader_throttle", 1), ("follower_throttle", 2), ("followers", 2)]
    assert shares.used_up.tolist() == [PLACES.index(name) * 3 + broker for name, broker in held]
    assert quotas_of(demands, shares).tolist() == [UNKNOWN, UNKNOWN, 700, UNKNOWN, UNKNOWN, left, UNKNOWN, UNKNOWN]


def test_a_throttle_that_only_those_in_sync_ask_holds_nobody(tmp_path: Path) -> None:
    """Before broker 3 is away all are in sync, and ask broker 2 for 2000 in a round."""
    block = block_at(4, tmp_path, "", ', "leader.replication.throttled.rate" = 10')
    shares = shared_out(block, 4)
    assert not shares.is_short
    assert set(quotas_of(fetches_of(block, 4), shares).tolist()) == {UNKNOWN}


def test_a_partition_that_never_had_a_leader_has_no_flow(tmp_path: Path) -> None:
    none = Demands(np.array([NO_FLOW]), *np.zeros((5, 1), np.int64))
    assert flows_of(none).flow.tolist() == []
    own, shared = block_at(25, tmp_path).shared, fetching_block(tmp_path).shared
    number = np.array([7]), np.array([BY_LEADER]), np.array([300])
    assert flow_of(*number, own).tolist() == [7 * OF_FETCHER + BY_LEADER]
    assert flow_of(*number, shared).tolist() == [7 * OF_FETCHER + 9 * SIZE + BY_LEADER]  # 300 is below 2**9


FETCHERS = (
    """
rounds = 60
round_ms = 1000
[cluster]
brokers = 3
session_timeout_rounds = 3
quota_window_rounds = 10
fetch_bytes_per_second = 10000
config = { "replica.fetch.max.bytes" = 2500 }
[[topics]]
name = "t"
assignment = [[1, 2], [1, 2], [1, 2]]
"""
    + "".join(
        f'[[workload]]\ntopic = "t"\npartitions = "{partition}"\nrecords_per_round = 1\nrecord_bytes = {record_bytes}\n'
        for partition, record_bytes in enumerate((100, 1000, 2000))
    )
    + """
[[faults]]
kind = "broker_crash"
broker = 2
from_round = 5
to_round = 25
"""
)


def fetching_block(folder: Path, text: str = FETCHERS) -> SharedBlock:
    """The block of a scenario whose partitions share a fetcher, before round 25."""
    (folder / "f.toml").write_text(text)
    scenario = replace(load_run(str(folder / "f.toml")).scenarios[0], shares_fetchers=True)
    block = SharedBlock(block_payloads(prepare([scenario], {}, True, 25), 0, [np.arange(3)])[0], ())
    block.play_to(25)
    return block


def test_all_that_ask_a_fetcher_for_more_get_as_much(tmp_path: Path) -> None:
    """They lack 20 rounds: 200, 2000 and 4000 a round and what comes. A fetch of 7,500 bytes takes 751 ms; 2500, 2000 and 2000
    of them are in whole batches: 8655 in a round, of which the last gets what the others leave.
    """
    block = fetching_block(tmp_path)
    demands, shares = fetches_of(block, 25), shared_out(block, 25)
    assert demands.demand.tolist() == [0, 300, 0, 3000, 0, 6000]
    assert (demands.in_fetch.tolist(), demands.whole.tolist()) == ([0, 2500] * 3, [0, 2500, 0, 2000, 0, 2000])
    last = int(7500 * 1000 / 751 * 6500 / 7500) - 3300
    assert quotas_of(demands, shares).tolist() == [UNKNOWN, 300, UNKNOWN, 3000, UNKNOWN, last]
    assert shares.used_up.tolist() == [PLACES.index("followers") * 3 + 1]
    more = replace(demands, demand=np.array([0, 300, 0, 5000, 0, 6000]))
    own = replace(block.demands(25), fetches=replace(more, flow=demands.flow))
    found = all_shares_of(all_flows_of(own), block.shared, 25).fetches
    assert found is not None
    assert quotas_of(more, found).tolist() == [UNKNOWN, 300, UNKNOWN, (last + 3000) // 2, UNKNOWN, (last + 3000) // 2]


def test_what_is_cut_off_is_of_what_was_sent(tmp_path: Path) -> None:
    """Nothing is written any more in round 25: followers lack batches all the same. Of those to come nobody knows."""
    later = '[[workload]]\ntopic = "t"\nfrom_round = 40\nrecords_per_round = 1\nrecord_bytes = 2500\n'
    text = FETCHERS.replace("records_per_round = 1", "records_per_round = 1\nto_round = 22") + later
    assert fetches_of(fetching_block(tmp_path, text), 25).whole.tolist() == [0, 2500, 0, 2000, 0, 2000]


def test_what_a_fetcher_has_left_is_for_all(tmp_path: Path) -> None:
    block = fetching_block(tmp_path)
    demands = fetches_of(block, 25)
    less = replace(demands, demand=np.array([0, 300, 0, 1000, 0, 2000]))
    found = all_shares_of(all_flows_of(replace(block.demands(25), fetches=less)), block.shared, 25).fetches
    assert found is not None
    left = (7500 * 1000 / 751 * 6500 / 7500 - 3300) / 3
    assert quotas_of(less, found).tolist() == [UNKNOWN, int(300 + left), UNKNOWN, int(1000 + left), UNKNOWN, int(2000 + left)]
    assert not found.is_short


@pytest.mark.parametrize(
    ("edge", "is_short", "following"),
    [
        (Edge(0, 10), False, Edge(10, 10)),  # round 5: the fault begins, the window begins anew
        (Edge(10, 10), False, Edge(20, 20)),
        (Edge(20, 20), False, Edge(30, 10)),  # round 25: it is back
        (Edge(30, 10), True, Edge(40, 10)),
        (Edge(30, 10), False, Edge(40, 20)),
        (Edge(40, 20), False, None),
    ],
)
def test_edges(edge: Edge, is_short: bool, following: Edge | None, tmp_path: Path) -> None:
    shared = block_at(0, tmp_path).shared
    assert edge.following(shared, is_short) == following
    assert first_edge(shared) == Edge(0, 10)
    assert {0, 5, 25} <= set(shared.changes.tolist())
    assert [edge.round for edge, _ in windows_of(shared)] == [0, 10, 20, 30, 40]
