"""Times whole emulations of growing size: `python benchmarks/scaling.py [SERIES ...] [--partitions N,N,...] [...]`.

Each run is a process of its own (benchmarks/measuring/one_run.py), from the scenario file to its tables. The series, all of them
if none is named:

* partitions, rounds, faults: that grows, the others are BASE; in mode leap (`--mode`);
* cores: plain rounds, held to so many cores, Java's compiler and garbage collector included;
* modes: plain rounds and leaps, over growing rounds.

Every partition differs from every other: workload_file gives it a rate of three significant digits, initial_file the end of its
log. The tables are Markdown, for RESULTS.md. The defaults are meant to be done within 15 minutes on 2 free cores; the largest
sizes are to be asked for.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

# run as a script, the project's root is not on the path
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks.measuring.different import KEYS, write_different
from benchmarks.measuring.machine import describe_machine, usable_cores
from benchmarks.measuring.memory import mib_text
from benchmarks.measuring.one_run import PHASES, RunFigures, measure

FAULT_ROUNDS = (20, 240)
"""How long a crash may last: 10 seconds to 2 minutes."""

SCENARIO = """
protocol = "kafka"
rounds = {rounds}
round_ms = 500
cluster = {{ brokers = {brokers}, session_timeout_rounds = 18 }}
{different}
faults_file = "faults.csv"
[[topics]]
name = "orders"
partitions = {partitions}
replication_factor = 3
config = {{ "min.insync.replicas" = 2 }}
"""


@dataclass(frozen=True)
class Size:
    """One run's scenario, and how it runs."""

    partitions: int
    rounds: int
    faults: int
    brokers: int
    cores: int
    mode: str = "leap"


BASE = Size(partitions=10_000, rounds=10_000, faults=10, brokers=40, cores=len(usable_cores()))
ROUNDS_OF_FAULTS, ROUNDS_OF_CORES = 100_000, 500
SERIES = {
    "partitions": [10_000, 100_000, 1_000_000],
    "rounds": [1_000, 10_000, 100_000, 1_000_000],
    "faults": [0, 10, 100, 1_000],
    "cores": [1, 2],
    "modes": [1_000],
}


def write_scenario(size: Size, folder: Path) -> Path:
    """Writes a scenario file: crashes drawn at random, always the same ones; none begins in the last rounds."""
    random = np.random.default_rng(0)
    broker = random.integers(1, size.brokers + 1, size.faults)
    latest = size.rounds - min(2 * FAULT_ROUNDS[1], size.rounds // 2)
    from_round = np.sort(random.integers(0, latest, size.faults))
    to_round = np.minimum(from_round + random.integers(*FAULT_ROUNDS, size.faults, endpoint=True), size.rounds)
    rows = [f"broker_crash,{b},{f},{t}" for b, f, t in zip(broker, from_round, to_round, strict=True)]
    (folder / "faults.csv").write_text("\n".join(["kind,broker,from_round,to_round", *rows, ""]), encoding="ascii")
    write_different(folder, size.partitions, 10)
    scenario = folder / "scenario.toml"
    given = {"different": KEYS, "rounds": size.rounds, "brokers": size.brokers, "partitions": size.partitions}
    scenario.write_text(SCENARIO.format(**given), encoding="ascii")
    return scenario


def sizes_of(series: str, values: list[int], given: argparse.Namespace) -> Iterator[tuple[str, Size]]:
    """The runs of a series, with what stands in their first column."""
    base = replace(BASE, partitions=given.base_partitions, brokers=given.brokers, cores=given.base_cores, mode=given.mode)
    for value in values:
        if series == "partitions":
            yield f"{value:,}", replace(base, partitions=value)
        elif series == "rounds":
            yield f"{value:,}", replace(base, rounds=value)
        elif series == "faults":
            yield f"{value:,}", replace(base, faults=value, rounds=given.rounds_of_faults)
        elif series == "cores":
            yield str(value), replace(base, cores=value, mode="plain", rounds=given.rounds_of_cores)
        else:
            for mode in ("plain", "leap"):
                yield f"{value:,} rounds, {mode}", replace(base, rounds=value, mode=mode)


def measure_size(size: Size, given: argparse.Namespace) -> RunFigures:
    """Runs one size in an empty folder."""
    options = [*(["--heap", given.heap] if given.heap else []), *(["--again"] if given.again else [])]
    with tempfile.TemporaryDirectory() as folder:
        scenario = write_scenario(size, Path(folder))
        out = Path(folder) / "out"
        return measure(scenario, out, size.mode, size.cores, *options, limit_seconds=given.limit_seconds)


def describe(series: str, size: Size, given: argparse.Namespace) -> str:
    """What all runs of a series have in common."""
    parts = {
        "partitions": f"{size.partitions:,} partitions",
        "rounds": f"{size.rounds:,} rounds",
        "faults": f"{size.faults:,} crashes",
        "cores": f"{size.cores} cores",
        "modes": f"mode {size.mode}",
    }
    same = [text for name, text in parts.items() if name != series and (series, name) != ("modes", "rounds")]
    return f"{', '.join(same)}; 3 replicas, {size.brokers} brokers"


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])


