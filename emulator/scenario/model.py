"""What a scenario file resolves to: frozen records and Arrow tables, ready for the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from emulator.scenario.config_keys import ConfigValue
from emulator.scenario.globs import Globs

TIME_BUCKETS = 10
"""Time buckets of broker_rounds in a run that says nothing of them."""

EPOCHS: pa.DataType = pa.list_(pa.struct([("epoch", pa.int32()), ("start_offset", pa.int64())]))

WORKLOAD_SCHEMA: pa.Schema = pa.schema(
    [
        ("topic", pa.string()),
        ("partitions", pa.string()),
        ("from_round", pa.int64()),
        ("to_round", pa.int64()),
        ("records_per_round", pa.int64()),
        ("records_per_second", pa.float64()),
        ("record_bytes", pa.int64()),
        ("acks", pa.string()),
        ("max_in_flight", pa.int64()),
    ]
)
"""Appends per round in [from_round, to_round): topic a glob, partitions "0-3,7" (null: all), acks "0", "1" or "all",
max_in_flight: adds of a ledger that may be unacknowledged (null: 1). records_per_second: null where whole records a round say it;
else records_per_round is what is whole of it."""

INITIAL_PARTITIONS_SCHEMA: pa.Schema = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("leader", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("isr", pa.list_(pa.int32())),
        ("elr", pa.list_(pa.int32())),
    ]
)
"""The controller's start per partition; all but topic and partition nullable. Leader -1: none."""

INITIAL_REPLICAS_SCHEMA: pa.Schema = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("broker", pa.int32()),
        ("log_start_offset", pa.int64()),
        ("local_log_start_offset", pa.int64()),
        ("leo", pa.int64()),
        ("hw", pa.int64()),
        ("epochs", EPOCHS),
        ("flushed_offset", pa.int64()),
        ("record_bytes", pa.int64()),
        ("segments", pa.list_(pa.int64())),
    ]
)
"""The log a replica starts with; flushed_offset null: all is flushed; record_bytes: mean size of its records; segments: base
offsets of its local segments, null for one."""

INITIAL_REMOTE_SEGMENTS_SCHEMA: pa.Schema = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("base_offset", pa.int64()),
        ("end_offset", pa.int64()),
        ("epochs", EPOCHS),
        ("bytes", pa.int64()),
        ("state", pa.string()),
        ("copier", pa.int32()),
        ("unread", pa.bool_()),
        ("moved_bytes", pa.int64()),
    ]
)
"""Segments in remote storage at the start, in their order; end_offset is inclusive. Null: the leader copied it; read; no copy."""

FRAGMENTS: pa.DataType = pa.list_(pa.struct([("first_entry", pa.int64()), ("ensemble", pa.list_(pa.int32()))]))

INITIAL_LEDGERS_SCHEMA: pa.Schema = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("state", pa.string()),
        ("last_entry", pa.int64()),
        ("bytes", pa.int64()),
        ("fragments", FRAGMENTS),
        ("ledger", pa.int32()),
        ("offloaded", pa.bool_()),
    ]
)
"""What a ledger starts with: state OPEN, IN_RECOVERY or CLOSED; last_entry: the last one that was written, -1: none; bytes: of
its entries together; fragments in the order of their first entries, none: bookies haven't got it any more. ledger: its number in
a topic's list, null: it is one by itself; offloaded: a remote store has all of it."""


@dataclass(frozen=True)
class Broker:
    """A broker, its rack, if it has one, what its network (each way) and its disk carry, and its page cache, if limited."""

    id: int
    rack: str | None = None
    network_bytes_per_second: int | None = None
    disk_bytes_per_second: int | None = None
    page_cache_bytes: int | None = None


@dataclass(frozen=True, eq=False)
class Topic:
    """A topic: `assignment` is int32 (partitions, most replicas), padded with -1; `config` its own keys only.

    Of ledgers: their first ensembles, and the policy by which bookies are replaced.
    """

    name: str
    assignment: npt.NDArray[np.int32]
    config: Mapping[str, ConfigValue]
    policy: str | None = None

    @property
    def partitions(self) -> int:
        """How many partitions the topic has, numbered from 0."""
        return int(self.assignment.shape[0])


@dataclass(frozen=True)
class ConsumerRow:
    """What a group does with some partitions in [from_round, to_round): a row of `consumers`, checked.

    start: an offset, "earliest" or "latest"; reset: auto.offset.reset. fetch_bytes: the least of what limits the bytes of a
    fetch. records_per_round, bytes_per_round None: any number. members: consumers of the group, None: one for each partition.
    byte_rate: the group's quota at each broker, None: that of all groups. idle_keys: those of its config that have no effect.
    """

    group: str
    topic: str
    partitions: str | None
    start: str | int
    reset: str
    reads_committed: bool
    records_per_round: int | None
    bytes_per_round: int | None
    fetch_bytes: int
    max_age_ms: int
    from_round: int
    to_round: int
    rack: str | None
    members: int | None
    byte_rate: int | None = None
    idle_keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """What an administrator does at the start of a round; fields that the kind has no use for are None."""

    round: int
    kind: str
    topic: str | None = None
    partition: int | None = None
    replicas: tuple[int, ...] | None = None
    offset: int | None = None
    broker: int | None = None
    config: Mapping[str, ConfigValue] | None = None
    retry: bool | None = None


