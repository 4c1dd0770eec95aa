"""Quiet rounds of partitions that groups read, locally and remotely, that are leapt over give what they give when played."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.errors import InputError
from emulator.scenario import Scenario, load_run
from tests.reference.consumers.cases import group, one_log
from tests.reference.consumers.more_schedules import with_more
from tests.reference.consumers.simulate import simulate
from tests.reference.tiered.cases import ROUND_MS, remote
from tests.rounds.kafka.compared import consumer_groups_of, played, unread_of
from tests.rounds.kafka.test_readers import Case, differences, run_of
from tests.rounds.kafka.test_tier_leaps import drawn_out, tier_differences
from tests.test_consumers_differential import case_of, untiered

SLOW_DAY = """
    rounds = 1500
    [cluster]
    brokers_file = "brokers.csv"
    page_cache_bytes = 60000
    [cluster.config]
    "auto.leader.rebalance.enable" = false
    "replica.selector.class" = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    [[topics]]
    name = "t"
    assignment = [[1, 2, 3]]
    config = { "segment.bytes" = 10000000 }
    [[workload]]
    topic = "t"
    records_per_round = 10
    record_bytes = 100
    [[workload]]
    topic = "t"
    records_per_round = 1
    record_bytes = 100
    from_round = 900
    [[consumers]]
    group = "tail"
    topic = "t"
    start = "earliest"
    [[consumers]]
    group = "near"
    topic = "t"
    start = "earliest"
    rack = "b"
    config = { "metadata.max.age.ms" = 200000 }
    [[consumers]]
    group = "back"
    topic = "t"
    start = "earliest"
    from_round = 300
    records_per_round = 13
    [[consumers]]
    group = "slow"
    topic = "t"
    start = "earliest"
    records_per_round = 3
    config = { "isolation.level" = "read_committed" }
    [[faults]]
    kind = "power_loss"
    broker = 2
    from_round = 700
    to_round = 710
    [[faults]]
    kind = "open_transaction"
    from_round = 100
    to_round = 1100
"""
"""Groups at the end of the log, behind it in and out of memory, catching up, and kept back by a transaction."""


REMOTE_DAYS = """
    rounds = 4000
    round_ms = 500
    [cluster]
    brokers_file = "brokers.csv"
    [cluster.config]
    "remote.log.storage.system.enable" = true
    "replica.selector.class" = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    "remote.log.manager.fetch.max.bytes.per.second" = 9000
    [remote_storage]
    copy_bytes_per_second = 20_000
    [[topics]]
    name = "t"
    assignment = [[1, 2, 3]]
    [topics.config]
    "remote.storage.enable" = true
    "segment.bytes" = 100_000
    "local.retention.bytes" = 200_000
    "retention.bytes" = 2_500_000
    [[workload]]
    topic = "t"
    records_per_round = 10
    record_bytes = 100
    [[consumers]]
    group = "back"
    topic = "t"
    start = "earliest"
    from_round = 800
    config = { "max.partition.fetch.bytes" = 2500 }
    [[consumers]]
    group = "near"
    topic = "t"
    start = "earliest"
    rack = "b"
    from_round = 2000
    records_per_round = 15
    config = { "metadata.max.age.ms" = 400_000 }
    [[consumers]]
    group = "throttled"
    topic = "t"
    start = 100_000
    from_round = 1500
    config = { "max.partition.fetch.bytes" = 20_000 }
    [[faults]]
    kind = "remote_storage_outage"
    from_round = 1100
    to_round = 1300
    [[faults]]
    kind = "slow_remote_storage"
    bytes_per_second = 100
    from_round = 2200
    to_round = 2300
    [[faults]]
    kind = "broker_crash"
    broker = 1
    from_round = 2500
    to_round = 2600
