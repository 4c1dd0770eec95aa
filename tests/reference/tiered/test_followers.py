"""Followers that have to begin behind what is tiered: the tables of Kafka's own tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .cases import at, fault, given_log, happened, produce, remote, states, tiered_case
from .simulate import Result, simulate

TABLES: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data" / "tiered" / "bootstrap.json").read_text())


def _resets(result: Result) -> list[tuple[int, int]]:
    """Where the follower started anew: (log start, LEO) of the rounds in which it did."""
    rows = [row for row in result.trace if row["broker"] == 2]
    return [(row["log_start_offset"], row["leo"]) for row in rows if row["fetch_state"] in ("aux_state_built", "out_of_range")]


def bootstrap_case(leader: dict[str, Any], pending: int | None) -> dict[str, Any]:
    """A case of TierStateMachineTest: what is not local is remote, up to the pending upload."""
    log_start, local, leo = leader["logStart"], leader["localLogStart"], leader["leo"]
    end = local if pending is None else pending
    segments = [remote(min(log_start, max(0, end - 5)), end - 1, [[0, 0]])] if end > 0 and end != log_start else []
    if pending == log_start and log_start > 0:  # everything that was copied has expired
        segments = [remote(0, log_start - 1, [[0, 0]])]
    epochs = [[0, log_start]]
    return tiered_case(
        rounds=9,
        config={"follower.fetch.last.tiered.offset.enable": pending is not None},
        topic_config={"remote.log.copy.disable": True},
        initial={
            "leader": 1,
            "leader_epoch": 0,
            "isr": [1],
            "replicas": {1: given_log(leo, epochs, local=local, log_start=log_start), 2: given_log(0, [])},
            "remote_segments": segments,
        },
    )


BOOTSTRAP: list[tuple[str, dict[str, int], int | None, list[tuple[int, int]]]] = [
    ("no local deletion", {"logStart": 0, "localLogStart": 0, "leo": 200}, None, []),
    ("local from 100", {"logStart": 0, "localLogStart": 100, "leo": 200}, None, [(0, 100)]),
    ("log from 10", {"logStart": 10, "localLogStart": 10, "leo": 200}, None, [(10, 10)]),
    ("log from 10, local from 100", {"logStart": 10, "localLogStart": 100, "leo": 200}, None, [(10, 10), (10, 100)]),
    ("all local deleted", {"logStart": 0, "localLogStart": 151, "leo": 151}, None, [(0, 151)]),
    ("log from 10, all local deleted", {"logStart": 10, "localLogStart": 151, "leo": 151}, None, [(10, 10), (10, 151)]),
    ("KIP-1023, empty leader", {"logStart": 0, "localLogStart": 0, "leo": 0}, -1, []),
    ("KIP-1023, slow upload", {"logStart": 0, "localLogStart": 10, "leo": 200}, 10, [(0, 10)]),
    ("KIP-1023, nothing local, upload unknown", {"logStart": 0, "localLogStart": 200, "leo": 200}, -1, []),
    ("KIP-1023, empty leader, stale upload", {"logStart": 10, "localLogStart": 10, "leo": 10}, 5, [(10, 10)]),
    ("KIP-1023, log from 10, slow upload", {"logStart": 10, "localLogStart": 10, "leo": 200}, 10, [(10, 10)]),
    ("KIP-1023, gap, upload unknown", {"logStart": 10, "localLogStart": 100, "leo": 200}, -1, []),
    ("KIP-1023, nothing local", {"logStart": 10, "localLogStart": 200, "leo": 200}, 200, [(10, 200)]),
    ("KIP-1023, one reset instead of two", {"logStart": 10, "localLogStart": 100, "leo": 200}, 150, [(10, 150)]),
]
"""What an empty follower does first: (log start, LEO) of each new start. Of Kafka's AbstractFetcherThreadTest, but the last."""


@pytest.mark.parametrize(("name", "leader", "pending", "expected"), BOOTSTRAP, ids=[row[0] for row in BOOTSTRAP])
def testbootstrap_case(name: str, leader: dict[str, int], pending: int | None, expected: list[tuple[int, int]]) -> None:
    result = simulate(bootstrap_case(leader, pending), watch=True)
    assert _resets(result) == expected
    waits = "unknown" in name
    assert at(result, 8, 2)["leo"] == (0 if waits else leader["leo"])
    assert waits == ("building_remote_log_aux" in states(result, 2)[2:])


def test_the_table_of_bootstraps_is_kafkas() -> None:
    """Each row is one of the recorded table, by its leader, but those that no log of the emulator can have."""
    table = [*TABLES["empty_follower"], *TABLES["kip1023_last_tiered_offset"]]
    recorded = {(row["leader"]["logStart"], row["leader"]["localLogStart"], row["leader"]["leo"]) for row in table}
    mine = {(leader["logStart"], leader["localLogStart"], leader["leo"]) for _, leader, _, _ in BOOTSTRAP}
    assert mine <= recorded
    assert {row for row in recorded if row[1] >= row[0]} <= mine


def _follower_of(
    leader: dict[str, Any], follower: dict[str, Any], segments: list[dict[str, Any]], **given: Any
) -> dict[str, Any]:
    return tiered_case(
        **{
            "rounds": 6,
            "initial": {
                "leader": 1,
                "leader_epoch": 5,
                "isr": [1],
                "replicas": {1: leader, 2: follower},
                "remote_segments": segments,
            },
            **given,
        }
    )


