"""What groups that commit by quorums have in a scenario file: their config, and what of the file they have no use for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emulator.rounds.quorums.protocols import PROTOCOLS
from emulator.scenario.commands import COMMAND_KINDS, CommandKind, check_config
from emulator.scenario.config_keys import ConfigValue
from emulator.scenario.model import Command, Topic
from emulator.scenario.places import Places
from emulator.scenario.protocols import GROUP_PROTOCOLS, group_protocol
from emulator.scenario.quorum_configs import GROUP_KEYS, MOST_SERVERS, OF_DISKS, OF_QUORUM, effective
from emulator.scenario.rates import EVEN_ALLOWED

UNUSED = ("consumers", "initial", "initial_file", "remote_storage")
"""Tables that groups have no use for."""
UNUSED_OF_CLUSTER = (
    *("import", "scale", "network_bytes_per_second", "disk_bytes_per_second", "page_cache_bytes", "quota_window_rounds"),
    *("fetch_round_trip_ms", "fetch_bytes_per_second", "fetches_per_round", "features", "session_timeout_rounds"),
)
"""Likewise keys of the cluster."""

FAULTS_OF_GROUPS = (
    "disk_loss", "power_loss", "broker_crash", "rack_loss", "controlled_shutdown", "broker_pause", "isolation",
    "rack_isolation", "link_cut", "controller_loss", "slow_link",
)  # fmt: skip
"""Kinds of faults that groups know; controller_loss is about who is outside the group, an elector."""


def has_groups(protocol: str) -> bool:
    """Tell whether a protocol is one of quorums."""
    return protocol in GROUP_PROTOCOLS


def group_commands(protocol: str) -> Mapping[str, CommandKind]:
    """The commands that groups of a protocol have."""
    return {kind: COMMAND_KINDS[kind] for kind in group_protocol(protocol).commands}


def refuse_unused_by_groups(places: Places, protocol: str) -> None:
    """Raises InputError for the first table or key that groups have no use for."""
    allowed = "it with one of Kafka's protocols"
    if places.data.get("commands") and not group_commands(protocol):
        others = " or ".join(name for name, own in PROTOCOLS.items() if "reassign" in own.commands)
        raise places.error(("commands",), f"groups of {protocol} have no use for it", f"{allowed}, or reassign with {others}")
    for key in UNUSED:
        if places.data.get(key):
            raise places.error((key,), "groups have no use for it", allowed)
    for key in UNUSED_OF_CLUSTER:
        if key in places.data.get("cluster", {}):
            raise places.error(("cluster", key), "groups have no use for it", allowed)


def without_unused(data: Mapping[str, Any]) -> dict[str, Any]:
    """What groups take of a file with several systems."""
    unused = UNUSED if group_commands(str(data.get("protocol"))) else (*UNUSED, "commands")
    kept = {key: value for key, value in data.items() if key not in unused}
    if isinstance(kept.get("cluster"), dict):
        kept["cluster"] = {k: v for k, v in kept["cluster"].items() if k == "import" or k not in UNUSED_OF_CLUSTER}
    return kept


def check_group_config(places: Places, config: Mapping[str, object]) -> dict[str, ConfigValue]:
    """The cluster's config; raises InputError for the first entry that is not a known key with a value of its type and range."""
    check_config(places, ("cluster", "config"), config, for_topic=False, keys=GROUP_KEYS)
    return {key: value for key, value in config.items() if isinstance(value, int | str)}


def check_quorums(places: Places, topics: Sequence[Topic], config: Mapping[str, ConfigValue]) -> None:
    """Raises InputError for a topic of which more acks, or logs to compare, are asked for than it has replicas."""
    for index, topic in enumerate(topics):
        least = int((topic.assignment >= 0).sum(axis=1).min())
        for key in OF_QUORUM:
            if int(effective(config, topic.config, key)) > least:
                where = ("topics", index, "config", key) if key in topic.config else ("cluster", "config", key)
                problem = f"{effective(config, topic.config, key)} is more than the {least} replicas of topic {topic.name}"
                raise places.error(where, problem, f"1 to {least}, the replication factor")


def check_members(places: Places, topics: Sequence[Topic], commands: Sequence[Command]) -> None:
    """Raises InputError for a reassign to nobody, and for one with which a group has had more servers than it may."""
    for topic in topics:
        servers: dict[int, set[int]] = {}
        for index, command in enumerate(commands):
            partition, replicas = command.partition or 0, command.replicas or ()
            here = ("commands", index, "replicas")
            if command.kind != "reassign" or not fnmatchcase(topic.name, command.topic or "") or partition >= topic.partitions:
                continue
            if not replicas:
                raise places.error(here, "a group without members", f"1 to {MOST_SERVERS} brokers")
            first = {int(broker) for broker in topic.assignment[partition] if broker >= 0}
            own = servers.setdefault(partition, first)
            own |= set(replicas)
            if len(own) > MOST_SERVERS:
                problem = f"partition {partition} of topic {topic.name} would have had {len(own)} servers"
                raise places.error(here, problem, f"{MOST_SERVERS} in the run")


def refuse_other_workload(places: Places, workload: pa.Table) -> None:
    """Raises InputError for what a workload says that groups do not do."""
    if pc.any(pc.not_equal(workload.column("acks"), "all")).as_py():
        problem = "acks: a record of a group is acknowledged when it is committed"
        raise places.error(("workload",), problem, 'acks = "all"')
    if workload.column("records_per_second").null_count < workload.num_rows:
        problem = "records_per_second: a group takes whole records a round"
        raise places.error(("workload",), problem, EVEN_ALLOWED)


def idle_keys(protocol: str, configs: Sequence[Mapping[str, ConfigValue]]) -> list[str]:
    """Keys that are given and mean nothing for a protocol."""
    own = group_protocol(protocol)
    idle = {key for other in PROTOCOLS.values() for key in other.keys}.difference(own.keys)
    return [key for config in configs for key in config if key in idle or (key in OF_DISKS and not own.on_disk)]


def idle_faults(protocol: str, faults: pa.Table, round_ms: int) -> list[str]:
    """Kinds of faults that are given and change nothing for a protocol of groups."""
    known = FAULTS_OF_GROUPS if group_protocol(protocol).elector else set(FAULTS_OF_GROUPS) - {"controller_loss"}
    idle = {kind for kind in faults.column("kind").to_pylist() if kind not in known}
    slow = faults.filter(pc.equal(faults.column("kind"), "slow_link"))
    if slow.num_rows and not pc.all(pc.greater_equal(pc.fill_null(slow.column("round_trip_ms"), 0), round_ms)).as_py():
        idle.add("slow_link without a round_trip_ms of a round at least")
    return sorted(idle)
