"""Rounds in which only goes on what went on before, in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from emulator.explain.fetches import LOST, STEADY_FETCHES, appended, messages
from emulator.explain.history import History
from emulator.explain.marks import Mark
from emulator.explain.rows import Row

_TROUBLES = {
    "offline": "offline: {}",
    LOST: "fetches of {} are lost",
    "unanswered": "no answer for {}",
    "asked": "asking on where its log ends: {}",
    "out_of_order": "batches fit no more: {}",
    "out_of_range": "fetching out of range: {}",
    "not fetching": "not fetching: {}",
}


@dataclass
class Totals:
    """What is summed up of the rounds `first` to `last`: how often each kind of event came."""

    first: int
    last: int = -1
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, round_: int, marks: Iterable[Mark]) -> None:
        """Adds a round, the one after `last`."""
        self.last = round_
        self.counts.update(mark.kind for mark in marks)


def quiet_words(history: History, totals: Totals) -> str:
    """Returns what went on in the rounds, without their numbers."""
    last = {broker: history.states.get((totals.last, broker)) for broker in history.columns}
    replicas = {broker: state for broker, state in last.items() if state is not None}
    if not replicas:
        return ", ".join(_counted(totals) or ["no events"])
    troubles = _troubles(history, totals.last, replicas)
    leaders = [(state["leader_epoch"], broker) for broker, state in replicas.items() if state["role"] == "leader"]
    if not leaders:
        return "; ".join(["no running leader", *troubles])
    leader = max(leaders)[1]
    went_on = ["as before" if troubles else "steady", *_growth(history, totals, leader), *_counted(totals)]
    for broker, state in replicas.items():
        before = history.states.get((totals.last - 1, leader), {}).get("leo", 0)
        if state["fetch_state"] in STEADY_FETCHES and state["leo"] < before:
            troubles.append(f"broker {broker} behind at {state['leo']}")
    return "; ".join([", ".join(went_on), *troubles])


def _growth(history: History, totals: Totals, leader: int) -> list[str]:
    """How much was appended, and where that brought the leader's log."""
    ranges = [appended(history, round_, leader) for round_ in range(totals.first, totals.last + 1)]
    rates = [0 if added is None else added[1] - added[0] for added in ranges]
    before, after = history.states.get((totals.first - 1, leader)), history.states[totals.last, leader]
    if max(rates) == 0:
        words = ["nothing appended"]
    elif min(rates) == max(rates):
        words = [f"+{_records(rates[0])}" + (" a round" if len(rates) > 1 else "")]
    else:
        words = [f"{min(rates)} to {max(rates)} records a round"]
    if before is None:
        return words
    if max(rates) > 0:
        words.append(f"leo {before['leo']} -> {after['leo']}")
    if before["hw"] != after["hw"]:
        words.append(f"hw {before['hw']} -> {after['hw']}")
    elif after["hw"] < after["leo"]:
        words.append(f"hw stays at {after['hw']}")
    return words


def _counted(totals: Totals) -> list[str]:
    rolls = totals.counts["segment_roll"]
    return [f"{rolls} new segment{'s' if rolls > 1 else ''}"] if rolls else []


def _troubles(history: History, round_: int, replicas: Mapping[int, Row]) -> list[str]:
    """Who does not simply fetch, by what keeps it."""
    sent = {message.follower: message.state for message in messages(history, round_)}
    brokers: dict[str, list[int]] = {}
    for broker, state in replicas.items():
        trouble = "offline" if state["role"] == "offline" else sent.get(broker, state["fetch_state"] or "not fetching")
        if state["role"] != "leader" and trouble not in STEADY_FETCHES:
            brokers.setdefault(trouble, []).append(broker)
    return [
        _TROUBLES.get(trouble, f"{trouble}: {{}}").format(f"broker{'s' if len(who) > 1 else ''} {', '.join(map(str, who))}")
        for trouble, who in brokers.items()
    ]


def _records(count: int) -> str:
    return f"{count} record{'' if count == 1 else 's'}"
