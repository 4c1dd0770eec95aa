"""The members of groups over time: what the commands `reassign` ask for."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from emulator.inputs.quorum_arrays.servers import Spans
from emulator.rounds.quorums.constants import FOREVER
from emulator.scenario.model import Command, Topic


def asked_of(commands: Sequence[Command], topic: str, partitions: int) -> dict[int, list[tuple[int, tuple[int, ...]]]]:
    """By partition of a topic what it is asked for: (round, broker ids), by round."""
    asked: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for command in sorted(commands, key=lambda command: command.round):
        concerns = command.kind == "reassign" and fnmatchcase(topic, command.topic or "")
        if concerns and command.partition is not None and command.partition < partitions:
            asked.setdefault(command.partition, []).append((command.round, command.replicas or ()))
    return asked


def servers_over_time(commands: Sequence[Command], topic: Topic) -> tuple[np.ndarray, list[Spans]]:
    """(broker ids by partition, those that come later behind its first members by id, then -1; by partition rows of
    WantedSpan, the last one at FOREVER).
    """
    asked = asked_of(commands, topic.name, topic.partitions)
    servers = [[int(broker) for broker in row if broker >= 0] for row in topic.assignment] if asked else []
    wanted: list[Spans] = []
    for partition, first in enumerate((topic.assignment >= 0).sum(axis=1)):
        spans = [(0, (1 << int(first)) - 1)]
        own = servers[partition] if asked else []
        own += sorted({broker for _, brokers in asked.get(partition, ()) for broker in brokers} - set(own))
        spans += [(round_, sum(1 << own.index(broker) for broker in brokers)) for round_, brokers in asked.get(partition, ())]
        wanted.append((*spans, (FOREVER, 0)))
    if not asked:
        return topic.assignment, wanted
    most = max(map(len, servers))
    return np.array([own + [-1] * (most - len(own)) for own in servers], topic.assignment.dtype), wanted
