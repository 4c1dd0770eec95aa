"""All that comes from outside into a scenario of ledgers, as changes at rounds. Pure driver-side code: no Spark here."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.expressions.bookkeeper.rules import PROTOCOL_NUMBERS, LedgerRules
from emulator.expressions.bookkeeper.state import LEDGER_STATE
from emulator.faults.bookies import on_the_way
from emulator.faults.kinds import LEDGER_KINDS, FaultRow, read_fault_rows
from emulator.inputs.bookies import Bookies
from emulator.inputs.change_types import FEED_KEY, WORLD_KEY, changes_schema
from emulator.inputs.classifier import rows_by_member, rows_of_topic
from emulator.inputs.feeds import WorkloadRow
from emulator.inputs.managed_ledgers import ManagedLedgers
from emulator.inputs.remote_store import STORE_FAULTS
from emulator.inputs.scenario_inputs import ScenarioInputs
from emulator.inputs.tables import PartitionTable
from emulator.ledger_configs import LEDGER_KEYS, effective, is_managed, is_offloaded
from emulator.scenario import Command, Scenario, Topic
from emulator.scenario.ledgers import RACK_AWARE, TAKE_OVER

_WORLD_CHANGES = changes_schema(WORLD_KEY, LEDGER_STATE.world)
_FEED_CHANGES = changes_schema(FEED_KEY, LEDGER_STATE.feed)
_OF_THE_WAY = ("drop_adds", "delay_adds")


class LedgerFeed:
    """Workload, settings and commands of ledgers that have them in common."""

    def __init__(
        self,
        scenario: Scenario,
        topic: Topic,
        workload: list[WorkloadRow],
        faults: list[FaultRow],
        commands: list[Command],
        managed: ManagedLedgers | None = None,
    ) -> None:
        self._workload, self._faults, self._commands = workload, faults, commands
        self._settings = _settings(scenario, topic)
        self.managed = managed
        rounds = {0} | (set() if managed is None else managed.rounds)
        rounds.update(edge for row in workload for edge in (row.from_round, row.to_round))
        rounds.update(edge for fault in faults for edge in (fault.from_round, fault.to_round))
        rounds.update(edge for command in commands for edge in (command.round, command.round + 1))
        self.rounds = sorted(at for at in rounds if at < scenario.rounds)
        self._end = scenario.rounds

    def entry_sizes(self) -> list[dict[str, int]]:
        """Stretches of entries that are alike: from_entry, to_entry (exclusive), and what a round has of them, records and bytes.

        Entries of a round's several rows count with their mean size.
        """
        edges = sorted({edge for row in self._workload for edge in (row.from_round, min(row.to_round, self._end))})
        sizes: list[dict[str, int]] = []
        entries = 0
        for at, end in pairwise(edges):
            rows = [row for row in self._workload if row.from_round <= at < row.to_round]
            records, size = sum(row.records for row in rows), sum(row.records * row.record_bytes for row in rows)
            if records > 0:
                stretch = {"from_entry": entries, "to_entry": entries + records * (end - at), "records": records, "bytes": size}
                entries = stretch["to_entry"]
                sizes.append(stretch)
        return sizes

    def at(self, round_: int) -> dict[str, Any]:
        """The value in force in a round."""
        rows = [row for row in self._workload if row.from_round <= round_ < row.to_round]
        now = [command for command in self._commands if command.round == round_ and command.kind != TAKE_OVER]
        of_writer: dict[str, Any] = {
            "managed": None,
            "records": sum(row.records for row in rows),
            "in_flight": max((row.max_in_flight or 1 for row in rows), default=None),
            "crashed": any(f.kind == "client_crash" and f.from_round <= round_ for f in self._faults),
        }
        if self.managed is not None:
            of_writer = {"managed": self.managed.at(round_), "records": 0, "in_flight": self.managed.in_flight, "crashed": False}
        return self._settings | {
            **of_writer,
            "drops": on_the_way(self._faults, "drop_adds", round_),
            "holds": on_the_way(self._faults, "delay_adds", round_),
            "marks": bool(now),
            "closes": sum(command.kind == "close_ledger" for command in now),
            "recoveries": [command.retry is not False for command in now if command.kind == "recover_ledger"],
            "openings": sum(command.kind == "open_no_recovery" for command in now),
            "checked": any(command.kind == "check_ledger" for command in now),
        }


def _settings(scenario: Scenario, topic: Topic) -> dict[str, Any]:
    value = {key: effective(scenario.config, topic.config, key) for key in LEDGER_KEYS}
    round_ms = scenario.round_ms

    def timeout(key: str) -> int:
        return max(1, -(-int(value[key]) * 1000 // round_ms))

    def wait(milliseconds: int) -> int:
        return -(-milliseconds // round_ms)

    explicit_ms = int(value["explicitLacInterval"])
    journal, synced = bool(value["journalWriteData"]), bool(value["journalWriteData"] and value["journalSyncData"])
    return {
        "protocol": PROTOCOL_NUMBERS[scenario.protocol],
        "ensemble_size": value["ensembleSize"],
        "write_quorum": value["writeQuorumSize"],
        "ack_quorum": value["ackQuorumSize"],
        "add_timeout": timeout("addEntryTimeoutSec"),
        "read_timeout": timeout("readEntryTimeoutSec"),
        "delay_change": value["delayEnsembleChange"],
        "explicit_lac_rounds": max(1, explicit_ms // round_ms) if explicit_ms > 0 else 0,
        "rack_aware": topic.policy == RACK_AWARE,
        "min_racks": value["minNumRacksPerWriteQuorum"],
        "enforce_min_racks": value["enforceMinNumRacksPerWriteQuorum"],
        "journal": journal,
        "synced": synced,
        "flush_rounds": 0 if synced else max(1, int(value["flushInterval"]) // round_ms),
        "autorecovery": value["autoRecoveryDaemonEnabled"],
        "lost_rounds": wait(int(value["lostBookieRecoveryDelay"]) * 1000),
        "grace_rounds": wait(int(value["openLedgerRereplicationGracePeriod"])),
        "batch": value["rereplicationEntryBatchSize"],
    }


class LedgerInputs(ScenarioInputs):
    """One world, the cluster's bookies, and the feeds of one scenario of ledgers."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario, {})
        faults = read_fault_rows(scenario.faults, scenario.rounds)
        self._bookies = Bookies(scenario, faults)
        lists = any(is_managed(scenario.config, topic.config) for topic in scenario.topics)
        self._registered = self._bookies.registered() if lists else []
        self.ledger_feeds: list[LedgerFeed] = []
        self._start_numbers: dict[object, int] = {}
        self.partitions = self._classify(faults)

    def _classify(self, faults: Sequence[FaultRow]) -> PartitionTable:
        columns: dict[str, list[np.ndarray]] = defaultdict(list)
        starts: list[np.ndarray] = []
        for index, topic in enumerate(self.scenario.topics):
            count, size = topic.assignment.shape
            columns["topic_index"].append(np.full(count, index, np.int32))
            columns["partition"].append(np.arange(count, dtype=np.int32))
            feeds = self._feeds_of(topic, faults)
            columns["feed_id"].append(feeds)
            unique, inverse = np.unique(topic.assignment, axis=0, return_inverse=True)
            known = self._start_numbers
            numbers = [known.setdefault(ensemble.tobytes(), len(known)) for ensemble in unique]
            starts.append(np.array(numbers, np.int64)[inverse.reshape(-1)])
        self._starts = np.concatenate(starts)
        for ledger, row in given_ledgers(self.scenario).items():
            self._starts[ledger] = self._start_numbers.setdefault((self._starts[ledger], repr(row)), len(self._start_numbers))
        rows = [1 if feed.managed is None else feed.managed.max_ledgers for feed in self.ledger_feeds]
        columns["slot_count"].append(np.array(rows, np.int32)[np.concatenate(columns["feed_id"])])
        for name in ("world_id", "assigned", "replica_order"):
            columns[name].append(np.zeros(len(self._starts), np.int64))
        return PartitionTable(**{name: np.concatenate(parts) for name, parts in columns.items()})

    def _feeds_of(self, topic: Topic, faults: Sequence[FaultRow]) -> np.ndarray:
        """By ledger of the topic the number of its feed; ledgers with the same rows have the same."""
        count = topic.partitions
        workload = rows_of_topic(self.scenario, topic.name, count)
        rows = rows_by_member([(number, ranges) for number, (_, ranges) in enumerate(workload)], np.arange(count))
        kinds = (*LEDGER_KINDS, *STORE_FAULTS) if is_offloaded(self.scenario.config, topic.config) else LEDGER_KINDS
        own_faults = [f for f in faults if f.kind in kinds and fnmatchcase(topic.name, f.topic or "*")]
        own_commands = [c for c in self.scenario.commands if c.topic is not None and fnmatchcase(topic.name, c.topic)]
        named = [f.partition for f in own_faults] + [c.partition for c in own_commands]
        alone = {ledger for ledger in named if ledger is not None}
        lists = is_managed(self.scenario.config, topic.config)
        feeds: dict[tuple[tuple[int, ...], int], int] = {}
        ids = np.empty(count, np.int64)
        for ledger in range(count):
            key = (tuple(rows[ledger]), ledger if ledger in alone else -1)
            if key not in feeds:
                feeds[key] = len(self.ledger_feeds)
                mine = [f for f in own_faults if f.partition in (None, ledger)]
                asked = [c for c in own_commands if c.partition in (None, ledger)]
                own = [workload[n][0] for n in rows[ledger]]
                managed = ManagedLedgers(self.scenario, topic, own, mine, asked, self._registered) if lists else None
                self.ledger_feeds.append(LedgerFeed(self.scenario, topic, own, mine, asked, managed))
            ids[ledger] = feeds[key]
        return ids

    @property
    def world_count(self) -> int:
        """One: all bookies of the cluster."""
        return 1

    @property
    def feed_count(self) -> int:
        """Feeds of the scenario."""
        return len(self.ledger_feeds)

    @property
    def replicas(self) -> int:
        """Bookies of all first ensembles."""
        return sum(topic.assignment.size for topic in self.scenario.topics)

    def starts(self) -> np.ndarray:
        """By ledger: a number for its first ensemble and what it starts with."""
        return self._starts

    def fates(self, starts: np.ndarray, by_broker: bool) -> np.ndarray:
        """By ledger: a number for the bookies that it may use: the whole cluster's."""
        return self.partition_table.world_id

    @cached_property
    def _all_feed_rounds(self) -> tuple[np.ndarray, np.ndarray]:
        return np.unique(np.array([at for feed in self.ledger_feeds for at in feed.rounds], np.int64), return_counts=True)

    def change_counts(self) -> tuple[np.ndarray, np.ndarray]:
        """(rounds at which something begins for the world or a feed, ascending; how many values do)."""
        feed_rounds, feeds = self._all_feed_rounds
        world_rounds = np.array(self._bookies.rounds, np.int64)
        rounds = np.union1d(world_rounds, feed_rounds)
        counts = np.isin(rounds, world_rounds).astype(np.int64)
        counts[np.searchsorted(rounds, feed_rounds)] += feeds
        return rounds, counts

    def world_change_table(self, from_round: int, to_round: int, first_world_id: int = 0) -> pa.Table:
        """The world's values that begin in [from_round, to_round)."""
        return _change_table(_WORLD_CHANGES, {first_world_id: self._bookies}, from_round, to_round)

    def feed_change_table(self, from_round: int, to_round: int, first_feed_id: int = 0) -> pa.Table:
        """The feeds' values that begin in [from_round, to_round), the feeds numbered from `first_feed_id`."""
        feeds = {first_feed_id + number: feed for number, feed in enumerate(self.ledger_feeds)}
        return _change_table(_FEED_CHANGES, feeds, from_round, to_round)


