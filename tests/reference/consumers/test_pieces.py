"""Remote reads of more than one segment in a round, piece by piece: where they end, what they need and what they count. By hand.

Records have 100 bytes where nothing else is said, a round 500 ms. `m` is how many remote fetches of a reader a round holds.
"""

from __future__ import annotations

from typing import Any

import pytest

from ..tiered.cases import RECORD_BYTES, fault, given_log, produce, remote, tiered_case
from . import simulate as simulation
from .cases import EPOCH_0, counts, group, indexes, pieces, remote_log, requests, seen, unread
from .rules import MUTANTS
from .simulate import simulate, simulate_together

QUOTA = "remote.log.manager.fetch.max.bytes.per.second"
THREADS = "remote.log.reader.threads"
INDEXES = "remote.log.index.file.cache.total.size.bytes"


def _reader(records_a_fetch: int, name: str = "g", **given: Any) -> dict[str, Any]:
    return group(name, **{"start": 0, **given}, max_partition_fetch_bytes=records_a_fetch * RECORD_BYTES)


def _of_bytes(consumers: list[dict[str, Any]], *of_each: int, **given: Any) -> dict[str, Any]:
    """Segments of 4 records, the first of so many bytes."""
    case = remote_log(consumers, 4, **given)
    segments = case["initial"]["remote_segments"]
    for at, size_bytes in enumerate(of_each):
        segments[at] = {**segments[at], "bytes": size_bytes}
    return case


def test_several_short_segments_in_a_round() -> None:
    """m = 5, segments of 4, which one fetch brings: 5 of them, up to the local log; then its 20 records."""
    result = simulate(remote_log([_reader(50)], 4, rounds=8, fetches_per_round=5), watch=True)
    assert seen(result) == [0, 20, 40, 60, 80, 100, 120, 120]
    assert seen(result, key="answer")[5:] == ["remote", "page_cache", "empty"]
    assert requests(result) == pieces(result) == [5] * 5
    assert indexes(result) == (0, 25)
    assert counts(result)["remote_bytes"] == 10_000
    assert result.violations == []


def test_the_fetches_of_a_round_are_those_of_all_pieces() -> None:
    """m = 4, 2 records a fetch, segments of 5: 2 + 2 + 1 and 2 of the next; 2 + 1 and 2 + 2; 1 and 2 + 2 + 1: 20 in 3 rounds."""
    result = simulate(remote_log([_reader(2)], 5, fetches_per_round=4), watch=True)
    assert seen(result) == [0, 7, 14, 20, 27, 34, 40]
    assert requests(result) == [4] * 6
    assert pieces(result) == [2] * 6
    assert indexes(result) == (24 - 8, 8)
    assert result.violations == []


@pytest.mark.parametrize(
    ("records", "positions", "needed", "read_of"),
    [
        # 0 to 3, and 4 and 5 of 4 to 7; 6 and 7 in hand and 8 to 11; and so on
        (6, [0, 6, 12, 18, 24], [2, 1, 2, 1], [2, 2, 2, 2]),
        # 8 and 9 are of the third; 10 and 11 are in hand then, with 12 to 15 and 16 to 19
        (10, [0, 10, 20, 30, 40], [3, 2, 3, 2], [3, 3, 3, 3]),
        # 9 ends one record into the third; then 3 in hand, 4, and 2 of 4; 2 in hand, 4, and 3 of 4; 1 in hand and 8
        (9, [0, 9, 18, 27, 36], [3, 2, 2, 2], [3, 3, 3, 3]),
    ],
)
@pytest.mark.parametrize("by", ["records", "bytes", "quota", "store"])
def test_a_round_ends_within_a_later_piece(
    by: str, records: int, positions: list[int], needed: list[int], read_of: list[int]
) -> None:
    """m = 10, segments of 4, which one fetch brings. What a round leaves of the last one is in hand, and is taken in the next.

    A record's bytes less one more let no other record through. Under the quota all that is wanted beyond is cut.
    """
    size_bytes = (records + 1) * RECORD_BYTES - 1
    given: dict[str, Any] = {"rounds": 5, "fetches_per_round": 10}
    of_reader: dict[str, Any] = {}
    if by == "records":
        of_reader["records_per_round"] = records
    elif by == "bytes":
        of_reader["bytes_per_round"] = size_bytes
    elif by == "quota":
        given["config"] = {QUOTA: 2 * size_bytes}
    else:
        given["remote_storage"] = {"read_bytes_per_second": 2 * size_bytes}
    result = simulate(remote_log([_reader(50, **of_reader)], 4, **given), watch=True)
    assert seen(result) == positions
    assert (requests(result), pieces(result)) == (needed, read_of)
    assert indexes(result) == (0, sum(needed))
    assert counts(result)["throttled_rounds"] == (4 if by == "quota" else 0)
    assert result.violations == []


