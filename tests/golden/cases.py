"""The golden scenarios, core Kafka first, and how to run one.

Each is `scenarios/NAME.toml`, named by what it shows, and played with one fetch a round, as when the goldens were taken;
other files that it names lie beside it. A scenario with `import = "cluster"` starts from the real cluster of
datasets/examples, which is imported first.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from emulator.importers.kafka import import_kafka
from emulator.run import run_emulation
from emulator.scenario import Run, load_run
from tests.golden.answers import answers, answers_by_duckdb
from tests.golden.tables import Table, read_tables

HERE = Path(__file__).parent
SCENARIOS = HERE / "scenarios"
REAL_CLUSTER = HERE.parents[1] / "datasets" / "examples" / "kafka-4.1.1"


@dataclass(frozen=True)
class Case:
    """A scenario file by its name, and what of it is traced."""

    name: str
    trace: str = "all"
    imports: bool = False
    """Whether it starts from the real cluster."""
    asked: str = ""
    """Of whom all views and bundled questions are asked, which have goldens too."""


CASES = (
    Case("core_brokers_stop"),
    Case("core_links_and_news"),
    Case("core_segments_and_flush"),
    Case("core_commands"),
    Case("core_elr_and_recovery", asked="duckdb"),
    Case("core_generations"),
    Case("core_initial_logs"),
    Case("core_random"),
    Case("core_random_elr"),
    Case("core_random_late_news"),
    Case("core_mutants", trace="none"),
    Case("core_mutants_caught", trace="none"),
    Case("core_mutants_caught_elr", trace="none"),
    Case("core_workloads", trace="mixed:2,mixed:7,burst:5,burst:6"),
    Case("core_generators_and_files", trace="none"),
    Case("core_imported", trace="orders:0,seg:0", imports=True),
    Case("tiered_policies", trace="none", asked="duckdb"),
    Case("tiered_unclean"),
    Case("tiered_mutants", trace="none"),
    Case("consumers_tiered", trace="none"),
    Case("consumers_unclean"),
    Case("bandwidth_shared"),
    Case("bandwidth_copies_and_reads", trace="none"),
    Case("ledgers", trace="none"),
    Case("ledgers_of_the_start"),
    Case("ledgers_of_topics", trace="none"),
    Case("all_systems", asked="spark"),
)  # fmt: skip
"""In the order in which they are taken."""

BY_NAME = {case.name: case for case in CASES}


def with_one_fetch(run: Run) -> Run:
    """The run with `fetches_per_round = 1`: many of its limits of a fetch are so small that followers fall behind."""
    one = tuple(replace(s, fetching=replace(s.fetching, per_round=1)) for s in run.scenarios)
    return replace(run, scenarios=one)


def run_case(case: Case, spark: SparkSession, folder: Path) -> dict[str, Table]:
    """Run it on its own files, copied into the folder; return its tables, and what is asked of them, by name."""
    given = folder / "given"
    shutil.copytree(SCENARIOS, given)
    if case.imports:
        data = {broker: str(REAL_CLUSTER / f"broker{broker}") for broker in (1, 2, 3)}
        described, log_dirs = (str(REAL_CLUSTER / f"{name}_healthy.txt") for name in ("topics_describe", "log_dirs"))
        import_kafka(described, log_dirs, data, str(given / "cluster"))
    run = with_one_fetch(load_run(str(given / f"{case.name}.toml")))
    run_emulation(run, str(folder / "out"), spark, trace=case.trace)
    tables = read_tables(folder / "out")
    if case.asked == "spark":
        return tables | answers(folder / "out", spark)
    return tables | (answers_by_duckdb(folder / "out", spark, HERE / "tables" / case.name) if case.asked else {})
