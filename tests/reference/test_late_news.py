"""Late news: stale_metadata with lag_rounds lets through what the controller said some rounds ago.

Brokers 1, 2 and 3 are replicas 0, 1 and 2 of the specifications; epochs that rise in one round are told as the last one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from .broker_status import news_lag
from .kafka import Result, simulate
from .random_scenarios import random_batch, random_case, to_toml
from .random_summary import LATE_NEWS_BRANCHES, summarise
from .rules import MUTANTS, checked_once
from .small_schedules import SUBJECTS, broken
from .truncation import HIGH_WATERMARK, KIP279, VARIANTS

UNCHECKED = MUTANTS["fetch-without-epoch-check"]
RANDOM_CASES = 300


def _case(**given: Any) -> dict[str, Any]:
    return {
        "rounds": 14,
        "round_ms": 500,
        "session_timeout_rounds": 3,
        "brokers": [1, 2, 3, 4],
        "racks": {},
        "config": {"auto.leader.rebalance.enable": False, "replica.fetch.wait.max.ms": 0},
        "topic_config": {},
        "replicas": [2, 1, 3],
        "initial": _initial(1),
        "workload": [],
        "faults": [],
        "commands": [],
        **given,
    }


def _initial(leader: int, records: int = 0) -> dict[str, Any]:
    epochs = [[0, 0]] if records else []
    logs = {broker: {"leo": records, "hw": records, "epochs": epochs} for broker in (1, 2, 3)}
    return {"leader": leader, "leader_epoch": 0, "isr": [1, 2, 3], "replicas": logs}


def _stale(broker: int, from_round: int, to_round: int | None = None, lag: int | None = None) -> dict[str, Any]:
    fault: dict[str, Any] = {"kind": "stale_metadata", "broker": broker, "from_round": from_round, "to_round": to_round}
    return fault if lag is None else {**fault, "lag_rounds": lag}


def _fault(kind: str, broker: int, from_round: int, to_round: int | None = None, **given: Any) -> dict[str, Any]:
    return {"kind": kind, "broker": broker, "from_round": from_round, "to_round": to_round, **given}


def _prefer(round_: int) -> dict[str, Any]:
    return {"round": round_, "kind": "preferred_leader_election"}


def _reassign(round_: int, *replicas: int) -> dict[str, Any]:
    return {"round": round_, "kind": "reassign", "replicas": list(replicas)}


def _row(round_: int, records: int = 1, acks: str = "1", to_round: int | None = None) -> dict[str, Any]:
    to_round = round_ + 1 if to_round is None else to_round
    return {"from_round": round_, "to_round": to_round, "records_per_round": records, "record_bytes": 100, "acks": acks}


def _of(result: Result, broker: int, column: str) -> list[Any]:
    return [row[column] for row in result.trace if row["broker"] == broker]


def _broken(result: Result) -> set[str]:
    return {violation.invariant for violation in result.violations}


# What gets through


def test_the_largest_lag_counts_and_none_beats_any() -> None:
    faults = [_stale(1, 0, 4, lag=2), _stale(1, 2, 6, lag=5), _stale(1, 5, 8), _stale(2, 0, lag=9)]
    assert [news_lag(1, faults, round_) for round_ in range(9)] == [2, 2, 5, 5, 5, None, None, None, None]


def test_a_follower_hears_every_epoch_late() -> None:
    """Epochs 1 and 2 in rounds 2 and 4; 3 is covered in all but the last three rounds."""
    commands = [_prefer(2), _reassign(3, 1, 2, 3), _prefer(4)]
    result = simulate(_case(commands=commands, faults=[_stale(3, 0, 11, lag=4)]), watch=True)
    assert _of(result, 3, "leader_epoch") == [0] * 6 + [1] * 2 + [2] * 6
    slow = simulate(_case(commands=commands, faults=[_stale(3, 0, 11, lag=20)]))
    assert _of(slow, 3, "leader_epoch") == [0] * 11 + [2] * 3, "from before round 0"
    none = simulate(_case(commands=commands, faults=[_stale(3, 0, 11)]))
    assert _of(none, 3, "leader_epoch") == [0] * 11 + [2] * 3
    assert result.violations == slow.violations == []


def test_news_that_is_no_news_changes_nothing() -> None:
    """3 knew epoch 1 before; what it hears late about epoch 0 is older."""
    result = simulate(_case(commands=[_prefer(2)], faults=[_stale(3, 3, 9, lag=3)]))
    assert _of(result, 3, "leader_epoch") == [0] * 2 + [1] * 12


def test_who_is_down_paused_or_isolated_hears_nothing() -> None:
    for kind in ("broker_pause", "isolation", "broker_crash"):
        fault = _fault(kind, 3, 4, 6)
        result = simulate(_case(commands=[_prefer(2)], session_timeout_rounds=9, faults=[_stale(3, 0, lag=3), fault]))
        # A crashed broker waits for its session, until round 13, and reads what it missed when it restarts.
        assert _of(result, 3, "leader_epoch") == ([0] * 13 + [1] if kind == "broker_crash" else [0] * 6 + [1] * 8)


def test_t_is_ready_when_late_news_says_that_it_leads() -> None:
    """It appends from the next round on, with the ISR that it was elected with: 3 is fenced in round 7."""
    case = _case(
        topic_config={"min.insync.replicas": 3},
        commands=[_prefer(2)],
        workload=[_row(0, acks="all", to_round=14)],
        faults=[_stale(2, 2, 12, lag=3), _fault("broker_crash", 3, 4)],
    )
    result = simulate(case, watch=True)
    assert _of(result, 2, "role") == ["follower"] * 5 + ["leader"] * 9
    assert _of(result, 2, "leo") == [1, 2] + [2] * 4 + list(range(3, 10)) + [9]
    assert [row["isr"] for row in result.trace_partitions][6:] == [[1, 2, 3]] + [[1, 2]] * 7
    # In round 13 it knows the ISR again.
    assert result.outcomes["refused"] == 1
    assert result.violations == []


def _superseded(**given: Any) -> Result:
    """2 is elected in round 2, and 1 again in round 4; 2 and 3 hear so in rounds 7 and 9."""
    faults = [_stale(2, 2, 13, lag=5), _stale(3, 2, 13, lag=5)]
    commands = [_prefer(2), _reassign(3, 1, 2, 3), _prefer(4)]
    return simulate(_case(initial=_initial(1, 3), commands=commands, faults=faults, **given), watch=True)


def test_a_superseded_leader_by_late_news_leads_until_it_hears_more() -> None:
    result = _superseded()
    assert _of(result, 2, "role") == ["follower"] * 7 + ["leader"] * 2 + ["follower"] * 5
    assert _of(result, 2, "leader_epoch") == [0] * 7 + [1] * 2 + [2] * 5
    assert _of(result, 2, "epochs")[6:9] == [[[0, 0]], [[0, 0], [1, 3]], [[0, 0], [1, 3]]]
    assert _of(result, 3, "leader_epoch") == [0] * 7 + [1] * 2 + [2] * 5
    assert _of(result, 1, "remote_leo")[4:] == [None] * 10
    assert result.outcomes["leaderless_rounds"] == 2
    assert result.violations == []


@pytest.mark.parametrize("protocol", VARIANTS)
def test_before_kip279_a_superseded_leader_keeps_its_cache(protocol: str) -> None:
    result = _superseded(protocol=protocol)
    assert _of(result, 2, "epochs")[7] == ([[0, 0], [1, 3]] if protocol == KIP279 else [[0, 0]])


def test_a_superseded_leader_serves_whom_late_news_sent_to_it() -> None:
    """3 was cut off from 1, and gets from 2 in round 8 what it lacks; 1 takes no note of that."""
    case = _case(
        initial=_initial(1),
        workload=[_row(0, 2)],
        commands=[_prefer(2), _reassign(3, 1, 2, 3), _prefer(4)],
        faults=[_stale(2, 2, 13, lag=5), _stale(3, 2, 13, lag=5), _fault("link_cut", 3, 0, peer=1)],
    )
    result = simulate(case, watch=True)
    assert _of(result, 3, "leo") == [0] * 8 + [2] * 6
    assert result.coverage["superseded_leader_served"] > 0
    assert result.violations == []


# The shortest trace of the specification of KIP-279 with three replicas


def _kip279(**subject: Any) -> Result:
    """The steps of the trace, and what they need of rounds.

    Elect 0, 1, 0: 1 leads epoch 0, 2 leads in round 3 (epoch 1), 1 in round 4 (epoch 2).
    1 leads and writes in round 5. It shrinks 2 out in round 7. 3 follows 1 with epoch 0, fetches, and the high watermark
    rises in round 7. At its end 3 hears that 2 leads, and follows it in round 8: it cuts its log to 0 while in the ISR.
    In round 9 broker 1 stops.
    """
    case = _case(
        config={**_case()["config"], "replica.lag.time.max.ms": 1000},
        workload=[_row(5, acks="all")],
        commands=[_prefer(3), _reassign(3, 1, 2, 3), _prefer(4)],
        faults=[_stale(2, 4), _stale(3, 3, lag=4), _fault("controlled_shutdown", 1, 9)],
        **subject,
    )
    return simulate(case, watch=True)


SUBJECTS_OF_THE_TRACE: dict[str, dict[str, Any]] = {
    **{protocol: {"protocol": protocol} for protocol in VARIANTS},
    "fetch-without-epoch-check": {"rules": UNCHECKED},
    "fetch-without-epoch-check, checked once": {"rules": checked_once(UNCHECKED)},
}


@pytest.mark.parametrize("name", SUBJECTS_OF_THE_TRACE)
def test_shortest_trace_of_kip279(name: str) -> None:
    result = _kip279(**SUBJECTS_OF_THE_TRACE[name])
    assert [row["isr"] for row in result.trace_partitions][6:9] == [[1, 2, 3], [1, 3], [1, 3]]
    assert _of(result, 1, "hw")[6:9] == [0, 1, 1]
    assert _of(result, 3, "leader_epoch")[:10] == [0] * 7 + [1, 2, 2]
    # With high watermarks it cuts as soon as it hears of another leader.
    assert _of(result, 3, "leo")[5:9] == ([1, 1, 0, 0] if name == HIGH_WATERMARK else [1, 1, 1, 0])
    assert {"StrongIsr", "WeakIsr", "LeaderCompleteness", "NoAckedRecordLost"} <= _broken(result)
    assert "NoCommittedRecordLost" not in _broken(result), "1 has it all the time"
    assert result.outcomes["leader"] == 3
    assert result.outcomes["committed_lost"] == result.outcomes["acked_lost"] == 1


def test_shortest_trace_of_kip279_does_not_happen_to_kafka() -> None:
    """The fetches of epoch 0 are refused, so that 3 leaves the ISR with 2."""
    result = _kip279()
    assert [row["isr"] for row in result.trace_partitions][6:9] == [[1, 2, 3], [1], [1]]
    assert result.violations == []
    assert result.outcomes["committed_lost"] == 0


_NEWS_OF_BEFORE = _case(
    initial=_initial(1, 3),
    replicas=[1, 2, 3],
    commands=[_reassign(2, 2, 3), _reassign(4, 2, 3, 1)],
    faults=[_stale(3, 2), _stale(1, 4, 9, lag=4), _fault("controlled_shutdown", 2, 7)],
)


def test_an_added_replica_hears_nothing_of_before() -> None:
    """1 leads, is dropped and added anew, empty; then it hears that it leads, and 3, that heard nothing, cuts to 0."""
    result = simulate(_NEWS_OF_BEFORE, watch=True)
    assert _broken(result) == set()
    assert result.outcomes["committed_lost"] == 0


# Random schedules and cases


@pytest.mark.parametrize("seed", [1729])
def test_random_schedules_need_epochs_in_fetches(seed: int) -> None:
    assert broken(SUBJECTS["fetch-without-epoch-check"], [seed])["StrongIsr"] == [seed]
    assert broken(SUBJECTS["kafka"], [seed])["StrongIsr"] == []


def test_random_cases_keep_the_invariants_and_reach_rare_branches() -> None:
    reached: Counter[str] = Counter()
    for seed in range(RANDOM_CASES):
        reached.update(simulate(random_case(seed, elr=seed % 2 == 0, late_news=True)).coverage)
    assert {branch for branch in LATE_NEWS_BRANCHES if reached[branch] < 3} == set(), summarise(reached, LATE_NEWS_BRANCHES)


def test_late_news_and_elr_are_laid_over_a_batch() -> None:
    plain, both = random_batch(5, 20), random_batch(5, 20, elr=True, late_news=True)
    for case, other in zip(plain["cases"], both["cases"], strict=True):
        assert {**other, **{key: case[key] for key in ("topic_config", "faults", "commands", "initial")}} == case
        assert len(other["faults"]) > len(case["faults"])
    for word in ("lag_rounds", "features", "unclean.recovery.strategy"):
        assert word in to_toml(both) and word not in to_toml(plain)
    assert 'features = { "eligible.leader.replicas.version" = 1 }' in to_toml(both)
