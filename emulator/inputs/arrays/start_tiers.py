"""What a block's partitions have in remote storage before round 0, and on their disks (docs/tiered_rounds.md, Start)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from emulator.inputs.arrays.columns import PackedLists
from emulator.inputs.arrays.given import LEO, LOCAL_START, LOG_START
from emulator.rounds.kafka.constants import BEFORE_THE_RUN, NO_EPOCH, NOBODY, UNKNOWN
from emulator.rounds.kafka.list_records import EpochEntry
from emulator.rounds.kafka.state import TIER_PARTITION_LISTS, TIER_REPLICA_LISTS
from emulator.rounds.kafka.tier.records import (
    COPY_FINISHED,
    COPY_STARTED,
    DELETE_FINISHED,
    LEADER_DUTY,
    NO_SEGMENT,
    NOT_DELETED,
    NOT_LOOKED_UP,
    RemoteEvent,
    RemoteSegment,
    TierPartition,
    TierReplica,
)
from emulator.rounds.packed import Packed, packed, packed_empty, width_of
from emulator.rounds.records import rows, words_of

_TIER_PARTITION = {"seen_changes": UNKNOWN, "seen_epoch": NO_EPOCH}
_TIER_REPLICA = {
    "duty_epoch": NO_EPOCH,
    "copied": NOT_LOOKED_UP,
    "copying": NO_SEGMENT,
    "copy_share_bytes": UNKNOWN,
    "copy_starts": UNKNOWN,
    "copy_from": UNKNOWN,
    "copy_from_bytes": UNKNOWN,
    "network_bytes": UNKNOWN,
    "aux_leader": NOBODY,
    "aux_leader_epoch": NO_EPOCH,
    "aux_start": UNKNOWN,
    "last_own": -1,
}
"""Fields that are not 0 at the start."""


def filled(record: type, count: int, values: Mapping[str, int]) -> Any:
    """Records with these values, 0 elsewhere."""
    one, records = rows(record, 1), rows(record, count)
    for name, value in values.items():
        one[name] = value
    if count:
        words_of(records)[:] = words_of(one)
    return records


def have_enough(columns: Mapping[str, np.ndarray], offsets: np.ndarray, of: np.ndarray, slot: np.ndarray) -> np.ndarray:
    """By partition the mask of replicas that have enough of the log themselves (KIP-1303); all that is there spans no time.

    `offsets`: of logs (given.py); `of`, `slot`: by replica its partition and its slot.
    """
    local_bytes = (offsets[:, LEO] - offsets[:, LOCAL_START]) * columns["record_bytes"][of]
    least = columns["enough_bytes"][of]
    enough = (columns["by_local_log"][of] == 0) | (offsets[:, LOCAL_START] == offsets[:, LOG_START])
    enough |= (least > 0) & (local_bytes >= least)
    masks = np.zeros(len(columns["slots"]), np.int64)
    np.bitwise_or.at(masks, of, np.where(enough & (slot < columns["replicas"][of]), 1 << slot, 0))
    return masks


def tiers_at_start(
    columns: Mapping[str, np.ndarray], caches: Packed, remotes: PackedLists, remote_epochs: PackedLists
) -> dict[str, Any]:
    """Fields of State; all are empty where no partition of the block is ever tiered, or read.

    `caches`: by replica, its epoch cache. `remotes`, `remote_epochs`: by number of column `remote` (storage.given_remote).
    """
    has = bool(columns["tiered"].any() or columns["is_read"].any())
    partitions = len(columns["slots"]) if has else 0
    replicas = int(columns["slots"].sum()) if has else 0
    tier = filled(TierPartition, partitions, _TIER_PARTITION)
    for name in ("store", "was_tiered", "has_transactions"):
        tier[name] = columns[name][:partitions]
    empty = {
        **{name: packed_empty(width_of(record), partitions) for name, (record, _) in TIER_PARTITION_LISTS.items()},
        **{name: packed_empty(width_of(record), replicas) for name, (record, _) in TIER_REPLICA_LISTS.items()},
    }
    tiers = filled(TierReplica, replicas, _TIER_REPLICA)
    given = _given_remote(columns, caches, remotes, remote_epochs, tiers) if has and remotes.counts.any() else {}
    return {"tier": tier, "tiers": tiers, **empty, **given}


def _given_remote(
    columns: Mapping[str, np.ndarray], caches: Packed, remotes: PackedLists, remote_epochs: PackedLists, tiers: Any
) -> dict[str, Packed]:
    """Remote segments of the start: each went through all states before its own, known to all, or to nobody yet.

    Of those unread it is as if they did in round 0. Into `tiers` goes the copy that is under way.
    """
    first_slot = np.cumsum(columns["slots"]) - columns["slots"]
    segments: list[list[Any]] = []
    epochs: list[list[tuple[int, int]]] = []
    events: list[list[Any]] = []
    for partition, number in enumerate(columns["remote"].tolist()):
        segments.append([])
        epochs.append([])
        events.append([])
        unread: list[tuple[int, int, int, int]] = []
        leader = int(columns["leader"][partition])
        own = remote_epochs.rows[remote_epochs.offsets[number] : remote_epochs.offsets[number + 1]].tolist()
        given = remotes.rows[remotes.offsets[number] : remotes.offsets[number + 1]]
        for base, end, size, state, count, slot, is_unread, moved in given.tolist():
            cache, own = own[:count], own[count:]
            if not count and leader >= 0:
                at = int(first_slot[partition]) + leader
                cache = caches.words[caches.offsets[at] : caches.offsets[at + 1], :2].tolist()
            checkpoint = [(epoch, start) for epoch, start in cache if start <= end]
            inside = [(epoch, max(start, base)) for epoch, start in _from(checkpoint, base)]
            row = {
                "base_offset": base, "end_offset": end, "size_bytes": size, "state": state,
                "slot": leader if slot == NOBODY else slot,
                "first_epoch": len(epochs[-1]), "epochs": len(inside),
                "first_checkpoint": len(epochs[-1]) + len(inside), "checkpoints": len(checkpoint),
                "leader_epoch": inside[-1][0] if inside else 0,
                "was_finished": int(state >= COPY_FINISHED),
                "stored_bytes": 0 if state in (COPY_STARTED, DELETE_FINISHED) else size,
                "moved_bytes": max(moved, 0), "started_round": UNKNOWN, "copied_round": UNKNOWN, "deleted_epoch": UNKNOWN,
                "deleted_round": BEFORE_THE_RUN if state == DELETE_FINISHED else NOT_DELETED,
            }  # fmt: skip
            at_round = 0 if is_unread else BEFORE_THE_RUN
            told = [(at_round, len(segments[-1]), entered, NOBODY) for entered in range(COPY_STARTED, state + 1)]
            if moved != UNKNOWN:
                copying = tiers[int(first_slot[partition]) + leader]
                copying.duty, copying.duty_epoch = LEADER_DUTY, int(columns["epoch"][partition])
                copying.copying, copying.left_bytes = len(segments[-1]), size - moved
            segments[-1].append(filled(RemoteSegment, 1, row))
            epochs[-1] += [*inside, *checkpoint]
            (unread if is_unread else events[-1]).extend(told)
        events[-1] += unread
    return {
        "remote": packed(width_of(RemoteSegment), [_joined(RemoteSegment, one) for one in segments]),
        "remote_epochs": packed(width_of(EpochEntry), [_rows(EpochEntry, one) for one in epochs]),
        "remote_events": packed(width_of(RemoteEvent), [_rows(RemoteEvent, one) for one in events]),
    }


def _from(entries: list[tuple[int, int]], offset: int) -> list[tuple[int, int]]:
    """The entries from that on which holds the offset."""
    before = [at for at, (_, start) in enumerate(entries) if start <= offset]
    return entries[before[-1] if before else 0 :]


def _joined(record: type, one_by_one: list[Any]) -> Any:
    return np.concatenate(one_by_one).view(np.recarray) if one_by_one else rows(record, 0)


def _rows(record: type, values: list[Any]) -> Any:
    """Records of these values, in the order of their fields."""
    records = rows(record, len(values))
    if values:
        words_of(records)[:] = values
    return records
