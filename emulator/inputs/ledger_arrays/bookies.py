"""Bookies and the metadata store over time as arrays: what the faults make of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from emulator.faults.bookies import (
    NO_FAULT,
    BookieState,
    BookieTimeline,
    bookie_causes,
    bookie_lags,
    bookie_timelines,
    store_outages,
)
from emulator.faults.kinds import FaultRow
from emulator.inputs.ledger_arrays.audits import audits_of, missing_of, with_audits
from emulator.rounds.bookkeeper.constants import (
    CLEAN_STOP,
    CRASHED,
    DEAD,
    DECOMMISSIONED,
    DISK_LOST,
    FOREVER,
    HAPPENS,
    NO_LIMIT,
    NO_RACK,
    PAUSED,
    POWER_LOST,
    RESTARTED,
    SILENT,
    UNREGISTERED,
)
from emulator.scenario.bookie_places import region_of
from emulator.scenario.durations import rounds_of
from emulator.scenario.ledger_configs import effective
from emulator.scenario.ledgers import ADD_BOOKIE, DECOMMISSION
from emulator.scenario.model import Scenario

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
        lags = bookie_lags(faults, scenario.rounds)
        causes = bookie_causes(faults, known, scenario.rounds)
        store = store_outages(faults, scenario.rounds)
        left, joined = first_rounds(scenario, DECOMMISSION), first_rounds(scenario, ADD_BOOKIE)
        racks, regions = numbered(b.rack for b in brokers), numbered(region_of(b.rack) for b in brokers)
        bookies: list[tuple[int, ...]] = []
        spans: list[tuple[int, ...]] = []
        own_spans: dict[int, list[tuple[int, ...]]] = {}
        for broker in brokers:
            own = spans_of(timelines.get(broker.id), left.get(broker.id, FOREVER), causes.get(broker.id, []))
            told = as_clients_know(from_joining(own, joined.get(broker.id, 0)), store)
            lagging = with_lags(told, lags.get(broker.id, []))
            slowness = slow_adds([f for f in faults if f.broker == broker.id], scenario.rounds, scenario.round_ms)
            own_spans[broker.id] = with_slowness(lagging, slowness)
        missing = {broker.id: missing_of(own_spans[broker.id], joined.get(broker.id, 0)) for broker in brokers}
        delay_ms = int(effective(scenario.config, {}, "lostBookieRecoveryDelay")) * 1000
        audits = audits_of(missing, rounds_of(delay_ms, scenario.round_ms))
        for broker in brokers:
            whole = with_audits(own_spans[broker.id], missing[broker.id], audits)
            bookies.append((broker.id, racks[broker.rack], regions[region_of(broker.rack)], len(spans), len(whole)))
            spans += [*whole, (FOREVER, 0, NO_FAULT, 0, NO_FAULT, *NOT_SLOW, FOREVER)]
        self.bookies, self.spans = tuple(bookies), tuple(spans)
        self.store = (*((at, int(up)) for at, up in store), (FOREVER, 0))


def first_rounds(scenario: Scenario, kind: str) -> dict[int, int]:
    """By bookie the first round of a command of a kind that is about bookies."""
    rounds: dict[int, int] = {}
    for command in scenario.commands:
        if command.kind == kind and command.broker is not None:
            rounds[command.broker] = min(command.round, rounds.get(command.broker, command.round))
    return rounds


def numbered(names: Iterable[str | None]) -> dict[str | None, int]:
    """Numbers of names, in their order; of none NO_RACK, or NO_REGION."""
    return {None: NO_RACK} | {name: number for number, name in enumerate(sorted({n for n in names if n is not None}))}


def from_joining(spans: Sequence[tuple[int, int, int]], joined: int) -> list[tuple[int, int, int]]:
    """The spans of a bookie that isn't there before a round: nobody hears of it, and nothing happens to it."""
    if joined == 0:
        return list(spans)
    begun = [span for span in spans if span[0] <= joined]
    status = begun[-1][1] if begun[-1][0] == joined else begun[-1][1] & ~HAPPENS
    first = (joined, status & ~RESTARTED, begun[-1][2])
    return [(0, DEAD | UNREGISTERED, NO_FAULT), first, *(span for span in spans if span[0] > joined)]


