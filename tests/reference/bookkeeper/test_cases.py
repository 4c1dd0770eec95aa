"""The reference against real BookKeeper runs (4.17.3 and 4.18.0): the folder has what was seen, and the scenario, of each.

Bookie b0 of a real run is bookie 1 here. A real run tells what could be asked of bookies that were up.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .scenario import read_scenario
from .simulate import Result, simulate

DATA = Path(__file__).parents[2] / "data" / "bookkeeper"
CASES = sorted(path.stem for path in DATA.glob("*.json"))

STEPS: dict[str, dict[str, int]] = {
    "a1": {"open": 13, "closedMetadata": 15},
    "b1": {"afterKill": 9, "end": 13, "closed": 15},
    "b2": {"afterKill": 9, "end": 13, "closed": 15},
    "b3": {"afterKill": 9, "end": 13, "closed": 15},
    "b4": {"afterKill": 9, "end": 13, "closed": 15},
    "b6": {"afterKill": 9, "end": 13, "closed": 15},
    "c1": {"before": 11, "after": 23, "end": 35},
    "c2": {"before": 11, "after": 23, "end": 35},
    "d1": {"before": 9, "after": 19},
    "d2": {"before": 9, "after": 19},
    "d5": {"before": 9, "after": 25, "afterRestart": 29, "afterOpenAgain": 35},
    "d6": {"before": 9, "after": 25, "afterRestart": 29, "afterOpenAgain": 35},
}
"""The round at whose end each part of a real run was looked at."""


@cache
def _run(name: str) -> tuple[dict[str, Any], Result]:
    seen = json.loads((DATA / f"{name}.json").read_text())
    return seen, simulate(read_scenario(DATA / f"{name}.toml")["ledger", 0], watch=True)


def _name(broker: int) -> str:
    return f"b{broker - 1}"


def bookies_up(result: Result, round_: int) -> set[str]:
    """The names of the bookies that could be asked at the end of a round."""
    return {_name(broker) for broker, rounds in result.ledger.statuses.items() if rounds[round_].heard}


def _assert_metadata(seen: dict[str, Any], row: dict[str, Any]) -> None:
    assert row["state"] == seen["state"]
    assert row["last_entry"] == seen["lastEntryId"]
    fragments = {str(first): [_name(one) for one in ensemble] for first, ensemble in row["fragments"].items()}
    assert fragments == seen["ensembles"]


def _assert_entries(seen: dict[str, dict[str, int]], row: dict[str, Any], up: set[str]) -> None:
    mine = {
        str(entry): {_name(one): lac for one, lac in holders.items() if _name(one) in up}
        for entry, holders in row["entries"].items()
    }
    assert {entry: holders for entry, holders in mine.items() if holders} == {
        entry: holders for entry, holders in seen.items() if holders
    }


def _assert_bookies(seen: dict[str, Any], row: dict[str, Any], up: set[str]) -> None:
    for name, real in seen.items():
        mine = row["bookies"].get(int(name[1:]) + 1)
        if real == "down":
            assert name not in up
        elif real.get("rc") == -7:  # NoSuchLedger
            assert mine is None
        else:
            assert mine == {"last_entry": real["lastEntry"], "lac": real["lac"], "fenced": real["fenced"]}


def assert_part(seen: dict[str, Any], part: str, row: dict[str, Any], up: set[str]) -> None:
    """What was looked at of a real run is what `row` says (a row of Result.rounds); `up`: the bookies that could be asked."""
    if part == "afterKill":
        _assert_metadata(seen["afterKill_metadata"], row)
        _assert_entries(seen["afterKill_entries"], row, up)
    elif part in ("closed", "closedMetadata"):
        _assert_metadata(seen[part], row)
    else:
        _assert_state(seen[part], row, up)


def _assert_state(seen: dict[str, Any], row: dict[str, Any], up: set[str]) -> None:
    if "state" in seen:  # of the d runs, beside what readers see
        seen = seen["state"]
    if "metadata" in seen:
        _assert_metadata(seen["metadata"], row)
    if "entryHolders_lac" in seen:
        _assert_entries(seen["entryHolders_lac"], row, up)
    if "bookies" in seen:
        _assert_bookies(seen["bookies"], row, up)


def parts_of(name: str) -> list[tuple[str, int]]:
    """What was looked at of a real run, and at the end of which round."""
    return list(STEPS.get(name[:2], {}).items())


@pytest.mark.parametrize("name", CASES)
def test_no_invariant_is_violated(name: str) -> None:
    assert _run(name)[1].violations == []


@pytest.mark.parametrize(("name", "part", "round_"), [(name, *step) for name in CASES for step in parts_of(name)])
def test_state(name: str, part: str, round_: int) -> None:
    seen, result = _run(name)
    assert_part(seen, part, result.rounds[round_], bookies_up(result, round_))


@pytest.mark.parametrize("entries", range(1, 13))
def test_striping_and_lac_entry_by_entry(entries: int) -> None:
    seen, result = _run("a1_striping_5_3_2")
    real, row = seen["afterN"][str(entries)], result.rounds[entries - 1]
    assert row["writer_lac"] == real["writerLAC"]
    assert {row["reader_lac"]} == set(real["reader"].values())
    mine = {_name(one): [bookie["last_entry"], bookie["lac"]] for one, bookie in row["bookies"].items()}
    assert mine == {name: one for name, one in real["perBookie_lastEntry_lac"].items() if one != "rc-7"}


def test_lac_of_adds_in_flight() -> None:
    seen, result = _run("a3_pipelined_lac")
    everybody = {_name(one) for one in result.ledger.bookies}
    _assert_entries(seen["stored_not_acked"], result.rounds[0], everybody)
    _assert_entries(seen["after_one_more"], result.rounds[5], everybody)
    assert result.rounds[2]["writer_lac"] == seen["acked_writerLAC"]
    assert {result.rounds[2]["reader_lac"]} == set(seen["readerAfterAck"].values())
    assert {result.rounds[5]["reader_lac"]} == set(seen["readerAfterOneMore"].values())


@pytest.mark.parametrize("name", [name for name in CASES if name[0] == "b"])
def test_results_of_adds_around_an_ensemble_change(name: str) -> None:
    seen, result = _run(name)
    before, after, end = result.rounds[7], result.rounds[9], result.rounds[13]
    first = seen["pre"]
    in_flight = [first + place for place in range(len(seen["asyncResults"]))]
    acked_before = [entry for entry, _ in before["adds"]]
    assert [entry if entry in acked_before else "PENDING" for entry in in_flight] == seen["acksBeforeKill"]
    assert before["writer_lac"] == seen["lacBeforeKill"]
    assert [entry for entry, answer in after["adds"] if answer == "OK"][first:] == seen["asyncResults"]
    assert [entry for entry, answer in end["adds"][len(after["adds"]) :] if answer == "OK"] == seen["postAdds"]
    assert end["writer_lac"] == seen["writerLAC"]
    assert result.ledger.writer.closes == [seen["close"]]


@pytest.mark.parametrize("name", [name for name in CASES if name[0] == "c"])
def test_old_writer(name: str) -> None:
    seen, result = _run(name)
    assert [answer for _, answer in result.adds[seen["written"] :]] == [answer.split(":")[0] for answer in seen["oldWriterAdds"]]
    assert result.ledger.writer.closes == [seen["oldWriterClose"]]
    assert result.ledger.coverage["refused_by_fence"] == len(seen["oldWriterEvents"])
    assert {result.rounds[35]["reader_lac"]} == set(seen["readerAfter"].values())


@pytest.mark.parametrize("name", [name for name in CASES if name[0] in "cd"])
def test_recovery(name: str) -> None:
    seen, result = _run(name)
    asked = seen["recover"]
    recoveries = result.ledger.recoveries
    assert [(one.error, one.lac) for one in recoveries[:1]] == [(asked["result"], asked["lac"])]
    if "openAgain" in seen:
        assert (recoveries[1].error, recoveries[1].lac) == (seen["openAgain"]["result"], seen["openAgain"]["lac"])
    real = {one: _of_recovery(events) for one, events in seen["recoveryEvents"].items()}
    assert {_name(one): events for one, events in result.ledger.asked.items() if events} == real


def _of_recovery(events: list[str]) -> list[str]:
    """Without the reads of the client that the ledger was opened for: they don't fence."""
    places = range(len(events))
    return [events[at] for at in places if not events[at].startswith("read") or (at > 0 and events[at - 1] == "fence")]


@pytest.mark.parametrize("name", [name for name in CASES if name[0] in "cd"])
def test_reader_before_recovery(name: str) -> None:
    """Which bookies a reader hears first differs from run to run: the LAC is one of those it was given."""
    seen, result = _run(name)
    row = result.rounds[STEPS[name[:2]]["before"]]
    assert row["reader_lac"] in set(seen["before"]["reader"].values())
    assert row["writer_lac"] == seen["writerLAC"]
