"""Kafka's checkpoint files: a version line, a count line, then one entry a line.

Source: org.apache.kafka.server.common.CheckpointFile, OffsetCheckpointFile and LeaderEpochCheckpointFile.
"""

from __future__ import annotations

from emulator.errors import InputError, quoted
from emulator.importers.text_input import (
    MAX_INT32,
    MAX_INT64,
    TopicPartition,
    parse_natural,
    read_lines,
)

EpochEntry = tuple[int, int]
"""(epoch, start offset)."""

_FIRST_ENTRY_LINE = 3
_OFFSET_FORM = '"TOPIC PARTITION OFFSET", numbers from 0'
_EPOCH_FORM = '"EPOCH START_OFFSET", numbers from 0, both rising from line to line'


def read_offset_checkpoint(path: str) -> dict[TopicPartition, int]:
    """Reads an offset checkpoint (HW, log start or recovery point) as offsets by (topic, partition).

    Raises:
        InputError: unreadable, wrong version, wrong count, an entry that is not of the form, or one given twice.
    """
    offsets: dict[TopicPartition, int] = {}
    entries = _read_entries(path)
    for line_number, line in enumerate(entries, _FIRST_ENTRY_LINE):
        fields = line.split(" ")
        if len(fields) != 3:
            raise _wrong_entry(path, line_number, line, _OFFSET_FORM)
        partition = parse_natural(fields[1], MAX_INT32)
        offset = parse_natural(fields[2], MAX_INT64)
        if partition is None or offset is None or not fields[0]:
            raise _wrong_entry(path, line_number, line, _OFFSET_FORM)
        offsets[fields[0], partition] = offset
    if len(offsets) < len(entries):
        raise _repeated_entry(path, entries)
    return offsets


def read_leader_epoch_checkpoint(path: str) -> list[EpochEntry]:
    """Reads a leader-epoch-checkpoint as (epoch, start offset) pairs, both strictly rising.

    Raises:
        InputError: unreadable, wrong version, wrong count, an entry that is not of the form or out of order.
    """
    cache: list[EpochEntry] = []
    previous_epoch, previous_start = -1, -1
    for line_number, line in enumerate(_read_entries(path), _FIRST_ENTRY_LINE):
        epoch_text, _, start_text = line.partition(" ")
        epoch = parse_natural(epoch_text, MAX_INT32)
        start = parse_natural(start_text, MAX_INT64)
        if epoch is None or start is None or epoch <= previous_epoch or start <= previous_start:
            raise _wrong_entry(path, line_number, line, _EPOCH_FORM)
        cache.append((epoch, start))
        previous_epoch, previous_start = epoch, start
    return cache


def _read_entries(path: str) -> list[str]:
    lines = read_lines(path, "a Kafka checkpoint file (version 0, count, entries)")
    if lines[0] != "0":
        raise InputError.at(path, "line 1", f"version is {quoted(lines[0])}", "0")
    count = parse_natural(lines[1], MAX_INT32) if len(lines) > 1 else None
    if count is None:
        found = quoted(lines[1]) if len(lines) > 1 else "missing"
        raise InputError.at(path, "line 2", f"number of entries is {found}", "a number from 0")
    entries = lines[2:]
    if len(entries) != count:
        raise InputError.at(path, "line 2", f"says {count} entries, the file has {len(entries)}", "the same number")
    return entries


def _wrong_entry(path: str, line_number: int, line: str, form: str) -> InputError:
    return InputError.at(path, f"line {line_number}", f"{quoted(line)} is not a valid entry", form)


def _repeated_entry(path: str, entries: list[str]) -> InputError:
    seen: set[str] = set()
    for line_number, line in enumerate(entries, _FIRST_ENTRY_LINE):
        topic, partition, _ = line.split(" ")
        key = f"{topic} {int(partition)}"
        if key in seen:
            return InputError.at(path, f"line {line_number}", f"{quoted(key)} is given twice", "one entry a partition")
        seen.add(key)
    raise AssertionError("called without a repeated entry")
