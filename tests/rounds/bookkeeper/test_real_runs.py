"""Every real run of BookKeeper (4.17.3 and 4.18.0, tests/data/bookkeeper) on compiled rounds, against what was seen. No Spark.

A scenario is cut off at each round at whose end something was looked at.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.bookkeeper.by_reference import of_reference, run_of_cases
from tests.reference.bookkeeper.scenario import read_scenario
from tests.reference.bookkeeper.simulate import simulate
from tests.reference.bookkeeper.test_cases import CASES, DATA, assert_part, bookies_up, parts_of
from tests.rounds.bookkeeper.compared import Row, differences, of_rounds, played

ENTRIES = range(1, 13)


def case_of(name: str, rounds: int) -> dict[str, Any]:
    """The real run's scenario, cut off."""
    return {**read_scenario(DATA / f"{name}.toml")["ledger", 0], "rounds": rounds}


LOOKS = [
    *((name, round_) for name in CASES for _, round_ in parts_of(name)),
    *(("a1_striping_5_3_2", entries - 1) for entries in ENTRIES),
    *((name, round_) for name in CASES if name[0] == "b" for round_ in (7, 9)),
]


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Row]:
    """What every look at every real run saw."""
    looks = list(dict.fromkeys(LOOKS))
    cases = {f"{name}_{round_}": case_of(name, round_ + 1) for name, round_ in looks}
    game = played(run_of_cases(cases, tmp_path_factory.mktemp("real")).scenarios)
    return {look: of_rounds(game, place) for place, look in enumerate(looks)}


@pytest.mark.parametrize(("name", "part", "round_"), [(name, *part) for name in CASES for part in parts_of(name)])
def test_what_was_seen(ends: dict[tuple[str, int], Row], name: str, part: str, round_: int) -> None:
    seen, mine = json.loads((DATA / f"{name}.json").read_text()), ends[name, round_]
    bookies = {broker: dict(zip(("last_entry", "lac", "fenced"), row, strict=True)) for broker, row in mine["bookies"].items()}
    row = {**mine, "fragments": dict(mine["fragments"]), "bookies": bookies}
    assert_part(seen, part, row, bookies_up(simulate(case_of(name, round_ + 1)), round_))


@pytest.mark.parametrize("entries", ENTRIES)
def test_striping_and_lac_entry_by_entry(ends: dict[tuple[str, int], Row], entries: int) -> None:
    real = json.loads((DATA / "a1_striping_5_3_2.json").read_text())["afterN"][str(entries)]
    mine = ends["a1_striping_5_3_2", entries - 1]
    assert mine["writer_lac"] == real["writerLAC"]
    bookies = {f"b{broker - 1}": [last, lac] for broker, (last, lac, _) in mine["bookies"].items()}
    assert bookies == {name: one for name, one in real["perBookie_lastEntry_lac"].items() if one != "rc-7"}


@pytest.mark.parametrize("name", [name for name in CASES if name[0] == "b"])
def test_acks_around_an_ensemble_change(ends: dict[tuple[str, int], Row], name: str) -> None:
    seen = json.loads((DATA / f"{name}.json").read_text())
    assert ends[name, 7]["writer_lac"] == seen["lacBeforeKill"]
    assert ends[name, 9]["acked"] == seen["asyncResults"][-1] + 1


@pytest.mark.parametrize(("name", "round_"), LOOKS)
def test_equals_reference(ends: dict[tuple[str, int], Row], name: str, round_: int) -> None:
    result = simulate(case_of(name, round_ + 1), watch=True)
    assert differences(of_reference(result), ends[name, round_]) == {}
