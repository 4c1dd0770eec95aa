"""Simulates consumer groups on tiered partitions round by round, as docs/consumer_rounds.md says.

    simulate(case) -> Result          simulate_together(cases) -> [Result]

A case is one of the tiered reference (tiered/simulate.py) with

    "consumers": [{"group", "start", "records_per_round", "bytes_per_round", "from_round", "to_round", "rack", "members",
    "config"}], all but the group optional; "page_cache_bytes" of each broker; in "remote_storage" also
    "read_bytes_per_second" and "read_ms"; "read_rules": ReadRules (rules.py).

Cases that are simulated together are partitions on the same brokers, in the order of a group's partitions: they share page
caches, index caches, reader threads and quotas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..kafka import partition_row
from ..tiered.simulate import play_rounds
from ..tiered.store import CopyBudget
from . import invariants
from .consuming import consume
from .reader import COUNTERS, Reader, Unread
from .remote import allowed_by_store, end_with_what_was_dealt, make_remote_read, wanted_bytes
from .sharing import RemoteRead, deal_fetches, deal_threads, note_who_was_dealt_some, share_quota
from .site import Site, site_of, watch_memory
from .sources import IndexCache

Case = Mapping[str, Any]


@dataclass
class Result:
    """What the groups read: `trace` has a row for each reader in force and round, `consumer_groups` one for
    each reader; `trace_partitions` is what the controller holds."""

    trace: list[dict[str, Any]]
    trace_partitions: list[dict[str, Any]]
    consumer_groups: list[dict[str, Any]]
    unread: list[Unread]
    readers: dict[str, Reader]
    partition: Any
    violations: list[tuple[int, str, str]]


def simulate(case: Case, watch: bool = False) -> Result:
    """Simulate the readers of one partition; with `watch`, look for violations of the invariants."""
    return simulate_together([case], watch)[0]


def simulate_together(cases: Sequence[Case], watch: bool = False) -> list[Result]:
    """Simulate the readers of partitions on the same brokers."""
    budgets: dict[int, CopyBudget] = {}
    caches: dict[int, IndexCache] = {broker: IndexCache() for broker in cases[0]["brokers"]}
    sites = [site_of(cases, number, budgets=budgets) for number in range(len(cases))]
    observers = [invariants.Watch(site) for site in sites]
    traces: list[list[dict[str, Any]]] = [[] for _ in sites]
    held: list[list[dict[str, Any]]] = [[] for _ in sites]
    for now in range(cases[0]["rounds"]):
        for site in sites:
            site.partition.now = now
        play_rounds([site.partition for site in sites])
        for site in sites:
            watch_memory(site, caches)
            held[site.number].append(partition_row(site.partition))
        in_force, _ = consume_all(sites, caches)
        for site, reader in in_force:
            reader.max_lag = max(reader.max_lag, lag_of(site, reader))
            traces[site.number].append(_trace_row(site, reader))
        for site in sites:
            site.log_starts = {broker: replica.log.log_start for broker, replica in site.partition.replicas.items()}
        for observer in observers if watch else ():
            observer.look()
    return [_result(site, traces[site.number], held[site.number], observers[site.number]) for site in sites]


def consume_all(sites: Sequence[Site], caches: Mapping[int, IndexCache]) -> tuple[list[tuple[Site, Reader]], list[RemoteRead]]:
    """Step 11 of all partitions: reads of a broker's own, then the remote ones, which share what the broker has.

    Returns the readers in force, and their remote reads.
    """
    in_force, reads = [], []
    for site in sites:
        for reader in site.readers.values():
            row = site.row_of(reader.group)
            if row is None:
                reader.end_stretch()
                reader.replica = reader.in_hand = None
                continue
            in_force.append((site, reader))
            read = consume(site, reader, row, len(in_force))
            if read is not None:
                reads.append(read)
    _read_remotely(sites, reads, caches)
    return in_force, reads


def _read_remotely(sites: Sequence[Site], reads: Sequence[RemoteRead], caches: Mapping[int, IndexCache]) -> None:
    reads = [read for read in reads if _goes_on(sites, read, allowed_by_store(sites[read.partition], read))]
    needing = [read for read in reads if read.needed > 0]
    deal_fetches(needing)
    brokers = {read.broker: sites[read.partition] for read in reads}
    for broker, site in brokers.items():
        of_broker = [read for read in needing if read.broker == broker]
        deal_threads([read for read in of_broker if read.dealt > 0], site.partition.settings, site.store)
        note_who_was_dealt_some(of_broker, site.now)
    reads = [read for read in reads if _goes_on(sites, read, read.failure is None)]
    for broker, site in brokers.items():
        of_broker = [read for read in reads if read.broker == broker]
        for read in of_broker:
            end_with_what_was_dealt(read)
        wanted = [wanted_bytes(read) for read in of_broker]
        share_quota(of_broker, wanted, site.partition.settings.quota_bytes(broker))
        for read in of_broker:
            make_remote_read(sites[read.partition], read, caches[broker])


def _goes_on(sites: Sequence[Site], read: RemoteRead, allowed: bool) -> bool:
    """Whether the read is still to be made; else it waits, for the reason that it has."""
    if allowed:
        return True
    assert read.failure is not None
    site = sites[read.partition]
    read.reader.counts["remote_errors"] += read.refused
    read.reader.wait(read.failure, read.broker, site.now, site.committed_end())
    return False


def lag_of(site: Site, reader: Reader) -> int:
    return 0 if reader.position is None else max(0, site.committed_end() - reader.position)


def _trace_row(site: Site, reader: Reader) -> dict[str, Any]:
    """A row of the table `trace_consumers`."""
    taken = reader.taken[-1] if reader.taken and reader.taken[-1].round == site.now else None
    return {
        "round": site.now,
        "group": reader.group,
        "position": reader.position,
        "epoch": reader.epoch,
        "lag": lag_of(site, reader),
        "answer": reader.answer,
        "broker": None if taken is None else taken.broker,
        "records": 0 if taken is None else len(taken.records),
    }


def _result(site: Site, trace: list[dict[str, Any]], held: list[dict[str, Any]], observer: invariants.Watch) -> Result:
    for reader in site.readers.values():
        reader.end_stretch()
    groups = [
        {
            "group": reader.group,
            "position": reader.position,
            "epoch": reader.epoch,
            "lag": lag_of(site, reader),
            "max_lag": reader.max_lag,
            **{name: reader.counts[name] for name in COUNTERS},
            "waited_rounds": {cause: rounds for cause, rounds in sorted(reader.waited_rounds.items()) if rounds > 0},
            "stopped": reader.stopped,
        }
        for reader in site.readers.values()
    ]
    unread = [row for reader in site.readers.values() for row in reader.unread]
    return Result(trace, held, groups, unread, site.readers, site.partition, observer.violations)
