"""Commands to partitions: preferred elections, reassignments, deleted records and topics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from emulator.inputs.arrays.columns import PackedLists
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.rounds.kafka.constants import DELETE_RECORDS, DELETE_TOPIC, FOREVER, PREFERRED_ELECTION, REASSIGN
from emulator.rounds.slots import ORDER_BITS
from emulator.scenario import Command, Scenario
from emulator.scenario.globs import Globs

KINDS = ("preferred_leader_election", "reassign", "delete_records", "delete_topic")
CANCEL = "cancel_reassignment"
"""A reassignment to nothing: it has no order."""


class CommandsOfPartitions:
    """Who gets which commands: `of_topic` by index of the topic, `own` by partition_id, in the file's order."""

    def __init__(self, scenario: Scenario, places: TopicPlaces) -> None:
        self._rounds = scenario.rounds
        commands = [c for c in scenario.commands if c.kind != "alter_config"]
        globs = Globs(c.topic or "" for c in commands)
        topics = [of_glob.tolist() for of_glob in places.matching(globs)]
        by_glob: list[list[Command]] = [[] for _ in topics]
        for command in commands:
            by_glob[globs.numbers[command.topic or ""]].append(command)
        self.of_topic: dict[int, list[Command]] = defaultdict(list)
        self.own: dict[int, list[Command]] = defaultdict(list)
        self._topic: dict[int, int] = {}
        counts, first = places.counts.tolist(), places.first.tolist()
        for indices, listed in zip(topics, by_glob, strict=True):
            for command in listed:
                for index in indices:
                    if command.partition is None:
                        self.of_topic[index].append(command)
                    elif command.partition < counts[index]:
                        self.own[first[index] + command.partition].append(command)
                        self._topic[first[index] + command.partition] = index
        place = {id(command): at for at, command in enumerate(commands)}
        for listed in self.own.values():
            listed.sort(key=lambda command: place[id(command)])

    @property
    def moves(self) -> dict[int, list[int]]:
        """By partition_id: the brokers of its reassignments, in the order of the commands."""
        moved = {at: [b for c in listed if c.kind == "reassign" for b in c.replicas or ()] for at, listed in self.own.items()}
        return {at: brokers for at, brokers in moved.items() if brokers}

    def lists(self, places: TopicPlaces, slots: Mapping[int, Sequence[int]]) -> tuple[np.ndarray, PackedLists]:
        """(by partition_id: which list it has, the lists). `slots`: the brokers of partitions that are reassigned, by slot."""
        numbers: dict[tuple[tuple[int, ...], ...], int] = {((FOREVER, 0, 0, 0),): 0}
        of_topic = np.zeros(len(places.names), np.int64)
        for index, listed in self.of_topic.items():
            of_topic[index] = numbers.setdefault(self._rows(listed, ()), len(numbers))
        of_partition = np.repeat(of_topic, places.counts)
        for at, listed in self.own.items():
            every = self.of_topic.get(self._topic[at], []) + listed
            of_partition[at] = numbers.setdefault(self._rows(every, slots.get(at, ())), len(numbers))
        return of_partition, PackedLists.of(list(numbers), 4)

    def _rows(self, listed: Sequence[Command], brokers: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Rows in the order of the fields of Command, by round; of elections of one round one counts."""
        by_round: dict[int, dict[int, list[tuple[int, ...]]]] = defaultdict(lambda: defaultdict(list))
        for command in listed:
            if command.kind in (*KINDS, CANCEL) and command.round < self._rounds:
                by_round[command.round][_kind(command)].append(_row(command, brokers))
        rows: list[tuple[int, ...]] = []
        for round_ in sorted(by_round):
            for kind in (PREFERRED_ELECTION, REASSIGN, DELETE_RECORDS, DELETE_TOPIC):
                found = by_round[round_][kind]
                rows += found if kind in (REASSIGN, DELETE_RECORDS) else found[-1:]
        return (*rows, (FOREVER, 0, 0, 0))


def _kind(command: Command) -> int:
    return REASSIGN if command.kind == CANCEL else KINDS.index(command.kind)


def _row(command: Command, brokers: Sequence[int]) -> tuple[int, ...]:
    order = 0
    for place, broker in enumerate((command.replicas or ()) if command.kind == "reassign" else ()):
        order |= (brokers.index(broker) + 1) << (place * ORDER_BITS)
    return command.round, _kind(command), 0 if command.offset is None else command.offset, order


assert (KINDS.index("preferred_leader_election"), KINDS.index("reassign")) == (PREFERRED_ELECTION, REASSIGN)
assert (KINDS.index("delete_records"), KINDS.index("delete_topic")) == (DELETE_RECORDS, DELETE_TOPIC)
