"""The output of `kafka-get-offsets`: where logs begin and end, as their leaders say (ListOffsets).

Source: org.apache.kafka.tools.GetOffsetShell, one line "TOPIC:PARTITION:OFFSET" a partition on standard output. Partitions
without an answer (no leader) or without such an offset (nothing tiered yet) have no line; --time earliest-local and
latest-tiered are there from Kafka 3.9 on (KIP-1005).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from emulator.errors import InputError, listing, quoted
from emulator.importers.text_input import (
    MAX_INT32,
    MAX_INT64,
    TopicPartition,
    is_topic_name,
    parse_natural,
    read_lines,
    read_text,
)

EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, LATEST = "earliest", "earliest-local", "latest-tiered", "latest"
TIMES: Mapping[str, str] = {
    **{name: name for name in (EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, LATEST)},
    **{"-2": EARLIEST, "-4": EARLIEST_LOCAL, "-5": LATEST_TIERED, "-1": LATEST},
}
"""What --time takes for the offsets that an import reads: names, and the numbers older tools know them by."""
NOTHING_TIERED = -1

_ALLOWED_FILE = "the output of kafka-get-offsets"
_ALLOWED_LINE = '"TOPIC:PARTITION:OFFSET", numbers from 0'
_ASK_IN_ORDER = "asked in the order earliest, earliest-local, latest-tiered, latest"


class _Line(NamedTuple):
    offset: int
    path: str
    number: int

    def place(self) -> str:
        return f"line {self.number}"

    def shown(self) -> str:
        return f"{self.path} line {self.number}"


class PartitionOffsets(NamedTuple):
    """What the leader of one partition says; None for what was not asked. latest_tiered is inclusive, -1: nothing."""

    earliest: int | None = None
    earliest_local: int | None = None
    latest_tiered: int | None = None
    latest: int | None = None


@dataclass
class ListedOffsets:
    """The lines of all files by time and (topic, partition), and the files by time."""

    lines: dict[str, dict[TopicPartition, _Line]] = field(default_factory=dict)
    files: dict[str, list[str]] = field(default_factory=dict)

    def partitions(self) -> set[TopicPartition]:
        """All partitions of any file."""
        return set().union(*self.lines.values())

    def of(self, key: TopicPartition) -> PartitionOffsets | None:
        """The offsets of a partition; None when no file has it."""
        found = {time: line.offset for time, lines in self.lines.items() if (line := lines.get(key))}
        if not found:
            return None
        if LATEST_TIERED in self.lines:
            found.setdefault(LATEST_TIERED, NOTHING_TIERED)
        return PartitionOffsets(*(found.get(time) for time in (EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, LATEST)))

    def refuse_tiered(self, key: TopicPartition) -> None:
        """Raises InputError if a partition of a topic without remote storage has anything there."""
        tiered, local = self._line(LATEST_TIERED, key), self._line(EARLIEST_LOCAL, key)
        earliest = self._line(EARLIEST, key)
        if tiered is not None and tiered.offset > NOTHING_TIERED:
            raise _wrong(tiered, key, LATEST_TIERED, "but its topic has not remote.storage.enable=true", "no line of it")
        if local is not None and earliest is not None and local.offset > earliest.offset:
            why = f"above earliest {earliest.offset}, but its topic has not remote.storage.enable=true"
            raise _wrong(local, key, EARLIEST_LOCAL, why, f"{earliest.offset}, or the topic described with its configs")

    def check(self) -> None:
        """Raises InputError for the first partition that is not in all files, or whose offsets contradict each other."""
        for key in sorted(self.partitions()):
            lines = {time: line for time in self.lines if (line := self._line(time, key))}
            for time, path in ((time, paths[-1]) for time, paths in self.files.items() if time != LATEST_TIERED):
                if time not in lines:
                    topic, partition = key
                    problem = f"has no line of {topic}:{partition}, as {next(iter(lines.values())).shown()} has"
                    raise InputError.at(
                        path, "file", problem, "the same partitions as the other files (of latest-tiered: or less)"
                    )
            _check_order(key, lines, EARLIEST, EARLIEST_LOCAL)
            _check_order(key, lines, EARLIEST, LATEST)
            _check_order(key, lines, EARLIEST_LOCAL, LATEST)
            self._check_tiered(key, lines)

    def _check_tiered(self, key: TopicPartition, lines: Mapping[str, _Line]) -> None:
        tiered, latest = lines.get(LATEST_TIERED), lines.get(LATEST)
        if tiered is not None and latest is not None and tiered.offset >= latest.offset:
            why = f"not below latest {latest.offset} ({latest.shown()})"
            raise _wrong(
                tiered, key, LATEST_TIERED, why, f"at most latest - 1, the last offset that may be tiered; {_ASK_IN_ORDER}"
            )
        earliest, local = lines.get(EARLIEST), lines.get(EARLIEST_LOCAL)
        if LATEST_TIERED not in self.files or earliest is None or local is None:
            return
        last = NOTHING_TIERED if tiered is None else tiered.offset
        if local.offset > max(earliest.offset, last + 1):
            told = "nothing is tiered" if tiered is None else f"latest-tiered is {last}"
            why = f"so {max(earliest.offset, last + 1)} to {local.offset - 1} are nowhere: {told}"
            raise _wrong(local, key, EARLIEST_LOCAL, why, f"at most latest-tiered + 1, or earliest; {_ASK_IN_ORDER}")

    def _line(self, time: str, key: TopicPartition) -> _Line | None:
        return self.lines.get(time, {}).get(key)


def read_listed_offsets(files: Mapping[str, Sequence[str]]) -> ListedOffsets:
    """Reads outputs of `kafka-get-offsets`, one or several files for each --time.

    Comment lines (#) and empty lines are skipped. A file of latest-tiered may be empty: nothing is tiered.

    Args:
        files: paths by what --time was: earliest, earliest-local, latest-tiered, latest (or -2, -4, -5, -1).

    Raises:
        InputError: unreadable, another --time, a line that is no offset line, a negative or missing offset, a partition
            given twice or not in every file, offsets that contradict each other.
    """
    listed = ListedOffsets()
    for given, paths in files.items():
        if given not in TIMES:
            raise InputError(f"--offsets: {quoted(given)} is no time; allowed: {listing(TIMES)}")
        time = TIMES[given]
        lines = listed.lines.setdefault(time, {})
        listed.files.setdefault(time, []).extend(paths)
        for path in paths:
            _read_file(path, time, lines)
    listed.check()
    return listed


def _read_file(path: str, time: str, lines: dict[TopicPartition, _Line]) -> None:
    found = False
    for number, text in enumerate(_lines_of(path, time), 1):
        stripped = text.strip()
        if not stripped or stripped.startswith("#"):
            continue
        found = True
        key, offset = _parse_line(path, number, stripped, time)
        if key in lines:
            problem = f"{quoted(f'{key[0]}:{key[1]}')} is given twice ({lines[key].shown()})"
            raise InputError.at(path, f"line {number}", problem, "one line a partition")
        if offset > NOTHING_TIERED:
            lines[key] = _Line(offset, path, number)
    if not found and time != LATEST_TIERED:
        raise InputError.at(path, "file", "has no offsets", _ALLOWED_FILE)


def _lines_of(path: str, time: str) -> list[str]:
    """A file's lines; none of an empty file of latest-tiered."""
    if time == LATEST_TIERED:
        try:
            with open(path, "rb") as file:
                if not file.read(4096).strip():
                    return []
        except OSError:
            pass  # read_text says what is wrong
        return read_text(path, _ALLOWED_FILE).split("\n")
    return read_lines(path, _ALLOWED_FILE)


def _parse_line(path: str, number: int, text: str, time: str) -> tuple[TopicPartition, int]:
    """Parses one line; the offset is -1 where the line says that nothing is tiered."""
    topic, _, partition_text = text.rpartition(":")[0].rpartition(":")
    offset_text = text.rpartition(":")[2].strip()
    partition = parse_natural(partition_text, MAX_INT32)
    if partition is None or not is_topic_name(topic):
        raise InputError.at(path, f"line {number}", f"{quoted(text)} is no line of kafka-get-offsets", _ALLOWED_LINE)
    if time == LATEST_TIERED and offset_text in ("", "-1"):
        return (topic, partition), NOTHING_TIERED
    offset = parse_natural(offset_text, MAX_INT64)
    if offset is None:
        found = quoted(offset_text) if offset_text else "missing"
        raise InputError.at(path, f"line {number}", f"{time} of {topic}:{partition} is {found}", _ALLOWED_LINE)
    return (topic, partition), offset


def _check_order(key: TopicPartition, lines: Mapping[str, _Line], low: str, high: str) -> None:
    lower, upper = lines.get(low), lines.get(high)
    if lower is not None and upper is not None and lower.offset > upper.offset:
        why = f"above {high} {upper.offset} ({upper.shown()})"
        raise _wrong(lower, key, low, why, f"at most {high}; {_ASK_IN_ORDER}")


def _wrong(line: _Line, key: TopicPartition, time: str, why: str, allowed: str) -> InputError:
    topic, partition = key
    return InputError.at(line.path, line.place(), f"{time} of {topic}:{partition} is {line.offset}, {why}", allowed)
