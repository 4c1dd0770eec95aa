"""A replica's leader epoch cache: entries (epoch, start offset), both strictly rising (storage: LeaderEpochFileCache)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import NO_EPOCH
from emulator.rounds.kafka.list_records import EpochEntry
from emulator.rounds.kafka.records import Replica
from emulator.rounds.lists import append, drop_first, keep_first, last
from emulator.rounds.records import Rows


@compiled_into_callers
def latest_epoch(epochs: Rows[EpochEntry], replica: Replica) -> int:
    """The last entry's epoch, NO_EPOCH without entries (latestEpoch)."""
    return epochs[last(replica.epochs)].epoch if replica.epochs.count else NO_EPOCH


@compiled_into_callers
def assign_epoch(epochs: Rows[EpochEntry], replica: Replica, epoch: int, start_offset: int) -> None:
    """Add an entry; those at the same or a higher epoch or offset go. The last epoch keeps its start (assign)."""
    if replica.epochs.count:
        entry = epochs[last(replica.epochs)]
        if entry.epoch == epoch and entry.start_offset <= start_offset:
            return
    kept = replica.epochs.count
    while kept:
        entry = epochs[replica.epochs.start + kept - 1]
        if entry.epoch < epoch and entry.start_offset < start_offset:
            break
        kept -= 1
    keep_first(replica.epochs, kept)
    entry = epochs[append(replica.epochs)]
    entry.epoch = epoch
    entry.start_offset = start_offset


@compiled
def cut_epochs_from(epochs: Rows[EpochEntry], replica: Replica, offset: int) -> None:
    """Entries that start at or above an offset go, also when it is the LEO or above (truncateFromEnd, KAFKA-10706)."""
    kept = replica.epochs.count
    while kept and epochs[replica.epochs.start + kept - 1].start_offset >= offset:
        kept -= 1
    keep_first(replica.epochs, kept)


@compiled
def cut_epochs_below(epochs: Rows[EpochEntry], replica: Replica, offset: int) -> None:
    """Entries wholly below a new log start go; the one that holds it starts there now (truncateFromStart)."""
    gone = 0
    while gone + 1 < replica.epochs.count and epochs[replica.epochs.start + gone + 1].start_offset <= offset:
        gone += 1
    drop_first(replica.epochs, gone)
    if replica.epochs.count and epochs[replica.epochs.start].start_offset < offset:
        epochs[replica.epochs.start].start_offset = offset
        replica.epochs.changes += 1


@compiled_into_callers
def end_of_epoch(epochs: Rows[EpochEntry], replica: Replica, entries: int, leo: int, epoch: int) -> tuple[int, int]:
    """(the largest epoch <= `epoch`, where it ends) by the first `entries` of the cache and a LEO (endOffsetFor).

    (NO_EPOCH, -1) above the last epoch and without entries; (`epoch`, the first start) below the first.
    """
    first = replica.epochs.start
    if entries == 0 or epoch > epochs[first + entries - 1].epoch:
        return NO_EPOCH, -1
    at = first + entries - 1
    if epochs[at].epoch == epoch:
        return epoch, leo
    while at >= first and epochs[at].epoch > epoch:
        at -= 1
    if at < first:
        return epoch, epochs[first].start_offset
    return epochs[at].epoch, epochs[at + 1].start_offset


@compiled
def start_of_next_epoch(epochs: Rows[EpochEntry], replica: Replica, entries: int, leo: int, epoch: int) -> int:
    """Where the next higher epoch starts, the LEO if there is none; -1 above the last epoch and without entries (KIP-101)."""
    first = replica.epochs.start
    if entries == 0 or epoch > epochs[first + entries - 1].epoch:
        return -1
    for at in range(first, first + entries):
        if epochs[at].epoch > epoch:
            return epochs[at].start_offset
    return leo


@compiled
def place_of_epoch(epochs: Rows[EpochEntry], replica: Replica, epoch: int) -> int:
    """Where the largest epoch <= `epoch` stands, -1 if there is none."""
    for at in range(last(replica.epochs), replica.epochs.start - 1, -1):
        if epochs[at].epoch <= epoch:
            return at
    return -1


@compiled
def own_end_of(epochs: Rows[EpochEntry], replica: Replica, at: int) -> int:
    """Where the epoch at a place of the cache ends."""
    return replica.leo if at == last(replica.epochs) else epochs[at + 1].start_offset
