"""Groups of scenarios: their inputs, and blocks of them as they are before round 0."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from emulator.faults.kinds import read_fault_rows
from emulator.inputs.ledger_arrays.gather import RowsOf
from emulator.inputs.quorum_arrays.members import servers_over_time
from emulator.inputs.quorum_arrays.servers import ServerArrays, Spans
from emulator.inputs.quorum_arrays.start import start_groups
from emulator.inputs.workload_rows import WorkloadRow, rows_by_member, rows_of_topic
from emulator.rounds.draws import key_of_seed
from emulator.rounds.quorums.constants import FOREVER, GEOMETRIC, NEVER_FLUSHED, NO_LIMIT, UNIFORM
from emulator.rounds.quorums.inputs import (
    ElectorSpan,
    Inputs,
    LinkCut,
    Rules,
    ScenarioRow,
    ServerSpan,
    Settings,
    SlowLink,
    WantedSpan,
    WorkloadSpan,
)
from emulator.rounds.quorums.records import Group
from emulator.rounds.quorums.state import State
from emulator.rounds.records import fields_of, rows
from emulator.scenario import Scenario
from emulator.scenario.config_keys import ConfigValue
from emulator.scenario.model import Topic
from emulator.scenario.protocols import GROUP_PROTOCOLS, group_protocol
from emulator.scenario.quorum_configs import EVERY_WRITE, INTERVAL, ONE_AT_A_TIME, TAILED, effective

ROUND_OF_SERVER = 2.0
"""What a round of a server costs, in replica-rounds of Kafka (engine/blocks.py)."""


BYTES_OF_A_MEGABYTE = 1_048_576
ROUNDS_A_CHANGE = 12
"""Rounds that are played around a change of what comes from outside, about."""


class Block(NamedTuple):
    """Groups to be played: their state, and what their rounds read."""

    state: State
    inputs: Inputs


class PreparedGroups:
    """All groups of some scenarios, in their order. `weights`: by group, how much there is to do.

    `leaps`: quiet rounds are leapt over.
    """

    def __init__(self, scenarios: Sequence[Scenario], leaps: bool = True) -> None:
        gathered = {name: RowsOf(record) for name, record in RECORDS.items()}
        rules = [rules_of(protocol) for protocol in GROUP_PROTOCOLS]
        for of_protocol in rules:
            gathered["rules"].add((of_protocol,))
        columns: list[np.ndarray] = []
        played: list[np.ndarray] = []
        servers: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for number, scenario in enumerate(scenarios):
            faults = read_fault_rows(scenario.faults, scenario.rounds)
            arrays = ServerArrays([(b.id, b.rack) for b in scenario.brokers], faults, scenario.rounds, scenario.round_ms)
            elector = gathered["elector_spans"].put(arrays.elector)
            links = (
                *(gathered["cuts"].add(arrays.cuts) if arrays.cuts else 0, len(arrays.cuts)),
                *(gathered["slow_links"].add(arrays.slow_links) if arrays.slow_links else 0, len(arrays.slow_links)),
            )
            protocol = list(GROUP_PROTOCOLS).index(scenario.protocol)
            row = (protocol, int(leaps), key_of_seed(scenario.seed), *links)
            gathered["scenarios"].add((row,))
            spans = np.array([gathered["server_spans"].put(own) for own in arrays.spans], np.int64)
            first = 0
            for topic in scenario.topics:
                brokers_of, wanted = servers_over_time(scenario.commands, topic)
                present = brokers_of >= 0
                own: Any = rows(Group, topic.partitions)
                own.number = np.arange(first, first + topic.partitions)
                own.protocol = group_protocol(scenario.protocol).number
                own.scenario, own.copies, own.end, own.elector_span = number, present.sum(axis=1), scenario.rounds, elector
                for copies in np.unique(own.copies):
                    settings = settings_of(scenario, topic.config, int(copies))
                    own.settings[own.copies == copies] = gathered["settings"].put((tuple(settings.values()),))
                    own.acks[own.copies == copies] = settings["acks"]
                rows_here = rows_of_topic(scenario, topic.name, topic.partitions)
                by_group = rows_by_member(rows_here, np.arange(topic.partitions))
                own.workload = [gathered["workload"].put(workload_spans(mine, scenario.rounds)) for mine in by_group]
                sums = [sums_of(mine) for mine in by_group]
                own.workload_records, own.workload_bytes = zip(*sums, strict=True)
                queue_mb = int(effective(scenario.config, topic.config, "dfs.qjournal.queued-edits.limit.mb"))
                own.queue_limit = [queue_limit_of(queue_mb, *of_group) for of_group in sums]
                columns.append(own)
                played.append(played_rounds(scenario, topic, arrays, by_group) if leaps else np.full(len(own), scenario.rounds))
                own.wanted = [gathered["wanted"].put(spans) for spans in wanted]
                own.initial = [spans[0][1] for spans in wanted]
                own.changes = [len({span[1] for span in spans[:-1]}) > 1 for spans in wanted]
                brokers = brokers_of[present].astype(np.int64)
                at = np.searchsorted(arrays.ids, brokers)
                servers.append((brokers, at, spans[at]))
                first += topic.partitions
        self._groups: Any = np.concatenate([rows(Group, 0), *columns]).view(np.recarray)
        self._servers = [np.concatenate(parts) for parts in zip(*servers, strict=True)]
        sizes: np.ndarray = self._groups["copies"]
        self._firsts = np.append(0, np.cumsum(sizes))
        self.weights: np.ndarray = ROUND_OF_SERVER * sizes * np.concatenate([np.zeros(0), *played])
        self.count = len(self._groups)
        self.inputs = Inputs(**{name: of_all.records() for name, of_all in gathered.items()})

    def numbers(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Of the groups [first, last): (places of their scenarios, partition_ids)."""
        return self._groups.scenario[first:last], self._groups.number[first:last]

    def one_of_each_protocol(self) -> list[int]:
        """Where the first group of each protocol is."""
        return [int(at) for at in np.unique(self._groups.protocol, return_index=True)[1]]

    def payload(self, first: int, last: int) -> bytes:
        """The groups [first, last), for `read_group_block`."""
        begin, end = self._firsts[first], self._firsts[last]
        return pickle.dumps((self._groups[first:last], [own[begin:end] for own in self._servers], self.inputs), protocol=5)


