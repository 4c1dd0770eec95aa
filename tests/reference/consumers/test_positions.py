"""Where groups start, how fast they read, what resets them, and what they wait for."""

from __future__ import annotations

from typing import Any

import pytest

from ..tiered.cases import RECORD_BYTES, alter, fault, produce, tiered_case
from .cases import counts, group, one_log, seen, unread
from .simulate import simulate


@pytest.mark.parametrize(
    ("start", "first"), [("earliest", 0), ("latest", 20), (None, 20), (7, 7)], ids=["earliest", "latest", "reset", "offset"]
)
def test_start(start: Any, first: int) -> None:
    """Without a start auto.offset.reset says it, whose default is latest; the first round finds the position only."""
    result = simulate(one_log(20, [group(start=start, records_per_round=4)], rounds=4), watch=True)
    assert seen(result) == [first, *(min(20, first + 4 * rounds) for rounds in (1, 2, 3))]
    assert seen(result, key="answer")[0] == "started"
    assert counts(result)["records"] == min(20, first + 12) - first
    assert result.violations == []


def test_no_position_and_no_policy() -> None:
    result = simulate(one_log(20, [group(auto_offset_reset="none")], rounds=3))
    assert seen(result) == [None, None, None]
    assert counts(result)["stopped"] == "no_position"


def test_how_much_a_fetch_brings() -> None:
    """Whole records within the bytes; one at least."""
    groups = [
        group("bytes", start=0, max_partition_fetch_bytes=2 * RECORD_BYTES + 99),
        group("rate", start=0, bytes_per_round=3 * RECORD_BYTES),
        group("one", start=0, fetch_max_bytes=1),
        group("all", start=0),
    ]
    result = simulate(one_log(20, groups, rounds=3), watch=True)
    assert seen(result, "bytes") == [0, 2, 4]
    assert seen(result, "rate") == [0, 3, 6]
    assert seen(result, "one") == [0, 1, 2]
    assert seen(result, "all") == [0, 20, 20]
    assert counts(result, "all")["page_cache_bytes"] == 20 * RECORD_BYTES
    assert result.violations == []


def test_a_reader_at_the_end_follows_the_high_watermark() -> None:
    """A record appended in round r is committed in r + 1, and read in it."""
    result = simulate(one_log(0, [group(start=0)], rounds=8, workload=[produce(2, 6, records=3)]), watch=True)
    assert seen(result) == [0, 0, 0, 3, 6, 9, 12, 12]
    assert counts(result)["max_lag"] == counts(result)["lag"] == 0
    assert result.unread == [] and counts(result)["waited_rounds"] == {}  # an ordinary commit is no waiting
    assert result.violations == []


def test_a_group_that_pauses_goes_on_where_it_was() -> None:
    rows = [group(start=0, records_per_round=2, to_round=4), group(start="latest", records_per_round=5, from_round=10)]
    result = simulate(one_log(20, rows, rounds=14), watch=True)
    assert [(row["round"], row["position"]) for row in result.trace] == [
        *[(0, 0), (1, 2), (2, 4), (3, 6)],
        *[(10, 11), (11, 16), (12, 20), (13, 20)],
    ]
    assert counts(result)["max_lag"] == 20
    assert result.violations == []


def test_records_deleted_before_they_were_read() -> None:
    """DeleteRecords to 12 in round 2: the position 4 is gone, reset to the log start in one go."""
    deletes = [{"round": 2, "kind": "delete_records", "offset": 12}]
    groups = [
        group("earliest", start=0, records_per_round=4, auto_offset_reset="earliest"),
        group("latest", start=0, records_per_round=4),
        group("none", start=0, records_per_round=4, auto_offset_reset="none"),
    ]
    result = simulate(one_log(20, groups, rounds=6, commands=deletes), watch=True)
    assert seen(result, "earliest") == [0, 4, 12, 16, 20, 20]
    assert seen(result, "latest") == [0, 4, 20, 20, 20, 20]
    assert seen(result, "none") == [0, 4, 4, 4, 4, 4]
    assert unread(result) == [("below_log_start", 2, 3, 4, 12), ("below_log_start", 2, 3, 4, 20)]
    assert [counts(result, name)["skipped"] for name in ("earliest", "latest", "none")] == [8, 16, 0]
    assert counts(result, "none")["stopped"] == "below_log_start"
    assert result.violations == []


def test_above_the_log_end() -> None:
    groups = [group("earliest", start=30, auto_offset_reset="earliest"), group("latest", start=30)]
    result = simulate(one_log(20, groups, rounds=4), watch=True)
    assert seen(result, "earliest") == [30, 0, 20, 20]
    assert seen(result, "latest") == [30, 20, 20, 20]
    assert [counts(result, name)["read_lost"] for name in ("earliest", "latest")] == [0, 0]  # it had read nothing there


def test_not_committed() -> None:
    """Broker 2 is away and min.insync.replicas is 2: the HW stays at 20 (4.x), what comes with acks=1 can't be read."""
    case = one_log(
        20,
        [group(start=20)],
        rounds=10,
        topic_config={"min.insync.replicas": 2},
        workload=[produce(3, acks="1", records=5)],
        faults=[fault("broker_crash", 2, 6, broker=2)],
    )
    result = simulate(case, watch=True)
    # 20 to 24 come in round 3; the first round of that would be an ordinary one; 2 is back in the ISR in round 7
    assert seen(result) == [20] * 7 + [25] * 3
    assert unread(result) == [("not_committed", 4, 7, 20, 25)]
    assert counts(result)["waited_rounds"] == {"not_committed": 3}
    assert result.violations == []


