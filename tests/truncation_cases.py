"""How runs in which logs are cut end: as the tests' tables tell it, as the reference has it, and as the engine's tables say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from emulator.scenario import load_run
from emulator.scenario.model import Run
from tests.asked import ask
from tests.engine_helpers import Row, emulate, of_scenario
from tests.reference.kafka import simulate
from tests.reference.scenario_cases import cases_of_run
from tests.test_differential import by_topic, differences

LOG_MATCHING, STRONG_ISR, WEAK_ISR = "LogMatching", "StrongIsr", "WeakIsr"
LEADER_COMPLETENESS, COMMITTED, ACKED = "LeaderCompleteness", "NoCommittedRecordLost", "NoAckedRecordLost"
INVARIANTS = frozenset({LOG_MATCHING, STRONG_ISR, WEAK_ISR, LEADER_COMPLETENESS, COMMITTED, ACKED})
OF_ELECTIONS = frozenset({LEADER_COMPLETENESS, COMMITTED, ACKED})
"""What holds as long as elections are clean."""
OF_THE_ISR = frozenset({STRONG_ISR, WEAK_ISR})
MIXED_UP = OF_THE_ISR | {LOG_MATCHING}

KAFKA, KIP279, KIP101, HIGH_WATERMARK = "kafka", "kip279", "kip101", "high-watermark"
VARIANTS = (KAFKA, KIP279, KIP101, HIGH_WATERMARK)
"""The base of a scenario file, which is called kafka here, and its variants."""

Place = tuple[str, str, str]
"""A scenario file (its stem), a topic and a variant."""


class End(NamedTuple):
    """How one partition ends.

    `logs`: broker -> its records by its leader epoch cache, as in "0-39 e0, 40-59 e1"; `diverged`:
    pairs of brokers with the offsets that differ below both high watermarks, as in "1 and 2: 40-49"; `outside`: replicas out of
    the ISR; `broken`: those of INVARIANTS that did not hold at the end of some round.
    """

    logs: Mapping[int, str]
    truncated: int = 0
    acked_lost: int = 0
    committed_lost: int = 0
    diverged: tuple[str, ...] = ()
    outside: tuple[int, ...] = ()
    broken: frozenset[str] = frozenset()


def alike(log: str, *brokers: int, **others: Any) -> End:
    """The end of a partition whose replicas all have the same log."""
    return End(dict.fromkeys(brokers, log), **others)


Told = Mapping[str, Mapping[str, Mapping[str, End]]]
"""File -> topic -> variants, parted by blanks -> how it ends."""


def by_place(told: Told) -> dict[Place, End]:
    """One entry for each variant; every topic has all of VARIANTS."""
    ends = {
        (file, topic, variant): end
        for file, topics in told.items()
        for topic, groups in topics.items()
        for variants, end in groups.items()
        for variant in variants.split()
    }
    assert len(ends) >= len(VARIANTS) * sum(map(len, told.values()))
    return ends


def merged(paths: Iterable[Path]) -> Run:
    """Every scenario of several files in one run, named by file and variant: an engine run costs seconds."""
    runs = [load_run(str(path)) for path in paths]
    named = [(f"{Path(run.path).stem} {_variant(one.name)}", one) for run in runs for one in run.scenarios]
    scenarios = [replace(scenario, scenario_id=at, name=name) for at, (name, scenario) in enumerate(named)]
    return replace(runs[0], name="several", scenarios=tuple(scenarios))


def _variant(name: str) -> str:
    return KAFKA if name == "base" else name


@dataclass(frozen=True)
class Seen:
    """What the engine wrote, by place: ends without `broken`, `broken`, truncations, and what the reference has otherwise."""

    ends: Mapping[Place, End]
    broken: Mapping[Place, frozenset[str]]
    differing: Mapping[Place, Any]
    truncations: Mapping[Place, list[tuple[int, int, int, int]]]
    """(round, broker, old LEO, new LEO)."""


def play(spark: SparkSession, paths: Iterable[Path], out: Path) -> Seen:
    """Run the files through the engine, all at once, and each of their partitions through the reference."""
    run = merged(paths)
    tables = emulate(spark, run, out)
    _, rows = ask(out, "SELECT scenario_id, topic, broker, other_broker, from_offset, to_offset FROM diverged")
    diverged = sorted(rows)
    ids = {scenario.name: scenario.scenario_id for scenario in run.scenarios}
    ends, broken, differing, truncations = {}, {}, {}, {}
    for (name, topic), case in cases_of_run(run).items():
        file, variant = name.split()
        place = (file, topic, variant)
        mine = of_scenario(tables, name)
        parted = by_topic(mine)[topic]
        outcomes = parted["outcomes"][0]
        ends[place] = End(
            logs=_logs(_with_epochs(row, mine["leader_epochs"]) for row in mine["replicas"] if row["topic"] == topic),
            diverged=tuple(_told(*row[2:]) for row in diverged if row[:2] == (ids[name], topic)),
            outside=tuple(sorted({*_replicas_in_the_end(case)} - {*outcomes["isr"]})),
            **{key: outcomes[key] for key in ("truncated", "acked_lost", "committed_lost")},
        )
        broken[place] = INVARIANTS & {row["invariant"] for row in mine["violations"] if row["topic"] == topic}
        if found := differences(simulate(case), parted):
            differing[place] = found[:5]
        cuts = [row for row in parted.get("events", []) if row["kind"] == "truncate"]
        truncations[place] = sorted((row["round"], row["broker"], row["from_offset"], row["to_offset"]) for row in cuts)
    return Seen(ends, broken, differing, truncations)


def check_broken(seen: Seen, place: Place, expected: End) -> None:
    """The engine's table `violations` names what the source says is broken, and nothing else of INVARIANTS."""
    assert seen.broken[place] == expected.broken


