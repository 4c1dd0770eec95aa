"""Reads a scenario file: the base, its variants and the cases of its sweeps, each resolved and validated as a whole."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from emulator.faults.kinds import FAULT_SCHEMA, microseconds
from emulator.scenario.both_systems import ALL_COMMANDS, has_both_systems, own_commands, own_part, own_rows
from emulator.scenario.clusters import (
    check_protocol,
    quota_window_rounds,
    resolve_cluster,
    resolve_config,
    resolve_features,
    session_timeout_rounds,
)
from emulator.scenario.commands import COMMAND_KINDS, resolve_commands
from emulator.scenario.config_keys import ConfigValue
from emulator.scenario.consumers import resolve_consumers
from emulator.scenario.drawn_ensembles import draw_first_ensembles
from emulator.scenario.durations import ROUND_MS, round_ms_of
from emulator.scenario.event_kinds import resolve_events
from emulator.scenario.faults import FAULT_FILE_COLUMNS, draw_generators, resolve_faults
from emulator.scenario.imported import Imported
from emulator.scenario.imported_ledgers import ImportedLedgers
from emulator.scenario.initial import resolve_initial
from emulator.scenario.initial_file import INITIAL_FILE_COLUMNS, InitialFile, read_initial_file
from emulator.scenario.initial_ledgers import refuse_ledgers, resolve_initial_ledgers
from emulator.scenario.ledgers import (
    LEDGER_COMMANDS,
    bookies_to_come,
    check_ledger_config,
    check_lists_commands,
    check_sharing,
    count_ledgers,
    has_ledgers,
    refuse_other_systems,
    refuse_unused,
    resolve_ledgers,
)
from emulator.scenario.model import (
    INITIAL_LEDGERS_SCHEMA,
    INITIAL_PARTITIONS_SCHEMA,
    INITIAL_REMOTE_SEGMENTS_SCHEMA,
    INITIAL_REPLICAS_SCHEMA,
    WORKLOAD_SCHEMA,
    Broker,
    Fetching,
    RemoteStorage,
    Run,
    Scenario,
    Topic,
)
from emulator.scenario.places import Places
from emulator.scenario.quorum_configs import GROUP_KEYS
from emulator.scenario.quorums import (
    check_group_config,
    check_members,
    check_quorums,
    group_commands,
    has_groups,
    refuse_other_workload,
    refuse_unused_by_groups,
)
from emulator.scenario.rates import PER_SECOND
from emulator.scenario.rows import Rows, TableFiles, no_rows, rows_of_list
from emulator.scenario.shapes import ClusterShape, ScenarioShape
from emulator.scenario.sweeps import resolve_sweeps
from emulator.scenario.table_files import absolute_path, resolve_path
from emulator.scenario.tiered import check_tiered_topics, tiered_topics
from emulator.scenario.toml_text import parse_toml, read_toml
from emulator.scenario.topics import Layout, resolve_topics
from emulator.scenario.variants import BASE_NAME, check_variants, list_overrides, merge_variant
from emulator.scenario.workload import WORKLOAD_FILE_COLUMNS, resolve_workload


def load_run(path: str, text: str | None = None) -> Run:
    """Reads and validates a scenario file and everything it names.

    `path`: local or a Hadoop URI; paths in the file are relative to it. `text`: what the file had when it was read before; it is
    not read again. Returns the base scenario (scenario_id 0) and the variants (from 1, in file order), resolved, and after
    them the cases of sweeps. Raises
    InputError, one line, for the first thing that is wrong.
    """
    text, data = read_toml(path) if text is None else (text, parse_toml(path, text))
    base = Places(path, data)
    files = TableFiles()
    shape = check_shape(base)
    variants = check_variants(base)
    both = has_both_systems(base)
    scenarios = [_resolve(*_own(base, both, shape), 0, BASE_NAME, {}, files, both)]
    starts = [base]
    for index, variant in enumerate(variants):
        merged = merge_variant(base, index)
        scenarios.append(_resolve(*_own(merged, both), index + 1, variant["name"], list_overrides(variant), files, both))
        starts.append(merged)

    def resolve(places: Places, scenario_id: int, name: str, overrides: dict[str, str]) -> Scenario:
        return _resolve(*_own(places, both), scenario_id, name, overrides, files, both)

    scenarios += resolve_sweeps(base, shape.sweeps, list(zip(starts, scenarios, strict=True)), both, resolve)
    name = shape.name or posixpath.basename(path).removesuffix(".toml")
    folder = absolute_path(posixpath.dirname(path))
    return Run(path, text, name, shape.seed, shape.mode, tuple(scenarios), shape.time_buckets, folder, files.digests())


def scenario_of(name: str, data: Mapping[str, Any]) -> Scenario:
    """The content of a scenario file as its base scenario; `name`: what messages call it. Raises InputError as load_run."""
    places = Places(name, data)
    return _resolve(places, check_shape(places), 0, BASE_NAME, {}, TableFiles(), False)


def check_shape(places: Places) -> ScenarioShape:
    """The tables of a scenario with their types and ranges. Raises InputError, one line, for the first that is wrong."""
    try:
        return ScenarioShape.model_validate(places.data, context={ROUND_MS: round_ms_of(places.data)})
    except ValidationError as error:
        raise places.shape_error(error) from None


def _own(places: Places, both: bool, shape: ScenarioShape | None = None) -> tuple[Places, ScenarioShape]:
    """What of a scenario is its system's, checked: of a file with both systems a part. `shape`: of the whole, if it is known."""
    if both:
        places, shape = own_part(places), None
    return places, shape or check_shape(places)


