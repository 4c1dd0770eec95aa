"""Each round's look at all records of a partition, those of tiered storage where it has it: what changed, how counters moved."""

from __future__ import annotations

import numpy as np

from emulator.rounds.compiled import compiled_into_callers
from emulator.rounds.kafka.leap import PARTITION_MASKS, REPLICA_MASKS
from emulator.rounds.kafka.probe import Probe, look_at, take_drift
from emulator.rounds.kafka.records import Partition
from emulator.rounds.kafka.scratch_lists import TierLists
from emulator.rounds.kafka.tier.leap_tiers import TIER_MASKS, TIER_REPLICA_MASKS
from emulator.rounds.kafka.words import Words
from emulator.rounds.leaps import remember


@compiled_into_callers
def look_at_all(
    tiers: TierLists | None,
    part: Partition,
    part_words: np.ndarray,
    replica_words: np.ndarray,
    words: Words,
    probe: Probe,
) -> int:
    """What the round changed in the partition's records: bits."""
    found = look_at(PARTITION_MASKS, part_words, probe.part, probe.part_drift)
    for slot in range(part.slots):
        found |= look_at(REPLICA_MASKS, replica_words[slot], probe.replicas[slot], probe.drifts[slot])
    if tiers is not None and part.tiered:
        found |= look_at(TIER_MASKS, words.tier[0], probe.tier, probe.tier_drift)
        for slot in range(part.slots):
            found |= look_at(TIER_REPLICA_MASKS, words.tiers[slot], probe.tiers[slot], probe.tier_drifts[slot])
    return found


@compiled_into_callers
def take_drifts(
    tiers: TierLists | None,
    part: Partition,
    part_words: np.ndarray,
    replica_words: np.ndarray,
    words: Words,
    probe: Probe,
) -> None:
    """Note how counters of all records moved in the round."""
    take_drift(part_words, probe.part, probe.part_drift)
    for slot in range(part.slots):
        take_drift(replica_words[slot], probe.replicas[slot], probe.drifts[slot])
    take_tier_drifts(tiers, part, words, probe)


@compiled_into_callers
def take_tier_drifts(tiers: TierLists | None, part: Partition, words: Words, probe: Probe) -> None:
    """Likewise of what the partition has of tiered storage: flows are as in the last round, whatever it changed aside."""
    if tiers is not None and part.tiered:
        take_drift(words.tier[0], probe.tier, probe.tier_drift)
        for slot in range(part.slots):
            take_drift(words.tiers[slot], probe.tiers[slot], probe.tier_drifts[slot])


@compiled_into_callers
def remember_all(
    tiers: TierLists | None,
    part: Partition,
    part_words: np.ndarray,
    replica_words: np.ndarray,
    words: Words,
    probe: Probe,
) -> None:
    """The records as they are, for the next round's look."""
    remember(part_words, probe.part)
    for slot in range(part.slots):
        remember(replica_words[slot], probe.replicas[slot])
    if tiers is not None and part.tiered:
        remember(words.tier[0], probe.tier)
        for slot in range(part.slots):
            remember(words.tiers[slot], probe.tiers[slot])
