"""Times Kafka rounds on Spark, in plain Python and in DuckDB: `python benchmarks/rounds.py [PARTITIONS] [ROUNDS]`.

Defaults: 30,000 partitions, 40 rounds; the scenario is SCENARIO below. All run in this one process, one after the other:

* the engine, every partition with a state of its own: every phase of docs/kafka_rounds.md, faults and elections included;
  no tables are written;
* the engine as a run uses it, on FLEET_PARTITIONS: those that go through the same share a state;
* the round as tests/literal has it, in joins and groupings of normalised tables, on the same partitions, but only the first
  LITERAL_ROUNDS rounds (each runs every join, whatever happens in it);
* the reference of tests/reference on a sample of the partitions, one core; LEO and HW of the former two must equal its;
* a round reduced to append, fetch, high watermark in DuckDB SQL: no faults, elections, ISR changes, epochs.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np
import pyspark
from pyspark.sql import DataFrame, SparkSession

# run as a script, the project's root is not on the path
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

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
LITERAL_ROUNDS = 3
FLEET_PARTITIONS = 1_000_000
CRASH = {"kind": "broker_crash", "broker": 3, "from_round": 5, "to_round": 30}

SCENARIO = f"""
protocol = "kafka"
rounds = %(rounds)d
round_ms = 500
cluster = {{ brokers = {BROKERS}, racks = {RACKS}, session_timeout_rounds = {SESSION_TIMEOUT_ROUNDS} }}
workload = [{{ topic = "orders", records_per_round = {RECORDS}, record_bytes = 1000, acks = "all" }}]
faults = [{{ {", ".join(f"{key} = {value!r}" for key, value in CRASH.items())} }}]
[[topics]]
name = "orders"
partitions = %(partitions)d
replication_factor = {REPLICAS}
config = {{ "min.insync.replicas" = 2 }}
"""

# A follower asks from the LEO it starts the round with; what it finds includes what its leader appends in this round.
DUCKDB_ROUND = f"""
CREATE OR REPLACE TABLE state AS
SELECT partition_id, slot, leads, in_isr, leader_leo AS leo,
       CASE WHEN leads THEN greatest(hw, isr_leo) ELSE least(leader_leo, leader_hw) END AS hw
FROM (SELECT *, max(appended) FILTER (leads) OVER p AS leader_leo, max(hw) FILTER (leads) OVER p AS leader_hw,
             min(appended) FILTER (in_isr) OVER p AS isr_leo
      FROM (SELECT *, leo + CASE WHEN leads THEN {RECORDS} ELSE 0 END AS appended FROM state)
      WINDOW p AS (PARTITION BY partition_id))
