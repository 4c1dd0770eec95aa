"""What must hold at the end of every round of the `kafka` protocol, asserted on the records themselves."""

from __future__ import annotations

from itertools import combinations, pairwise

from .log import Log
from .partition import NO_LEADER, Partition


def check(partition: Partition) -> None:
    """Raise AssertionError when an invariant of protocols.md section 6 is broken."""
    controller = partition.controller
    assert controller.isr <= set(controller.replicas), "the ISR is a subset of the replicas"
    assert controller.isr, "without ELR the last member stays"
    assert controller.leader == NO_LEADER or controller.leader in controller.isr, "LeaderInIsr"
    for replica in partition.replicas.values():
        _check_offsets(replica.log, replica.hw)
        _check_cache(replica.log)
    leaders = [one.leading_epoch for one in partition.replicas.values() if one.leading_epoch is not None]
    assert len(leaders) == len(set(leaders)), "ElectionSafety"
    for one, other in combinations(partition.replicas.values(), 2):
        _check_matching(one.log, other.log)


def _check_offsets(log: Log, hw: int) -> None:
    assert 0 <= log.log_start <= hw <= log.leo, f"log start {log.log_start} <= HW {hw} <= LEO {log.leo}"
    assert log.flushed <= log.leo and log.segment_base <= log.leo
    assert len(log.records) == log.leo - log.log_start


def _check_cache(log: Log) -> None:
    entries = log.cache.entries
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(entries)), f"rising epochs {entries}"
    assert not entries or entries[-1][1] <= log.leo
    for record in log.records[:1] + log.records[-1:]:
        assert log.cache.epoch_of(record.offset) == record.epoch, "the cache tells the records' epochs"


def _check_matching(one: Log, other: Log) -> None:
    """LogMatching: the same (offset, epoch) in two logs means the same records up to there, also above the HW."""
    first, end = max(one.log_start, other.log_start), min(one.leo, other.leo)
    mine, theirs = one.slice(first, end), other.slice(first, end)
    same = [a.epoch == b.epoch for a, b in zip(mine, theirs, strict=True)]
    if True in same:
        last = len(same) - 1 - same[::-1].index(True)
        assert mine[: last + 1] == theirs[: last + 1], "LogMatching"
