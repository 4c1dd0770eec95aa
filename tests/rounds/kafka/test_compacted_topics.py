"""cleanup.policy decides whether retention deletes (UnifiedLog.deleteOldSegments): one partition of each, side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rounds.kafka.compared import events_of, played, scenarios_of

SCENARIO = """
rounds = 60
[cluster]
brokers = 3
config = { "log.retention.check.interval.ms" = 1000 }
[[topics]]
name = "t"
partitions = 1
replication_factor = 3
config = { "cleanup.policy" = "POLICY", "segment.bytes" = 1000, LIMIT }
[[workload]]
topic = "t"
records_per_round = 1
record_bytes = 100
"""
LIMITS = ('"retention.bytes" = 2000', '"retention.ms" = 5000')
DELETE = '[[commands]]\nround = 40\nkind = "delete_records"\ntopic = "t"\npartition = 0\noffset = 25\n'
ALTERED = '[[commands]]\nround = 45\nkind = "alter_config"\ntopic = "t"\nconfig = { "cleanup.policy" = "compact" }\n'


def deletions(folder: Path, policy: str, limit: str, more: str = "") -> list[tuple[int, int]]:
    """(round, end offset) of what broker 1 deleted."""
    text = SCENARIO.replace("POLICY", policy).replace("LIMIT", limit) + more
    events = events_of(played(scenarios_of(text, folder).scenarios)).get(0, [])
    return [(e["round"], e["to_offset"]) for e in events if e["kind"] == "local_delete" and e["broker"] == 1]


@pytest.mark.parametrize("limit", LIMITS)
def test_compaction_alone_deletes_nothing(tmp_path: Path, limit: str) -> None:
    deleted = deletions(tmp_path, "delete", limit)
    assert deleted
    assert deletions(tmp_path, "compact", limit) == []
    assert deletions(tmp_path, "compact,delete", limit) == deleted


@pytest.mark.parametrize("limit", LIMITS)
def test_what_lies_below_the_log_start_goes_all_the_same(tmp_path: Path, limit: str) -> None:
    assert deletions(tmp_path, "compact", limit, DELETE) == [(40, 20)]


@pytest.mark.parametrize("limit", LIMITS)
def test_a_policy_is_altered(tmp_path: Path, limit: str) -> None:
    before = [each for each in deletions(tmp_path, "delete", limit) if each[0] < 45]
    assert before
    assert deletions(tmp_path, "delete", limit, ALTERED) == before
