"""The protocol variants: the published ways to lose or mix up records, and what the invariants see of them.

Scenarios are the numbers of KIP-101, KIP-279, KIP-320 and the shortest traces of hachikuji's specifications, written as
faults and commands. Epochs count from 0 here. Traces in which old news arrives after newer are in test_late_news.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from .kafka import Result, simulate
from .log import UNDEFINED, EpochCache
from .rules import MUTANTS
from .truncation import HIGH_WATERMARK, KIP101, KIP279, VARIANTS, LogEnds, answer_question
from .variant_cases import (
    EMPTY,
    batches_of,
    cuts_of,
    epochs_of,
    fault,
    fetch_states,
    first_violations,
    invariants_of,
    led_by,
    prefer,
    reassign,
    variant_case,
)

PROTOCOLS = ("kafka", *VARIANTS)


# KIP-101, scenario 1: m1 and m2 are committed, and the follower knows of m1's commit only.


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_kip101_scenario_1_a_follower_cuts_and_is_elected(protocol: str) -> None:
    """The follower learns of a new epoch before it hears of m2's commit; then the leader goes."""
    case = variant_case(
        protocol=protocol,
        replicas=[1, 2, 3],
        workload=batches_of((1, 1), (2, 1), acks="all"),
        commands=[reassign(4, 1, 2)],
        faults=[fault("link_cut", 2, 4, 5, peer=1, direction="in"), fault("controlled_shutdown", 1, 5)],
    )
    result = simulate(case, watch=True)
    if protocol == HIGH_WATERMARK:
        assert first_violations(result) == (4, {"WeakIsr", "StrongIsr", "LeaderCandidateCompleteness"})
        assert {"LeaderCompleteness", "NoAckedRecordLost"} <= invariants_of(result)
        assert "NoCommittedRecordLost" not in invariants_of(result)  # 1 has it, and is down to the end
        assert result.outcomes["acked_lost"] == result.outcomes["committed_lost"] == 1
    else:
        assert result.violations == []
        assert result.outcomes["acked_lost"] == result.outcomes["committed_lost"] == 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_kip101_scenario_1_a_follower_restarts_and_is_elected(protocol: str) -> None:
    """A restart takes the follower out of the ISR here, so that electing it is unclean; without a cut nothing is lost."""
    case = variant_case(
        protocol=protocol,
        replicas=[1, 2],
        topic_config={"unclean.leader.election.enable": True},
        workload=batches_of((1, 1), (2, 1), acks="all"),
        faults=[fault("broker_crash", 2, 5, 6), fault("broker_crash", 1, 8)],
    )
    result = simulate(case, watch=True)
    assert result.outcomes["leader"] == 2
    assert result.outcomes["acked_lost"] == (2 if protocol == HIGH_WATERMARK else 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_kip101_scenario_2_divergence_after_hard_failures(protocol: str) -> None:
    """m2 is lost from the page cache of 2, which comes back first and appends m3 in its place."""
    initial = led_by(1, b1=(2, 2, [[0, 0]]), b2=(2, 2, [[0, 0]]))
    initial["replicas"][2]["flushed_offset"] = 1
    case = variant_case(
        protocol=protocol,
        replicas=[1, 2],
        topic_config={"unclean.leader.election.enable": True},
        initial=initial,
        workload=batches_of((6, 1), (20, 1)),
        faults=[fault("power_loss", 1, 1, 12), fault("power_loss", 2, 1, 2)],
    )
    result = simulate(case, watch=True)
    assert epochs_of(result, 2) == [0, 2, 2]
    if protocol == HIGH_WATERMARK:
        assert epochs_of(result, 1) == [0, 0, 2]
        assert {"LogMatching", "LogMatchingWhole", "StrongIsr"} <= invariants_of(result)
    else:
        assert epochs_of(result, 1) == [0, 2, 2]
        assert not {"LogMatching", "LogMatchingWhole"} & invariants_of(result)


# KIP-279


def _fast_failover(protocol: str, last: int) -> Result:
    """KAFKA-6361: 1 has batches 0-10 and 11-20, 2 has 0-10; 2 leads and appends 11-last; 1 leads and appends 21-30."""
    case = variant_case(
        protocol=protocol,
        replicas=[2, 1],
        initial=led_by(1, b1=EMPTY, b2=EMPTY),
        workload=batches_of((0, 11), (4, 10), (5, last - 10), (6, 10)),
        commands=[prefer(5)],
        faults=[
            fault("link_cut", 1, 4, 12, peer=2),
            fault("controlled_shutdown", 2, 6, 8),
        ],
    )
    return simulate(case, watch=True)


@pytest.mark.parametrize("last", [15, 20, 25])
@pytest.mark.parametrize("protocol", ["kafka", KIP279, HIGH_WATERMARK])
def test_kafka_6361_converges(protocol: str, last: int) -> None:
    """With high watermarks 1 has cut its own tail as well, when it learned that 2 leads."""
    result = _fast_failover(protocol, last)
    agreed = 11 if protocol == HIGH_WATERMARK else 21
    assert epochs_of(result, 1) == epochs_of(result, 2) == [0] * agreed + [2] * 10
    assert [cut[1:] for cut in cuts_of(result, 2)] == [(last + 1, 11)]
    assert not {"LogMatching", "LogMatchingWhole"} & invariants_of(result)
    assert result.violations == []


def test_kafka_6361_kip101_appends_out_of_order_when_it_has_less() -> None:
    result = _fast_failover(KIP101, 15)
    assert fetch_states(result, 2)[12:] == ["asked"] + ["out_of_order"] * 17
    assert cuts_of(result, 2) == []
    assert epochs_of(result, 2) == [0] * 11 + [1] * 5
    assert result.outcomes["isr"] == [1]


def test_kafka_6361_kip101_diverges_silently_when_it_has_as_much() -> None:
    result = _fast_failover(KIP101, 20)
    assert cuts_of(result, 2) == []
    assert epochs_of(result, 1) == [0] * 21 + [2] * 10
    assert epochs_of(result, 2) == [0] * 11 + [1] * 10 + [2] * 10
    assert {"LogMatching", "LogMatchingWhole", "StrongIsr"} <= invariants_of(result)
    assert result.outcomes["isr"] == [1, 2]


def test_kafka_6361_kip101_converges_when_it_has_more() -> None:
    """21 lies inside the batch 11-25, so that all of it goes."""
    result = _fast_failover(KIP101, 25)
    assert cuts_of(result, 2) == [(12, 26, 11)]
    assert epochs_of(result, 1) == epochs_of(result, 2) == [0] * 21 + [2] * 10


def test_kip279_asks_again_when_it_lacks_the_answered_epoch() -> None:
    initial = led_by(1, 3, b1=(8, 0, [[0, 0], [1, 4], [3, 6]]), b2=(8, 0, [[0, 0], [2, 4]]))
    result = simulate(variant_case(protocol=KIP279, replicas=[1, 2], rounds=4, initial=initial))
    assert fetch_states(result, 2) == ["asked", "asked", "fetched", "empty"]
    assert cuts_of(result, 2) == [(0, 8, 4)]
    assert epochs_of(result, 1) == epochs_of(result, 2)


def test_answers_to_questions() -> None:
    leader = LogEnds(EpochCache([(5, 10), (7, 12)]), 20)
    assert [answer_question(KIP101, epoch, leader)[1] for epoch in (4, 5, 6, 7)] == [10, 12, 12, 20]
    assert [answer_question(KIP279, epoch, leader) for epoch in (4, 5, 6, 7)] == [(4, 10), (5, 12), (5, 12), (7, 20)]
    for protocol in (KIP101, KIP279):
        assert answer_question(protocol, 8, leader) == UNDEFINED
        assert answer_question(protocol, None, leader) == UNDEFINED
        assert answer_question(protocol, 0, LogEnds(EpochCache(), 20)) == UNDEFINED


def _same_leader_again(*faults: dict[str, Any], **subject: Any) -> Result:
    """KAFKA-7164: 3 copies the record of 1, and misses the epoch of 2 in which 1 drops it; 1 leads again and appends."""
    case = variant_case(
        replicas=[2, 1, 3],
        initial=led_by(1, b1=EMPTY, b2=EMPTY, b3=EMPTY),
        workload=batches_of((1, 1), (5, 1)),
        commands=[prefer(3)],
        faults=[
            fault("link_cut", 1, 0, 4, peer=2),
            fault("stale_metadata", 3, 3, 6),
            fault("controlled_shutdown", 2, 5),
            *faults,
        ],
        **subject,
    )
    return simulate(case, watch=True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_kafka_7164_an_epoch_with_the_same_leader_counts(protocol: str) -> None:
    """As long as 3 reaches 1 only when it has learned of the newer epoch, it drops its record before it does harm."""
    result = _same_leader_again(fault("link_cut", 3, 5, 7, peer=1), protocol=protocol)
    # All but the high-watermark variant, which cuts when it learns, need the link to 1 for it.
    assert cuts_of(result, 3) == [(6 if protocol == HIGH_WATERMARK else 7, 1, 0)]
    assert epochs_of(result, 1) == epochs_of(result, 3) == [2]
    assert result.violations == []


@pytest.mark.parametrize("protocol", VARIANTS)
def test_a_fetch_of_an_older_epoch_moves_the_high_watermark(protocol: str) -> None:
    """As Kip279's shortest trace, but 3 stays with 1: its fetch at offset 1 counts, with another record below it."""
    result = _same_leader_again(protocol=protocol)
    assert first_violations(result) == (5, {"WeakIsr", "StrongIsr", "LeaderCandidateCompleteness"})
    # With high watermarks 3 keeps the wrong record, once it has heard that it was committed.
    assert epochs_of(result, 3) == ([0] if protocol == HIGH_WATERMARK else [2])


@pytest.mark.parametrize("subject", [{}, {"rules": MUTANTS["fetch-without-epoch-check"]}], ids=["kafka", "mutant"])
def test_a_fetch_of_an_older_epoch_is_refused_or_found_diverging(subject: dict[str, Any]) -> None:
    result = _same_leader_again(**subject)
    assert cuts_of(result, 3) == [(5 if subject else 7, 1, 0)]
    assert result.violations == []


# KIP-320


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_kafka_6880_zombie_replica(protocol: str) -> None:
    """2 misses the epoch of 3; when 1 leads again, what it asks 1 for looks right although its tail is wrong."""
    case = variant_case(
        protocol=protocol,
        config={**variant_case()["config"], "replica.lag.time.max.ms": 1000},
        replicas=[3, 1, 2],
        initial=led_by(1, b1=(50, 40, [[0, 0]]), b2=(50, 40, [[0, 0]]), b3=(40, 40, [[0, 0]])),
        workload=batches_of((1, 10), (2, 10)),
        commands=[prefer(1)],
        faults=[
            fault("link_cut", 1, 0, 2, peer=3),
            fault("stale_metadata", 2, 1, 12),
            fault("controlled_shutdown", 3, 8),
        ],
    )
    result = simulate(case, watch=True)
    assert epochs_of(result, 1) == [0] * 40 + [1] * 20
    if protocol == "kafka":
        assert epochs_of(result, 2) == epochs_of(result, 1)
        assert cuts_of(result, 2) == [(13, 50, 40)]
        assert result.violations == []
    else:
        assert epochs_of(result, 2) == [0] * 50 + [1] * 10
        assert {"LogMatching", "LogMatchingWhole", "StrongIsr", "LeaderCandidateCompleteness"} <= invariants_of(result)
        assert result.outcomes["isr"] == [1, 2]


# Truncation on fetch, cases A to G: follower and leader as the epochs of their records, the leader's epoch and cache,
# and where the follower cuts by the answers of `kafka` and KIP-279, and of KIP-101.
TRUNCATE_ON_FETCH = {
    "A": ([1, 1], [1, 1, 1, 1], [[1, 0], [2, 4]], None, None),
    "B": ([1, 1], [1, 1, 2, 2], [[1, 0], [2, 2], [3, 4]], None, None),
    "C": ([1, 1, 1, 1], [1, 1], [[1, 0], [2, 2]], 2, 2),
    "D": ([1, 1, 2, 2], [1, 1], [[1, 0], [3, 2]], 2, 2),
    "E": ([1, 1, 2, 2], [1, 1, 3, 3], [[1, 0], [3, 2], [4, 4]], 2, 2),
    "F": ([1, 2, 2], [1, 1], [[1, 0], [3, 2]], 1, 2),
    "G": ([2], [1, 3], [[1, 0], [3, 1], [4, 2]], 0, None),
}


@pytest.mark.parametrize("protocol", ["kafka", KIP279, KIP101])
@pytest.mark.parametrize("name", TRUNCATE_ON_FETCH)
def test_truncate_on_fetch(name: str, protocol: str) -> None:
    follower, leader, cache, cut, cut_of_kip101 = TRUNCATE_ON_FETCH[name]
    own_cache = [[epoch, follower.index(epoch)] for epoch in sorted(set(follower))]
    initial = led_by(1, cache[-1][0], b1=(len(leader), 0, cache), b2=(len(follower), 0, own_cache))
    result = simulate(variant_case(protocol=protocol, replicas=[1, 2], rounds=6, initial=initial))
    expected = cut_of_kip101 if protocol == KIP101 else cut
    assert cuts_of(result, 2) == ([] if expected is None else [(0, len(follower), expected)])
    # What KIP-101 cuts differently in F and G it cuts wrongly.
    assert (epochs_of(result, 2) == leader) == (cut == expected)


# The shortest traces of hachikuji's specifications. TruncateToHighWatermark's is KIP-101 scenario 1 above. Kip279's (10
# steps) needs a replica that is told of epoch 0 and then of epoch 1 while the controller is in epoch 2: test_late_news.py;
# its first half is test_a_fetch_of_an_older_epoch_moves_the_high_watermark.


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_shortest_trace_of_kip101(protocol: str) -> None:
    """2 leads and appends behind the committed record; 1, that leads next, does not know its epoch and answers nothing."""
    case = variant_case(
        protocol=protocol,
        replicas=[2, 1],
        rounds=10,
        initial=led_by(1, b1=EMPTY, b2=EMPTY),
        workload=batches_of((2, 1), (4, 1)),
        commands=[prefer(4), reassign(5, 1, 2), prefer(6)],
        faults=[fault("link_cut", 1, 4, 7, peer=2)],
    )
    result = simulate(case, watch=True)
    assert result.outcomes["leader"] == 1
    if protocol in (KIP101, HIGH_WATERMARK):
        assert first_violations(result) == (
            7 if protocol == KIP101 else 6,
            {"WeakIsr", "StrongIsr", "LeaderCandidateCompleteness"},
        )
    else:
        assert result.violations == []


LONGER_THAN_3_ROUNDS = 1999
"""The ISR is checked every two of them."""


def _early_join(first_lost: int, **subject: Any) -> Result:
    """KAFKA-7128, two epochs: 3 leads with a high watermark that lags, and lets the empty 2 into the ISR."""
    case = variant_case(
        config={**variant_case()["config"], "replica.lag.time.max.ms": LONGER_THAN_3_ROUNDS},
        replicas=[3, 1, 2],
        rounds=8,
        initial=led_by(1, b1=EMPTY, b2=EMPTY, b3=EMPTY),
        workload=batches_of((2, 1), acks="all"),
        commands=[prefer(5)],
        faults=[
            fault("link_cut", 1, 0, peer=2),
            fault("stale_metadata", 1, 5),
            fault("link_cut", 2, first_lost, peer=3, direction="in"),
        ],
        **subject,
    )
    return simulate(case, watch=True)


@pytest.mark.parametrize(
    "subject",
    [
        {"protocol": KIP101, "first_lost": 7},
        {"protocol": KIP279, "first_lost": 7},
        {"rules": MUTANTS["join-without-epoch-start"], "first_lost": 6},
    ],
    ids=["kip101", "kip279", "join-without-epoch-start"],
)
def test_kafka_7128_a_replica_joins_below_the_epochs_start(subject: dict[str, Any]) -> None:
    result = _early_join(**subject)
    assert first_violations(result) == (7, {"StrongIsr", "LeaderCandidateCompleteness"})


@pytest.mark.parametrize("first_lost", [6, 7])
def test_kafka_7128_does_not_happen_to_kafka(first_lost: int) -> None:
    assert _early_join(first_lost).violations == []


@pytest.mark.parametrize("keeps", [True, False])
def test_a_new_leader_that_trusts_old_positions_commits_what_nobody_has(keeps: bool) -> None:
    """2 had three records more than the elected 3; the three that 3 appends then look replicated."""
    case = variant_case(
        replicas=[1, 3, 2],
        initial=led_by(1, b1=(8, 5, [[0, 0]]), b2=(8, 5, [[0, 0]]), b3=(5, 5, [[0, 0]])),
        workload=batches_of((1, 3), acks="all"),
        faults=[fault("link_cut", 3, 0, 1, peer=1), fault("controlled_shutdown", 1, 1)],
    )
    if keeps:
        case["rules"] = MUTANTS["new-leader-keeps-old-remote-leo"]
    result = simulate(case, watch=True)
    assert invariants_of(result) == ({"StrongIsr", "WeakIsr", "LeaderCandidateCompleteness"} if keeps else set())


# How followers of the variants ask


@pytest.mark.parametrize(("protocol", "first"), [(HIGH_WATERMARK, "fetched"), (KIP101, "asked"), (KIP279, "asked")])
def test_a_follower_asks_before_it_fetches(protocol: str, first: str) -> None:
    case = variant_case(
        protocol=protocol,
        replicas=[1, 2],
        rounds=6,
        workload=batches_of((0, 1)),
        faults=[fault("link_cut", 2, 3, 4, peer=1, direction="out"), fault("link_cut", 2, 4, 5, peer=1, direction="in")],
    )
    states = fetch_states(simulate(case), 2)
    assert states == [first, "empty" if first == "fetched" else "fetched", "empty", None, "unanswered", "empty"]


def test_a_question_whose_answer_is_lost_is_asked_again() -> None:
    lost = fault("link_cut", 2, 0, 2, peer=1, direction="in")
    case = variant_case(protocol=KIP279, replicas=[1, 2], rounds=4, workload=batches_of((0, 1)), faults=[lost])
    assert fetch_states(simulate(case), 2) == ["unanswered", "unanswered", "asked", "fetched"]


def test_the_trace_of_kafka_has_no_fetch_state() -> None:
    assert "fetch_state" not in simulate(variant_case(replicas=[1, 2], rounds=1)).trace[0]


# Random schedules: small_schedules.py prints the whole table.
