"""Remote log metadata in words: which segments of which partitions are in remote storage, and in what state.

Source: toString of RemoteLogSegmentMetadata, RemoteLogSegmentMetadataUpdate and RemotePartitionDeleteMetadata, as
`kafka-dump-log --remote-log-metadata-decoder` (KIP-1057) and a console consumer of `__remote_log_metadata` with
RemoteLogMetadataSerde$RemoteLogMetadataFormatter print them, one event a line. Transitions: RemoteLogSegmentState.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from emulator.errors import InputError, listing, quoted
from emulator.importers.kafka.checkpoints import EpochEntry
from emulator.importers.text_input import MAX_INT32, MAX_INT64, TopicPartition, parse_natural, read_lines, split_topic_partition
from emulator.scenario.shapes import SEGMENT_STATES

COPY_STARTED, COPY_FINISHED, DELETE_STARTED, DELETE_FINISHED = SEGMENT_STATES
_STATES: Mapping[str, str] = {state.replace("_", "_SEGMENT_"): state for state in SEGMENT_STATES}
_NEXT: Mapping[str, tuple[str, ...]] = {
    COPY_STARTED: (COPY_FINISHED, DELETE_STARTED),
    COPY_FINISHED: (DELETE_STARTED,),
    DELETE_STARTED: (DELETE_FINISHED,),
    DELETE_FINISHED: (),
}
_PARTITION_GONE = "DELETE_PARTITION_FINISHED"

_ALLOWED_FILE = "remote log metadata, printed by kafka-dump-log --remote-log-metadata-decoder or a console consumer"
_ALLOWED_LINE = '"RemoteLogSegmentMetadata{...}", "RemoteLogSegmentMetadataUpdate{...}" or "RemotePartitionDeleteMetadata{...}"'
_EVENT = re.compile(r"(RemoteLogSegmentMetadata|RemoteLogSegmentMetadataUpdate|RemotePartitionDeleteMetadata)\{(.*)\}")
_SEGMENT_ID = re.compile(r"RemoteLogSegmentId\{topicIdPartition=([^:,{}]+):([^:,{}]+), id=([^,{}]+)\}")
_PARTITION_ID = re.compile(r"topicPartition=([^:,{}]+):([^:,{}]+)")
_FIELD = re.compile(r"\b(\w+)=(\{[^{}]*\}|[^,{}]*)")
# lines of the tools that print no event
_OTHER_LINES = ("#", "Dumping ", "Log starting offset", "baseOffset:", "Processed a total of")


class RemoteSegment(NamedTuple):
    """A segment in remote storage: end offset inclusive, the epochs inside it as (epoch, start offset)."""

    base_offset: int
    end_offset: int
    epochs: Sequence[EpochEntry]
    size_bytes: int
    state: str


@dataclass
class RemoteMetadata:
    """The segments by (topic id, topic, partition), in the order in which they came; deleted ones stay."""

    segments: dict[tuple[str, TopicPartition], dict[str, RemoteSegment]] = field(default_factory=dict)
    unknown_updates: int = 0
    """Updates of segments whose beginning is in no file."""

    def of(self, key: TopicPartition, topic_id: str) -> list[RemoteSegment]:
        """The segments of a partition by base offset; of any topic of this name when the id is not known ("").

        Those that are deleted are among them: that they were there tells where a log start is about to rise to.
        """
        found = (segments for (known, name), segments in self.segments.items() if name == key and topic_id in ("", known))
        return sorted((segment for segments in found for segment in segments.values()), key=lambda s: s.base_offset)

    def partitions(self) -> set[TopicPartition]:
        """All partitions that have segments."""
        return {key for (_, key), segments in self.segments.items() if segments}


def read_remote_metadata(paths: Sequence[str]) -> RemoteMetadata:
    """Reads the events of `__remote_log_metadata`, of one or several of its partitions, in the order in which they lie there.

    The end of a partition's deletion takes its segments out again. State changes that Kafka does not allow change nothing.

    Raises:
        InputError: unreadable, a line of another kind, a broken event, a segment that begins twice in different ways.
    """
    metadata = RemoteMetadata()
    for path in paths:
        for number, line in enumerate(read_lines(path, _ALLOWED_FILE), 1):
            event = _EVENT.search(line)
            if event is not None:
                _Event(path, number, event.group(2)).apply(event.group(1), metadata)
            elif line.strip() and not line.strip().startswith(_OTHER_LINES):
                raise InputError.at(path, f"line {number}", f"{quoted(line)} is no remote log metadata", _ALLOWED_LINE)
    return metadata


class _Event:
    """One event: its line, its fields by name."""

    def __init__(self, path: str, line_number: int, text: str) -> None:
        self.path, self.line_number, self.text = path, line_number, text
        self.fields = dict(_FIELD.findall(text))

    def apply(self, kind: str, metadata: RemoteMetadata) -> None:
        """Makes the event's change."""
        if kind == "RemotePartitionDeleteMetadata":
            self._delete_partition(metadata)
            return
        found = _SEGMENT_ID.search(self.text)
        key = None if found is None else split_topic_partition(found.group(2))
        if found is None or key is None:
            raise self._error(
                "names no segment", "remoteLogSegmentId=RemoteLogSegmentId{topicIdPartition=ID:TOPIC-PARTITION, id=ID}"
            )
        segments = metadata.segments.setdefault((found.group(1), key), {})
        segment_id = found.group(3)
        if kind == "RemoteLogSegmentMetadata":
            self._begin(segments, segment_id)
        elif segment_id not in segments:
            metadata.unknown_updates += 1
        else:
            self._update(segments, segment_id)

    def _begin(self, segments: dict[str, RemoteSegment], segment_id: str) -> None:
        base, end = self._natural("startOffset"), self._natural("endOffset")
        if end < base:
            raise self._error(f"endOffset {end} is below startOffset {base}", "startOffset or more, it is inclusive")
        segment = RemoteSegment(base, end, self._epochs(end), self._natural("segmentSizeInBytes"), self._state())
        earlier = segments.get(segment_id)
        if earlier is not None and earlier._replace(state=segment.state) != segment:
            raise self._error(f"segment {segment_id} is given twice, in different ways", "each segment once")
        if earlier is None:
            segments[segment_id] = segment

    def _update(self, segments: dict[str, RemoteSegment], segment_id: str) -> None:
        state = self._state()
        if state in _NEXT[segments[segment_id].state]:
            segments[segment_id] = segments[segment_id]._replace(state=state)

    def _delete_partition(self, metadata: RemoteMetadata) -> None:
        found = _PARTITION_ID.search(self.text)
        key = None if found is None else split_topic_partition(found.group(2))
        if found is None or key is None:
            raise self._error("names no partition", "topicPartition=ID:TOPIC-PARTITION")
        if self.fields.get("state") == _PARTITION_GONE:
            metadata.segments.pop((found.group(1), key), None)

    def _epochs(self, end: int) -> tuple[EpochEntry, ...]:
        text = self.fields.get("segmentLeaderEpochs", "").strip("{}")
        pairs = [pair.strip().partition("=") for pair in text.split(",")]
        parsed = [(parse_natural(epoch, MAX_INT32), parse_natural(start, MAX_INT64)) for epoch, _, start in pairs]
        epochs = sorted((epoch, start) for epoch, start in parsed if epoch is not None and start is not None)
        starts = [start for _, start in epochs]
        if len(epochs) < len(parsed) or starts != sorted(set(starts)) or starts[-1] > end:
            allowed = "{EPOCH=START_OFFSET, ...}, starts rising with epochs up to endOffset"
            raise self._error(f"segmentLeaderEpochs is {quoted(text)}", allowed)
        return tuple(epochs)

    def _natural(self, name: str) -> int:
        value = parse_natural(self.fields.get(name, ""), MAX_INT64)
        if value is None:
            raise self._error(f"{name} is {quoted(self.fields.get(name, ''))}", "a number from 0")
        return value

    def _state(self) -> str:
        found = self.fields.get("state", "")
        if found not in _STATES:
            raise self._error(f"state is {quoted(found)}", listing(_STATES))
        return _STATES[found]

    def _error(self, problem: str, allowed: str) -> InputError:
        return InputError.at(self.path, f"line {self.line_number}", problem, allowed)
