"""The bundled example of eligible leader replicas: every variant goes through what the comment at the top of the file says.

Last replica standing, the worked example and balanced recovery are KIP-966's. `MUTANTS` are Kafka with ELR but without one of the
rules it stands on: on the same faults they lose what is committed, and their elections are clean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from emulator.scenario import Run, load_run
from tests.engine_helpers import Row, emulate, of_scenario
from tests.reference.kafka import simulate
from tests.reference.scenario_cases import cases_of_run
from tests.test_differential import by_topic, differences

EXAMPLE = Path(__file__).parents[1] / "datasets" / "examples" / "kip_966.toml"
BASE, ELR, BALANCED, AGGRESSIVE = VARIANTS = ("base", "elr", "elr-balanced", "elr-aggressive")


class Lost(NamedTuple):
    """What a partition's run ends with."""

    acked: int
    acked_lost: int
    committed_lost: int
    unclean_elections: int = 0
    leader: int = -1
    leo: int = 0


@dataclass(frozen=True)
class Told:
    """`held`: what the controller holds from round 0 on and after each change, as "round leader ISR ELR LastKnownELR", until
    the decisive things have happened."""

    held: str
    lost: Lost


def _told(common: str, ends: Mapping[str, tuple[str, Lost]]) -> dict[str, Told]:
    """How it begins in every variant with ELR, and how each variant goes on; ELR and LastKnownELR are always empty in `base`."""
    return {variant: Told(held if variant == BASE else f"{common}, {held}", lost) for variant, (held, lost) in ends.items()}


TOLD = {
    "last-replica-standing": _told(
        "0 3 1,2,3 - -, 6 3 2,3 - -, 10 3 3 2 -, 17 - - 2 3",
        {
            BASE: ("0 3 1,2,3 - -, 6 3 2,3 - -, 10 3 3 - -, 28 3 1,2,3 - -", Lost(10, 10, 10, leader=3, leo=0)),
            ELR: ("26 2 2 - -", Lost(10, 0, 0, leader=2, leo=12)),
            BALANCED: ("26 2 2 - 3, 28 2 1,2,3 - -", Lost(10, 0, 0, leader=2, leo=12)),
            AGGRESSIVE: ("18 3 3 - -", Lost(10, 10, 10, 1, leader=3, leo=0)),
        },
    ),
    "worked-example": _told(
        "0 4 4,5,6 - -, 2 4 4,6 - -, 15 4 4 6 -",
        {
            BASE: ("0 4 4,5,6 - -, 2 4 4,6 - -, 15 4 4 - -, 23 4 4,6 - -", Lost(3, 3, 3, leader=4, leo=0)),
            ELR: ("21 6 6 - -, 23 6 4,6 - -", Lost(3, 0, 0, leader=6, leo=4)),
            BALANCED: ("21 6 6 - 4, 23 6 4,6 - -", Lost(3, 0, 0, leader=6, leo=4)),
            AGGRESSIVE: ("21 6 6 - 4, 23 6 4,6 - -", Lost(3, 0, 0, leader=6, leo=4)),
        },
    ),
    "balanced-recovery": _told(
        "0 7 7,8,9 - -, 3 8 8,9 - -, 4 9 9 8 -",
        {
            BASE: ("0 7 7,8,9 - -, 3 8 8,9 - -, 4 9 9 - -, 5 - 9 - -, 11 9 9 - -", Lost(0, 6, 6, leader=9, leo=4)),
            ELR: ("5 - - 8,9 9, 9 - - 9 9, 11 9 9 - -", Lost(0, 6, 6, 1, leader=9, leo=4)),
            BALANCED: ("5 - - 8,9 -, 9 - - 9 8, 11 - - - 8,9, 12 8 8 - -", Lost(0, 0, 0, 1, leader=8, leo=12)),
            AGGRESSIVE: ("5 - - 8,9 -, 8 7 7 - -", Lost(0, 0, 0, 1, leader=7, leo=15)),
        },
    ),
    "min-isr-changed": _told(
        "0 10 10,11,12 - -, 5 10 10,12 - -, 8 10 10 12 -, 10 10 10 - -",
        {
            BASE: ("0 10 10,11,12 - -, 5 10 10,12 - -, 8 10 10 - -, 17 - 10 - -, 20 10 10 - -", Lost(22, 22, 22, leader=10)),
            ELR: ("17 - - 10 10, 20 10 10 - -", Lost(22, 22, 22, 1, leader=10)),
            BALANCED: ("17 - - 10 -, 20 - - - 10, 21 10 10 - -", Lost(22, 22, 22, 1, leader=10)),
            AGGRESSIVE: ("17 - - 10 -, 18 12 12 - -", Lost(22, 14, 14, 1, leader=12, leo=8)),
        },
    ),
    "below-min-isr": _told(
        "0 13 13,14 - -, 4 13 13 14 -",
        {
            BASE: ("0 13 13,14 - -, 4 13 13 - -, 13 - 13 - -, 20 13 13 - -", Lost(5, 0, 0, leader=13, leo=5)),
            ELR: ("13 - - 13,14 13, 15 14 14 13 -", Lost(5, 5, 0, leader=14)),
            BALANCED: ("13 - - 13,14 -, 15 14 14 13 -", Lost(5, 5, 0, leader=14)),
            AGGRESSIVE: ("13 - - 13,14 -, 14 15 15 - -", Lost(5, 0, 0, 1, leader=15, leo=5)),
        },
    ),
}
PLACES = [(topic, variant) for topic, variants in TOLD.items() for variant in variants]

