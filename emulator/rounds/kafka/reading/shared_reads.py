"""Remote reads of partitions that share what brokers have (docs/consumer_rounds.md, Shared reading).

What they get is shared out at quota edges (engine/budgets/read_shares.py).
"""

from __future__ import annotations

from emulator.compiled import compiled_into_callers
from emulator.rounds.kafka.constants import NOBODY, UNKNOWN
from emulator.rounds.kafka.reading.records import Reader
from emulator.rounds.kafka.records import Partition
from emulator.rounds.slots import has


@compiled_into_callers
def asked_slot(part: Partition, reader: Reader) -> int:
    """The slot that the reader asks in this round: the follower that T named as long as that lasts, else T, else the first."""
    knows_leader = reader.leader == part.client_leader and reader.leader_epoch == part.client_epoch
    if reader.replica != NOBODY and knows_leader and part.now < reader.replica_until:
        return reader.replica
    return max(part.client_leader, 0)


@compiled_into_callers
def within_share(reader: Reader, slot: int, granted_bytes: int) -> int:
    """Bytes of a remote read: what its broker's quota leaves it, and at the most what reads of other partitions do."""
    if slot == reader.share_slot and reader.share_bytes != UNKNOWN:
        return min(granted_bytes, reader.share_bytes)
    if has(reader.short_slots, slot):
        return min(granted_bytes, 1)
    return granted_bytes
