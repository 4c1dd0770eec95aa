"""What the faults say of a partition's brokers, and their own settings, as they are defined, one round at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from emulator.faults import BrokerSegment
from emulator.scenario import Scenario

from .one_by_one import OnePartition, OneScenario


def world_at(inputs: OneScenario, world: OnePartition, round_: int) -> dict[str, Any]:
    """What is so of the partition's brokers in a round, by slot."""
    segments = [_segment(inputs.timelines[b], round_) for b in world.brokers]
    slot_of = {b: i for i, b in enumerate(world.brokers)}
    covered = [any(p[:2] in world.stale_patterns for p in s.stale) for s in segments]
    covered_before = [any(p[:2] in world.stale_patterns for p in s.stale_before) for s in segments]

    def mask(flags: list[bool]) -> int:
        return sum(1 << i for i, flag in enumerate(flags) if flag)

    def per_round(bytes_per_second: int) -> int:
        return max(1, bytes_per_second * inputs.scenario.round_ms // 1000)

    out_of_touch = [s.offline or s.paused or s.isolated for s in segments]
    everyone = (1 << len(segments)) - 1
    cut_off = mask([s.isolated for s in segments])
    drop = [
        everyone & ~(1 << i) if s.isolated else cut_off | sum(1 << slot_of[b] for b in s.drop_to if b in slot_of)
        for i, s in enumerate(segments)
    ]
    slow = [
        {"from_slot": i, "to_slot": slot_of[peer], "bytes_per_round": per_round(rate)}
        for i, s in enumerate(segments)
        for peer, rate in s.slow_to
        if peer in slot_of
    ]
    lags = [
        None if o else _lag(p[2] for p in s.stale if p[:2] in world.stale_patterns)
        for o, s in zip(out_of_touch, segments, strict=True)
    ]
    disk = [None if s.disk_bytes_per_second is None else per_round(s.disk_bytes_per_second) for s in segments]
    settings = [_settings(inputs.scenario, b, round_) for b in world.brokers]
    waits = [s.get("replica.fetch.wait.max.ms") for s in settings]
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
        "disk": _or_none(disk),
        "cause": [s.cause for s in segments] if any(s.cause >= 0 for s in segments) else None,
        "news_lag": _or_none(lags),
        "fetch_max_bytes": _or_none([s.get("replica.fetch.max.bytes") for s in settings]),
        "no_wait": _or_none([None if wait is None else wait == 0 for wait in waits]),
        "isolated": mask([s.isolated for s in segments]),
        "metadata_lag": _or_none([metadata_lag(inputs, b, round_) for b in world.brokers]),
        "copy_quota": _or_none([s.get("remote.log.manager.copy.max.bytes.per.second") for s in settings]),
        "read_quota": _or_none(
            [
                None if rate is None else min(2**60, rate * inputs.scenario.round_ms // 1000)
                for rate in (s.get("remote.log.manager.fetch.max.bytes.per.second") for s in settings)
            ]
        ),
        "reader_threads": _or_none([s.get("remote.log.reader.threads") for s in settings]),
        "reader_queue": _or_none([s.get("remote.log.reader.max.pending.tasks") for s in settings]),
        "index_cache_bytes": _or_none([s.get("remote.log.index.file.cache.total.size.bytes") for s in settings]),
        "at_pending_upload": _or_none([s.get("follower.fetch.last.tiered.offset.enable") for s in settings]),
    }


def lagging(inputs: OneScenario, broker: int) -> list[dict[str, Any]]:
    """The faults by which the broker reads remote metadata late."""
    return [row for row in inputs.faults if row["kind"] == "remote_metadata_lag" and row["broker"] in (None, broker)]


def metadata_lag(inputs: OneScenario, broker: int, round_: int) -> int | None:
    """The largest lag of the faults in force, -1 if one lets nothing through, None without any."""
    end = inputs.scenario.rounds
    rows = lagging(inputs, broker)
    now = [r for r in rows if r["from_round"] <= round_ < (end if r["to_round"] is None else r["to_round"])]
    if any(row["lag_rounds"] is None for row in now):
        return -1
    return max((row["lag_rounds"] for row in now), default=None)


def _segment(timeline: list[BrokerSegment], round_: int) -> BrokerSegment:
    (segment,) = (s for s in timeline if s.from_round <= round_ < s.to_round)
    return segment


def _settings(scenario: Scenario, broker: int, round_: int) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    own = [c for c in scenario.commands if c.kind == "alter_config" and c.broker == broker and c.round <= round_]
    for command in sorted(own, key=lambda c: c.round):
        settings |= command.config or {}
    return settings


def _lag(lags: Iterable[int | None]) -> int | None:
    """How late news come under several stale_metadata faults: the largest lag, None if one of them lets nothing through."""
    found = list(lags)
    return None if not found or None in found else max(lag for lag in found if lag is not None)


def _or_none(values: list[Any]) -> list[Any] | None:
    return values if any(v is not None for v in values) else None
