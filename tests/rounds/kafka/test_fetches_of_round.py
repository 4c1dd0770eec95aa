"""How many fetches of a round a follower makes that is behind (docs/kafka_rounds.md, Fetches of a round). No Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rounds.kafka.compared import events_of, outcomes_of, played, scenarios_of, trace_of

BATCH = 1036
"""Records of 1,000 bytes in a batch: what a response of the captured broker brought, whole batches within 1 MiB."""
BATCHES_A_ROUND = 5
BACK = 61
"""The round in which broker 3 is back, 300 batches behind."""
MEASURED_MB_PER_SECOND = 156.1
"""Of a broker of Kafka 4.1.1 that was restarted 300 MB behind, on one partition."""


def behind(cluster: str = "", faults: str = "", round_ms: int = 500, rounds: int = 80) -> str:
    """A scenario in which broker 3 is away while a partition gets 300 batches, and nothing comes after that."""
    workload = "\n".join(
        f'[[workload]]\ntopic = "t"\nrecords_per_round = {BATCH}\nto_round = {BACK}' for _ in range(BATCHES_A_ROUND)
    )
    return (
        f"""
        name = "behind"
        rounds = {rounds}
        round_ms = {round_ms}
        [cluster]
        brokers = 3
        session_timeout_rounds = 5
        {cluster}
        [[topics]]
        name = "t"
        assignment = [[1, 2, 3]]
        [[faults]]
        kind = "broker_crash"
        broker = 3
        from_round = 1
        to_round = {BACK}
        {faults}
    """
        + workload
    )


def batches_by_round(text: str, folder: Path, leaps: bool = False) -> list[float]:
    """How many batches broker 3 gets in each round from its return on."""
    game = played(scenarios_of(text, folder).scenarios, leaps=leaps)
    leos = [row["leo"] for row in trace_of(game)[0] if row["broker"] == 3]
    return [(later - sooner) / BATCH for sooner, later in zip(leos[BACK - 1 :], leos[BACK:], strict=False)]


def test_a_restarted_broker_catches_up_as_fast_as_the_real_one(tmp_path: Path) -> None:
    gains = batches_by_round(behind(), tmp_path)
    assert gains[:4] == [80, 80, 80, 60]
    megabytes_per_second = gains[0] * BATCH * 1000 / 1e6 / 0.5
    assert megabytes_per_second == pytest.approx(MEASURED_MB_PER_SECOND, rel=0.1)


@pytest.mark.parametrize(
    ("cluster", "round_ms", "fetches"),
    [
        ("fetches_per_round = 1", 500, 1),
        ("fetches_per_round = 7", 500, 7),
        ("fetches_per_round = 7\nfetch_round_trip_ms = 400", 500, 7),
        ("fetch_bytes_per_second = 196_000_000\nfetch_round_trip_ms = 1.35", 500, 74),  # t = 1350 + 5349 us
        ("fetch_bytes_per_second = 1_000_000_000_000\nfetch_round_trip_ms = 6.6", 500, 75),  # t = 6600 + 1 us
        ("", 100, 16),  # t = 1000 + 5242 us
        ("fetch_round_trip_ms = 600", 500, 1),  # longer than a round
        ('config = { "replica.fetch.response.max.bytes" = 1_000_000 }', 500, 80),  # t = 1000 + 5180 us, of a batch
        ('config = { "replica.fetch.max.bytes" = 2_100_000 }', 500, 86),  # t = 1000 + 10500 us: 43 of two batches
        ('config = { "replica.fetch.max.bytes" = 2_100_000, "replica.fetch.response.max.bytes" = 1_048_576 }', 500, 80),
    ],
)
def test_a_round_holds_as_many_fetches_as_fit(tmp_path: Path, cluster: str, round_ms: int, fetches: int) -> None:
    assert batches_by_round(behind(cluster, round_ms=round_ms), tmp_path)[0] == fetches


@pytest.mark.parametrize(
    ("cluster", "batches"), [("", 4), ('config = { "replica.fetch.max.bytes" = 100_000 }', 4), ("fetches_per_round = 1", 1)]
)
def test_a_batch_that_is_larger_than_a_fetch_takes_as_long_as_its_bytes(tmp_path: Path, cluster: str, batches: int) -> None:
    """Batches of 20 MB, each in 1000 + 100000 us; that of the round in which broker 3 is back is the 61st."""
    text = behind(cluster).split("[[workload]]")[0] + '[[workload]]\ntopic = "t"\nrecords_per_round = 20_000\n'
    game = played(scenarios_of(text, tmp_path).scenarios)
    leos = [row["leo"] // 20_000 for row in trace_of(game)[0] if row["broker"] == 3]
    assert leos[BACK : BACK + 3] == [leos[BACK - 1] + count * batches for count in (1, 2, 3)]


@pytest.mark.parametrize(
    ("link", "cluster", "batches"),
    [
        ("round_trip_ms = 80", "", 5),  # t = 80000 + 5242 us
        ('round_trip_ms = 80\ndirection = "out"', "", 5),
        ('round_trip_ms = 80\ndirection = "in"', "", 80),  # of what broker 3 sends
        ("round_trip_ms = 80\nbytes_per_second = 6_216_000", "", 3),
        ("round_trip_ms = 0.1", "fetch_round_trip_ms = 50", 93),  # nearer than others: t = 100 + 5242 us
        ("round_trip_ms = 80", "fetches_per_round = 2", 2),
    ],
)
def test_a_link_has_a_round_trip_of_its_own(tmp_path: Path, link: str, cluster: str, batches: int) -> None:
    fault = f'[[faults]]\nkind = "slow_link"\nbroker = 1\npeer = 3\nfrom_round = 0\n{link}\n'
    assert batches_by_round(behind(cluster, fault), tmp_path)[0] == batches


def test_the_longest_round_trip_of_a_link_holds(tmp_path: Path) -> None:
    faults = "".join(
        f'[[faults]]\nkind = "slow_link"\nbroker = {broker}\nfrom_round = {start}\nround_trip_ms = {ms}\n'
        for broker, start, ms in ((1, 0, 30), (3, BACK + 1, 80), (3, BACK + 2, 50))
    )
    # t = 35242, 85242 us
    assert batches_by_round(behind(faults=faults), tmp_path)[:3] == [14, 5, 5]


def test_what_waits_within_the_round_is_credit_of_the_next(tmp_path: Path) -> None:
    """2,590,000 bytes a round are two batches and a half: 2, then 3."""
    fault = f'[[faults]]\nkind = "slow_disk"\nbroker = 3\nfrom_round = {BACK}\nbytes_per_second = 5_180_000\n'
    assert batches_by_round(behind(faults=fault), tmp_path)[:4] == [2, 3, 2, 3]


def test_each_fetch_is_a_chunk_that_may_roll_the_segment(tmp_path: Path) -> None:
    """Five batches fill a segment; of chunks of two the third begins the next one."""
    config = '{ "segment.bytes" = 5_180_000, "replica.fetch.max.bytes" = 2_100_000 }'
    game = played(scenarios_of(behind(f"config = {config}\nfetches_per_round = 3"), tmp_path).scenarios)
    rolls = [row for row in events_of(game)[0] if row["kind"] == "segment_roll"]
    assert [row["from_offset"] / BATCH for row in rolls if row["broker"] == 3][:3] == [5, 9, 13]
    assert [row["from_offset"] / BATCH for row in rolls if row["broker"] == 1][:3] == [5, 10, 15]


@pytest.mark.parametrize("cluster", ["", "fetches_per_round = 1", "fetches_per_round = 5"])
def test_leaps_over_catching_up_change_nothing(tmp_path: Path, cluster: str) -> None:
    text = behind(cluster, rounds=420)
    plain, leapt = (played(scenarios_of(text, tmp_path).scenarios, traced=False, leaps=leaps) for leaps in (False, True))
    assert outcomes_of(leapt, 0) == outcomes_of(plain, 0)
    assert outcomes_of(plain, 0)["isr"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("fetches", "batches"), [(1, (10, 10, 10, 20)), (3, (10, 10, 10, 20)), (2, (10, 10, 10)), (4, (10, 10, 10, 20))]
)
def test_leaps_do_not_pass_over_batches_of_another_size(tmp_path: Path, fetches: int, batches: tuple[int, ...]) -> None:
    """A fetch brings one batch: rounds that bring as much as the ones before, until one gets to a larger batch."""
    cluster = f'fetches_per_round = {fetches}\nconfig = {{ "replica.fetch.max.bytes" = 10_000 }}'
    text = behind(cluster, rounds=1000).split("[[workload]]")[0]
    text += "".join(f'[[workload]]\ntopic = "t"\nrecords_per_round = {records}\n' for records in batches)
    plain, leapt = (played(scenarios_of(text, tmp_path).scenarios, traced=False, leaps=leaps) for leaps in (False, True))
    assert outcomes_of(leapt, 0) == outcomes_of(plain, 0)


def test_joins_and_the_high_watermark_stay_a_matter_of_rounds(tmp_path: Path) -> None:
    """Caught up in four rounds instead of 304, the follower joins in the round after; nothing sooner, nothing later."""
    fast, slow = (
        trace_of(played(scenarios_of(behind(cluster, rounds=420), tmp_path).scenarios))[0]
        for cluster in ("", "fetches_per_round = 1")
    )
    joined = [
        next(row["round"] for row in rows if row["broker"] == 3 and row["round"] > BACK and row["in_isr"])
        for rows in (fast, slow)
    ]
    caught_up = [
        next(row["round"] for row in rows if row["broker"] == 3 and row["round"] >= BACK and row["leo"] == BACK * 5 * BATCH)
        for rows in (fast, slow)
    ]
    assert caught_up == [BACK + 3, BACK + 303]  # of the five batches of round 0 one fetch brought one
    assert [later - sooner for sooner, later in zip(caught_up, joined, strict=True)] == [1, 1]