def _resolve(
    places: Places,
    shape: ScenarioShape,
    scenario_id: int,
    name: str,
    overrides: dict[str, str],
    files: TableFiles,
    both: bool,
) -> Scenario:
    """One scenario. `both`: the file has partitions and ledgers, so that what only the other has is passed over."""
    check_protocol(places, shape.protocol)
    folder = posixpath.dirname(places.file)
    brokers, imported = resolve_cluster(places, shape.cluster, folder, files)
    ledgers, groups = has_ledgers(shape.protocol), has_groups(shape.protocol)
    if groups:
        refuse_unused_by_groups(places, shape.protocol)
    if imported is not None and isinstance(imported, ImportedLedgers) != ledgers:
        what, other = ("partitions", "ledgers") if ledgers else ("ledgers", "partitions")
        raise places.error(("cluster", "import"), f"has {what}", f"an import of {other}, or a protocol of {what}")
    config, topics, partitions = _config_and_topics(places, shape, brokers, imported)
    session_rounds = session_timeout_rounds(shape, {} if groups else config)
    workload, faults = _workload_and_faults(places, shape, brokers, partitions, folder, files)
    if both:
        workload, faults = own_rows(shape.protocol, workload, faults)
    refuse_other_systems(places, shape.protocol, workload, faults)
    if groups:
        refuse_other_workload(places, workload)
    if ledgers:
        topics = resolve_ledgers(places, shape, brokers, config, faults, session_rounds, topics)
        check_sharing(places, brokers, topics, config)
    initial_file = _initial_file(places, shape, topics, config, folder, files)
    initial = _initial(places, shape, topics, brokers, config, imported, initial_file)
    kinds = LEDGER_COMMANDS if ledgers else group_commands(shape.protocol) if groups else COMMAND_KINDS
    commands = resolve_commands(places, shape.commands, brokers, partitions, ALL_COMMANDS if both else kinds)
    if ledgers:
        check_lists_commands(places, commands, topics, config)
    if groups:
        check_members(places, topics, commands)
    scenario = Scenario(
        scenario_id=scenario_id,
        name=name,
        protocol=shape.protocol,
        rounds=shape.rounds,
        round_ms=shape.round_ms,
        seed=shape.seed,
        brokers=brokers,
        session_timeout_rounds=session_rounds,
        quota_window_rounds=quota_window_rounds(shape),
        fetching=_fetching(shape.cluster),
        config=config,
        features=resolve_features(places, shape.cluster),
        topics=topics,
        workload=workload,
        faults=faults,
        commands=own_commands(shape.protocol, commands) if both else commands,
        initial_partitions=initial[0],
        initial_replicas=initial[1],
        initial_remote_segments=initial[2],
        initial_ledgers=initial[3],
        consumers=resolve_consumers(places, shape, partitions),
        remote_storage=RemoteStorage(**shape.remote_storage.model_dump()),
        overrides=overrides,
        events=resolve_events(places, shape, both),
    )
    return draw_first_ensembles(places, shape.topics, scenario) if ledgers else scenario


def _config_and_topics(
    places: Places, shape: ScenarioShape, brokers: tuple[Broker, ...], imported: Imported | ImportedLedgers | None
) -> tuple[dict[str, ConfigValue], tuple[Topic, ...], dict[str, int]]:
    """The cluster's config, the topics, and the partitions of each. Of ledgers the topics are those that were imported: the
    others follow from the faults, too.
    """
    known = imported.topics if imported is not None else ()
    if has_ledgers(shape.protocol):
        refuse_unused(places)
        check_ledger_config(places, ("cluster", "config"), shape.cluster.config, for_topic=False)
        return dict(shape.cluster.config), known, count_ledgers(places, shape.topics, known)
    if has_groups(shape.protocol):
        config = check_group_config(places, shape.cluster.config)
        topics = resolve_topics(places, shape.topics, brokers, config, (), shape.seed, GROUP_KEYS)
        check_quorums(places, topics, config)
    else:
        config = resolve_config(places, shape.cluster)
        refuse_ledgers(places, shape.initial)
        topics = resolve_topics(places, shape.topics, brokers, config, known, shape.seed)
        remote = imported.remote_segments["topic"].unique().to_pylist() if isinstance(imported, Imported) else ()
        check_tiered_topics(places, shape, topics, config, remote)
    return config, topics, {topic.name: topic.partitions for topic in topics}


