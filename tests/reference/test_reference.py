"""Cases checked by hand, and the reference against its own invariants on random scenarios."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from . import fetching, leading
from .broker_status import BrokerRound, broker_rounds
from .kafka import Result, simulate
from .log import UNDEFINED, EpochCache
from .partition import Replica
from .random_scenarios import cases_of, random_batch, random_case
from .random_summary import RARE_BRANCHES, summarise

RANDOM_CASES = 1500


def _case(**given: Any) -> dict[str, Any]:
    return {
        "rounds": 3,
        "round_ms": 500,
        "session_timeout_rounds": 5,
        "brokers": [1, 2, 3],
        "racks": {},
        "config": {},
        "topic_config": {},
        "replicas": [1, 2],
        "workload": [],
        "faults": [],
        "commands": [],
        **given,
    }


def _rows(from_round: int, to_round: int, records: int, acks: str) -> dict[str, Any]:
    return {
        "from_round": from_round,
        "to_round": to_round,
        "records_per_round": records,
        "record_bytes": 100,
        "acks": acks,
    }


def _seed_row(result: Result, round_: int) -> tuple[int, ...]:
    leader, follower = (row for row in result.trace if row["round"] == round_)
    return leader["leo"], follower["remote_leo"], leader["hw"], follower["leo"], follower["hw"]


@pytest.mark.parametrize("idle_rounds", [0, 1, 4])
def test_seed_table(idle_rounds: int) -> None:
    case = _case(rounds=idle_rounds + 2, workload=[_rows(idle_rounds, idle_rounds + 1, 1, "all")])
    result = simulate(case)
    assert _seed_row(result, idle_rounds) == (1, 0, 0, 1, 0)
    assert _seed_row(result, idle_rounds + 1) == (1, 1, 1, 1, 1)


def test_seed_table_before_the_first_fetch() -> None:
    cut = {"kind": "link_cut", "broker": 2, "peer": 1, "from_round": 0, "to_round": 1}
    result = simulate(_case(workload=[_rows(0, 1, 1, "all")], faults=[cut]))
    assert [_seed_row(result, round_) for round_ in range(3)] == [(1, 0, 0, 0, 0), (1, 0, 0, 1, 0), (1, 1, 1, 1, 1)]


@pytest.mark.parametrize("kind", ["broker_pause", "controlled_shutdown"])
def test_who_stops_with_its_leader_had_fetched_until_then(kind: str) -> None:
    """At the start of round 3: of 1,000 records a round broker 2 lacks 2 ms, 4 records, and broker 3, which is far, 60."""
    faults = [
        {"kind": "broker_crash", "broker": 1, "from_round": 3},
        {"kind": kind, "broker": 2, "from_round": 3},
        {"kind": "slow_link", "broker": 1, "peer": 3, "round_trip_ms": 60, "from_round": 0},
    ]
    rows = [_rows(0, 4, 1000, "1")]
    result = simulate(_case(rounds=4, replicas=[1, 2, 3], workload=rows, faults=faults, fetch_round_trip_ms=4))
    assert [row["leo"] for row in result.trace if row["round"] == 3] == [3060, 3056, 3000]


@pytest.mark.parametrize(("acks", "lost"), [("1", 8), ("all", 3)])
def test_records_lost_by_an_unclean_election(acks: str, lost: int) -> None:
    """Kafka PR #9533: replicas with LEO 10, 5 and 2, of which the last is left."""
    logs = {
        broker: {"log_start_offset": 0, "leo": leo, "hw": min(leo, 5), "epochs": [[0, 0]]}
        for broker, leo in ((1, 10), (2, 5), (3, 2))
    }
    crashes = [{"kind": "broker_crash", "broker": broker, "from_round": 0, "to_round": None} for broker in (1, 2)]
    result = simulate(
        _case(
            rounds=12,
            replicas=[1, 2, 3],
            topic_config={"min.insync.replicas": 2, "unclean.leader.election.enable": True},
            workload=[_rows(0, 12, 0, acks)],
            faults=crashes,
            initial={"leader": 1, "leader_epoch": 0, "isr": [1, 2], "replicas": logs},
        )
    )
    assert result.outcomes["acked_lost"] == lost
    assert result.outcomes["committed_lost"] == 3
    assert (result.outcomes["leader"], result.outcomes["leader_epoch"], result.outcomes["isr"]) == (3, 1, [3])
    lost_range = [event for event in result.events if event.kind == "acked_lost"]
    assert [(event.broker, event.leader_epoch, event.from_offset, event.to_offset) for event in lost_range] == [
        (3, 0, 2, 2 + lost)
    ]


