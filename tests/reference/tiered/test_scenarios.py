"""The scenarios of KIP-405 step by step, with the tables of its page; broker 1 is A, 2 is B."""

from __future__ import annotations

from typing import Any

import pytest

from ..log import EpochCache
from .cases import RECORD_BYTES, alter, at, copied, fault, given_log, produce, remote, states, tiered_case
from .invariants import served_by
from .lineage import is_in_lineage
from .partition import TieredPartition
from .schedules import EXCUSED_BY_UNCLEAN_ELECTIONS
from .simulate import play_rounds, simulate

ALL_EPOCHS = [[0, 0], [1, 3], [2, 5], [3, 7]]
FIRST, SECOND, THIRD = remote(0, 2, [[0, 0]]), remote(3, 5, [[0, 0], [1, 3], [2, 5]]), (6, 8)


def _log(row: dict[str, Any]) -> tuple[int, int, int, list[list[int]]]:
    """(local log start, LEO, HW, epochs)."""
    return row["local_log_start_offset"], row["leo"], row["hw"], row["epochs"]


def _new_follower(**given: Any) -> dict[str, Any]:
    """Scenario 1 at its start: A has 3 to 7, B nothing, 0 to 5 are remote."""
    return tiered_case(
        rounds=6,
        initial={
            "leader": 1,
            "leader_epoch": 3,
            "isr": [1],
            "replicas": {1: given_log(8, ALL_EPOCHS, local=3, segments=[6]), 2: given_log(0, [])},
            "remote_segments": [FIRST, SECOND],
        },
        **given,
    )


def test_scenario_1_new_follower() -> None:
    result = simulate(_new_follower(), watch=True)
    # fetch (0), OFFSET_MOVED_TO_TIERED_STORAGE
    assert _log(at(result, 0, 2)) == (0, 0, 0, [])
    # ListOffsets(-4) says 3 of LE-1; the segment with 2 has (0, 0)
    assert _log(at(result, 1, 2)) == (3, 3, 3, [[0, 0]])
    assert states(result, 2)[:3] == ["moved_to_tiered_storage", "aux_state_built", "fetched"]
    # 3 to 7 come from the leader, and the other epochs with them
    assert _log(at(result, 2, 2)) == (3, 8, 8, ALL_EPOCHS)
    assert at(result, 2, 2)["log_start_offset"] == 0
    for round_ in range(6):
        assert _log(at(result, round_, 1)) == (3, 8, 8, ALL_EPOCHS)
    assert result.trace_partitions[3]["isr"] == [1, 2]
    assert result.violations == []


def test_scenario_1_metadata() -> None:
    """The record of a segment has its own epochs, the checkpoint that goes with the data all of them."""
    rows = simulate(_new_follower()).remote_segments
    assert [row["epochs"] for row in rows] == [[[0, 0]], [[1, 3], [2, 5]]]
    assert [row["checkpoint"] for row in rows] == [[[0, 0]], [[0, 0], [1, 3], [2, 5]]]


def test_scenario_1_with_epochs_from_the_leader() -> None:
    """The KIP's option 1: the follower asks for one epoch after the other; here only epoch 0 lies below its start."""
    result = simulate(_new_follower(remote_storage={"aux_state": "leader"}), watch=True)
    assert states(result, 2)[:4] == ["moved_to_tiered_storage", "building_remote_log_aux", "aux_state_built", "fetched"]
    assert _log(at(result, 2, 2)) == (3, 3, 3, [[0, 0]])
    assert _log(at(result, 3, 2)) == (3, 8, 8, ALL_EPOCHS)
    assert result.violations == []


def test_option_1_needs_no_store() -> None:
    away = [fault("remote_storage_outage", 0)]
    stuck = simulate(_new_follower(faults=away), watch=True)
    assert set(states(stuck, 2)[1:]) == {"building_remote_log_aux"}
    assert at(stuck, 5, 2)["leo"] == 0
    assert stuck.trace_partitions[5]["isr"] == [1]
    goes_on = simulate(_new_follower(faults=away, remote_storage={"aux_state": "leader"}), watch=True)
    assert at(goes_on, 5, 2)["leo"] == 8
    assert goes_on.trace_partitions[5]["isr"] == [1, 2]
    assert stuck.violations == goes_on.violations == []


def test_option_1_asks_for_every_epoch() -> None:
    """Local from 8 on: epochs 3, 2, 1 and 0 lie below it, a round each."""
    case = _new_follower(remote_storage={"aux_state": "leader"})
    epochs = [*ALL_EPOCHS[:3], [3, 6]]
    case["initial"]["replicas"][1] = given_log(10, epochs, local=8)
    case["initial"]["remote_segments"] = [FIRST, SECOND, remote(6, 7, epochs)]
    result = simulate({**case, "rounds": 9}, watch=True)
    assert states(result, 2)[:7] == ["moved_to_tiered_storage", *["building_remote_log_aux"] * 4, "aux_state_built", "fetched"]
    assert _log(at(result, 5, 2)) == (8, 8, 8, epochs)
    assert result.violations == []


