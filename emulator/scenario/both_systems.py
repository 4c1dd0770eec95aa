"""A file with scenarios of several systems: each takes what its own system knows, and passes over the others'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emulator.faults.kinds import LEDGER_KINDS
from emulator.rounds.bookkeeper.constants import POLICIES
from emulator.scenario.commands import COMMAND_KINDS, CommandKind
from emulator.scenario.config_keys import KEYS
from emulator.scenario.ledger_configs import LEDGER_KEYS
from emulator.scenario.ledgers import LEDGER_COMMANDS, OF_REMOTE_STORAGE, has_ledgers
from emulator.scenario.model import Command
from emulator.scenario.placements import PLACEMENT_KEYS, PLACEMENTS
from emulator.scenario.places import Places
from emulator.scenario.protocols import PROTOCOLS, system_of
from emulator.scenario.quorum_configs import GROUP_KEYS
from emulator.scenario.quorums import group_commands, has_groups, without_unused

_DEFAULT = "kafka"
_OF_PARTITIONS = ("consumers", "initial_file")
_STARTS = {True: ("partitions", "replicas", "remote_segments"), False: ("ledgers",)}
"""Tables of `initial` that only partitions, and only ledgers, know."""
_OF_KAFKAS_CLUSTER = ("features", "page_cache_bytes", "quota_window_rounds")
_OF_KAFKAS_TOPICS = ("replication_factor", *(key for key in PLACEMENT_KEYS if key != "placement"))


def has_both_systems(places: Places) -> bool:
    """Whether the scenarios of a file (`places`: the base) are of several systems: of partitions, ledgers, groups."""
    tables = [places.data, *(v for v in places.data.get("variants", []) if isinstance(v, dict) and "protocol" in v)]
    named = {table.get("protocol", _DEFAULT) for table in tables if isinstance(table.get("protocol", _DEFAULT), str)}
    return len({system_of(name) for name in named if name in PROTOCOLS}) > 1


def own_part(places: Places) -> Places:
    """A scenario without the tables and keys that only the other system has; what neither has stays, to be refused.

    What says which brokers there are and how fast they are (import, bandwidth) stays as well: bookies have it, too.
    """
    protocol = places.data.get("protocol", _DEFAULT)
    if not isinstance(protocol, str):
        return places
    ledgers = has_ledgers(protocol)
    own = LEDGER_KEYS if ledgers else GROUP_KEYS if has_groups(protocol) else KEYS
    foreign = {key for keys in (KEYS, LEDGER_KEYS, GROUP_KEYS) for key in keys if key not in own}
    data = _without(places.data, _OF_PARTITIONS if ledgers else ())
    if has_groups(protocol):
        data = without_unused(data)
    if ledgers and isinstance(data.get("remote_storage"), dict):
        data["remote_storage"] = {key: value for key, value in data["remote_storage"].items() if key in OF_REMOTE_STORAGE}
    if isinstance(data.get("initial"), dict):
        data["initial"] = _without(data["initial"], _STARTS[ledgers])
    if isinstance(data.get("cluster"), dict):
        data["cluster"] = _configured(_without(data["cluster"], _OF_KAFKAS_CLUSTER if ledgers else ()), foreign)
    if isinstance(data.get("topics"), list):
        data["topics"] = [_topic(t, ledgers, foreign) if isinstance(t, dict) else t for t in data["topics"]]
    return replace(places, data=data)


def own_rows(protocol: str, workload: pa.Table, faults: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Workload and faults as a system takes them: max_in_flight is of ledgers, acks of partitions, and so are some faults."""
    rows = workload.num_rows
    if has_ledgers(protocol):
        return _with_column(workload, "acks", pa.array(["all"] * rows, pa.string())), faults
    if has_groups(protocol):
        workload = _with_column(workload, "acks", pa.array(["all"] * rows, pa.string()))
    kept = pc.invert(pc.is_in(faults.column("kind"), value_set=pa.array(LEDGER_KINDS)))
    in_flight = workload.schema.field("max_in_flight").type
    return _with_column(workload, "max_in_flight", pa.nulls(rows, in_flight)), faults.filter(kept)


ALL_COMMANDS: Mapping[str, CommandKind] = {**COMMAND_KINDS, **LEDGER_COMMANDS}


def own_commands(protocol: str, commands: tuple[Command, ...]) -> tuple[Command, ...]:
    """The commands that a system has."""
    of_others = group_commands(protocol) if has_groups(protocol) else COMMAND_KINDS
    kinds: Mapping[str, CommandKind] = LEDGER_COMMANDS if has_ledgers(protocol) else of_others
    return tuple(command for command in commands if command.kind in kinds)


def _topic(topic: Mapping[str, Any], ledgers: bool, foreign: set[str]) -> dict[str, Any]:
    others = PLACEMENTS if ledgers else POLICIES
    keys = [*(_OF_KAFKAS_TOPICS if ledgers else ()), *(["placement"] if topic.get("placement") in others else [])]
    return _configured(_without(topic, keys), foreign)


def _configured(table: dict[str, Any], foreign: set[str]) -> dict[str, Any]:
    if isinstance(table.get("config"), dict):
        table["config"] = _without(table["config"], foreign)
    return table


def _without(table: Mapping[str, Any], keys: Any) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}


def _with_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), table.schema.field(name), values)
