"""Islands: which brokers reach each other in which rounds of a network that is cut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from emulator.faults.timeline import BrokerSegment, broker_timelines
from emulator.graphs.backends import Graphs, Group
from emulator.scenario import Scenario

TOGETHER = 1_000_000
"""So many vertices and edges are asked of at once."""


def island_rows(scenario: Scenario, graphs: Graphs) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of table `islands`, by rounds and lowest broker id; rounds in which nothing changes are one range.

    A broker that is offline or paused is on no island; an isolated one is one by itself, or with those of its rack. Two brokers
    reach each other where messages go both ways, since a fetch is an answer too.
    """
    timelines = broker_timelines(
        scenario.faults,
        [(broker.id, broker.rack) for broker in scenario.brokers],
        scenario.rounds,
        scenario.session_timeout_rounds,
    )
    before: list[Group] = []
    since = 0
    for round_, islands in _islands(_periods(timelines, scenario.rounds), graphs):
        if islands != before:
            yield from _rows(scenario.scenario_id, since, round_, before)
            before, since = islands, round_
    yield from _rows(scenario.scenario_id, since, scenario.rounds, before)


def _periods(timelines: Mapping[int, Sequence[BrokerSegment]], rounds: int) -> Iterator[tuple[int, dict[int, BrokerSegment]]]:
    """Yields the first round of every range in which no broker's state changes, and those states."""
    at = dict.fromkeys(timelines, 0)
    for round_ in sorted({segment.from_round for segments in timelines.values() for segment in segments} - {rounds}):
        here = {}
        for broker, segments in timelines.items():
            while segments[at[broker]].to_round <= round_:
                at[broker] += 1
            here[broker] = segments[at[broker]]
        yield round_, here


def _rows(scenario_id: int, since: int, end: int, islands: Sequence[Group]) -> Iterator[tuple[Any, ...]]:
    for island in islands:
        yield scenario_id, since, end, island[0], list(island)


def _islands(periods: Iterable[tuple[int, Mapping[int, BrokerSegment]]], graphs: Graphs) -> Iterator[tuple[int, list[Group]]]:
    """Yields the islands of each period. Many are one graph, of brokers by period: a question to Spark takes seconds."""
    together: list[tuple[int, _Question]] = []
    size = 0
    for round_, here in periods:
        question = _Question(here)
        together.append((round_, question))
        size += len(here) + len(question.edges)
        if size > TOGETHER:
            yield from _answered(together, graphs)
            together, size = [], 0
    if together:
        yield from _answered(together, graphs)


def _answered(together: Sequence[tuple[int, _Question]], graphs: Graphs) -> Iterator[tuple[int, list[Group]]]:
    of_broker = max(max(question.asked, default=0) for _, question in together) + 1
    vertices = [number * of_broker + broker for number, (_, question) in enumerate(together) for broker in question.asked]
    edges = np.concatenate([question.edges + number * of_broker for number, (_, question) in enumerate(together)])
    found: list[list[Group]] = [[] for _ in together]
    for group in graphs.components(vertices, edges):
        found[group[0] // of_broker].append(tuple(vertex % of_broker for vertex in group))
    for (round_, question), groups in zip(together, found, strict=True):
        yield round_, question.islands(groups)


class _Question:
    """Who reaches whom in one period.

    Of brokers that no isolation keeps apart, whoever has no cut link reaches all: one of these stands for them, in `whole`.
    """

    def __init__(self, here: Mapping[int, BrokerSegment]) -> None:
        running = sorted(broker for broker, segment in here.items() if not (segment.offline or segment.paused))
        cut = {frozenset((broker, peer)) for broker in running for peer in here[broker].drop_to}
        touched = {broker for pair in cut for broker in pair}
        self.alone: list[Group] = []
        together: defaultdict[str | None, list[int]] = defaultdict(list)
        for broker in running:
            if here[broker].isolated and here[broker].island is None:
                self.alone.append((broker,))
            else:
                together[here[broker].island].append(broker)
        self.whole: dict[int, list[int]] = {}
        asked: list[int] = []
        edges: list[tuple[int, int]] = []
        for joined in together.values():
            whole = [broker for broker in joined if broker not in touched]
            here_asked = sorted([*(broker for broker in joined if broker in touched), *whole[:1]])
            edges += [pair for pair in combinations(here_asked, 2) if frozenset(pair) not in cut]
            asked += here_asked
            self.whole |= dict.fromkeys(whole[:1], whole)
        self.asked = sorted(asked)
        self.edges = np.array(edges, np.int64).reshape(-1, 2)

    def islands(self, groups: Sequence[Group]) -> list[Group]:
        """Returns all islands, from those of `asked`."""
        full = [tuple(sorted({member for broker in group for member in self.whole.get(broker, [broker])})) for group in groups]
        return sorted([*full, *self.alone])
