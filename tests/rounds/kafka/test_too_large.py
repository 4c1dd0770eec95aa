"""Records above max.message.bytes: no leader takes them, whatever their acks, in compiled rounds as in the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.rounds.relational.inputs.refusals import lacking
from tests.reference.kafka import simulate
from tests.reference.random_layers import layered_batch
from tests.reference.random_scenarios import cases_of, to_toml
from tests.rounds.kafka.compared import all_known, differences, events_of, outcomes_of, played, scenarios_of

FILE = """
rounds = 20
cluster = {{ brokers = 3, config = {{ {cluster} }} }}
[[topics]]
name = "t"
assignment = [[1, 2, 3]]
config = {{ {topic} }}
[[topics]]
name = "other"
assignment = [[1, 2, 3]]
[[workload]]
topic = "*"
records_per_round = 2
record_bytes = 2000
acks = "1"
to_round = 10
[[workload]]
topic = "t"
records_per_round = 1
record_bytes = 100
"""


@pytest.mark.parametrize(
    ("cluster", "topic", "refused"),
    [
        ("", "", (0, 0)),
        ("", '"max.message.bytes" = 2000', (0, 0)),
        ("", '"max.message.bytes" = 1999', (20, 0)),
        ('"message.max.bytes" = 1999', "", (20, 20)),
        ('"message.max.bytes" = 50', '"max.message.bytes" = 100', (20, 20)),
        ('"max.message.bytes" = 50', "", (40, 20)),
    ],
)
def test_larger_records_are_refused(tmp_path: Path, cluster: str, topic: str, refused: tuple[int, int]) -> None:
    """The batch of a round may be larger than the limit: it stands for several."""
    run = scenarios_of(FILE.format(cluster=cluster, topic=topic), tmp_path)
    game = played(run.scenarios, traced=False, leaps=True)
    found = [outcomes_of(game, place) for place in (0, 1)]
    assert tuple(outcome["refused"] for outcome in found) == refused
    assert [outcome["appended"] for outcome in found] == [40 - refused[0], 20 - refused[1]]
    told = [[e["from_offset"] for e in events_of(game).get(place, []) if e["kind"] == "refused"] for place in (0, 1)]
    assert [bool(events) for events in told] == [bool(records) for records in refused]


def test_the_limit_is_that_of_the_start(tmp_path: Path) -> None:
    command = '[[commands]]\nround = 5\nkind = "alter_config"\ntopic = "t"\nconfig = { "max.message.bytes" = 1 }\n'
    run = scenarios_of(FILE.format(cluster="", topic="") + command, tmp_path)
    assert outcomes_of(played(run.scenarios, traced=False), 0)["refused"] == 0


def test_relational_rounds_refuse_them(tmp_path: Path) -> None:
    config = '"max.message.bytes" = 1999'
    assert list(lacking(scenarios_of(FILE.format(cluster="", topic=config), tmp_path).scenarios[0])) == [
        "records above max.message.bytes"
    ]
    assert not list(lacking(scenarios_of(FILE.format(cluster="", topic=""), tmp_path).scenarios[0]))


@pytest.mark.parametrize("seed", [6, 7])
def test_against_the_reference(tmp_path: Path, seed: int) -> None:
    batch = layered_batch(seed, 60, "limits")
    game = played(scenarios_of(to_toml(batch), tmp_path).scenarios)
    known, differing = all_known(game), {}
    for place, case in enumerate(cases_of(batch)):
        found = differences(simulate(case), game, place, known)
        if found:
            differing[place] = found[:5]
    assert not differing, f"{len(differing)} cases differ: {dict(list(differing.items())[:3])}"
