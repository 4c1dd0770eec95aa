"""A broker's data directories: whose they are, their checkpoint files, and the folders of their partitions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from emulator.errors import InputError, quoted
from emulator.importers.kafka.checkpoints import EpochEntry, read_leader_epoch_checkpoint, read_offset_checkpoint
from emulator.importers.kafka.segments import SegmentedLog, read_segments, segment_base_offsets
from emulator.importers.text_input import (
    MAX_INT32,
    TopicPartition,
    parse_natural,
    read_lines,
    split_topic_partition,
)

HW_FILE = "replication-offset-checkpoint"
LOG_START_FILE = "log-start-offset-checkpoint"
FLUSHED_FILE = "recovery-point-offset-checkpoint"
META_FILE = "meta.properties"
EPOCH_FILE = "leader-epoch-checkpoint"
TOPIC_ID_FILE = "partition.metadata"

_ALLOWED_DIR = "a log directory of a broker (one of its log.dirs)"


class PartitionFolder(NamedTuple):
    """What the folder of one partition holds; None for what is not in it."""

    path: str
    epochs: list[EpochEntry] | None
    segments: SegmentedLog | None


@dataclass
class BrokerFiles:
    """The files of one broker, offsets by (topic, partition)."""

    broker: int
    cluster_id: str | None = None
    high_watermarks: dict[TopicPartition, int] = field(default_factory=dict)
    log_starts: dict[TopicPartition, int] = field(default_factory=dict)
    flushed: dict[TopicPartition, int] = field(default_factory=dict)
    folders: dict[TopicPartition, PartitionFolder] = field(default_factory=dict)
    missing_files: list[str] = field(default_factory=list)
    undescribed: set[TopicPartition] = field(default_factory=set)

    def has(self, key: TopicPartition) -> bool:
        """Says whether any file of this broker knows the partition."""
        return key in self.folders or key in self.high_watermarks or key in self.flushed or key in self.log_starts


def read_data_dirs(broker: int, paths: str, topic_ids: Mapping[TopicPartition, str]) -> BrokerFiles:
    """Reads the data directory of a broker, or several separated by commas as in `log.dirs`.

    `topic_ids` has the id ("" if unknown) of every partition to read; folders of others are not opened. Folders of
    deleted, future and stray replicas do not end in a number and are passed over, as brokers do.

    Raises:
        InputError: not a directory, no Kafka file in it, another broker's, another topic of this name, a broken file.
    """
    files = BrokerFiles(broker)
    for path in [paths] if os.path.isdir(paths) else paths.split(","):
        _read_data_dir(path, topic_ids, files)
    return files


def _read_data_dir(path: str, topic_ids: Mapping[TopicPartition, str], files: BrokerFiles) -> None:
    try:
        with os.scandir(path) as entries:
            folders = {entry.name: entry.is_dir() for entry in entries}
    except OSError as error:
        raise InputError.at(
            path, f"data directory of broker {files.broker}", f"cannot be read ({error.strerror})", _ALLOWED_DIR
        ) from None
    partitions = {name: key for name, is_dir in folders.items() if is_dir and (key := split_topic_partition(name))}
    present = [name for name in (META_FILE, HW_FILE, LOG_START_FILE, FLUSHED_FILE) if name in folders]
    if not present and not any(_is_partition_folder(os.path.join(path, name)) for name in partitions):
        place = f"data directory of broker {files.broker}"
        raise InputError.at(path, place, "has no file of Kafka", f"{_ALLOWED_DIR}, with {META_FILE}, {HW_FILE}, ...")
    _read_top_files(path, present, files)
    files.undescribed.update(key for key in files.high_watermarks if key not in topic_ids)
    for name, key in partitions.items():
        if key in topic_ids:
            files.folders[key] = _read_partition_folder(os.path.join(path, name), topic_ids[key])
        elif key[0] != "__cluster_metadata":
            files.undescribed.add(key)


def _read_top_files(path: str, present: list[str], files: BrokerFiles) -> None:
    if META_FILE in present:
        _read_meta_properties(os.path.join(path, META_FILE), files)
    else:
        files.missing_files.append(os.path.join(path, META_FILE))
    offsets = ((HW_FILE, files.high_watermarks), (LOG_START_FILE, files.log_starts), (FLUSHED_FILE, files.flushed))
    for name, by_partition in offsets:
        if name in present:
            by_partition.update(read_offset_checkpoint(os.path.join(path, name)))
        else:
            files.missing_files.append(os.path.join(path, name))


def _read_meta_properties(path: str, files: BrokerFiles) -> None:
    """Checks that a directory is the broker's: `node.id` in version 1, `broker.id` in version 0."""
    properties: dict[str, tuple[int, str]] = {}
    for line_number, line in enumerate(read_lines(path, "a meta.properties file"), 1):
        key, separator, value = line.partition("=")
        if line.strip() and not line.startswith("#"):
            if not separator:
                raise InputError.at(path, f"line {line_number}", f"{quoted(line)} is not a property", "KEY=VALUE")
            properties[key.strip()] = (line_number, value.strip())
    id_key = "node.id" if "node.id" in properties else "broker.id"
    if id_key not in properties:
        raise InputError.at(path, "file", "names no broker", f"node.id={files.broker} (or broker.id)")
    line_number, value = properties[id_key]
    if parse_natural(value, MAX_INT32) != files.broker:
        place = f"line {line_number}"
        raise InputError.at(path, place, f"{id_key} is {quoted(value)}", f"{files.broker}, the broker it is given for")
    cluster_id = properties.get("cluster.id", (0, None))[1]
    if cluster_id is not None and files.cluster_id not in (None, cluster_id):
        line_number = properties["cluster.id"][0]
        raise InputError.at(path, f"line {line_number}", f"cluster.id is {quoted(cluster_id)}", str(files.cluster_id))
    files.cluster_id = cluster_id or files.cluster_id


def _is_partition_folder(path: str) -> bool:
    names = _file_names(path)
    return EPOCH_FILE in names or TOPIC_ID_FILE in names or bool(segment_base_offsets(names))


def _read_partition_folder(path: str, topic_id: str) -> PartitionFolder:
    names = _file_names(path)
    if TOPIC_ID_FILE in names and topic_id:
        _check_topic_id(os.path.join(path, TOPIC_ID_FILE), topic_id)
    epochs = read_leader_epoch_checkpoint(os.path.join(path, EPOCH_FILE)) if EPOCH_FILE in names else None
    base_offsets = segment_base_offsets(names)
    return PartitionFolder(path, epochs, read_segments(path, base_offsets) if base_offsets else None)


def _file_names(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError as error:
        raise InputError.at(path, "folder", f"cannot be read ({error.strerror})", "the folder of a partition") from None


def _check_topic_id(path: str, topic_id: str) -> None:
    """Refuses the folder of another topic of the same name: deleted and made again, or of another cluster."""
    for line_number, line in enumerate(read_lines(path, "a partition.metadata file"), 1):
        key, _, value = line.partition(":")
        if key == "topic_id":
            if value.strip() != topic_id:
                wrong = f"topic_id is {quoted(value.strip())}, another topic of this name"
                raise InputError.at(path, f"line {line_number}", wrong, f"{topic_id}, as described")
            return
    raise InputError.at(path, "file", "has no topic_id", '"version: 0" and "topic_id: ID"')
