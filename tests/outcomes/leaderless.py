"""Whether the view leaderless_stretches adds up to what the rounds counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.asked import rows_of

BOTH = """
WITH seen AS (
  SELECT scenario_id, topic, partition, sum(rounds) AS rounds FROM leaderless_stretches GROUP BY scenario_id, topic, partition
)
SELECT s.name, o.topic, o.partition, o.leaderless_rounds, coalesce(n.rounds, 0) AS of_stretches
FROM outcomes o
JOIN scenarios s ON s.scenario_id = o.scenario_id
LEFT JOIN seen n ON n.scenario_id = o.scenario_id AND n.topic = o.topic AND n.partition = o.partition
"""


def leaderless_rounds(folder: Path) -> tuple[int, list[dict[str, Any]]]:
    """(rounds without a leader of all partitions of a run, partitions whose stretches say otherwise)."""
    rows = rows_of(folder, BOTH)
    return sum(row["leaderless_rounds"] for row in rows), [row for row in rows if row["leaderless_rounds"] != row["of_stretches"]]
