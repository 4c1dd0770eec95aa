"""The cluster: its brokers and racks, config and features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import InputError, did_you_mean, listing, quoted
from emulator.scenario.commands import check_config
from emulator.scenario.config_keys import ConfigValue
from emulator.scenario.configs import effective
from emulator.scenario.durations import rounds_of
from emulator.scenario.imported import Imported, exists, read_import
from emulator.scenario.imported_ledgers import LEDGERS_FILE, ImportedLedgers, read_ledger_import
from emulator.scenario.model import Broker
from emulator.scenario.places import Places
from emulator.scenario.protocols import PROTOCOLS
from emulator.scenario.rows import TableFiles
from emulator.scenario.scaling import scale_import
from emulator.scenario.shapes import INT_MAX, LONG_MAX, MAX_BROKERS, ClusterShape, ScenarioShape
from emulator.scenario.table_files import Column, resolve_path

SESSION_TIMEOUT = "broker.session.timeout.ms"
QUOTA_WINDOW_MS = 10_000
ELR_FEATURE = "eligible.leader.replicas.version"
SOURCES = ("brokers", "brokers_file", "import")
_LIMITS = {"network_bytes_per_second": 1, "disk_bytes_per_second": 1, "page_cache_bytes": 0}
"""What a broker has that may be limited, and the least that it can be."""
BROKER_FILE_COLUMNS: Mapping[str, Column] = {
    "broker": Column(pa.int64()),
    "id": Column(pa.int64()),
    "rack": Column(pa.string()),
    **{name: Column(pa.int64()) for name in _LIMITS},
}


def check_protocol(places: Places, protocol: str) -> None:
    """Raises InputError for a protocol that is not emulated."""
    if protocol not in PROTOCOLS:
        raise places.error(
            ("protocol",), f"{quoted(protocol)} is not emulated yet{did_you_mean(protocol, PROTOCOLS)}", listing(PROTOCOLS)
        )


def resolve_cluster(
    places: Places, shape: ClusterShape, folder: str, files: TableFiles
) -> tuple[tuple[Broker, ...], Imported | ImportedLedgers | None]:
    """Returns the brokers in order of id, and what was imported, scaled if the file says so.

    `folder`: what paths are relative to. Raises InputError when not exactly one of brokers, brokers_file and import is
    given, and for whatever is wrong in the files they name.
    """
    brokers, imported = _resolve_brokers(places, shape, folder, files)
    limits = {name: given for name in _LIMITS if (given := getattr(shape, name)) is not None}
    if limits:
        own = ({name: given for name, given in limits.items() if getattr(broker, name) is None} for broker in brokers)
        brokers = tuple(replace(broker, **limited) for broker, limited in zip(brokers, own, strict=True))
    return _in_regions(places, shape, brokers), imported


def _in_regions(places: Places, shape: ClusterShape, brokers: Sequence[Broker]) -> tuple[Broker, ...]:
    """With `regions` rack r is in region r mod regions, and is called "region/rack"."""
    if shape.regions is None:
        return tuple(brokers)
    racks = shape.racks or (shape.scale.racks if shape.scale is not None else None)
    if racks is None or racks < shape.regions:
        problem = "there are no racks to put into regions" if racks is None else f"{shape.regions} regions of {racks} racks"
        raise places.error(("cluster", "regions"), problem, "racks, at least as many as regions")
    return tuple(replace(b, rack=f"{int(b.rack or 0) % shape.regions}/{b.rack}") for b in brokers)


def _resolve_brokers(
    places: Places, shape: ClusterShape, folder: str, files: TableFiles
) -> tuple[tuple[Broker, ...], Imported | ImportedLedgers | None]:
    _check_source(places, shape)
    if shape.brokers_file is not None:
        return _read_brokers(resolve_path(shape.brokers_file, folder), files), None
    if shape.import_folder is not None:
        path = resolve_path(shape.import_folder, folder)
        if exists(path, LEDGERS_FILE):
            ledgers = read_ledger_import(path, files)
            if shape.racks is not None:
                ledgers = ledgers.with_racks(shape.racks)
            return ledgers.brokers, ledgers
        imported = read_import(path, files)
        if shape.scale is not None:
            imported = scale_import(places, imported, shape.scale, shape.racks)
        elif shape.racks is not None:
            imported = imported.with_racks(shape.racks)
        return imported.brokers, imported
    first = shape.first_broker_id
    positions = range(shape.brokers or 0)
    return tuple(Broker(first + i, None if shape.racks is None else str(i % shape.racks)) for i in positions), None


def resolve_config(places: Places, shape: ClusterShape) -> dict[str, ConfigValue]:
    """Checks the cluster's config keys and returns them; raises InputError for the first unknown or wrong one."""
    check_config(places, ("cluster", "config"), shape.config, for_topic=False)
    return dict(shape.config)


