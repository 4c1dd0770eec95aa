"""Fetcher threads by hand arithmetic, and against a real broker that was behind. L is replica.fetch.max.bytes, 1 MiB."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from dataclasses import replace
from pathlib import Path

import pytest

from .inputs import SECOND_US, Limits, Partition
from .session import FetchSession
from .simulate import CatchUp, FetcherThread, Outcome, play
from .threads import fetcher_id, kafka_abs, string_hash

DEFAULTS = Limits()
L = 1024 * 1024
BATCH = 16 * 1024
"""L is 64 of them, so that a full fetch sends nothing in vain."""
FULL_US = 1000 + L // 200
"""A fetch of L: 6242 microseconds."""


def behind(number: int, lacking: int, batch: int = BATCH, rate: int = 0, topic: str = "t") -> Partition:
    """A partition that broker 1 leads and broker 2 follows."""
    return Partition(topic, number, 1, (2,), rate, batch, {2: lacking})


def caught_up(outcome: Outcome, partition: Partition, follower: int = 2) -> list[int | None]:
    return [catch_up.at_us for catch_up in outcome.logs[partition, follower].catch_ups]


def fetches(outcome: Outcome, follower: int = 2, fetcher: int = 0) -> list[tuple[int, int]]:
    """Of a thread when each of its fetches that brought anything was appended, and how much."""
    thread = outcome.fetches[FetcherThread(follower, 1, fetcher)]
    return [(fetch.at_us, fetch.appended_bytes) for fetch in thread if fetch.appended_bytes]


# --- threads ---


def test_hashes_are_those_of_java() -> None:
    """Printed by a Java program: String.hashCode() of each name."""
    by_name = {"t": 116, "orders": -1008770331, "__consumer_offsets": -970371369, "payments.eu-west_1": 1677771741}
    assert {name: string_hash(name) for name in by_name} == by_name
    assert kafka_abs(-(2**31)) == 0 and kafka_abs(-7) == 7


def test_threads_of_a_topic() -> None:
    """31 * 116 = 3596, which 4 divides; likewise from Java what overflows, where numbers fall from the negative side."""
    assert [fetcher_id("t", number, 2) for number in range(4)] == [0, 1, 0, 1]
    assert [fetcher_id("t", number, 4) for number in range(5)] == [0, 1, 2, 3, 0]
    assert [fetcher_id("orders", number, 3) for number in range(6)] == [2, 1, 0, 2, 1, 0]
    assert [fetcher_id("__consumer_offsets", number, 4) for number in range(6)] == [3, 2, 1, 0, 3, 2]
    assert [fetcher_id("payments.eu-west_1", number, 3) for number in range(4)] == [0, 1, 2, 0]


def test_two_threads_fetch_side_by_side() -> None:
    """Partitions 0 and 2 share a thread, 1 has the other for itself: it takes half as long and the round trips."""
    partitions = [behind(number, 10 * L) for number in range(3)]
    outcome = play(partitions, replace(DEFAULTS, fetchers=2), 1)
    assert outcome.partitions == {FetcherThread(2, 1, 0): [partitions[0], partitions[2]], FetcherThread(2, 1, 1): [partitions[1]]}
    together = 1000 + 2 * L // 200
    assert [caught_up(outcome, partition) for partition in partitions] == [[10 * together], [10 * FULL_US], [10 * together]]


def test_each_pair_of_brokers_has_threads_of_its_own() -> None:
    """Two leaders, and two followers of one of them: nobody waits for another."""
    two, three = Partition("t", 0, 1, (2, 3), 0, BATCH, {2: 8 * L, 3: 4 * L}), Partition("t", 2, 4, (2,), 0, BATCH, {2: 8 * L})
    outcome = play([two, three], DEFAULTS, 1)
    assert caught_up(outcome, two) == caught_up(outcome, three) == [8 * FULL_US]
    assert caught_up(outcome, two, 3) == [4 * FULL_US]


# --- one response after the other ---


def test_one_partition_alone_has_168_megabytes_a_second() -> None:
    partition = behind(0, 500 * L)
    outcome = play([partition], DEFAULTS, 10)
    assert caught_up(outcome, partition) == [500 * FULL_US]
    megabytes_per_second = L / FULL_US
    assert megabytes_per_second == pytest.approx(168.0, abs=0.05)
    log = outcome.logs[partition, 2]
    assert log.bytes_at(SECOND_US) == SECOND_US // FULL_US * L
    assert (log.bytes_at(FULL_US - 1), log.bytes_at(FULL_US)) == (0, L)


def test_four_partitions_share_191_megabytes_a_second() -> None:
    partitions = [behind(number, 100 * L) for number in range(4)]
    outcome = play(partitions, DEFAULTS, 10)
    each = 1000 + 4 * L // 200
    assert [caught_up(outcome, partition) for partition in partitions] == [[100 * each]] * 4
    assert 4 * L / each == pytest.approx(190.9, abs=0.05)
    assert fetches(outcome)[:2] == [(each, 4 * L), (2 * each, 4 * L)]


def test_what_is_cut_off_is_sent_all_the_same() -> None:
    """Of batches of 600,000 bytes one is whole within L, and what is sent of the next is in vain; the last has none after it."""
    partition = behind(0, 3_000_000, batch=600_000)
    outcome = play([partition], DEFAULTS, 1)
    last = 1000 + 600_000 // 200
    assert fetches(outcome) == [(at * FULL_US, 600_000) for at in range(1, 5)] + [(4 * FULL_US + last, 600_000)]


def test_the_response_limits_forty_partitions() -> None:
    """Ten of them fit a response. The first ten are served twice, as the first request of a session moves nobody; then all in
    turn: with four fetches each to catch up, AA BCDA BCDA BCD BCD, where A is partitions 0 to 9 and each letter a response.
    """
    partitions = [behind(number, 4 * L) for number in range(40)]
    outcome = play(partitions, DEFAULTS, 2)
    full = 1000 + 10 * L // 200
    assert fetches(outcome) == [(at * full, 10 * L) for at in range(1, 17)]
    assert 10 * L / full == pytest.approx(196.3, abs=0.05)
    turns = ["AABCDABCDABCDBCD".rindex(letter) + 1 for letter in "ABCD"]
    assert turns == [10, 14, 15, 16]
    assert [caught_up(outcome, partition) for partition in partitions] == [[turns[at // 10] * full] for at in range(40)]


def test_who_did_not_fit_is_the_first_of_the_next_response() -> None:
    """Room for two and a half: the third gets what is left of the limit, and goes to the back with the others."""
    partitions = [behind(number, 4 * L) for number in range(4)]
    limits = replace(DEFAULTS, response_max_bytes=5 * L // 2)
    session, lacking = FetchSession(partitions), dict.fromkeys(partitions, 4 * 64)
    brought = []
    for _ in range(4):
        response = session.read(lacking, limits)
        brought.append({partition.number: batches for partition, batches in response.batches.items()})
    assert brought == [{0: 64, 1: 64, 2: 32}, {0: 64, 1: 64, 2: 32}, {3: 64, 0: 64, 1: 32}, {2: 64, 3: 64, 0: 32}]
    assert [partition.number for partition in session.order] == [1, 2, 3, 0]


def test_the_leader_has_a_limit_as_well() -> None:
    """A follower asks for 100 MB, its leader's fetch.max.bytes is 55 MiB: the last five have both of their fetches after that."""
    partitions = [behind(number, 2 * L) for number in range(60)]
    limits = replace(DEFAULTS, response_max_bytes=100_000_000)
    assert [appended for _, appended in fetches(play(partitions, limits, 2))] == [55 * L, 55 * L, 5 * L, 5 * L]


