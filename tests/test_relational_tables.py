"""Relational rounds against compiled ones: every cell of every table of many scenarios, played in two runs.

Each has causes of events, states of fetches, and what brokers carried: what the reference knows nothing of.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.engine_helpers import Row, emulate_both, of_scenario, run_of
from tests.relational_scenarios import GENERATIONS, OF_LAST_MOMENTS, SEVERAL, WITH_A_PAST, refused_batch
from tests.test_differential import assert_like_reference

Tables = dict[str, list[Row]]


@pytest.fixture(scope="module")
def several(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Every table of SEVERAL."""
    return of_both(spark, tmp_path_factory.mktemp("several"), SEVERAL)


@pytest.fixture(scope="module")
def with_a_past(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Every table of WITH_A_PAST."""
    return of_both(spark, tmp_path_factory.mktemp("past"), WITH_A_PAST)


def of_both(spark: SparkSession, folder: Path, texts: Mapping[str, str]) -> Tables:
    """The tables of these scenarios as both engines have them, in one run."""
    paths = [folder / f"{name}.toml" for name in texts]
    for path in paths:
        path.write_text(texts[path.stem])
    tables, told = emulate_both(spark, run_of(paths), folder)
    assert "relational, by DuckDB" in told[0]
    assert {row["name"] for row in tables["scenarios"]} == texts.keys()
    return tables


def test_logs_are_flushed_and_elections_told_at_their_moment(several: Tables) -> None:
    """flush.messages is looked at when a log takes something (UnifiedLog.append), not when it is altered: the quiet log is lost.

    Broker 6 is elected, and dropped in the same round: its election tells where its log ended then.
    """
    usual = of_scenario(several, "moment")
    assert [row["leo"] for row in usual["trace"] if (row["topic"], row["broker"], row["round"]) == ("quiet", 1, 6)] == [0]
    elected = [row for row in usual["events"] if (row["topic"], row["kind"]) == ("moved", "election")]
    assert sorted((row["round"], row["broker"], row["from_offset"]) for row in elected) == [(4, 6, 6), (4, 7, 6)]


def test_segments_roll_and_go_at_last_moments(several: Tables) -> None:
    """With what was flushed, and what brokers carried: a leader that dies in round 3 has appended in it."""
    for name in OF_LAST_MOMENTS:
        leos = {(r["topic"], r["partition"], r["round"], r["broker"]): r["leo"] for r in of_scenario(several, name)["trace"]}
        assert leos["t", 0, 3, 1] > leos["t", 0, 2, 1]


def test_a_rack_that_is_cut_off_replicates_within(several: Tables) -> None:
    """And last moments of who has, or had, rack-mates: LEOs of t:0 at the end of two rounds."""

    def leos(name: str, round_: int) -> list[int]:
        rows = of_scenario(several, name)["trace"]
        return [row["leo"] for row in rows if (row["partition"], row["round"]) == (0, round_) and row["broker"] in (1, 2, 3)]

    assert sorted(leos("in turn", 3)) == [120, 160, 160]
    assert sorted(leos("in turn", 5)) == [120, 120 + 40, 240]
    assert {name: sorted(leos(name, 5)) for name in ("mates", "alone", "together", "one dies")} == {
        "mates": [120, 150, 150],
        "alone": [120, 120, 150],
        "together": [120, 230, 230],
        "one dies": [120, 230, 230],
    }


def test_changes_that_the_controller_refuses(several: Tables) -> None:
    """As the reference has them."""
    tables = of_scenario(several, "refused")
    joined = [(row["broker"], row["round"]) for row in tables["events"] if row["kind"] == "isr_expand" and row["broker"] % 4 == 3]
    assert sorted(joined) == [(3, 8), (7, 10), (11, 10)]
    assert_like_reference(several, {"refused": refused_batch()})


def test_logs_with_a_remote_part_are_built(with_a_past: Tables) -> None:
    """KIP-405's first three scenarios; tests/test_kip_405.py holds the engine to the KIP's tables."""
    assert {row["topic"] for row in of_scenario(with_a_past, "kip-405")["trace"]} == {f"scenario-{n}" for n in (1, 2, 3)}


def test_segments_beside_tiers_are_told_of_alike(with_a_past: Tables) -> None:
    """What ListOffsets answers, where no topic of the scenario is tiered and one of the run is."""
    leaders = [row for row in of_scenario(with_a_past, "kept")["trace"] if row["role"] == "leader"]
    assert {(row["highest_remote_offset"], row["latest_tiered_offset"]) for row in leaders} == {(-1, -1)}
    assert all(row["latest_offset"] == row["hw"] and row["earliest_local_offset"] == row["log_start_offset"] for row in leaders)
    assert max(row["earliest_offset"] for row in leaders) > 0


def test_replicas_may_begin_beyond_their_leader(with_a_past: Tables) -> None:
    """Two records of one epoch and offset: each log has the bytes of its own, and who leads next hands its own on.

    The second replica keeps its fifth and sixth record, the third is cut to the leader's end and keeps three. The leader loses
    its disk, and has all of it from the second when that leads.
    """
    for protocol in GENERATIONS:
        replicas = of_scenario(with_a_past, protocol)["replicas"]
        size = {row["broker"]: row["local_bytes"] for row in replicas if row["partition"] == 0}
        assert size[1] == size[2] == size[3] + 30 - 7