def as_clients_know(spans: Sequence[tuple[int, int, int]], store: Sequence[tuple[int, bool]]) -> list[tuple[int, int, int]]:
    """The spans of a bookie, registered or not as the store said last: while it is away it tells nobody (BookieWatcherImpl).

    `store`: as of store_outages.
    """
    known: list[tuple[int, int, int]] = []
    told = spans[0][1] & UNREGISTERED
    up, at_span, at_store = True, -1, -1
    for edge in sorted({*(span[0] for span in spans), *(at for at, _ in store)}):
        while at_span + 1 < len(spans) and spans[at_span + 1][0] <= edge:
            at_span += 1
        while at_store + 1 < len(store) and store[at_store + 1][0] <= edge:
            at_store += 1
            up = store[at_store][1]
        begin, status, cause = spans[at_span]
        told = status & UNREGISTERED if up else told
        now = ((status if begin == edge else status & ~HAPPENS) & ~UNREGISTERED | told, cause)
        if not known or known[-1][1:] != now or now[0] & HAPPENS:
            known.append((edge, *now))
    return known


def with_lags(
    spans: Sequence[tuple[int, int, int]], lags: Sequence[tuple[int, int, int]]
) -> list[tuple[int, int, int, int, int]]:
    """The spans of a bookie with (lag, fault behind it), as of bookie_lags; what happens in one round only stays in that one."""
    whole = []
    for at in sorted({at for at, *_ in (*spans, *lags)}):
        begin, status, cause = [span for span in spans if span[0] <= at][-1]
        lag, fault = ([(0, NO_FAULT)] + [(lag, fault) for begins, lag, fault in lags if begins <= at])[-1]
        whole.append((at, status if begin == at else status & ~HAPPENS, cause, lag, fault))
    return whole


NOT_SLOW = (NO_LIMIT, NO_FAULT, NO_LIMIT, NO_FAULT)
"""Of a span: bytes that a link lets through, its fault, bytes that a disk takes, its fault."""


def slow_adds(own: Sequence[FaultRow], rounds: int, round_ms: int) -> list[tuple[int, ...]]:
    """(round, as NOT_SLOW from then on) of a bookie with these faults; neighbours differ. Of several the slowest holds."""
    slow = [f for f in own if f.bytes_per_second is not None and is_slow_for_adds(f)]
    steps: list[tuple[int, ...]] = []
    for edge in sorted({edge for f in slow for edge in (f.from_round, f.to_round) if edge < rounds}):
        found: list[int] = []
        for kind in ("slow_link", "slow_disk"):
            held = [
                (max(1, (f.bytes_per_second or 0) * round_ms // 1000), f.fault_id)
                for f in slow
                if f.kind == kind and f.from_round <= edge < f.to_round
            ]
            found += min(held, default=(NO_LIMIT, NO_FAULT))
        if tuple(found) != (steps[-1][1:] if steps else NOT_SLOW):
            steps.append((edge, *found))
    return steps


def is_slow_for_adds(fault: FaultRow) -> bool:
    """Whether a fault slows what clients send to a bookie: its disk's, or its links', but for one to another bookie."""
    if fault.kind == "slow_link":
        return fault.peer is None and fault.direction in (None, "both", "in")
    return fault.kind == "slow_disk"


def with_slowness(spans: Sequence[tuple[int, ...]], slow: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The spans of a bookie with what `slow_adds` says of it; what happens in one round only stays in that one."""
    found: list[tuple[int, ...]] = []
    for edge in sorted({*(span[0] for span in spans), *(step[0] for step in slow)}):
        start, status, *rest = max((span for span in spans if span[0] <= edge), key=lambda span: span[0])
        now = max((step for step in slow if step[0] <= edge), key=lambda step: step[0], default=(0, *NOT_SLOW))
        found.append((edge, status if start == edge else status & ~HAPPENS, *rest, *now[1:]))
    return found


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
