"""The state of a block of partitions between two stretches: records, and their lists packed one after the other."""

from __future__ import annotations

from typing import NamedTuple

from emulator.rounds.kafka.list_records import EpochEntry, News, RecordRange, Run, Segment, Sent
from emulator.rounds.kafka.reading.records import CachedIndex, Reader, ReadPartition, ReadRange, ReadReplica, Waited
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.tier.records import (
    Known,
    KnownState,
    Pin,
    Reach,
    RemoteEvent,
    RemoteSegment,
    StartedCopy,
    TierPartition,
    TierReplica,
)
from emulator.rounds.packed import Packed
from emulator.rounds.records import Rows

RUN_LISTS = ("runs", "late_runs")
"""Lists of a replica whose entries are Run, in the order in which they are packed."""
EPOCH_LISTS = ("epochs",)
"""Likewise of EpochEntry."""
SEGMENT_LISTS = ("segments",)
"""Likewise of Segment."""
RANGE_LISTS = ("lead_entries", "acked_ranges", "missing", "acked", "committed", "acked_for_all", "given_up")
"""Lists of a partition whose entries are RecordRange, likewise."""
SENT_LISTS = ("sent",)
"""Likewise of Sent."""
NEWS_LISTS = ("news",)
"""Likewise of News."""


TIER_PARTITION_LISTS: dict[str, tuple[type, tuple[str, ...]]] = {
    "remote": (RemoteSegment, ("segments",)),
    "remote_epochs": (EpochEntry, ("epochs",)),
    "remote_events": (RemoteEvent, ("events",)),
    "pins": (Pin, ("pins",)),
}
TIER_REPLICA_LISTS: dict[str, tuple[type, tuple[str, ...]]] = {
    "starts": (StartedCopy, ("starts",)),
    "aux_epochs": (EpochEntry, ("aux_epochs",)),
    "known": (Known, ("known",)),
    "known_states": (KnownState, ("states",)),
    "reaches": (Reach, ("reaches",)),
}
"""Field of State -> what its lists hold, and the names of TierPartition's, or TierReplica's, lists."""

READ_PARTITION_LISTS: dict[str, tuple[type, tuple[str, ...]]] = {
    "readers": (Reader, ("readers",)),
    "waits": (Waited, ("waits",)),
    "read_ranges": (ReadRange, ("ranges",)),
}
READ_REPLICA_LISTS: dict[str, tuple[type, tuple[str, ...]]] = {"cached": (CachedIndex, ("cached",))}
"""Likewise of ReadPartition and ReadReplica."""


class State(NamedTuple):
    """Partitions and their replicas; the replicas of partition p are replicas[first_replica : first_replica + slots].

    `runs` has RUN_LISTS of replica 0, of replica 1, ...; `epochs` EPOCH_LISTS and `segments` SEGMENT_LISTS likewise; `ranges`
    RANGE_LISTS of each partition; `sent` SENT_LISTS and `news` NEWS_LISTS likewise.
    """

    partitions: Rows[Partition]
    replicas: Rows[Replica]
    runs: Packed
    epochs: Packed
    segments: Packed
    ranges: Packed
    sent: Packed
    news: Packed
    # Tiered storage: by partition and by replica, empty where no partition of the block has it
    tier: Rows[TierPartition]
    tiers: Rows[TierReplica]
    remote: Packed
    remote_epochs: Packed
    remote_events: Packed
    pins: Packed
    starts: Packed
    aux_epochs: Packed
    known: Packed
    known_states: Packed
    reaches: Packed
    # Readers: by partition and by replica, empty where no partition of the block is read
    reading: Rows[ReadPartition]
    served: Rows[ReadReplica]
    readers: Packed
    waits: Packed
    read_ranges: Packed
    cached: Packed


LIST_RECORDS: dict[str, tuple[type, tuple[str, ...]]] = {
    "runs": (Run, RUN_LISTS),
    "epochs": (EpochEntry, EPOCH_LISTS),
    "segments": (Segment, SEGMENT_LISTS),
    "ranges": (RecordRange, RANGE_LISTS),
    "sent": (Sent, SENT_LISTS),
    "news": (News, NEWS_LISTS),
    **TIER_PARTITION_LISTS,
    **TIER_REPLICA_LISTS,
    **READ_PARTITION_LISTS,
    **READ_REPLICA_LISTS,
}
"""Field of State -> what its lists hold, and their names."""