def test_bytes_of_pieces_of_unlike_records() -> None:
    """Records of 100.5 bytes, of 250, of 60 and of 100. Of 1000 bytes are 402 + 2 * 250; 2 * 250 + 240 + 2 * 100; 10 * 100."""
    case = _of_bytes([group(start=0, bytes_per_round=1000)], 402, 1000, 240, rounds=4, fetches_per_round=10)
    result = simulate(case, watch=True)
    assert seen(result) == [0, 6, 14, 24]
    assert (requests(result), pieces(result)) == ([2, 2, 2], [2, 3, 3])
    assert counts(result)["remote_bytes"] == 902 + 940 + 1000
    assert result.violations == []


@pytest.mark.parametrize("by", ["bytes", "quota", "store"])
def test_only_the_first_piece_has_a_record_whatever_its_bytes(by: str) -> None:
    """Records of 100 and then of 250 bytes, 349 bytes a round: 3; the 4th, without any of 250 bytes; then one a round.

    With 350 bytes the second read has one of them, too.
    """
    for size_bytes, positions in ((349, [0, 3, 4, 5, 6]), (350, [0, 3, 5, 6, 7])):
        of_reader = {"bytes_per_round": size_bytes} if by == "bytes" else {}
        given: dict[str, Any] = {"rounds": 5, "fetches_per_round": 10}
        if by == "quota":
            given["config"] = {QUOTA: 2 * size_bytes}
        elif by == "store":
            given["remote_storage"] = {"read_bytes_per_second": 2 * size_bytes}
        result = simulate(_of_bytes([group(start=0, **of_reader)], 400, 1000, **given), watch=True)
        assert seen(result) == positions
        assert result.violations == []


def test_a_store_that_is_too_slow_for_the_next_piece() -> None:
    """249 bytes a round: 2 + 2 records of 100 bytes, and then none of 250, which is slow only when the position is there."""
    store = {"read_bytes_per_second": 2 * 249}
    case = _of_bytes([group(start=0)], 400, 1000, rounds=5, fetches_per_round=10, remote_storage=store)
    result = simulate(case, watch=True)
    assert seen(result) == [0, 2, 4, 4, 4]
    assert unread(result) == [("store_slow", 3, 5, 4, 120)]
    assert result.violations == []


def test_two_reads_share_a_quota_over_their_pieces() -> None:
    """9 records a round: one wants 2 of them, in two pieces, and 7 are left for the other, of two or three pieces.

    `few` has 3 and 4, and so 5 to 7 in hand; 5 and 6; 7, and 8 of the next.
    """
    groups = [_reader(50, "few", start=3, records_per_round=2), _reader(50, "many", start=20)]
    result = simulate(remote_log(groups, 4, rounds=4, fetches_per_round=10, config={QUOTA: 1800}), watch=True)
    assert [seen(result, name) for name in ("few", "many")] == [[3, 5, 7, 9], [20, 27, 34, 41]]
    assert [requests(result, name) for name in ("few", "many")] == [[2, 0, 1], [2, 2, 2]]
    assert [pieces(result, name) for name in ("few", "many")] == [[2, 1, 2], [2, 3, 3]]
    assert [counts(result, name)["throttled_rounds"] for name in ("few", "many")] == [0, 3]
    assert result.violations == []


def test_a_pause_drops_what_is_in_hand_of_a_later_segment() -> None:
    """6 a round, segments of 4: 6 and 7 are in hand after round 1, and are fetched again with 8 to 11 after round 2's pause."""
    rows = [_reader(50, records_per_round=6, to_round=2), _reader(50, records_per_round=6, from_round=3)]
    result = simulate(remote_log(rows, 4, rounds=5, fetches_per_round=10), watch=True)
    assert seen(result) == [0, 6, 12, 18]
    assert requests(result) == [2, 2, 2]
    assert result.violations == []


