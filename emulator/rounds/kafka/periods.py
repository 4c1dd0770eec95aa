"""Rounds in which something is done that is done every so many rounds: checkpoints, flushes, looks at the ISR, and so on.

A round asks once whether any period ends in it, and only then which: a remainder takes as long as twenty other instructions.
"""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.kafka.input_records import ScenarioRow, Settings
from emulator.rounds.kafka.records import Partition
from emulator.rounds.leaps import next_multiple


@compiled
def next_period(part: Partition, scenario: ScenarioRow, settings: Settings) -> int:
    """The first round after this one in which a period, a time bucket or the run may end."""
    after = part.now + 1
    due = min(scenario.rounds - 1, next_multiple(scenario.bucket_rounds, after + 1) - 1)
    due = min(due, next_multiple(settings.isr_check_rounds, after), next_multiple(settings.checkpoint_rounds, after))
    if settings.flush_rounds:
        due = min(due, next_multiple(settings.flush_rounds, after))
    if settings.rebalance_rounds:
        due = min(due, next_multiple(settings.rebalance_rounds, after))
    if part.keeps_segments:
        due = min(due, next_multiple(settings.retention_check_rounds, after))
    return due