def reference_ends(paths: Iterable[Path]) -> dict[Place, End]:
    """How the reference ends. After an unclean election losses break nothing, as the engine's invariants have it."""
    ends = {}
    for (name, topic), case in cases_of_run(merged(paths)).items():
        file, variant = name.split()
        result = simulate(case, watch=True)
        rows = [row for row in result.trace if row["round"] == case["rounds"] - 1]
        broken = INVARIANTS & {violation.invariant for violation in result.violations}
        ends[file, topic, variant] = End(
            logs=_logs(rows),
            diverged=tuple(_told(*each) for pair in combinations(rows, 2) for each in _differing(*pair)),
            outside=tuple(sorted({*_replicas_in_the_end(case)} - {*result.outcomes["isr"]})),
            broken=broken - OF_ELECTIONS if result.outcomes["unclean_elections"] else broken,
            **{key: result.outcomes[key] for key in ("truncated", "acked_lost", "committed_lost")},
        )
    return ends


def _replicas_in_the_end(case: Mapping[str, Any]) -> list[int]:
    """As the last reassignment leaves them, all of which end here."""
    return [case["replicas"], *(c["replicas"] for c in case["commands"] if c["kind"] == "reassign")][-1]


def _with_epochs(replica: Row, leader_epochs: list[Row]) -> Row:
    """A row of the table `replicas` with its leader epoch cache, as a row of the trace has it."""
    place = ("topic", "partition", "broker")
    own = [row for row in leader_epochs if all(row[key] == replica[key] for key in place)]
    return {**replica, "epochs": sorted([row["epoch"], row["start_offset"]] for row in own)}


def _logs(rows: Iterable[Row]) -> dict[int, str]:
    return {row["broker"]: ", ".join(_range(first, end, f" e{epoch}") for epoch, first, end in _epochs(row)) for row in rows}


def _epochs(row: Row) -> list[tuple[int, int, int]]:
    """(epoch, first offset, end offset) of the records that a replica has of each epoch."""
    ends = [*(start for _, start in row["epochs"][1:]), row["leo"]]
    ranges = [(epoch, max(start, row["log_start_offset"]), end) for (epoch, start), end in zip(row["epochs"], ends, strict=False)]
    return [(epoch, first, end) for epoch, first, end in ranges if first < end]


def _differing(one: Row, other: Row) -> list[tuple[int, int, int, int]]:
    """The ranges below both high watermarks in which the epochs differ: (broker, other broker, first offset, end offset)."""
    hw = min(one["hw"], other["hw"])
    ranges = [
        (one["broker"], other["broker"], max(first, second), min(end, second_end, hw))
        for epoch, first, end in _epochs(one)
        for second_epoch, second, second_end in _epochs(other)
        if epoch != second_epoch
    ]
    return [each for each in ranges if each[2] < each[3]]


def _told(broker: int, other: int, first: int, end: int) -> str:
    return f"{broker} and {other}: {_range(first, end)}"


def _range(first: int, end: int, suffix: str = "") -> str:
    return (f"{first}" if end == first + 1 else f"{first}-{end - 1}") + suffix
