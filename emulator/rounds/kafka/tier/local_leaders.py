"""Who is preferred as leader by what it has of the log itself (KIP-1303; docs/tiered_rounds.md, Leaders by local log)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import OUT_OF_TOUCH
from emulator.rounds.kafka.input_records import Inputs, Settings
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.segments import disk_bytes, round_of
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled_into_callers
def goes_by_local_log(settings: Settings) -> bool:
    """Whether elections go by what replicas have themselves."""
    return settings.eligible_log_rounds > 0 or settings.eligible_log_bytes > 0


@compiled
def preferred(part: Partition, settings: Settings, mask: int) -> int:
    """Those of a mask that have enough of the log, by their last reports; all of it if nobody has."""
    if not goes_by_local_log(settings) or not mask & part.has_enough:
        return mask
    return mask & part.has_enough


@compiled
def may_take_over(part: Partition, settings: Settings, slot: int, leader: int) -> bool:
    """Whether a preferred election moves the lead from one slot to another: not from who has enough to who has not."""
    if not goes_by_local_log(settings):
        return True
    return has(part.has_enough, slot) or not has(part.has_enough, leader)


@compiled_into_callers
def report_local_logs(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> None:
    """At the end of a round the controller, if it is up, hears of who runs and is not isolated; of others it heard before."""
    part.has_enough &= part.assigned
    if part.controller_down:
        return
    settings = inputs.settings[part.settings]
    all_have = not goes_by_local_log(settings)
    for slot in range(part.slots):
        if has(part.assigned, slot) and not replicas[slot].status & OUT_OF_TOUCH:
            part.has_enough &= ~(1 << slot)
            if all_have or is_enough(lists, inputs, part, replicas[slot], settings):
                part.has_enough |= 1 << slot


@compiled
def is_enough(lists: Lists, inputs: Inputs, part: Partition, replica: Replica, settings: Settings) -> bool:
    """Whether a replica has all of the log, or so many rounds or bytes of it."""
    if replica.local_start == replica.log_start:
        return True
    if 0 < settings.eligible_log_bytes <= disk_bytes(lists.segments, replica):
        return True
    if settings.eligible_log_rounds <= 0 or replica.leo == replica.local_start:
        return False
    return part.now - round_of(lists.runs, inputs, replica, replica.local_start) >= settings.eligible_log_rounds
