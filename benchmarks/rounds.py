"""Times Kafka rounds, compiled and in other engines: `python benchmarks/rounds.py [PARTITIONS] [ROUNDS] [--no-spark]`.

Defaults: 30,000 partitions, 40 rounds; the scenario is SCENARIO below. They run one after the other; in this process:

* compiled rounds on one core, in blocks as a task plays them: every phase of docs/kafka_rounds.md, faults and elections included;
  on the scenario's partitions, and once more where each has a rate and a log end of its own; these last also by leaps, as runs
  are played by default: all the other lines play every round;
* the relational rounds on the same partitions, but only the first RELATIONAL_ROUNDS rounds (each runs every join, whatever
  happens in it);
* the reference of tests/reference on a sample of the partitions, one core; LEO and HW of the others must equal its.

In a process of its own, on all the partitions (benchmarks/kernels): all that changes LEO, HW and ISR in this scenario, as a dense
NumPy kernel, for both kinds of partitions; these must equal the reference's, and those of compiled rounds.

Whole runs, tables included, are benchmarks/scaling.py's. `--no-spark` leaves out what runs on Spark.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

# run as a script, the project's root is not on the path
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks.kernels import KernelRun
from benchmarks.kernels.alone import AloneRun, run_alone
from benchmarks.kernels.crashes import Crash
from benchmarks.kernels.numpy_full import Settings
from benchmarks.measuring.different import KEYS, rates_and_log_ends, write_different
from benchmarks.measuring.machine import describe_machine
from benchmarks.measuring.memory import mib_text
from emulator.inputs.arrays import prepare, read_block
from emulator.progress import Progress
from emulator.rounds.kafka.play_block import play
from emulator.rounds.relational.run import run_relational
from emulator.scenario import Run, Scenario, load_run
from emulator.session import get_session, stop_if_ours
from tests.reference.kafka import Result, play_round, simulate
from tests.reference.partition import Partition

BROKERS, RACKS, REPLICAS, SESSION_TIMEOUT_ROUNDS, RECORDS, SAMPLED_PARTITIONS = 12, 3, 3, 18, 5, 50
RECORD_BYTES, FETCH_MAX_BYTES = 1000, 1 << 20
RELATIONAL_ROUNDS = 3
BLOCK_PARTITIONS = 20_000
CRASH = Crash(broker=3, from_round=5, to_round=30)
CRASH_ROW = {"kind": "broker_crash", **CRASH._asdict()}

SCENARIO = f"""
protocol = "kafka"
rounds = %(rounds)d
round_ms = 500
cluster = {{ brokers = {BROKERS}, racks = {RACKS}, session_timeout_rounds = {SESSION_TIMEOUT_ROUNDS} }}
%(workload)s
faults = [{{ {", ".join(f"{key} = {value!r}" for key, value in CRASH_ROW.items())} }}]
[[topics]]
name = "orders"
partitions = %(partitions)d
replication_factor = {REPLICAS}
config = {{ "min.insync.replicas" = 2 }}
"""

ALIKE = f'workload = [{{ topic = "orders", records_per_round = {RECORDS}, record_bytes = {RECORD_BYTES}, acks = "all" }}]'

ReplicaEnds = dict[tuple[int, int], tuple[int, int]]
"""(partition_id, broker) -> (leo, hw) after the last round."""


class Measured(NamedTuple):
    """One line of the printed table. `peak_mib`: of the process, None where it had also done other things."""

    name: str
    replica_rounds: int
    seconds: float
    peak_mib: int | None = None


class RoundTimes(Progress):
    """Notes when rounds began and ended."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.times: list[float] = []

    def start(self, total_rounds: int, partitions: int, scenarios: int, round_ms: int = 0) -> None:
        """Called before the first round."""
        self.times.append(time.perf_counter())

    def advance(self, rounds_done: int, partitions_running: int, iterations: int, replica_rounds: int) -> None:
        """Called after every round."""
        self.times.append(time.perf_counter())


