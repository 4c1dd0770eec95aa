"""Where a replica's log is not the client leader's: what invariants are about.

Logs grow apart, or together again, only where a rule cuts a log, starts one anew, or appends what is not T's: these rules set
`compares`. In all other rounds the comparison of before holds.
"""

from __future__ import annotations

from emulator.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.records import NOBODY, NOT_RUNNING, UNKNOWN, Lists, Partition, Replica, Run
from emulator.rounds.lists import List
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
    begin = max(replica.log_start, leader.log_start)
    replica.unlike_from = first_difference(lists.runs, replica.runs, leader.runs, begin, min(replica.leo, leader.leo))
    if replica.unlike_from == UNKNOWN and replica.leo > leader.leo:
        replica.unlike_from = leader.leo
    if replica.unlike_from != UNKNOWN:
        end = min(replica.leo, leader.leo)
        replica.alike_again = first_offset(lists.runs, replica.runs, leader.runs, replica.unlike_from, end, True)


@compiled
def epochs_fall(runs: Rows[Run], replica: Replica) -> int:
    """1 if a record has a lower epoch than one before it."""
    for at in range(replica.runs.start + 1, replica.runs.start + replica.runs.count):
        if runs[at - 1].epoch > runs[at].epoch:
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
def first_difference(runs: Rows[Run], own: List, other: List, begin: int, end: int) -> int:
    """The first offset in [begin, end) at which two logs have different epochs, UNKNOWN if there is none."""
    return first_offset(runs, own, other, begin, end, False)


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
    """Whether a replica that lost records to a fault still lacks some: as long as it is down, or counts for nothing."""
    replica = replicas[slot]
    if not replica.impaired:
        return
    agreed_to = replica.leo if replica.unlike_from == UNKNOWN else min(replica.leo, replica.unlike_from)
    counts = has(part.isr | part.elr, slot)
    lacks = slot == part.client_leader or agreed_to < part.leader_hw
    is_down = replica.status & NOT_RUNNING
    replica.impaired = 1 if has(part.assigned, slot) and (is_down or (not counts and lacks)) else 0
