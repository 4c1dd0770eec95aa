"""`emulator import kafka`: a real cluster's files become the tables an emulation starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from emulator.errors import InputError
from emulator.importers.kafka.assumptions import Assumptions
from emulator.importers.kafka.data_dir import BrokerFiles, read_data_dirs
from emulator.importers.kafka.describe import NO_LEADER, ClusterDescription, read_describe
from emulator.importers.kafka.listed_offsets import ListedOffsets, read_listed_offsets
from emulator.importers.kafka.log_dirs import LogDirs, read_log_dirs
from emulator.importers.kafka.remote_metadata import RemoteMetadata, read_remote_metadata
from emulator.importers.kafka.resolve import ReplicaLog, Sources, resolve_partition
from emulator.importers.kafka.tables import (
    brokers_table,
    partitions_table,
    remote_segments_table,
    replicas_table,
    topic_configs_table,
)
from emulator.importers.kafka.tiers import REMOTE_STORAGE_KEY, TierSources, is_tiered, resolve_remote
from emulator.importers.output_folder import check_out, write_import
from emulator.importers.text_input import MAX_INT32, TopicPartition
from emulator.progress import counted


@dataclass
class ImportSummary:
    """How much was imported (counts), and what had to be assumed or was left out (notes, one sentence each)."""

    brokers: int
    topics: int
    partitions: int
    replicas: int
    leaderless_partitions: int
    under_replicated_partitions: int
    topic_configs: int
    remote_segments: int = 0
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The summary for people: a line of counts, then a line a note."""
        counts = (
            f"{self.brokers} brokers, {self.topics} topics, {self.partitions} partitions, {self.replicas} replicas, "
            f"{self.leaderless_partitions} partitions without leader, "
            f"{self.under_replicated_partitions} under-replicated, {self.topic_configs} topic configs"
            + (f", {self.remote_segments} remote segments" if self.remote_segments else "")
        )
        return [counts, *(f"note: {note}" for note in self.notes)]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def import_kafka(
    describe: str,
    log_dirs: str | None,
    data_dirs: dict[int, str],
    out: str,
    offsets: Mapping[str, Sequence[str]] | None = None,
    remote_metadata: Sequence[str] = (),
) -> ImportSummary:
    """Imports a Kafka cluster from the output of its tools and from brokers' data directories.

    Args:
        describe: file with the output of `kafka-topics --describe`.
        log_dirs: file with the output of `kafka-log-dirs --describe`, or None.
        data_dirs: data directory by broker id; several separated by commas, as in `log.dirs`.
        out: local folder to write; there complete or not at all, an earlier import in it is replaced.
        offsets: files with the output of `kafka-get-offsets`, by what --time was: earliest, earliest-local,
            latest-tiered, latest.
        remote_metadata: files with the events of `__remote_log_metadata`, as Kafka's tools print them.

    Writes (sorted by topic and partition; replicas in the order of the replica list):
        brokers.parquet: broker, rack (null).
        partitions.parquet: topic, partition, replicas, leader (-1: none), leader_epoch, isr, elr, last_known_elr,
            adding, removing.
        replicas.parquet: topic, partition, broker, log_start_offset, leo, hw, flushed_offset (records),
            epochs (epoch, start_offset), log_bytes, local_log_start_offset, segments (base offsets), segment_bytes.
        remote_segments.parquet: topic, partition, base_offset, end_offset (inclusive), epochs (of all of their log up to
            their end), bytes, state.
        topic_configs.parquet: topic, key, value.
        import_summary.json: the summary returned.

    Raises:
        InputError: a file is wrong, files contradict each other or are of different clusters; nothing is written.
    """
    check_out(out)
    description = read_describe(describe)
    described_log_dirs = read_log_dirs(log_dirs) if log_dirs is not None else LogDirs()
    broker_files = _read_brokers(data_dirs, description)
    listed = read_listed_offsets(offsets or {})
    metadata = read_remote_metadata(remote_metadata)
    assumptions = Assumptions()
    sources = Sources(broker_files, described_log_dirs, assumptions, listed)
    states = [description.partitions[key] for key in sorted(description.partitions)]
    resolved = [resolve_partition(state, sources, is_tiered(state.topic, description)) for state in states]
    logs: list[list[ReplicaLog]] = [partition_logs for _, partition_logs in resolved]
    tiers = TierSources(description, listed, metadata, ", ".join(remote_metadata), assumptions)
    remote = [resolve_remote(state, own, tiers) for state, own in zip(states, logs, strict=True)]
    configs = {topic: dict(known) for topic, known in description.configs.items()}
    with_remote = {state.topic for state, segments in zip(states, remote, strict=True) if segments}
    for topic in with_remote - configs.keys():
        configs[topic] = {REMOTE_STORAGE_KEY: "true"}
    brokers = {broker for state in states for broker in (*state.replicas, *state.last_known_elr)}
    brokers.update(broker_files, described_log_dirs.sizes_bytes)
    tables = {
        "brokers": brokers_table(sorted(brokers)),
        "partitions": partitions_table(states, [leader_epoch for leader_epoch, _ in resolved]),
        "replicas": replicas_table(states, logs),
        "remote_segments": remote_segments_table(states, remote),
        "topic_configs": topic_configs_table(
            (topic, key, value) for topic, known in sorted(configs.items()) for key, value in sorted(known.items())
        ),
    }
    summary = ImportSummary(
        brokers=len(brokers),
        topics=len({state.topic for state in states}),
        partitions=len(states),
        replicas=tables["replicas"].num_rows,
        leaderless_partitions=sum(state.leader == NO_LEADER for state in states),
        under_replicated_partitions=sum(len(state.isr) < len(state.replicas) for state in states),
        topic_configs=tables["topic_configs"].num_rows,
        remote_segments=tables["remote_segments"].num_rows,
        notes=[
            *_description_notes(description),
            *_file_notes(description, described_log_dirs, log_dirs is not None, broker_files, listed, metadata),
            *assumptions.notes(),
            *_tier_notes(description, with_remote, metadata),
        ],
    )
    write_import(out, tables, asdict(summary))
    return summary


