"""Which partitions keep their closed segments: those of which something may be deleted in the run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emulator.faults.kinds import FaultRow
from emulator.inputs.arrays.columns import PackedLists
from emulator.inputs.arrays.commands import CommandsOfPartitions
from emulator.inputs.arrays.topics import Alterations, TopicPlaces
from emulator.inputs.remote_store import store_bytes, store_is_up
from emulator.inputs.storage_settings import MOST_COPY_BYTES, concerns, is_ever_tiered, may_delete, store_faults
from emulator.rounds.kafka.records import FOREVER, UNKNOWN
from emulator.scenario import Scenario


def stores_of_topics(scenario: Scenario) -> tuple[np.ndarray, PackedLists, PackedLists]:
    """(by topic: which list of StoreSpan it has, the lists, the open transactions they point at)."""
    faults = store_faults(scenario)
    numbers: dict[tuple[tuple[int, ...], ...], int] = {}
    of_topic = np.zeros(len(scenario.topics), np.int64)
    transactions: list[int] = []
    for index, topic in enumerate(scenario.topics):
        rows = _store_over_time(scenario, [row for row in faults if concerns(row, topic.name, 0)], transactions)
        of_topic[index] = numbers.setdefault(rows, len(numbers))
    return of_topic, PackedLists.of(list(numbers), 5), PackedLists.of([[(number,) for number in transactions]], 1)


def _store_over_time(scenario: Scenario, faults: Sequence[FaultRow], transactions: list[int]) -> tuple[tuple[int, ...], ...]:
    """Rows in the order of the fields of StoreSpan; open transactions are added to `transactions`."""
    rounds = {0, *(round_ for row in faults for round_ in (row.from_round, row.to_round))}
    rows = []
    for round_ in sorted(r for r in rounds if r < scenario.rounds):
        now = [row for row in faults if row.from_round <= round_ < row.to_round]
        own = [row.fault_id for row in now if row.kind == "open_transaction"]
        rate = store_bytes(scenario.remote_storage.copy_bytes_per_second, now, scenario.round_ms, MOST_COPY_BYTES)
        rows.append((round_, int(store_is_up(now)), UNKNOWN if rate is None else rate, len(transactions), len(own)))
        transactions += own
    return (*rows, (FOREVER, 1, UNKNOWN, 0, 0))


def ever_tiered(scenario: Scenario, places: TopicPlaces) -> np.ndarray:
    """Flags by partition_id: the topic has remote storage in some round."""
    alterations = Alterations(scenario)
    flags = [is_ever_tiered(scenario, topic.config, alterations.of(alterations.key(topic.name))) for topic in scenario.topics]
    return np.repeat(np.array(flags, bool), places.counts)


def keeps_segments(scenario: Scenario, places: TopicPlaces, commands: CommandsOfPartitions) -> np.ndarray:
    """Flags by partition_id: the topic is tiered in some round, or a check of retention may find something to delete."""
    alterations, known = Alterations(scenario), {}
    keeps = np.zeros((len(scenario.topics), 2), bool)
    for index, topic in enumerate(scenario.topics):
        altered = alterations.key(topic.name)
        key = (tuple(sorted(topic.config.items())), altered)
        if key not in known:
            of_topic = alterations.of(altered)
            tiered = is_ever_tiered(scenario, topic.config, of_topic)
            known[key] = [tiered or may_delete(scenario, topic.config, of_topic, deletes) for deletes in (False, True)]
        keeps[index] = known[key]
    deletes = np.zeros(places.partition_count, np.int64)
    for index, listed in commands.of_topic.items():
        if any(command.kind == "delete_records" for command in listed):
            deletes[places.first[index] : places.first[index + 1]] = 1
    for at, listed in commands.own.items():
        if any(command.kind == "delete_records" for command in listed):
            deletes[at] = 1
    found: np.ndarray = keeps[np.repeat(np.arange(len(scenario.topics)), places.counts), deletes]
    return found