@dataclass(frozen=True)
class RemoteStorage:
    """What Kafka has no key for: the emulated remote store, and who is told what of it.

    copy_bytes_per_second: of one copy, None: a copy takes no time. metadata: "topic" (an event log that every broker reads) or
    "list" (the store itself is asked). on_leadership_lost: a copy under way is given up ("cancel", as in Kafka) or goes on
    ("finish", as in the KIP). aux_state: a follower gets the epochs below its start from the store ("remote") or "leader".
    read_bytes_per_second: of one consumer's read, None: any; read_ms: how long it keeps a reader thread.
    """

    copy_bytes_per_second: int | None = None
    metadata: str = "topic"
    metadata_lag_rounds: int = 0
    on_leadership_lost: str = "cancel"
    aux_state: str = "remote"
    read_bytes_per_second: int | None = None
    read_ms: int = 0


@dataclass(frozen=True)
class Fetching:
    """How long a fetch takes, and so how many a round holds (docs/kafka_rounds.md, Fetches of a round).

    round_trip_us: of a fetch that brings next to nothing; bytes_per_second: what it brings beyond that; per_round: so many
    fetches a round instead, None: as many as fit.
    """

    round_trip_us: int
    bytes_per_second: int
    per_round: int | None = None

    def in_a_round(self, round_ms: int, limit_bytes: int, more_us: int = 0) -> int:
        """How many full fetches of so many bytes a round holds, one at least; `more_us`: what each takes longer."""
        if self.per_round is not None:
            return self.per_round
        fetch_us = self.round_trip_us + limit_bytes * 1_000_000 // self.bytes_per_second + more_us
        return max(1, round_ms * 1000 // fetch_us)


@dataclass(frozen=True, eq=False)
class Scenario:
    """One complete set of choices: the base (scenario_id 0) or a variant (from 1 in file order).

    `workload`, `initial_*`: the schemas of this module. `faults`: emulator.faults.kinds.FAULT_SCHEMA, row index =
    fault_id: rows of the scenario file, of the faults file, of the generators. `overrides`: what a variant changes,
    dotted place -> value as JSON; empty for the base. `events`: kinds of events that are written; None: all.
    `shares_fetchers`: no file says so; it was found by playing that fetchers of two brokers have more to fetch than they can.
    """

    scenario_id: int
    name: str
    protocol: str
    rounds: int
    round_ms: int
    seed: int
    brokers: tuple[Broker, ...]
    session_timeout_rounds: int
    quota_window_rounds: int
    fetching: Fetching
    config: Mapping[str, ConfigValue]
    features: Mapping[str, int]
    topics: tuple[Topic, ...]
    workload: pa.Table
    faults: pa.Table
    commands: tuple[Command, ...]
    initial_partitions: pa.Table
    initial_replicas: pa.Table
    initial_remote_segments: pa.Table
    initial_ledgers: pa.Table
    remote_storage: RemoteStorage
    consumers: tuple[ConsumerRow, ...]
    overrides: Mapping[str, str]
    events: tuple[str, ...] | None = None
    shares_fetchers: bool = False

    @cached_property
    def alterations(self) -> Mapping[str, Sequence[Command]]:
        """The alter_config commands that concern each topic, those of all brokers included, by round.

        Topics that the same ones concern have one list.
        """
        commands = [command for command in self.commands if command.kind == "alter_config" and command.broker is None]
        commands.sort(key=lambda command: command.round)
        globs = Globs(command.topic for command in commands)
        of_glob: list[list[int]] = [[] for _ in globs.numbers]
        for at, command in enumerate(commands):
            of_glob[globs.numbers[command.topic]].append(at)
        lists: dict[tuple[int, ...], list[Command]] = {}
        found: dict[str, list[Command]] = {}
        for topic in self.topics:
            matching = tuple(globs.matching(topic.name))
            if matching not in lists:
                lists[matching] = [commands[at] for at in sorted(at for number in matching for at in of_glob[number])]
            found[topic.name] = lists[matching]
        return found


def longest_of(scenarios: Sequence[Scenario]) -> Scenario:
    """The scenario with the most rounds, the first of several."""
    return max(scenarios, key=lambda scenario: scenario.rounds)


@dataclass(frozen=True, eq=False)
class Run:
    """A scenario file, read: its path and text, and the scenarios that run in one job.

    time_buckets: into how many the longest of them is divided for table broker_rounds. folder: what paths in the file are
    relative to. files: those it names, by absolute path or URI, with the SHA-256 of what was read.
    """

    path: str
    text: str
    name: str
    seed: int
    mode: str
    scenarios: tuple[Scenario, ...]
    time_buckets: int = TIME_BUCKETS
    folder: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