@pytest.mark.parametrize("policy", ["earliest", "latest"])
def test_a_later_segment_that_is_unknown_ends_the_read(policy: str) -> None:
    """10 to 19 are in no segment. The first read ends there, and that is all; the next round's looks up 10, and is a reset."""
    segments = [remote(base, base + 4) for base in range(0, 100, 5) if base not in (10, 15)]
    case = remote_log([group(start=0, auto_offset_reset=policy)], fetches_per_round=10, initial={"remote_segments": segments})
    first = simulate({**case, "rounds": 2}, watch=True)
    assert (seen(first), requests(first), pieces(first)) == ([0, 10], [2], [2])
    assert (counts(first)["resets"], counts(first)["remote_errors"], first.unread) == (0, 0, [])
    result = simulate({**case, "rounds": 4}, watch=True)
    assert seen(result) == ([0, 10, 0, 10] if policy == "earliest" else [0, 10, 120, 120])
    assert counts(result)["resets"] == 1
    assert unread(result, "skip") == ([] if policy == "earliest" else [("segment_unknown", 2, 3, 10, 120)])
    assert first.violations == result.violations == []


def test_a_later_segment_whose_data_was_deleted_ends_the_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The data of 10 to 14 is gone, and nobody knows: no error before the position is there, and no reset at all."""
    real = simulation.site_of

    def without_data(*of_what: Any, **together: Any) -> Any:
        site = real(*of_what, **together)
        index = site.partition.index_of(1)
        gone = index.lookup(0, 10)
        assert gone is not None and gone.base_offset == 10
        gone.stored_bytes = 0
        return site

    monkeypatch.setattr(simulation, "site_of", without_data)
    result = simulate(remote_log([group(start=0)], 5, rounds=5, fetches_per_round=10), watch=True)
    assert seen(result) == [0, 10, 10, 10, 10]
    assert seen(result, key="answer") == ["started", "remote", *["segment_gone"] * 3]
    assert (requests(result), pieces(result)) == ([2], [2])
    assert unread(result) == [("segment_gone", 2, 5, 10, 120)]
    assert (counts(result)["remote_errors"], counts(result)["resets"]) == (3, 0)
    assert result.violations == []


@pytest.mark.parametrize("limit", [{}, {"records_per_round": 1000}, {"bytes_per_round": 100_000}])
def test_a_read_ends_at_the_local_log_start(limit: dict[str, Any]) -> None:
    """m = 100: 25 segments of 4, up to 100; 100 to 119 are local, and remote as well, in segments that are not read."""
    segments = [remote(base, base + 3) for base in range(0, 112, 4)]
    case = remote_log([_reader(50, **limit)], rounds=4, fetches_per_round=100, initial={"remote_segments": segments})
    result = simulate(case, watch=True)
    assert seen(result) == [0, 100, 120, 120]
    assert seen(result, key="answer") == ["started", "remote", "page_cache", "empty"]
    assert (requests(result), pieces(result)) == ([25], [25])
    assert result.violations == []


def test_the_last_piece_goes_beyond_the_local_log_start() -> None:
    """Segments of 16, the last from 96 to 111; the local log starts at 100. A piece ends with its segment: at 112."""
    segments = [remote(base, base + 15) for base in range(0, 112, 16)]
    case = remote_log([_reader(50)], rounds=4, fetches_per_round=100, initial={"remote_segments": segments})
    result = simulate(case, watch=True)
    assert seen(result) == [0, 112, 120, 120]
    assert (requests(result), pieces(result)) == ([7], [7])
    assert result.violations == []


def test_a_read_ends_at_the_end_of_what_is_given_out() -> None:
    """The leader's log ends at 90, and is local from 85 on; the last segment, of another leader, has 80 to 99.

    A fetch has 80 to 89 of it, and what the leader appends later, 90 to 94, is read from its log.
    """
    log = given_log(90, EPOCH_0, local=85)
    case = tiered_case(
        rounds=8,
        fetches_per_round=50,
        initial={
            "leader": 1,
            "leader_epoch": 0,
            "isr": [1],
            "replicas": {1: log},
            "remote_segments": [remote(base, base + 19) for base in range(0, 100, 20)],
        },
        replicas=[1],
        workload=[produce(4, acks="1", records=5)],
        consumers=[group(start=0)],
    )
    result = simulate(case, watch=True)
    assert seen(result)[:4] == [0, 90, 90, 90]
    assert seen(result, key="answer")[:4] == ["started", "remote", "empty", "empty"]
    assert seen(result)[-1] == 95
    assert (requests(result), pieces(result)) == ([5], [5])
    assert result.violations == []


def _other_lineage(**given: Any) -> dict[str, Any]:
    """B's log is of epoch 2 from 3 on. A segment has 0 to 4 of epoch 0, the next ones 3 to 9 and 10 to 19 of B's log."""
    epochs = [[0, 0], [2, 3]]
    log = given_log(30, epochs, local=20)
    return tiered_case(
        rounds=4,
        initial={
            "leader": 1,
            "leader_epoch": 2,
            "isr": [1, 2],
            "replicas": {1: log, 2: log},
            "remote_segments": [remote(0, 4, [[0, 0]]), remote(3, 9, epochs), remote(10, 19, epochs)],
        },
        fetches_per_round=10,
        **given,
    )


def test_a_piece_ends_where_the_epochs_differ() -> None:
    """0 to 2 of the first segment, 3 to 9 of the next and 10 to 19 of the last, in one read: what is B's log all along."""
    result = simulate(_other_lineage(consumers=[group(start=0)]), watch=True)
    assert seen(result)[:3] == [0, 20, 30]
    assert (requests(result), pieces(result)) == ([3], [3])
    assert result.readers["g"].taken[0].records == [(0 if offset < 3 else 2, offset) for offset in range(20)]
    assert result.violations == []