def _out_of_sync() -> dict[str, Any]:
    """Scenario 2.2: B is cut off to round 5; in round 1 A takes 10 and 11, copies 6-8 and deletes up to there."""
    return tiered_case(
        config={"replica.lag.time.max.ms": 500},
        rounds=10,
        topic_config={"remote.log.copy.disable": True, "local.retention.bytes": 3 * RECORD_BYTES},
        initial={
            "leader": 1,
            "leader_epoch": 3,
            "isr": [1],
            "replicas": {1: given_log(10, ALL_EPOCHS, segments=[3, 6, 9]), 2: given_log(4, ALL_EPOCHS[:2], segments=[3])},
            "remote_segments": [FIRST, SECOND],
        },
        workload=[produce(1, records=2)],
        commands=[alter(1, remote_log_copy_disable=False)],
        faults=[fault("link_cut", 0, 5, broker=2, peer=1)],
    )


def test_scenario_2_out_of_sync_follower() -> None:
    result = simulate(_out_of_sync(), watch=True)
    # step 1
    assert _log(at(result, 0, 1)) == (0, 10, 10, ALL_EPOCHS)
    assert _log(at(result, 0, 2)) == (0, 4, 4, ALL_EPOCHS[:2])
    cache = EpochCache([(epoch, start) for epoch, start in ALL_EPOCHS])
    assert cache.end_offset_for(1, 10) == (1, 5)  # above B's LEO: no truncation
    # step 2: the leader's segments till 8 are gone; B fetches (LE-1, 4)
    assert at(result, 1, 1)["local_log_start_offset"] == 9
    assert _log(at(result, 4, 1)) == (9, 12, 12, ALL_EPOCHS)
    assert copied(result) == [(0, 2), (3, 5), THIRD]
    assert result.remote_segments[2]["epochs"] == [[2, 6], [3, 7]]
    assert _log(at(result, 5, 2)) == (0, 4, 4, ALL_EPOCHS[:2])
    assert states(result, 2)[5] == "moved_to_tiered_storage"
    # step 3: ListOffsets(-4) says 9 of LE-3; all local data goes, the epochs come from seg-6-8
    assert _log(at(result, 6, 2)) == (9, 9, 9, ALL_EPOCHS)
    assert states(result, 2)[6] == "aux_state_built"
    assert result.outcomes["truncated"] == 4
    # step 4
    assert _log(at(result, 7, 2)) == (9, 12, 12, ALL_EPOCHS)
    assert at(result, 7, 2)["log_start_offset"] == 0
    assert result.violations == []


def test_scenario_2_normal_path() -> None:
    """2.1: a follower that is not below the leader's local start just fetches."""
    case = _out_of_sync()
    case["initial"]["replicas"][2] = given_log(9, ALL_EPOCHS, segments=[3, 6])
    result = simulate(case, watch=True)
    assert states(result, 2)[5] == "fetched"
    assert _log(at(result, 5, 2))[1:] == (12, 12, ALL_EPOCHS)
    assert result.violations == []


def _hard_failures() -> dict[str, Any]:
    """Scenario 3 from its second step on: B has lost 1 and 2, starts first, and leads LE-1; every segment has one record."""
    return tiered_case(
        rounds=16,
        topic_config={"segment.ms": 1000, "local.retention.bytes": RECORD_BYTES},
        initial={
            "leader": -1,
            "leader_epoch": 0,
            "isr": [2],
            "replicas": {1: given_log(3, [[0, 0]], segments=[2]), 2: given_log(1, [[0, 0]])},
            "remote_segments": [remote(0, 1, [[0, 0]])],
        },
        workload=[produce(3), produce(10)],
        faults=[fault("broker_crash", 0, 5, broker=1)],
    )


def test_scenario_3_multiple_hard_failures() -> None:
    case = _hard_failures()
    result = simulate(case, watch=True)
    # step 2: B leads and takes msg3
    assert at(result, 3, 1)["role"] == "offline" and at(result, 3, 1)["leo"] == 3
    assert _log(at(result, 4, 2))[1:] == (2, 2, [[0, 0], [1, 1]])
    assert at(result, 4, 2)["highest_remote_offset"] == 0  # of 0 to 1 only 0 is in its lineage
    # step 3: A asks for LE-0, is told (LE-0, 1), cuts to 1 and fetches msg3
    assert ("truncate", 3, 1) in [(event.kind, event.from_offset, event.to_offset) for event in result.events]
    assert _log(at(result, 8, 1))[1:] == (2, 2, [[0, 0], [1, 1]])
    # step 4: msg4 closes B's segment 1-1, which is shipped
    assert at(result, 10, 2)["leo"] == 3
    assert copied(result) == [(0, 1), (1, 1)]
    assert [row["epochs"] for row in result.remote_segments] == [[[0, 0]], [[1, 1]]]
    assert [row["in_lineage"] for row in result.remote_segments] == [False, True]
    for broker in (1, 2):
        assert _log(at(result, 15, broker)) == (2, 3, 3, [[0, 0], [1, 1]])
    assert result.violations == []