"""

ReplicaEnds = dict[tuple[int, int], tuple[int, int]]
"""(partition_id, broker) -> (leo, hw) after the last round."""

Measured = tuple[str, int, float]
"""One line of the printed table: name, replica-rounds, seconds of wall clock."""


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
    with patch("emulator.engine.PlannedRound", times.timed_round()):
        state = emulate(spark, inputs, untraced, Tracks(lambda _: None), times)
    jobs_began, (last_began, done_before), (ended, done) = times.ends[0][0], *times.ends[-2:]
    assert done == replica_rounds(inputs)
    print(f"engine: {jobs_began - began:.1f} s until the first job (inputs, initial state, planning the round once)")
    job_seconds = np.diff([end for end, _ in times.ends])
    print(f"engine: s of each job {job_seconds.round(1)}, driver s per fused round {np.round(times.driver_seconds, 3)}")
    print(f"engine: peak resident JVM {jvm_peak_mb(spark)} MB, driver heap {spark.conf.get('spark.driver.memory', '?')}")
    rows = state.where(state["partition_id"].isin(sample)).select("partition_id", "slot", "leo", "hw").collect()
    brokers = [inputs[0].worlds[world].brokers for world in inputs[0].partition_table.world_id]
    ends = {(number, brokers[number][slot]): (leo, hw) for number, slot, leo, hw in rows}
    all_jobs = ("engine, all jobs", done, ended - jobs_began)
    return [all_jobs, ("engine, last job", done - done_before, ended - last_began)], ends


def measure_fleet(spark: SparkSession, rounds: int) -> Measured:
    """Runs the engine on a fleet of partitions of which many are alike."""
    scenario = load_scenario(FLEET_PARTITIONS, rounds)
    began, inputs = time.perf_counter(), scenario_inputs(scenario)
    untraced = np.zeros(FLEET_PARTITIONS, bool)
    inputs.alike = find_alike(inputs, untraced)
    emulate(spark, [inputs], {scenario.scenario_id: untraced}, Tracks(lambda _: None), Progress(quiet=True))
    seconds = time.perf_counter() - began
    print(f"fleet: {len(inputs.states):,} distinct partitions of {FLEET_PARTITIONS:,}; peak resident JVM {jvm_peak_mb(spark)} MB")
    return (f"engine, {FLEET_PARTITIONS:,} partitions", replica_rounds([inputs]), seconds)


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
    return (f"literal round, first {rounds}", inputs.replicas * rounds, seconds), ends


def measure_reference(scenario: Scenario, sample: list[int]) -> tuple[list[Measured], list[Result]]:
    """Runs the plain-Python reference on the sampled partitions, with and without its trace and invariants."""
    base = {"rounds": scenario.rounds, "round_ms": 500, "session_timeout_rounds": SESSION_TIMEOUT_ROUNDS, "config": {}}
    base |= {"brokers": range(1, BROKERS + 1), "racks": {b: (b - 1) % RACKS for b in range(1, BROKERS + 1)}}
    workload = [{"from_round": 0, "records_per_round": RECORDS, "record_bytes": 1000, "acks": "all"}]
    base |= {"topic_config": {"min.insync.replicas": 2}, "workload": workload, "faults": [CRASH], "commands": []}
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
    rounds_only = ("Python reference, rounds only", count, played - simulated)
    return [rounds_only, ("Python reference, trace and checks", count, simulated - began)], results


def ends_after(results: list[Result], sample: list[int], rounds: int) -> ReplicaEnds:
    """The logs of the reference after so many rounds."""
    last = slice(REPLICAS * (rounds - 1), REPLICAS * rounds)
    rows = [(n, row) for n, result in zip(sample, results, strict=True) for row in result.trace[last]]
    return {(number, row["broker"]): (row["leo"], row["hw"]) for number, row in rows}


def measure_duckdb(partitions: int, rounds: int) -> Measured:
    """Runs the reduced round as SQL on a table in memory, on all cores."""
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE state AS SELECT i // {REPLICAS} AS partition_id, i % {REPLICAS} AS slot, slot = 0 AS leads, "
            f"true AS in_isr, 0::BIGINT AS leo, 0::BIGINT AS hw FROM range({partitions * REPLICAS}) AS r(i)"
        )
        began = time.perf_counter()
        for _ in range(rounds):
            connection.execute(DUCKDB_ROUND)
        seconds, leo = time.perf_counter() - began, RECORDS * rounds
        # the leader's HW is a fetch behind its LEO, a follower's another one
        ends = connection.execute("SELECT DISTINCT leo, hw FROM state ORDER BY hw").fetchall()
        assert ends == [(leo, leo - 2 * RECORDS), (leo, leo - RECORDS)], ends
    return ("DuckDB, reduced round", partitions * REPLICAS * rounds, seconds)


def jvm_peak_mb(spark: SparkSession) -> str:
    """Peak resident memory of Spark's JVM, from Linux' /proc; "?" elsewhere."""
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((f"{int(line.split()[1]) >> 10:,}" for line in lines if line.startswith("VmHWM")), "?")


def main() -> None:
    """Measures all of them and prints one table; the ratios are within this run."""
    partitions, rounds = (int(text) for text in (sys.argv[1:] + ["30000", "40"][len(sys.argv) - 1 :]))
    load, memory_gib = os.getloadavg(), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    scenario, spark = load_scenario(partitions, rounds), get_session()
    java = spark._jvm.java.lang.System.getProperty("java.version")  # type: ignore[union-attr]
    print(f"{partitions:,} partitions x {REPLICAS} replicas x {rounds} rounds; {os.cpu_count()} cores, {memory_gib:.0f} GiB")
    print(f"Spark {pyspark.__version__} ({spark.sparkContext.master}), Java {java}, DuckDB {duckdb.__version__}")
    print(f"load average at start: {load[0]:.2f} {load[1]:.2f} {load[2]:.2f} (1, 5, 15 minutes)")
    sample = sorted({int(number) for number in np.linspace(0, partitions - 1, SAMPLED_PARTITIONS)})
    engine, engine_ends = measure_engine(spark, scenario, sample)
    fleet = measure_fleet(spark, rounds)
    literal_rounds = min(LITERAL_ROUNDS, rounds)
    literal_line, literal_ends = measure_literal(spark, scenario, sample, literal_rounds)
    stop_if_ours(spark)
    reference, results = measure_reference(scenario, sample)
    assert engine_ends == ends_after(results, sample, rounds), "engine and reference differ"
    assert literal_ends == ends_after(results, sample, literal_rounds), "literal round and reference differ"
    print(f"engine, literal round and reference agree on LEO and HW of {len(engine_ends)} replicas after their last rounds")
    print("DuckDB's round is reduced: append, fetch, high watermark; no faults, elections, ISR changes or epochs")
    print(f"{'':36}{'replica-rounds':>15}{'seconds':>10}{'per second':>12}{'engine / it':>13}")
    all_jobs = engine[0][1] / engine[0][2]
    for name, count, seconds in [*engine, fleet, literal_line, *reference, measure_duckdb(partitions, rounds)]:
        print(f"{name:36}{count:>15,}{seconds:>10.2f}{count / seconds:>12,.0f}{all_jobs * seconds / count:>13.3f}")


if __name__ == "__main__":
    main()
