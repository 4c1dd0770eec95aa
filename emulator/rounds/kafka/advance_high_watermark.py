"""Step 6, high watermark: T's rises to what the maximal ISR has (Partition.maybeIncrementLeaderHW)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled_into_callers
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Rules, Settings
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.records import Rows
from emulator.rounds.slots import has, size


@compiled_into_callers
def advance_high_watermark(
    part: Partition,
    replicas: Rows[Replica],
    settings: Settings,
    rules: Rules,
    isr_joined: int,
    held: int,
    isr_after: int,
    held_after: int,
) -> None:
    """Raise T's high watermark over `held`, then over `held_after`; not while the ISR is too small (KIP-966, rule 1).

    `isr_joined`, `isr_after`: the ISR that counts each time. An unknown remote LEO is 0.
    """
    leader = replicas[part.client_leader]
    part.size_joined = size(isr_joined)
    part.size_shrunk = size(isr_after)
    part.hw_limit = held_by(part, replicas, held)
    if is_enough(part, settings, part.size_joined) or not rules.hold_below_min_isr:
        leader.hw = max(leader.hw, part.hw_limit)
    if is_enough(part, settings, part.size_shrunk) or not rules.hold_below_min_isr:
        limit_after = part.hw_limit if held_after == held else held_by(part, replicas, held_after)
        leader.hw = max(leader.hw, limit_after)


@compiled_into_callers
def is_enough(part: Partition, settings: Settings, members: int) -> bool:
    """Whether an ISR of so many is: min.insync.replicas, or all replicas that there are (Partition.effectiveMinIsr)."""
    return members >= settings.min_insync_replicas or members >= size(part.assigned)


@compiled_into_callers
def held_by(part: Partition, replicas: Rows[Replica], members: int) -> int:
    """The least of T's LEO and of what T knows that the members have."""
    least = replicas[part.client_leader].leo
    others = members & part.assigned & ~(1 << part.client_leader)
    for slot in range(part.slots):
        if has(others, slot):
            remote = replicas[slot].remote_leo
            least = min(least, 0 if remote == UNKNOWN else remote)
    return least
