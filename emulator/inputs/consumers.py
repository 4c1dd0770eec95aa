"""Consumers as a feed has them (schema.CONSUMERS), and what brokers have in memory of a partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from emulator import configs
from emulator.expressions.kafka.reading.types import EARLIEST, LATEST, NO_POLICY
from emulator.faults.kinds import FaultRow
from emulator.inputs.remote_store import store_bytes
from emulator.inputs.storage_settings import whole_rounds
from emulator.scenario import ConsumerRow, Scenario

if TYPE_CHECKING:
    from emulator.inputs.feeds import WorkloadRow
    from emulator.inputs.scenario_inputs import ScenarioInputs

MOST_RECORDS, MOST_BYTES = 2**40, 2**60
"""More of records or bytes in a round is never met, and would overflow when added to."""
_POLICIES = {"earliest": EARLIEST, "latest": LATEST, "none": NO_POLICY}


def groups_of(rows: Sequence[ConsumerRow]) -> list[str]:
    """The groups of these rows, each once, in the order in which they come: that of `wants`."""
    return list(dict.fromkeys(row.group for row in rows))


def racks_of(scenario: Scenario) -> list[str]:
    """The racks of brokers and consumers: `rack` of a want is a place in it."""
    racks = [broker.rack for broker in scenario.brokers] + [row.rack for row in scenario.consumers]
    return sorted({rack for rack in racks if rack is not None})


def consumer_settings(
    scenario: Scenario, rows: Sequence[ConsumerRow], value: Callable[[str], Any], faults: Sequence[FaultRow], round_: int
) -> dict[str, Any]:
    """The fields of schema.CONSUMERS in a round. `rows`: those of the partition; `faults`: of its remote store."""
    racks, round_ms, store = racks_of(scenario), scenario.round_ms, scenario.remote_storage
    in_force = {row.group: row for row in rows if row.from_round <= round_ < row.to_round}
    now = [fault for fault in faults if fault.from_round <= round_ < fault.to_round]
    return {
        "wants": [_want(in_force[group], racks, round_ms) if group in in_force else None for group in groups_of(rows)],
        "followers_serve": value("replica.selector.class") == configs.RACK_AWARE,
        "store_bytes": store_bytes(store.read_bytes_per_second, now, round_ms, MOST_BYTES),
        "reads_per_thread": reads_per_thread(scenario),
        "threads": value("remote.log.reader.threads"),
        "queue": value("remote.log.reader.max.pending.tasks"),
        "quota_bytes": read_quota(value("remote.log.manager.fetch.max.bytes.per.second"), round_ms),
        "index_cache_bytes": value("remote.log.index.file.cache.total.size.bytes"),
        "index_interval_bytes": max(1, value("index.interval.bytes")),
    }


def reads_per_thread(scenario: Scenario) -> int | None:
    """Remote reads that one thread of a broker makes in a round; None: they take no time."""
    read_ms = scenario.remote_storage.read_ms
    return max(1, scenario.round_ms // read_ms) if read_ms > 0 else None


def read_quota(bytes_per_second: int, round_ms: int) -> int:
    """Bytes that remote reads get in a round (KIP-956); without a quota more than they ever want."""
    return min(MOST_BYTES, bytes_per_second * round_ms // 1000)


def _want(row: ConsumerRow, racks: Sequence[str], round_ms: int) -> dict[str, Any]:
    return {
        "start": _POLICIES.get(str(row.start), row.start),
        "reset": _POLICIES[row.reset],
        "reads_committed": row.reads_committed,
        "records_per_round": None if row.records_per_round is None else min(row.records_per_round, MOST_RECORDS),
        "fetch_bytes": row.fetch_bytes,
        "max_age_rounds": whole_rounds(row.max_age_ms, round_ms),
        "rack": None if row.rack is None else racks.index(row.rack),
    }


def workload_bytes(workload: Sequence[WorkloadRow], rounds: int) -> int:
    """Bytes that the workload has for a partition in the whole run."""
    return sum(max(0, min(w.to_round, rounds) - w.from_round) * w.records * w.record_bytes for w in workload)


def page_cache_shares(inputs: ScenarioInputs) -> list[list[int | None]]:
    """By state and slot: the bytes of the broker's page cache that are the partition's, null for any number.

    In proportion to what the workload has for the partition, among those that the broker holds at the start; equally if it has
    none. A replica that comes later counts itself in (docs/consumer_rounds.md, Memory or disk).
    """
    table, scenario = inputs.partition_table, inputs.scenario
    whole = {broker.id: broker.page_cache_bytes for broker in scenario.brokers}
    written = [feed.workload_bytes for feed in inputs.feeds]
    bytes_on: Counter[int] = Counter()
    partitions_on: Counter[int] = Counter()
    kinds = Counter(zip(table.world_id.tolist(), table.feed_id.tolist(), table.assigned.tolist(), strict=True))
    for (world, feed, assigned), count in kinds.items():
        for slot, broker in enumerate(inputs.worlds[world].brokers):
            if assigned >> slot & 1:
                bytes_on[broker] += count * written[feed]
                partitions_on[broker] += count

    def share(broker: int, own: int, is_there: bool) -> int | None:
        cache = whole[broker]
        if cache is None:
            return None
        of_all = bytes_on[broker] + (0 if is_there else own)
        return cache * own // of_all if of_all > 0 else cache // (partitions_on[broker] + (0 if is_there else 1))

    shares = []
    for state in inputs.states.tolist():
        own, assigned = written[int(table.feed_id[state])], int(table.assigned[state])
        brokers = inputs.worlds[int(table.world_id[state])].brokers
        shares.append([share(broker, own, bool(assigned >> slot & 1)) for slot, broker in enumerate(brokers)])
    return shares
