"""Whether a copy may start: what a broker copied for a partition in the last seconds is not above its quota (KIP-956)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Inputs, Settings
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import TierLists
from emulator.rounds.kafka.tier.records import TierReplica
from emulator.rounds.lists import drop_first, every

QUOTA_WINDOW_MS = 11_000
"""Of RLMQuotaManager: 11 samples of a second."""


@compiled
def within_quota(
    tiers: TierLists, inputs: Inputs, part: Partition, replica: Replica, tier: TierReplica, settings: Settings
) -> bool:
    """Whether what copies started in the window is not above the quota (KIP-956; a segment counts whole when it starts)."""
    quota_bytes = quota_of(inputs, replica, settings)
    if quota_bytes == UNKNOWN:
        return True
    gone = 0
    while gone < tier.starts.count and has_left_window(tiers, part, settings, tier.starts.start + gone):
        gone += 1
    drop_first(tier.starts, gone)
    return is_within(tiers, tier, settings, quota_bytes)


@compiled
def quota_of(inputs: Inputs, replica: Replica, settings: Settings) -> int:
    """The copy quota of a replica's broker, bytes per second; UNKNOWN: none."""
    own = inputs.spans[replica.span].copy_quota
    return settings.copy_quota_bytes if own == UNKNOWN else own


@compiled
def has_left_window(tiers: TierLists, part: Partition, settings: Settings, at: int) -> bool:
    """Whether a copy started so long ago that it counts no more; copies are in the order of their starts."""
    return part.now - tiers.starts[at].at_round >= window_rounds(settings)


@compiled
def window_rounds(settings: Settings) -> int:
    """Rounds of the quota's window."""
    return max(1, QUOTA_WINDOW_MS // settings.round_ms)


@compiled
def is_within(tiers: TierLists, tier: TierReplica, settings: Settings, quota_bytes: int) -> bool:
    """Whether the copies in the list are not above the quota."""
    total = 0
    for at in every(tier.starts):
        total += tiers.starts[at].size_bytes
    return total * 1000 <= quota_bytes * window_rounds(settings) * settings.round_ms
