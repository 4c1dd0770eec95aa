"""Step 5 of kraft: what a majority has fetched behind is committed, once that is beyond the leader's own epoch's start."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.advance_commit import agreed_end, note_committed
from emulator.rounds.quorums.constants import (
    LEADER,
    MAJORITY_REACHED_HIGH_WATERMARK,
    MONOTONIC_HIGH_WATERMARK,
    NOBODY,
)
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.links import runs
from emulator.rounds.quorums.members import agree
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.tell import witness


@compiled
def advance_high_watermark(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Every leader's high watermark: the largest offset that a majority's fetches began at, its own end among them.

    Source: LeaderState.maybeUpdateHighWatermark; KAFKA-12619: beyond the epoch's start, not at it.
    """
    for slot in range(group.copies):
        leader = lists.servers[slot]
        if leader.role == LEADER and runs(lists, slot):
            end = agreed_end(lists, group, settings, rules, slot)
            start = lists.leaderships[group.leaderships.start + leader.leadership].first_entry
            if end > leader.commit and (end > start or (end == start and not rules.beyond_epoch_start)):
                leader.commit = end
                note_committed(lists, group, slot)
                check_high_watermark(lists, group, rules, slot)


@compiled
def check_high_watermark(lists: Lists, group: Group, rules: Rules, slot: int) -> None:
    """MonotonicHighWatermark: no leader's is below an earlier one's. MajorityReachedHighWatermark: so many logs are as long."""
    leader, long_enough = lists.servers[slot], 0
    for other in range(group.copies):
        if lists.servers[other].end >= leader.commit:
            long_enough |= 1 << other
    if not agree(lists, group, rules, slot, long_enough):
        witness(lists, group, MAJORITY_REACHED_HIGH_WATERMARK, slot, NOBODY, leader.commit)
    if leader.commit < group.high_watermark:
        witness(lists, group, MONOTONIC_HIGH_WATERMARK, slot, NOBODY, leader.commit)
    group.high_watermark = max(group.high_watermark, leader.commit)
