"""What comes from outside as tables: what faults say of brokers, settings, workload and commands, each row for some rounds.

They are made once, from the scenarios alone; a round joins what is in force in it (`RunInputs.of_round`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.rounds.relational.inputs.of_faults import brokers_of, deaths_of, links_of, most_fetches_of, stale_of, timelines_of
from emulator.rounds.relational.inputs.settings import OF_SEGMENTS, is_ever_tiered, may_delete, topic_settings
from emulator.rounds.relational.inputs.workload import OF_RATES, PARTITIONS_A_SCENARIO, Place, commands_of, workloads
from emulator.rounds.relational.queries.query import Engine, Query
from emulator.rounds.relational.tables import RoundInputs
from emulator.scenario import ELR_FEATURE, Scenario

SETTLING_ROUNDS = 2


class RunInputs:
    """The inputs of all rounds of some scenarios. `places`: their topics, by topic_id; `timelines`: by scenario_id.

    `only`: the partitions to play, by pid; None: all.
    """

    def __init__(self, scenarios: Sequence[Scenario], only: Collection[int] | None = None) -> None:
        self.scenarios = list(scenarios)
        self.places = list(_places(self.scenarios))
        self.timelines = {s.scenario_id: timelines_of(s) for s in self.scenarios}
        self.has_elr = any(s.features[ELR_FEATURE] > 0 for s in self.scenarios)
        for place in self.places:
            place.keeps_segments = _keeps_segments(place)
        self.keeps_segments = any(place.keeps_segments.any() for place in self.places)
        self.has_tiers = any(is_ever_tiered(place.scenario, place.name, place.config) for place in self.places)
        self.settings = topic_settings(self.places)
        self.workload, self.most_batches = workloads(self.places)
        self.has_rates = self.workload["rate_records"].null_count < self.workload.num_rows
        self.brokers = brokers_of(self.scenarios, self.timelines)
        self.flushes_messages = self.settings["flush_messages"].null_count < self.settings.num_rows
        self.deaths = deaths_of(self.scenarios, self.timelines)
        self.reassignments, self.deletions, self.elections = commands_of(self.places)
        homes = _homes(self.places, self.reassignments)
        self.homes = homes if only is None else homes.filter(pc.is_in(homes["pid"], pa.array(sorted(only), pa.int64())))
        self.links = links_of(self.scenarios, self.timelines, self.homes)
        self.most_fetches = most_fetches_of(self.brokers, self.links)
        self.stale = stale_of(self.places, self.timelines, self.homes)
        self.has_late_news = bool(self.stale.num_rows) and self.stale["news_lag"].null_count < self.stale.num_rows
        self._checks = self._periods("retention_check_ms")
        if not self.keeps_segments:
            self.settings = self.settings.drop_columns(list(OF_SEGMENTS))
        if not self.has_rates:
            self.workload = self.workload.drop_columns(list(OF_RATES))
        self.calm = self._calm_rounds()
        self._queries: dict[tuple[Engine, str], Query] = {}

    @property
    def rounds(self) -> int:
        """Rounds of the longest scenario."""
        return max(s.rounds for s in self.scenarios)

    def initial_remote(self) -> list[tuple[int, dict[str, Any]]]:
        """(pid, row) of the remote segments that scenarios begin with, of the partitions that are played."""
        first = {(place.scenario.scenario_id, place.name): place.first_pid for place in self.places}
        played = set(self.homes["pid"].to_pylist())
        rows = [(s.scenario_id, row) for s in self.scenarios for row in s.initial_remote_segments.to_pylist()]
        found = [(first[scenario_id, row["topic"]] + row["partition"], row) for scenario_id, row in rows]
        return [(pid, row) for pid, row in found if pid in played]

    def of_round(self, engine: Engine, number: int, news: Query | None) -> RoundInputs:
        """What comes into a round. `news`: what controllers held before (`learning`)."""

        def required(name: str) -> Query:
            if (engine, name) not in self._queries:
                self._queries[engine, name] = engine.read(getattr(self, name))
            return self._queries[engine, name]

        def if_any(name: str, here: bool = True) -> Query | None:
            return required(name) if here and getattr(self, name).num_rows else None

        def now(name: str) -> Query | None:
            return if_any(name, number in self._rounds_of(name))

        in_trouble = {r for flag in ("power_loss", "disk_loss") for r in self._rounds_with(flag)}
        return RoundInputs(
            number=number,
            settings=required("settings"),
            brokers=required("brokers"),
            workload=required("workload"),
            links=if_any("links"),
            deaths=if_any("deaths", number in set(self.deaths["death_round"].to_pylist())),
            stale=if_any("stale"),
            reassignments=now("reassignments"),
            deletions=now("deletions"),
            elections=now("elections"),
            news=news,
            batches_due=_value_at(self.most_batches, number),
            most_fetches=self.most_fetches,
            has_rates=self.has_rates,
            flushes_messages=self.flushes_messages,
            damages=number in in_trouble,
            has_elr=self.has_elr,
            moves_partitions=bool(self.reassignments.num_rows),
            has_older=any(s.protocol != "kafka" for s in self.scenarios),
            cuts_to_hw=any(s.protocol == "kafka-high-watermark" for s in self.scenarios),
            restarts=number in self._rounds_with("restarted"),
            checks_retention=self.keeps_segments and number > 0 and any(_is_due(number, *every) for every in self._checks),
            is_calm=number in self.calm,
        )

    def _calm_rounds(self) -> set[int]:
        """Rounds in which controllers find nothing to do, as the inputs tell by themselves.

        What a controller does follows from what is new of brokers, settings and commands. SETTLING_ROUNDS after the last of it
        nobody is left to fence, who may lead leads, and all that hear of it have. Not so while ELR waits for answers, news is on
        its way, partitions are being moved, or logs have a remote part: their rounds are never calm.
        """
        if self.has_elr or self.has_late_news or self.reassignments.num_rows or self.has_tiers:
            return set()
        edges = _edges(self.settings, "from_round", "to_round") | _edges(self.brokers, "from_round", "to_round")
        edges |= _edges(self.stale, "stale_from", "stale_to") | {0}
        edges |= {edge for name in ("deletions", "elections") for edge in self._rounds_of(name)}
        for every in self._periods("rebalance_ms"):
            edges.update(number for number in range(1, self.rounds) if _is_due(number, *every))
        return set(range(self.rounds)) - {edge + later for edge in edges for later in range(SETTLING_ROUNDS + 1)}

    def _periods(self, name: str) -> set[tuple[int, int]]:
        """(ms of a round, ms of the period) of the settings that have one."""
        both = zip(self.settings["round_ms"].to_pylist(), self.settings[name].to_pylist(), strict=True)
        return {(round_ms, period_ms) for round_ms, period_ms in both if period_ms is not None}

    def _rounds_of(self, name: str) -> set[int]:
        return set(getattr(self, name)["command_round"].to_pylist())

    def _rounds_with(self, flag: str) -> set[int]:
        of = self.timelines.values()
        return {s.from_round for brokers in of for spans in brokers.values() for s in spans if getattr(s, flag)}


def _is_due(number: int, round_ms: int, period_ms: int) -> bool:
    """Of one round, what `tables.is_due` asks of them all."""
    return number * round_ms % period_ms < round_ms


def _edges(table: pa.Table, *names: str) -> set[int]:
    return {edge for name in names for edge in table[name].unique().to_pylist()}


def _value_at(steps: list[tuple[int, int]], number: int) -> int:
    at = bisect_right([round_ for round_, _ in steps], number) - 1
    return steps[at][1] if at >= 0 else 0


def _places(scenarios: Sequence[Scenario]) -> Iterable[Place]:
    topic_id = 0
    for scenario in scenarios:
        first = scenario.scenario_id * PARTITIONS_A_SCENARIO
        for topic in scenario.topics:
            yield Place(scenario, topic_id, topic.name, first, topic.assignment, topic.config)
            topic_id, first = topic_id + 1, first + topic.partitions


def _keeps_segments(place: Place) -> np.ndarray:
    """By partition."""
    asked = [c for c in place.scenario.commands if c.kind == "delete_records" and fnmatchcase(place.name, c.topic or "")]
    deletes = np.zeros(len(place.assignment), bool)
    for command in asked:
        deletes[slice(None) if command.partition is None else slice(command.partition, command.partition + 1)] = True
    if is_ever_tiered(place.scenario, place.name, place.config):
        return np.ones(len(place.assignment), bool)
    keeps = [may_delete(place.scenario, place.name, place.config, deleted) for deleted in (False, True)]
    return np.where(deletes, keeps[1], keeps[0])


def _homes(places: list[Place], reassignments: pa.Table) -> pa.Table:
    """Every broker that is, or will be, a replica of a partition: pid, broker, position (null: not at the start)."""
    pids, brokers, positions = [], [], []
    for place in places:
        at, column = np.nonzero(place.assignment >= 0)
        pids.append(place.first_pid + at.astype(np.int64))
        brokers.append(place.assignment[at, column].astype(np.int32))
        positions.append(column.astype(np.int32))
    pid, broker, position = (np.concatenate(parts) for parts in (pids, brokers, positions))
    moved = set(zip(reassignments["pid"].to_pylist(), reassignments["broker"].to_pylist(), strict=True))
    if moved:
        new = sorted(moved - set(zip(pid.tolist(), broker.tolist(), strict=True)))
        pid = np.concatenate([pid, np.array([row[0] for row in new], np.int64)])
        broker = np.concatenate([broker, np.array([row[1] for row in new], np.int32)])
        position = np.concatenate([position, np.full(len(new), -1, np.int32)])
    return pa.table({"pid": pid, "broker": broker, "position": position})
