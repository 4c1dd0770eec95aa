"""Islands: which brokers reach each other in which rounds of a network that is cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emulator.faults.timeline import BrokerSegment, broker_timelines
from emulator.graphs.backends import Graphs
from emulator.scenario import Scenario


def island_rows(scenario: Scenario, graphs: Graphs) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of table `islands`, by rounds and lowest broker id; rounds in which nothing changes are one range.

    A broker that is offline or paused is on no island; an isolated one is one by itself. Two brokers reach each other where
    messages go both ways, since a fetch is an answer too.
    """
    timelines = broker_timelines(
        scenario.faults,
        [(broker.id, broker.rack) for broker in scenario.brokers],
        scenario.rounds,
        scenario.session_timeout_rounds,
        isolation_in_drop_to=False,
    )
    starts = sorted({segment.from_round for segments in timelines.values() for segment in segments} | {scenario.rounds})
    at = dict.fromkeys(timelines, 0)
    before: list[tuple[int, ...]] = []
    since = 0
    for round_ in starts[:-1]:
        here = {}
        for broker, segments in timelines.items():
            while segments[at[broker]].to_round <= round_:
                at[broker] += 1
            here[broker] = segments[at[broker]]
        islands = _islands(here, graphs)
        if islands != before:
            yield from _rows(scenario.scenario_id, since, round_, before)
            before, since = islands, round_
    yield from _rows(scenario.scenario_id, since, scenario.rounds, before)


def _rows(scenario_id: int, since: int, end: int, islands: Sequence[tuple[int, ...]]) -> Iterator[tuple[Any, ...]]:
    for island in islands:
        yield scenario_id, since, end, island[0], list(island)


def _islands(here: Mapping[int, BrokerSegment], graphs: Graphs) -> list[tuple[int, ...]]:
    running = sorted(broker for broker, segment in here.items() if not (segment.offline or segment.paused))
    joined = [broker for broker in running if not here[broker].isolated]
    cut = {frozenset((broker, peer)) for broker in joined for peer in here[broker].drop_to}
    touched = {broker for pair in cut for broker in pair}
    # Whoever has no cut link reaches everybody: one of them stands for all.
    whole = [broker for broker in joined if broker not in touched]
    asked = [*(broker for broker in joined if broker in touched), *whole[:1]]
    edges = [(a, b) for i, a in enumerate(asked) for b in asked[i + 1 :] if frozenset((a, b)) not in cut]
    found = graphs.components(asked, edges)
    islands = [tuple(sorted({*group, *(whole if whole and whole[0] in group else ())})) for group in found]
    return sorted([*islands, *((broker,) for broker in running if here[broker].isolated)])