def test_what_is_in_hand_ends_where_the_epochs_differ() -> None:
    """4 a round: 0 to 2, and 3 with 4 to 9 in hand; 4 to 7 of that; 8 and 9, and 10 and 11, with what comes up to 19 in hand."""
    result = simulate({**_other_lineage(consumers=[group(start=0, records_per_round=4)]), "rounds": 6}, watch=True)
    assert seen(result) == [0, 4, 8, 12, 16, 20]
    assert (requests(result), pieces(result)) == ([2, 0, 1, 0, 0], [2, 1, 2, 1, 1])
    assert result.violations == []


def test_kafka_goes_on_behind_the_end_of_the_segment() -> None:
    """The mutant has 3 and 4 of epoch 0 as well, and goes on at 5, in the segment that B's epochs give for it."""
    case = {**_other_lineage(consumers=[group(start=0)]), "read_rules": MUTANTS["remote-read-to-segment-end"]}
    result = simulate(case, watch=True)
    assert (requests(result)[0], pieces(result)[0]) == (3, 3)
    assert result.readers["g"].taken[0].records == [(0 if offset < 5 else 2, offset) for offset in range(20)]
    assert "ReadsLineage" in {name for _, name, _ in result.violations}


def test_fewer_requests_than_needed() -> None:
    """m = 5, 2 records a fetch, segments of 4, one thread for 3 requests: 2 + 2 and 2, then 2 and 2 + 2, and so on."""
    case = remote_log([_reader(2)], 4, rounds=5, fetches_per_round=5, config={THREADS: 1}, remote_storage={"read_ms": 160})
    result = simulate(case, watch=True)
    assert seen(result) == [0, 6, 12, 18, 24]
    assert (requests(result), pieces(result)) == ([3] * 4, [2] * 4)
    assert result.violations == []


def test_two_who_are_dealt_fewer_requests_than_needed() -> None:
    """As above, of two groups: a is dealt 2, b 1; then b 2 and a 1, as b was dealt its last one earlier; and so on."""
    groups = [_reader(2, name) for name in "ab"]
    case = remote_log(groups, 4, rounds=5, fetches_per_round=5, config={THREADS: 1}, remote_storage={"read_ms": 160})
    result = simulate(case, watch=True)
    assert [seen(result, name) for name in "ab"] == [[0, 4, 6, 10, 12], [0, 2, 6, 8, 12]]
    assert [requests(result, name) for name in "ab"] == [[2, 1, 2, 1], [1, 2, 1, 2]]
    assert [pieces(result, name) for name in "ab"] == [[1, 1, 2, 1], [1, 2, 1, 1]]
    assert result.violations == []


