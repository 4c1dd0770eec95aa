"""A broker's network is one budget for producers, followers, consumers and copies: three brokers by hand, and one is full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from emulator.engine.budgets import play_shared as playing
from emulator.engine.budgets.client_shares import fair_parts
from emulator.engine.budgets.saturated import saturated_columns
from emulator.inputs.arrays import prepare
from emulator.outcomes.compiled.traffic import bucket_edges
from emulator.scenario import load_run

SCENARIO = """
rounds = ROUNDS
round_ms = 1000
[cluster]
brokers = 3
quota_window_rounds = 10
network_bytes_per_second = NETWORK
MORE
[[topics]]
name = "t"
assignment = ASSIGNMENT
config = { "min.insync.replicas" = 1 TOPIC }
[[workload]]
topic = "t"
partitions = "WRITTEN"
records_per_round = 4
record_bytes = RECORD
acks = "all"
"""
CONSUMER = """
[[consumers]]
group = "g"
topic = "t"
start = "earliest"
"""
TIERED = ', "remote.storage.enable" = true, "segment.bytes" = 40000'
TIERS_ON = """
[cluster.config]
"remote.log.storage.system.enable" = true
"remote.log.manager.task.interval.ms" = 1000
"log.retention.check.interval.ms" = 1000
"""


def played(
    folder: Path, rounds: int = 50, leaps: bool = True, more: str = "", rest: str = "", **given: object
) -> dict[str, pa.Table]:
    """What is told of the scenario, in time buckets of 25 rounds."""
    text = SCENARIO.replace("MORE", more) + rest
    for name, value in {"ROUNDS": rounds, "TOPIC": "", "RECORD": 1000, "WRITTEN": "0", **given}.items():
        text = text.replace(name, str(value))
    return played_text(folder, text, leaps)


def played_text(folder: Path, text: str, leaps: bool) -> dict[str, pa.Table]:
    """What is told of a scenario file."""
    (folder / "s.toml").write_text(text)
    scenario = load_run(str(folder / "s.toml")).scenarios[0]
    partitions = sum(topic.partitions for topic in scenario.topics)
    prepared = prepare([scenario], {0: np.zeros(partitions, bool)}, leaps, 25)
    return playing.play_shared(0, playing.shared_payload(prepared, 0))


def sums_of(folder: Path, rounds: int = 50, place: int = 0, **given: Any) -> np.ndarray:
    """By time bucket what `broker_rounds` will have of a broker: traffic and saturated rounds, fields by name."""
    return sums_by_bucket(played(folder, rounds, **given), rounds, place)


def sums_by_bucket(told: dict[str, pa.Table], rounds: int, place: int, brokers: int = 3) -> np.ndarray:
    """The same of what is told of so many brokers."""
    edges = bucket_edges(rounds, 25)
    traffic = told["traffic"].to_pandas().query(f"broker_place == {place}").groupby("bucket").sum()
    held = saturated_columns(told["saturated"], brokers, edges)
    columns = {name: traffic[name].reindex(range(len(edges) - 1), fill_value=0).to_numpy() for name in traffic.columns}
    columns |= {name: values.reshape(-1, brokers)[:, place] for name, values in held.items()}
    return np.rec.fromarrays(list(columns.values()), names=list(columns))


def test_who_asks_for_little_gets_it_and_the_others_even_parts_by_connection() -> None:
    # One connection wants 10, two want 4 each: an even part of 12 is 4. Then one of 2, one of 9 and two of 9 share 11: 2, 3, 6.
    demand = np.array([[10.0, 2.0], [8.0, 9.0], [0.0, 18.0]])
    connections = np.array([[1, 1], [2, 1], [1, 2]])
    assert fair_parts(np.array([12.0, 11.0]), demand, connections).tolist() == [[4.0, 2.0], [8.0, 3.0], [0.0, 6.0]]
    assert fair_parts(np.array([np.inf, 29.0]), demand, connections).tolist() == demand.tolist()
    assert fair_parts(np.array([-1.0, 0.0]), demand, connections).sum() == 0


@pytest.mark.parametrize("leaps", [True, False])
def test_consumers_and_followers_share_what_a_broker_sends(tmp_path: Path, leaps: bool) -> None:
    """4,000 bytes a round go to two followers and a consumer, 12,000 of 10,000: an even part is 3,333.

    Followers take batches of 4,000 bytes, the consumer records of 1,000.
    """
    sums = sums_of(tmp_path, leaps=leaps, rest=CONSUMER, NETWORK=10_000, ASSIGNMENT="[[1, 2, 3]]")
    followers = [2 * 4000 * (3333 * end // 4000) for end in (25, 50)]
    assert np.cumsum(sums.bytes_out).tolist() == followers
    assert sums.bytes_consumed[1] in (83_000, 84_000)
    assert sums.bytes_produced.tolist() == [100_000, 100_000]  # 4,000 of 10,000 come in: nobody is held back there
    assert sums.network_out_saturated_rounds.tolist() == sums.consumers_held_rounds.tolist() == [25, 25]
    assert not sums.network_in_saturated_rounds.any() and not sums.producers_held_rounds.any()
    follower = sums_of(tmp_path, leaps=leaps, rest=CONSUMER, place=1, NETWORK=10_000, ASSIGNMENT="[[1, 2, 3]]")
    assert follower.followers_held_rounds.tolist() == [25, 25] and not follower.network_in_saturated_rounds.any()


@pytest.mark.parametrize("leaps", [True, False])
def test_who_keeps_up_is_not_held_back_by_who_fetches_all(tmp_path: Path, leaps: bool) -> None:
    """Of broker 1's 10,000 bytes a round broker 2, which is in sync, asks for the 1,000 that are written; the new replica, which
    lacks a megabyte of another partition, has the 9,000 that this leaves, until it has all: 111 rounds. Nobody leaves the ISR.
    """
    moves = """
