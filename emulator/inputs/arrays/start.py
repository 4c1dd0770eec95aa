"""The state of a block of partitions before round 0 (docs/kafka_rounds.md, Start)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from emulator.inputs.arrays.columns import PackedLists, offsets_of
from emulator.inputs.arrays.given import FLUSHED, HW, LEO, LOCAL_START, LOG_START
from emulator.inputs.arrays.start_readers import readers_at_start
from emulator.inputs.arrays.start_tiers import filled, have_enough, tiers_at_start
from emulator.rounds.kafka.constants import (
    ACKS_ALL,
    ACKS_NONE,
    BEFORE_THE_RUN,
    FOREVER,
    NEVER,
    NO_EPOCH,
    NOBODY,
    NOT_COVERED,
    UNKNOWN,
)
from emulator.rounds.kafka.list_records import EpochEntry, News, RecordRange, Run, Segment, Sent
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.state import LIST_RECORDS, State
from emulator.rounds.packed import Packed
from emulator.rounds.records import rows, words_of
from emulator.rounds.slots import MAX_SLOTS, ORDER_BITS

_ORDERS = np.array([sum((slot + 1) << (slot * ORDER_BITS) for slot in range(n)) for n in range(MAX_SLOTS + 1)], np.int64)

_PARTITION = {
    "lead_round": BEFORE_THE_RUN,
    "lead_cause": -1,
    "sent_pattern": UNKNOWN,
    "produce_quota_bytes": UNKNOWN,
    "refusing_slot": NOBODY,
    "leader": NOBODY,
    "client_leader": NOBODY,
    "first_leader": NOBODY,
    "client_epoch": NO_EPOCH,
    "lead_broker": NOBODY,
    "lead_epoch": NO_EPOCH,
}
_REPLICA = {
    "cause": -1,
    "disk_bytes": UNKNOWN,
    "quota_bytes": UNKNOWN,
    "lacked_bytes": UNKNOWN,
    "fetch_max_bytes": UNKNOWN,
    "response_max_bytes": UNKNOWN,
    "no_wait": UNKNOWN,
    "news_lag": NOT_COVERED,
    "highest_remote": UNKNOWN,
    "remote_leo": UNKNOWN,
    "recovery_epoch": NO_EPOCH,
    "recovery_leo": UNKNOWN,
    "late_leader": NOBODY,
    "unlike_from": UNKNOWN,
    "alike_again": UNKNOWN,
    "damaged_round": FOREVER,
    "damaged_from": UNKNOWN,
    "damaged_to": UNKNOWN,
    "compares": 1,
}
"""Fields that are not 0 at the start, whatever is given."""


class Logs(NamedTuple):
    """The logs of a block's replicas: LEO, HW, LOG_START, FLUSHED, LOCAL_START by replica, and lists as they were given.

    `epochs`: their epoch caches; `bases`: of segments above the local log start.
    """

    offsets: np.ndarray
    epochs: PackedLists
    bases: PackedLists


def start_state(
    columns: Mapping[str, np.ndarray], logs: Logs, remotes: PackedLists, remote_epochs: PackedLists, wants: PackedLists
) -> State:
    """The state at round 0.

    `remotes`, `remote_epochs`: by number of column `remote` what is remote (storage.given_remote).

    `columns`, by partition: number, scenario, slots, replicas, leader, epoch, isr, elr, record_bytes, pattern (of one initial
    record), stale_class, traced, keeps_segments, first_acks, settings, workload, command, rounds, late_news, asks; by
    replica: broker, broker_place, rack, span; those of `tiers_at_start` and `readers_at_start`, which has `wants`.
    """
    slots = columns["slots"]
    first = np.cumsum(slots) - slots
    of = np.repeat(np.arange(len(slots)), slots)
    slot = np.arange(len(of)) - first[of]
    leads = slot == columns["leader"][of]
    leader = columns["leader"]
    led = np.flatnonzero(leader >= 0)
    lead = (first + leader)[led]  # place of the leader, of partitions that have one
    given = _with_first_epochs(logs)
    runs, run_of = _runs(given, logs.offsets, columns, of)
    cache, cache_of = _caches(given, logs.offsets, leads, columns["epoch"][of])
    active = _active_bases(logs)
    segments, segment_of = _segments(logs, columns["record_bytes"][of], columns["keeps_segments"][of] != 0)
    replicas = _replicas(columns, logs.offsets, active, of, slot, leads)
    partitions = _partitions(columns, logs.offsets, first, led, lead)
    last = np.searchsorted(cache_of, lead, "right") - 1
    partitions["has_enough"] = have_enough(columns, logs.offsets, of, slot)
    partitions["epoch_start"][led] = partitions["owes_from"][led] = cache["start_offset"][last]
    partitions["owes_in_run"][led] = np.maximum(cache["start_offset"][last], logs.offsets[lead, LEO])
    entries = np.flatnonzero(leads[run_of])
    ranges = rows(RecordRange, len(entries))
    ranges["epoch"] = runs["epoch"][entries]
    ranges["from_offset"] = np.maximum(runs["start_offset"][entries], logs.offsets[run_of[entries], LOG_START])
    ranges["to_offset"] = _ends(runs["start_offset"], run_of, logs.offsets)[entries]
    begun = of[run_of[entries]]
    unacknowledged = np.flatnonzero(columns["first_acks"][begun] == ACKS_NONE)
    sent = filled(Sent, len(unacknowledged), {"pattern": UNKNOWN})
    for name in ("epoch", "from_offset", "to_offset"):
        sent[name] = ranges[name][unacknowledged]
    on_disk = np.flatnonzero(_ends(runs["start_offset"], run_of, logs.offsets) > logs.offsets[run_of, LOCAL_START])
    late = np.flatnonzero(columns["late_news"])
    news = filled(News, len(late), {"at_round": BEFORE_THE_RUN})
    news["leader"], news["epoch"] = leader[late], columns["epoch"][late]
    epochs = _packed("epochs", cache, cache_of, len(of))
    return State(
        partitions,
        replicas,
        runs=_packed("runs", runs[on_disk], run_of[on_disk], len(of)),
        epochs=epochs,
        segments=_packed("segments", segments, segment_of, len(of)),
        ranges=_packed("ranges", ranges, begun, len(slots)),
        sent=_packed("sent", sent, begun[unacknowledged], len(slots)),
        news=_packed("news", news, late, len(slots)),
        **tiers_at_start(columns, epochs, remotes, remote_epochs),
        **readers_at_start(columns, wants),
    )


def _active_bases(logs: Logs) -> np.ndarray:
    """By replica the base of its last segment."""
    active = logs.offsets[:, LOCAL_START].copy()
    has = np.flatnonzero(logs.bases.counts)
    active[has] = logs.bases.rows[logs.bases.offsets[has + 1] - 1, 0]
    return active


def _segments(logs: Logs, record_bytes: np.ndarray, keeps: np.ndarray) -> tuple[Any, np.ndarray]:
    """(closed segments, the replicas that have them): the first begins at the local log start, the others where it is given."""
    counts = logs.bases.counts * keeps
    replica = np.repeat(np.arange(len(counts)), counts)
    first = np.ones(len(replica), bool)
    first[1:] = replica[1:] != replica[:-1]
    segments = filled(Segment, len(replica), {})
    ends = logs.bases.rows[:, 0]
    base = np.where(first, logs.offsets[replica, LOCAL_START], np.append(0, ends[:-1])[: len(ends)])
    segments["base_offset"] = base
    segments["size_bytes"] = (ends - base) * record_bytes[replica]
    return segments, replica


def _replicas(
    columns: Mapping[str, np.ndarray],
    offsets: np.ndarray,
    active: np.ndarray,
    of: np.ndarray,
    slot: np.ndarray,
    leads: np.ndarray,
) -> Any:
    replicas = filled(Replica, len(of), _REPLICA)
    for name in ("broker", "broker_place", "rack", "span"):
        replicas[name] = columns[name]
    is_replica = slot < columns["replicas"][of]
    leader, epoch, size = (columns[name][of] for name in ("leader", "epoch", "record_bytes"))
    leo, hw, log_start = offsets[:, LEO], offsets[:, HW], offsets[:, LOG_START]
    replicas["believed_leader"] = np.where(is_replica, leader, NOBODY)
    replicas["believed_epoch"] = np.where(is_replica, epoch, NO_EPOCH)
    replicas["leading_epoch"] = np.where(leads, epoch, NO_EPOCH)
    replicas["truncating"] = is_replica & ~leads & (columns["asks"][of] != 0)
    replicas["log_start"], replicas["leo"], replicas["hw"] = log_start, leo, hw
    replicas["log_bytes"] = leo * size
    replicas["checkpoint"] = hw
    replicas["flushed"] = offsets[:, FLUSHED]
    replicas["local_start"] = offsets[:, LOCAL_START]
    replicas["active_base"] = active
    replicas["active_bytes"] = (leo - active) * size
    replicas["remote_leo"] = np.where(is_replica & ~leads & (leo == 0), 0, UNKNOWN)
    replicas["caught_up"] = np.where(is_replica, 0, NEVER)
    replicas["noted_round"] = np.where(is_replica, BEFORE_THE_RUN, NEVER)
    replicas["noted_leader_leo"] = np.where(is_replica, 0, UNKNOWN)
    return replicas


def _partitions(
    columns: Mapping[str, np.ndarray], offsets: np.ndarray, first: np.ndarray, led: np.ndarray, lead: np.ndarray
) -> Any:
    parts = filled(Partition, len(first), _PARTITION)
    for name in (
        *("number", "scenario", "slots", "stale_class", "traced", "keeps_segments", "tiered"),
        *("settings", "workload", "command", "leader", "epoch", "isr", "elr"),
    ):
        parts[name] = columns[name]
    parts["place"] = np.arange(len(first))
    parts["first_replica"] = first
    parts["end"] = columns["rounds"]
    parts["assigned"] = (1 << columns["replicas"]) - 1
    parts["order"] = _ORDERS[columns["replicas"]]
    parts["client_leader"] = columns["leader"]
    parts["first_leader"][led] = columns["broker"][lead]
    parts["known_isr"] = columns["isr"]
    leo, hw, log_start = offsets[lead, LEO], offsets[lead, HW], offsets[lead, LOG_START]
    parts["client_epoch"][led] = parts["lead_epoch"][led] = columns["epoch"][led]
    parts["lead_broker"][led] = columns["broker"][lead]
    parts["lead_runs"][led] = 1
    parts["lead_log_start"][led] = log_start
    parts["lead_hw"][led] = parts["leader_hw"][led] = hw
    parts["lead_acked_before"][led] = np.where(columns["first_acks"][led] != ACKS_ALL, leo, hw)
    return parts


def _with_first_epochs(logs: Logs) -> PackedLists:
    """The caches; where none is given, records are of epoch 0."""
    leo, log_start = logs.offsets[:, LEO], logs.offsets[:, LOG_START]
    counts = logs.epochs.counts
    bare = np.flatnonzero((counts == 0) & (leo > log_start))
    if not len(bare):
        return logs.epochs
    added = counts.copy()
    added[bare] = 1
    offsets = offsets_of(added)
    entries = np.zeros((int(offsets[-1]), 2), np.int64)
    others = np.ones(len(entries), bool)
    others[offsets[bare]] = False
    entries[others] = logs.epochs.rows
    entries[offsets[bare], 1] = log_start[bare]
    return PackedLists(entries, offsets)


def _ends(start: np.ndarray, of: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Where entries end: where the next one of the replica starts, the LEO for its last."""
    ends = offsets[of, LEO]
    same = of[1:] == of[:-1]
    ends[:-1][same] = start[1:][same]
    return ends


