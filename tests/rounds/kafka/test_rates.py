"""Rates in records a second: t seconds after a row begins floor(rate x t) records were due, compiled or by the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from emulator.engine.state_inputs import states_scenario
from emulator.errors import InputError
from emulator.inputs.arrays import prepare, read_block
from emulator.rounds.relational.inputs.refusals import lacking
from emulator.scenario import Run, rates
from tests.reference.kafka import simulate
from tests.reference.random_layers import layered_batch
from tests.reference.random_scenarios import cases_of, to_toml
from tests.rounds.kafka.compared import all_known, differences, events_of, outcomes_of, played, scenarios_of

FILE = """
rounds = {rounds}
round_ms = {round_ms}
cluster = {{ brokers = 3 }}
[[topics]]
name = "t"
partitions = 2
replication_factor = 3
[[workload]]
topic = "t"
{workload}
"""


def run_of(folder: Path, workload: str, rounds: int = 40, round_ms: int = 500) -> Run:
    return scenarios_of(FILE.format(rounds=rounds, round_ms=round_ms, workload=workload), folder)


def due_of(run: Run) -> list[int]:
    """Records that clients want to write to partition 0, by round."""
    block = read_block(prepare(run.scenarios, {}, True, 10).block(np.arange(2)))
    inputs, span = block.inputs, int(block.state.partitions[0].workload)
    due = []
    for round_ in range(run.scenarios[0].rounds):
        while inputs.workload[span + 1].from_round <= round_:
            span += 1
        pattern = int(inputs.workload[span].pattern)
        due.append(int(inputs.patterns[pattern].records) if pattern >= 0 else 0)
    return due


def test_sums_are_exact(tmp_path: Path) -> None:
    due = due_of(run_of(tmp_path, "records_per_second = 0.3\nfrom_round = 7"))
    assert [sum(due[: 7 + rounds]) for rounds in range(34)] == [rounds * 3 // 20 for rounds in range(34)]
    assert set(due) == {0, 1}


@pytest.mark.parametrize(("rate", "round_ms"), [(1.9, 1000), (0.999999, 7), (2500.5, 100), (0.000001, 86_400_000), (1e3, 3)])
def test_sums_of_other_rounds(tmp_path: Path, rate: float, round_ms: int) -> None:
    due = due_of(run_of(tmp_path, f"records_per_second = {rate}", 90, round_ms))
    millionths = round(rate * 10**6)
    assert np.cumsum(due).tolist() == [rounds * round_ms * millionths // 10**9 for rounds in range(1, 91)]


@pytest.mark.parametrize(("rate", "window"), [(0.3, 7), (20.3, 10), (1.9, 40), (5.999999, 12), (0.001, 100)])
def test_windows_are_exact_at_their_ends(tmp_path: Path, rate: float, window: int) -> None:
    """Whole records in every round of a row, those left over first in each window."""
    text = f"rate_window_rounds = {window}\n" + FILE.format(
        rounds=90, round_ms=500, workload=f"records_per_second = {rate}\nfrom_round = 3"
    )
    run = scenarios_of(text, tmp_path)
    due, millionths = due_of(run), round(rate * 10**6)
    assert run.scenarios[0].workload.column("records_per_second").null_count == run.scenarios[0].workload.num_rows
    for at in range(3, 90, window):
        assert sum(due[:at]) == (at - 3) * 500 * millionths // 10**9
        part = due[at : at + window]
        assert part == sorted(part, reverse=True)
        assert part[0] - part[-1] <= 1


def test_windows_of_several_rows_and_their_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows keep their order, and what is whole stays one row; ledgers take such rates, too."""
    workload = "records_per_second = 1.5\n" + "".join(
        f'[[workload]]\ntopic = "t"\nacks = "{acks}"\nrecords_per_second = {rate}\n' for acks, rate in (("1", 4), ("0", 0.5))
    )
    text = "rate_window_rounds = 4\n" + FILE.format(rounds=6, round_ms=500, workload=workload)
    rows = scenarios_of(text, tmp_path).scenarios[0].workload.select(["acks", "from_round", "to_round", "records_per_round"])
    assert [tuple(row.values()) for row in rows.to_pylist()] == [
        *(("all", 0, 3, 1), ("all", 3, 4, 0), ("all", 4, 6, 1)),
        ("1", 0, 6, 2),
        *(("0", 0, 1, 1), ("0", 1, 4, 0), ("0", 4, 5, 1), ("0", 5, 6, 0)),
    ]
    monkeypatch.setattr(rates, "MOST_PARTS", 7)
    with pytest.raises(InputError, match=r"workload\[2\].records_per_second: rates come to more than 7 stretches"):
        scenarios_of(text, tmp_path)


def test_whole_records_a_round_are_a_workload_like_any_other(tmp_path: Path) -> None:
    row = run_of(tmp_path, "records_per_second = 6").scenarios[0].workload.to_pylist()[0]
    assert (row["records_per_round"], row["records_per_second"]) == (3, None)


