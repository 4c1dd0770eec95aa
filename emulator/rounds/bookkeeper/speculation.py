"""When a client asks a further bookie for an entry though earlier ones may still answer.

Source: DefaultSpeculativeRequestExecutionPolicy, with speculativeReadTimeoutBackoffMultiplier at 2.
"""

from __future__ import annotations

from emulator.rounds.bookkeeper.constants import FOREVER
from emulator.rounds.bookkeeper.inputs import Settings
from emulator.rounds.compiled import compiled


@compiled
def first_speculation(settings: Settings, now: int) -> int:
    """The round in which that is first, of what is asked for in round `now`; FOREVER: it is off."""
    return now + timeout_rounds(settings, settings.speculate_ms) if settings.speculate_ms > 0 else FOREVER


@compiled
def next_pause_ms(settings: Settings, pause_ms: int) -> int:
    """The time to the next one, after such a time."""
    return min(2 * pause_ms, settings.speculate_most_ms)


@compiled
def timeout_rounds(settings: Settings, milliseconds: int) -> int:
    """A time-out in rounds."""
    return max(1, (milliseconds + settings.round_ms - 1) // settings.round_ms)