[[initial.replicas]]
topic = "t"
partition = 1
broker = 1
leo = 4000
record_bytes = 250
[[commands]]
kind = "reassign"
round = 10
topic = "t"
partition = 1
replicas = [1, 3]
"""
    given: dict[str, Any] = {"rest": moves, "NETWORK": 10_000, "ASSIGNMENT": "[[1, 2], [1]]", "RECORD": 250}
    told = played(tmp_path, 200, leaps, **given)
    behind = [sums_by_bucket(told, 200, place) for place in (1, 2)]
    assert behind[0].bytes_in[1:-1].tolist() == [25_000] * 6
    assert behind[1].bytes_in[1:4] == pytest.approx([25 * 9000] * 3, abs=1000)
    assert behind[1].bytes_in.sum() == 1_000_000
    assert told["outcomes"].column("isr_shrinks").to_pylist() == [0, 0]


@pytest.mark.parametrize("leaps", [True, False])
def test_a_group_that_keeps_up_is_not_held_back_by_one_that_reads_back(tmp_path: Path, leaps: bool) -> None:
    """Of broker 1's 5,000 bytes a round the follower asks for the 1,000 that are written and a tenth of the batch that it lacks,
    group g for as much and a tenth of two; h, which begins to read 100 rounds back, has the 2,700 that these leave, or more.
    """
    rest = CONSUMER + CONSUMER.replace('"g"', '"h"') + "from_round = 100\n"
    given: dict[str, Any] = {"rest": rest, "NETWORK": 5000, "ASSIGNMENT": "[[1, 2]]", "RECORD": 250}
    told = played(tmp_path, 125, leaps, **given)
    keeps_up, reads_back = told["consumer_groups"].to_pylist()
    assert keeps_up["max_lag"] <= 4 and reads_back["max_lag"] > 380
    assert 25 * (1000 + 2700) <= sums_by_bucket(told, 125, 0).bytes_consumed[4] <= 25 * (1000 + 3000)


def test_two_fetchers_are_two_connections(tmp_path: Path) -> None:
    """Of 10,000 bytes five connections have 2,000 each: two of each follower, which so get all of their 4,000, one consumer's."""
    fetchers = 'config = { "num.replica.fetchers" = 2 }'
    sums = sums_of(tmp_path, more=fetchers, rest=CONSUMER, NETWORK=10_000, ASSIGNMENT="[[1, 2, 3]]")
    assert sums.bytes_out.tolist() == [200_000, 200_000]
    assert sums.bytes_consumed[1] in (49_000, 50_000)  # records of 1,000 bytes