def load_scenario(partitions: int, rounds: int, different: bool = False) -> Run:
    """The benchmark's scenario, read from a file as every run's is; `different`: rates and log ends of each partition's own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.toml"
        path.write_text(
            SCENARIO % {"partitions": partitions, "rounds": rounds, "workload": KEYS if different else ALIKE}, "utf-8"
        )
        if different:
            write_different(path.parent, partitions, RECORD_BYTES // 100)
        return load_run(str(path))


def measure_compiled(name: str, scenario: Scenario, sample: list[int], leaps: bool = False) -> tuple[list[Measured], ReplicaEnds]:
    """Plays all partitions by compiled rounds, block after block; returns its lines and the sampled logs."""
    partitions = len(scenario.topics[0].assignment)
    prepared = prepare([scenario], {}, leaps, scenario.rounds)
    first = read_block(prepared.block(np.arange(1)))
    play(first.state, first.inputs, first.traffic)  # compiled, or read from the cache
    seconds, ends = 0.0, {}
    began = time.perf_counter()
    for first_place in range(0, partitions, BLOCK_PARTITIONS):
        places = np.arange(first_place, min(first_place + BLOCK_PARTITIONS, partitions))
        block = read_block(prepared.block(places))
        block_began = time.perf_counter()
        state, _ = play(block.state, block.inputs, block.traffic)
        seconds += time.perf_counter() - block_began
        replicas = np.asarray(state.replicas)
        for number in (n for n in sample if first_place <= n < first_place + len(places)):
            for row in replicas[(number - first_place) * REPLICAS :][:REPLICAS]:
                ends[number, int(row["broker"])] = (int(row["leo"]), int(row["hw"]))
    whole, count = time.perf_counter() - began, partitions * REPLICAS * scenario.rounds
    return [Measured(f"compiled, {name}", count, seconds), Measured("  with its blocks packed and read", count, whole)], ends


def measure_relational(spark: SparkSession, partitions: int, rounds: int, sample: list[int]) -> tuple[Measured, ReplicaEnds]:
    """Runs the first rounds relationally; returns its line and the sampled logs."""
    times = RoundTimes()
    with tempfile.TemporaryDirectory() as folder:
        run_relational(load_scenario(partitions, rounds), f"{folder}/out", spark, progress=times)
        replicas = pq.read_table(f"{folder}/out/replicas", columns=["partition", "broker", "leo", "hw"]).to_pylist()
    wanted = set(sample)
    ends = {(row["partition"], row["broker"]): (row["leo"], row["hw"]) for row in replicas if row["partition"] in wanted}
    seconds = times.times[-1] - times.times[0]
    return Measured(f"relational rounds, first {rounds}", partitions * REPLICAS * rounds, seconds), ends


def measure_reference(scenario: Scenario, sample: list[int]) -> tuple[list[Measured], list[Result]]:
    """Runs the plain-Python reference on the sampled partitions, with and without its trace and invariants; lines and results."""
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
    return [rounds_only, Measured("Python reference, trace and checks", count, simulated - began)], results


def ends_after(results: list[Result], sample: list[int], rounds: int) -> ReplicaEnds:
    """The logs of the reference after so many rounds."""
    last = slice(REPLICAS * (rounds - 1), REPLICAS * rounds)
    rows = [(n, row) for n, result in zip(sample, results, strict=True) for row in result.trace[last]]
    return {(number, row["broker"]): (row["leo"], row["hw"]) for number, row in rows}


def measure_kernel(name: str, scenario: Scenario, sample: list[int], settings: Settings, ends: ReplicaEnds) -> AloneRun:
    """Runs the kernel; its sampled logs must end as compiled rounds' do."""
    assignment = np.asarray(scenario.topics[0].assignment)
    arguments = (assignment, range(1, BROKERS + 1), [CRASH], scenario.rounds, settings)
    run = run_alone(sample, *arguments)
    assert kernel_ends(run.run, assignment, sample) == ends, f"NumPy and compiled rounds differ: {name}"
    print(f"NumPy and compiled rounds agree on LEO and HW of {len(ends)} replicas after the last round: {name}")
    return run


