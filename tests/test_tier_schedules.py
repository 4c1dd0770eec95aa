"""Random schedules of tiered partitions by the command: Kafka of today breaks nothing, mutants do."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from datasets.tier_schedules import STORES, TOPICS, tier_schedules_toml
from emulator.scenario import load_run
from tests.engine_helpers import emulate

CAUGHT = {"kafka-mutant-delete-before-copy": "NoLocalDeleteBeforeCopy"}
FEW_TOPICS = 4
UNCLEAN_TIERS = Path(__file__).parent / "scenarios" / "unclean_tiers.toml"
LATE_COPIES = Path(__file__).parent / "scenarios" / "late_copies.toml"


def test_as_many_schedules_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "schedules.toml"
    path.write_text(tier_schedules_toml(2 * STORES * TOPICS - 1, ["kafka", *CAUGHT]))
    scenarios = load_run(str(path)).scenarios
    assert [s.protocol for s in scenarios] == ["kafka"] * STORES + [name for name in CAUGHT for _ in range(STORES)]
    assert all(sum(topic.partitions for topic in s.topics) == 2 * TOPICS for s in scenarios)
    lost = {row["kind"] for row in scenarios[0].faults.to_pylist()} & {
        "disk_loss",
        "remote_storage_outage",
        "remote_metadata_lag",
    }
    assert len(lost) == 3


def test_invariants_catch_mutants(spark: SparkSession, tmp_path: Path) -> None:
    schedules = tier_schedules_toml(STORES * FEW_TOPICS, ["kafka", *CAUGHT], topics=FEW_TOPICS)
    tables = emulate(spark, schedules, tmp_path / "out", trace="none")
    protocols = {row["scenario_id"]: row["protocol"] for row in tables["scenarios"]}
    broken: dict[str, set[str]] = {}
    for row in tables["violations"]:
        suspect = "" if row["kind"] == "violation" else " is suspect"
        broken.setdefault(protocols[row["scenario_id"]], set()).add(row["invariant"] + suspect)
    assert broken.get("kafka", set()) == set()
    assert {name for name, invariant in CAUGHT.items() if invariant in broken.get(name, set())} == {*CAUGHT}
    kinds = {row["kind"] for row in tables["events"]}
    assert {"election", "copy_finished", "local_delete"} <= kinds


def test_a_superseded_leader_and_the_store(spark: SparkSession, tmp_path: Path) -> None:
    """What it expires, and what it copies last: four partitions of 50,160 random ones."""
    tables = emulate(spark, LATE_COPIES, tmp_path / "out", trace="none")
    assert tables["violations"] == []
    finished = {(row["scenario_id"], row["topic"], row["round"]) for row in tables["events"] if row["kind"] == "copy_finished"}
    assert finished >= {(0, "overtaken", 23), (1, "overlapped", 34), (1, "shadowed", 41)}


def test_two_lineages_in_one_store(spark: SparkSession, tmp_path: Path) -> None:
    """What unclean elections let Kafka do, in four partitions that larger runs of schedules came upon."""
    tables = emulate(spark, UNCLEAN_TIERS, tmp_path / "out", trace="none")
    assert tables["violations"] == []
    uncleanly = {row["topic"]: row["unclean_elections"] for row in tables["outcomes"] if row["scenario_id"] == 1}
    assert uncleanly == {"zombie": 1, "expired": 2, "hidden": 2, "wiped": 2}
