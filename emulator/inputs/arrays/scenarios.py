"""One scenario as columns by partition."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from emulator.bandwidth.fetchers import fetchers_of_partitions
from emulator.inputs.arrays.brokers import BrokerArrays
from emulator.inputs.arrays.columns import PackedLists
from emulator.inputs.arrays.commands import CommandsOfPartitions
from emulator.inputs.arrays.consumers import consumers, page_cache_shares
from emulator.inputs.arrays.given import given_start
from emulator.inputs.arrays.placement import Placement, place_replicas
from emulator.inputs.arrays.settings import settings_of_topics
from emulator.inputs.arrays.stale import StaleTable, stale_classes
from emulator.inputs.arrays.storage import ever_tiered, given_remote, keeps_segments, stores_of_partitions, tiers_of_topics
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.inputs.arrays.workload import uneven_rounds, workloads
from emulator.rounds.kafka.constants import DELETE_TOPIC, FOREVER
from emulator.scenario import Scenario

PLAYED_AT_LEAST, PLAYED_PER_CHANGE, LEAPT_ROUNDS = 50, 20, 500
"""Rounds that are played of a run with leaps: so many, so many for each change of an input, and one of so many rounds."""


@dataclass(frozen=True, eq=False)
class ScenarioColumns:
    """A scenario: `columns` by partition_id, with numbers of `settings`, `commands`, `workloads`, `wants`; `log_row`,
    `page_cache_share` by slot. `groups`: names of consumer groups. `commits`: flags by partition_id, one reads what is committed.

    `logs`, `epochs`, `bases`: given logs by row, their caches and segments. `first_acks`: by workload. By partition_id
    `changes`: how often its inputs change but for brokers; `weights`: replica-rounds to be played.
    """

    places: TopicPlaces
    brokers: BrokerArrays
    placement: Placement
    columns: dict[str, np.ndarray]
    settings: PackedLists
    commands: PackedLists
    workloads: PackedLists
    stores: PackedLists
    transactions: PackedLists
    remotes: PackedLists
    remote_epochs: PackedLists
    wants: PackedLists
    groups: tuple[str, ...]
    commits: np.ndarray
    page_cache_share: np.ndarray
    first_acks: np.ndarray
    log_row: np.ndarray | None
    logs: np.ndarray
    epochs: PackedLists
    bases: PackedLists
    changes: np.ndarray
    weights: np.ndarray

    @property
    def has_tiers(self) -> bool:
        """Whether some topic has remote storage in some round, or goes."""
        kinds = self.commands.rows[:, 1][self.commands.rows[:, 0] < FOREVER]
        return bool(self.columns["tiered"].any() or (kinds == DELETE_TOPIC).any())


def scenario_columns(
    scenario: Scenario, brokers: BrokerArrays, stale: StaleTable, traced: np.ndarray | None, leaps: bool
) -> ScenarioColumns:
    """A scenario of Kafka's core as columns; `traced`: flags by partition_id."""
    places = TopicPlaces(scenario)
    commands = CommandsOfPartitions(scenario, places)
    placement, slots = place_replicas(scenario, places, brokers.ids, commands.moves)
    given = given_start(scenario, places, brokers.ids, placement)
    settings_of_topic, settings = settings_of_topics(scenario)
    store_of, stores, transactions = stores_of_partitions(scenario, places)
    remote_of, remotes, remote_epochs = given_remote(scenario, places, brokers.ids, placement)
    command_of, command_lists = commands.lists(places, slots)
    workload = workloads(scenario, places)
    reading = consumers(scenario, places, brokers.rack_numbers)
    is_read = reading.lists.counts[reading.of_partition] > 0
    topic = np.repeat(np.arange(len(places.names), dtype=np.int32), places.counts)
    number = np.arange(places.partition_count, dtype=np.int64)
    flags = _flags(traced, len(number))
    tiered = ever_tiered(scenario, places)
    columns = {
        "number": number,
        "topic": topic,
        "partition": (number - places.first[topic]).astype(np.int32),
        "slots": placement.slots.astype(np.int8),
        "replicas": placement.replicas.astype(np.int8),
        "leader": given.leader.astype(np.int8),
        "epoch": given.epoch,
        "isr": given.isr.astype(np.int16),
        "elr": given.elr.astype(np.int16),
        "record_bytes": given.record_bytes,
        "stale_class": stale_classes(scenario, places, stale).astype(np.int32),
        "traced": flags,
        "fetcher": fetchers_of_partitions(scenario),
        "keeps_segments": keeps_segments(scenario, places, commands),
        "tiered": tiered,
        "is_read": is_read,
        "has_transactions": tiered | reading.commits,
        "reading": reading.of_partition.astype(np.int32),
        "store": store_of.astype(np.int32),
        "remote": remote_of.astype(np.int32),
        **tiers_of_topics(scenario, places),
        "settings": settings_of_topic[topic].astype(np.int32),
        "command": command_of.astype(np.int32),
        "workload": workload.of_partition.astype(np.int32),
    }
    lists = (settings, "settings", 2), (command_lists, "command", 1), (workload.lists, "workload", 0)
    uneven = uneven_rounds(workload.lists.rows, scenario.rounds)
    of_rates = np.concatenate([[0], np.cumsum(uneven)])[workload.lists.offsets]
    changes = sum(of_kind.counts[columns[name]] - ends for of_kind, name, ends in lists)
    changes = changes + 2 * np.diff(of_rates)[columns["workload"]]
    return ScenarioColumns(
        places=places,
        brokers=brokers,
        placement=placement,
        columns=columns,
        settings=settings,
        commands=command_lists,
        workloads=workload.lists,
        stores=stores,
        transactions=transactions,
        remotes=remotes,
        remote_epochs=remote_epochs,
        wants=reading.lists,
        groups=reading.groups,
        commits=reading.commits,
        page_cache_share=page_cache_shares(scenario, brokers.ids, placement, workload),
        first_acks=workload.first_acks,
        log_row=given.row,
        logs=given.logs,
        epochs=given.epochs,
        bases=given.bases,
        changes=changes,
        weights=_weights(scenario, brokers, placement, changes, flags, leaps),
    )


