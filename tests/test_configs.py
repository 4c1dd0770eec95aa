"""The table of config keys, and which value is in force."""

from __future__ import annotations

import pytest

from emulator.scenario.config_keys import KEYS, NEVER
from emulator.scenario.configs import effective, find_problem, parse_value


def test_effective_config_goes_from_topic_to_cluster_to_default() -> None:
    assert effective({}, {}, "min.insync.replicas") == 1
    assert effective({"min.insync.replicas": 2}, {}, "min.insync.replicas") == 2
    assert effective({"min.insync.replicas": 2}, {"min.insync.replicas": 3}, "min.insync.replicas") == 3
    assert effective({"log.roll.hours": 2}, {}, "segment.ms") == 7_200_000
    assert effective({"log.roll.hours": 2, "log.roll.ms": 5}, {}, "log.roll.hours") == 5
    assert effective({"log.segment.bytes": 100, "segment.bytes": 200}, {}, "segment.bytes") == 200
    assert effective({"log.retention.hours": -1}, {}, "retention.ms") == -1
    assert effective({}, {}, "flush.messages") == effective({}, {}, "log.flush.interval.ms") == NEVER
    assert effective({"replica.lag.time.max.ms": 1}, {"replica.lag.time.max.ms": 2}, "replica.lag.time.max.ms") == 1


def test_config_table_is_consistent() -> None:
    for row in KEYS.values():
        assert find_problem(row.name, row.default, for_topic=False) is None
        assert KEYS[row.setting].setting == row.setting
        assert KEYS[row.setting].topic or row.setting == row.name


def test_values_from_kafkas_tools() -> None:
    assert parse_value("min.insync.replicas", "2") == 2
    assert parse_value("unclean.leader.election.enable", "TRUE") is True
    assert parse_value("some.plugin.key", "2") == "2"
    for key, text in (("segment.bytes", "many"), ("preallocate", "1"), ("segment.bytes", "-1")):
        with pytest.raises(ValueError, match="allowed: "):
            parse_value(key, text)