def played_rounds(scenario: Scenario, topic: Topic, arrays: ServerArrays, rows: Sequence[Sequence[WorkloadRow]]) -> np.ndarray:
    """By group about how many rounds are played and not leapt over: some around whatever changes, all where delays are drawn."""
    if int(effective(scenario.config, topic.config, "delay.jitter.percent")):
        return np.full(topic.partitions, scenario.rounds)
    edges = np.array([len(own) - 1 for own in arrays.spans])
    present = topic.assignment >= 0
    of_servers = np.where(present, edges[np.searchsorted(arrays.ids, np.where(present, topic.assignment, arrays.ids[0]))], 0)
    changes = of_servers.sum(axis=1) + 2 * np.array([len(own) for own in rows])
    changes += 2 * (len(arrays.cuts) + len(arrays.slow_links)) + 1
    return np.minimum(scenario.rounds, ROUNDS_A_CHANGE * changes)


RECORDS: Mapping[str, type] = {
    "scenarios": ScenarioRow,
    "rules": Rules,
    "server_spans": ServerSpan,
    "elector_spans": ElectorSpan,
    "cuts": LinkCut,
    "slow_links": SlowLink,
    "settings": Settings,
    "workload": WorkloadSpan,
    "wanted": WantedSpan,
}
"""Field of Inputs -> what it has rows of."""


def read_group_block(payload: Any) -> Block:
    """What `PreparedGroups.payload` packed."""
    groups, servers, inputs = pickle.loads(payload)
    return Block(start_groups(groups, *servers), inputs)


def rules_of(protocol: str) -> tuple[int, ...]:
    """A row of Rules."""
    return tuple(int(name != GROUP_PROTOCOLS[protocol]) for name in fields_of(Rules))


