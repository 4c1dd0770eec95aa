"""Which topics may have remote storage: what Kafka refuses, and what is not emulated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from emulator.errors import quoted
from emulator.scenario.config_keys import ConfigValue
from emulator.scenario.configs import effective
from emulator.scenario.globs import matching_topics
from emulator.scenario.model import Topic
from emulator.scenario.places import Location, Places
from emulator.scenario.protocols import TIERED_PROTOCOLS
from emulator.scenario.shapes import ScenarioShape

LAGS = {"remote.copy.lag.ms": "retention.ms", "remote.copy.lag.bytes": "retention.bytes"}
"""How long an upload may be delayed (KIP-1241), and the retention that it must not exceed."""
RETENTIONS = ("retention.ms", "retention.bytes")
AS_RETENTION, NO_LIMIT = -2, -1
ENABLE, SYSTEM = "remote.storage.enable", "remote.log.storage.system.enable"


def check_tiered_topics(
    places: Places,
    shape: ScenarioShape,
    topics: Sequence[Topic],
    cluster_config: Mapping[str, ConfigValue],
    imported_topics: Iterable[str] = (),
) -> None:
    """Raises InputError for the first topic, or alter_config, that turns remote storage on where it may not be.

    Also for the first topic that has remote segments and no remote storage. `imported_topics`: those with imported segments.
    """
    at = {topic.name: index for index, topic in enumerate(shape.topics)}
    altering: dict[str, list[int]] = {topic.name: [] for topic in topics}
    for index, command in sorted(enumerate(shape.commands), key=lambda each: each[1].round):
        if command.kind == "alter_config" and command.topic is not None:
            for name in matching_topics(command.topic, altering):
                altering[name].append(index)
    for topic in topics:
        _check_topic(places, shape, topic, cluster_config, at.get(topic.name), altering[topic.name])
    for index, command in enumerate(shape.commands):
        if command.kind == "alter_config" and SYSTEM in (command.config or {}):
            raise places.error(
                ("commands", index, "config", SYSTEM), "brokers read it only when they start", "it in cluster.config"
            )
    tiered = tiered_topics(topics, cluster_config)
    for index, row in enumerate(shape.initial.remote_segments):
        if row.topic not in tiered:
            here = ("initial", "remote_segments", index, "topic")
            problem = f"topic {quoted(row.topic)} has no remote storage"
            raise places.error(here, problem, f"a topic with {quoted(ENABLE)} = true in its config")
    for name in sorted({*imported_topics} - tiered):
        problem = f"has remote segments of topic {quoted(name)}, which has no remote storage"
        raise places.error(("cluster", "import"), problem, f"them with {quoted(ENABLE)} = true in the topic's config")


def tiered_topics(topics: Sequence[Topic], cluster_config: Mapping[str, ConfigValue]) -> set[str]:
    """The names of the topics that have remote storage at the start."""
    return {topic.name for topic in topics if effective(cluster_config, topic.config, ENABLE)}


def _check_topic(
    places: Places,
    shape: ScenarioShape,
    topic: Topic,
    cluster_config: Mapping[str, ConfigValue],
    index: int | None,
    altering: Iterable[int],
) -> None:
    """Checks a topic's config at the start and after every alter_config of it: `altering`, their indices, by round."""
    of_topic: Location = ("cluster", "config") if index is None else ("topics", index, "config")
    config: dict[str, ConfigValue] = dict(topic.config)
    _check(places, of_topic if ENABLE in config else ("cluster", "config"), shape, config, cluster_config)
    _check_limits(places, of_topic, config, cluster_config)
    for at in altering:
        config |= shape.commands[at].config or {}
        _check(places, ("commands", at, "config"), shape, config, cluster_config)
        _check_limits(places, ("commands", at, "config"), config, cluster_config)


def _check_limits(
    places: Places, here: Location, config: Mapping[str, ConfigValue], cluster_config: Mapping[str, ConfigValue]
) -> None:
    """Local retention within the whole one (LogConfig.validateRemoteStorageRetentionTime, -Size), delays within the local one."""
    if not (effective(cluster_config, config, SYSTEM) and effective(cluster_config, config, ENABLE)):
        return
    for retention in RETENTIONS:
        whole, local = (int(effective(cluster_config, config, name)) for name in (retention, f"local.{retention}"))
        if whole != NO_LIMIT and local != AS_RETENTION and (local == NO_LIMIT or local > whole):
            problem = "no limit" if local == NO_LIMIT else str(local)
            raise places.error(
                (*here, f"local.{retention}"),
                f"{problem} is above {retention} = {whole}",
                f"at most {whole}, or {AS_RETENTION}: the same",
            )
    for key, retention in LAGS.items():
        lag, local = (int(effective(cluster_config, config, name)) for name in (key, f"local.{retention}"))
        in_force = int(effective(cluster_config, config, retention)) if local == AS_RETENTION else local
        if lag > 0 and in_force != NO_LIMIT and lag > in_force:
            name = retention if local == AS_RETENTION else f"local.{retention}"
            raise places.error((*here, key), f"{lag} is above the local retention, {name} = {in_force}", f"at most {in_force}")


def _check(
    places: Places,
    here: Location,
    shape: ScenarioShape,
    config: Mapping[str, ConfigValue],
    cluster_config: Mapping[str, ConfigValue],
) -> None:
    if not effective(cluster_config, config, ENABLE):
        return
    if not effective(cluster_config, {}, SYSTEM):
        raise places.error((*here, ENABLE), "remote storage is off in the cluster", f"{quoted(SYSTEM)} = true in cluster.config")
    policy = str(effective(cluster_config, config, "cleanup.policy"))
    if "compact" in policy:
        raise places.error((*here, ENABLE), f"the topic's cleanup.policy is {quoted(policy)}", 'it with cleanup.policy "delete"')
    if shape.protocol not in TIERED_PROTOCOLS:
        problem = f"protocol {quoted(shape.protocol)} has no remote storage"
        raise places.error((*here, ENABLE), problem, f"protocols {', '.join(map(quoted, TIERED_PROTOCOLS))}")