def all_but_faults(scenario: Scenario) -> tuple[Any, ...]:
    """What scenarios have in common whose columns differ by their faults alone; kept together by who has all of them."""
    own = ("scenario_id", "name", "overrides", "faults")
    values = [getattr(scenario, field.name) for field in fields(scenario) if field.name not in own]
    return tuple(value if isinstance(value, int | str) else id(value) for value in values)


def with_faults_of(
    like: ScenarioColumns, scenario: Scenario, brokers: BrokerArrays, stale: StaleTable, traced: np.ndarray | None, leaps: bool
) -> ScenarioColumns:
    """The columns of a scenario with the same `all_but_faults`: as `scenario_columns` gives them."""
    flags = _flags(traced, len(like.columns["number"]))
    store_of, stores, transactions = stores_of_partitions(scenario, like.places)
    of_faults = {
        "stale_class": stale_classes(scenario, like.places, stale).astype(np.int32),
        "store": store_of.astype(np.int32),
        "traced": flags,
    }
    weights = _weights(scenario, brokers, like.placement, like.changes, flags, leaps)
    return replace(
        like, brokers=brokers, columns=like.columns | of_faults, stores=stores, transactions=transactions, weights=weights
    )


def _flags(traced: np.ndarray | None, partitions: int) -> np.ndarray:
    return np.zeros(partitions, bool) if traced is None else np.asarray(traced, bool)


def _weights(
    scenario: Scenario, brokers: BrokerArrays, placement: Placement, changes: np.ndarray, traced: np.ndarray, leaps: bool
) -> np.ndarray:
    changes = changes + np.add.reduceat(brokers.changes[placement.broker], placement.first)
    played = np.minimum(scenario.rounds, PLAYED_AT_LEAST + PLAYED_PER_CHANGE * changes + scenario.rounds / LEAPT_ROUNDS)
    return np.where(traced | (not leaps), scenario.rounds, played) * placement.slots


def quiet_from(scenario: Scenario) -> int:
    """The first round after the last fault and command."""
    ends = pc.max(pc.fill_null(scenario.faults.column("to_round"), scenario.rounds)).as_py() or 0
    return int(max([0, ends, *(command.round + 1 for command in scenario.commands)]))
