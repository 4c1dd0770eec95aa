"""Every phase of Kafka's round against its fixtures, the text files beside this one. No Spark, nothing compiled."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from emulator.inputs.arrays import Block
from tests.phases.fixtures import Fixture, as_text, read_fixtures, situation_of
from tests.phases.partitions import block_of, loaded
from tests.phases.played import OVER_BEFORE, play_until_over, seen_of_partition, seen_of_replica

FIXTURES = read_fixtures(Path(__file__).parent)
SITUATIONS = [situation_of(fixture) for fixture in FIXTURES]


@pytest.fixture(scope="module")
def block() -> Block:
    """A partition for each fixture."""
    return block_of(SITUATIONS)


@pytest.mark.parametrize("number", range(len(FIXTURES)), ids=[f"{fixture.phase}: {fixture.name}" for fixture in FIXTURES])
def test_phase(block: Block, number: int) -> None:
    """Every cell that the fixture states."""
    fixture = FIXTURES[number]
    before = loaded(block, number, SITUATIONS[number])
    watched = play_until_over(fixture.phase, before)
    assert before.part.truncated == sum(watched.truncated.values())
    expected = fixture.expected()
    assert expected
    differences = []
    for broker, column, value in expected:
        seen = seen_of_replica(before, watched, int(broker) - 1) if broker else seen_of_partition(before)
        try:
            found = as_text(column, seen)
        except KeyError:
            differences.append(f"{column}: no such column; tests/phases/played.py has those that there are")
            continue
        if found != value:
            whose = f"broker {broker}" if broker else "the partition"
            differences.append(f"{column} of {whose}: expected {value}, found {found}")
    assert not differences, "\n".join([f"tests/phases/{fixture.phase}.txt, line {fixture.line}:", *differences])


def test_every_phase_has_fixtures() -> None:
    """Each with a name of its own."""
    names: dict[str, list[Fixture]] = defaultdict(list)
    for fixture in FIXTURES:
        names[fixture.phase].append(fixture)
    assert names.keys() == OVER_BEFORE.keys()
    for of_phase in names.values():
        assert len(of_phase) == len({fixture.name for fixture in of_phase}) >= 3
