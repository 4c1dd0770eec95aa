"""Rows of the scenarios table."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.outcomes.scenarios import scenario_rows
from emulator.table_columns.spark_columns import OUTPUT_TABLES


@dataclass(frozen=True)
class Choices:
    scenario_id: int
    name: str
    overrides: dict[str, str] = field(default_factory=dict)
    protocol: str = "kafka"
    rounds: int = 100
    round_ms: int = 500
    events: tuple[str, ...] | None = None


def test_overridden_settings_become_columns() -> None:
    variants = [
        Choices(2, "b", {"topics.t.config.x": "2", "seed": "8"}),
        Choices(0, "base"),
        Choices(1, "a", {"seed": "9"}),
    ]
    schema, rows = scenario_rows(variants, "leap")
    assert schema.names == [*OUTPUT_TABLES["scenarios"].names, "seed", "topics.t.config.x"]
    assert [row[1] for row in rows] == ["base", "a", "b"]
    assert [row[-2:] for row in rows] == [(None, None), ("9", None), ("8", "2")]
    assert [row[5] for row in rows] == ["leap"] * 3
    assert [row[7] for row in rows] == [None] * 3
    assert rows[2][6] == {"topics.t.config.x": "2", "seed": "8"}


def test_a_path_that_is_a_column_already_but_for_case_stays_in_overrides() -> None:
    schema, rows = scenario_rows([Choices(1, "a", {"rounds": "5", "topics.T.x": "1", "topics.t.x": "2"})], "plain")
    assert schema.names == [*OUTPUT_TABLES["scenarios"].names, "topics.T.x"]
    assert rows[0][6] == {"rounds": "5", "topics.T.x": "1", "topics.t.x": "2"}
