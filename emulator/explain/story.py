"""From the rows of a partition to its story: rounds in which something happened, and the quiet ones between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from emulator.explain.fetches import STEADY_FETCHES, Message, messages
from emulator.explain.history import ELECTIONS, History
from emulator.explain.marks import STEADY_KINDS, Mark, marks_of
from emulator.explain.quiet import Totals, quiet_words
from emulator.explain.rows import PartitionRows, Row, StoryRows

LEADER, ZOMBIE, FOLLOWER, OFFLINE, ABSENT = "leader", "zombie", "follower", "offline", "absent"


@dataclass(frozen=True)
class State:
    """A replica at the end of a round; without a trace the role is what events tell, and the rest is None.

    `role`: leader, follower or offline; zombie: it leads an epoch that the controller has ended; absent: no replica. `said`: of
    what is no replica, its state in words; its role is one of these, and Speech says what it stands for.
    """

    role: str
    epoch: int | None = None
    leo: int | None = None
    hw: int | None = None
    said: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """What stands in its column at the end of a round."""
        if self.leo is None or self.role == ABSENT:
            return self.said
        return f"{self.role} e{self.epoch}", f"leo {self.leo}", f"hw {self.hw}"


@dataclass(frozen=True)
class Moment:
    """A round in which something happened.

    `states`: by broker, at its end; `controller`: the row of `trace_partitions`; `faulty`: brokers with a fault in force; `said`:
    of what is no partition, what stands in the controller's place.
    """

    round: int
    states: Mapping[int, State]
    faulty: frozenset[int]
    controller: Row | None
    marks: tuple[Mark, ...]
    messages: tuple[Message, ...]
    violations: tuple[Row, ...]
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quiet:
    """Rounds `first` to `last`, in which went on what went on before; `states` and `faulty` hold in all of them."""

    first: int
    last: int
    states: Mapping[int, State]
    faulty: frozenset[int]
    text: str


@dataclass(frozen=True)
class Speech:
    """What a drawing calls its columns, the one at the side, roles, arrows and marks; `opening`: how to read a round's end.

    `side_first`: in the picture the one at the side stands left of the others, which may be many.
    """

    column: str
    side: str
    roles: Mapping[str, str]
    arrows: Mapping[str, str]
    opening: str
    marks: Mapping[str, str] = field(default_factory=dict)
    side_first: bool = False


OF_PARTITIONS = Speech(
    "broker",
    "controller",
    {LEADER: "leader", ZOMBIE: "zombie (its epoch is over)", FOLLOWER: "follower", OFFLINE: "offline"},
    {"fetch": "fetch", "answer": "answer", "exchange": "fetch and answer", "lost": "lost or unanswered"},
    "A round's last line is its end: role, epoch (e), log end (leo) and high watermark (hw), both exclusive; a..b includes b.",
)


@dataclass(frozen=True)
class Story:
    """What happened to a partition in rounds `first` to `last`; `rows` are what it was told from.

    Of what is no partition `opening` and `closing` are the lines before and behind the drawing.
    """

    rows: StoryRows
    first: int
    last: int
    traced: bool
    parts: tuple[Moment | Quiet, ...]
    speech: Speech = OF_PARTITIONS
    opening: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()


def tell(rows: PartitionRows, first: int, last: int) -> Story:
    """Tells the story of rounds `first` to `last`, both included."""
    history = History(rows)
    rounds = range(first, last + 1)
    states = _traced_states(history) if rows.trace else _guessed_states(history)
    parts: list[Moment | Quiet] = []
    before: Any = None
    totals: Totals | None = None
    for round_ in rounds if rows.trace else _rounds_told_of(history, rounds):
        moment = _moment(history, round_, states, round_ == first)
        now = _what_goes_on(history, moment)
        if totals is not None and totals.last < round_ - 1:  # a gap without rows is a stretch of its own
            parts.append(_quiet(history, totals, states))
            totals = None
        if now == before and not _is_eventful(moment) and round_ > first:
            totals = totals or Totals(round_)
            totals.add(round_, moment.marks)
        else:
            parts += [_quiet(history, totals, states)] if totals else []
            totals = None
            parts.append(moment)
        before = now
    parts += [_quiet(history, totals, states)] if totals else []
    told = parts if rows.trace else _with_gaps(history, parts, first, last, states)
    return Story(rows, first, last, bool(rows.trace), tuple(told))


def _moment(history: History, round_: int, states: Mapping[int, Mapping[int, State]], first_shown: bool) -> Moment:
    return Moment(
        round_,
        _states_at(states, round_),
        history.faulty(round_),
        history.controllers.get(round_),
        tuple(marks_of(history, round_, first_shown)),
        messages(history, round_),
        tuple(history.violations.get(round_, ())),
    )


def _is_eventful(moment: Moment) -> bool:
    return bool(moment.violations) or any(mark.kind not in STEADY_KINDS for mark in moment.marks)


def _what_goes_on(history: History, moment: Moment) -> Any:
    """What has to change for a round to be told of: roles, epochs, who is in sync, how fetches end; not offsets."""
    fetching = {
        broker: "steady" if state in STEADY_FETCHES else state
        for broker in history.columns
        for state in [history.states.get((moment.round, broker), {}).get("fetch_state")]
    }
    controller = {k: v for k, v in (moment.controller or {}).items() if k != "round"}
    roles = {broker: (state.role, state.epoch) for broker, state in moment.states.items()}
    return roles, fetching, controller, moment.faulty


def _quiet(history: History, totals: Totals, states: Mapping[int, Mapping[int, State]]) -> Quiet:
    text = quiet_words(history, totals)
    first, last = totals.first, totals.last
    return Quiet(first, last, _states_at(states, last), history.faulty(last), text)


def _states_at(states: Mapping[int, Mapping[int, State]], round_: int) -> Mapping[int, State]:
    """The states of a round; where nothing was written down, those before it."""
    if round_ in states:
        return states[round_]
    return states[max(known for known in states if known <= round_)]


def _traced_states(history: History) -> dict[int, dict[int, State]]:
    absent = dict.fromkeys(history.columns, State(ABSENT))
    states: dict[int, dict[int, State]] = {}
    for (round_, broker), row in history.states.items():
        controller = history.controllers.get(round_)
        superseded = controller is not None and controller["leader_epoch"] > row["leader_epoch"]
        role = ZOMBIE if row["role"] == LEADER and superseded else str(row["role"])
        states.setdefault(round_, dict(absent))[broker] = State(role, row["leader_epoch"], row["leo"], row["hw"])
    return states


def _guessed_states(history: History) -> dict[int, dict[int, State]]:
    """Roles by what events and faults tell, from -1 on, for every round that changes one."""
    elections = [e for e in history.rows.events if e["kind"] in (*ELECTIONS, "leader_lost", "step_down")]
    leader = _first_leader(history, elections)
    edges = [edge for fault in history.faults for edge in (fault.starts, fault.ends) if edge is not None]
    states: dict[int, dict[int, State]] = {}
    for round_ in sorted({-1, *edges, *(event["round"] for event in elections)}):
        for event in history.events.get(round_, ()):
            if event["kind"] in ELECTIONS:
                leader = event["broker"]
            elif event["kind"] in ("leader_lost", "step_down") and leader == event["broker"]:
                leader = None
        dead = history.dead(round_)
        roles = {b: OFFLINE if b in dead else LEADER if b == leader else FOLLOWER for b in history.columns}
        states[round_] = {broker: State(role) for broker, role in roles.items()}
    return states


def _first_leader(history: History, elections: Iterable[Row]) -> int | None:
    """Who led before anything happened: of a group its first server, else who lost it first, or leads at the end."""
    if history.rows.first_leader is not None:
        return history.rows.first_leader
    first = min(elections, key=lambda event: event["round"], default=None)
    if first is None:
        return history.rows.outcome["leader"]
    return first["broker"] if first["kind"] == "leader_lost" else None


def _rounds_told_of(history: History, rounds: range) -> list[int]:
    """Rounds of the story that some row tells of; the first one, if a fault is in force in it."""
    edges = [edge for fault in history.faults for edge in (fault.starts, fault.ends) if edge is not None]
    in_force = [rounds.start] if history.faulty(rounds.start) else []
    told: Iterable[int] = {*history.events, *history.violations, *edges, *in_force}
    return sorted(round_ for round_ in told if round_ in rounds)


def _with_gaps(
    history: History, parts: list[Moment | Quiet], first: int, last: int, states: Mapping[int, Mapping[int, State]]
) -> list[Moment | Quiet]:
    """The parts with what no row tells of between them."""
    told: list[Moment | Quiet] = []
    expected = first
    for part in [*parts, None]:
        begin = last + 1 if part is None else part.round if isinstance(part, Moment) else part.first
        if begin > expected:
            gap = Totals(expected, begin - 1)
            told.append(_quiet(history, gap, states))
        if part is not None:
            told.append(part)
            expected = (part.round if isinstance(part, Moment) else part.last) + 1
    return told
