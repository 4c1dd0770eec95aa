"""Times Kafka rounds on Spark and in other engines: `python benchmarks/rounds.py [PARTITIONS] [ROUNDS] [--no-spark]`.

Defaults: 30,000 partitions, 40 rounds; the scenario is SCENARIO below. They run one after the other; in this process:

* the engine, every partition with a state of its own: every phase of docs/kafka_rounds.md, faults and elections included;
  no tables are written;
* the engine as a run uses it, on FLEET_PARTITIONS: those that go through the same share a state;
* the round as tests/literal has it, in joins and groupings of normalised tables, on the same partitions, but only the first
  LITERAL_ROUNDS rounds (each runs every join, whatever happens in it);
* the reference of tests/reference on a sample of the partitions, one core; LEO and HW of the others must equal its.

Each in a process of its own, on all the partitions (benchmarks/kernels):

* all that changes LEO, HW and ISR in this scenario, as a dense NumPy kernel; these must equal the reference's;
* a round reduced to append, fetch, high watermark, without faults, elections, ISR changes, epochs: in DuckDB SQL, in Polars, as a
  dense NumPy kernel; LEO and HW must equal the reference's without faults.

`--no-spark` leaves out what runs on Spark.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from pyspark.sql import DataFrame, SparkSession

# run as a script, the project's root is not on the path
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks.kernels import KernelRun
from benchmarks.kernels.alone import run_alone
from benchmarks.kernels.crashes import Crash
from benchmarks.kernels.numpy_full import Settings
from benchmarks.measuring.machine import describe_machine, jvm_pid
from benchmarks.measuring.memory import mib_text, peak_resident_mib
from emulator.engine import Tracks, emulate
from emulator.inputs import find_alike, scenario_inputs
from emulator.planned import PlannedRound
from emulator.progress import Progress
from emulator.run import replica_rounds
from emulator.scenario import Scenario, load_run
from emulator.session import engine_settings, get_session, stop_if_ours
from tests.engine_state import inputs_of, start_of, tables_of
from tests.literal import kafka_round as literal
from tests.reference.kafka import Result, play_round, simulate
from tests.reference.partition import Partition

BROKERS, RACKS, REPLICAS, SESSION_TIMEOUT_ROUNDS, RECORDS, SAMPLED_PARTITIONS = 12, 3, 3, 18, 5, 50
RECORD_BYTES, FETCH_MAX_BYTES = 1000, 1 << 20
LITERAL_ROUNDS = 3
FLEET_PARTITIONS = 1_000_000
CRASH = Crash(broker=3, from_round=5, to_round=30)
CRASH_ROW = {"kind": "broker_crash", **CRASH._asdict()}

SCENARIO = f"""
protocol = "kafka"
rounds = %(rounds)d
round_ms = 500
cluster = {{ brokers = {BROKERS}, racks = {RACKS}, session_timeout_rounds = {SESSION_TIMEOUT_ROUNDS} }}
workload = [{{ topic = "orders", records_per_round = {RECORDS}, record_bytes = {RECORD_BYTES}, acks = "all" }}]
faults = [{{ {", ".join(f"{key} = {value!r}" for key, value in CRASH_ROW.items())} }}]
[[topics]]
name = "orders"
partitions = %(partitions)d
replication_factor = {REPLICAS}
config = {{ "min.insync.replicas" = 2 }}
"""

REDUCED = {"duckdb_reduced": "DuckDB", "polars_reduced": "Polars", "numpy_reduced": "NumPy"}

ReplicaEnds = dict[tuple[int, int], tuple[int, int]]
"""(partition_id, broker) -> (leo, hw) after the last round."""


class Measured(NamedTuple):
    """One line of the printed table. `peak_mib`: of the process, None where it had also done other things."""

    name: str
    replica_rounds: int
    seconds: float
    peak_mib: int | None = None


class JobTimes(Progress):
    """Notes when the engine's jobs ended with how much done, and how long the driver prepared each of their rounds."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.ends: list[tuple[float, int]] = []
        self.driver_seconds: list[float] = []

    def advance(self, rounds_done: int, partitions_running: int, iterations: int, replica_rounds: int) -> None:
        """Called by the engine at the end of each job."""
        self.ends.append((time.perf_counter(), replica_rounds))

    def timed_round(self) -> type[PlannedRound]:
        """A PlannedRound that notes when it is ready, and the driver's seconds from a job's begin to its submission."""
        times = self

        class TimedRound(PlannedRound):
            def __init__(self, *arguments: Any) -> None:
                super().__init__(*arguments)
                times.ends.append((time.perf_counter(), 0))

            def run(self, state: DataFrame, rounds: int) -> DataFrame:
                window = super().run(state, rounds)
                times.driver_seconds.append((time.perf_counter() - times.ends[-1][0]) / rounds)
                return window

        return TimedRound