"""
"""Groups that read remotely alone and beside each other, under a quota and not, while segments are copied and expire."""


def often_with_more(seed: int) -> Case:
    """The schedule; every other with more (more_schedules.py)."""
    case = case_of(seed)
    return with_more(seed, case) if seed % 2 else case


def unlike_by_leaps(scenarios: Sequence[Scenario]) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """(what leaps make otherwise of scenarios of one partition each, rounds by partition that are there, and that they play)."""
    plain, leapt = (played(scenarios, traced=False, leaps=leaps, bucket_rounds=500) for leaps in (False, True))
    found = tier_differences(plain, leapt)[:5]
    for place, scenario in enumerate(scenarios):
        tables = [of for of in (consumer_groups_of, unread_of) if of(plain, place) != of(leapt, place)]
        found += [(scenario.scenario_id, of.__name__) for of in tables]
    return found, plain.state.partitions["played"], leapt.state.partitions["played"]


@pytest.mark.parametrize(("text", "at_most"), [(SLOW_DAY, 150), (REMOTE_DAYS, 800)], ids=["local", "remote"])
def test_leaps_over_readers(tmp_path: Path, text: str, at_most: int) -> None:
    """The same rows, with a fraction of the rounds played: a reader that tails the log, or reads back, stops no leap."""
    (tmp_path / "brokers.csv").write_text("broker,rack\n1,a\n2,b\n3,b\n")
    (tmp_path / "day.toml").write_text(text)
    found, _, rounds = unlike_by_leaps(load_run(str(tmp_path / "day.toml")).scenarios)
    assert not found and rounds[0] < at_most, (found, rounds)


@pytest.mark.parametrize(
    ("kind", "seeds", "factor", "larger", "part_played"),
    [
        (untiered, range(60), 10, False, 0.8),
        (case_of, range(60), 3, True, 0.95),
        (case_of, (*range(60), 365, 518), 20, True, 0.75),
        (often_with_more, range(60), 20, False, 0.9),
        (case_of, (123, 154, 175, 365), 40, True, 0.85),
    ],
    ids=["untiered", "dense", "long", "short segments", "very long"],
)
def test_leaps_over_readers_of_schedules(
    tmp_path: Path, kind: Callable[[int], Case], seeds: Iterable[int], factor: int, larger: bool, part_played: float
) -> None:
    """Some of which showed that bytes of a run were taken for those of the next, and that a follower's log start was not met."""
    scenarios = []
    for seed in seeds:
        try:
            [scenario] = run_of(drawn_out(dict(kind(seed)), factor, larger), tmp_path).scenarios
        except InputError:
            continue
        scenarios.append(replace(scenario, scenario_id=seed))
    found, plain, leapt = unlike_by_leaps(scenarios)
    assert not found
    assert leapt.sum() < plain.sum() * part_played


def test_who_is_throttled_is_dealt_requests_all_the_time(tmp_path: Path) -> None:
    """Two groups share 200 bytes of quota a round: "few" wants one record, and requests three in 3, 6, ..., 36; "much" wants ten,
    and is dealt a request in every round, though it requests only in every tenth. When a single thread is left, from 39 on, to
    where a leap goes, "few" has waited longest each time that it needs one: "much" waits in 39, 42, ..., 57.
    """
    groups = [
        group("few", start=0, from_round=2, records_per_round=1, max_partition_fetch_bytes=300),
        group("much", start=0, max_partition_fetch_bytes=1000),
    ]
    case = one_log(
        420,
        groups,
        rounds=60,
        log={"local": 400},
        initial={"remote_segments": [remote(0, 399)]},
        config={"remote.log.manager.fetch.max.bytes.per.second": 400},
        remote_storage={"read_ms": ROUND_MS},
        commands=[{"round": 39, "kind": "alter_config", "broker": 1, "config": {"remote.log.reader.threads": 1}}],
    )
    [scenario] = run_of(case, tmp_path).scenarios
    game = played([scenario], traced=False, leaps=True)
    assert not differences(simulate(case, watch=True), game, scenario)
    found = consumer_groups_of(game, 0)
    assert {name: row["waited_rounds"] for name, row in found.items()} == {"few": {}, "much": {"reader_threads": 7}}
    assert {name: (row["position"], row["remote_requests"]) for name, row in found.items()} == {"few": (57, 19), "much": (54, 6)}
    assert game.state.partitions["played"][0] < 40
