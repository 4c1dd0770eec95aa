"""Delayed upload (KIP-1241): a closed segment waits until it is old enough, or enough lies behind it."""

from __future__ import annotations

from typing import Any

import pytest

from .cases import RECORD_BYTES, alter, at, copied, fault, given_log, happened, produce, remote, tiered_case
from .simulate import Result, simulate

SEGMENT_RECORDS = 5
SEGMENT_BYTES = SEGMENT_RECORDS * RECORD_BYTES
BY_BYTES = {"remote.copy.lag.ms": -1, "remote.copy.lag.bytes": 2 * SEGMENT_BYTES}
AS_LOCAL = {"remote.copy.lag.ms": -1, "remote.copy.lag.bytes": -1}


def _case(topic_config: dict[str, Any], **given: Any) -> dict[str, Any]:
    """Segments of five records, five records a round to round 3: 0-4 is of round 0 and closed in round 1, and so on."""
    workload = [produce(0, 4, SEGMENT_RECORDS)]
    return tiered_case(topic_config={"segment.bytes": SEGMENT_BYTES, **topic_config}, **{"workload": workload, **given})


def _copied_rounds(result: Result) -> list[int | None]:
    return [row["copied_round"] for row in result.remote_segments]


LAGS: list[tuple[dict[str, int], list[int]]] = [
    ({}, [1, 2, 3]),  # as soon as it is closed
    ({"remote.copy.lag.ms": 2000}, [4, 5, 6]),  # 4 rounds after its newest record
    ({"remote.copy.lag.ms": 2001}, [5, 6, 7]),
    ({**BY_BYTES}, [2, 3]),  # two segments behind it; there never are behind 10-14
    ({**BY_BYTES, "remote.copy.lag.bytes": 2 * SEGMENT_BYTES + 1}, [3]),
    ({"remote.copy.lag.ms": 3000, "remote.copy.lag.bytes": 2 * SEGMENT_BYTES}, [2, 3, 8]),  # the one or the other
    ({"remote.copy.lag.ms": 3000, "remote.copy.lag.bytes": 0}, [1, 2, 3]),  # 0 is never a delay
    ({**AS_LOCAL, "local.retention.bytes": 2 * SEGMENT_BYTES}, [2, 3]),
    ({**AS_LOCAL, "local.retention.bytes": 0}, [1, 2, 3, 5]),  # 15-19 is committed in round 4, and rolled then by local retention
    ({**AS_LOCAL, "retention.bytes": 2 * SEGMENT_BYTES}, [2, 3]),  # local retention is as retention
    (AS_LOCAL, []),  # no limit: never
]


@pytest.mark.parametrize(("config", "rounds"), LAGS, ids=[str(config) for config, _ in LAGS])
def test_when_a_segment_is_copied(config: dict[str, int], rounds: list[int]) -> None:
    result = simulate(_case(config), watch=True)
    assert _copied_rounds(result) == rounds
    assert result.violations == []


def test_with_the_whole_delay_nothing_is_held_twice() -> None:
    """1500 bytes in round 2: the first segment is copied and, the retention check being later in the round, deleted."""
    result = simulate(_case({**AS_LOCAL, "local.retention.bytes": 2 * SEGMENT_BYTES}), watch=True)
    assert [at(result, round_, 1)["local_segments"] for round_ in (1, 2, 3)] == [[0, 5], [5, 10], [10, 15]]
    assert [row[0] for row in happened(result, "local_delete") if row[1] == 2] == [3, 4]  # it reads the metadata a round later


def test_the_delay_ends_a_round_before_local_retention_by_age() -> None:
    """Retention wants more than 2000 ms, the delay 2000 ms."""
    result = simulate(_case({**AS_LOCAL, "local.retention.ms": 2000}), watch=True)
    assert _copied_rounds(result)[:3] == [4, 5, 6]
    assert [row[0] for row in happened(result, "local_delete") if row[1] == 1][:3] == [5, 6, 7]
    assert result.violations == []


def test_nothing_is_deleted_before_its_late_copy() -> None:
    """The store is away when local retention is over: disks keep what is due, and give it back when it is copied."""
    config = {**AS_LOCAL, "local.retention.bytes": SEGMENT_BYTES}
    result = simulate(_case(config, faults=[fault("remote_storage_outage", 0, 12)], rounds=30), watch=True)
    assert [at(result, 11, broker)["local_segments"] for broker in (1, 2)] == [[0, 5, 10, 15]] * 2
    assert [at(result, 29, broker)["local_segments"] for broker in (1, 2)] == [[15]] * 2
    assert copied(result) == [(0, 4), (5, 9), (10, 14)]
    assert result.violations == []