def test_open_transaction() -> None:
    """What an open transaction began at, and all behind it, is kept from those that read what is committed."""
    case = one_log(
        20,
        [group("committed", start=0, isolation_level="read_committed"), group("all", start=0)],
        rounds=10,
        workload=[produce(2, 4)],
        faults=[fault("open_transaction", 2, 6)],
    )
    result = simulate(case, watch=True)
    assert seen(result, "all") == [0, 20, 20, 21, 22, 22, 22, 22, 22, 22]
    assert seen(result, "committed") == [0, 20, 20, 20, 20, 20, 22, 22, 22, 22]
    assert unread(result) == [("open_transaction", 3, 6, 20, 22)]
    assert result.violations == []


def test_leaderless() -> None:
    """Leader 1 dies in round 2, is fenced in 4, and 2 leads; what there was to read was up to 20."""
    case = one_log(20, [group(start=0, records_per_round=4)], rounds=8, faults=[fault("broker_crash", 2, 6, broker=1)])
    result = simulate(case, watch=True)
    assert seen(result) == [0, 4, 4, 4, 8, 12, 16, 20]
    assert unread(result) == [("leaderless", 2, 4, 4, 20)]
    assert counts(result)["waited_rounds"] == {"leaderless": 2}
    assert counts(result)["truncations"] == 0
    assert result.violations == []


def test_who_has_read_all_misses_nothing_while_nobody_leads() -> None:
    case = one_log(20, [group(start="latest")], rounds=8, faults=[fault("broker_crash", 2, 6, broker=1)])
    result = simulate(case)
    assert result.unread == [] and counts(result)["waited_rounds"] == {}
    assert seen(result, key="answer")[2] == "leaderless"


def test_clients_cut() -> None:
    """Isolated with its clients: the leader commits nothing and serves nobody. Without them it does serve."""
    cut = [fault("isolation", 2, 3, broker=1, clients=True)]
    seen_by_clients = [fault("isolation", 2, 3, broker=1)]
    for faults, position in ((cut, 4), (seen_by_clients, 8)):
        result = simulate(one_log(20, [group(start=0, records_per_round=4)], rounds=4, faults=faults))
        assert seen(result)[2] == position


def test_a_rack_that_is_cut_off() -> None:
    """Leader and follower are in it, in rounds 4 to 7: groups read on what they commit, as far as they reach them.

    A record a round is committed in the round after it came. Without clients the last one that is read is of round 2; isolated
    one by one the two commit nothing, and the leader is reached all the same.
    """
    rack = fault("rack_isolation", 4, 8, rack="a")
    alone = [fault("isolation", 4, 8, broker=broker) for broker in (1, 2)]
    for faults, positions in (
        ([rack], [24, 25, 26, 27]),
        ([{**rack, "clients": True}], [23] * 4),
        (alone, [23] * 4),
    ):
        racks = {1: "a", 2: "a", 3: "b"}
        case = one_log(20, [group(start=20)], rounds=8, workload=[produce(0, 8)], faults=faults, racks=racks)
        result = simulate(case, watch=True)
        assert seen(result) == [20, 21, 22, 23, *positions]
        assert counts(result)["waited_rounds"].get("leaderless", 0) == (4 if faults[0].get("clients") else 0)
        assert result.violations == []


def test_the_end_is_not_known_right_after_an_election() -> None:
    """KIP-207: 2 leads from round 0 on, LEO 24, HW 20, which can't rise while 1 is away: it is back in the ISR in round 6."""
    logs = one_log(20, [group(start="latest", from_round=3)], rounds=8)
    logs["initial"]["replicas"] = {broker: {**log, "leo": 24, "hw": 20} for broker, log in logs["initial"]["replicas"].items()}
    logs["topic_config"]["min.insync.replicas"] = 2
    result = simulate({**logs, "faults": [fault("controlled_shutdown", 0, 6, broker=1)]})
    assert seen(result) == [None, None, None, 24, 24]
    assert counts(result)["waited_rounds"] == {"offset_unavailable": 3}


def test_topic_deleted() -> None:
    case = one_log(20, [group(start=0, records_per_round=4)], rounds=6, commands=[{"round": 2, "kind": "delete_topic"}])
    result = simulate(case)
    assert counts(result)["stopped"] == "topic_deleted"
    assert counts(result)["position"] == 4


def test_remote_storage_turned_off() -> None:
    """KIP-950: the log starts at the local start, 12; what was remote only is gone for those that had not read it."""
    off = alter(2, remote_storage_enable=False, remote_log_delete_on_disable=True)
    case = one_log(
        20,
        [group(start=0, records_per_round=4, auto_offset_reset="earliest")],
        rounds=6,
        log={"local": 12},
        initial={"remote_segments": [{"base_offset": 0, "end_offset": 11, "bytes": 12 * RECORD_BYTES}]},
        commands=[off],
    )
    result = simulate(case, watch=True)
    assert seen(result) == [0, 4, 12, 16, 20, 20]
    assert unread(result) == [("below_log_start", 2, 3, 4, 12)]
    assert counts(result)["remote_bytes"] == 4 * RECORD_BYTES
    assert result.violations == []


def test_no_readers() -> None:
    result = simulate(tiered_case(rounds=2, workload=[produce(0)]), watch=True)
    assert (result.trace, result.consumer_groups, result.unread) == ([], [], [])
