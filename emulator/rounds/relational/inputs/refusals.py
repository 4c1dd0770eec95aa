"""What a scenario asks for and these rounds don't have: told in one line that names the engine that has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from emulator.bandwidth.client_quotas import limits_clients
from emulator.errors import InputError
from emulator.rounds.relational.inputs.settings import may_expire
from emulator.scenario import Run, Scenario
from emulator.scenario.configs import effective
from emulator.scenario.model import RemoteStorage
from emulator.scenario.throttles import THROTTLED_LISTS

OTHER_ENGINE = "compiled"
PROTOCOLS = ("kafka", "kafka-kip279", "kafka-kip101", "kafka-high-watermark")


def refuse_unknown(
    run: Run, mode: str | None = None, resume: bool = False, checkpoint_every: int | None = None, state_at: Sequence[int] = ()
) -> None:
    """Raises InputError for the first thing of a scenario, or of the command line, that these rounds don't have."""
    asked = {
        "--mode leap": mode == "leap",
        "--resume": resume,
        "--checkpoint-every": checkpoint_every,
        "--state-at": bool(state_at),
    }
    for option, is_given in asked.items():
        if is_given:
            raise InputError(f"--engine relational: it has no {option}; allowed: --engine {OTHER_ENGINE}, which has")
    for scenario in run.scenarios:
        for what in lacking(scenario):
            problem = f"the relational rounds have no {what} (scenario {scenario.name})"
            raise InputError.at(run.path, "--engine relational", problem, f"--engine {OTHER_ENGINE}, which has")


def lacking(scenario: Scenario) -> Iterator[str]:
    """What of a scenario these rounds don't have."""
    if scenario.protocol not in PROTOCOLS:
        yield f"protocol {scenario.protocol}"
    if any(
        row["record_bytes"] > int(effective(scenario.config, topic.config, "max.message.bytes"))
        for row in scenario.workload.to_pylist()
        for topic in scenario.topics
        if fnmatchcase(topic.name, row["topic"])
    ):
        yield "records above max.message.bytes"
    if scenario.consumers:
        yield "consumers"
    if any(b.network_bytes_per_second is not None or b.disk_bytes_per_second is not None for b in scenario.brokers):
        yield "bandwidth budgets of brokers"
    if scenario.shares_fetchers:
        yield "fetchers that partitions share"
    if limits_clients(scenario):
        yield "quotas of clients"
    given = [scenario.config, *(t.config for t in scenario.topics), *(c.config or {} for c in scenario.commands)]
    if any(key in config for config in given for key in THROTTLED_LISTS):
        yield "replication throttles"
    if any(config.get("remote.storage.enable") for config in given) or scenario.initial_remote_segments.num_rows:
        yield from _lacking_of_tiers(scenario, given)
    kinds = {command.kind for command in scenario.commands}
    for kind in sorted(kinds & {"cancel_reassignment", "delete_topic"}):
        yield f"command {kind}"
    asked = [command for command in scenario.commands if command.kind == "reassign"]
    moves = [(t.name, c.partition, c.round) for c in asked for t in scenario.topics if fnmatchcase(t.name, c.topic or "")]
    if len(set(moves)) < len(moves):
        yield "two commands reassign of a partition in one round"
    if set(scenario.faults.column("kind").to_pylist()) & {"open_transaction"}:
        yield "fault open_transaction"


def _lacking_of_tiers(scenario: Scenario, given: list[Mapping[str, Any]]) -> Iterator[str]:
    """What of tiered storage: these rounds have what KIP-405's scenarios 1 to 3 need."""
    if scenario.remote_storage != RemoteStorage():
        yield "table remote_storage"
    if any(scenario.initial_remote_segments.column(name).null_count < scenario.initial_remote_segments.num_rows for name in NEWS):
        yield f"{', '.join(NEWS)} of initial remote segments"
    kinds = set(scenario.faults.column("kind").to_pylist()) & TIER_FAULTS
    kinds |= {command.kind for command in scenario.commands} & {"delete_records"}
    for kind in sorted(kinds):
        yield f"{kind} with tiered storage"
    named = {key for config in given for key, value in config.items() if key in TIER_KEYS and value not in (TIER_KEYS[key], None)}
    for key in sorted(named):
        yield f"{key} with tiered storage"
    for topic in scenario.topics:
        if may_expire(scenario, topic.name, topic.config):
            yield "total retention in remote storage, which deletes segments there in this run"
            return
    if any(command.kind == "alter_config" and "remote.storage.enable" in (command.config or {}) for command in scenario.commands):
        yield "command that turns remote storage on or off"


NEWS = ("copier", "unread", "moved_bytes")
TIER_FAULTS = {
    "power_loss", "disk_loss", "isolation", "rack_isolation", "remote_storage_outage", "slow_remote_storage",
    "remote_metadata_lag",
}  # fmt: skip
TIER_KEYS: Mapping[str, Any] = {
    "unclean.leader.election.enable": False,
    "unclean.recovery.strategy": "none",
    "follower.fetch.last.tiered.offset.enable": False,
    "remote.log.manager.copy.max.bytes.per.second": None,
    "remote.log.manager.copier.thread.pool.size": None,
    "remote.copy.lag.ms": 0,
    "remote.copy.lag.bytes": -1,
    "leader.election.eligible.local.log.ms": -1,
    "leader.election.eligible.local.log.bytes": -1,
}
"""Keys that would matter, and the values with which they do not."""
