"""Rounds of readers in random schedules of the plain-Python reference: what they were, what they saw, what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.expressions.kafka.reading.types import CAUSES, COUNTERS, EARLIEST, LATEST, NO_POLICY
from tests.reference.consumers.reader import Reader, Unread
from tests.reference.consumers.settings import Row
from tests.reference.consumers.simulate import consume_all, lag_of
from tests.reference.consumers.site import Site, serving_leader, site_of, watch_memory
from tests.reference.consumers.sources import IndexCache
from tests.reference.log import Record
from tests.reference.partition import Replica
from tests.reference.tiered.metadata import RemoteSegment
from tests.reference.tiered.simulate import play_round
from tests.reference.tiered.store import copy_bytes

STARTS = {"earliest": EARLIEST, "latest": LATEST, "none": NO_POLICY}
KINDS = {"stretch": 0, "skip": 1, "loss": 2}
BYTES_BEFORE = 1234
"""Of the log, below the local log start."""


def situations(seed: int, case: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each replica that readers ask in a round of a case: their states before and after, and what it has."""
    site = site_of([case], 0, budgets={})
    caches = {broker: IndexCache() for broker in case["brokers"]}
    rows = []
    for now in range(case["rounds"]):
        site.partition.now = now
        play_round(site.partition)
        watch_memory(site, caches)
        before = {name: row_before(site, reader, caches) for name, reader in site.readers.items()}
        in_force, _ = consume_all([site], caches)
        for _, reader in in_force:
            reader.max_lag = max(reader.max_lag, lag_of(site, reader))
        rows += [{"seed": seed, **row} for row in _together(site, before, caches)]
        site.log_starts = {broker: replica.log.log_start for broker, replica in site.partition.replicas.items()}
    return rows


def _together(site: Site, before: Mapping[str, dict[str, Any] | None], caches: Mapping[int, IndexCache]) -> list[dict[str, Any]]:
    """The rows of one round, those of readers that ask the same replica as one."""
    rows: dict[int, dict[str, Any]] = {}
    for name, of_reader in before.items():
        if of_reader is None:
            continue
        slot = of_reader["asked"]
        row = rows.setdefault(slot, {**of_reader, **{key: [] for key in ("readers", "wants", "segments", "after")}})
        for key in ("reader", "want", "segment"):
            row[f"{key}s"].append(of_reader[key])
        row["after"].append(reader_row(site.readers[name]))
        row["cache_after"] = _cache(caches[slot])
    return [{key: value for key, value in row.items() if key not in ("reader", "want", "segment")} for row in rows.values()]


def _cache(cache: IndexCache) -> list[dict[str, int]]:
    return [{"segment": segment, "bytes": size} for (_, segment), size in cache.entries.items()]


def row_before(site: Site, reader: Reader, caches: Mapping[int, IndexCache]) -> dict[str, Any] | None:
    """The reader and the replica that it asks."""
    partition = site.partition
    if partition.leadership is None:
        return None
    leadership, leader = partition.leadership, partition.leadership.broker
    known = reader.leader == (leadership.broker, leadership.epoch)
    follows = reader.replica is not None and known and site.now < reader.replica_until
    asked = reader.replica if follows and reader.replica is not None else leader
    replica = partition.replicas.get(asked) or Replica(asked, partition.empty_log())
    return {
        "reader": reader_row(reader),
        "want": _want(site, site.row_of(reader.group)),
        "segment": _segment(site, reader, replica),
        "asked": asked,
        "is_lead": asked == leader,
        **_facts(site, replica),
        **_shared(site, asked, caches[asked]),
    }


def _facts(site: Site, replica: Replica) -> dict[str, Any]:
    """What a replica has, and knows, at the end of a round."""
    partition, broker = site.partition, replica.broker
    leadership, status = partition.leadership, partition.status(broker)
    assert leadership is not None
    leads = serving_leader(partition) is not None
    runs = broker in partition.replicas and status.running and not status.clients_cut
    return {
        "now": site.now,
        "serves": leads if broker == leadership.broker else runs,
        "client_leader": leadership.broker,
        "client_epoch": leadership.epoch,
        "leader_epoch_start": leadership.start_offset,
        "leader_hw": site.committed_end(),
        "believed_epoch": replica.believed_epoch,
        "leo": replica.log.leo,
        "hw": replica.hw,
        "last_stable_offset": partition.last_stable_offset(replica),
        "log": _runs(replica),
        "log_bytes": BYTES_BEFORE + sum(record.size_bytes for record in replica.log.records),
        "epochs": epochs_row(replica.log.cache.entries),
        "log_start": replica.log.log_start,
        "local_log_start": replica.log.local_log_start,
        "is_tiered": partition.settings.is_tiered,
        "is_deleted": partition.deleted,
        "cold_below": site.cold_below.get(broker),
        "page_cache_bytes": site.shares[broker],
        "followers": [
            {
                "slot": other,
                "broker": other,
                "remote_leo": progress.remote_leo,
                "caught_up_round": progress.caught_up_round,
                "log_start_offset": site.log_starts.get(other, 0),
            }
            for other, progress in leadership.progress.items()
        ],
        "isr": _mask(partition.isr_known_to(leadership)),
        "store_up": partition.store_up,
        "lists_metadata": partition.store.metadata == "list",
        "store_bytes": copy_bytes(site.store.read_bytes_per_second, partition.faults, site.now, partition.settings.round_ms),
    }


