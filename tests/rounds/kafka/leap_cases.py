"""What leaps rest on, in a process of its own and uncompiled: `NUMBA_DISABLE_JIT=1 python -m tests.rounds.kafka.leap_cases`.

Looks into rounds while they are played: a quiet round in which any field had changed would not be leapt from; and a list whose
entries change counts it, so that leaps need not look at entries. Prints what does not hold.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from emulator.rounds.kafka import play_partitions
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.play_partitions import Words
from emulator.rounds.kafka.reading.records import ReaderLists
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.state import LIST_RECORDS, TIER_PARTITION_LISTS, TIER_REPLICA_LISTS
from emulator.rounds.kafka.tier.records import TierPartition, TierReplica
from emulator.rounds.lists import List
from emulator.rounds.records import APART, ASIDE, COMPARED, COUNTER, DUE, RESTARTS, Rows, fields_of, kinds_of, words_of
from tests.quick_rows import play_with_quick_rows
from tests.reference.random_scenarios import random_batch
from tests.reference.random_scenarios import to_toml as core_toml
from tests.rounds.kafka.compared import played, scenarios_of
from tests.rounds.kafka.test_tier_leaps import scenarios_of_schedules

LOOKED_AT = (COMPARED, APART, ASIDE, DUE, COUNTER, RESTARTS)
play_round, look_at_all = play_partitions.play_round, play_partitions.look_at_all
told: set[str] = set()
seen: set[str] = set()


def names_of(record: type, before: str = "") -> Iterator[str]:
    """The name of each word of a record."""
    for name, field in fields_of(record).items():
        if field.type is np.int64:
            yield before + name
        else:
            yield from names_of(field.type, f"{before}{name}.")


def look_at_changed(
    tiers: TierLists, part: Partition, part_words: np.ndarray, replica_words: np.ndarray, words: Words, probe: Any
) -> int:
    """As look_at_all; in a quiet round it looks again at every field, changed."""
    rest = (tiers, part, part_words, replica_words, words, probe)
    found = look_at_all(*rest)
    if found == 0:
        look_at_each(rest, Partition, part_words)
        look_at_each(rest, Replica, replica_words[0])
        if part.tiered:
            look_at_each(rest, TierPartition, words.tier[0])
            look_at_each(rest, TierReplica, words.tiers[0])
    return found


def look_at_each(rest: Any, record: type, words: np.ndarray) -> None:
    if record.__name__ in seen:
        return
    seen.add(record.__name__)  # but `slots`, with which it would look beyond the partition
    for word, (name, kind) in enumerate(zip(names_of(record), kinds_of(record), strict=True)):
        words[word] += 1
        if name != "slots" and (look_at_all(*rest) != 0) != (kind in LOOKED_AT):
            told.add(f"{record.__name__}.{name}: a change in a quiet round is not seen, or need not be")
        words[word] -= 1


def lists_of(lists: Lists, tiers: TierLists | None, part: Partition, replicas: Rows[Replica]) -> Iterator[tuple[str, List, Any]]:
    """Every list of a partition and of what it has in remote storage: its name, its span, the array it lies in."""
    for array, (_, names) in LIST_RECORDS.items():
        if not hasattr(lists, array):
            continue
        for name in names:
            owners = [part] if hasattr(part, name) else [replicas[slot] for slot in range(part.slots)]
            for owner in owners:
                yield name, getattr(owner, name), getattr(lists, array)
    if tiers is not None and part.tiered:
        for array, (_, names) in TIER_PARTITION_LISTS.items():
            yield f"tier {names[0]}", getattr(tiers.whole[0], names[0]), getattr(tiers, array)
        for array, (_, names) in TIER_REPLICA_LISTS.items():
            for slot in range(part.slots):
                yield f"tier {names[0]}", getattr(tiers.replicas[slot], names[0]), getattr(tiers, array)


def play_watched_round(
    lists: Lists, tiers: TierLists | None, readers: ReaderLists | None, inputs: Inputs, part: Partition, replicas: Rows[Replica]
) -> None:
    """As play_round; entries of lists that did not count a change must be as they were."""
    before = [
        (span.changes, words_of(entries)[span.start : span.start + span.count].copy())
        for _, span, entries in lists_of(lists, tiers, part, replicas)
    ]
    play_round(lists, tiers, readers, inputs, part, replicas)
    for (changes, words), (name, span, entries) in zip(before, lists_of(lists, tiers, part, replicas), strict=True):
        seen.add(f"{name}, {'changed' if span.changes != changes else 'as it was'}")
        now = words_of(entries)[span.start : span.start + span.count]
        if span.changes == changes and (now.shape != words.shape or (now != words).any()):
            told.add(f"list {name}: entries change, and it does not count that")


def main() -> int:
    """Returns how much does not hold."""
    play_with_quick_rows()
    play_partitions.play_round, play_partitions.look_at_all = play_watched_round, look_at_changed  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        tiered = scenarios_of_schedules((0, 2, 25, *range(1100, 1110)), 1, False, Path(folder))
        core = scenarios_of(core_toml(random_batch(24, 20, True, True)), Path(folder)).scenarios
        for scenarios in (tiered, core):
            played(scenarios, traced=False, leaps=True)
    records = {record.__name__ for record in (Partition, Replica, TierPartition, TierReplica)}
    told.update(f"{name}: was never seen" for name in records - seen)
    lists = {name.split(",")[0] for name in seen - records} - {"late_runs"}  # a mutant's
    told.update(f"list {name}: was never seen to change" for name in lists if f"{name}, changed" not in seen)
    print("\n".join(sorted(told)))
    return len(told)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
