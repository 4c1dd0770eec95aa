"""Kinds of events, and which of them a scenario has written to the table `events`."""

from __future__ import annotations

from collections.abc import Collection

from emulator.errors import did_you_mean, listing, quoted
from emulator.rounds.bookkeeper.constants import EVENT_KINDS as TOLD_OF_LEDGERS
from emulator.rounds.kafka.event_kinds import EVENT_KINDS as TOLD_BY_ROUNDS
from emulator.rounds.quorums.constants import EVENT_KINDS as TOLD_OF_GROUPS
from emulator.scenario.ledgers import has_ledgers
from emulator.scenario.places import Places
from emulator.scenario.quorums import has_groups
from emulator.scenario.shapes import ScenarioShape

OF_BROKERS = ("fenced", "unfenced")
"""Kinds of what happens to brokers, which follows from the faults alone."""

PARTITION_EVENTS = (*TOLD_BY_ROUNDS, *OF_BROKERS)
"""Kinds of events of Kafka's partitions."""

LEDGER_EVENTS = TOLD_OF_LEDGERS
"""Kinds of events of ledgers, and of topics that are lists of them."""

GROUP_EVENTS = TOLD_OF_GROUPS
"""Kinds of events of groups that commit by quorums."""


def kinds_of(protocol: str) -> tuple[str, ...]:
    """The kinds that a system has."""
    return LEDGER_EVENTS if has_ledgers(protocol) else GROUP_EVENTS if has_groups(protocol) else PARTITION_EVENTS


def resolve_events(places: Places, shape: ScenarioShape, both: bool) -> tuple[str, ...] | None:
    """The kinds that are written, each once; None: all.

    `both`: the file has several systems, and kinds that only another one has are passed over. Raises InputError for
    an unknown kind.
    """
    if shape.events is None:
        return None
    own = kinds_of(shape.protocol)
    known = tuple(dict.fromkeys((*PARTITION_EVENTS, *LEDGER_EVENTS, *GROUP_EVENTS))) if both else own
    for at, kind in enumerate(shape.events):
        if kind not in known:
            problem = f"{quoted(kind)} is no kind of event{did_you_mean(kind, known)}"
            raise places.error(("events", at), problem, listing(known))
    return tuple(kind for kind in own if kind in shape.events)


def bits_of_kinds(events: Collection[str] | None) -> int:
    """Kinds of PARTITION_EVENTS as bits, the first one the lowest; None: all."""
    return sum(1 << bit for bit, kind in enumerate(PARTITION_EVENTS) if events is None or kind in events)


def unwritten_kinds(protocol: str, written: Collection[str] | None) -> list[str]:
    """The kinds of a system that are left out where only these are `written`; None: all are."""
    return [] if written is None else [kind for kind in kinds_of(protocol) if kind not in written]
