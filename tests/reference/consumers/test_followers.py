"""Reads from followers (KIP-392): who is named, for how long, and what a follower can't serve."""

from __future__ import annotations

from typing import Any

import pytest

from ..tiered.cases import RECORD_BYTES, fault, given_log, produce, remote, tiered_case
from .cases import EPOCH_0, RACKS, SELECTOR, counts, fenced_follower, group, ms, one_log, seen, unread
from .placing import names_follower
from .reader import Reader
from .rules import MUTANTS
from .settings import Row
from .simulate import simulate
from .site import serving_leader, site_of


def _racks(leo: int, consumers: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    """Leader 1 in rack a, follower 2 in b."""
    return one_log(leo, consumers, **{**given, "racks": RACKS, "config": {**SELECTOR, **given.get("config", {})}})


@pytest.mark.parametrize(("rack", "named"), [("b", 3), ("somewhere", None), ("a", None), (None, None)])
def test_replica_selector(rack: str | None, named: int | None) -> None:
    """The table of ReplicaSelectorTest: (id, rack, LEO, ms since caught up) 0 a 4 0 (leader); 1 a 2 5; 2 b 3 3; 3 b 4 2."""
    order = [0, 1, 2, 3]
    logs = {broker: given_log(leo, EPOCH_0) for broker, leo in zip(order, (4, 2, 3, 4), strict=True)}
    case = tiered_case(
        brokers=order,
        replicas=order,
        racks={0: "a", 1: "a", 2: "b", 3: "b"},
        config=SELECTOR,
        initial={"leader": 0, "leader_epoch": 0, "isr": order, "replicas": logs},
    )
    site = site_of([case], 0, budgets={})
    serving = serving_leader(site.partition)
    assert serving is not None
    for broker, leo in ((1, 2), (2, 3), (3, 4)):  # as of their first fetches
        serving[0].progress[broker].remote_leo = leo
    reader = Reader("g", position=2, leader=(0, 0))
    assert names_follower(site, reader, Row("g", rack=rack), *serving) == (named is not None)
    assert reader.replica == named
    # 3 alone has what is wanted, then nobody; and out of the ISR it is not named
    reader = Reader("g", position=5, leader=(0, 0))
    assert not names_follower(site, reader, Row("g", rack="b"), *serving)
    site.partition.controller.isr -= {3}
    reader = Reader("g", position=2, leader=(0, 0))
    assert names_follower(site, reader, Row("g", rack="b"), *serving) and reader.replica == 2


def test_a_follower_serves() -> None:
    """A round to start, one to be told of 2, then 2 serves up to its HW."""
    result = simulate(_racks(20, [group(start=0, records_per_round=8, rack="b")], rounds=7), watch=True)
    assert seen(result, key="answer") == ["started", "replica_named", *["page_cache"] * 3, "empty", "empty"]
    assert seen(result, key="broker")[2:5] == [2, 2, 2]
    row = counts(result)
    assert (row["follower_bytes"], row["cross_rack_bytes"]) == (2000, 0)
    assert result.violations == []


def test_without_the_selector_it_goes_across_racks() -> None:
    case = _racks(20, [group("b", start=0, rack="b"), group("a", start=0, rack="a"), group("none", start=0)], rounds=3)
    case["config"] = {**case["config"], "replica.selector.class": "LeaderSelector"}
    result = simulate(case)
    assert [counts(result, name)["cross_rack_bytes"] for name in ("b", "a", "none")] == [2000, 0, 0]
    assert all(row["follower_bytes"] == 0 for row in result.consumer_groups)


def test_a_follower_that_falls_behind() -> None:
    """Cut off from round 3 on, 2 knows of 20 only. It is in the ISR till 8, and named again in 7; in 12 the leader serves."""
    case = _racks(
        20,
        [group(start=15, rack="b", metadata_max_age_ms=ms(5))],
        rounds=16,
        config={"replica.lag.time.max.ms": ms(5)},
        workload=[produce(3, 4, records=4, acks="1")],
        faults=[fault("link_cut", 3, broker=1, peer=2)],
    )
    result = simulate(case, watch=True)
    answers = seen(result, key="answer")
    assert answers[:3] == ["started", "replica_named", "page_cache"]
    shrunk = [event.round for event in result.partition.ledger.events if event.kind == "isr_shrink"]
    named = [round_ for round_, answer in enumerate(answers) if answer == "replica_named"]
    led = answers.index("page_cache", 3)
    assert named == [1, 7] and named[-1] < shrunk[0] <= led == 13
    # what was not committed while 2 was in the ISR could not be read from anybody; from then on 2 is behind
    assert unread(result) == [("follower_behind", shrunk[0] + 1, led, 20, 24)]
    assert seen(result)[led] == 24
    assert result.violations == []


def test_a_follower_that_dies() -> None:
    """2 is away in round 4: from 5 on the leader serves, and names nobody before 4 + 3."""
    case = _racks(
        40,
        [group(start=0, records_per_round=4, rack="b", metadata_max_age_ms=ms(3))],
        rounds=13,
        faults=[fault("broker_pause", 4, 5, broker=2)],
    )
    result = simulate(case, watch=True)
    assert unread(result) == [("follower_away", 4, 5, 8, 40)]
    assert seen(result, key="answer")[4:8] == ["follower_away", "page_cache", "page_cache", "replica_named"]
    assert seen(result, key="broker")[2:10] == [2, 2, None, 1, 1, None, 2, 2]
    assert result.violations == []


def test_a_follower_serves_on_while_nobody_leads() -> None:
    """1 dies in round 4, is fenced in 6, and 2 leads: who reads from 1 waits for two rounds, who reads from 2 does not."""
    groups = [group("b", start=0, records_per_round=4, rack="b"), group("a", start=0, records_per_round=4, rack="a")]
    result = simulate(_racks(60, groups, rounds=10, faults=[fault("broker_crash", 4, 9, broker=1)]), watch=True)
    assert seen(result, "b") == [0, 0, 4, 8, 12, 16, 20, 24, 28, 32]
    assert seen(result, "a") == [0, 4, 8, 12, 12, 12, 16, 20, 24, 24]
    assert seen(result, "a", "answer")[9] == "replica_named"  # 1 is back in the ISR
    assert unread(result) == [("leaderless", 4, 6, 12, 60)]
    assert result.readers["b"].leader == (2, 1)
    assert result.violations == []


def test_a_follower_that_hears_of_no_leader_fences_its_readers() -> None:
    """2 is out of the ISR when 1 dies in round 10; in 12, at its end, 2 learns that nobody leads, in epoch 1."""
    result = simulate(fenced_follower(), watch=True)
    assert result.trace_partitions[12]["leader"] == -1
    assert seen(result, key="broker")[9:13] == [2, 2, 2, None]
    assert seen(result, key="answer")[11:15] == ["page_cache", "follower_epoch", "leaderless", "leaderless"]
    assert unread(result) == [("follower_epoch", 12, 13, 10, 61), ("leaderless", 13, 16, 10, 61)]
    assert result.violations == []


def test_followers_read_remotely() -> None:
    """With metadata of its own and an index cache of its own."""
    segments = [remote(base, base + 9) for base in (0, 10)]
    groups = [group("b", start=0, records_per_round=10, rack="b"), group("a", start=0, records_per_round=10, rack="a")]
    case = _racks(30, groups, rounds=8, log={"local": 20}, initial={"remote_segments": segments})
    result = simulate(case, watch=True)
    assert seen(result, "b", "answer") == ["started", "replica_named", "remote", "remote", "page_cache", *["empty"] * 3]
    assert [one.broker for one in result.readers["b"].taken] == [2, 2, 2]
    for name in "ab":
        assert (counts(result, name)["index_hits"], counts(result, name)["index_misses"]) == (0, 2)
    assert counts(result, "b")["follower_bytes"] == 3000
    assert result.violations == []


def test_a_follower_asks_for_what_was_deleted() -> None:
    """The leader expires 0 to 9 in round 4; 2 hears of it in 5. Till then it asks the store for what is gone.

    That 4 to 9 are in hand is no help: of a read's reasons to fail only those of requests spare it.
    """
    segments = [remote(base, base + 9) for base in (0, 10)]
    case = _racks(
        30,
        [group(start=0, records_per_round=1, rack="b", auto_offset_reset="earliest")],
        rounds=10,
        log={"local": 20},
        initial={"remote_segments": segments},
        commands=[{"round": 4, "kind": "alter_config", "config": {"retention.bytes": 20 * RECORD_BYTES}}],
    )
    result = simulate(case, watch=True)
    assert seen(result, key="answer")[2:9] == [
        *["remote"] * 2,
        "segment_gone",
        "follower_out_of_range",
        "reset",
        "remote",
        "remote",
    ]
    assert unread(result, "stretch") == [("segment_gone", 4, 5, 2, 30), ("follower_out_of_range", 5, 6, 2, 30)]
    assert unread(result, "skip") == [("below_log_start", 6, 7, 2, 10)]
    assert counts(result)["remote_errors"] == 1
    assert result.violations == []


def _uneven() -> dict[str, Any]:
    """Not tiered: retention leaves 1 its records from 10 on, 2 those from 15 on, as their segments differ."""
    logs = {1: given_log(30, EPOCH_0, segments=[10, 20]), 2: given_log(30, EPOCH_0, segments=[15])}
    case = _racks(
        30,
        [group(start=4, records_per_round=4, rack="b")],
        rounds=8,
        config={"log.retention.check.interval.ms": ms(4)},
        topic_config={"remote.storage.enable": False, "retention.bytes": 15 * RECORD_BYTES},
    )
    return {**case, "initial": {**case["initial"], "replicas": logs}}


def test_what_a_follower_has_not_the_leader_may_have() -> None:
    """Position 12 in round 4: no reset, the leader has it."""
    result = simulate(_uneven(), watch=True)
    assert [result.partition.replicas[broker].log.log_start for broker in (1, 2)] == [10, 15]
    assert seen(result) == [4, 4, 8, 12, 12, 16, 20, 24]
    assert unread(result) == [("follower_out_of_range", 4, 5, 12, 30)]
    assert counts(result)["resets"] == 0
    assert result.violations == []


def test_a_reset_by_a_follower_would_skip_what_is_there() -> None:
    result = simulate({**_uneven(), "read_rules": MUTANTS["reset-by-follower"]}, watch=True)
    assert seen(result)[4] == 30
    assert "ResetOnlyIfGone" in {name for _, name, _ in result.violations}
