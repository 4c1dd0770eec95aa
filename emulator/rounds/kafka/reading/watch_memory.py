"""Brokers lose what they had in memory with the power, and with the disk their index cache too (RemoteIndexCache.init).

An index cache that alter_config makes smaller is so at once (RemoteIndexCache.resizeCacheSize).
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import DISK_LOSS, POWER_LOSS
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.reading.index_cache import keep_within, room_for_indexes, room_may_change
from emulator.rounds.kafka.reading.records import ReaderLists
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.lists import clear
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled_into_callers
def watch_memory(readers: ReaderLists, inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> None:
    """At the end of the round, before anybody reads."""
    is_tiered = inputs.settings[part.settings].tiered
    for slot in range(part.slots):
        if readers.served[slot].cached.count and room_may_change(inputs, part, replicas[slot]):
            keep_within(readers.cached, readers.served[slot].cached, room_for_indexes(inputs, part, replicas[slot]))
        if replicas[slot].status & (POWER_LOSS | DISK_LOSS):
            lose_memory(readers, part, replicas, slot)
        if readers.served[slot].cached.count and not (is_tiered and has(part.assigned, slot)):
            clear(readers.served[slot].cached)  # RemoteLogManager.stopPartitions


@compiled
def lose_memory(readers: ReaderLists, part: Partition, replicas: Rows[Replica], slot: int) -> None:
    """The log up to its LEO is not in memory any more."""
    replica, served = replicas[slot], readers.served[slot]
    if has(part.assigned, slot):
        served.cold_below = replica.leo
    if replica.status & DISK_LOSS:
        clear(served.cached)
