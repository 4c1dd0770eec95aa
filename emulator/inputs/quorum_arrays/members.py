"""The members of groups over time, and who is to lead: what the commands `reassign` and `preferred_leader_election` ask for."""

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


def transfers_of(commands: Sequence[Command], topic: str, partition: int) -> set[int]:
    """The rounds in which the leader of a partition is asked to hand over to its first server."""
    own = (command for command in commands if command.kind == "preferred_leader_election")
    return {one.round for one in own if fnmatchcase(topic, one.topic or "") and one.partition in (None, partition)}


def servers_over_time(commands: Sequence[Command], topic: Topic) -> tuple[np.ndarray, list[Spans]]:
    """(broker ids by partition, those that come later behind its first members by id, then -1; by partition rows of
    WantedSpan, the last one at FOREVER).
    """
    asked = asked_of(commands, topic.name, topic.partitions)
    servers = [[int(broker) for broker in row if broker >= 0] for row in topic.assignment] if asked else []
    wanted: list[Spans] = []
    for partition, first in enumerate((topic.assignment >= 0).sum(axis=1)):
        own = servers[partition] if asked else []
        own += sorted({broker for _, brokers in asked.get(partition, ()) for broker in brokers} - set(own))
        changes = [(round_, sum(1 << own.index(broker) for broker in brokers)) for round_, brokers in asked.get(partition, ())]
        wanted.append(wanted_spans((1 << int(first)) - 1, changes, transfers_of(commands, topic.name, partition)))
    if not asked:
        return topic.assignment, wanted
    most = max(map(len, servers))
    return np.array([own + [-1] * (most - len(own)) for own in servers], topic.assignment.dtype), wanted


def wanted_spans(first: int, changes: Sequence[tuple[int, int]], transfers: set[int]) -> Spans:
    """Rows of WantedSpan: the mask of the first members, (round, mask) of what is asked for later, rounds of transfers."""
    members, now, spans = dict(changes), first, [(0, first, 0)]
    for round_ in sorted({*members, *transfers}):
        now = members.get(round_, now)
        spans.append((round_, now, int(round_ in transfers)))
    return (*spans, (FOREVER, 0, 0))