OF_CLEAN_ELECTIONS = {"LeaderCompleteness", "NoCommittedRecordLost", "NoAckedRecordLost"}
MUTANTS = {
    "kafka-mutant-unclean-kept-in-elr": (
        "last-replica-standing",
        Lost(10, 10, 10, leader=3),
        OF_CLEAN_ELECTIONS,
    ),
    "kafka-mutant-high-watermark-below-min-isr": (
        "below-min-isr",
        Lost(5, 5, 5, leader=14),
        OF_CLEAN_ELECTIONS | {"LeaderCandidateCompleteness", "CommittedOnMinIsr"},
    ),
}
"""Mutant -> topic, what is lost, invariants that are broken."""


def _with_mutants(run: Run) -> Run:
    """The run with a mutant of its variant "elr" for each of MUTANTS."""
    elr = next(scenario for scenario in run.scenarios if scenario.name == ELR)
    first = len(run.scenarios)
    mutants = (replace(elr, scenario_id=first + at, name=name, protocol=name) for at, name in enumerate(MUTANTS))
    return replace(run, scenarios=(*run.scenarios, *mutants))


@dataclass(frozen=True)
class Seen:
    """The engine's tables by topic and scenario, its violations, and what the reference has otherwise."""

    tables: Mapping[tuple[str, str], Mapping[str, list[Row]]]
    violations: list[tuple[str, str, str]]
    """(topic, scenario, invariant)."""
    differing: Mapping[tuple[str, str], Any]


@pytest.fixture(scope="module")
def seen(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    example = load_run(str(EXAMPLE))
    everything = emulate(spark, _with_mutants(example), tmp_path_factory.mktemp("elr") / "out")
    names = {row["scenario_id"]: row["name"] for row in everything["scenarios"]}
    tables = {(topic, name): rows for name in names.values() for topic, rows in by_topic(of_scenario(everything, name)).items()}
    violations = [(row["topic"], names[row["scenario_id"]], row["invariant"]) for row in everything["violations"]]
    cases = {(topic, name): case for (name, topic), case in cases_of_run(example).items()}
    found = {place: differences(simulate(case), tables[place])[:5] for place, case in cases.items()}
    return Seen(tables, violations, {place: differing for place, differing in found.items() if differing})


def _held(rows: list[Row]) -> list[str]:
    """What the controller holds at the start and after each change, as in `Told`."""
    states = [
        " ".join(
            [
                str(row["leader"]) if row["leader"] >= 0 else "-",
                *(_listed(row[name]) for name in ("isr", "elr", "last_known_elr")),
            ]
        )
        for row in sorted(rows, key=lambda row: row["round"])
    ]
    return [f"{at} {state}" for at, state in enumerate(states) if at == 0 or state != states[at - 1]]


def _listed(brokers: list[int]) -> str:
    return ",".join(map(str, brokers)) or "-"


def _lost(seen: Seen, topic: str, scenario: str) -> Lost:
    outcomes = seen.tables[topic, scenario]["outcomes"][0]
    return Lost(*(outcomes[name] for name in Lost._fields))


def _broken(seen: Seen, topic: str, scenario: str) -> set[str]:
    return {invariant for *place, invariant in seen.violations if place == [topic, scenario]}


@pytest.mark.parametrize(("topic", "variant"), PLACES)
def test_the_controller_holds_what_is_told(seen: Seen, topic: str, variant: str) -> None:
    told = TOLD[topic][variant].held.split(", ")
    assert _held(seen.tables[topic, variant]["trace_partitions"])[: len(told)] == told


@pytest.mark.parametrize(("topic", "variant"), PLACES)
def test_what_is_lost(seen: Seen, topic: str, variant: str) -> None:
    assert _lost(seen, topic, variant) == TOLD[topic][variant].lost


def test_all_that_run_are_in_sync_at_the_end(seen: Seen) -> None:
    for topic, variant in PLACES:
        outcomes = seen.tables[topic, variant]["outcomes"][0]
        assert (len(outcomes["isr"]), outcomes["elr"]) == (2 if topic == "worked-example" else 3, []), (topic, variant)


@pytest.mark.parametrize(
    ("topic", "variant"),
    PLACES,
)
def test_kafka_breaks_no_invariant(seen: Seen, topic: str, variant: str) -> None:
    assert _broken(seen, topic, variant) == set()


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_loses_committed_records_in_clean_elections(seen: Seen, mutant: str) -> None:
    topic, lost, broken = MUTANTS[mutant]
    assert _lost(seen, topic, mutant) == lost
    assert _broken(seen, topic, mutant) == broken


def test_every_round_is_that_of_the_reference(seen: Seen) -> None:
    assert not seen.differing
