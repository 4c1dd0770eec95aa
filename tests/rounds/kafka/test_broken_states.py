"""Invariants of every round see a state that breaks them: such as no rule of Kafka, and no mutant, leads to. No Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.rounds.kafka.check_invariants import broken_of_leader, broken_of_partition, broken_of_replica
from emulator.rounds.kafka.constants import NOBODY
from emulator.rounds.kafka.invariants import NAMES
from tests.rounds.kafka.compared import played, scenarios_of

SCENARIO = """
name = "healthy"
rounds = 10
[cluster]
brokers = 3
features = { "eligible.leader.replicas.version" = 1 }
config = { "min.insync.replicas" = 2 }
[[topics]]
name = "t"
assignment = [[1, 2, 3]]
[[workload]]
topic = "t"
records_per_round = 5
"""

LEADER, FIRST, SECOND = 0, 1, 2
"""Slots: the leader, and its followers."""


def not_a_replica(part: Any, replicas: Any) -> None:
    part.isr |= 1 << 3


def leader_outside(part: Any, replicas: Any) -> None:
    part.isr = part.known_isr = 1 << FIRST | 1 << SECOND


def eligible_in_isr(part: Any, replicas: Any) -> None:
    part.elr = 1 << FIRST


def hw_beyond_the_log(part: Any, replicas: Any) -> None:
    replicas[FIRST].hw = replicas[FIRST].leo + 1


def starts_behind_hw(part: Any, replicas: Any) -> None:
    replicas[SECOND].log_start = replicas[SECOND].hw + 1


def two_leaders(part: Any, replicas: Any) -> None:
    replicas[FIRST].leading_epoch = part.client_epoch
    part.superseded = 1 << FIRST


def unknown_member(part: Any, replicas: Any) -> None:
    part.known_isr = 1 << LEADER | 1 << FIRST


SPOILED: list[tuple[Callable[[Any, Any], None], str]] = [
    (not_a_replica, "IsrWithinReplicas"),
    (leader_outside, "LeaderInIsr"),
    (eligible_in_isr, "ValidIsrAndElr"),
    (hw_beyond_the_log, "OffsetsInOrder"),
    (starts_behind_hw, "OffsetsInOrder"),
    (two_leaders, "ElectionSafety"),
    (unknown_member, "ReplicationQuorumSuperset"),
]


def broken(inputs: Any, part: Any, replicas: Any) -> set[str]:
    """The names of what the state breaks."""
    found = broken_of_partition(inputs, part) | broken_of_leader(part, replicas, inputs.settings[part.settings], part.superseded)
    for slot in (LEADER, FIRST, SECOND):
        found |= broken_of_replica(part, replicas, slot, True, NOBODY)
    return {name for number, name in enumerate(NAMES) if found >> number & 1}


@pytest.mark.parametrize(("spoil", "invariant"), SPOILED, ids=lambda value: getattr(value, "__name__", None))
def test_a_spoiled_state_breaks_it(tmp_path: Path, spoil: Callable[[Any, Any], None], invariant: str) -> None:
    game = played(scenarios_of(SCENARIO, tmp_path).scenarios)
    part, replicas = game.state.partitions[0], game.state.replicas
    assert broken(game.block.inputs, part, replicas) == set()
    spoil(part, replicas)
    assert invariant in broken(game.block.inputs, part, replicas)
    assert broken(game.block.inputs, part, replicas) <= {invariant, "ReplicationQuorumSuperset"}