def test_what_waits_is_not_copied_once_copying_is_disabled() -> None:
    """Then local retention is retention, and takes it without a copy."""
    config = {"remote.copy.lag.ms": 2000, "retention.bytes": 2 * SEGMENT_BYTES}
    result = simulate(_case(config, commands=[alter(3, remote_log_copy_disable=True)]), watch=True)
    assert copied(result) == []
    assert at(result, 3, 1)["log_start_offset"] == at(result, 3, 1)["local_log_start_offset"] == 10
    assert result.violations == []


def test_a_delay_as_long_as_total_retention() -> None:
    """local.retention.ms -2: copied when retention is over, for the next expiry, a round later, to delete."""
    result = simulate(_case({**AS_LOCAL, "retention.ms": 2000}), watch=True)
    assert [row[0] for row in happened(result, "copy_finished")][:3] == [4, 5, 6]
    assert [row[0] for row in happened(result, "remote_delete")][:3] == [5, 6, 7]
    assert at(result, 7, 1)["log_start_offset"] == 15
    assert result.violations == []


def test_the_delay_is_changed_while_segments_wait() -> None:
    result = simulate(_case(AS_LOCAL, commands=[alter(7, remote_copy_lag_ms=0)]), watch=True)
    assert _copied_rounds(result) == [7, 7, 7]


def test_a_follower_behind_the_upload_gets_what_waits() -> None:
    """KIP-1023: it starts at the earliest pending upload, 35 without a delay and 5 with it."""
    replicated = []
    for lag in (0, -1):
        initial = {
            "leader": 1,
            "leader_epoch": 0,
            "isr": [1],
            "replicas": {1: given_log(40, [[0, 0]], local=5, segments=list(range(10, 40, 5))), 2: given_log(0, [])},
            "remote_segments": [remote(0, 4)],
        }
        case = _case(
            {"remote.copy.lag.ms": lag}, workload=[], initial=initial, config={"follower.fetch.last.tiered.offset.enable": True}
        )
        case["faults"] = [fault("link_cut", 0, 4, broker=1, peer=2)]
        result = simulate(case, watch=True)
        replicated.append(result.outcomes["replicated_bytes"])
        assert at(result, 19, 2)["leo"] == 40 and result.violations == []
    assert replicated == [5 * RECORD_BYTES, 35 * RECORD_BYTES]


def test_an_unclean_election_loses_the_same_and_leaves_less_behind() -> None:
    """2 has 5 records of 40. No leader takes back what is remote: 5-34, copied when there is no delay, are nobody's."""
    left, lost = [], []
    for lag in (0, -1):
        initial = {
            "leader": 1,
            "leader_epoch": 0,
            "isr": [1],
            "replicas": {1: given_log(40, [[0, 0]], segments=list(range(5, 40, 5))), 2: given_log(5, [[0, 0]])},
        }
        config = {"remote.copy.lag.ms": lag, "unclean.leader.election.enable": True}
        faults = [fault("broker_crash", 1, broker=1), fault("link_cut", 0, 1, broker=1, peer=2)]
        result = simulate(_case(config, workload=[], initial=initial, faults=faults))
        lost.append(result.outcomes["acked_lost"])
        left.append(sum(row["stored_bytes"] for row in result.remote_segments if not row["in_lineage"]))
        assert result.outcomes["unclean_elections"] == 1
    assert lost == [35, 35]
    assert left == [30 * RECORD_BYTES, 0]


def test_without_copies_the_keys_mean_nothing() -> None:
    config = {"remote.storage.enable": False, "retention.bytes": SEGMENT_BYTES}
    plain, delayed = simulate(_case(config)), simulate(_case({**config, **BY_BYTES}))
    assert plain.trace == delayed.trace and plain.events == delayed.events


def test_who_leads_next_counts_its_own_segments() -> None:
    """What lies behind is behind on the new leader's disk: its segments begin elsewhere."""
    initial = {
        "leader": 1,
        "leader_epoch": 0,
        "isr": [1, 2],
        "replicas": {1: given_log(20, [[0, 0]], segments=[5, 10, 15]), 2: given_log(20, [[0, 0]], segments=[8, 16])},
        "remote_segments": [remote(0, 4)],
    }
    faults = [fault("broker_crash", 1, broker=1)]
    result = simulate(
        _case({**BY_BYTES, "remote.copy.lag.bytes": 8 * RECORD_BYTES}, initial=initial, workload=[], faults=faults), watch=True
    )
    # 1 in round 0: behind 5-9 lie 10 records, behind 10-14 only 5. 2 then: behind 8-15 lie 4.
    assert copied(result) == [(0, 4), (5, 9)]
    assert result.violations == []
