"""Where a replica's log is not the client leader's: what invariants are about.

Logs grow apart, or together again, only where a rule cuts a log, starts one anew, or appends what is not T's: these rules set
`compares`. In all other rounds the comparison of before holds.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import NOBODY, NOT_RUNNING, UNKNOWN
from emulator.rounds.kafka.list_records import EpochEntry, Run
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.lists import List, every
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled
def compare_logs(lists: Lists, part: Partition, replicas: Rows[Replica], slot: int) -> None:
    """Set `unlike_from`, `alike_again`, `epochs_fall` of a replica against T's log, from where both start."""
    replica = replicas[slot]
    replica.compares = 0
    replica.unlike_from = UNKNOWN
    replica.alike_again = UNKNOWN
    replica.epochs_fall = epochs_fall(lists.runs, replica)
    if part.client_leader == NOBODY or slot == part.client_leader:
        return
    leader = replicas[part.client_leader]
    begin, end = max(replica.log_start, leader.log_start, part.expired_to), min(replica.leo, leader.leo)  # (F)
    replica.unlike_from = first_offset_of_logs(lists, replica, leader, begin, end, False)
    if replica.unlike_from == UNKNOWN and replica.leo > leader.leo:
        replica.unlike_from = leader.leo
    if replica.unlike_from != UNKNOWN:
        replica.alike_again = first_offset_of_logs(lists, replica, leader, replica.unlike_from, end, True)


@compiled
def epochs_fall(runs: Rows[Run], replica: Replica) -> int:
    """1 if a record has a lower epoch than one before it; of a run below the local log start there is none."""
    for at in range(replica.runs.start + 1, replica.runs.start + replica.runs.count):
        if runs[at - 1].epoch > runs[at].epoch and runs[at].start_offset > replica.local_start:
            return 1
    return 0


@compiled
def place_at(runs: Rows[Run], entries: List, offset: int) -> int:
    """Where the last run stands that starts at or below an offset; before the first if there is none."""
    at = entries.start + entries.count - 1
    while at >= entries.start and runs[at].start_offset > offset:
        at -= 1
    return at


@compiled
def epoch_at(runs: Rows[Run], entries: List, at: int) -> int:
    """The epoch of a run, -1 before the first."""
    return runs[at].epoch if at >= entries.start else -1


@compiled
def next_start(runs: Rows[Run], entries: List, at: int, end: int) -> int:
    """Where the run behind a place starts, at most `end`."""
    return min(runs[at + 1].start_offset, end) if at + 1 < entries.start + entries.count else end


@compiled
def first_offset_of_logs(lists: Lists, one: Replica, other: Replica, begin: int, end: int, alike: bool) -> int:
    """As `first_offset`, of logs parts of which may be in remote storage only: of those their caches say the epochs."""
    both_local = max(one.local_start, other.local_start)
    while begin < min(end, both_local):
        epoch, its_epoch = epoch_in_cache(lists.epochs, one, begin), epoch_in_cache(lists.epochs, other, begin)
        if (epoch == its_epoch) == alike:
            return begin
        begin = min(next_in_cache(lists.epochs, one, begin), next_in_cache(lists.epochs, other, begin))
    return first_offset(lists.runs, one.runs, other.runs, begin, end, alike)


@compiled
def epoch_in_cache(epochs: Rows[EpochEntry], replica: Replica, offset: int) -> int:
    """The epoch that a replica's cache gives an offset, -1 below its first."""
    found = -1
    for at in every(replica.epochs):
        if epochs[at].start_offset <= offset:
            found = epochs[at].epoch
    return found


@compiled
def next_in_cache(epochs: Rows[EpochEntry], replica: Replica, offset: int) -> int:
    """Where the next epoch of a replica's cache starts behind an offset; its LEO if none does."""
    for at in every(replica.epochs):
        if epochs[at].start_offset > offset:
            return epochs[at].start_offset
    return replica.leo


@compiled
def first_offset(runs: Rows[Run], own: List, other: List, begin: int, end: int, alike: bool) -> int:
    """The first offset in [begin, end) at which two logs have the same epoch (`alike`), or different ones; UNKNOWN: none."""
    if begin >= end:
        return UNKNOWN
    offset, at, there = begin, place_at(runs, own, begin), place_at(runs, other, begin)
    while offset < end:
        if (epoch_at(runs, own, at) == epoch_at(runs, other, there)) == alike:
            return offset
        offset = min(next_start(runs, own, at, end), next_start(runs, other, there, end))
        if at + 1 < own.start + own.count and runs[at + 1].start_offset <= offset:
            at += 1
        if there + 1 < other.start + other.count and runs[there + 1].start_offset <= offset:
            there += 1
    return UNKNOWN


@compiled_into_callers
def judge_impaired(part: Partition, replicas: Rows[Replica], slot: int) -> None:
    """Whether a replica that lost records to a fault still lacks some: as long as it is down, or counts for nothing (A).

    Nor does it count for anything while there is no controller with which it could register (BrokerLifecycleManager).
    """
    replica = replicas[slot]
    if not replica.impaired:
        return
    agreed_to = replica.leo if replica.unlike_from == UNKNOWN else min(replica.leo, replica.unlike_from)
    counts = has(part.isr | part.elr, slot) and not part.controller_down
    lacks = slot == part.client_leader or agreed_to < part.leader_hw
    is_down = replica.status & NOT_RUNNING
    replica.impaired = 1 if has(part.assigned, slot) and (is_down or (not counts and lacks)) else 0
