"""Log segments of one partition: where its log begins and ends, read from batch headers of the active segment.

Source: org.apache.kafka.common.record.DefaultRecordBatch (magic 2), org.apache.kafka.storage.internals.log.OffsetIndex.
"""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

from emulator.errors import InputError

# base offset, batch length, partition leader epoch, magic, crc, attributes, last offset delta
_BATCH_HEADER = struct.Struct(">qiibIhi")
# what the batch length counts from: base offset and the length itself come before
_LENGTH_STARTS_AT = 12
_SMALLEST_BATCH_LENGTH = 49
_MAGIC_AT = 16
_MAGIC = 2
# offset relative to the segment's base, position in the segment
_INDEX_ENTRY = struct.Struct(">ii")
_OFFSET_DIGITS = 20


class SegmentedLog(NamedTuple):
    """What the segment files of a partition say about its log; offsets in records, sizes in bytes."""

    base_offsets: tuple[int, ...]
    """Rising; the last segment is the active one."""
    sizes_bytes: tuple[int, ...]
    leo: int
    trailing_bytes: int
    """Bytes of the active segment after its last whole batch: a torn write, or preallocated space."""


class _Batch(NamedTuple):
    base_offset: int
    end_offset: int
    size_bytes: int


def segment_base_offsets(file_names: list[str]) -> list[int]:
    """Lists the base offsets of the `.log` segments among a folder's file names, sorted."""
    stems = (name[:-4] for name in file_names if name.endswith(".log"))
    return sorted(int(stem) for stem in stems if len(stem) == _OFFSET_DIGITS and stem.isascii() and stem.isdigit())


def read_segments(folder: str, base_offsets: list[int]) -> SegmentedLog:
    """Reads a partition's log from its segments (not empty, sorted); only the last one is opened.

    Raises:
        InputError: a segment cannot be read, or the last one is in a record format before magic 2.
    """
    active_base = base_offsets[-1]
    active_path = _segment_path(folder, active_base, "log")
    try:
        sizes_bytes = tuple(os.path.getsize(_segment_path(folder, base, "log")) for base in base_offsets)
        leo, trailing_bytes = _read_end(active_path, active_base, _segment_path(folder, active_base, "index"))
    except OSError as error:
        raise InputError.at(active_path, "file", f"cannot be read ({error.strerror})", "a log segment") from None
    return SegmentedLog(tuple(base_offsets), sizes_bytes, leo, trailing_bytes)


def _segment_path(folder: str, base_offset: int, extension: str) -> str:
    return os.path.join(folder, f"{base_offset:0{_OFFSET_DIGITS}d}.{extension}")


def _read_end(path: str, segment_base: int, index_path: str) -> tuple[int, int]:
    """Follows the batch headers to the last whole batch: (offset after it, bytes left over)."""
    with open(path, "rb", buffering=0) as file:
        descriptor = file.fileno()
        size_bytes = os.fstat(descriptor).st_size
        _refuse_old_format(path, descriptor, size_bytes)
        position = _indexed_position(descriptor, size_bytes, segment_base, index_path)
        next_offset = segment_base
        while batch := _read_batch(descriptor, position, size_bytes, next_offset):
            next_offset = batch.end_offset
            position += batch.size_bytes
    return next_offset, size_bytes - position


def _read_batch(descriptor: int, position: int, size_bytes: int, next_offset: int) -> _Batch | None:
    """Reads the header at a position; None unless a whole batch with offsets from `next_offset` on is there."""
    header = os.pread(descriptor, _BATCH_HEADER.size, position)
    if len(header) < _BATCH_HEADER.size:
        return None
    base_offset, length, _, magic, _, _, last_offset_delta = _BATCH_HEADER.unpack(header)
    batch_bytes = _LENGTH_STARTS_AT + length
    is_whole = length >= _SMALLEST_BATCH_LENGTH and position + batch_bytes <= size_bytes
    # offsets may jump forward (compaction), never back
    if not is_whole or magic != _MAGIC or base_offset < next_offset or last_offset_delta < 0:
        return None
    return _Batch(base_offset, base_offset + last_offset_delta + 1, batch_bytes)


def _refuse_old_format(path: str, descriptor: int, size_bytes: int) -> None:
    start = os.pread(descriptor, _MAGIC_AT + 1, 0)
    length = int.from_bytes(start[8:12], "big", signed=True)
    is_whole = len(start) > _MAGIC_AT and length > 0 and _LENGTH_STARTS_AT + length <= size_bytes
    if is_whole and start[_MAGIC_AT] in (0, 1):
        raise InputError.at(path, f"byte {_MAGIC_AT}", f"record format has magic {start[_MAGIC_AT]}", str(_MAGIC))


def _indexed_position(descriptor: int, size_bytes: int, segment_base: int, index_path: str) -> int:
    """Position of a batch near the end, by the segment's offset index; 0 without a usable index.

    Saves following a million headers in a large segment. The entry counts only if the batch it names is there.
    """
    entry = _last_index_entry(index_path)
    if entry is None:
        return 0
    relative_offset, position = entry
    batch = _read_batch(descriptor, position, size_bytes, segment_base)
    is_right = batch is not None and batch.base_offset <= segment_base + relative_offset < batch.end_offset
    return position if is_right else 0


def _last_index_entry(index_path: str) -> tuple[int, int] | None:
    """Finds the last entry of an offset index; an active one is preallocated, its unused tail is zeros."""
    try:
        with open(index_path, "rb", buffering=0) as file:
            descriptor = file.fileno()
            first, beyond = 0, os.fstat(descriptor).st_size // _INDEX_ENTRY.size
            last: tuple[int, int] | None = None
            while first < beyond:
                middle = (first + beyond) // 2
                relative_offset, position = _INDEX_ENTRY.unpack(
                    os.pread(descriptor, _INDEX_ENTRY.size, middle * _INDEX_ENTRY.size)
                )
                if position > 0 and relative_offset >= 0:
                    last, first = (relative_offset, position), middle + 1
                else:
                    beyond = middle
            return last
    except OSError:
        return None
