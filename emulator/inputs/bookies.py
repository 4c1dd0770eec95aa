"""What the faults make of a scenario's bookies, round by round. Pure driver-side code: no Spark here."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from emulator.faults.bookies import BookieState, bookie_timelines, store_outages
from emulator.faults.kinds import FaultRow
from emulator.ledger_configs import effective
from emulator.scenario import Scenario
from emulator.scenario.ledgers import DECOMMISSION, RACK_AWARE


class Bookies:
    """What the faults make of all bookies of a scenario: the world of every ledger."""

    def __init__(self, scenario: Scenario, faults: Sequence[FaultRow]) -> None:
        known = [(b.id, b.rack) for b in scenario.brokers]
        self._timelines = bookie_timelines(faults, known, scenario.rounds, scenario.session_timeout_rounds)
        self._store = store_outages(faults, scenario.rounds)
        config = scenario.config
        self._journal = bool(effective(config, {}, "journalWriteData"))
        self._synced = self._journal and bool(effective(config, {}, "journalSyncData"))
        ids = [bookie for bookie, _ in known]
        self._first, self._last = min(ids), max(ids)
        self._absent = sorted(set(range(self._first, self._last + 1)) - set(ids))
        self._left: dict[int, int] = {}
        for command in scenario.commands:
            if command.kind == DECOMMISSION and command.broker is not None:
                self._left[command.broker] = min(command.round, self._left.get(command.broker, command.round))
        self._returns = self._damaged_returns() if effective(config, {}, "dataIntegrityCheckingEnabled") else {}
        self._racks = self._rack_numbers(scenario) if any(t.policy == RACK_AWARE for t in scenario.topics) else None
        rounds = {0, *(at for at, _ in self._store), *self._left.values()}
        rounds.update(at + more for at in self._returns for more in (0, 1))
        for timeline in self._timelines.values():
            rounds.update(timeline.rounds)
            rounds.update(at + 1 for at, state in zip(timeline.rounds, timeline.states, strict=True) if state.is_marked)
        self.rounds = sorted(at for at in rounds if at < scenario.rounds)

    def registered(self) -> list[tuple[int, tuple[int, ...]]]:
        """From which round on which bookies an ensemble may take; neighbours differ."""
        known: list[tuple[int, tuple[int, ...]]] = []
        for at in self.rounds:
            away = set(self.at(at)["unregistered"])
            ids = tuple(bookie for bookie in range(self._first, self._last + 1) if bookie not in away)
            if not known or known[-1][1] != ids:
                known.append((at, ids))
        return known

    def _rack_numbers(self, scenario: Scenario) -> list[int]:
        numbers = {rack: number for number, rack in enumerate(sorted({b.rack for b in scenario.brokers if b.rack is not None}))}
        racks = {b.id: -1 if b.rack is None else numbers[b.rack] for b in scenario.brokers}
        return [racks.get(bookie, -1) for bookie in range(self._first, self._last + 1)]

    def _damaged_returns(self) -> dict[int, list[int]]:
        """By round the bookies that are back in it, and lost something while they were away."""
        returns = defaultdict(list)
        for bookie, timeline in self._timelines.items():
            damaged = False
            for at, state in zip(timeline.rounds, timeline.states, strict=True):
                damaged = damaged or state.disk_lost or self._is_damage(state)
                if damaged and not state.dead:
                    damaged = False
                    returns[at].append(bookie)
        return returns

    def _is_damage(self, state: BookieState) -> bool:
        return (state.crashed and not self._journal) or (state.power_lost and not self._synced)

    def at(self, round_: int) -> dict[str, Any]:
        """The world in a round."""
        states: dict[int, BookieState] = {}
        marked: dict[int, BookieState] = {}
        for bookie, timeline in self._timelines.items():
            place = bisect_right(timeline.rounds, round_) - 1
            states[bookie] = timeline.states[place]
            if timeline.rounds[place] == round_:
                marked[bookie] = states[bookie]
        up = self._store[bisect_right([at for at, _ in self._store], round_) - 1][1]
        crashed = [] if self._journal else [b for b, state in marked.items() if state.crashed]
        power_lost = [] if self._synced else [b for b, state in marked.items() if state.power_lost]
        disk_lost = [b for b, state in marked.items() if state.disk_lost]
        stopped = [] if self._synced else [b for b, state in marked.items() if state.stopped]
        returned = sorted(self._returns.get(round_, []))
        decommissioned = sorted(b for b, at in self._left.items() if at <= round_)
        away = {b for b, state in states.items() if not state.registered}
        return {
            "dead": [b for b, state in states.items() if state.dead],
            "silent": [b for b, state in states.items() if state.silent],
            "paused": [b for b, state in states.items() if state.paused],
            "unregistered": sorted({*self._absent, *away, *decommissioned}),
            "store_up": up,
            "marks": bool(crashed or power_lost or disk_lost or stopped or returned),
            "crashed": crashed,
            "power_lost": power_lost,
            "disk_lost": disk_lost,
            "stopped": stopped,
            "returned": returned,
            "decommissioned": decommissioned,
            "first_bookie": self._first,
            "last_bookie": self._last,
            "racks": self._racks,
        }
