"""What bookies' networks and disks let through of all ledgers' adds, in bytes a round."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.inputs.ledger_arrays.of_ledgers import Spans
from emulator.rounds.bookkeeper.constants import FOREVER, NO_LIMIT
from emulator.scenario.ledger_configs import effective
from emulator.scenario.model import Scenario


def limits_bookies(scenario: Scenario) -> bool:
    """Whether a bookie has a budget."""
    return any(row[0] != NO_LIMIT for row in shares_of(scenario, [broker.id for broker in scenario.brokers]))


def shares_of(scenario: Scenario, ids: Sequence[int]) -> Spans:
    """Rows of BookieShare of these bookies before anything is short: the smaller one of their budgets, the disk's of two alike.

    Without a journal that is forced, nobody waits for the disk.
    """
    waits = all(effective(scenario.config, {}, key) for key in ("journalWriteData", "journalSyncData"))
    by_id = {broker.id: broker for broker in scenario.brokers}
    found: list[tuple[int, ...]] = []
    for bookie in ids:
        network, disk = by_id[bookie].network_bytes_per_second, by_id[bookie].disk_bytes_per_second
        rates = [(rate, by_disk) for rate, by_disk in ((network, 0), (disk if waits else None, 1)) if rate is not None]
        rate, by_disk = min(rates, key=lambda one: (one[0], -one[1]), default=(None, 0))
        budget = NO_LIMIT if rate is None else max(1, rate * scenario.round_ms // 1000)
        found.append((budget, by_disk, FOREVER, 0, 1))
    return tuple(found)