def result_row(name: str, figures: RunFigures, before: RunFigures | None) -> list[str]:
    """A run's line of the table of time and memory."""
    seconds = figures.total_seconds
    return [
        name,
        f"{figures.replica_rounds:,}",
        f"{seconds:.1f}",
        "" if before is None else f"{seconds / before.total_seconds:.2f}",
        f"{figures.replica_rounds / seconds:,.0f}",
        mib_text(figures.jvm_peak_mib),
        mib_text(figures.python_peak_mib),
    ]


RESULT_HEADS = ["replica-rounds", "seconds", "/ row above", "replica-rounds/s", "peak MiB Java", "peak MiB Python"]


def phase_row(name: str, figures: RunFigures) -> list[str]:
    """A run's line of the table of where its time went."""
    seconds = [f"{figures.seconds[phase]:.1f}" for phase in PHASES]
    return [name, *seconds, f"{figures.round_seconds:.1f}", f"{figures.replica_rounds / figures.seconds['jobs'] / 1e6:.1f}"]


def run_series(series: str, values: list[int], given: argparse.Namespace) -> None:
    """Measures a series and prints its two tables."""
    results, phases, before = [], [], None
    for name, size in sizes_of(series, values, given):
        print(f"{series}: {name} ...", file=sys.stderr, flush=True)
        try:
            figures = measure_size(size, given)
        except RuntimeError as problem:
            print(f"{series}: {name}: {problem}", file=sys.stderr)
            results.append([name, "", "", "failed", *[""] * (len(RESULT_HEADS) - 3)])
            continue
        results.append(result_row(name, figures, before))
        phases.append(phase_row(name, figures))
        before = figures
    print(f"\n### {series.capitalize()}\n\n{describe(series, size, given)}\n\n{table([series, *RESULT_HEADS], results)}")
    heads = [series, *PHASES, "(rounds alone, all cores)", "M replica-rounds/s of jobs"]
    print(f"\nSeconds by phase:\n\n{table(heads, phases)}", flush=True)


def main() -> None:
    """Reads the command line, measures, prints."""
    parser = argparse.ArgumentParser(description="Times whole emulations of growing size.")
    parser.add_argument("series", nargs="*", metavar="SERIES", help=", ".join(SERIES))
    for series, values in SERIES.items():
        help_text = "rounds of the series modes" if series == "modes" else f"sizes of the series {series}"
        defaults = ",".join(map(str, values))
        option = "--rounds-of-modes" if series == "modes" else f"--{series}"
        parser.add_argument(option, dest=series, metavar="N,N,...", default=defaults, help=f"{help_text} ({defaults})")
    parser.add_argument("--rounds-of-faults", type=int, default=ROUNDS_OF_FAULTS, metavar="N")
    parser.add_argument("--rounds-of-cores", type=int, default=ROUNDS_OF_CORES, metavar="N")
    parser.add_argument("--base-partitions", type=int, default=BASE.partitions, metavar="N", help="of the other series")
    parser.add_argument("--base-cores", type=int, default=BASE.cores, metavar="N", help="of the other series")
    parser.add_argument("--brokers", type=int, default=BASE.brokers, metavar="N")
    parser.add_argument("--mode", choices=["plain", "leap"], default=BASE.mode, help="of partitions, rounds, faults")
    parser.add_argument("--heap", metavar="SIZE", help="of Java, as in 8g")
    again = "each process runs it twice, and the second is measured: Spark, its workers and compiled code have started"
    parser.add_argument("--again", action="store_true", help=again)
    parser.add_argument("--limit-seconds", type=float, metavar="S", help="for one run; a longer one has failed")
    given = parser.parse_args()
    unknown = [name for name in given.series if name not in SERIES]
    if unknown:
        parser.error(f"{unknown[0]}: is no series; they are {', '.join(SERIES)}")
    print(describe_machine())
    for series in given.series or SERIES:
        run_series(series, [int(text) for text in getattr(given, series).split(",")], given)
    print("\nThe phases add up to the seconds of the whole process.\n")
    for phase, meaning in PHASES.items():
        print(f"* {phase}: {meaning}")


if __name__ == "__main__":
    main()