def test_scenario_3_reads_go_by_the_epochs() -> None:
    partition = TieredPartition(_hard_failures())
    for now in range(16):
        partition.now = now
        play_rounds([partition])
    cache = partition.replicas[2].log.cache
    assert [cache.epoch_of(offset) for offset in (0, 1)] == [0, 1]
    first, second = served_by(partition, 0, 0), served_by(partition, 1, 1)
    assert first is not None and (first.base_offset, first.end_offset) == (0, 1)
    assert second is not None and (second.base_offset, second.end_offset) == (1, 1)
    assert second.covers(1, 1) and not first.covers(1, 1)  # msg3, never msg1
    assert cache.end_offset_for(0, 3) == (0, 1)  # a consumer at 2 with LE-0 is told so, and goes back to 1


def test_scenario_3_what_is_not_in_lineage_goes_when_its_epochs_are_too_old() -> None:
    """Size retention counts 1-1 and takes it, and with that the last of LE-0 from the log; then 0-1 goes too."""
    case = _hard_failures()
    keep_two = alter(16, retention_bytes=2 * RECORD_BYTES)
    assert simulate({**case, "rounds": 24, "commands": [keep_two]}).remote_segments[0]["state"] == "COPY_FINISHED"
    result = simulate({**case, "rounds": 24, "commands": [alter(16, retention_bytes=RECORD_BYTES)]}, watch=True)
    deleted = [(event.round, event.from_offset, event.to_offset) for event in result.events if event.kind == "remote_delete"]
    assert [row[1:] for row in deleted] == [(1, 2), (0, 2)]
    assert at(result, 23, 2)["log_start_offset"] == 2
    assert result.outcomes["acked_lost"] == 0
    assert result.violations == []


def test_scenario_3_with_the_failures_in_the_run() -> None:
    """The same, but nobody helps: nobody leads in epoch 1, and B leads uncleanly in epoch 2."""
    both = [given_log(3, [[0, 0]], segments=[2], flushed_offset=flushed) for flushed in (3, 1)]
    case = tiered_case(
        rounds=30,
        topic_config={"segment.ms": 1000, "local.retention.bytes": RECORD_BYTES, "unclean.leader.election.enable": True},
        initial={
            "leader": 1,
            "leader_epoch": 0,
            "isr": [1, 2],
            "replicas": dict(zip((1, 2), both, strict=True)),
            "remote_segments": [remote(0, 1, [[0, 0]])],
        },
        workload=[produce(10), produce(20)],
        faults=[fault("broker_crash", 1, 15, broker=1), fault("power_loss", 1, 4, broker=2)],
    )
    result = simulate(case, watch=True)
    assert _log(at(result, 14, 2))[1:] == (2, 2, [[0, 0], [2, 1]])
    assert copied(result) == [(0, 1), (1, 1)]
    assert [row["in_lineage"] for row in result.remote_segments] == [False, True]
    for broker in (1, 2):
        assert _log(at(result, 29, broker)) == (2, 3, 3, [[0, 0], [2, 1]])
    assert {one.invariant for one in result.violations} <= EXCUSED_BY_UNCLEAN_ELECTIONS


def test_a_segment_of_another_lineage() -> None:
    assert not is_in_lineage([(0, 0)], 1, [(0, 0), (1, 1)], 3)
    assert is_in_lineage([(1, 1)], 1, [(0, 0), (1, 1)], 3)


def test_kip_1023_starts_at_the_pending_upload() -> None:
    """The example of its page: 6 and 7 are fetched instead of 3 to 7."""
    result = simulate(_new_follower(config={"follower.fetch.last.tiered.offset.enable": True}), watch=True)
    leader = at(result, 0, 1)
    assert (leader["earliest_local_offset"], leader["earliest_pending_upload_offset"]) == (3, 6)
    assert _log(at(result, 1, 2)) == (6, 6, 6, [[0, 0], [1, 3], [2, 5]])
    assert _log(at(result, 2, 2)) == (6, 8, 8, ALL_EPOCHS)
    assert result.outcomes["replicated_bytes"] == 2 * RECORD_BYTES
    assert simulate(_new_follower()).outcomes["replicated_bytes"] == 5 * RECORD_BYTES
    assert result.violations == []


@pytest.mark.parametrize("lag", [0, 4, 6, 9])
def test_a_follower_waits_for_metadata(lag: int) -> None:
    """B reads in round 2 + lag what A wrote in round 1; it asks for the first time in round 6."""
    case = _out_of_sync()
    lagging = fault("remote_metadata_lag", 0, None, broker=2, lag_rounds=lag)
    result = simulate({**case, "rounds": 15, "faults": [*case["faults"], lagging]}, watch=True)
    waiting = ["building_remote_log_aux"] * max(0, 2 + lag - 6)
    seen = states(result, 2)[5:]
    assert seen[: len(waiting) + 3] == ["moved_to_tiered_storage", *waiting, "aux_state_built", "fetched"]
    assert result.violations == []
