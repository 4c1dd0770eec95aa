"""Remote storage turned off by a command, the entries of indexes, and a local log out of order. No Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from emulator.rounds.kafka.invariants import LOCAL_LOG_IN_ORDER
from emulator.rounds.kafka.play_block import Scratch
from emulator.rounds.kafka.reading.index_cache import bytes_of_indexes
from emulator.rounds.kafka.tier.check_tiers import check_tiers
from tests.rounds.kafka.compared import events_of, played, remote_segments_of, scenarios_of

SCENARIO = """
rounds = 60
[cluster]
brokers = 2
[cluster.config]
"remote.log.storage.system.enable" = true
"log.retention.check.interval.ms" = 500
"remote.log.manager.task.interval.ms" = 500
[[topics]]
name = "t"
partitions = 1
replication_factor = 2
config = { "remote.storage.enable" = true, "segment.bytes" = 1000, "local.retention.bytes" = 1000, "retention.ms" = -1 }
[[workload]]
topic = "t"
records_per_round = 2
record_bytes = 100
"""
OFF = """[[commands]]
round = 40
kind = "alter_config"
topic = "t"
config = { "remote.storage.enable" = false, MORE }
"""


def test_what_is_remote_goes_with_remote_log_delete_on_disable(tmp_path: Path) -> None:
    """remote.log.delete.on.disable = true: segments are deleted, and the log begins where the local one did."""
    on = played(scenarios_of(SCENARIO, tmp_path).scenarios)
    assert {row["state"] for row in remote_segments_of(on, 0)} >= {"COPY_FINISHED"}
    text = SCENARIO + OFF.replace("MORE", '"remote.log.delete.on.disable" = true')
    off = played(scenarios_of(text, tmp_path).scenarios)
    assert {row["state"] for row in remote_segments_of(off, 0)} == {"DELETE_FINISHED"}
    assert not [e for e in events_of(off)[0] if e["kind"] == "copy_started" and e["round"] > 40]


def test_without_it_the_command_changes_nothing(tmp_path: Path) -> None:
    """Kafka's controller refuses it, with its other keys in force (docs/tiered_rounds.md)."""
    on = played(scenarios_of(SCENARIO, tmp_path).scenarios)
    text = SCENARIO + OFF.replace("MORE", '"remote.log.delete.on.disable" = false')
    refused = played(scenarios_of(text, tmp_path).scenarios)
    assert remote_segments_of(refused, 0) == remote_segments_of(on, 0)


def test_a_disk_that_begins_before_the_log_breaks_local_log_in_order(tmp_path: Path) -> None:
    """LocalLogInOrder: a state that no rule leads to."""
    game = played(scenarios_of(SCENARIO, tmp_path).scenarios)
    state, inputs = game.state, game.block.inputs
    part, follower, rules = state.partitions[0], state.replicas[1], inputs.rules[0]
    tiers: Any = SimpleNamespace(replicas=state.tiers, whole=state.tier)
    for replica, tier in zip(state.replicas, state.tiers, strict=True):
        tier.start_before = replica.local_start
    state.tier[0].events.count = 0  # nothing was said of a segment in this round
    follower.log_start = follower.local_start + 1
    check_tiers(Scratch(inputs).lists, tiers, inputs, part, state.replicas, rules)
    assert [bool(tier.tier_broken >> LOCAL_LOG_IN_ORDER & 1) for tier in state.replicas] == [False, True]


def test_indexes_have_an_entry_for_every_interval() -> None:
    """index.interval.bytes 4096, its default: 1 GiB has 262,144 entries of 20 bytes, 5 MiB; a small segment one."""
    assert bytes_of_indexes(1 << 30, 4096) == 5 << 20
    assert bytes_of_indexes(100, 4096) == 20
