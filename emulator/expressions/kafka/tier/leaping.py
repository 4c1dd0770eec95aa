"""What of a tier quiet rounds only move: rounds of LIST, and a follower's questions while the store is away. SQL texts.

A follower that builds its auxiliary state asks anew until the store answers, in every round where the back-off is one round.
"""

from __future__ import annotations

from emulator.expressions.columns import struct
from emulator.expressions.kafka.tier.types import MOVING_COUNTERS
from emulator.expressions.kafka.tier.writes import counted


def alike(counts: str, before: str) -> str:
    """Whether nothing else was counted (emulator/leaps.py)."""
    others = counted("{0}", {name: f"-{{0}}.{name}" for name in MOVING_COUNTERS})
    return f"IF({counts} IS NULL, true, {others.format(counts)} <=> {others.format(before)})"


def drift(counts: str, before: str) -> str:
    """By how much the counts moved."""
    return struct({name: f"{counts}.{name} - {before}.{name}" for name in MOVING_COUNTERS})


def moved(counts: str, by: str, drift: str) -> str:
    """The counts so many rounds later, or before."""
    more = {name: f"coalesce({by} * {drift}.{name}, 0L)" for name in MOVING_COUNTERS}
    return f"IF({by} = 0, {counts}, {counted(counts, more)})"


def waits_alike(aux_state: str, before: str) -> str:
    """Whether a follower that waited waits for the same, and asks again a round later at most."""
    same = "named_struct('leader', {0}.leader, 'epoch', {0}.epoch, 'asked', {0}.asked, 'waits', {0} IS NOT NULL)"
    later = f"coalesce({aux_state}.next - {before}.next BETWEEN 0 AND 1, true)"
    return f"({same.format(aux_state)} <=> {same.format(before)} AND {later})"


def waits_drift(aux_state: str, before: str) -> str:
    """By how many rounds its next question moved."""
    return f"CAST({aux_state}.next - {before}.next AS BIGINT)"


def waits_moved(aux_state: str, by: str, drift: str) -> str:
    """What it waits for so many rounds later, or before."""
    fields = {
        "leader": f"{aux_state}.leader",
        "epoch": f"{aux_state}.epoch",
        "next": f"CAST({aux_state}.next + coalesce({by} * {drift}, 0L) AS INT)",
        "asked": f"{aux_state}.asked",
    }
    return f"IF({by} = 0 OR {aux_state} IS NULL, {aux_state}, {struct(fields)})"