def _read_brokers(data_dirs: Mapping[int, str], description: ClusterDescription) -> dict[int, BrokerFiles]:
    topic_ids = {key: description.topic_ids.get(key[0], "") for key in description.partitions}
    brokers: dict[int, BrokerFiles] = {}
    clusters: dict[str, int] = {}
    for broker, paths in sorted(data_dirs.items()):
        if not 0 <= broker <= MAX_INT32:
            raise InputError.at(paths, "--data-dir", f"broker {broker}", "a broker id from 0")
        files = read_data_dirs(broker, paths, topic_ids)
        if files.cluster_id is not None:
            clusters.setdefault(files.cluster_id, broker)
        if len(clusters) > 1:
            first_cluster, first_broker = next(iter(clusters.items()))
            allowed = f"{first_cluster}, the cluster of broker {first_broker}"
            raise InputError.at(paths, f"data directory of broker {broker}", f"cluster.id is {files.cluster_id}", allowed)
        brokers[broker] = files
    return brokers


def _description_notes(description: ClusterDescription) -> list[str]:
    notes = ["racks are in none of these files: null"]
    without_header = {topic for topic, _ in description.partitions} - description.partition_counts.keys()
    if without_header:
        notes.append(f"{len(without_header)} topics are listed without their header: only these partitions, no configs")
    if description.unknown_columns:
        notes.append(f"columns left out: {', '.join(sorted(description.unknown_columns))}")
    if description.observers:
        notes.append(f"{description.observers} partitions have observers: taken as replicas like any other")
    if description.ended_reassignments:
        notes.append(f"{description.ended_reassignments} reassignments ended while they were described: left out")
    return notes


def _file_notes(
    description: ClusterDescription,
    log_dirs: LogDirs,
    has_log_dirs: bool,
    brokers: Mapping[int, BrokerFiles],
    listed: ListedOffsets,
    metadata: RemoteMetadata,
) -> list[str]:
    notes = [f"log directory {failed} failed: its replicas are not reported" for failed in log_dirs.failed]
    if several := len(log_dirs.with_several):
        have = f"{counted(several, 'broker')} {'have' if several > 1 else 'has'}"
        notes.append(f"{have} several log directories: a broker has one disk here, which fails and is slow as a whole")
    missing = [path for files in brokers.values() for path in files.missing_files]
    if missing:
        notes.append(f"{len(missing)} files are missing, taken as empty: {', '.join(missing[:3])}")
    undescribed: set[TopicPartition] = set().union(*(files.undescribed for files in brokers.values()))
    undescribed.update(key for sizes in log_dirs.sizes_bytes.values() for key in sizes)
    undescribed |= listed.partitions() | metadata.partitions()
    undescribed -= description.partitions.keys()
    if undescribed:
        topic, partition = min(undescribed)
        notes.append(f"{len(undescribed)} partitions are not in the description, left out: {topic}-{partition}, ...")
    if not has_log_dirs:
        notes.append("no log directories described: log_bytes from .log segments, else 0")
    return notes


def _tier_notes(description: ClusterDescription, with_remote: set[str], metadata: RemoteMetadata) -> list[str]:
    notes = []
    if metadata.unknown_updates:
        notes.append(f"{metadata.unknown_updates} changes of remote segments whose beginning is not there: left out")
    assumed = sorted(with_remote - description.configs.keys())
    if assumed:
        notes.append(
            f"{len(assumed)} topics without their header have remote data: {REMOTE_STORAGE_KEY} = true ({assumed[0]}, ...)"
        )
    if with_remote:
        notes.append(
            f"{len(with_remote)} topics have remote data: a scenario of theirs needs"
            ' config = { "remote.log.storage.system.enable" = true } in [cluster]'
        )
    return notes
