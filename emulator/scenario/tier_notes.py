"""What is said before a run of what a file gives for remote storage, of topics that have none (notes.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from emulator.errors import listing, some
from emulator.scenario.configs import KEYS, ConfigValue, effective
from emulator.scenario.configs_in_run import configurations
from emulator.scenario.model import RemoteStorage, Run, Scenario, Topic
from emulator.scenario.protocols import PARTITIONS, system_of
from emulator.scenario.tiered import ENABLE, SYSTEM

OF_TIERED_TOPICS = (
    "local.retention.ms", "local.retention.bytes", "remote.copy.lag.ms", "remote.copy.lag.bytes", "remote.log.copy.disable",
    "remote.log.delete.on.disable",
)  # fmt: skip
"""A topic's settings that are asked for where it has remote storage only (LogConfig; RemoteLogManager)."""
OF_THE_STORE = ("remote_storage_outage", "slow_remote_storage", "remote_metadata_lag")
"""Faults that nothing comes of where no topic has any."""


def notes_of_tiers(run: Run) -> Iterator[str]:
    """What has no effect in any scenario of a file: what one variant has no use for another one may have."""
    if any(system_of(scenario.protocol) != PARTITIONS for scenario in run.scenarios):  # ledgers are offloaded to the store
        return
    given: dict[str, dict[str, None]] = {}
    tiered: set[str] = set()
    for scenario in run.scenarios:
        for topic in scenario.topics:
            if may_be_tiered(scenario, topic):
                tiered.add(topic.name)
            for key in _own_keys(scenario, topic):
                given.setdefault(key, {})[topic.name] = None
    idle = {key: [name for name in topics if name not in tiered] for key, topics in given.items()}
    told = [f"{key} of {some('topic', names)}" for key, names in idle.items() if names]
    if not tiered:
        told += dict.fromkeys(what for scenario in run.scenarios for what in _of_all_topics(scenario))
    if told:
        yield f"no effect without remote storage, which {ENABLE} of a topic turns on: {listing(told)}"


def may_be_tiered(scenario: Scenario, topic: Topic) -> bool:
    """Whether a topic has remote storage at the start of a run, or after an alter_config in it."""
    return any(
        effective(cluster, own, SYSTEM) and effective(cluster, own, ENABLE) for cluster, own in configurations(scenario, topic)
    )


def _own_keys(scenario: Scenario, topic: Topic) -> Iterator[str]:
    """Settings of tiered topics that the file gives a topic."""
    configs: list[Mapping[str, ConfigValue]] = [topic.config]
    for command in scenario.commands:
        if command.config and command.topic is not None and fnmatchcase(topic.name, command.topic):
            configs.append(command.config)
    yield from (key for config in configs for key in config if key in OF_TIERED_TOPICS)


def _of_all_topics(scenario: Scenario) -> Iterator[str]:
    """What a scenario gives that is about all that is tiered."""
    for key in scenario.config:
        row = KEYS.get(key)
        if (
            row is not None
            and row.effect
            and key != SYSTEM
            and (row.setting in OF_TIERED_TOPICS or key.startswith("remote.log."))
        ):
            yield key
    if scenario.remote_storage != RemoteStorage():
        yield "[remote_storage]"
    yield from (kind for kind in OF_THE_STORE if kind in scenario.faults.column("kind").to_pylist())