def settings_of(scenario: Scenario, config: Mapping[str, ConfigValue], copies: int) -> dict[str, int]:
    """Fields of records.Settings by name, of a topic's groups of so many servers. Begun rounds count."""
    round_ms, majority, own = scenario.round_ms, copies // 2 + 1, group_protocol(scenario.protocol)

    def text(key: str) -> ConfigValue:
        return effective(scenario.config, config, key)

    def value(key: str) -> int:
        return int(text(key))

    flush, fsync_ms = text("flush"), value("fsync.ms") if own.on_disk else 0
    return {
        "acks": own.acks_of(copies, told=value("acks.to.commit") or majority, in_sync=copies),
        "compared": value("logs.compared") or majority,
        "timeout_rounds": max(2, -(-value("election.timeout.ms") // round_ms)),
        "lease_rounds": max(2, -(-(value("lease.period.ms") or value("election.timeout.ms")) // round_ms)),
        "jitter_rounds": -(-value("election.jitter.ms") // round_ms),
        "pre_vote": value("pre.vote"),
        "check_quorum": value("check.quorum"),
        "max_entries": value("max.entries.per.append") or NO_LIMIT,
        "round_ms": round_ms,
        "flush_ms": 1 if flush == EVERY_WRITE else value("flush.interval.ms") if flush == INTERVAL else NEVER_FLUSHED,
        "fsync_rounds": fsync_ms // round_ms if flush == EVERY_WRITE else 0,
        "records_limit": records_a_round(value("records.per.fsync"), fsync_ms, round_ms, flush),
        "delay_rounds": value("delay.ms") // round_ms,
        "delay_percent": value("delay.jitter.percent"),
        "delay_shape": GEOMETRIC if text("delay.distribution") == TAILED else UNIFORM,
        "roll_rounds": -(-value("log.roll.period.ms") // round_ms),
        "check_rounds": -(-value("ha.health-monitor.check-interval.ms") // round_ms),
        "fence_rounds": -(-value("ha.failover-controller.graceful-fence.rpc-timeout.ms") // round_ms),
        "connect_rounds": -(-value("ipc.client.connect.timeout") // round_ms),
        "rpc_rounds": -(-value("ipc.client.rpc-timeout.ms") // round_ms),
        "write_rounds": -(-value("dfs.qjournal.write-txns.timeout.ms") // round_ms),
        "one_at_a_time": "members.change" not in own.keys or text("members.change") == ONE_AT_A_TIME,
    }


def records_a_round(per_fsync: int, fsync_ms: int, round_ms: int, flush: ConfigValue) -> int:
    """What one fsync after the other writes in a round; one record at least, any number where no write waits for one."""
    if flush != EVERY_WRITE or not per_fsync or not fsync_ms:
        return NO_LIMIT
    return max(1, per_fsync * round_ms // fsync_ms)


def sums_of(rows_here: Sequence[WorkloadRow]) -> tuple[int, int]:
    """(records, their bytes) that a workload has in all."""
    counts = [(row.to_round - row.from_round) * row.records for row in rows_here]
    return sum(counts), sum(count * row.record_bytes for count, row in zip(counts, rows_here, strict=True))


def queue_limit_of(megabytes: int, records: int, bytes_: int) -> int:
    """Entries that a queue of so many MB holds, of a workload of so many records and bytes in all."""
    return BYTES_OF_A_MEGABYTE * megabytes // max(1, bytes_ // max(1, records))


def workload_spans(rows_here: Sequence[WorkloadRow], rounds: int) -> Spans:
    """Rows of WorkloadSpan, from round 0 on; the last one is at FOREVER."""
    edges = sorted({0, *(edge for row in rows_here for edge in (row.from_round, row.to_round) if 0 <= edge < rounds)})
    spans = [(edge, sum(row.records for row in rows_here if row.from_round <= edge < row.to_round)) for edge in edges]
    return (*spans, (FOREVER, 0))
