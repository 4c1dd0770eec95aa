"""Bookies and the metadata store over time as arrays: what the faults make of them."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.faults.bookies import NO_FAULT, BookieState, BookieTimeline, bookie_causes, bookie_timelines, store_outages
from emulator.faults.kinds import FaultRow
from emulator.rounds.bookkeeper.constants import (
    CLEAN_STOP,
    CRASHED,
    DEAD,
    DECOMMISSIONED,
    DISK_LOST,
    FOREVER,
    HAPPENS,
    PAUSED,
    POWER_LOST,
    RESTARTED,
    SILENT,
    UNREGISTERED,
)
from emulator.scenario import Scenario
from emulator.scenario.ledgers import DECOMMISSION

STATUS_BITS = {
    "dead": DEAD,
    "paused": PAUSED,
    "silent": SILENT,
    "crashed": CRASHED,
    "stopped": CLEAN_STOP,
    "power_lost": POWER_LOST,
    "disk_lost": DISK_LOST,
}
"""Flag of a BookieState -> bit of a status. UNREGISTERED is the opposite of its flag."""


class BookieArrays:
    """The bookies of one scenario, by id: rows of BookieRow with places of spans counted from 0, of BookieSpan, of StoreSpan."""

    def __init__(self, scenario: Scenario, faults: Sequence[FaultRow]) -> None:
        brokers = sorted(scenario.brokers, key=lambda broker: broker.id)
        self.ids = [broker.id for broker in brokers]
        self.place = {broker: place for place, broker in enumerate(self.ids)}
        known = [(b.id, b.rack) for b in brokers]
        timelines = bookie_timelines(faults, known, scenario.rounds, scenario.session_timeout_rounds)
        causes = bookie_causes(faults, known, scenario.rounds)
        left: dict[int, int] = {}
        for command in scenario.commands:
            if command.kind == DECOMMISSION and command.broker is not None:
                left[command.broker] = min(command.round, left.get(command.broker, command.round))
        racks = {rack: number for number, rack in enumerate(sorted({b.rack for b in brokers if b.rack is not None}))}
        bookies: list[tuple[int, ...]] = []
        spans: list[tuple[int, ...]] = []
        for broker in brokers:
            own = spans_of(timelines.get(broker.id), left.get(broker.id, FOREVER), causes.get(broker.id, []))
            bookies.append((broker.id, -1 if broker.rack is None else racks[broker.rack], len(spans), len(own)))
            spans += [*own, (FOREVER, 0, NO_FAULT)]
        self.bookies, self.spans = tuple(bookies), tuple(spans)
        self.store = (*((at, int(up)) for at, up in store_outages(faults, scenario.rounds)), (FOREVER, 0))


def spans_of(timeline: BookieTimeline | None, left: int, causes: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """(first round, status, cause) of a bookie's spans; what happens in one round only has a span of one round.

    `left`: round in which it is decommissioned, FOREVER: never. `causes`: as of bookie_causes.
    """
    timeline = timeline or BookieTimeline([0], [BookieState()])
    steps: dict[int, int] = {}
    was_dead = False
    for at, state in zip(timeline.rounds, timeline.states, strict=True):
        status = _status(state) | (RESTARTED if was_dead and not state.dead else 0)
        steps[at] = status
        if status & HAPPENS:
            steps.setdefault(at + 1, status & ~HAPPENS)
        was_dead = state.dead
    for edge in (*(at for at, _ in causes), *([] if left == FOREVER else [left])):
        if edge not in steps:
            before = [at for at in steps if at < edge]
            steps[edge] = steps[max(before)] & ~HAPPENS if before else 0
    spans: list[tuple[int, int, int]] = []
    cause, ahead = NO_FAULT, list(causes)
    for at in sorted(steps):
        while ahead and ahead[0][0] <= at:
            cause = ahead.pop(0)[1]
        status = steps[at] | (DECOMMISSIONED if at >= left else 0)
        if not spans or spans[-1][1:] != (status, cause) or status & HAPPENS:
            spans.append((at, status, cause))
    return spans


def _status(state: BookieState) -> int:
    bits = sum(bit for flag, bit in STATUS_BITS.items() if getattr(state, flag))
    return bits if state.registered else bits | UNREGISTERED