def test_what_is_in_hand_and_what_was_dealt() -> None:
    """2 and 3 are in hand after round 1. Two partitions of a member then want 2 to 9, and need 4 to 7 and 8 to 11: of m = 3
    the first is dealt two, the second one, up to 7. Then the second is first, for 8 to 15; the first has 10 and 11 in hand,
    needs 12 to 15 and 16 to 19, and is dealt one."""
    rows = [_reader(4, records_per_round=2, to_round=2, members=1), _reader(4, records_per_round=8, from_round=2, members=1)]
    results = simulate_together([remote_log(rows, 4, rounds=4, fetches_per_round=3) for _ in range(2)], watch=True)
    assert [seen(result) for result in results] == [[0, 2, 10, 16], [0, 2, 8, 16]]
    assert [requests(result) for result in results] == [[1, 2, 1], [1, 1, 2]]
    assert [pieces(result) for result in results] == [[1, 3, 2], [1, 2, 2]]
    assert all(result.violations == [] for result in results)


def test_the_rest_of_a_segment_in_hand_is_a_fetch_of_the_round() -> None:
    """m = 2. 2 and 3 are in hand after round 1: from there on two whole fetches are 2 and 3, and 4 to 7, which is one request."""
    rows = [_reader(4, records_per_round=2, to_round=2), _reader(4, from_round=2)]
    result = simulate(remote_log(rows, 4, rounds=4, fetches_per_round=2), watch=True)
    assert (seen(result), requests(result), pieces(result)) == ([0, 2, 8, 16], [1, 1, 2], [1, 2, 2])
    assert indexes(result) == (0, 4)
    assert result.violations == []


def test_indexes_of_each_piece() -> None:
    """m = 4, 2 records a fetch, segments of 4, room for one index: each piece misses it and then finds it, of either group."""
    groups = [_reader(2, name) for name in "ab"]
    result = simulate(remote_log(groups, 4, rounds=3, fetches_per_round=4, config={INDEXES: 20}), watch=True)
    for name in "ab":
        assert (seen(result, name), requests(result, name)) == ([0, 8, 16], [4, 4])
        assert indexes(result, name) == (4, 4)
        assert counts(result, name)["index_bytes"] == 80
    # with room for two the second group finds both of them
    result = simulate(remote_log(groups, 4, rounds=3, fetches_per_round=4, config={INDEXES: 40}), watch=True)
    assert [indexes(result, name) for name in "ab"] == [(4, 4), (8, 0)]
    assert result.violations == []


def test_a_piece_in_hand_is_a_use_of_its_indexes() -> None:
    """Room for two. In round 1 a asks for segments 0 and 4, b for 0. In round 2 a has 6 and 7 in hand, which uses 4, and asks
    for 8, which pushes 0 out: c finds 4."""
    groups = [
        _reader(50, "a", records_per_round=6),
        _reader(50, "b", records_per_round=1),
        _reader(50, "c", start=4, from_round=1, records_per_round=1),
    ]
    result = simulate(remote_log(groups, 4, rounds=3, fetches_per_round=10, config={INDEXES: 40}), watch=True)
    assert [pieces(result, name) for name in "abc"] == [[2, 2], [1, 1], [1]]
    assert [indexes(result, name) for name in "abc"] == [(0, 3), (1, 0), (1, 0)]
    assert result.violations == []


def test_the_store_is_away_for_all_pieces() -> None:
    """Away in round 2: nothing of the two pieces, of which the first is in hand; in 3 it asks for the second only."""
    case = remote_log([_reader(50, records_per_round=6)], 4, rounds=4, fetches_per_round=10)
    result = simulate({**case, "faults": [fault("remote_storage_outage", 2, 3)]}, watch=True)
    assert seen(result) == [0, 6, 6, 12]
    assert (requests(result), pieces(result)) == ([2, 1], [2, 2])
    assert counts(result)["remote_errors"] == 1
    assert result.violations == []