def test_one_far_behind_and_many_caught_up() -> None:
    """49 partitions at 100 kB/s send 4.9 MB/s in all: it takes c = 1 ms + (L + 4.9 MB/s * c) / 200 MB/s for each L."""
    whole = L // 2000 * 2000  # of batches of 2000 bytes so much of L is whole
    lagging, *others = behind(0, 200 * whole, 2000), *(behind(number, 0, 2000, 100_000) for number in range(1, 50))
    outcome = play([lagging, *others], DEFAULTS, 3)
    cycle = (1000 + L / 200) / (1 - 4.9 / 200)
    assert L / cycle == pytest.approx(163.8, abs=0.1)
    (at,) = caught_up(outcome, lagging)
    assert at == pytest.approx(200 * cycle, rel=0.002)
    for other in others:  # nobody waits longer than a fetch for what it lacks
        assert caught_up(outcome, other) == [500]
        log = outcome.logs[other, 2]
        late = [other.batches_at(now) * 2000 - log.bytes_at(now) for now in range(0, 3 * SECOND_US, 1777)]
        assert max(late) <= 2000


# --- batches larger than L ---


def test_a_batch_above_the_limits_comes_whole_and_alone() -> None:
    """3 MiB against L, and 12 MiB against a response of 10: 15,728 and 62,914 microseconds, and the round trip."""
    large, larger = behind(0, 6 * L, batch=3 * L), behind(0, 24 * L, batch=12 * L)
    assert fetches(play([large], DEFAULTS, 1)) == [(16_728, 3 * L), (33_456, 3 * L)]
    assert fetches(play([larger], DEFAULTS, 1)) == [(63_914, 12 * L), (127_828, 12 * L)]