@pytest.mark.parametrize("leaps", [True, False])
def test_producers_wait_for_what_a_broker_receives(tmp_path: Path, leaps: bool) -> None:
    """Two partitions of 6,000 bytes a round, of 10,000: each may send 5,000, so five rounds of six; the others wait."""
    sums = sums_of(tmp_path, leaps=leaps, NETWORK=10_000, ASSIGNMENT="[[1], [1]]", RECORD=1500, WRITTEN="0-1")
    assert np.cumsum(sums.bytes_produced).tolist() == [2 * 6000 * (5000 * end // 6000) for end in (25, 50)]
    assert sums.bytes_waiting.tolist() == [2 * 6000 * (end - 5000 * end // 6000) for end in (25, 50)]
    assert not sums.bytes_expired.any() and sums.producers_held_rounds.tolist() == [25, 25]


def test_what_waits_for_two_minutes_is_given_up(tmp_path: Path) -> None:
    """1,000 of 6,000 bytes a round: a round in six is sent, 120 rounds wait, and the rest is given up."""
    given = {"NETWORK": 2000, "ASSIGNMENT": "[[1], [1]]", "RECORD": 1500, "WRITTEN": "0-1"}
    sums = sums_of(tmp_path, 200, **given)
    sent = 1000 * 200 // 6000
    assert sums.bytes_produced.sum() == 2 * 6000 * sent
    assert sums.bytes_waiting[-1] == 2 * 6000 * 120
    assert sums.bytes_expired.sum() == 2 * 6000 * (200 - sent - 120)
    outcomes = played(tmp_path, 200, **given)["outcomes"]
    assert outcomes.column("given_up").to_pylist() == [4 * (200 - sent - 120)] * 2
    assert outcomes.column("appended").to_pylist() == [4 * sent] * 2 and not any(outcomes.column("refused").to_pylist())


def test_producers_catch_up_when_there_is_room_again(tmp_path: Path) -> None:
    """As before, but the second partition stops after 25 rounds: the first has 10,000 bytes then, and what waits is sent."""
    second = '[[workload]]\ntopic = "t"\npartitions = "1"\nto_round = 25\nrecords_per_round = 4\nrecord_bytes = 1500\n'
    sums = sums_of(tmp_path, 100, rest=second, NETWORK=10_000, ASSIGNMENT="[[1], [1]]", RECORD=1500, WRITTEN="0")
    assert sums.bytes_produced.sum() == 6000 * (100 + 25) and sums.bytes_waiting[-1] == 0


def test_copies_share_what_a_broker_sends(tmp_path: Path) -> None:
    """A segment of 40,000 bytes every ten rounds and a follower of 4,000 bytes a round, over 7,000: copies wait."""
    given = {"ASSIGNMENT": "[[1, 2]]", "TOPIC": TIERED, "more": TIERS_ON}
    wide, narrow = (sums_of(tmp_path, 100, NETWORK=network, **given) for network in (100_000, 7000))
    assert wide.bytes_uploaded.sum() == 9 * 40_000 and not wide.uploads_held_rounds.any()
    assert 0 < narrow.bytes_uploaded.sum() <= wide.bytes_uploaded.sum() and narrow.uploads_held_rounds.any()
    assert (narrow.bytes_uploaded + narrow.bytes_out).sum() <= 100 * 7000


def test_consumers_read_what_a_disk_leaves(tmp_path: Path) -> None:
    """Nothing is in memory: of 10,000 bytes a round 4,000 are written, and a consumer that is 200,000 behind reads 6,000."""
    late = f"{CONSUMER}from_round = 50\n"
    given = {"NETWORK": f"{10**9}\ndisk_bytes_per_second = 10000", "ASSIGNMENT": "[[1]]", "rest": late}
    sums = sums_of(tmp_path, 100, more="page_cache_bytes = 0", **given)
    assert np.abs(sums.bytes_consumed - [0, 0, 144_000, 150_000]).max() <= 1000  # in round 50 it learns where to begin
    assert sums.bytes_consumed.tolist() == sums.disk_bytes_read.tolist()
    assert sums.consumers_held_rounds.tolist() == sums.disk_saturated_rounds.tolist() == [0, 0, 25, 25]
    assert sums.bytes_produced.tolist() == [100_000] * 4
    from_memory = sums_of(tmp_path, 100, **given)
    assert from_memory.bytes_consumed[2] > 290_000 and not from_memory.disk_saturated_rounds.any()


@pytest.mark.parametrize(("page_cache", "each"), [("page_cache_bytes = 8000", 6000), ("", 10_000)])
def test_followers_that_lag_read_what_a_disk_leaves(tmp_path: Path, page_cache: str, each: int) -> None:
    """From round 50 on a follower lacks 200,000 bytes: its own disk takes 10,000 a round, its leader's has 6,000 left to read."""
    away = '[[faults]]\nkind = "broker_crash"\nbroker = 2\nfrom_round = 1\nto_round = 50\n'
    given = {"NETWORK": f"{10**9}\ndisk_bytes_per_second = 10000", "ASSIGNMENT": "[[1, 2]]", "rest": away}
    sums = sums_of(tmp_path, 75, more=page_cache, **given)
    assert 23 * each - 4000 <= sums.bytes_out[2] <= 25 * each
    assert (sums.disk_saturated_rounds[2] > 0) == (each == 6000)


def test_reads_from_disk_and_from_remote_storage_are_told(tmp_path: Path) -> None:
    """Nothing is in memory: what a consumer reads from round 50 on is remote, in segments of 40,000 bytes, or on the disk."""
    given = {"TOPIC": f'{TIERED}, "local.retention.bytes" = 40000', "more": f"page_cache_bytes = 0\n{TIERS_ON}"}
    sums = sums_of(tmp_path, 100, NETWORK=10**9, ASSIGNMENT="[[1]]", rest=f"{CONSUMER}from_round = 50\n", **given)
    assert sums.bytes_consumed[:2].sum() == 0 and sums.bytes_consumed.sum() == 400_000
    remote = 400_000 - sums.disk_bytes_read.sum()
    assert 0 < remote < 400_000 and remote < sums.bytes_downloaded.sum() <= remote + 9 * 200  # 20 bytes of indexes for each 4,096
