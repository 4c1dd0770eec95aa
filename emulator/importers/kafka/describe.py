"""The output of `kafka-topics --describe`: topics with their configs, and the state of every partition.

Source: org.apache.kafka.tools.TopicCommand (3.x and 4.x print the same columns; ELR columns from 4.0 on).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from emulator.errors import InputError, quoted
from emulator.importers.text_input import (
    MAX_INT32,
    TopicPartition,
    is_topic_name,
    parse_natural,
    read_lines,
)

NO_LEADER = -1

_ALLOWED_FILE = "the output of kafka-topics --describe"
_ALLOWED_LINE = '"Topic: NAME PartitionCount: ..." or "Topic: NAME Partition: ...", the tool\'s columns separated by tabs'
_TOPIC_COLUMNS = ("Topic", "TopicId", "PartitionCount", "ReplicationFactor", "Configs")
_PARTITION_COLUMNS = (
    *("Topic", "Partition", "Leader", "Replicas", "Isr", "Adding Replicas", "Removing Replicas", "Elr"),
    *("LastKnownElr", "Offline", "Observers", "LiveObservers"),
)
_COLUMNS = frozenset(_TOPIC_COLUMNS + _PARTITION_COLUMNS)
_REQUIRED_PARTITION_COLUMNS = ("Topic", "Partition", "Leader", "Replicas", "Isr")
# a terminal turns the tabs into spaces: cut before each column name instead
_COLUMN_STARTS = re.compile(r"\s+(?=(?:" + "|".join(sorted(_COLUMNS - {"Topic"})) + "):)")
_CONFIG_KEY = re.compile(r"[a-z][a-z0-9._-]*\Z")


class PartitionState(NamedTuple):
    """What the controller says of one partition; broker ids as printed, -1 for no leader."""

    topic: str
    partition: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass
class ClusterDescription:
    """Everything the description says, partitions in the order of the file."""

    partitions: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    partition_counts: dict[str, int] = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    unknown_columns: set[str] = field(default_factory=set)
    observers: int = 0
    ended_reassignments: int = 0


def read_describe(path: str) -> ClusterDescription:
    """Reads one or several outputs of `kafka-topics --describe`, filtered listings included.

    Comment lines (#) and empty lines are skipped. The same partition or topic may come twice if it says the same.

    Raises:
        InputError: unreadable, a line that is not the tool's, an impossible state, or partitions missing from a topic.
    """
    reader = _DescribeReader(path)
    for line_number, line in enumerate(read_lines(path, _ALLOWED_FILE), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            reader.read_line(line_number, stripped)
    return reader.finish()


class _DescribeReader:
    """Reads line after line; keeps the line it is at for error messages."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.line_number = 0
        self.description = ClusterDescription()
        self.broker_lists: dict[str, tuple[int, ...]] = {"": (), "N/A": ()}
        self.known_topics: set[str] = set()
        self.header_lines: dict[str, int] = {}

    def read_line(self, line_number: int, line: str) -> None:
        self.line_number = line_number
        columns = self._split_columns(line)
        if "Partition" in columns:
            self._read_partition(columns)
        elif "PartitionCount" in columns:
            self._read_topic(columns)
        else:
            raise self._line_error(f"{quoted(line)} is not a line of kafka-topics --describe", _ALLOWED_LINE)

    def finish(self) -> ClusterDescription:
        """Checks every topic's partition count once all lines are read."""
        description = self.description
        if not description.partitions and not description.partition_counts:
            raise InputError.at(self.path, "file", "describes no partition", _ALLOWED_FILE)
        listed: dict[str, int] = dict.fromkeys(description.partition_counts, 0)
        for topic, partition in description.partitions:
            if topic in listed:
                listed[topic] += 1
                if partition >= description.partition_counts[topic]:
                    self._refuse_partition_count(topic, f"partition {partition} is listed")
        for topic, count in listed.items():
            if count != description.partition_counts[topic]:
                self._refuse_partition_count(topic, f"{count} partitions are listed")
        return description

    def _split_columns(self, line: str) -> dict[str, str]:
        pieces = line.split("\t") if "\t" in line else _COLUMN_STARTS.split(line)
        columns: dict[str, str] = {}
        for piece in pieces:
            name, separator, value = piece.partition(":")
            name = name.strip()
            if not separator:
                raise self._line_error(f"{quoted(piece)} is not a column", _ALLOWED_LINE)
            if name in columns:
                raise self._line_error(f"column {quoted(name)} comes twice", "each column once")
            if name not in _COLUMNS:
                self.description.unknown_columns.add(name)
            columns[name] = value.strip()
        return columns

    def _read_topic(self, columns: dict[str, str]) -> None:
        topic = self._topic(columns)
        description = self.description
        count = self._natural(columns, "PartitionCount")
        topic_id = columns.get("TopicId", "")
        configs = self._configs(columns.get("Configs", ""))
        if topic in description.partition_counts:
            earlier = (description.partition_counts[topic], description.topic_ids[topic], description.configs[topic])
            if earlier != (count, topic_id, configs):
                raise self._twice_error(f"topic {topic}", self.header_lines[topic])
        description.partition_counts[topic] = count
        description.topic_ids[topic] = topic_id
        description.configs[topic] = configs
        self.header_lines[topic] = self.line_number

    def _read_partition(self, columns: dict[str, str]) -> None:
        for name in _REQUIRED_PARTITION_COLUMNS:
            if name not in columns:
                raise self._line_error(f'column "{name}:" is missing', ", ".join(_REQUIRED_PARTITION_COLUMNS))
        adding, removing = self._brokers(columns, "Adding Replicas"), self._brokers(columns, "Removing Replicas")
        replicas = self._brokers(columns, "Replicas")
        if (adding or removing) and not {*adding, *removing}.issubset(replicas):
            # the tool asks for reassignments before it asks for partitions: this one ended in between
            adding, removing = (), ()
            self.description.ended_reassignments += 1
        state = PartitionState(
            topic=self._topic(columns),
            partition=self._natural(columns, "Partition"),
            leader=self._leader(columns["Leader"]),
            replicas=replicas,
            isr=self._brokers(columns, "Isr"),
            elr=self._brokers(columns, "Elr"),
            last_known_elr=self._brokers(columns, "LastKnownElr"),
            adding=adding,
            removing=removing,
        )
        self._check_state(state)
        if self._brokers(columns, "Observers"):
            self.description.observers += 1
        key = (state.topic, state.partition)
        if self.description.partitions.setdefault(key, state) != state:
            raise self._twice_error(f"partition {state.topic}-{state.partition}", None)

    def _check_state(self, state: PartitionState) -> None:
        replicas = state.replicas
        if not replicas:
            raise self._column_error("Replicas", "is empty", "at least one broker id")
        for name, members in (("Isr", state.isr), ("Elr", state.elr)):
            for member in members:
                if member not in replicas:
                    raise self._column_error(name, f"broker {member} is not a replica", f"of {list(replicas)}")
        if state.elr and not set(state.elr).isdisjoint(state.isr):
            raise self._column_error("Elr", f"{list(state.elr)} overlaps the ISR", f"none of {list(state.isr)}")
        if state.leader != NO_LEADER and state.leader not in state.isr:
            raise self._column_error("Leader", f"broker {state.leader} is not in the ISR", f"of {list(state.isr)}")

    def _topic(self, columns: dict[str, str]) -> str:
        topic = columns.get("Topic", "")
        if topic not in self.known_topics:
            if not is_topic_name(topic):
                allowed = "1 to 249 letters, digits, '.', '_' and '-'"
                raise self._column_error("Topic", f"{quoted(topic)} is not a topic name", allowed)
            self.known_topics.add(topic)
        return topic

    def _natural(self, columns: dict[str, str], name: str) -> int:
        value = parse_natural(columns[name], MAX_INT32)
        if value is None:
            raise self._column_error(name, f"is {quoted(columns[name])}", "a number from 0")
        return value

    def _leader(self, text: str) -> int:
        if text in ("none", "-1"):
            return NO_LEADER
        leader = parse_natural(text, MAX_INT32)
        if leader is None:
            raise self._column_error("Leader", f"is {quoted(text)}", "a broker id, none or -1")
        return leader

    def _brokers(self, columns: dict[str, str], name: str) -> tuple[int, ...]:
        text = columns.get(name, "")
        brokers = self.broker_lists.get(text)
        if brokers is None:
            parsed = [parse_natural(word.strip(), MAX_INT32) for word in text.split(",")]
            brokers = tuple(broker for broker in parsed if broker is not None)
            if len(brokers) < len(parsed) or len(set(brokers)) < len(brokers):
                raise self._column_error(name, f"is {quoted(text)}", "different broker ids separated by commas")
            self.broker_lists[text] = brokers
        return brokers

    def _configs(self, text: str) -> dict[str, str]:
        """Splits "a=1,b=x,y": a piece that does not begin with KEY= goes on with the value before it."""
        configs: dict[str, str] = {}
        last_key = ""
        for piece in text.split(",") if text else ():
            key, separator, value = piece.partition("=")
            if separator and _CONFIG_KEY.match(key.strip()):
                last_key = key.strip()
                configs[last_key] = value
            elif last_key:
                configs[last_key] += "," + piece
            else:
                raise self._column_error("Configs", f"{quoted(piece)} is not a setting", "KEY=VALUE,KEY=VALUE,...")
        return configs

    def _refuse_partition_count(self, topic: str, found: str) -> None:
        count = self.description.partition_counts[topic]
        allowed = f"partitions 0 to {count - 1}, each listed" if count else "no partition"
        place = f"line {self.header_lines[topic]}, topic {topic}"
        raise InputError.at(self.path, place, f"PartitionCount is {count}, but {found}", allowed)

    def _line_error(self, wrong: str, allowed: str) -> InputError:
        return InputError.at(self.path, f"line {self.line_number}", wrong, allowed)

    def _column_error(self, column: str, wrong: str, allowed: str) -> InputError:
        return InputError.at(self.path, f"line {self.line_number}, {column}", wrong, allowed)

    def _twice_error(self, what: str, first_line: int | None) -> InputError:
        earlier = "an earlier line" if first_line is None else f"line {first_line}"
        return self._line_error(f"{what} is described otherwise than on {earlier}", "one state of the cluster")
