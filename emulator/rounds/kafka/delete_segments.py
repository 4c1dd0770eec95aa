"""Local retention, of step 9: every running replica deletes old segments from the front of its own log.

UnifiedLog.deleteOldSegments; docs/tiered_rounds.md, Local retention.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.batches import bytes_at
from emulator.rounds.kafka.constants import FOREVER, LOCAL_DELETE, NOT_RUNNING, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs, Rules, Settings
from emulator.rounds.kafka.log import forget_below, raise_log_start
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.segments import (
    base_of_first,
    close_segment,
    disk_bytes,
    end_of_segment,
    forget_segments,
    newest_of_active,
)
from emulator.rounds.kafka.tell import tell, tell_of_segment
from emulator.rounds.leaps import is_due
from emulator.rounds.records import Rows
from emulator.rounds.slots import has

BELOW_LOG_START, TOO_BIG, TOO_OLD = range(3)
"""The passes, in their order."""


@compiled_into_callers
def delete_segments(
    lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], settings: Settings, rules: Rules
) -> None:
    """In rounds of the check, but for round 0: first what lies below the local log start goes, then by size, then by age."""
    if part.keeps_segments and part.now > 0 and is_due(part.now, settings.round_ms, settings.retention_check_ms):
        for slot in range(part.slots):
            replica = replicas[slot]
            if has(part.assigned, slot) and not replica.status & NOT_RUNNING:
                log_start = replica.log_start
                for limit in range(3):
                    delete_from_front(lists, inputs, part, replicas, slot, settings, rules, limit)
                if slot == part.client_leader and replica.log_start > log_start:
                    part.lead_deleted_to = max(part.lead_deleted_to, replica.log_start)


@compiled
def may_go(replica: Replica, settings: Settings, rules: Rules, end: int, is_active: bool) -> bool:
    """Whether a segment is copied, lies below the log start, or needs no copy."""
    if not settings.copies or not rules.copy_before_delete:
        return True
    return end <= replica.highest_remote + 1 or (not is_active and end <= replica.log_start)


@compiled
def delete_from_front(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    slot: int,
    settings: Settings,
    rules: Rules,
    limit: int,
) -> None:
    """One pass: segments go as long as they break the limit, end at or below the high watermark and may go.

    An active segment that breaks it is closed; where copies are made it waits for its copy.
    """
    replica = replicas[slot]
    left_bytes = disk_bytes(lists.segments, replica) - settings.local_retention_bytes
    local_start = replica.local_start
    count = 0
    while True:
        at = replica.segments.start + count
        is_active = count == replica.segments.count
        end = replica.leo if is_active else end_of_segment(lists.segments, replica, at)
        size_bytes = replica.active_bytes if is_active else lists.segments[at].size_bytes
        if end > replica.hw or (is_active and replica.leo == replica.active_base):
            break
        if limit == BELOW_LOG_START:
            breaks = not is_active and end <= local_start
        elif limit == TOO_BIG:
            breaks = settings.local_retention_bytes != UNKNOWN and left_bytes >= size_bytes
            left_bytes -= size_bytes
        else:
            newest = newest_of_active(lists.runs, inputs, replica) if is_active else lists.segments[at].newest_round
            age = 0 if newest == UNKNOWN else part.now - newest
            breaks = settings.local_retention_rounds != UNKNOWN and age > settings.local_retention_rounds
        if not breaks:
            break
        goes = may_go(replica, settings, rules, end, is_active)
        if is_active and (goes or settings.tiered):
            close_segment(lists, inputs, part, replica)
            tell_of_segment(lists, part, replica.broker, replica.believed_epoch, replica.leo)
            if replica.segments.full:
                break
        if not goes:
            break
        count += 1
    if count:
        drop_segments(lists, inputs, part, replica, settings, count)


@compiled
def drop_segments(lists: Lists, inputs: Inputs, part: Partition, replica: Replica, settings: Settings, count: int) -> None:
    """The first closed segments leave the disk, and the log where nothing is copied (UnifiedLog.incrementStartOffset)."""
    first = base_of_first(lists.segments, replica)
    end = end_of_segment(lists.segments, replica, replica.segments.start + count - 1)
    forget_segments(lists.segments, replica, count)
    if end > replica.local_start:
        end_bytes = bytes_at(lists.runs, inputs, replica, end)
        part.local_deleted_bytes += end_bytes - bytes_at(lists.runs, inputs, replica, replica.local_start)
        forget_below(lists.runs, replica, end)
    if end > replica.log_start and not settings.copies:
        raise_log_start(lists, replica, end)
        replica.compares = 1
    tell(lists, part, LOCAL_DELETE, replica.broker, replica.believed_epoch, first, end, -1)


@compiled
def until_retention(
    lists: Lists, inputs: Inputs, part: Partition, replica: Replica, settings: Settings, rules: Rules, bytes_drift: int
) -> int:
    """The round from which a check may delete something of a replica; not before its first segment breaks a limit and may go."""
    is_active = replica.segments.count == 0
    first = replica.segments.start
    end = replica.leo if is_active else end_of_segment(lists.segments, replica, first)
    if not is_active and not may_go(replica, settings, rules, end, False):
        return FOREVER
    if not is_active and end <= replica.local_start:
        return part.now
    due = FOREVER
    if settings.local_retention_rounds != UNKNOWN:
        newest = newest_of_active(lists.runs, inputs, replica) if is_active else lists.segments[first].newest_round
        if newest != UNKNOWN:
            due = newest + settings.local_retention_rounds + 1
    if settings.local_retention_bytes != UNKNOWN:
        size_bytes = replica.active_bytes if is_active else lists.segments[first].size_bytes
        lacking = size_bytes - (disk_bytes(lists.segments, replica) - settings.local_retention_bytes)
        if is_active:  # it is as big as the log
            due = part.now if settings.local_retention_bytes == 0 else due
        elif lacking <= 0:
            due = part.now
        elif bytes_drift > 0:
            due = min(due, part.now + max(0, lacking // bytes_drift - 1))
    return max(due, part.now)