def load_scenario(partitions: int, rounds: int) -> Scenario:
    """The benchmark's scenario, read from a file as every run's is."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(SCENARIO % {"partitions": partitions, "rounds": rounds})
        file.flush()
        return load_run(file.name).scenarios[0]


def measure_engine(spark: SparkSession, scenario: Scenario, sample: list[int]) -> tuple[list[Measured], ReplicaEnds]:
    """Runs the engine; returns its lines and the sampled logs, and prints what is not a rate."""
    times, began, inputs = JobTimes(), time.perf_counter(), [scenario_inputs(scenario)]
    untraced = {scenario.scenario_id: np.zeros(len(scenario.topics[0].assignment), bool)}
    with patch("emulator.round_plans.PlannedRound", times.timed_round()):
        state = emulate(spark, inputs, untraced, Tracks(lambda _: None), times)
    jobs_began, (last_began, done_before), (ended, done) = times.ends[0][0], *times.ends[-2:]
    assert done == replica_rounds(inputs) and times.driver_seconds, "jobs were not timed"
    print(f"engine: {jobs_began - began:.1f} s until the first job (inputs, initial state, planning the round once)")
    job_seconds = np.diff([end for end, _ in times.ends])
    print(f"engine: s of each job {job_seconds.round(1)}, driver s per fused round {np.round(times.driver_seconds, 3)}")
    peak_mib = peak_resident_mib(jvm_pid(spark))
    print(f"engine: driver heap {spark.conf.get('spark.driver.memory', '?')}; peak memory below is of the JVM")
    rows = state.where(state["partition_id"].isin(sample)).select("partition_id", "slot", "leo", "hw").collect()
    brokers = [inputs[0].worlds[world].brokers for world in inputs[0].partition_table.world_id]
    ends = {(number, brokers[number][slot]): (leo, hw) for number, slot, leo, hw in rows}
    all_jobs = Measured("engine, all jobs", done, ended - jobs_began, peak_mib)
    return [all_jobs, Measured("engine, last job", done - done_before, ended - last_began)], ends


def measure_fleet(spark: SparkSession, rounds: int) -> Measured:
    """Runs the engine on a fleet of partitions of which many are alike."""
    scenario = load_scenario(FLEET_PARTITIONS, rounds)
    began, inputs = time.perf_counter(), scenario_inputs(scenario)
    untraced = np.zeros(FLEET_PARTITIONS, bool)
    inputs.alike = find_alike(inputs, untraced)
    emulate(spark, [inputs], {scenario.scenario_id: untraced}, Tracks(lambda _: None), Progress(quiet=True))
    seconds = time.perf_counter() - began
    print(f"fleet: {len(inputs.states):,} distinct partitions of {FLEET_PARTITIONS:,}")
    print(f"fleet: peak resident JVM so far {mib_text(peak_resident_mib(jvm_pid(spark)))} MiB")
    return Measured(f"engine, {FLEET_PARTITIONS:,} partitions", replica_rounds([inputs]), seconds)


def measure_literal(spark: SparkSession, scenario: Scenario, sample: list[int], rounds: int) -> tuple[Measured, ReplicaEnds]:
    """Runs the first rounds literally; returns its line and the sampled logs."""
    inputs, tasks = scenario_inputs(scenario), spark.sparkContext.defaultParallelism
    with engine_settings(spark, tasks):
        start = start_of(spark, [inputs], rounds, tasks).localCheckpoint()
        tables = tables_of(start)
        began = time.perf_counter()
        for number in range(rounds):
            tables = literal.play_round(tables, inputs_of(start, str(number)))
        seconds = time.perf_counter() - began
        replicas = tables.replicas.where(tables.replicas["partition"].isin(sample))
        rows = replicas.select("partition", "broker", "leo", "hw").collect()
    brokers = [inputs.worlds[world].brokers for world in inputs.partition_table.world_id]
    ends = {(number, brokers[number][slot]): (leo, hw) for number, slot, leo, hw in rows}
    return Measured(f"literal round, first {rounds}", inputs.replicas * rounds, seconds), ends


def measure_reference(scenario: Scenario, sample: list[int]) -> tuple[list[Measured], list[Result], list[Result]]:
    """Runs the plain-Python reference on the sampled partitions, with and without its trace and invariants.

    Returns its lines, its results, and those without faults.
    """
    base = {"rounds": scenario.rounds, "round_ms": 500, "session_timeout_rounds": SESSION_TIMEOUT_ROUNDS, "config": {}}
    base |= {"brokers": range(1, BROKERS + 1), "racks": {b: (b - 1) % RACKS for b in range(1, BROKERS + 1)}}
    workload = [{"from_round": 0, "records_per_round": RECORDS, "record_bytes": RECORD_BYTES, "acks": "all"}]
    base |= {"topic_config": {"min.insync.replicas": 2}, "workload": workload, "faults": [CRASH_ROW], "commands": []}
    cases = [base | {"replicas": [int(b) for b in scenario.topics[0].assignment[number]]} for number in sample]
    began = time.perf_counter()
    results = [simulate(case) for case in cases]
    simulated = time.perf_counter()
    for case in cases:
        partition = Partition(case)
        for partition.now in range(scenario.rounds):
            play_round(partition)
    played = time.perf_counter()
    count = len(cases) * REPLICAS * scenario.rounds
    rounds_only = Measured("Python reference, rounds only", count, played - simulated)
    lines = [rounds_only, Measured("Python reference, trace and checks", count, simulated - began)]
    return lines, results, [simulate(case | {"faults": []}) for case in cases]


def ends_after(results: list[Result], sample: list[int], rounds: int) -> ReplicaEnds:
    """The logs of the reference after so many rounds."""
    last = slice(REPLICAS * (rounds - 1), REPLICAS * rounds)
    rows = [(n, row) for n, result in zip(sample, results, strict=True) for row in result.trace[last]]
    return {(number, row["broker"]): (row["leo"], row["hw"]) for number, row in rows}


def measure_kernels(scenario: Scenario, sample: list[int], results: list[Result], calm: list[Result]) -> list[Measured]:
    """Runs the kernels; what they end with must be what the reference does, with CRASH and without."""
    assignment = np.asarray(scenario.topics[0].assignment)
    count = assignment.size * scenario.rounds
    batch_bytes = RECORDS * RECORD_BYTES
    settings = Settings(RECORDS, max(1, FETCH_MAX_BYTES // batch_bytes) * RECORDS, session_timeout_rounds=SESSION_TIMEOUT_ROUNDS)
    arguments = (assignment, range(1, BROKERS + 1), [CRASH], scenario.rounds, settings)
    full, peak_mib = run_alone("numpy_full", sample, *arguments)
    assert kernel_ends(full, assignment, sample) == ends_after(results, sample, scenario.rounds), "NumPy and reference differ"
    for result, brokers, in_isr in zip(results, assignment[sample], np.asarray(full.isr), strict=True):
        assert result.outcomes["isr"] == sorted(brokers[in_isr].tolist()), "ISRs of NumPy and reference differ"
    lines = [Measured("NumPy, all that changes logs and ISR", count, full.seconds, peak_mib)]
    for kernel, engine in REDUCED.items():
        reduced, peak_mib = run_alone(kernel, sample, *assignment.shape, scenario.rounds, RECORDS)
        assert kernel_ends(reduced, assignment, sample) == ends_after(calm, sample, scenario.rounds), f"{engine} differs"
        lines.append(Measured(f"{engine}, reduced round", count, reduced.seconds, peak_mib))
    print(f"kernels and reference agree on LEO and HW (the full one on ISR too) of {len(sample)} partitions after the last round")
    return lines


def kernel_ends(run: KernelRun, assignment: np.ndarray, sample: list[int]) -> ReplicaEnds:
    """The logs that a kernel ended with."""
    ends = {}
    for number, leos, hws in zip(sample, run.leo, run.hw, strict=True):
        for broker, leo, hw in zip(assignment[number], leos, hws, strict=True):
            ends[number, int(broker)] = (int(leo), int(hw))
    return ends


def measure_on_spark(scenario: Scenario, sample: list[int], results: list[Result]) -> list[Measured]:
    """Runs what runs on Spark; the last logs must be the reference's."""
    spark, rounds = get_session(), scenario.rounds
    print(f"Spark's master: {spark.sparkContext.master}")
    engine, engine_ends = measure_engine(spark, scenario, sample)
    fleet = measure_fleet(spark, rounds)
    literal_rounds = min(LITERAL_ROUNDS, rounds)
    literal_line, literal_ends = measure_literal(spark, scenario, sample, literal_rounds)
    stop_if_ours(spark)
    assert engine_ends == ends_after(results, sample, rounds), "engine and reference differ"
    assert literal_ends == ends_after(results, sample, literal_rounds), "literal round and reference differ"
    print(f"engine, literal round and reference agree on LEO and HW of {len(engine_ends)} replicas after their last rounds")
    return [*engine, fleet, literal_line]


