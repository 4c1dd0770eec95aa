"""The protocol variants and the mutants: the published ways to lose or mix up records, and what the invariants see of them.

Scenarios are the numbers of KIP-101, KIP-279, KIP-320 and the shortest traces of hachikuji's specifications, written as
faults and commands. Epochs count from 0 here. Traces in which old news arrives after newer are in test_late_news.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from .kafka import Result, simulate
from .log import UNDEFINED, EpochCache
from .rules import MUTANTS
from .small_schedules import SAVED_BY_SECOND_CHECK, SUBJECTS, broken, has_elr
from .truncation import HIGH_WATERMARK, KIP101, KIP279, VARIANTS, LogEnds, answer_question

PROTOCOLS = ("kafka", *VARIANTS)
SEEDS = [seed for seed in range(375) if not has_elr(seed)]


def _case(**given: Any) -> dict[str, Any]:
    return {
        "rounds": 30,
        "round_ms": 500,
        "session_timeout_rounds": 3,
        "brokers": [1, 2, 3],
        "racks": {},
        "config": {"auto.leader.rebalance.enable": False, "replica.fetch.wait.max.ms": 0},
        "topic_config": {},
        "workload": [],
        "faults": [],
        "commands": [],
        **given,
    }


def _batches(*batches: tuple[int, int], acks: str = "1") -> list[dict[str, Any]]:
    """Workload rows, one batch each: (round, records)."""
    return [
        {"from_round": round_, "to_round": round_ + 1, "records_per_round": records, "record_bytes": 100, "acks": acks}
        for round_, records in batches
    ]


def _fault(kind: str, broker: int, from_round: int, to_round: int | None = None, **given: Any) -> dict[str, Any]:
    return {"kind": kind, "broker": broker, "from_round": from_round, "to_round": to_round, **given}


def _led_by(leader: int, epoch: int = 0, **logs: tuple[int, int, list[list[int]]]) -> dict[str, Any]:
    """Initial logs, b1=(LEO, HW, epochs) for broker 1."""
    replicas = {int(name[1:]): {"leo": leo, "hw": hw, "epochs": epochs} for name, (leo, hw, epochs) in logs.items()}
    return {"leader": leader, "leader_epoch": epoch, "isr": sorted(replicas), "replicas": replicas}


EMPTY: tuple[int, int, list[list[int]]] = (0, 0, [])


def _prefer(round_: int) -> dict[str, Any]:
    return {"round": round_, "kind": "preferred_leader_election"}


def _reassign(round_: int, *replicas: int) -> dict[str, Any]:
    """The same replicas in this order: the same leader in a new epoch."""
    return {"round": round_, "kind": "reassign", "replicas": list(replicas)}


def _epochs(result: Result, broker: int) -> list[int]:
    """The epoch of each record of the replica's log at the end."""
    return [record.epoch for record in result.logs[broker].records]


def _broken(result: Result) -> set[str]:
    return {violation.invariant for violation in result.violations}


def _first(result: Result) -> tuple[int, set[str]]:
    """The first round with violations, and which."""
    round_ = result.violations[0].round
    return round_, {violation.invariant for violation in result.violations if violation.round == round_}


def _fetch_states(result: Result, broker: int) -> list[str | None]:
    return [row["fetch_state"] for row in result.trace if row["broker"] == broker]


def _cuts(result: Result, broker: int) -> list[tuple[int, int, int]]:
    """(round, from, to) of the replica's truncations."""
    events = [event for event in result.events if event.kind == "truncate" and event.broker == broker]
    return [(event.round, event.from_offset or 0, event.to_offset or 0) for event in events]


