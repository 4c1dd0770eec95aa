"""The state machine of one broker under its faults: offline, paused, isolated, fenced, and what marks a change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from emulator.faults.kinds import (
    CRASH_RANK,
    DISK_LOSS_RANK,
    ISOLATION_RANK,
    PAUSE_RANK,
    POWER_LOSS_RANK,
    SHUTDOWN_RANK,
    FaultRow,
)
from emulator.faults.steps import Interval, Steps, sweep


class BrokerState(NamedTuple):
    """The flags of one round, and `moment`; BrokerSegment has them in the same order."""

    offline: bool = False
    paused: bool = False
    isolated: bool = False
    waking: bool = False
    fenced: bool = False
    fence_now: bool = False
    unfence_now: bool = False
    returning: bool = False
    restarted: bool = False
    unclean_restart: bool = False
    stopped_cleanly: bool = False
    clean_stop: bool = False
    power_loss: bool = False
    disk_loss: bool = False
    clients_cut: bool = False
    island: str | None = None
    moment: int | None = None

    @property
    def unheard(self) -> bool:
        """Whether the controller hears nothing of the broker."""
        return self.offline or self.paused or self.isolated

    @property
    def has_marker(self) -> bool:
        """Whether a flag of this round only is set (`returning` implies `restarted`)."""
        lifecycle = self.waking or self.fence_now or self.unfence_now or self.restarted
        return lifecycle or self.clean_stop or self.power_loss or self.disk_loss


class Holding(NamedTuple):
    """What holds on the broker itself: rank of the strongest dead fault (None: none), pause, isolation.

    `island`: the rack with which it is cut off, if nothing else cuts it off.
    """

    dead_rank: int | None = None
    pause: bool = False
    isolation: bool = False
    clients_cut: bool = False
    island: str | None = None

    @property
    def nothing(self) -> bool:
        """Whether no dead, pause or isolation fault holds."""
        return self.dead_rank is None and not self.pause and not self.isolation


def broker_states(
    own: Sequence[Interval[FaultRow]], controller_up: Steps[bool], rounds: int, session_timeout_rounds: int
) -> Steps[BrokerState]:
    """Runs the state machine over [0, rounds), visiting only the rounds in which something may change.

    `own`: the dead, pause and isolation faults of the broker, those of its rack included; `controller_up` of the cluster.
    Neighbours differ, or the latter has a marker.
    Source: docs/kafka_rounds.md, "What the faults say of a broker".
    """
    starts, moments = _ranks_starting(own), _moments_of_stops(own)
    visits = _Visits(sweep(own, _holding), controller_up, sorted(starts))
    states: Steps[BrokerState] = []
    state, was_controller_up = BrokerState(), True
    unheard_since: int | None = None
    round_ = 0
    while round_ < rounds:
        holding, has_controller = visits.at(round_)
        if unheard_since is not None and has_controller and not was_controller_up:
            unheard_since = round_  # every session starts anew
        before = state
        state, unheard_since = _next_state(
            before,
            holding,
            starts.get(round_, frozenset()),
            moments.get(round_),
            has_controller,
            unheard_since,
            round_,
            session_timeout_rounds,
        )
        if state.has_marker or not states or states[-1][1] != state:  # markers of two rounds are two events
            states.append((round_, state))
        was_controller_up = has_controller
        upcoming = [visits.next_change(rounds)]
        if state.has_marker:
            upcoming.append(round_ + 1)
        if unheard_since is not None and has_controller and not state.fenced:
            upcoming.append(unheard_since + session_timeout_rounds)
        round_ = min(upcoming)
    return states


def _next_state(
    before: BrokerState,
    holding: Holding,
    starting: frozenset[int],
    moment: int | None,
    controller_up: bool,
    unheard_since: int | None,
    round_: int,
    session_timeout_rounds: int,
) -> tuple[BrokerState, int | None]:
    session_over = unheard_since is not None and round_ >= unheard_since + session_timeout_rounds
    if before.offline:
        # It can register again only once its old session is over.
        offline = not (holding.nothing and controller_up and (before.fenced or session_over))
    else:
        offline = holding.dead_rank is not None
    paused = not offline and holding.pause
    isolated = not offline and holding.isolation
    unheard = offline or paused or isolated
    restarted = before.offline and not offline
    clean_stop = not before.offline and SHUTDOWN_RANK in starting and holding.dead_rank == SHUTDOWN_RANK
    stopped_cleanly = offline and DISK_LOSS_RANK not in starting and (clean_stop or (before.offline and before.stopped_cleanly))
    fence_now = (
        controller_up and not before.fenced and ((clean_stop and not before.unheard) or (session_over and (unheard or restarted)))
    )
    unfence_now = controller_up and not unheard and (before.fenced or fence_now)
    state = BrokerState(
        offline=offline,
        paused=paused,
        isolated=isolated,
        waking=not offline and not paused and not isolated and (before.paused or before.isolated),
        fenced=(before.fenced or fence_now) and not unfence_now,
        fence_now=fence_now,
        unfence_now=unfence_now,
        returning=fence_now and unfence_now,
        restarted=restarted,
        unclean_restart=restarted and not before.stopped_cleanly,
        stopped_cleanly=stopped_cleanly,
        clean_stop=clean_stop,
        power_loss=POWER_LOSS_RANK in starting,
        disk_loss=DISK_LOSS_RANK in starting,
        clients_cut=holding.clients_cut,
        island=holding.island,
        moment=None if not offline else before.moment if before.offline else moment,
    )
    if not unheard:
        return state, None
    return state, round_ if unheard_since is None else unheard_since


def _ranks_starting(own: Sequence[Interval[FaultRow]]) -> dict[int, frozenset[int]]:
    """Round -> ranks of the faults with an effect of their own in their first round."""
    ranks: dict[int, set[int]] = {}
    for from_round, _, row in own:
        if row.rank <= SHUTDOWN_RANK and row.rank != CRASH_RANK:
            ranks.setdefault(from_round, set()).add(row.rank)
    return {round_: frozenset(of) for round_, of in ranks.items()}


def _moments_of_stops(own: Sequence[Interval[FaultRow]]) -> dict[int, int]:
    """Round -> the earliest moment at which a fault that begins in it kills the broker."""
    moments: dict[int, int] = {}
    for from_round, _, row in own:
        if row.rank <= CRASH_RANK:
            moments[from_round] = min(moments.get(from_round, row.moment), row.moment)
    return moments


def _holding(rows: Collection[FaultRow]) -> Holding:
    isolations = [row for row in rows if row.rank == ISOLATION_RANK]
    return Holding(
        min((row.rank for row in rows if row.rank <= SHUTDOWN_RANK), default=None),
        any(row.rank == PAUSE_RANK for row in rows),
        bool(isolations),
        any(row.clients for row in isolations),
        island_of(isolations),
    )


def island_of(isolations: Iterable[FaultRow]) -> str | None:
    """The rack with which a broker is cut off by these faults; None if one of them, or none, cuts it off."""
    racks = {str(row.rack) if row.kind == "rack_isolation" else None for row in isolations}
    return racks.pop() if len(racks) == 1 else None


class _Visits:
    """Reads the inputs of the state machine at rising rounds."""

    def __init__(self, holding: Steps[Holding], controller_up: Steps[bool], marks: Sequence[int]) -> None:
        self._holding = holding
        self._controller_up = controller_up
        changes = {round_ for round_, _ in holding} | {round_ for round_, _ in controller_up} | set(marks)
        self._changes = sorted(changes)
        self._holding_index = self._controller_index = self._change_index = 0

    def at(self, round_: int) -> tuple[Holding, bool]:
        """What holds in the round, and whether there is a controller."""
        self._holding_index = _last_at(self._holding, self._holding_index, round_)
        self._controller_index = _last_at(self._controller_up, self._controller_index, round_)
        while self._change_index < len(self._changes) and self._changes[self._change_index] <= round_:
            self._change_index += 1
        return self._holding[self._holding_index][1], self._controller_up[self._controller_index][1]

    def next_change(self, rounds: int) -> int:
        """The next round in which an input changes; `rounds` if none does."""
        return self._changes[self._change_index] if self._change_index < len(self._changes) else rounds


def _last_at(steps: Sequence[tuple[int, object]], index: int, round_: int) -> int:
    while index + 1 < len(steps) and steps[index + 1][0] <= round_:
        index += 1
    return index