def main() -> None:
    """Measures all of them and prints one table; the ratios are within this run."""
    parser = argparse.ArgumentParser(description="Times Kafka rounds on Spark and in other engines.")
    parser.add_argument("partitions", type=int, nargs="?", default=30_000)
    parser.add_argument("rounds", type=int, nargs="?", default=40)
    parser.add_argument("--no-spark", action="store_true")
    given = parser.parse_args()
    print(f"{given.partitions:,} partitions x {REPLICAS} replicas x {given.rounds} rounds")
    print(describe_machine("duckdb", "polars", "numpy"))
    scenario = load_scenario(given.partitions, given.rounds)
    sample = sorted({int(number) for number in np.linspace(0, given.partitions - 1, SAMPLED_PARTITIONS)})
    reference, results, calm = measure_reference(scenario, sample)
    on_spark = [] if given.no_spark else measure_on_spark(scenario, sample, results)
    lines = [*on_spark, *reference, *measure_kernels(scenario, sample, results, calm)]
    print(f"{'':38}{'replica-rounds':>15}{'seconds':>10}{'per second':>13}{'first / it':>12}{'peak MiB':>10}")
    first = lines[0].replica_rounds / lines[0].seconds
    for name, count, seconds, peak_mib in lines:
        peak = "" if peak_mib is None else mib_text(peak_mib)
        print(f"{name:38}{count:>15,}{seconds:>10.2f}{count / seconds:>13,.0f}{first * seconds / count:>12.3g}{peak:>10}")


if __name__ == "__main__":
    main()
