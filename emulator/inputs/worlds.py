"""Worlds: what the faults say of the brokers that a partition lives on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from emulator.faults.timeline import BrokerSegment
from emulator.scenario import Scenario


@dataclass
class World:
    """The brokers a partition's slots stand for, and which stale_metadata patterns cover it."""

    brokers: tuple[int, ...]
    stale_patterns: frozenset[tuple[str | None, int | None]]


class BrokersOverTime:
    """What faults and settings of their own make of the brokers of a scenario, round by round."""

    def __init__(self, scenario: Scenario, timelines: dict[int, list[BrokerSegment]]) -> None:
        self._round_ms = scenario.round_ms
        self._timelines = timelines
        self._starts = {b: [s.from_round for s in segments] for b, segments in timelines.items()}
        self._settings = _broker_settings(scenario)

    def segment(self, broker: int, round_: int) -> BrokerSegment:
        """The segment of a broker's timeline that holds a round."""
        return self._timelines[broker][bisect_right(self._starts[broker], round_) - 1]

    def changes_between(self, from_round: int, to_round: int) -> dict[int, set[int]]:
        """Broker -> rounds in [from_round, to_round) in which something begins for it; brokers without any are left out."""
        touched: dict[int, set[int]] = {}
        for broker, starts in self._starts.items():
            rounds = set(starts[bisect_left(starts, from_round) : bisect_left(starts, to_round)])
            rounds |= {r for r in self._settings.get(broker, {}) if from_round <= r < to_round}
            if rounds:
                touched[broker] = rounds
        return touched

    def world_at(self, world: World, round_: int) -> dict[str, Any]:
        """The value of a world (schema.WORLD) in a round."""
        segments = [self.segment(b, round_) for b in world.brokers]
        slot_of = {b: i for i, b in enumerate(world.brokers)}
        covered = [any(p[:2] in world.stale_patterns for p in s.stale) for s in segments]
        covered_before = [any(p[:2] in world.stale_patterns for p in s.stale_before) for s in segments]

        def mask(flags: list[bool]) -> int:
            return sum(1 << i for i, flag in enumerate(flags) if flag)

        out_of_touch = [s.offline or s.paused or s.isolated for s in segments]
        everyone = (1 << len(segments)) - 1
        cut_off = mask([s.isolated for s in segments])
        drop = [
            everyone & ~(1 << i) if s.isolated else cut_off | sum(1 << slot_of[b] for b in s.drop_to if b in slot_of)
            for i, s in enumerate(segments)
        ]
        slow = [
            {"from_slot": i, "to_slot": slot_of[peer], "bytes_per_round": self._per_round(rate)}
            for i, s in enumerate(segments)
            for peer, rate in s.slow_to
            if peer in slot_of
        ]
        lags = [
            None if o else _lag(p[2] for p in s.stale if p[:2] in world.stale_patterns)
            for o, s in zip(out_of_touch, segments, strict=True)
        ]
        disk = [None if s.disk_bytes_per_second is None else self._per_round(s.disk_bytes_per_second) for s in segments]
        settings = [self._settings_of(b, round_) for b in world.brokers]
        return {
            "running": mask([not s.offline and not s.paused for s in segments]),
            "offline": mask([s.offline for s in segments]),
            "untold": mask(
                [o or s.waking or c or b for o, s, c, b in zip(out_of_touch, segments, covered, covered_before, strict=True)]
            ),
            "deaf": mask([o or c for o, c in zip(out_of_touch, covered, strict=True)]),
            "unfenced": mask([not s.fenced for s in segments]),
            "returning": mask([s.returning for s in segments]),
            "restarted": mask([s.restarted for s in segments]),
            "unclean_restart": mask([s.unclean_restart for s in segments]),
            "clean_stop": mask([s.clean_stop for s in segments]),
            "power_loss": mask([s.power_loss for s in segments]),
            "disk_loss": mask([s.disk_loss for s in segments]),
            "clients_cut": mask([s.clients_cut for s in segments]),
            "controller_up": segments[0].controller_up,
            "drop": drop if any(drop) else None,
            "slow": slow or None,
            "disk": disk if any(d is not None for d in disk) else None,
            "news_lag": _or_none(lags),
            "cause": [s.cause for s in segments] if any(s.cause >= 0 for s in segments) else None,
            "fetch_max_bytes": _or_none([s.get("replica.fetch.max.bytes") for s in settings]),
            "no_wait": _or_none([None if w is None else w == 0 for w in (s.get("replica.fetch.wait.max.ms") for s in settings)]),
        }

    def _per_round(self, bytes_per_second: int) -> int:
        return max(1, bytes_per_second * self._round_ms // 1000)

    def _settings_of(self, broker: int, round_: int) -> dict[str, Any]:
        settings: dict[str, Any] = {}
        for from_round, values in self._settings.get(broker, {}).items():
            if from_round <= round_:
                settings.update(values)
        return settings


def _lag(lags: Iterable[int | None]) -> int | None:
    """How late news come under several stale_metadata faults: the largest lag, None if one of them lets nothing through."""
    found = list(lags)
    return None if not found or None in found else max(lag for lag in found if lag is not None)


def _or_none(values: list[Any]) -> list[Any] | None:
    return values if any(v is not None for v in values) else None


def _broker_settings(scenario: Scenario) -> dict[int, dict[int, dict[str, Any]]]:
    """Broker -> round -> settings altered for this broker alone (alter_config with `broker`), rounds ascending."""
    settings: dict[int, dict[int, dict[str, Any]]] = defaultdict(dict)
    for command in sorted(scenario.commands, key=lambda c: c.round):
        if command.kind == "alter_config" and command.broker is not None:
            settings[command.broker].setdefault(command.round, {}).update(command.config or {})
    return dict(settings)