def given_ledgers(scenario: Scenario) -> dict[int, dict[str, Any]]:
    """The rows of `initial_ledgers`, by partition_id."""
    first = dict(zip((t.name for t in scenario.topics), np.cumsum([0, *(t.partitions for t in scenario.topics)]), strict=False))
    return {int(first[row["topic"]]) + row["partition"]: row for row in scenario.initial_ledgers.to_pylist()}


def _change_table(schema: pa.Schema, by_id: dict[int, Any], from_round: int, to_round: int) -> pa.Table:
    ids: list[int] = []
    changes: list[list[dict[str, Any]]] = []
    for number, source in by_id.items():
        rounds = source.rounds[bisect_left(source.rounds, from_round) : bisect_left(source.rounds, to_round)]
        if rounds:
            ids.append(number)
            changes.append([{"from_round": at, "value": source.at(at)} for at in rounds])
    return pa.table([pa.array(c, f.type) for c, f in zip((ids, changes), schema, strict=True)], schema=schema)


def ledger_rules_of(inputs: Sequence[ScenarioInputs]) -> LedgerRules:
    """The rules of all protocols of a run, and which of the optional parts of a round it needs."""
    racks = any(topic.policy == RACK_AWARE for i in inputs for topic in i.scenario.topics)
    repairs = any(_repairs(i.scenario) for i in inputs)
    topics = any(is_managed(i.scenario.config, topic.config) for i in inputs for topic in i.scenario.topics)
    offloads = any(is_offloaded(i.scenario.config, topic.config) for i in inputs for topic in i.scenario.topics)
    return LedgerRules(tuple(sorted({i.scenario.protocol for i in inputs})), racks, repairs, topics, offloads)


def _repairs(scenario: Scenario) -> bool:
    """Whether anybody may copy entries."""
    keys = ("autoRecoveryDaemonEnabled", "dataIntegrityCheckingEnabled")
    return any(effective(scenario.config, {}, key) for key in keys) or any(c.kind == "check_ledger" for c in scenario.commands)
