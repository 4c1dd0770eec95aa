"""The remote log manager in time: copies, outages, quotas, leadership, transactions, expiry, disabling, deleting."""

from __future__ import annotations

from typing import Any

import pytest

from .cases import RECORD_BYTES, alter, at, copied, fault, given_log, happened, produce, shorter_follower, tiered_case
from .simulate import LIST_OFFSETS, Result, simulate, simulate_together

SEGMENT_RECORDS = 5
SEGMENT_BYTES = SEGMENT_RECORDS * RECORD_BYTES
BYTES_PER_SECOND = RECORD_BYTES * 2  # one record in a round of 500 ms


def _case(topic_config: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    """Segments of five records, five records a round to round 4."""
    workload = [produce(0, 4, SEGMENT_RECORDS)]
    return tiered_case(topic_config={"segment.bytes": SEGMENT_BYTES, **(topic_config or {})}, **{"workload": workload, **given})


def _states(result: Result) -> list[str]:
    return [row["state"] for row in result.remote_segments]


def _copied_rounds(result: Result) -> list[int | None]:
    return [row["copied_round"] for row in result.remote_segments]


def test_a_segment_is_copied_when_it_ends_below_the_high_watermark() -> None:
    """0-4 is closed in round 1; the follower has it at that round's end, and the leader hears of it in round 2."""
    result = simulate(_case(), watch=True)
    assert copied(result) == [(0, 4), (5, 9), (10, 14)]
    assert _copied_rounds(result) == [1, 2, 3]
    assert [at(result, round_, 1)["hw"] for round_ in range(4)] == [0, 5, 10, 15]
    assert at(result, 19, 1)["local_segments"] == [0, 5, 10, 15]
    assert result.violations == []


def test_a_copy_takes_as_long_as_its_bytes() -> None:
    result = simulate(_case(remote_storage={"copy_bytes_per_second": 3 * BYTES_PER_SECOND}), watch=True)
    # from round 1 on 3 records a round: 5, 10, 15 records are there in rounds 2, 4, 5
    assert _copied_rounds(result) == [2, 4, 5]
    assert [row[0] for row in happened(result, "copy_started")] == [1, 2, 4]
    assert result.outcomes["remote_copy_bytes"] == 3 * SEGMENT_BYTES
    assert result.outcomes["remote_copied_again_bytes"] == 0
    assert result.violations == []


def test_a_slow_store_makes_copies_slow() -> None:
    slow = [fault("slow_remote_storage", 0, 10, bytes_per_second=BYTES_PER_SECOND // 2)]
    result = simulate(_case(faults=slow), watch=True)
    assert _copied_rounds(result) == [10, 10, 10]


def test_the_task_interval() -> None:
    result = simulate(_case(config={"remote.log.manager.task.interval.ms": 2000}), watch=True)
    assert _copied_rounds(result) == [4, 4, 4]  # it ran in round 0


def test_an_outage_delays_and_nothing_is_deleted() -> None:
    """Every try leaves a segment in DELETE_STARTED: rounds 1, 2, 4, 8 by back-off.

    Expiry finds them only once it gets past the copy that came after, which begins where they do.
    """
    outage = [fault("remote_storage_outage", 0, 12)]
    result = simulate(
        _case({"local.retention.bytes": 1}, faults=outage, rounds=40, commands=[alter(30, retention_bytes=3 * SEGMENT_BYTES)]),
        watch=True,
    )
    assert [row[0] for row in happened(result, "copy_failed")] == [1, 2, 4, 8]
    assert at(result, 15, 1)["local_segments"][:4] == [0, 5, 10, 15]
    assert at(result, 15, 1)["latest_tiered_offset"] == -1
    assert [row[0] for row in happened(result, "remote_delete")] == [30] * 5
    assert _states(result)[:5] == ["DELETE_FINISHED"] * 5
    assert copied(result) == [(5, 9), (10, 14)]
    assert at(result, 23, 1)["local_log_start_offset"] == 15
    assert result.outcomes["remote_copy_errors"] == 4
    assert result.violations == []


def test_an_outage_in_the_middle_of_a_copy() -> None:
    store = {"copy_bytes_per_second": 2 * BYTES_PER_SECOND}
    result = simulate(_case(faults=[fault("remote_storage_outage", 2, 3)], remote_storage=store), watch=True)
    assert _states(result)[0] == "DELETE_FINISHED"
    assert copied(result) == [(0, 4), (5, 9), (10, 14)]
    assert result.outcomes["remote_copy_bytes"] == 3 * SEGMENT_BYTES + 2 * RECORD_BYTES
    assert result.outcomes["remote_copied_again_bytes"] == SEGMENT_BYTES
    assert result.violations == []


def test_metadata_in_the_store_writes_nothing_in_an_outage() -> None:
    store = {"metadata": "list"}
    result = simulate(_case(faults=[fault("remote_storage_outage", 0, 12)], remote_storage=store), watch=True)
    assert _states(result) == ["COPY_FINISHED"] * 3
    assert result.violations == []


def test_quota() -> None:
    """One segment within 11 s is as much as the quota has; a segment may start as long as it is not exceeded (KIP-956)."""
    quota = {"remote.log.manager.copy.max.bytes.per.second": SEGMENT_BYTES // 11 - 1}
    result = simulate(_case(config=quota, rounds=60), watch=True)
    assert _copied_rounds(result) == [1, 23, 45]
    assert result.violations == []


def test_partitions_share_quota_and_threads() -> None:
    quota = {"remote.log.manager.copy.max.bytes.per.second": SEGMENT_BYTES // 11 - 1}
    first, second = simulate_together([_case(config=quota, rounds=60), _case(config=quota, rounds=60)])
    assert (_copied_rounds(first), _copied_rounds(second)) == ([1, 45], [23])
    one_thread = {"remote.log.manager.copier.thread.pool.size": 1}
    store = {"copy_bytes_per_second": 5 * BYTES_PER_SECOND // 2}
    first, second = simulate_together([_case(config=one_thread, remote_storage=store) for _ in range(2)])
    assert max(round_ or 0 for round_ in _copied_rounds(first)) < min(round_ or 0 for round_ in _copied_rounds(second))
    alone = simulate(_case(config=one_thread, remote_storage=store))
    assert _copied_rounds(alone) == _copied_rounds(first)


def _leader_stops(on_leadership_lost: str) -> dict[str, Any]:
    """The leader, 2, is replaced by the preferred one while it copies 0-4."""
    return _case(
        replicas=[1, 2],
        initial={"leader": 2, "leader_epoch": 0, "isr": [1, 2], "replicas": {1: given_log(0, []), 2: given_log(0, [])}},
        remote_storage={"copy_bytes_per_second": 2 * BYTES_PER_SECOND, "on_leadership_lost": on_leadership_lost},
        commands=[{"round": 2, "kind": "preferred_leader_election"}],
    )


def test_leadership_lost_while_copying_cancels() -> None:
    result = simulate(_leader_stops("cancel"), watch=True)
    assert _states(result)[0] == "COPY_STARTED"
    assert [row["broker"] for row in result.remote_segments] == [2, 1, 1, 1]
    assert copied(result) == [(0, 4), (5, 9), (10, 14)]
    assert result.outcomes["remote_copied_again_bytes"] == SEGMENT_BYTES
    assert result.violations == []


def test_leadership_lost_while_copying_finishes() -> None:
    """KIP-405 lets it end; the new leader, who did not know, copies the same again, which replaces it."""
    result = simulate(_leader_stops("finish"), watch=True)
    assert copied(result).count((0, 4)) == 2
    assert sorted({row["broker"] for row in result.remote_segments}) == [1, 2]
    assert result.outcomes["remote_copied_again_bytes"] == SEGMENT_BYTES
    assert result.violations == []


@pytest.mark.parametrize("on_leadership_lost", ["cancel", "finish"])
def test_what_was_copied_twice_expires(on_leadership_lost: str) -> None:
    case = {**_leader_stops(on_leadership_lost), "rounds": 30, "commands": [*_leader_stops("cancel")["commands"]]}
    case["commands"].append(alter(12, retention_ms=1000))
    result = simulate(case, watch=True)
    assert set(_states(result)) == {"DELETE_FINISHED"}
    assert result.violations == []


def test_an_open_transaction_stops_copies() -> None:
    """It begins at offset 5, in round 1."""
    result = simulate(_case({"local.retention.bytes": 1}, faults=[fault("open_transaction", 1, 12)]), watch=True)
    assert at(result, 11, 1)["latest_tiered_offset"] == 4
    assert at(result, 11, 1)["local_log_start_offset"] == 5
    assert at(result, 19, 1)["latest_tiered_offset"] == 14
    assert at(result, 19, 1)["local_log_start_offset"] == 15
    assert result.violations == []


def test_deletion_that_fails_is_tried_again() -> None:
    """The log start has risen already; the segment stays in DELETE_STARTED until the store is back."""
    outage = [fault("remote_storage_outage", 10, 14)]
    result = simulate(_case({"retention.bytes": 3 * SEGMENT_BYTES}, faults=outage, workload=[produce(0, 12, 5)]), watch=True)
    away = [row for row in result.trace if row["broker"] == 1 and row["round"] == 10]
    assert away[0]["log_start_offset"] > 0
    assert result.outcomes["remote_delete_errors"] > 0
    assert not {"DELETE_STARTED"} & set(_states(result))
    assert at(result, 19, 1)["log_start_offset"] == at(result, 19, 2)["log_start_offset"] == 45
    assert result.violations == []


def test_total_retention_while_the_store_is_away_keeps_everything() -> None:
    """Nothing is remote, so nothing expires; local retention waits for copies."""
    outage = [fault("remote_storage_outage", 0)]
    result = simulate(_case({"retention.bytes": SEGMENT_BYTES, "retention.ms": 500}, faults=outage), watch=True)
    assert (at(result, 19, 1)["log_start_offset"], at(result, 19, 1)["local_log_start_offset"]) == (0, 0)
    assert result.violations == []


def test_a_superseded_leader_without_metadata_copies_nothing() -> None:
    cut = [fault("isolation", 1, 8, broker=1)]
    result = simulate(_case(workload=[produce(0, 12, 5, "1")], faults=cut), watch=True)
    assert {row["broker"] for row in result.remote_segments} == {2}
    assert not {one.invariant for one in result.violations} & {"NoGapBetweenTiers", "RemoteBelowLastStable"}


@pytest.mark.parametrize(("metadata", "copied_in"), [("topic", [1, 2, 3, 19]), ("list", [*range(1, 12), *range(13, 20)])])
def test_a_rack_that_is_cut_off(metadata: str, copied_in: list[int]) -> None:
    """Leader and follower have each other in rounds 4 to 11, and go on committing.

    By the store's own metadata copies go on. By a topic's, which is not in the rack, tasks fail in rounds 4, 5, 7 and 11, the
    next one is eight rounds later. In round 12 the leader is elected again and takes nothing yet.
    """
    cut = [fault("rack_isolation", 4, 12, rack="a")]
    store = {"metadata": metadata}
    case = _case(workload=[produce(0, 20, 5)], faults=cut, racks={1: "a", 2: "a", 3: "b"}, remote_storage=store)
    result = simulate(case, watch=True)
    assert [at(result, round_, 1)["hw"] for round_ in range(14)] == [*range(0, 60, 5), 55, 60]
    assert [at(result, round_, 2)["leo"] for round_ in range(14)] == [*range(5, 65, 5), 60, 65]
    assert sorted({row[0] for row in happened(result, "copy_finished")}) == copied_in
    assert result.violations == []


def test_unclean_election_makes_latest_tiered_fall_back() -> None:
    """99 -> 79: the new leader has less; what it has not is copied again, in its own lineage."""
    faults = [fault("broker_crash", 1, broker=1), fault("link_cut", 0, 1, broker=2, peer=1)]
    result = simulate(shorter_follower({}, faults=faults), watch=True)
    assert at(result, 0, 1)["latest_tiered_offset"] == 99
    assert at(result, 5, 2)["latest_tiered_offset"] == 79
    assert at(result, 19, 2)["latest_tiered_offset"] == 119
    assert [(row["base_offset"], row["in_lineage"]) for row in result.remote_segments][4:] == [
        (80, False), (80, True), (100, True),
    ]  # fmt: skip


def test_copying_disabled_goes_on_expiring() -> None:
    """KIP-950: local retention is retention again."""
    commands = [alter(6, remote_log_copy_disable=True), alter(10, retention_bytes=2 * SEGMENT_BYTES)]
    result = simulate(_case({"local.retention.bytes": 1}, workload=[produce(0, 9, 5)], commands=commands, rounds=30), watch=True)
    assert copied(result) == []
    assert at(result, 9, 1)["local_log_start_offset"] == at(result, 6, 1)["local_log_start_offset"]
    assert at(result, 29, 1)["log_start_offset"] == 35
    assert [row[0] for row in happened(result, "copy_started") if row[0] > 6] == []
    assert result.violations == []


def test_turning_remote_storage_off_takes_what_is_there() -> None:
    config = {"remote.storage.enable": False, "remote.log.delete.on.disable": True}
    command = {"round": 8, "kind": "alter_config", "config": config}
    result = simulate(_case({"local.retention.bytes": SEGMENT_BYTES}, commands=[command]), watch=True)
    assert at(result, 7, 1)["earliest_offset"] == 0 and at(result, 7, 1)["earliest_local_offset"] == 15
    assert at(result, 9, 1)["earliest_offset"] == at(result, 9, 2)["log_start_offset"] == 15
    assert set(_states(result)) == {"DELETE_FINISHED"}
    assert at(result, 9, 1)["latest_tiered_offset"] == -1
    assert result.violations == []


def test_turning_it_off_without_deleting_is_refused() -> None:
    command = {"round": 8, "kind": "alter_config", "config": {"remote.storage.enable": False, "retention.ms": 10**9}}
    result = simulate(_case({"local.retention.bytes": SEGMENT_BYTES}, commands=[command]), watch=True)
    assert at(result, 19, 1)["latest_tiered_offset"] == 14
    assert copied(result) == [(0, 4), (5, 9), (10, 14)]


def test_turning_it_off_and_on_again_begins_anew() -> None:
    off = {"remote.storage.enable": False, "remote.log.delete.on.disable": True}
    commands = [{"round": 8, "kind": "alter_config", "config": off}, alter(11, remote_storage_enable=True)]
    outage = [fault("remote_storage_outage", 8, 13)]
    result = simulate(_case(commands=commands, faults=outage, rounds=40), watch=True)
    assert _states(result)[:3] == ["DELETE_FINISHED"] * 3
    assert copied(result) == [(0, 4), (5, 9), (10, 14)]
    assert result.violations == []


def test_a_deleted_topic_leaves_nothing_behind() -> None:
    outage = [fault("remote_storage_outage", 9, 15)]
    case = _case(commands=[{"round": 10, "kind": "delete_topic"}], faults=outage)
    result = simulate(case, watch=True)
    assert max(row["round"] for row in result.trace) == 9
    assert set(_states(result)) == {"DELETE_FINISHED"}
    assert {row["deleted_round"] for row in result.remote_segments} == {17}
    assert all(row["stored_bytes"] == 0 for row in result.remote_segments)
    assert result.outcomes["leader"] == -1 and result.outcomes["acked_lost"] == 0


def test_delete_records_takes_segments_without_a_copy() -> None:
    outage = [fault("remote_storage_outage", 0)]
    commands = [{"round": 8, "kind": "delete_records", "offset": 12}]
    result = simulate(_case(commands=commands, faults=outage), watch=True)
    for broker in (1, 2):
        row = at(result, 19, broker)
        assert (row["log_start_offset"], row["local_log_start_offset"], row["local_segments"]) == (12, 12, [10, 15])
    assert result.violations == []


def test_a_new_leader_finds_the_log_start_of_the_old_one() -> None:
    """The old leader expires in the round in which it dies: 2 has not heard of its log start, but finds it."""
    case = _case(
        {"retention.bytes": 2 * SEGMENT_BYTES},
        workload=[produce(0, 6, 5)],
        faults=[fault("link_cut", 7, 12, broker=2, peer=1), fault("broker_crash", 9, broker=1)],
        commands=[alter(0, retention_bytes=-1), alter(8, retention_bytes=2 * SEGMENT_BYTES)],
    )
    result = simulate(case, watch=True)
    assert at(result, 8, 1)["log_start_offset"] == 20
    assert at(result, 10, 2)["log_start_offset"] == 0
    assert at(result, 12, 2)["log_start_offset"] == 20
    assert result.violations == []


def test_list_offsets_columns() -> None:
    row = at(simulate(_case({"local.retention.bytes": SEGMENT_BYTES})), 19, 1)
    assert {key: row[key] for key in LIST_OFFSETS} == {
        "latest_offset": 20,
        "earliest_offset": 0,
        "max_timestamp_offset": 15,
        "earliest_local_offset": 15,
        "latest_tiered_offset": 14,
        "earliest_pending_upload_offset": 15,
    }
    assert at(simulate(_case()), 19, 2)["latest_offset"] is None
