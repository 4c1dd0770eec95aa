"""The bundled examples of racks of bookies that fail come to what their comments and docs/racks_of_bookies.md say. No Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from emulator.scenario import load_run
from tests.rounds.bookkeeper.compared import Played, list_of, of_rounds, played

EXAMPLES = Path(__file__).parents[2] / "datasets" / "examples"


def ended(name: str, ledgers: int | None = None) -> tuple[Played, Mapping[str, range]]:
    """An example, played to its end, and by scenario the places of its ledgers; `ledgers`: the first so many of each only."""
    scenarios = []
    for scenario in load_run(str(EXAMPLES / f"{name}.toml")).scenarios:
        topics = [replace(topic, assignment=topic.assignment[:ledgers]) for topic in scenario.topics]
        scenarios.append(replace(scenario, topics=tuple(topics)))
    counts = [sum(topic.partitions for topic in scenario.topics) for scenario in scenarios]
    starts = [sum(counts[:at]) for at in range(len(counts))]
    places = {s.name: range(start, start + count) for s, start, count in zip(scenarios, starts, counts, strict=True)}
    return played(scenarios, leaps=True), places


def losses(game: Played, places: range) -> tuple[int, int, int, int]:
    """(acknowledged entries, lost ones, unreadable ones, under-replicated ones) of some ledgers."""
    rows = [of_rounds(game, place) for place in places]
    return sum(row["acked"] for row in rows), *(sum(row["losses"][at] for row in rows) for at in range(3))  # type: ignore[return-value]


def test_a_test_of_disaster_recovery_leaves_all_copies_in_one_rack() -> None:
    game, places = ended("bookkeeper_3359")
    assert {name: losses(game, of) for name, of in places.items()} == {
        "base": (800, 0, 800, 0),
        "enforced": (800, 0, 0, 800),
        "later": (800, 0, 800, 0),
    }


def test_the_last_one_of_a_rack_gets_it_all() -> None:
    game, places = ended("bookkeeper_3707")
    held: dict[str, dict[int, int]] = {}
    for name, of in places.items():
        for place in of:
            bookies: Any = list_of(game, "bookies", place)
            for bookie in bookies:
                of_scenario = held.setdefault(name, {})
                of_scenario[int(bookie.broker)] = of_scenario.get(int(bookie.broker), 0) + int(bookie.entries)
    left = {name: {b: n for b, n in of.items() if b not in (1, 3, 5, 7)} for name, of in held.items()}
    assert left["base"][9] == 1000
    assert max(n for b, n in left["base"].items() if b != 9) < 300
    assert max(left["default"].values()) < 450
    assert losses(game, places["base"]) == losses(game, places["default"]) == (1000, 0, 0, 0)


def test_a_second_rack_after_the_first_was_repaired() -> None:
    game, places = ended("rack_after_rack", 300)
    unreadable = {name: losses(game, of)[2] for name, of in places.items()}
    assert unreadable["rack-aware"] == 0 < min(unreadable["crowded"], unreadable["base"])