def test_epoch_cache() -> None:
    """LeaderEpochFileCacheTest: an asked epoch may be below, between, above, or the last."""
    cache = EpochCache()
    for epoch, start in ((0, 10), (2, 13), (2, 15), (4, 17)):
        cache.assign(epoch, start)
    assert cache.entries == [(0, 10), (2, 13), (4, 17)]
    assert [cache.end_offset_for(epoch, 20) for epoch in (-1, 1, 2, 3, 4, 5)] == [
        (-1, 10), (0, 13), (2, 17), (2, 17), (4, 20), UNDEFINED,
    ]  # fmt: skip
    cache.truncate_from_start(14)
    cache.truncate_from_end(17)
    assert cache.entries == [(2, 14)]
    cache.assign(1, 20)
    assert cache.entries == [(1, 20)]


def _status(*faults: dict[str, Any], rounds: int = 20, timeout: int = 5) -> list[BrokerRound]:
    return broker_rounds(1, None, faults, rounds, timeout)


def _rounds_with(history: list[BrokerRound], name: str) -> list[int]:
    return [round_ for round_, status in enumerate(history) if getattr(status, name)]


def test_a_broker_that_restarts_within_its_session_returns_when_it_ends() -> None:
    history = _status({"kind": "broker_crash", "broker": 1, "from_round": 4, "to_round": 6})
    assert _rounds_with(history, "offline") == [4, 5, 6, 7, 8]
    assert _rounds_with(history, "returning") == _rounds_with(history, "restarted") == [9]
    assert _rounds_with(history, "fenced") == []


def test_a_pause_longer_than_the_session_fences_and_a_shorter_one_does_not() -> None:
    pause = {"kind": "broker_pause", "broker": 1, "from_round": 4}
    assert _rounds_with(_status({**pause, "to_round": 9}), "fenced") == []
    history = _status({**pause, "to_round": 11})
    assert _rounds_with(history, "fenced") == [9, 10]
    assert _rounds_with(history, "waking") == [11]


def test_sessions_start_anew_when_the_controller_returns() -> None:
    crash = {"kind": "broker_crash", "broker": 1, "from_round": 4, "to_round": 30}
    loss = {"kind": "controller_loss", "from_round": 6, "to_round": 10}
    assert _rounds_with(_status(crash, loss), "fenced") == [15, 16, 17, 18, 19]


def test_a_controlled_shutdown_fences_at_once_and_hides_weaker_faults() -> None:
    stop = {"kind": "controlled_shutdown", "broker": 1, "from_round": 4, "to_round": 6}
    history = _status(stop, {"kind": "broker_pause", "broker": 1, "from_round": 4, "to_round": 7})
    assert _rounds_with(history, "fenced") == _rounds_with(history, "offline") == [4, 5, 6]
    assert _rounds_with(history, "clean_stop") == [4]


def test_random_cases_keep_the_invariants_and_reach_rare_branches() -> None:
    reached: Counter[str] = Counter()
    for seed in range(RANDOM_CASES):
        reached.update(simulate(random_case(seed), trace=False).coverage)
    assert {branch for branch in RARE_BRANCHES if reached[branch] < 3} == set(), summarise(reached)


def test_cases_of_a_batch_share_one_cluster_and_no_broker() -> None:
    cases = cases_of(random_batch(5, 20))
    assert len({(case["rounds"], case["round_ms"], str(case["config"])) for case in cases}) == 1
    brokers = [broker for case in cases for broker in case["brokers"]]
    assert len(brokers) == len(set(brokers))


def _without_excuses(case: dict[str, Any]) -> dict[str, Any]:
    """The case without what may lose committed records: lost disks and power, unclean elections, odd initial logs."""

    def loses(fault: dict[str, Any]) -> bool:
        return fault["kind"] in ("disk_loss", "power_loss") or fault.get("power", False)

    def unclean(config: dict[str, Any]) -> bool:
        return "unclean.leader.election.enable" in config

    topic_config = {key: value for key, value in case["topic_config"].items() if not unclean({key: value})}
    return {
        **case,
        "initial": None,
        "topic_config": topic_config,
        "faults": [fault for fault in case["faults"] if not loses(fault)],
        "commands": [command for command in case["commands"] if not unclean(command.get("config", {}))],
    }


def _loses_committed(seed: int) -> bool:
    return simulate(_without_excuses(random_case(seed)), trace=False).outcomes["committed_lost"] > 0


def test_no_committed_record_is_lost_without_an_excuse() -> None:
    assert not any(map(_loses_committed, range(500)))


def test_committed_records_are_lost_when_laggards_may_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of the checks: a removed guard loses committed records."""
    monkeypatch.setattr(leading, "_has_caught_up", lambda *offsets: True)
    assert any(map(_loses_committed, range(500)))


def test_logs_diverge_when_followers_never_truncate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of the checks: LogMatching is asserted on the records."""

    def answer(follower: Replica, leader: Replica) -> fetching.Answer:
        return fetching.Answer(follower.broker, leader.broker, fetching.DATA)

    monkeypatch.setattr(fetching, "_answer", answer)
    with pytest.raises(AssertionError):
        for seed in range(400):
            simulate(random_case(seed))