def measure_kernels(
    alike: Scenario, different: Scenario, sample: list[int], results: list[Result], ends: list[ReplicaEnds]
) -> list[Measured]:
    """The kernel's two lines: partitions that are alike, whose ISR must be the reference's too, and partitions that differ."""
    batch_bytes, count = RECORDS * RECORD_BYTES, len(alike.topics[0].assignment)
    settings = Settings(RECORDS, max(1, FETCH_MAX_BYTES // batch_bytes) * RECORDS, session_timeout_rounds=SESSION_TIMEOUT_ROUNDS)
    of_alike = measure_kernel("alike", alike, sample, settings, ends[0])
    for result, brokers, in_isr in zip(results, np.asarray(alike.topics[0].assignment)[sample], of_alike.run.isr, strict=True):
        assert result.outcomes["isr"] == sorted(brokers[in_isr].tolist()), "ISRs of NumPy and reference differ"
    rates, log_ends = rates_and_log_ends(count)
    own = Settings(
        rates,
        np.maximum(1, FETCH_MAX_BYTES // (rates * (RECORD_BYTES // 100))) * rates,
        log_ends,
        session_timeout_rounds=SESSION_TIMEOUT_ROUNDS,
    )
    of_different = measure_kernel("each with its own rate and log", different, sample, own, ends[1])
    replica_rounds = count * REPLICAS * alike.rounds
    return [
        Measured("NumPy, all that changes logs and ISR", replica_rounds, of_alike.run.seconds, of_alike.peak_mib),
        Measured("NumPy, each with its own rate and log", replica_rounds, of_different.run.seconds, of_different.peak_mib),
    ]


def kernel_ends(run: KernelRun, assignment: np.ndarray, sample: list[int]) -> ReplicaEnds:
    """The logs that the kernel ended with."""
    ends = {}
    for number, leos, hws in zip(sample, run.leo, run.hw, strict=True):
        for broker, leo, hw in zip(assignment[number], leos, hws, strict=True):
            ends[number, int(broker)] = (int(leo), int(hw))
    return ends


def measure_on_spark(scenario: Scenario, sample: list[int], results: list[Result]) -> list[Measured]:
    """Runs what runs on Spark; the last logs must be the reference's."""
    spark, rounds = get_session(), min(RELATIONAL_ROUNDS, scenario.rounds)
    line, ends = measure_relational(spark, len(scenario.topics[0].assignment), rounds, sample)
    stop_if_ours(spark)
    assert ends == ends_after(results, sample, rounds), "relational rounds and reference differ"
    return [line]


def main() -> None:
    """Measures all of them and prints one table; the ratios are within this run."""
    parser = argparse.ArgumentParser(description="Times Kafka rounds, compiled and in other engines.")
    parser.add_argument("partitions", type=int, nargs="?", default=30_000)
    parser.add_argument("rounds", type=int, nargs="?", default=40)
    parser.add_argument("--no-spark", action="store_true")
    given = parser.parse_args()
    print(f"{given.partitions:,} partitions x {REPLICAS} replicas x {given.rounds} rounds")
    print(describe_machine("duckdb", "numpy"))
    scenario = load_scenario(given.partitions, given.rounds).scenarios[0]
    sample = sorted({int(number) for number in np.linspace(0, given.partitions - 1, SAMPLED_PARTITIONS)})
    reference, results = measure_reference(scenario, sample)
    compiled, ends = measure_compiled("one core", scenario, sample)
    assert ends == ends_after(results, sample, scenario.rounds), "compiled rounds and reference differ"
    print(f"compiled rounds and reference agree on LEO and HW of {len(ends)} replicas after the last round")
    different = load_scenario(given.partitions, given.rounds, different=True).scenarios[0]
    of_different, ends_of_different = measure_compiled("each with its own rate and log", different, sample)
    by_leaps, ends_by_leaps = measure_compiled("the same, by leaps", different, sample, leaps=True)
    assert ends_by_leaps == ends_of_different, "leaps and plain rounds differ"
    compiled += [*of_different, *by_leaps]
    on_spark = [] if given.no_spark else measure_on_spark(scenario, sample, results)
    kernels = measure_kernels(scenario, different, sample, results, [ends, ends_of_different])
    lines = [*compiled, *on_spark, *reference, *kernels]
    print(f"{'':38}{'replica-rounds':>15}{'seconds':>10}{'per second':>13}{'first / it':>12}{'peak MiB':>10}")
    first = lines[0].replica_rounds / lines[0].seconds
    for name, count, seconds, peak_mib in lines:
        peak = "" if peak_mib is None else mib_text(peak_mib)
        print(f"{name:38}{count:>15,}{seconds:>10.2f}{count / seconds:>13,.0f}{first * seconds / count:>12.3g}{peak:>10}")


if __name__ == "__main__":
    main()