def resolve_features(places: Places, shape: ClusterShape) -> dict[str, int]:
    """Checks the cluster's features and returns them; raises InputError for one that Kafka does not have."""
    for name, level in shape.features.items():
        here = ("cluster", "features", name)
        if name != ELR_FEATURE:
            problem = f"unknown feature {quoted(name)}{did_you_mean(name, [ELR_FEATURE])}"
            raise places.error(here, problem, ELR_FEATURE)
        if type(level) is not int or level not in (0, 1):
            raise places.error(here, f"{quoted(level)} is no level of it", "0 or 1")
    return {ELR_FEATURE: 0, **shape.features}


def session_timeout_rounds(shape: ScenarioShape, config: Mapping[str, ConfigValue]) -> int:
    """Rounds after which a broker that is not heard of is fenced: as the file says, else those of broker.session.timeout.ms.

    `config`: the cluster's. Bookies, which have no such key, have its default.
    """
    given = shape.cluster.session_timeout_rounds
    return given or rounds_of(session_timeout_ms(config), shape.round_ms)


def session_timeout_ms(config: Mapping[str, ConfigValue]) -> int:
    """broker.session.timeout.ms of a cluster's config."""
    return int(effective(config, {}, SESSION_TIMEOUT))


def quota_window_rounds(shape: ScenarioShape) -> int:
    """Rounds after which what is limited is shared out again: as the file says, else those of QUOTA_WINDOW_MS."""
    return shape.cluster.quota_window_rounds or rounds_of(QUOTA_WINDOW_MS, shape.round_ms)


def _check_source(places: Places, shape: ClusterShape) -> None:
    given = [key for key, value in zip(SOURCES, (shape.brokers, shape.brokers_file, shape.import_folder), strict=True)
             if value is not None]  # fmt: skip
    if len(given) != 1:
        problem = f"{' and '.join(given)} stand together" if given else "there are no brokers"
        raise places.error(("cluster",), problem, f"one of {listing(SOURCES)}")
    if shape.scale is not None and shape.import_folder is None:
        raise places.error(("cluster", "scale"), "there is nothing to scale", "scale with import")
    if shape.racks is not None and shape.brokers_file is not None:
        raise places.error(("cluster", "racks"), "brokers_file gives the racks", "racks with brokers or import")
    if shape.first_broker_id != 1 and shape.brokers is None:
        raise places.error(("cluster", "first_broker_id"), "the brokers have their ids", "first_broker_id with brokers")


def _read_brokers(path: str, files: TableFiles) -> tuple[Broker, ...]:
    rows = files.rows(path, BROKER_FILE_COLUMNS)
    columns = [name for name in ("broker", "id") if rows.table.column(name).null_count < rows.table.num_rows]
    if not 0 < rows.table.num_rows <= MAX_BROKERS:
        raise InputError.at(path, "file", f"has {rows.table.num_rows} brokers", f"1 to {MAX_BROKERS} rows")
    if len(columns) != 1:
        raise InputError.at(path, "header", "has no column of broker ids, or two", "broker or id, rack (optional)")
    ids = rows.table.column(columns[0])
    rows.refuse(pc.is_null(ids), columns[0], "no value", "a broker id in every row")
    rows.check_range(columns[0], 0, INT_MAX)
    for name, least in _LIMITS.items():
        rows.check_range(name, least, LONG_MAX)
    found: dict[int, Broker] = {}
    values = (rows.table.column(name).to_pylist() for name in ("rack", *_LIMITS))
    for row, (broker, rack, *limits) in enumerate(zip(ids.to_pylist(), *values, strict=True)):
        if broker in found:
            raise rows.error(row, columns[0], f"broker {broker} stands twice", "each broker once")
        found[broker] = Broker(broker, rack, *limits)
    return tuple(found[broker] for broker in sorted(found))
