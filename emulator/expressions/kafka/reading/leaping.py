"""Readers in leaps: what of them quiet rounds only move, by how much, and where it is after some of them. SQL texts.

A reader's position, its counters, the rounds it waited, its last remote read, and how far its stretch has come are counters; the
rest must be as it was.
"""

from __future__ import annotations

from emulator.expressions.columns import let
from emulator.expressions.kafka.reading.step import changed_reader
from emulator.expressions.kafka.reading.types import MOVING, OF_STRETCH

_STILL = ("epoch", "leader", "leader_epoch", "replica", "replica_until", "reset_cause", "stopped")
_STILL_OF_STRETCH = ("cause", "slot", "from_round", "from_offset")


def alike(readers: str, before: str) -> str:
    """Whether readers are as before but for what only moves."""
    fields = [f"'{name}', r.{name}" for name in _STILL] + [f"'of_{name}', r.stretch.{name}" for name in _STILL_OF_STRETCH]
    fields += ["'starts', r.position IS NULL", "'waits', r.stretch IS NULL", "'rows', size(r.unread)"]
    still = "transform({0}, r -> named_struct(" + ", ".join(fields) + "))"
    return f"{still.format(readers)} <=> {still.format(before)}"


def drift(readers: str, before: str) -> str:
    """READERS_DRIFT of readers that are alike; null where somebody came or went."""
    fields = [f"'{name}', CAST(r.{name} - b_.{name} AS BIGINT)" for name in MOVING]
    fields += [f"'{name}', CAST(r.stretch.{name} - b_.stretch.{name} AS BIGINT)" for name in OF_STRETCH]
    fields.append("'waited', transform(r.waited, (x, j) -> CAST(x - get(b_.waited, j) AS BIGINT))")
    of_each = let("b_", f"get({before}, i)", f"named_struct({', '.join(fields)})")
    return f"IF(size({readers}) = size({before}), transform({readers}, (r, i) -> {of_each}), null)"


def moved(readers: str, by: str, drift_of: str) -> str:
    """The readers so many rounds later (before, if negative)."""
    new = {name: f"r.{name} + coalesce({by} * d_.{name}, 0L)" for name in MOVING}
    fields = [f"'{name}', r.stretch.{name}" for name in ("cause", "slot", "from_round")]
    fields += [f"'last_round', CAST(r.stretch.last_round + coalesce({by} * d_.last_round, 0L) AS INT)"]
    fields += ["'from_offset', r.stretch.from_offset", f"'to_offset', r.stretch.to_offset + coalesce({by} * d_.to_offset, 0L)"]
    new["stretch"] = f"IF(r.stretch IS NULL, null, named_struct({', '.join(fields)}))"
    new["waited"] = f"transform(r.waited, (x, j) -> CAST(x + coalesce({by} * get(d_.waited, j), 0L) AS INT))"
    return f"IF({by} = 0, {readers}, transform({readers}, (r, i) -> {let('d_', f'get({drift_of}, i)', changed_reader(new))}))"