def test_one_batch_a_round(tmp_path: Path) -> None:
    """A rate with a whole part and a rest is one batch in every round, of one record more in some."""
    run = run_of(tmp_path, "records_per_second = 2.5\nrecord_bytes = 10")
    block = read_block(prepare(run.scenarios, {}, True, 10).block(np.arange(2)))
    patterns = np.asarray(block.inputs.patterns)
    assert sorted(patterns[patterns["record_bytes"] == 10]["records"].tolist()) == [1, 2]
    assert set(patterns["batch_count"].tolist()) == {1}


@pytest.mark.parametrize("seed", [3, 4])
def test_against_the_reference(tmp_path: Path, seed: int) -> None:
    batch = layered_batch(seed, 60, "rates")
    run = scenarios_of(to_toml(batch), tmp_path)
    game = played(run.scenarios)
    known, differing = all_known(game), {}
    for place, case in enumerate(cases_of(batch)):
        found = differences(simulate(case), game, place, known)
        if found:
            differing[place] = found[:5]
    assert not differing, f"{len(differing)} cases differ: {dict(list(differing.items())[:3])}"


def test_leaps_come_to_the_same(tmp_path: Path) -> None:
    batch = layered_batch(5, 60, "rates")
    run = scenarios_of(to_toml(batch), tmp_path)
    plain, leapt = played(run.scenarios), played(run.scenarios, traced=False, leaps=True)
    assert events_of(plain) == events_of(leapt)
    for place in range(60):
        assert outcomes_of(plain, place) == outcomes_of(leapt, place)


@pytest.mark.parametrize(
    ("workload", "problem"),
    [
        ("records_per_second = -1", "records_per_second: -1.0 is out of range"),
        ("records_per_second = inf", "records_per_second: inf is out of range"),
        ("records_per_second = 1e10", "records_per_second: 10000000000.0 is out of range"),
        ("records_per_second = 0.1234567", "records_per_second: 0.1234567 is too fine"),
        ("records_per_second = 1.5\nrecords_per_round = 1", "records_per_round: 1 stands beside records_per_second"),
        ('records_per_second = "1"', 'records_per_second: "1" is of the wrong type'),
        ("", "records_per_round: no value"),
    ],
)
def test_other_rates_are_refused(tmp_path: Path, workload: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        run_of(tmp_path, workload)
    assert problem in str(refused.value)


def test_too_many_uneven_rounds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gives 5000000 rounds a record more than the others"):
        run_of(tmp_path, "records_per_second = 1", 10_000_000)
    assert run_of(tmp_path, "records_per_second = 1", 1_000_000).scenarios[0].workload["records_per_second"][0].as_py() == 1


def test_rates_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("topic,records_per_second,records_per_round,partitions\nt,0.25,,0\nt,,3,1\nt,4,,1\n")
    text = FILE.partition("[[workload]]")[0].format(rounds=40, round_ms=500)
    (row, *whole) = scenarios_of(f'workload_file = "w.csv"\n{text}', tmp_path).scenarios[0].workload.to_pylist()
    assert (row["records_per_round"], row["records_per_second"]) == (0, 0.25)
    assert [(other["records_per_round"], other["records_per_second"]) for other in whole] == [(3, None), (2, None)]
    (tmp_path / "w.csv").write_text("topic,records_per_second\nt,0.25\nt,often\n")
    with pytest.raises(InputError, match='row 2, column records_per_second: "often" is not of the type; allowed: a number'):
        scenarios_of(f'workload_file = "w.csv"\n{text}', tmp_path)


def test_a_groups_rate_is_whole_records_a_round(tmp_path: Path) -> None:
    group = 'records_per_round = 1\n[[consumers]]\ngroup = "g"\ntopic = "t"\nrecords_per_second = '
    assert run_of(tmp_path, f"{group}6").scenarios[0].consumers[0].records_per_round == 3
    with pytest.raises(InputError, match="0.3 is no whole number of records a round"):
        run_of(tmp_path, f"{group}0.3")


def test_who_takes_whole_records_only(tmp_path: Path) -> None:
    uneven, even = (run_of(tmp_path, f"records_per_second = {rate}").scenarios[0] for rate in (0.3, 6))
    assert list(lacking(uneven)) == list(lacking(even)) == []
    ledgers = 'protocol = "bookkeeper"\n' + FILE.replace("replication_factor = 3\n", "")
    rows = [{"topic": "t", "records_per_second": 0.001}]
    with pytest.raises(InputError, match="play: workload: records_per_second is no whole number"):
        states_scenario((), rows, {"brokers": 3}, [{"name": "t"}], "kafka", 500)
    for rate, is_refused in ((0.3, True), (6, False)):
        text = ledgers.format(rounds=9, round_ms=500, workload=f"records_per_second = {rate}")
        if is_refused:
            with pytest.raises(InputError, match="a ledger takes whole entries a round"):
                scenarios_of(text, tmp_path)
            scenarios_of(f"rate_window_rounds = 3\n{text}", tmp_path)
        else:
            assert scenarios_of(text, tmp_path).scenarios[0].workload["records_per_round"][0].as_py() == 3