def _workload_and_faults(
    places: Places,
    shape: ScenarioShape,
    brokers: tuple[Broker, ...],
    partitions: dict[str, int],
    folder: str,
    files: TableFiles,
) -> tuple[pa.Table, pa.Table]:
    sources = rows_of_workload(places, shape, folder, files)
    if shape.rate_window_rounds > 1 and all(rows.table.column(PER_SECOND).null_count == rows.table.num_rows for rows in sources):
        raise places.error(("rate_window_rounds",), "no row of the workload has records_per_second", "one that has, or no key")
    workload = resolve_workload(sources, partitions, shape.rounds, shape.round_ms, shape.rate_window_rounds)
    fault_sources = rows_of_faults(places, shape, folder, files)
    fault_sources += draw_generators(places, shape.fault_generators, brokers, shape.rounds, shape.seed, shape.round_ms)
    return workload, resolve_faults(fault_sources, brokers, partitions, shape.rounds)


def _fetching(cluster: ClusterShape) -> Fetching:
    return Fetching(microseconds(cluster.fetch_round_trip_ms), cluster.fetch_bytes_per_second, cluster.fetches_per_round)


def _initial(
    places: Places,
    shape: ScenarioShape,
    topics: tuple[Topic, ...],
    brokers: tuple[Broker, ...],
    config: Mapping[str, ConfigValue],
    imported: Imported | ImportedLedgers | None,
    file: InitialFile | None,
) -> tuple[pa.Table, pa.Table, pa.Table, pa.Table]:
    """Partitions, replicas, remote segments and ledgers at the start."""
    if has_ledgers(shape.protocol):
        none = (INITIAL_PARTITIONS_SCHEMA, INITIAL_REPLICAS_SCHEMA, INITIAL_REMOTE_SEGMENTS_SCHEMA)
        known = imported.ledgers if isinstance(imported, ImportedLedgers) else None
        to_come = bookies_to_come(places, shape.commands)
        brokers = tuple(broker for broker in brokers if broker.id not in to_come)
        ledgers = resolve_initial_ledgers(places, shape.initial, topics, brokers, config, known)
        partitions, replicas, segments = map(no_rows, none)
        return partitions, replicas, segments, ledgers
    tables = (imported.partitions, imported.replicas, imported.remote_segments) if isinstance(imported, Imported) else ()
    return *resolve_initial(places, shape.initial, topics, tables, file), no_rows(INITIAL_LEDGERS_SCHEMA)


def _initial_file(
    places: Places,
    shape: ScenarioShape,
    topics: tuple[Topic, ...],
    config: Mapping[str, ConfigValue],
    folder: str,
    files: TableFiles,
) -> InitialFile | None:
    if shape.initial_file is None:
        return None
    if has_ledgers(shape.protocol):
        raise places.error(("initial_file",), "ledgers have no use for it", "initial.ledgers")
    rows = files.rows(resolve_path(shape.initial_file, folder), INITIAL_FILE_COLUMNS)
    return read_initial_file(rows, Layout.of(topics), tiered_topics(topics, config))


def rows_of_workload(places: Places, shape: ScenarioShape, folder: str, files: TableFiles) -> list[Rows]:
    """The rows of `[[workload]]`, and those of the workload_file."""
    entries = [entry.model_dump() for entry in shape.workload]
    sources = [rows_of_list(places, ("workload",), entries, WORKLOAD_SCHEMA)]
    if shape.workload_file is not None:
        sources.append(files.rows(resolve_path(shape.workload_file, folder), WORKLOAD_FILE_COLUMNS))
    return sources


def rows_of_faults(places: Places, shape: ScenarioShape, folder: str, files: TableFiles) -> list[Rows]:
    """The rows of `[[faults]]`, and those of the faults_file."""
    entries: list[dict[str, Any]] = [entry.model_dump() for entry in shape.faults]
    sources = [rows_of_list(places, ("faults",), entries, FAULT_SCHEMA)]
    if shape.faults_file is not None:
        sources.append(files.rows(resolve_path(shape.faults_file, folder), FAULT_FILE_COLUMNS))
    return sources
