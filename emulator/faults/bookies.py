"""What the faults say of bookies, of the metadata store and of a ledger's writer (docs/bookkeeper_rounds.md).

Only rounds in which something may change are visited: a fault's first round, the one after it (marks are of one round), the round
after its end, and the end of a session.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from emulator.faults.kinds import RACK_KINDS, FaultRow

CRASHES = ("broker_crash", "rack_loss")
DEAD_KINDS = (*CRASHES, "power_loss", "disk_loss", "controlled_shutdown")
AWAY_KINDS = (*DEAD_KINDS, "broker_pause", "isolation", "rack_isolation")
"""Faults that take a bookie down or out of sight."""
SLOW_BOOKIE = "slow_bookie"
STORE_OUTAGES = ("metadata_store_outage", "controller_loss")


class BookieState(NamedTuple):
    """One bookie from a round on.

    `dead`: connections to it break. `paused`: the process stands still. `silent`: clients hear nothing of it. `registered`: new
    ensembles may take it. `crashed`, `stopped`, `power_lost`, `disk_lost`: what happens to it in this very round only.
    """

    dead: bool = False
    paused: bool = False
    silent: bool = False
    registered: bool = True
    crashed: bool = False
    stopped: bool = False
    power_lost: bool = False
    disk_lost: bool = False

    @property
    def is_marked(self) -> bool:
        """Something happens in this very round."""
        return self.crashed or self.stopped or self.power_lost or self.disk_lost


@dataclass(frozen=True)
class BookieTimeline:
    """The states of one bookie, each from its round on; neighbours differ."""

    rounds: list[int]
    states: list[BookieState]


def store_outages(faults: Iterable[FaultRow], rounds: int) -> list[tuple[int, bool]]:
    """From which round on the metadata store answers or not, from round 0 on; neighbours differ."""
    outages = [(f.from_round, f.to_round) for f in faults if f.kind in STORE_OUTAGES]
    edges = sorted({0, *(edge for outage in outages for edge in outage if edge < rounds)})
    steps: list[tuple[int, bool]] = []
    for edge in edges:
        up = not any(start <= edge < end for start, end in outages)
        if not steps or steps[-1][1] != up:
            steps.append((edge, up))
    return steps


NO_FAULT = -1
"""The cause of what happens to a bookie that no fault has concerned yet."""


def bookie_timelines(
    faults: Sequence[FaultRow], bookies: Iterable[tuple[int, str | None]], rounds: int, session_timeout_rounds: int
) -> dict[int, BookieTimeline]:
    """The timelines of those bookies (id, rack) that some fault concerns."""
    store = store_outages(faults, rounds)
    own = faults_by_bookie(faults, bookies)
    return {bookie: _follow(rows, store, rounds, session_timeout_rounds) for bookie, rows in sorted(own.items())}


def bookie_causes(
    faults: Sequence[FaultRow], bookies: Iterable[tuple[int, str | None]], rounds: int
) -> dict[int, list[tuple[int, int]]]:
    """By bookie that some fault concerns: (round, fault behind what happens to it from then on); neighbours differ.

    It is the strongest fault in force on it (ties: the first row), else the last that was.
    """
    return {bookie: _causes(rows, rounds) for bookie, rows in sorted(faults_by_bookie(faults, bookies).items())}


def _causes(own: Sequence[FaultRow], rounds: int) -> list[tuple[int, int]]:
    steps: list[tuple[int, int]] = []
    for edge in sorted({edge for f in own for edge in (f.from_round, f.to_round) if edge < rounds}):
        held = [(f.rank, f.fault_id) for f in own if f.from_round <= edge < f.to_round]
        if held and (not steps or steps[-1][1] != min(held)[1]):
            steps.append((edge, min(held)[1]))
    return steps


def bookie_lags(faults: Sequence[FaultRow], rounds: int) -> dict[int, list[tuple[int, int, int]]]:
    """By bookie that is slow some time: (round, rounds by which its answers come late from then on, fault for which they do).

    Of several faults the largest lag holds; ties: the first row.
    """
    own: dict[int, list[FaultRow]] = defaultdict(list)
    for fault in faults:
        if fault.kind == SLOW_BOOKIE and fault.broker is not None:
            own[fault.broker].append(fault)
    lags = {}
    for bookie, rows in own.items():
        steps = []
        for edge in sorted({edge for f in rows for edge in (f.from_round, f.to_round) if edge < rounds}):
            held = [(-(f.lag_rounds or 0), f.fault_id) for f in rows if f.from_round <= edge < f.to_round]
            lag, behind = min(held, default=(0, NO_FAULT))
            steps.append((edge, -lag, behind))
        lags[bookie] = steps
    return lags


def faults_by_bookie(faults: Sequence[FaultRow], bookies: Iterable[tuple[int, str | None]]) -> dict[int, list[FaultRow]]:
    """By bookie (id, rack) the faults that take it down or out of sight."""
    own: dict[int, list[FaultRow]] = defaultdict(list)
    of_rack: dict[str, list[int]] = defaultdict(list)
    for bookie, rack in bookies:
        if rack is not None:
            of_rack[rack].append(bookie)
    for fault in faults:
        if fault.kind in RACK_KINDS:
            for bookie in of_rack.get(str(fault.rack), []):
                own[bookie].append(fault)
        elif fault.broker is not None and fault.kind in AWAY_KINDS:
            own[fault.broker].append(fault)
    return own


def _follow(
    own: Sequence[FaultRow], store: Sequence[tuple[int, bool]], rounds: int, session_timeout_rounds: int
) -> BookieTimeline:
    fixed = {0, *(edge for f in own for edge in (f.from_round, f.from_round + 1, f.to_round)), *(at for at, _ in store)}
    ahead = sorted(edge for edge in fixed if edge < rounds)
    timeline = BookieTimeline([], [])
    before, unheard_since, was_up = BookieState(), -1, False
    now = 0
    while now < rounds:
        held = [f for f in own if f.from_round <= now < f.to_round]
        kinds = {f.of_broker for f in held}
        begun = {f.of_broker for f in held if f.from_round == now}
        dead = bool(kinds & set(DEAD_KINDS))
        paused = not dead and "broker_pause" in kinds
        cut = not dead and "isolation" in kinds
        up = [up for at, up in store if at <= now][-1]
        if not paused and not cut:
            unheard_since = -1
        elif unheard_since < 0 or (up and not was_up):
            unheard_since = now
        unheard = unheard_since >= 0
        session_ended = unheard and up and now >= unheard_since + session_timeout_rounds
        session_ended = session_ended or (unheard and not before.dead and not before.registered)
        clean = "controlled_shutdown" in begun and not before.dead and not kinds & {*CRASHES, "power_loss", "disk_loss"}
        state = BookieState(
            dead=dead,
            paused=paused,
            silent=paused or any(f.of_broker == "isolation" and f.clients for f in held if cut),
            registered=not dead and not session_ended,
            crashed=dead and not before.dead and not clean,
            stopped=clean,
            power_lost="power_loss" in begun,
            disk_lost="disk_loss" in begun,
        )
        if not timeline.states or timeline.states[-1] != state or state.is_marked:
            timeline.rounds.append(now)
            timeline.states.append(state)
        before, was_up = state, up
        at = bisect_right(ahead, now)
        upcoming = ahead[at] if at < len(ahead) else rounds
        if unheard and up and not session_ended:
            upcoming = min(upcoming, max(unheard_since + session_timeout_rounds, now + 1))
        now = min(upcoming, now + 1) if state.is_marked else upcoming
    return timeline


def on_the_way(faults: Iterable[FaultRow], kind: str, round_: int) -> list[Mapping[str, int]]:
    """Which adds to which bookies faults of a kind (drop_adds, delay_adds) get hold of in a round."""
    return [
        {
            "bookie": fault.broker or 0,
            "from_entry": fault.from_offset or 0,
            "to_entry": 2**62 if fault.to_offset is None else fault.to_offset,
        }
        for fault in faults
        if fault.kind == kind and fault.from_round <= round_ < fault.to_round
    ]
