"""What a row of a state carries beside its columns, so that rounds go on from it: the replica's record and lists, as bytes.

The first replica's row has the partition's record and lists as well. Patterns, which runs and `sent` point at, go along by
content: where they stand differs from block to block.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from emulator.errors import InputError
from emulator.rounds.compiled_cache import rounds_digest
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Batch, Inputs, Pattern
from emulator.rounds.kafka.list_records import Run, Sent
from emulator.rounds.kafka.state import LIST_RECORDS, State
from emulator.rounds.packed import Packed, width_of
from emulator.rounds.records import rows, word_of, words_of

PATTERN = word_of(Run, "pattern")
SENT_PATTERN = word_of(Sent, "pattern")
OF_REPLICAS, OF_PARTITIONS = ("runs", "epochs", "segments"), ("ranges", "sent", "news")


class CarriedPartition(NamedTuple):
    """A partition's words, its `ranges`, `sent` and `news` by list, and min.insync.replicas of its last round."""

    words: bytes
    lists: dict[str, list[bytes]]
    min_isr: int


class Carried(NamedTuple):
    """A replica's words, its lists (OF_REPLICAS) by name, its patterns (words, batches) by their number in the runs."""

    version: str
    words: bytes
    lists: dict[str, list[bytes]]
    patterns: dict[int, tuple[bytes, bytes]]
    partition: CarriedPartition | None


def pack_rows(state: State, inputs: Inputs) -> list[bytes]:
    """By place of the replica, what its row carries."""
    version, packed = rounds_digest(), []
    partition_words, replica_words = words_of(state.partitions), words_of(state.replicas)
    min_isr = np.asarray(inputs.settings)["min_insync_replicas"][np.asarray(state.partitions)["settings"]].tolist()
    patterns: dict[int, tuple[bytes, bytes]] = {}
    for number, part in enumerate(np.asarray(state.partitions)):
        for at in range(int(part["first_replica"]), int(part["first_replica"] + part["slots"])):
            lists = {name: _lists(state, name, at) for name in OF_REPLICAS}
            used = {int(run[PATTERN]) for one in lists["runs"] for run in one}
            if at == part["first_replica"]:
                sent = {int(entry[SENT_PATTERN]) for one in _lists(state, "sent", number) for entry in one}
                used |= (sent | {int(part["sent_pattern"])}) - {UNKNOWN}
            for pattern in used - patterns.keys():
                patterns[pattern] = _pattern(inputs, pattern)
            own = None
            if at == part["first_replica"]:
                of_partition = {name: _as_bytes(_lists(state, name, number)) for name in OF_PARTITIONS}
                own = CarriedPartition(partition_words[number].tobytes(), of_partition, min_isr[number])
            of_replica = {name: _as_bytes(lists[name]) for name in OF_REPLICAS}
            carried = Carried(version, replica_words[at].tobytes(), of_replica, {p: patterns[p] for p in used}, own)
            packed.append(pickle.dumps(tuple(carried), protocol=5))
    return packed


def unpack(carried: bytes) -> Carried:
    """What `pack_rows` made; raises InputError for what another version made."""
    read = Carried(*pickle.loads(carried))
    if read.version != rounds_digest():
        raise InputError("state: carried: is of another version of the rounds; allowed: null in all rows, and round -1")
    return read


def words_from(data: bytes, record: type) -> np.ndarray:
    """Bytes as rows of words of a record."""
    return np.frombuffer(data, np.int64).reshape(-1, width_of(record))


def lists_of(packed: Packed, first: int, count: int) -> list[np.ndarray]:
    """`count` packed lists from number `first` on, as words."""
    return [packed.words[packed.offsets[at] : packed.offsets[at + 1]] for at in range(first, first + count)]


def with_patterns(inputs: Inputs, wanted: Sequence[tuple[bytes, bytes]]) -> tuple[Inputs, dict[bytes, int]]:
    """(inputs that have all these patterns, the number of each by its batches)."""
    known = {_pattern(inputs, number)[1]: number for number in range(len(inputs.patterns))}
    patterns, batches = [words_of(inputs.patterns)], [words_of(inputs.batches)]
    count = len(inputs.batches)
    for pattern, content in wanted:
        if content in known:
            continue
        known[content] = len(known)
        row = words_from(pattern, Pattern).copy()
        row[0, word_of(Pattern, "first_batch")] = count
        patterns.append(row)
        batches.append(words_from(content, Batch))
        count += len(batches[-1])
    return inputs._replace(patterns=_records(Pattern, patterns), batches=_records(Batch, batches)), known


def _records(record: type, parts: Sequence[np.ndarray]) -> Any:
    words = np.concatenate([part.reshape(len(part), width_of(record)) for part in parts])
    records = rows(record, len(words))
    if len(words):
        words_of(records)[:] = words
    return records


def _pattern(inputs: Inputs, number: int) -> tuple[bytes, bytes]:
    pattern = np.asarray(inputs.patterns)[number]
    first, count = int(pattern["first_batch"]), int(pattern["batch_count"])
    return pattern.tobytes(), np.asarray(inputs.batches)[first : first + count].tobytes()


def _lists(state: State, name: str, number: int) -> list[np.ndarray]:
    kinds = len(LIST_RECORDS[name][1])
    return lists_of(getattr(state, name), number * kinds, kinds)


def _as_bytes(lists: Sequence[np.ndarray]) -> list[bytes]:
    return [one.tobytes() for one in lists]
