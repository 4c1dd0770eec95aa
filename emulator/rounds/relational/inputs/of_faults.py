"""What faults say of brokers, links, controllers' news and deaths, as tables: each row for some rounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.faults.timeline import BrokerSegment, broker_timelines
from emulator.inputs.fetch_waits import fetch_wait_us
from emulator.rounds.relational.inputs.settings import BrokerSettings
from emulator.rounds.relational.inputs.workload import PARTITIONS_A_SCENARIO, Place
from emulator.scenario import Scenario

FLAGS = (
    "offline", "paused", "isolated", "waking", "fenced", "returning", "restarted", "unclean_restart", "clean_stop",
    "power_loss", "disk_loss", "clients_cut", "controller_up",
)  # fmt: skip
BROKERS = pa.schema(
    [("scenario_id", pa.int32()), ("broker", pa.int32()), ("from_round", pa.int32()), ("to_round", pa.int32())]
    + [*((flag, pa.bool_()) for flag in ("running", *FLAGS)), ("island", pa.string())]
    + [("disk_bytes", pa.int64()), ("fetch_max_bytes", pa.int64()), ("waits", pa.bool_()), ("cause", pa.int32())]
    + [("fetches_a_round", pa.int64()), ("fetch_us", pa.int64()), ("round_us", pa.int64())]
    + [("own_trip_us", pa.int64()), ("fetched_per_second", pa.int64())]
)
LINKS = pa.schema(
    [("link_scenario", pa.int32()), ("sender", pa.int32()), ("receiver", pa.int32())]
    + [("link_from", pa.int32()), ("link_to", pa.int32()), ("is_cut", pa.bool_()), ("link_bytes", pa.int64())]
    + [("link_us", pa.int64())]
)
STALE = pa.schema(
    [("stale_pid", pa.int64()), ("stale_broker", pa.int32()), ("stale_from", pa.int32()), ("stale_to", pa.int32())]
    + [("stale_now", pa.bool_()), ("stale_before", pa.bool_()), ("news_lag", pa.int32())]
)

DEATHS = pa.schema(
    [("scenario_id", pa.int32()), ("broker", pa.int32()), ("death_round", pa.int32()), ("moment", pa.int64())]
    + [("is_given", pa.bool_()), ("round_trip_us", pa.int64()), ("fetch_wait_us", pa.int64())]
    + [("fixed_fetches", pa.int64()), ("seed_halves", pa.int64())]
)
"""Brokers that are killed while they run. `moment`: in millionths of the round; the last, AFTER_APPEND, is its end."""

AFTER_APPEND = 1_000_000


def timelines_of(scenario: Scenario) -> dict[int, list[BrokerSegment]]:
    """By broker what faults say of it, in rounds in which that stays the same."""
    brokers = [(broker.id, broker.rack) for broker in scenario.brokers]
    timeout = scenario.session_timeout_rounds
    return broker_timelines(scenario.faults, brokers, scenario.rounds, timeout)


def per_round(bytes_per_second: int | None, scenario: Scenario) -> int | None:
    """A rate as bytes in a round."""
    return None if bytes_per_second is None else max(1, bytes_per_second * scenario.round_ms // 1000)


def brokers_of(scenarios: Sequence[Scenario], timelines: dict[int, dict[int, list[BrokerSegment]]]) -> pa.Table:
    """A row for each broker and rounds in which nothing that is said of it changes."""
    rows = []
    for scenario in scenarios:
        of_brokers = BrokerSettings(scenario)
        for broker, segments in timelines[scenario.scenario_id].items():
            for segment in segments:
                for start, end, settings in of_brokers.spans(broker, segment.from_round, segment.to_round):
                    row = {flag: getattr(segment, flag) for flag in FLAGS}
                    row |= {"scenario_id": scenario.scenario_id, "broker": broker, "from_round": start, "to_round": end}
                    row |= {"running": not segment.offline and not segment.paused, **settings}
                    row |= {"island": segment.island, "disk_bytes": per_round(segment.disk_bytes_per_second, scenario)}
                    rows.append(row | {"cause": segment.cause if segment.cause >= 0 else None})
    return pa.Table.from_pylist(rows, BROKERS)


def links_of(scenarios: Sequence[Scenario], timelines: dict[int, dict[int, list[BrokerSegment]]], homes: pa.Table) -> pa.Table:
    """A row for each direction of a link and rounds in which it is cut, slow or far, one at most in each round.

    Of links between brokers that have replicas of one partition: no other carries anything.
    """
    touched = {s: [b for b, of in t.items() if any(x.drop_to or x.slow_to or x.far_to for x in of)] for s, t in timelines.items()}
    if not any(touched.values()):
        return LINKS.empty_table()
    peers = _peers(homes)
    columns: list[list[Any]] = [[] for _ in LINKS]
    for scenario in scenarios:
        for sender in touched[scenario.scenario_id]:
            known = peers[scenario.scenario_id, sender]
            for s in timelines[scenario.scenario_id][sender]:
                slow, far = ({to: value for to, value in of if to in known} for of in (s.slow_to, s.far_to))
                drops = set(s.drop_to).intersection(known)
                for receiver in sorted({*drops, *slow, *far}):
                    span = (scenario.scenario_id, sender, receiver, s.from_round, s.to_round)
                    row = (*span, receiver in drops, per_round(slow.get(receiver), scenario), far.get(receiver))
                    for column, value in zip(columns, row, strict=True):
                        column.append(value)
    return pa.table(columns, schema=LINKS)


def _peers(homes: pa.Table) -> dict[tuple[int, int], set[int]]:
    """By (scenario_id, broker): who else has a replica of one of its partitions."""
    of_partition: dict[int, list[int]] = defaultdict(list)
    for pid, broker in zip(homes["pid"].to_pylist(), homes["broker"].to_pylist(), strict=True):
        of_partition[pid].append(broker)
    peers: dict[tuple[int, int], set[int]] = defaultdict(set)
    for pid, brokers in of_partition.items():
        for broker in brokers:
            peers[pid // PARTITIONS_A_SCENARIO, broker].update(brokers)
    return peers


def most_fetches_of(brokers: pa.Table, links: pa.Table) -> int:
    """The most fetches that a follower makes in a round, of its own round trip or over the nearest link."""
    most: int = pc.max(brokers["fetches_a_round"]).as_py()
    nearest = pc.min(links["link_us"]).as_py()
    spans = zip(brokers["round_us"].to_pylist(), brokers["fetch_us"].to_pylist(), strict=True)
    by_link = (span // max(1, nearest + fetch) for span, fetch in spans if span is not None) if nearest is not None else ()
    return max([most, *by_link])


def deaths_of(scenarios: Sequence[Scenario], timelines: dict[int, dict[int, list[BrokerSegment]]]) -> pa.Table:
    """A row for each death of a broker that ran, but for those in whose rounds nothing can be appended (last_moments.py)."""
    rows = []
    for scenario in scenarios:
        fetching, seed = scenario.fetching, scenario.seed % 2**64
        shared: dict[str, Any] = {"scenario_id": scenario.scenario_id, "round_trip_us": fetching.round_trip_us}
        shared |= {"fixed_fetches": fetching.per_round, "seed_halves": seed >> 32 ^ seed % 2**32}
        shared["fetch_wait_us"] = fetch_wait_us(scenario)
        for broker, segments in timelines[scenario.scenario_id].items():
            ran = True
            for s in segments:
                if ran and s.moment is not None and (s.moment > 0 or fetching.per_round is None):
                    when = {"death_round": s.from_round, "moment": max(s.moment, 0), "is_given": s.moment >= 0}
                    rows.append(shared | {"broker": broker} | when)
                ran = not s.offline and not s.paused
    return pa.Table.from_pylist(rows, DEATHS)


def stale_of(places: list[Place], timelines: dict[int, dict[int, list[BrokerSegment]]], homes: pa.Table) -> pa.Table:
    """Rounds in which stale_metadata covers a replica, or did in the round before; by how many rounds news is late."""
    spans = {s: {b: [x for x in of if x.stale or x.stale_before] for b, of in t.items()} for s, t in timelines.items()}
    if not any(of for brokers in spans.values() for of in brokers.values()):
        return STALE.empty_table()
    first = np.array([place.first_pid for place in places])
    rows = []
    for pid, broker in zip(homes["pid"].to_pylist(), homes["broker"].to_pylist(), strict=True):
        place = places[int(np.searchsorted(first, pid, "right")) - 1]
        for s in spans[place.scenario.scenario_id][broker]:
            now, before = (
                [x for x in of if (x[0] is None or fnmatchcase(place.name, x[0])) and x[1] in (None, pid - place.first_pid)]
                for of in (s.stale, s.stale_before)
            )
            if now or before:
                lags = [x[2] for x in now]
                lag = None if None in lags else max((lag for lag in lags if lag is not None), default=None)
                rows.append((pid, broker, s.from_round, s.to_round, bool(now), bool(before), lag))
    return pa.Table.from_pylist([dict(zip(STALE.names, row, strict=True)) for row in rows], STALE)
