"""Settings of retention and tiered storage, and whether anything can be deleted in a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from emulator.faults.kinds import FaultRow, read_fault_rows
from emulator.inputs.remote_store import STORE_FAULTS
from emulator.scenario import Command, Scenario, config_keys, configs
from emulator.scenario.configs_in_run import configurations

AS_RETENTION = -2
AS_LOCAL_RETENTION = -1
LONGEST_LAG = 1 << 62
"""No record is ever so old, and sums with it are still long."""
MOST_ROUNDS, MOST_COPY_BYTES, MOST_BYTES = 2**30, 2**50, 2**62
"""Of a period, of one copy in a round, of a log: what is longer or larger is never met, and would overflow when added to."""

ELIGIBLE_LOCAL_LOG = "leader.election.eligible.local.log"
"""Of the keys of KIP-1303, with .ms and .bytes behind it."""

PARTITION_FAULTS = (*STORE_FAULTS, "open_transaction")
"""Kinds that are about partitions, not about brokers."""

QUOTA_WINDOW_MS = 11_000
"""The window of the copy quota: 11 samples of a second (KIP-956)."""

Value = Callable[[str], Any]
"""The value in force of a config key."""


def store_faults(scenario: Scenario) -> list[FaultRow]:
    """The faults of the remote store, and open transactions."""
    if not set(PARTITION_FAULTS) & set(scenario.faults.column("kind").to_pylist()):
        return []
    return [row for row in read_fault_rows(scenario.faults, scenario.rounds) if row.kind in PARTITION_FAULTS]


def copy_quota(bytes_per_second: int, round_ms: int) -> int:
    """The copy quota, at most what its window can be multiplied with: no copies reach that."""
    return min(bytes_per_second, config_keys.LONG_MAX // max(QUOTA_WINDOW_MS, round_ms))


def deletes_old(value: Value) -> bool:
    """Whether segments go by size and age (UnifiedLog.deleteOldSegments asks LogConfig.delete): compaction alone lets none go."""
    return "delete" in value("cleanup.policy")


def is_tiered(value: Value) -> bool:
    """Whether the topic has remote storage."""
    return bool(value("remote.log.storage.system.enable") and value("remote.storage.enable"))


def copies(value: Value) -> bool:
    """Whether the topic's segments are copied."""
    return is_tiered(value) and not value("remote.log.copy.disable")


def eligible_local_log(value: Value) -> dict[str, int]:
    """The `ms` and `bytes` of the log that make a replica a leader like any other (KIP-1303); 0: no such limit."""
    most = {"ms": LONGEST_LAG, "bytes": MOST_BYTES}
    found = {unit: value(f"{ELIGIBLE_LOCAL_LOG}.{unit}") if is_tiered(value) else 0 for unit in most}
    return {unit: max(0, min(limit, most[unit])) for unit, limit in found.items()}


def accepted(value: Value, config: Mapping[str, Any]) -> dict[str, Any]:
    """What of an alter_config takes effect: remote storage goes off only together with what it holds (KIP-950)."""
    turns_off = is_tiered(value) and not config.get("remote.storage.enable", True)
    if turns_off and not config.get("remote.log.delete.on.disable", value("remote.log.delete.on.disable")):
        return {key: given for key, given in config.items() if key != "remote.storage.enable"}
    return dict(config)


def whole_rounds(ms: int, round_ms: int) -> int:
    """A period in rounds, one at least."""
    return max(1, min(MOST_ROUNDS, ms // round_ms))


def is_ever_tiered(scenario: Scenario, topic_config: Mapping[str, Any], alterations: Iterable[Command]) -> bool:
    """Whether the topic has remote storage in any round."""
    given = [topic_config, scenario.config, *(command.config or {} for command in alterations)]
    return any(config.get("remote.storage.enable") for config in given)


def may_copy(scenario: Scenario, topic_config: Mapping[str, Any], alterations: Iterable[Command]) -> bool:
    """Whether the topic's segments are copied in any round. `alterations`: as in `may_delete`."""
    every = configurations(scenario, topic_config, alterations)
    return any(copies(partial(configs.effective, *both)) for both in every)


def may_delete(scenario: Scenario, topic_config: Mapping[str, Any], alterations: Iterable[Command], deletes: bool) -> bool:
    """Whether a check of the run may delete a local segment of the topic; else its segments need not be kept.

    `alterations`: all alter_config commands that concern it; `deletes`: its records are deleted by command.
    """
    every = configurations(scenario, topic_config, alterations)
    settings: list[dict[str, Any]] = [{key: configs.effective(*both, key) for key in _READ} for both in every]
    last_round = scenario.rounds - 1
    if all(of["log.retention.check.interval.ms"] > last_round * scenario.round_ms for of in settings):
        return False
    deleting = [of for of in settings if deletes_old(of.__getitem__)]
    return deletes or any(
        of["retention.bytes"] >= 0 or 0 <= of["retention.ms"] < last_round * scenario.round_ms for of in deleting
    )


_READ = ("cleanup.policy", "log.retention.check.interval.ms", "retention.bytes", "retention.ms")