def test_large_batches_take_turns() -> None:
    """Only the first that has data may exceed L: AABABB, as the first request moves nobody. Small batches come beside them."""
    large = [behind(number, 9 * L, batch=3 * L) for number in range(2)]
    outcome = play(large, DEFAULTS, 1)
    turns = ["AABABB".rindex(letter) + 1 for letter in "AB"]
    assert [caught_up(outcome, partition) for partition in large] == [[turn * 16_728] for turn in turns] == [[66_912], [100_368]]
    small = behind(2, 3 * L)
    outcome = play([*large, small], DEFAULTS, 1)
    # A + small, A + small, B + small; then it has no more.
    assert [appended for _, appended in fetches(outcome)] == [4 * L, 4 * L, 4 * L, 3 * L, 3 * L, 3 * L]
    assert caught_up(outcome, small) == [3 * (1000 + 4 * L // 200)]


def test_a_small_one_in_front_keeps_a_large_batch_waiting() -> None:
    """The first with data has a small batch, so the large one behind it gets nothing, once in each session's beginning."""
    small, large = behind(0, 4 * L), behind(1, 3 * L, batch=3 * L)
    outcome = play([small, large], DEFAULTS, 1)
    # Full request: small; small again and to the back; large first, with small; small alone.
    assert [appended for _, appended in fetches(outcome)] == [L, L, 4 * L, L]


# --- over time ---


def test_who_has_caught_up_waits_for_what_comes() -> None:
    """A batch a second, and fetches held back for 500 ms: the third, sent at 1.002 s, finds the batch of 1 s; or the second
    is under way when it comes."""
    partition = behind(0, 0, batch=1000, rate=1000)
    outcome = play([partition], DEFAULTS, 2.2)
    thread = outcome.fetches[FetcherThread(2, 1, 0)]
    # Held back from 500 us to 500,500; from 501,500 to 1,000,000, when the batch comes. 5 us for its bytes, 500 for the way.
    assert [(fetch.at_us, fetch.appended_bytes) for fetch in thread][:3] == [(501_000, 0), (1_000_505, 1000), (1_501_505, 0)]
    assert outcome.logs[partition, 2].bytes_at(2_000_504) == 1000 and outcome.logs[partition, 2].bytes_at(2_000_505) == 2000
    assert caught_up(outcome, partition) == [500]


def test_catching_up_while_more_is_written() -> None:
    """100 MB behind at 40 MB/s of new data: of 168 MB/s 128 are left, so that it takes 0.78 s."""
    partition = behind(0, 6400 * BATCH, rate=40_000_000)
    (at,) = caught_up(play([partition], DEFAULTS, 3), partition)
    assert at == pytest.approx(6400 * BATCH / (L / FULL_US - 40), rel=0.01)


def test_more_than_a_thread_brings_is_never_caught_up() -> None:
    """Ten at 20 MB/s each are more than 196: what is lacking grows by 4 MB in a second, evenly."""
    partitions = [behind(number, 10 * L, rate=20_000_000) for number in range(10)]
    outcome = play(partitions, DEFAULTS, 5)
    assert [caught_up(outcome, partition) for partition in partitions] == [[None]] * 10
    lag = [
        partition.batches_at(5 * SECOND_US) * BATCH - outcome.logs[partition, 2].bytes_at(5 * SECOND_US)
        for partition in partitions
    ]
    assert sum(lag) == pytest.approx(100 * L + 5 * (200e6 - 10 * L / (1000 + 10 * L // 200) * 1e6), rel=0.1)
    assert max(lag) - min(lag) <= 2 * L


def test_an_outage() -> None:
    """What is under way when the broker goes is lost; when it is back it fetches what was written meanwhile."""
    partition = behind(0, 10 * L, rate=16 * BATCH * 100)  # 26.2 MB/s
    outcome = play([partition], DEFAULTS, 4, {2: [(0.02, 2)]})
    log = outcome.logs[partition, 2]
    assert log.bytes_at(1_999_999) == log.bytes_at(20_000) == 3 * L  # at 18,726; the fourth would be there at 24,968
    assert log.bytes_at(2 * SECOND_US + FULL_US) == 4 * L
    lacking = 10 * L + 2 * 1600 * BATCH - 3 * L
    first, second = log.catch_ups
    assert first == CatchUp(0, None) and second.since_us == 2 * SECOND_US and second.at_us is not None
    assert second.at_us - second.since_us == pytest.approx(lacking / (L / FULL_US - 1600 * BATCH / 1e6), rel=0.02)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="brokers \\[1\\] lead"):
        play([behind(0, 0)], DEFAULTS, 1, {1: [(0, 1)]})
    with pytest.raises(ValueError, match="whole batches"):
        behind(0, BATCH + 1)
    with pytest.raises(ValueError, match="follows it"):
        Partition("t", 0, 1, (1, 2))


# --- at random ---


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_and_nobody_starves(seed: int) -> None:
    """Logs grow by whole fetches up to their leaders' and are equal in the end; who is behind is served in each turn."""
    rng = random.Random(seed)
    limits = replace(DEFAULTS, response_max_bytes=rng.choice([2, 5, 10]) * L, fetchers=rng.choice([1, 2, 3]))
    batches = [rng.choice([700, 5000, BATCH, 300_000, 2 * L]) for _ in range(rng.randint(2, 30))]
    partitions = []
    for number, batch in enumerate(batches):
        lacking = {follower: rng.randint(0, 20 * L) // batch * batch for follower in (2, 3)}
        partitions.append(Partition("t", number, rng.choice([1, 4]), (2, 3), rng.choice([0, 50_000]), batch, lacking))
    outcome = play(partitions, limits, 12, {3: [(1, 2), (4, 4.5)]})
    for (partition, follower), log in outcome.logs.items():
        end = partition.batches_at(12 * SECOND_US) * partition.batch_bytes
        assert end - log.log_bytes[-1] <= 50_000 * 0.01 + partition.batch_bytes
        assert log.log_bytes == sorted(set(log.log_bytes)) and log.at_us == sorted(set(log.at_us))
        assert all(
            held <= partition.batches_at(at) * partition.batch_bytes for at, held in zip(log.at_us, log.log_bytes, strict=True)
        )
        assert [catch_up.since_us for catch_up in log.catch_ups] == ([0] if follower == 2 else [0, 2_000_000, 4_500_000])
        assert log.catch_ups[-1].at_us is not None
    for thread, done in outcome.fetches.items():
        served = sum(outcome.logs[one, thread.follower].log_bytes[-1] for one in outcome.partitions[thread])
        first = sum(one.first_batches(thread.follower) * one.batch_bytes for one in outcome.partitions[thread])
        assert sum(fetch.appended_bytes for fetch in done) == served - first
        assert all(fetch.sent_bytes <= limits.response_max_bytes for fetch in done)
        assert sum(fetch.sent_bytes for fetch in done) <= 12 * limits.bytes_per_second


@pytest.mark.parametrize("seed", range(10))
def test_turns_are_even(seed: int) -> None:
    """Of those that lack more than they can get each is in as many responses as any other, and in two more at most.

    Two, as the first two responses are of the same partitions.
    """
    rng = random.Random(seed)
    partitions = [behind(number, 1000 * L) for number in range(rng.randint(2, 45))]
    outcome = play(partitions, replace(DEFAULTS, response_max_bytes=rng.randint(L, 12 * L)), 2)
    for at in range(0, 2 * SECOND_US, 50_000):
        turns = [bisect_right(outcome.logs[partition, 2].at_us, at) for partition in partitions]
        assert max(turns) - min(turns) <= 2


def test_turns_are_even_and_bytes_are_not() -> None:
    """A response has room for one and a half: the second of two gets half of L, goes to the back likewise, and so always.

    With the defaults ten fit a response exactly, and nobody gets a part.
    """
    first, second = behind(0, 100 * L), behind(1, 100 * L)
    outcome = play([first, second], replace(DEFAULTS, response_max_bytes=3 * L // 2), 0.6)
    responses = 600_000 // (1000 + 3 * L // 400)
    assert [outcome.logs[partition, 2].bytes_at(600_000) for partition in (first, second)] == [responses * L, responses * L // 2]


# --- a real broker ---

RUNS = json.loads((Path(__file__).parent.parent / "data" / "catch_up.json").read_text())
MEASURED = Limits(round_trip_us=1400, bytes_per_second=196_000_000)
"""What docs/kafka_rounds.md has from the times between that broker's responses; the defaults are round figures."""


@pytest.mark.parametrize(("limits", "off"), [(DEFAULTS, (-0.059, -0.023)), (MEASURED, (0.017, 0.014))])
def test_a_real_broker_catches_up(limits: Limits, off: tuple[float, float]) -> None:
    """Kafka 4.1.1 took 1.91 s for 298,122 records of one partition, 156 MB/s of records, and 2.15 s for 396,266 of four, 184.

    With the defaults one partition takes 5.9 % less and four 2.3 %; as measured 1.7 % and 1.4 % more. LEOs were sampled
    every 0.1 s, so that the real times are known within some 5 %.

    1036 records a fetch and partition are whole batches: of 28 records of 1009 bytes and 61 of the batch, 37 come to
    1,047,581 bytes. (Other numbers that divide 1036 come to about as many.)
    """
    batch, records = 28 * 1009 + 61, 28
    assert RUNS["records_a_fetch_and_partition"] == L // batch * records
    for run, expected in zip(RUNS["runs"], off, strict=True):
        each = (run["to_offset"] - run["from_offset"]) // run["partitions"] // records
        partitions = [behind(number, each * batch, batch) for number in range(run["partitions"])]
        outcome = play(partitions, limits, 5)
        took = max(at for partition in partitions for at in caught_up(outcome, partition) if at is not None) / SECOND_US
        assert took / run["seconds"] - 1 == pytest.approx(expected, abs=0.001)