# KIP-101, scenario 1: m1 and m2 are committed, and the follower knows of m1's commit only.


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_kip101_scenario_1_a_follower_cuts_and_is_elected(protocol: str) -> None:
    """The follower learns of a new epoch before it hears of m2's commit; then the leader goes."""
    case = _case(
        protocol=protocol,
        replicas=[1, 2, 3],
        workload=_batches((1, 1), (2, 1), acks="all"),
        commands=[_reassign(4, 1, 2)],
        faults=[_fault("link_cut", 2, 4, 5, peer=1, direction="in"), _fault("controlled_shutdown", 1, 5)],
    )
    result = simulate(case, watch=True)
    if protocol == HIGH_WATERMARK:
        assert _first(result) == (4, {"WeakIsr", "StrongIsr", "LeaderCandidateCompleteness"})
        assert {"LeaderCompleteness", "NoCommittedRecordLost", "NoAckedRecordLost"} <= _broken(result)
        assert result.outcomes["acked_lost"] == result.outcomes["committed_lost"] == 1
    else:
        assert result.violations == []
        assert result.outcomes["acked_lost"] == result.outcomes["committed_lost"] == 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_kip101_scenario_1_a_follower_restarts_and_is_elected(protocol: str) -> None:
    """A restart takes the follower out of the ISR here, so that electing it is unclean; without a cut nothing is lost."""
    case = _case(
        protocol=protocol,
        replicas=[1, 2],
        topic_config={"unclean.leader.election.enable": True},
        workload=_batches((1, 1), (2, 1), acks="all"),
        faults=[_fault("broker_crash", 2, 5, 6), _fault("broker_crash", 1, 8)],
    )
    result = simulate(case, watch=True)
    assert result.outcomes["leader"] == 2
    assert result.outcomes["acked_lost"] == (2 if protocol == HIGH_WATERMARK else 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_kip101_scenario_2_divergence_after_hard_failures(protocol: str) -> None:
    """m2 is lost from the page cache of 2, which comes back first and appends m3 in its place."""
    initial = _led_by(1, b1=(2, 2, [[0, 0]]), b2=(2, 2, [[0, 0]]))
    initial["replicas"][2]["flushed_offset"] = 1
    case = _case(
        protocol=protocol,
        replicas=[1, 2],
        topic_config={"unclean.leader.election.enable": True},
        initial=initial,
        workload=_batches((6, 1), (20, 1)),
        faults=[_fault("power_loss", 1, 1, 12), _fault("power_loss", 2, 1, 2)],
    )
    result = simulate(case, watch=True)
    assert _epochs(result, 2) == [0, 2, 2]
    if protocol == HIGH_WATERMARK:
        assert _epochs(result, 1) == [0, 0, 2]
        assert {"LogMatching", "LogMatchingWhole", "StrongIsr"} <= _broken(result)
    else:
        assert _epochs(result, 1) == [0, 2, 2]
        assert not {"LogMatching", "LogMatchingWhole"} & _broken(result)


# KIP-279


def _fast_failover(protocol: str, last: int) -> Result:
    """KAFKA-6361: 1 has batches 0-10 and 11-20, 2 has 0-10; 2 leads and appends 11-last; 1 leads and appends 21-30."""
    case = _case(
        protocol=protocol,
        replicas=[2, 1],
        initial=_led_by(1, b1=EMPTY, b2=EMPTY),
        workload=_batches((0, 11), (4, 10), (5, last - 10), (6, 10)),
        commands=[_prefer(5)],
        faults=[
            _fault("link_cut", 1, 4, 12, peer=2),
            _fault("controlled_shutdown", 2, 6, 8),
        ],
    )
    return simulate(case, watch=True)


@pytest.mark.parametrize("last", [15, 20, 25])
@pytest.mark.parametrize("protocol", ["kafka", KIP279, HIGH_WATERMARK])
def test_kafka_6361_converges(protocol: str, last: int) -> None:
    """With high watermarks 1 has cut its own tail as well, when it learned that 2 leads."""
    result = _fast_failover(protocol, last)
    agreed = 11 if protocol == HIGH_WATERMARK else 21
    assert _epochs(result, 1) == _epochs(result, 2) == [0] * agreed + [2] * 10
    assert [cut[1:] for cut in _cuts(result, 2)] == [(last + 1, 11)]
    assert not {"LogMatching", "LogMatchingWhole"} & _broken(result)
    assert result.violations == []


def test_kafka_6361_kip101_appends_out_of_order_when_it_has_less() -> None:
    result = _fast_failover(KIP101, 15)
    assert _fetch_states(result, 2)[12:] == ["asked"] + ["out_of_order"] * 17
    assert _cuts(result, 2) == []
    assert _epochs(result, 2) == [0] * 11 + [1] * 5
    assert result.outcomes["isr"] == [1]


def test_kafka_6361_kip101_diverges_silently_when_it_has_as_much() -> None:
    result = _fast_failover(KIP101, 20)
    assert _cuts(result, 2) == []
    assert _epochs(result, 1) == [0] * 21 + [2] * 10
    assert _epochs(result, 2) == [0] * 11 + [1] * 10 + [2] * 10
    assert {"LogMatching", "LogMatchingWhole", "StrongIsr"} <= _broken(result)
    assert result.outcomes["isr"] == [1, 2]


def test_kafka_6361_kip101_converges_when_it_has_more() -> None:
    """21 lies inside the batch 11-25, so that all of it goes."""
    result = _fast_failover(KIP101, 25)
    assert _cuts(result, 2) == [(12, 26, 11)]
    assert _epochs(result, 1) == _epochs(result, 2) == [0] * 21 + [2] * 10


def test_kip279_asks_again_when_it_lacks_the_answered_epoch() -> None:
    initial = _led_by(1, 3, b1=(8, 0, [[0, 0], [1, 4], [3, 6]]), b2=(8, 0, [[0, 0], [2, 4]]))
    result = simulate(_case(protocol=KIP279, replicas=[1, 2], rounds=4, initial=initial))
    assert _fetch_states(result, 2) == ["asked", "asked", "fetched", "empty"]
    assert _cuts(result, 2) == [(0, 8, 4)]
    assert _epochs(result, 1) == _epochs(result, 2)


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
    case = _case(
        replicas=[2, 1, 3],
        initial=_led_by(1, b1=EMPTY, b2=EMPTY, b3=EMPTY),
        workload=_batches((1, 1), (5, 1)),
        commands=[_prefer(3)],
        faults=[
            _fault("link_cut", 1, 0, 4, peer=2),
            _fault("stale_metadata", 3, 3, 6),
            _fault("controlled_shutdown", 2, 5),
            *faults,
        ],
        **subject,
    )
    return simulate(case, watch=True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_kafka_7164_an_epoch_with_the_same_leader_counts(protocol: str) -> None:
    """As long as 3 reaches 1 only when it has learned of the newer epoch, it drops its record before it does harm."""
    result = _same_leader_again(_fault("link_cut", 3, 5, 7, peer=1), protocol=protocol)
    # All but the high-watermark variant, which cuts when it learns, need the link to 1 for it.
    assert _cuts(result, 3) == [(6 if protocol == HIGH_WATERMARK else 7, 1, 0)]
    assert _epochs(result, 1) == _epochs(result, 3) == [2]
    assert result.violations == []


@pytest.mark.parametrize("protocol", VARIANTS)
def test_a_fetch_of_an_older_epoch_moves_the_high_watermark(protocol: str) -> None:
    """As Kip279's shortest trace, but 3 stays with 1: its fetch at offset 1 counts, with another record below it."""
    result = _same_leader_again(protocol=protocol)
    assert _first(result) == (5, {"WeakIsr", "StrongIsr", "LeaderCandidateCompleteness"})
    # With high watermarks 3 keeps the wrong record, once it has heard that it was committed.
    assert _epochs(result, 3) == ([0] if protocol == HIGH_WATERMARK else [2])


@pytest.mark.parametrize("subject", [{}, {"rules": MUTANTS["fetch-without-epoch-check"]}], ids=["kafka", "mutant"])
def test_a_fetch_of_an_older_epoch_is_refused_or_found_diverging(subject: dict[str, Any]) -> None:
    result = _same_leader_again(**subject)
    assert _cuts(result, 3) == [(5 if subject else 7, 1, 0)]
    assert result.violations == []


# KIP-320


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_kafka_6880_zombie_replica(protocol: str) -> None:
    """2 misses the epoch of 3; when 1 leads again, what it asks 1 for looks right although its tail is wrong."""
    case = _case(
        protocol=protocol,
        config={**_case()["config"], "replica.lag.time.max.ms": 1000},
        replicas=[3, 1, 2],
        initial=_led_by(1, b1=(50, 40, [[0, 0]]), b2=(50, 40, [[0, 0]]), b3=(40, 40, [[0, 0]])),
        workload=_batches((1, 10), (2, 10)),
        commands=[_prefer(1)],
        faults=[
            _fault("link_cut", 1, 0, 2, peer=3),
            _fault("stale_metadata", 2, 1, 12),
            _fault("controlled_shutdown", 3, 8),
        ],
    )
    result = simulate(case, watch=True)
    assert _epochs(result, 1) == [0] * 40 + [1] * 20
    if protocol == "kafka":
        assert _epochs(result, 2) == _epochs(result, 1)
        assert _cuts(result, 2) == [(13, 50, 40)]
        assert result.violations == []
    else:
        assert _epochs(result, 2) == [0] * 50 + [1] * 10
        assert {"LogMatching", "LogMatchingWhole", "StrongIsr", "LeaderCandidateCompleteness"} <= _broken(result)
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
    initial = _led_by(1, cache[-1][0], b1=(len(leader), 0, cache), b2=(len(follower), 0, own_cache))
    result = simulate(_case(protocol=protocol, replicas=[1, 2], rounds=6, initial=initial))
    expected = cut_of_kip101 if protocol == KIP101 else cut
    assert _cuts(result, 2) == ([] if expected is None else [(0, len(follower), expected)])
    # What KIP-101 cuts differently in F and G it cuts wrongly.
    assert (_epochs(result, 2) == leader) == (cut == expected)


# The shortest traces of hachikuji's specifications. TruncateToHighWatermark's is KIP-101 scenario 1 above. Kip279's (10
# steps) needs a replica that is told of epoch 0 and then of epoch 1 while the controller is in epoch 2: test_late_news.py;
# its first half is test_a_fetch_of_an_older_epoch_moves_the_high_watermark.


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_shortest_trace_of_kip101(protocol: str) -> None:
    """2 leads and appends behind the committed record; 1, that leads next, does not know its epoch and answers nothing."""
    case = _case(
        protocol=protocol,
        replicas=[2, 1],
        rounds=10,
        initial=_led_by(1, b1=EMPTY, b2=EMPTY),
        workload=_batches((2, 1), (4, 1)),
        commands=[_prefer(4), _reassign(5, 1, 2), _prefer(6)],
        faults=[_fault("link_cut", 1, 4, 7, peer=2)],
    )
    result = simulate(case, watch=True)
    assert result.outcomes["leader"] == 1
    if protocol in (KIP101, HIGH_WATERMARK):
        assert _first(result) == (7 if protocol == KIP101 else 6, {"WeakIsr", "StrongIsr", "LeaderCandidateCompleteness"})
    else:
        assert result.violations == []


def _early_join(first_lost: int, **subject: Any) -> Result:
    """KAFKA-7128, two epochs: 3 leads with a high watermark that lags, and lets the empty 2 into the ISR."""
    case = _case(
        config={**_case()["config"], "replica.lag.time.max.ms": 1500},
        replicas=[3, 1, 2],
        rounds=8,
        initial=_led_by(1, b1=EMPTY, b2=EMPTY, b3=EMPTY),
        workload=_batches((2, 1), acks="all"),
        commands=[_prefer(5)],
        faults=[
            _fault("link_cut", 1, 0, peer=2),
            _fault("stale_metadata", 1, 5),
            _fault("link_cut", 2, first_lost, peer=3, direction="in"),
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
    assert _first(result) == (7, {"StrongIsr", "LeaderCandidateCompleteness"})


@pytest.mark.parametrize("first_lost", [6, 7])
def test_kafka_7128_does_not_happen_to_kafka(first_lost: int) -> None:
    assert _early_join(first_lost).violations == []


@pytest.mark.parametrize("keeps", [True, False])
def test_a_new_leader_that_trusts_old_positions_commits_what_nobody_has(keeps: bool) -> None:
    """2 had three records more than the elected 3; the three that 3 appends then look replicated."""
    case = _case(
        replicas=[1, 3, 2],
        initial=_led_by(1, b1=(8, 5, [[0, 0]]), b2=(8, 5, [[0, 0]]), b3=(5, 5, [[0, 0]])),
        workload=_batches((1, 3), acks="all"),
        faults=[_fault("link_cut", 3, 0, 1, peer=1), _fault("controlled_shutdown", 1, 1)],
    )
    if keeps:
        case["rules"] = MUTANTS["new-leader-keeps-old-remote-leo"]
    result = simulate(case, watch=True)
    assert _broken(result) == ({"StrongIsr", "WeakIsr", "LeaderCandidateCompleteness"} if keeps else set())


# How followers of the variants ask


@pytest.mark.parametrize(("protocol", "first"), [(HIGH_WATERMARK, "fetched"), (KIP101, "asked"), (KIP279, "asked")])
def test_a_follower_asks_before_it_fetches(protocol: str, first: str) -> None:
    case = _case(
        protocol=protocol,
        replicas=[1, 2],
        rounds=6,
        workload=_batches((0, 1)),
        faults=[_fault("link_cut", 2, 3, 4, peer=1, direction="out"), _fault("link_cut", 2, 4, 5, peer=1, direction="in")],
    )
    states = _fetch_states(simulate(case), 2)
    assert states == [first, "empty" if first == "fetched" else "fetched", "empty", None, "unanswered", "empty"]


def test_a_question_whose_answer_is_lost_is_asked_again() -> None:
    lost = _fault("link_cut", 2, 0, 2, peer=1, direction="in")
    case = _case(protocol=KIP279, replicas=[1, 2], rounds=4, workload=_batches((0, 1)), faults=[lost])
    assert _fetch_states(simulate(case), 2) == ["unanswered", "unanswered", "asked", "fetched"]


def test_the_trace_of_kafka_has_no_fetch_state() -> None:
    assert "fetch_state" not in simulate(_case(replicas=[1, 2], rounds=1)).trace[0]


# Random schedules: small_schedules.py prints the whole table.


def _bad(name: str) -> set[str]:
    return {invariant for invariant, seeds in broken(SUBJECTS[name], SEEDS).items() if seeds}


def test_kafka_breaks_nothing() -> None:
    assert _bad("kafka") == _bad("divergence-checked-once") == set()


@pytest.mark.parametrize(
    "name", [*VARIANTS[:2], "truncate-to-high-watermark", "join-without-high-watermark", "high-watermark-over-committed-isr"]
)
def test_random_schedules_break_what_lacks_a_guard(name: str) -> None:
    assert {"StrongIsr", "LeaderCandidateCompleteness"} <= _bad(name)


def test_a_high_watermark_below_the_minimum_isr_is_seen_at_once() -> None:
    assert _bad("hw-below-min-isr") == {"CommittedOnMinIsr"}


@pytest.mark.parametrize("name", SAVED_BY_SECOND_CHECK)
def test_a_check_of_every_fetch_saves_what_lacks_another_guard(name: str) -> None:
    """Without epochs in fetches it takes late news to do harm; the others do as soon as only first fetches are checked."""
    checked_once = _bad(f"{name}, checked once")
    assert ("LogMatching" in checked_once) == (name != "fetch-without-epoch-check")
    assert "LogMatching" not in _bad(name)