def test_a_follower_whose_offset_moved_to_remote_storage() -> None:
    """TierStateMachineTest: it has 0 to 2, its leader 5 to 8; after one exchange it stands at 5, then it has all."""
    epochs = [[0, 0], [2, 1], [4, 2], [5, 5]]
    case = _follower_of(given_log(9, epochs, local=5), given_log(3, epochs[:3]), [remote(0, 4, epochs[:3])])
    result = simulate(case, watch=True)
    moved, built = at(result, 0, 2), at(result, 1, 2)
    assert (moved["fetch_state"], moved["leo"]) == ("moved_to_tiered_storage", 3)
    assert (built["log_start_offset"], built["local_log_start_offset"], built["leo"], built["hw"]) == (0, 5, 5, 5)
    assert at(result, 2, 2)["leo"] == 9 and at(result, 2, 2)["epochs"] == epochs
    assert result.violations == []


def out_of_range_case() -> dict[str, Any]:
    """Remote storage is turned off while the leader, which has 5 to 8 of 0 to 8 itself, is paused; its follower has 0 to 2."""
    epochs = [[0, 0], [2, 1], [4, 2], [5, 5]]
    off = {"kind": "alter_config", "round": 0, "config": {"remote.storage.enable": False, "remote.log.delete.on.disable": True}}
    return _follower_of(
        given_log(9, epochs, local=5),
        given_log(3, epochs[:3]),
        [remote(0, 4, epochs[:3])],
        faults=[fault("broker_pause", 0, 1, broker=1)],
        commands=[off],
    )


def test_a_follower_of_what_went_with_remote_storage_stays_where_it_is() -> None:
    """OFFSET_OUT_OF_RANGE, as nothing is tiered any more; its end is not below the leader's log start, so it asks from there."""
    result = simulate(out_of_range_case(), watch=True)
    assert [at(result, round_, 1)["log_start_offset"] for round_ in range(6)] == [0] * 6
    assert states(result, 2)[1:] == ["out_of_range"] * 5
    assert [at(result, round_, 2)["leo"] for round_ in range(6)] == [3] * 6


def test_the_epoch_before_the_start_may_not_be_the_one_before() -> None:
    """No record of epoch 2: what lies before 90 is of epoch 1."""
    epochs = [[0, 20], [1, 85], [3, 90], [4, 98]]
    leader = given_log(100, epochs, local=90, log_start=20)
    case = _follower_of(leader, given_log(20, [], local=20, log_start=20), [remote(20, 89, epochs[:2])])
    result = simulate(case, watch=True)
    assert at(result, 1, 2)["epochs"] == epochs[:2]
    assert at(result, 3, 2)["epochs"] == epochs
    by_leader = simulate({**case, "remote_storage": {"aux_state": "leader"}}, watch=True)
    assert [row[2:] for row in happened(by_leader, "aux_state_built")] == [(20, 90)]
    assert at(by_leader, 5, 2)["epochs"] == epochs
    assert result.violations == by_leader.violations == []


def test_a_follower_starts_behind_the_segment_not_at_the_leaders_start() -> None:
    """The segment with 9 ends at 14, the leader's own log begins with 10."""
    leader = given_log(20, [[0, 0]], local=10, segments=[15])
    case = _follower_of(leader, given_log(0, []), [remote(0, 4), remote(5, 14)], topic_config={"remote.log.copy.disable": True})
    result = simulate(case, watch=True)
    assert at(result, 1, 2)["leo"] == at(result, 1, 2)["local_log_start_offset"] == 15
    assert result.outcomes["replicated_bytes"] == 5 * 100


def test_a_restart_forgets_what_was_being_built() -> None:
    leader = given_log(20, [[0, 0]], local=10)
    outage = [fault("remote_storage_outage", 0, 12), fault("broker_crash", 4, 6, broker=2)]
    case = _follower_of(leader, given_log(3, [[0, 0]]), [remote(0, 9)], faults=outage, rounds=20, workload=[produce(15)])
    result = simulate(case, watch=True)
    assert states(result, 2)[:4] == ["moved_to_tiered_storage", *["building_remote_log_aux"] * 3]
    assert at(result, 11, 2)["leo"] == 3  # it keeps its log until it can start anew
    assert states(result, 2).count("moved_to_tiered_storage") == 2
    assert at(result, 19, 2)["leo"] == 21
    assert result.violations == []


def test_a_new_leader_ends_the_building() -> None:
    """Nobody who builds is in the ISR, so it takes an unclean election."""
    leader = given_log(20, [[0, 0]], local=10)
    faults = [fault("remote_storage_outage", 0), fault("broker_crash", 3, broker=1)]
    unclean = {"unclean.leader.election.enable": True}
    case = _follower_of(leader, given_log(3, [[0, 0]]), [remote(0, 9)], faults=faults, rounds=9, topic_config=unclean)
    result = simulate(case)
    assert result.trace_partitions[8]["leader"] == 2
    assert (at(result, 8, 2)["leo"], at(result, 8, 2)["fetch_state"]) == (3, None)