def _runs(given: PackedLists, offsets: np.ndarray, columns: Mapping[str, np.ndarray], of: np.ndarray) -> tuple[Any, np.ndarray]:
    """(runs of one record each, the replicas that have them); none without a record from the log start on."""
    replica = np.repeat(np.arange(len(given.counts)), given.counts)
    epoch, start = given.rows.T
    kept = np.flatnonzero((start < offsets[replica, LEO]) & (_ends(start, replica, offsets) > offsets[replica, LOG_START]))
    runs, replica = filled(Run, len(kept), {"first_round": -1}), replica[kept]
    runs["start_offset"], runs["epoch"] = start[kept], epoch[kept]
    runs["pattern"] = columns["pattern"][of[replica]]
    runs["start_bytes"] = start[kept] * columns["record_bytes"][of[replica]]
    return runs, replica


def _caches(given: PackedLists, offsets: np.ndarray, leads: np.ndarray, leader_epoch: np.ndarray) -> tuple[Any, np.ndarray]:
    """(entries of leader epoch caches, the replicas that have them): from the log start on, the leader's epoch at its LEO."""
    replica = np.repeat(np.arange(len(given.counts)), given.counts)
    epoch, start = given.rows.T
    latest = np.full(len(given.counts), NO_EPOCH)
    ends = np.flatnonzero(np.diff(replica, append=-1))
    latest[replica[ends]] = epoch[ends]
    assigned = np.flatnonzero(leads & (latest < leader_epoch))  # LeaderEpochFileCache.assign
    limit = np.full(len(given.counts), FOREVER << 20)
    limit[assigned] = offsets[assigned, LEO]
    covered = np.append((replica[1:] == replica[:-1]) & (start[1:] <= offsets[replica[1:], LOG_START]), False)[: len(start)]
    start = np.maximum(start, offsets[replica, LOG_START])  # LeaderEpochFileCache.truncateFromStart
    kept = np.flatnonzero(~covered & (start < limit[replica]))
    of = np.concatenate([replica[kept], assigned])
    order = np.argsort(of, kind="stable")
    cache = rows(EpochEntry, len(of))
    cache["epoch"] = np.concatenate([epoch[kept], leader_epoch[assigned]])[order]
    cache["start_offset"] = np.concatenate([start[kept], offsets[assigned, LEO]])[order]
    return cache, of[order]


def _packed(field: str, records: Any, of: np.ndarray, count: int) -> Packed:
    """Lists of a field of State, packed: the first kind of each of `count` has these records, in order; the others are empty."""
    record, kinds = LIST_RECORDS[field]
    counts = np.zeros((count, len(kinds)), np.int64)
    counts[:, 0] = np.bincount(of, minlength=count)
    words = words_of(records) if len(records) else np.zeros((0, words_of(rows(record, 1)).shape[1]), np.int64)
    return Packed(np.ascontiguousarray(words), offsets_of(counts.reshape(-1)))
