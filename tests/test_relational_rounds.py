"""The relational rounds against the plain-Python reference on random scenarios: every trace column, outcome and event is equal.

All cases are partitions of one run: of Kafka as it is, with eligible leader replicas and late news, with retention, with racks
that are cut off, and of all older generations. What the reference knows nothing of, as what brokers carried, is held against
compiled rounds. `FUZZ_BATCHES=n` adds n runs of other seeds, `FUZZ_BATCHES_ON_SPARK=n` as many smaller ones that Spark works
out.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.rounds.relational.inputs.run_inputs import RunInputs
from emulator.rounds.relational.run import run_relational
from emulator.scenario import load_run
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests import test_retention as retention
from tests.engine_helpers import Row, emulate, of_scenario, read_table, run_of
from tests.reference import kafka
from tests.reference.random_layers import retained_batch, with_rates
from tests.reference.random_scenarios import cases_of, moved_once_a_round, random_batch, to_toml
from tests.reference.settings import FETCHING
from tests.reference.tiered.simulate import simulate as simulate_with_segments
from tests.test_differential import VARIANTS, assert_like_reference, by_topic, differences, first_few

CASES, FUZZED_CASES, FETCHED_CASES = 100, 300, 50
ROUNDS = 10
"""Rounds of a run of the suite: each takes seconds, however many partitions there are."""

TROUBLED = (1, 2)
"""The rounds in which a burst's faults begin; they last for another one or two."""

OF_GENERATIONS = 84
"""How far their seed is from the others': of the suite's runs such that every way to cut a log comes up."""

OF_SUITE = 4
FUZZED = range(2000, 2000 + int(os.environ.get("FUZZ_BATCHES", "0")))
ON_SPARK = range(3000, 3000 + int(os.environ.get("FUZZ_BATCHES_ON_SPARK", "0")))
CASES_ON_SPARK = 50
"""Of each of six kinds."""


def relational_batch(*drawn: Any, **more: Any) -> dict[str, Any]:
    """A random batch with one reassignment of a partition in a round: several they refuse."""
    return moved_once_a_round(random_batch(*drawn, **more))


