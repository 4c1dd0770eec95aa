"""More random schedules than the other files have, of every kind, through compiled rounds and the reference. No Spark.

`make fuzz-ledgers` takes FUZZ_LEDGERS schedules of each of 17 kinds, from number FIRST on: what became of entries and clients,
losses, events with their causes, and of single ledgers bytes by bookie and time bucket.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.bookkeeper.by_reference import first_few, of_reference, run_of_cases
from tests.bookkeeper.topics_by_reference import as_engine_takes_it, of_played
from tests.reference.bookkeeper.further_schedules import further_schedule, further_topic
from tests.reference.bookkeeper.given_list_schedules import given_list_schedule
from tests.reference.bookkeeper.placed_schedules import placed_schedule, placed_topic_schedule
from tests.reference.bookkeeper.schedules import (
    loss_schedule,
    lossy_schedule,
    paced_schedule,
    repair_schedule,
    schedule,
    topic_schedule,
)
from tests.reference.bookkeeper.simulate import simulate
from tests.reference.bookkeeper.slow_schedules import (
    paced_topic_schedule,
    reading_schedule,
    reading_topic_schedule,
    slow_schedule,
    slow_topic_schedule,
)
from tests.reference.bookkeeper.topics import play_topic
from tests.rounds.bookkeeper.compared import differences, of_rounds, played
from tests.rounds.bookkeeper.test_against_reference import rack_schedule
from tests.rounds.bookkeeper.topics_compared import of_rounds_of_topic, played_topics
from tests.rounds.bookkeeper.traffic_compared import BUCKET, by_bucket, in_one_size, traffic_differences

FIRST = 1000
SLICE = 60
"""Schedules that are played at once."""
COUNT = int(os.environ.get("FUZZ_LEDGERS", "2"))
SLICES = [range(FIRST + at, FIRST + min(at + SLICE, COUNT)) for at in range(0, COUNT, SLICE)]

Case = Mapping[str, Any]


def lossy(seed: int) -> Case:
    """Nobody's journal is forced; some bookies know what they lost (BP-46)."""
    return lossy_schedule(seed, integrity_check=seed % 2 == 0)


LEDGERS: dict[str, Callable[[int], Case]] = {
    "plain": schedule,
    "lossy": lossy,
    "losses": loss_schedule,
    "racks": rack_schedule,
    "repair": repair_schedule,
    "paced": paced_schedule,
    "placed": placed_schedule,
    "slow": slow_schedule,
    "reads": reading_schedule,
    "further": further_schedule,
}
TOPICS: dict[str, Callable[[int], Case]] = {
    "topics": topic_schedule,
    "placed topics": placed_topic_schedule,
    "slow topics": slow_topic_schedule,
    "paced topics": paced_topic_schedule,
    "given lists": given_list_schedule,
    "reading topics": reading_topic_schedule,
    "further topics": lambda seed: further_topic(seed, (placed_topic_schedule, reading_topic_schedule)[seed % 2](seed)),
}


@pytest.mark.parametrize("seeds", SLICES, ids=lambda seeds: str(seeds.start))
@pytest.mark.parametrize("kind", LEDGERS)
def test_ledgers_equal_the_reference(tmp_path: Path, kind: str, seeds: range) -> None:
    cases = {f"s{seed}": LEDGERS[kind](seed) for seed in seeds}
    in_sizes = {name for at, name in enumerate(cases) if kind == "paced" and at % 2}  # elsewhere sizes decide nothing
    cases = {name: case if name in in_sizes else in_one_size(case) for name, case in cases.items()}
    game = played(run_of_cases(cases, tmp_path).scenarios, bucket_rounds=BUCKET)
    rows, differing = by_bucket(game), {}
    for place, (name, case) in enumerate(cases.items()):
        result = simulate(case, watch=True)
        found: dict[Any, Any] = differences(of_reference(result), of_rounds(game, place))
        if name not in in_sizes:
            found |= traffic_differences(rows, place, case, result)
        if found:
            differing[name] = found
    assert not differing, f"{len(differing)} of {len(cases)} differ: {first_few(differing.items())}"


@pytest.mark.parametrize("seeds", SLICES, ids=lambda seeds: str(seeds.start))
@pytest.mark.parametrize("kind", TOPICS)
def test_topics_equal_the_reference(tmp_path: Path, kind: str, seeds: range) -> None:
    cases = {f"s{seed}": TOPICS[kind](seed) for seed in seeds}
    topics = {name: play_topic(case) for name, case in cases.items()}
    taken = {name: as_engine_takes_it(case, topics[name]) for name, case in cases.items()}
    game = played_topics(run_of_cases(taken, tmp_path).scenarios)
    found = {
        name: differences(of_played(topic), of_rounds_of_topic(game, place)) for place, (name, topic) in enumerate(topics.items())
    }
    differing = {name: one for name, one in found.items() if one}
    assert not differing, f"{len(differing)} of {len(cases)} differ: {first_few(differing.items())}"
