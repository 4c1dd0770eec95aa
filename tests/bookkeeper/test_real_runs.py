"""Every real run of BookKeeper (4.17.3 and 4.18.0, tests/data/bookkeeper) as a scenario of the engine, against what was seen.

A scenario is cut off at each round at whose end something was looked at; all are scenarios of one run.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.bookkeeper.by_reference import by_scenario, differences, of_engine, of_reference, run_of_cases
from tests.engine_helpers import Row, emulate
from tests.reference.bookkeeper.scenario import read_scenario
from tests.reference.bookkeeper.simulate import simulate
from tests.reference.bookkeeper.test_cases import CASES, DATA, assert_part, bookies_up, parts_of

ENTRIES = range(1, 13)
OPEN_AT_ROUNDS = {"a3_pipelined_lac": (0, 2, 5)}
Tables = dict[str, dict[str, list[Row]]]


def case_of(name: str, rounds: int) -> dict[str, Any]:
    """The real run's scenario, cut off."""
    return {**read_scenario(DATA / f"{name}.toml")["ledger", 0], "rounds": rounds}


LOOKS = [
    *((name, round_) for name in CASES for _, round_ in parts_of(name)),
    *(("a1_striping_5_3_2", entries - 1) for entries in ENTRIES),
    *((name, round_) for name, rounds in OPEN_AT_ROUNDS.items() for round_ in rounds),
    *((name, round_) for name in CASES if name[0] == "b" for round_ in (7, 9)),
]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Every look at every real run, by the name RUN_ROUND."""
    folder = tmp_path_factory.mktemp("real")
    cases = {f"{name}_{round_}": case_of(name, round_ + 1) for name, round_ in LOOKS}
    return by_scenario(emulate(spark, run_of_cases(cases, folder / "in"), folder / "out"))


def row_of(seen: dict[str, Any]) -> dict[str, Any]:
    """What the engine wrote in the form of a row of the reference."""
    bookies = {broker: dict(zip(("last_entry", "lac", "fenced"), row, strict=True)) for broker, row in seen["bookies"].items()}
    return {**seen, "fragments": dict(seen["fragments"]), "bookies": bookies}


@pytest.mark.parametrize(("name", "part", "round_"), [(name, *part) for name in CASES for part in parts_of(name)])
def test_what_was_seen(tables: Tables, name: str, part: str, round_: int) -> None:
    seen = json.loads((DATA / f"{name}.json").read_text())
    result = simulate(case_of(name, round_ + 1))
    assert_part(seen, part, row_of(of_engine(tables[f"{name}_{round_}"])), bookies_up(result, round_))


@pytest.mark.parametrize("entries", ENTRIES)
def test_striping_and_lac_entry_by_entry(tables: Tables, entries: int) -> None:
    real = json.loads((DATA / "a1_striping_5_3_2.json").read_text())["afterN"][str(entries)]
    mine = of_engine(tables[f"a1_striping_5_3_2_{entries - 1}"])
    assert mine["writer_lac"] == real["writerLAC"]
    bookies = {f"b{broker - 1}": [last, lac] for broker, (last, lac, _) in mine["bookies"].items()}
    assert bookies == {name: one for name, one in real["perBookie_lastEntry_lac"].items() if one != "rc-7"}


@pytest.mark.parametrize("name", [name for name in CASES if name[0] == "b"])
def test_acks_around_an_ensemble_change(tables: Tables, name: str) -> None:
    seen = json.loads((DATA / f"{name}.json").read_text())
    before, after, end = (of_engine(tables[f"{name}_{round_}"]) for round_ in (7, 9, 13))
    assert before["writer_lac"] == seen["lacBeforeKill"]
    assert after["acked"] == seen["asyncResults"][-1] + 1
    assert list(range(after["acked"], end["acked"])) == seen["postAdds"]
    assert of_engine(tables[f"{name}_15"])["closes"] == [seen["close"]]


@pytest.mark.parametrize("name", [name for name in CASES if name[0] in "cd"])
def test_recoveries_and_the_old_writer(tables: Tables, name: str) -> None:
    seen = json.loads((DATA / f"{name}.json").read_text())
    mine = of_engine(tables[f"{name}_{parts_of(name)[-1][1]}"])
    asked = [seen["recover"], *([seen["openAgain"]] if "openAgain" in seen else [])]
    told = [(error, last) for _, error, last in mine["recoveries"]]
    assert [error for error, _ in told] == [one["result"] for one in asked]
    assert [last for error, last in told if error == "OK"] == [one["lac"] for one in asked if one["result"] == "OK"]
    if "oldWriterClose" in seen:
        assert mine["closes"] == [seen["oldWriterClose"]]
        refused = [answer.split(":")[0] for answer in seen["oldWriterAdds"]]
        assert mine["failed"] + mine["refused_closed"] == len(refused)


@pytest.mark.parametrize(("name", "round_"), LOOKS)
def test_equals_reference(tables: Tables, name: str, round_: int) -> None:
    result = simulate(case_of(name, round_ + 1), watch=True)
    assert differences(of_reference(result), of_engine(tables[f"{name}_{round_}"])) == {}