def batches(seed: int, cases: int, rounds: int | None) -> dict[str, dict[str, Any]]:
    """Batches of Kafka as it is by default, with eligible leader replicas and late news, of rounds that divide no period, with
    racks that are cut off.

    But for the suite's run followers of one fetch several times a round, and brokers of both die within one.
    """
    more = seed != OF_SUITE
    drawn = {
        f"plain-{seed}": relational_batch(seed, cases, fetching=more, moments=more),
        f"elr-{seed}": relational_batch(seed + 1, cases, elr=True, late_news=True, moments=more),
        f"uneven-{seed}": relational_batch(seed + 2, cases // 2, moments=more, uneven=True),
        f"cut-{seed}": relational_batch(seed + 3, cases // 2, moments=True, cut_racks=True),
    }
    return {name: batch if rounds is None else cut_short(batch, rounds) for name, batch in drawn.items()}


def cut_short(batch: Mapping[str, Any], rounds: int) -> dict[str, Any]:
    """The batch in fewer rounds, its faults sooner, so that they are full of trouble."""
    cluster = batch["cluster"]
    cases = [{**case, "faults": [sooner(fault) for fault in case["faults"]]} for case in batch["cases"]]
    return {**batch, "cluster": {**cluster, "rounds": rounds}, "cases": cases}


def sooner(fault: Mapping[str, Any]) -> dict[str, Any]:
    """The fault in the first third of the run."""
    by = fault["from_round"] - fault["from_round"] // 3
    return {**fault, **{edge: fault[edge] - by for edge in ("from_round", "to_round") if edge in fault}}


def test_rounds_without_controllers_equal_reference(spark: SparkSession, tmp_path: Path) -> None:
    """All trouble is over soon: what is skipped in calm rounds (RunInputs.calm) would have changed nothing in any case."""
    drawn = cut_short(relational_batch(9, 60), 11)
    cluster = {**drawn["cluster"], "faults": [], "config": {**drawn["cluster"]["config"], "auto.leader.rebalance.enable": False}}
    batch = {**drawn, "cluster": cluster, "cases": [{**case, "commands": [], "faults": burst(case)} for case in drawn["cases"]]}
    (tmp_path / "burst.toml").write_text(to_toml(batch))
    run = run_of([tmp_path / "burst.toml"])
    assert len(RunInputs(run.scenarios).calm) >= 2
    run_relational(run, str(tmp_path / "out"), spark, trace="all")
    tables = {name: read_table(tmp_path / "out" / name) for name in OUTPUT_TABLES if (tmp_path / "out" / name).is_dir()}
    assert any(row["kind"] == "unclean_election" for row in tables["events"])
    counts = Counter((row["scenario_id"], row["topic"], row["kind"]) for row in tables["events"])
    assert {(row["scenario_id"], row["topic"], row["kind"]): row["events"] for row in tables["event_counts"]} == counts
    assert_like_reference(tables, {"burst": batch})


CRASH = """
rounds = 40
[cluster]
brokers = 3
session_timeout_rounds = 9
[[topics]]
name = "t"
partitions = 2
replication_factor = 3
[[faults]]
kind = "broker_crash"
broker = 2
from_round = 10
to_round = 30
"""


def test_calm_rounds_are_those_without_news(tmp_path: Path) -> None:
    """What begins or ends takes two more rounds to settle; a restart and a fencing begin and end in the round after."""
    assert set(range(40)) - calm_of(tmp_path, CRASH) == {0, 1, 2, 10, 11, 12, *range(19, 23), *range(30, 34)}
    command = '[[commands]]\nround = 5\nkind = "delete_records"\ntopic = "t"\npartition = 0\noffset = -1\n'
    assert calm_of(tmp_path, CRASH) - calm_of(tmp_path, CRASH + command) == {5, 6, 7}


def test_no_round_is_calm_while_the_controller_waits(tmp_path: Path) -> None:
    move = '[[commands]]\nround = 5\nkind = "reassign"\ntopic = "t"\npartition = 0\nreplicas = [3, 2, 1]\n'
    assert calm_of(tmp_path, CRASH + move) == set()
    elr = 'session_timeout_rounds = 9\nfeatures = { "eligible.leader.replicas.version" = 1 }'
    assert calm_of(tmp_path, CRASH.replace("session_timeout_rounds = 9", elr)) == set()


def calm_of(folder: Path, text: str) -> set[int]:
    """The calm rounds of a scenario."""
    path = folder / "calm.toml"
    path.write_text(text)
    return RunInputs(load_run(str(path)).scenarios).calm


def burst(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The faults of a case in the rounds of a burst."""
    faults = []
    for fault in case["faults"]:
        start = TROUBLED[fault["from_round"] % len(TROUBLED)]
        faults.append({**fault, "from_round": start, "to_round": start + 1 + fault["from_round"] % 2})
    return faults


@pytest.mark.parametrize(
    ("seed", "cases", "rounds", "by_spark"),
    [
        (OF_SUITE, CASES, ROUNDS, False),
        *((seed, FUZZED_CASES, None, False) for seed in FUZZED),
        *((seed, CASES_ON_SPARK, ROUNDS, True) for seed in ON_SPARK),
    ],
)
def test_relational_rounds_equal_reference(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    cases: int,
    rounds: int | None,
    by_spark: bool,
) -> None:
    """The suite's run has several fetches a round, last moments and rates in scenarios of their own."""
    today = batches(seed, cases, rounds)
    kept = moved_once_a_round(retained_batch(seed + 2, cases, uneven=seed % 2 == 0))
    older = relational_batch(seed + OF_GENERATIONS, cases, moments=seed != OF_SUITE)
    if rounds is not None:
        kept, older = cut_short(kept, rounds), cut_short(older, rounds)
    of_generations = {name: (name, older) for name in VARIANTS}
    if seed == OF_SUITE:
        today |= fetched_batches()
        of_generations |= {f"fetched {name}": (name, batch) for name, batch in fetched_older_batches().items()}
    files = {name: ("kafka", batch) for name, batch in {**today, "retained": kept}.items()} | of_generations
    for name, (protocol, batch) in files.items():
        text = to_toml(batch).replace('protocol = "kafka"', f'protocol = "{protocol}"')
        (tmp_path / f"{name}.toml").write_text(text)
    run, out = run_of(tmp_path / f"{name}.toml" for name in files), tmp_path / "out"
    given: list[RunInputs] = []
    monkeypatch.setattr("emulator.rounds.relational.run.RunInputs", lambda read: given.append(RunInputs(read)) or given[0])
    run_relational(run, str(out), spark, trace="all", by_spark=by_spark)
    assert given[0].has_rates is (seed == OF_SUITE)
    tables = {name: read_table(out / name) for name in OUTPUT_TABLES if (out / name).is_dir()}
    assert len(tables["outcomes"]) == sum(len(batch["cases"]) for _, batch in files.values())
    assert_like_reference(tables, today)
    assert_retained_like_reference(of_scenario(tables, "retained"), kept)
    for name, (protocol, batch) in of_generations.items():
        assert_variant_like_reference(of_scenario(tables, name), batch, protocol)
    # Each follower has a fetcher for itself, as the reference and relational rounds have it.
    monkeypatch.setattr("emulator.engine.shared_fetchers._tell", lambda *of_run: [])
    assert_like_compiled(tables, emulate(spark, run, tmp_path / "compiled", trace="none"))


NOT_COMPARED = {"runs", "invariants", "violations", "trace", "trace_partitions"}
"""Tables that are of an engine's own, and traces, which compiled rounds need not write here: the reference has theirs."""

DYING = 25
"""Its leaders die with something on its way to followers."""


def fetched_batches() -> dict[str, dict[str, Any]]:
    """Each cluster has its own number of fetches a round, or as many as fit; clients of one send so many records a second.

    Brokers of most die at some moment of a round.
    """
    drawn = {
        f"fetched-{seed}": relational_batch(seed, FETCHED_CASES, elr=seed % 2 > 0, fetching=True, moments=seed != 20)
        for seed in (20, DYING, 36)
    }
    drawn["rated"] = with_rates(relational_batch(26, FETCHED_CASES), 26)
    return {name: cut_short(batch, ROUNDS) for name, batch in drawn.items()}


def fetched_older_batches() -> dict[str, dict[str, Any]]:
    """Likewise, of the older generations."""
    drawn = {name: relational_batch(seed, FETCHED_CASES, fetching=True, moments=True) for seed, name in enumerate(VARIANTS, 23)}
    return {name: cut_short(batch, ROUNDS) for name, batch in drawn.items()}


def test_what_is_fetched_and_lacked_at_last_moments_comes_up() -> None:
    of_today, older = fetched_batches(), fetched_older_batches()
    assert {given for batch in (*of_today.values(), *older.values()) for given in batch["cluster"] if given in FETCHING} == (
        FETCHING.keys()
    )
    came_up = sum((kafka.simulate(case).coverage for case in cases_of(of_today[f"fetched-{DYING}"])), Counter[str]())
    assert min(came_up["last_moments_fetched"], came_up["last_moments_lacked"]) > 10


def assert_like_compiled(tables: Mapping[str, list[Row]], compiled: Mapping[str, list[Row]]) -> None:
    """Every cell of all that is no trace: what brokers carried, events of all kinds, and what there is at the end.

    Of most of it the reference knows nothing.
    """
    for name in compiled.keys() - NOT_COMPARED:
        first, second = (Counter(map(repr, rows[name])) for rows in (compiled, tables))
        differing = [*(first - second)], [*(second - first)]
        assert differing == ([], []), name
    met = Counter(row["kind"] for row in compiled["events"])
    assert min(met[kind] for kind in ("log_damaged", "records_deleted", "reassignment_completed", "fenced", "unfenced")) > 10
    carried = Counter[str]()
    for row in compiled["broker_rounds"]:
        carried.update({name: count for name, count in row.items() if isinstance(count, int)})
    assert min(carried[name] for name in ("bytes_in", "bytes_out", "cross_rack_bytes_out", "bytes_produced", "leader_count")) > 0


def assert_retained_like_reference(tables: dict[str, list[Row]], batch: Mapping[str, Any]) -> None:
    """Segments and bytes on disk too, where segments are kept: where one may be deleted in the run."""
    topics, differing, deleted = by_topic(tables), {}, 0
    for index, case in enumerate(cases_of(batch)):
        expected, seen = simulate_with_segments(case), topics[f"t{index}"]
        found = retention.differences(expected, seen)
        if all(row["local_segments"] is None for row in seen["trace"]):
            assert not any(event.kind == "local_delete" for event in expected.events)
            found = [one for one in found if one[0] not in ("local_segments", "local_bytes")]
        deleted += sum(row["kind"] == "local_delete" for row in seen.get("events", []))
        if found:
            differing[index] = found
    assert not differing, f"{len(differing)} cases differ: {first_few(differing)}"
    assert deleted > len(topics)


def assert_variant_like_reference(tables: dict[str, list[Row]], batch: Mapping[str, Any], protocol: str) -> None:
    """Every case of an older generation is as the reference has it."""
    topics, differing = by_topic(tables), {}
    for index, case in enumerate(cases_of(batch)):
        found = differences(kafka.simulate({**case, "protocol": protocol}), topics[f"t{index}"])
        if found:
            differing[index] = found
    assert not differing, f"{len(differing)} cases of {protocol} differ: {first_few(differing)}"
