"""What of a partition is in remote storage, out of remote log metadata or of where its logs begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulator.errors import InputError
from emulator.importers.kafka.assumptions import Assumptions
from emulator.importers.kafka.checkpoints import EpochEntry
from emulator.importers.kafka.describe import NO_LEADER, ClusterDescription, PartitionState
from emulator.importers.kafka.listed_offsets import NOTHING_TIERED, ListedOffsets
from emulator.importers.kafka.remote_metadata import COPY_FINISHED, COPY_STARTED, DELETE_FINISHED, RemoteMetadata, RemoteSegment
from emulator.importers.kafka.resolve import ReplicaLog
from emulator.importers.text_input import TopicPartition, parse_natural

REMOTE_STORAGE_KEY = "remote.storage.enable"
MOST_ASSUMED_SEGMENTS = 1_000
"""Of one partition; there are fewer and larger ones rather than more."""

_SEGMENT_BYTES_KEY = "segment.bytes"
_DEFAULT_SEGMENT_BYTES = 1_073_741_824
_ASSUMED_RECORD_BYTES = 1_000


@dataclass
class TierSources:
    """What tells of remote storage. `metadata_path`: for error messages."""

    description: ClusterDescription
    offsets: ListedOffsets
    metadata: RemoteMetadata
    metadata_path: str
    assumptions: Assumptions


def is_tiered(topic: str, description: ClusterDescription) -> bool | None:
    """Whether a topic has remote storage; None when it is described without its configs."""
    if topic not in description.configs:
        return None
    return description.configs[topic].get(REMOTE_STORAGE_KEY, "false").strip().lower() == "true"


def resolve_remote(state: PartitionState, logs: Sequence[ReplicaLog], sources: TierSources) -> list[RemoteSegment]:
    """Gives a partition's remote segments, by base offset; their epochs are all of their log up to their end.

    As the remote log metadata has them; without any, segments that together reach from the log start to latest-tiered,
    or, if that is not known, to the largest local log start.

    Raises:
        InputError: a topic without remote storage has something there, or what no disk has is in no remote segment.
    """
    key = (state.topic, state.partition)
    tiered = is_tiered(state.topic, sources.description)
    if tiered is False:
        sources.offsets.refuse_tiered(key)
        return []
    lead = _reference_log(state, logs)
    given = sources.metadata.of(key, sources.description.topic_ids.get(state.topic, ""))
    if given:
        _check_no_gap(key, lead, given, sources.metadata_path)
        left = [segment for segment in given if segment.state != DELETE_FINISHED]
        sources.assumptions.remote_beyond_log += sum(segment.end_offset >= lead.leo for segment in left)
        return [segment._replace(epochs=_whole_cache(segment, lead)) for segment in left]
    last = min(_latest_tiered(key, logs, tiered, sources), lead.leo - 1)
    if last < lead.log_start_offset:
        return []
    segments = _assume_segments(lead, last, _segment_records(state.topic, lead, sources.description))
    sources.assumptions.remote_assumed += 1
    sources.assumptions.remote_segments_assumed += len(segments)
    return segments


def _reference_log(state: PartitionState, logs: Sequence[ReplicaLog]) -> ReplicaLog:
    """The leader's log, or the longest where there is no leader."""
    if state.leader != NO_LEADER:
        return logs[state.replicas.index(state.leader)]
    return max(logs, key=lambda log: log.leo)


def _latest_tiered(key: TopicPartition, logs: Sequence[ReplicaLog], tiered: bool | None, sources: TierSources) -> int:
    """The last offset in remote storage: as listed, and all that a disk has given up although the log has it."""
    listed = sources.offsets.of(key)
    known = None if listed is None else listed.latest_tiered
    given_up = max((log.local_log_start_offset - 1 for log in logs if log.local_log_start_offset > log.log_start_offset),
                   default=NOTHING_TIERED)  # fmt: skip
    if known is None:
        sources.assumptions.latest_tiered_unknown += bool(tiered) or given_up > NOTHING_TIERED
        return given_up
    sources.assumptions.latest_tiered_raised += given_up > known
    return max(known, given_up)


def _check_no_gap(key: TopicPartition, lead: ReplicaLog, segments: Sequence[RemoteSegment], path: str) -> None:
    """Raises InputError when an offset of the log is neither on the leader's disk nor in a segment that was copied.

    One that was deleted since is as good: a new leader raises its log start only when it first looks.
    """
    at = lead.log_start_offset
    for segment in segments:
        if segment.state != COPY_STARTED and segment.base_offset <= at:
            at = max(at, segment.end_offset + 1)
    if at < lead.local_log_start_offset:
        name = f"{key[0]}-{key[1]}"
        problem = f"{name} has no copied segment with offset {at}, and its leader's disk begins at {lead.local_log_start_offset}"
        raise InputError.at(path, "file", problem, "all events of the partition, up to the moment of the other files")


def _whole_cache(segment: RemoteSegment, lead: ReplicaLog) -> list[EpochEntry]:
    """A segment's own epochs, and before them those of the log that it lies in, as the leader's cache still has them."""
    first_epoch, first_start = segment.epochs[0]
    before = [entry for entry in lead.epochs or [] if entry[0] < first_epoch and entry[1] < first_start]
    known_start = next((start for epoch, start in lead.epochs or [] if epoch == first_epoch), first_start)
    return [*before, (first_epoch, min(known_start, first_start)), *segment.epochs[1:]]


def _assume_segments(lead: ReplicaLog, last: int, records: int) -> list[RemoteSegment]:
    """Segments from the log start to `last`: as on the leader's disk, and `records` each before that."""
    first, local_start = lead.log_start_offset, lead.local_log_start_offset
    on_disk = [base for base, _ in lead.segments]
    lowest = min(on_disk[0] if on_disk else local_start, last + 1)
    records = max(records, -(-(lowest - first) // MOST_ASSUMED_SEGMENTS), 1)
    # whole segments end where those on disk begin; the first may be cut by the log start
    cuts = range(lowest - records * (max(0, lowest - first - 1) // records), lowest, records) if lowest > first else ()
    bases = sorted({first, *cuts, *(base for base in (*on_disk, local_start) if first < base <= last)})
    sizes = dict(lead.segments)
    record_bytes = _record_bytes(lead)
    segments = []
    for base, end in zip(bases, [*(base - 1 for base in bases[1:]), last], strict=True):
        is_whole = base in sizes and end + 1 in sizes
        size = sizes[base] if is_whole else max(1, round((end - base + 1) * record_bytes))
        epochs = [entry for entry in lead.epochs or [] if entry[1] <= end] or [(0, base)]
        segments.append(RemoteSegment(base, end, epochs, size, COPY_FINISHED))
    return segments


def _record_bytes(lead: ReplicaLog) -> float:
    records = lead.leo - lead.local_log_start_offset
    return lead.log_bytes / records if records and lead.log_bytes else _ASSUMED_RECORD_BYTES


def _segment_records(topic: str, lead: ReplicaLog, description: ClusterDescription) -> int:
    """How many records a segment has: as those that are closed on the leader's disk, else as many as fit."""
    closed = lead.segments[:-1]
    if closed:
        return (lead.segments[-1][0] - closed[0][0]) // len(closed)
    configured = parse_natural(description.configs.get(topic, {}).get(_SEGMENT_BYTES_KEY, ""), 2**31 - 1)
    return max(1, int((configured or _DEFAULT_SEGMENT_BYTES) / _record_bytes(lead)))