def _shared(site: Site, broker: int, cache: IndexCache) -> dict[str, Any]:
    """What the broker gives remote reads."""
    settings, read_ms = site.partition.settings, site.store.read_ms
    threads = int(settings.of_broker(broker, "remote.log.reader.threads"))
    return {
        "reads": threads * max(1, settings.round_ms // read_ms) if read_ms > 0 else None,
        "queue": settings.of_broker(broker, "remote.log.reader.max.pending.tasks"),
        "quota_bytes": settings.quota_bytes(broker),
        "cache": _cache(cache),
        "cache_bytes": settings.of_broker(broker, "remote.log.index.file.cache.total.size.bytes"),
    }


def _want(site: Site, row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    racks = site.partition.case["racks"]
    in_rack = None if row.rack is None else _mask(broker for broker in racks if racks[broker] == row.rack)
    return {
        "start": STARTS.get(str(row.starts_at), row.starts_at),
        "reset": STARTS[row.reset],
        "reads_committed": row.reads_committed,
        "records_per_round": row.records_per_round,
        "fetch_bytes": row.fetch_bytes,
        "max_age_rounds": max(1, int(row.setting("metadata.max.age.ms")) // site.partition.settings.round_ms),
        "in_rack": in_rack,
        "serves_rack": (in_rack or 0) if site.partition.settings.followers_serve else 0,
    }


def _mask(brokers: Any) -> int:
    return sum(1 << broker for broker in brokers)


def epochs_row(epochs: Any) -> list[dict[str, int]]:
    return [{"epoch": epoch, "start_offset": start} for epoch, start in epochs]


def _runs(replica: Replica) -> list[dict[str, Any]]:
    """The local log as runs of batches of one record; an epoch that starts at the LEO has a run without any."""
    runs: list[dict[str, Any]] = []
    at = BYTES_BEFORE
    for record in replica.log.records:
        if not runs or (runs[-1]["epoch"], runs[-1]["batch_bytes"]) != (record.epoch, record.size_bytes):
            runs.append(_run(record, at))
        at += record.size_bytes
    epochs = replica.log.cache.entries
    if epochs and epochs[-1][1] == replica.log.leo:
        runs.append({**_run(Record(epochs[-1][0], epochs[-1][1], (0, 0, 0), 0), at), "batch_records": 0})
    return runs


def _run(record: Record, start_bytes: int) -> dict[str, Any]:
    return {
        "start_offset": record.offset,
        "epoch": record.epoch,
        "start_bytes": start_bytes,
        "batch_records": 1,
        "batch_bytes": record.size_bytes,
        "pattern": None,
    }


def _segment(site: Site, reader: Reader, replica: Replica) -> dict[str, Any] | None:
    if reader.position is None:
        return None
    epoch = replica.log.cache.epoch_of(reader.position)
    found = None if epoch is None else site.partition.index_of(replica.broker).lookup(epoch, reader.position)
    return None if found is None else segment_row(found)


def segment_row(one: RemoteSegment) -> dict[str, Any]:
    return {
        "id": one.id,
        "base_offset": one.base_offset,
        "end_offset": one.end_offset,
        "epochs": epochs_row(one.epochs),
        "bytes": one.size_bytes,
        "stored_bytes": one.stored_bytes,
    }


def reader_row(reader: Reader) -> dict[str, Any]:
    """A reader as the state has it."""
    leader, epoch = (None, None) if reader.leader is None else reader.leader
    stretch = reader.stretch
    return {
        "position": reader.position,
        "epoch": reader.epoch,
        "leader": leader,
        "leader_epoch": epoch,
        "replica": reader.replica,
        "replica_until": reader.replica_until,
        "reset_cause": None if reader.reset_cause is None else CAUSES.index(reader.reset_cause),
        "stopped": None if reader.stopped is None else CAUSES.index(reader.stopped),
        "remote_round": reader.remote_round,
        "max_lag": reader.max_lag,
        "stretch": None
        if stretch is None
        else {
            "cause": CAUSES.index(stretch.cause),
            "slot": stretch.broker,
            "from_round": stretch.from_round,
            "last_round": stretch.last_round,
            "from_offset": stretch.from_offset,
            "to_offset": stretch.to_offset,
        },
        "waited": [reader.waited_rounds[cause] for cause in CAUSES],
        "unread": [_unread(row) for row in reader.unread],
        **{name: reader.counts[name] for name in COUNTERS},
    }


def _unread(row: Unread) -> dict[str, Any]:
    return {
        "kind": KINDS[row.kind],
        "from_round": row.from_round,
        "to_round": row.to_round,
        "from_offset": row.from_offset,
        "to_offset": row.to_offset,
        "cause": CAUSES.index(row.cause),
        "slot": row.broker,
    }
