"""What faults and settings of their own make of brokers, round by round."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection
from typing import Any, NamedTuple

import pyarrow.compute as pc

from emulator.faults.kinds import FaultRow, read_fault_rows
from emulator.faults.steps import sweep
from emulator.faults.timeline import BrokerSegment
from emulator.scenario import Scenario

METADATA_LAG = "remote_metadata_lag"
"""Stands among a broker's settings: rounds by which it reads remote metadata late, -1: it reads none, None: no fault."""


class BrokerSpan(NamedTuple):
    """What is so of a broker from a round on: what the faults say of it, and all settings altered for it alone."""

    from_round: int
    segment: BrokerSegment
    settings: dict[str, Any]


class BrokersOverTime:
    """What faults and settings of their own make of the brokers of a scenario, round by round."""

    def __init__(self, scenario: Scenario, timelines: dict[int, list[BrokerSegment]]) -> None:
        self._rounds = scenario.rounds
        self._timelines = timelines
        self._settings = _broker_settings(scenario)

    @property
    def brokers(self) -> list[int]:
        """The brokers' ids, ascending."""
        return sorted(self._timelines)

    def distinct_spans(self) -> tuple[list[list[BrokerSpan]], list[int]]:
        """(`_spans` of brokers that differ, by broker which of them it has): those that nothing touches have the same."""
        lists: list[list[BrokerSpan]] = []
        places: dict[tuple[int, int | None], int] = {}
        which = []
        for broker in self.brokers:
            key = id(self._timelines[broker]), broker if broker in self._settings else None
            if key not in places:
                places[key] = len(lists)
                lists.append(self._spans(broker))
            which.append(places[key])
        return lists, which

    def _spans(self, broker: int) -> list[BrokerSpan]:
        """The spans of the run in which nothing changes for a broker, in order."""
        segments, altered = self._timelines[broker], self._settings.get(broker, {})
        settings: dict[str, Any] = {}
        if not altered:
            return [BrokerSpan(segment.from_round, segment, settings) for segment in segments]
        starts = [segment.from_round for segment in segments]
        spans = []
        for round_ in sorted({*starts, *(r for r in altered if r < self._rounds)}):
            settings = settings | altered[round_] if round_ in altered else settings
            spans.append(BrokerSpan(round_, segments[bisect_right(starts, round_) - 1], settings))
        return spans


def _broker_settings(scenario: Scenario) -> dict[int, dict[int, dict[str, Any]]]:
    """Broker -> round -> settings altered for this broker alone (alter_config with `broker`), rounds ascending."""
    settings: dict[int, dict[int, dict[str, Any]]] = defaultdict(dict)
    for command in sorted(scenario.commands, key=lambda c: c.round):
        if command.kind == "alter_config" and command.broker is not None:
            settings[command.broker].setdefault(command.round, {}).update(command.config or {})
    is_lag = pc.equal(scenario.faults.column("kind"), METADATA_LAG)
    lags = read_fault_rows(scenario.faults.filter(is_lag), scenario.rounds) if pc.any(is_lag).as_py() else []
    for broker in [b.id for b in scenario.brokers] if lags else []:
        own = [(row.from_round, row.to_round, row) for row in lags if row.broker in (None, broker)]
        for round_, lag in sweep(own, _largest_lag):
            if own and round_ < scenario.rounds:
                settings[broker].setdefault(round_, {})[METADATA_LAG] = lag
        settings[broker] = dict(sorted(settings[broker].items()))
    return dict(settings)


def _largest_lag(rows: Collection[FaultRow]) -> int | None:
    if any(row.lag_rounds is None for row in rows):
        return -1
    return max((row.lag_rounds or 0 for row in rows), default=None)
