"""What is said of a run before it starts: what its scenarios ask for that has no effect, or less than a reader may think."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from emulator.configs import AT_START, KEYS, OF_ONE_BROKER, ConfigValue, effective
from emulator.errors import listing
from emulator.scenario.clusters import SESSION_TIMEOUT, session_timeout_ms
from emulator.scenario.durations import rounds_of
from emulator.scenario.model import Run, Scenario, Topic

MOST_NAMED = 3
"""Topics that a note names."""


def notes_of(run: Run) -> list[str]:
    """The notes of all scenarios, in lines: one that not all of them have names those that do."""
    having: dict[str, list[str]] = {}
    for scenario in run.scenarios:
        for note in _notes(scenario):
            having.setdefault(note, []).append(scenario.name)
    everywhere = len(run.scenarios)
    idle = sorted({key for scenario in run.scenarios for key in keys_without_effect(scenario)})
    told = [f"no effect here: {', '.join(idle)}"] if idle else []
    return told + [note if len(names) == everywhere else f"{note} ({_some('scenario', names)})" for note, names in having.items()]


def keys_without_effect(scenario: Scenario) -> Iterator[str]:
    """The config keys that a scenario gives and that change nothing, with what keeps them from it where they could elsewhere."""
    for config in (scenario.config, *(topic.config for topic in scenario.topics)):
        yield from (key for key in config if key in KEYS and not KEYS[key].effect)
    for command in scenario.commands:
        for key in command.config or {}:
            if key in KEYS and not KEYS[key].effect:
                yield key
            elif command.broker is not None and key not in OF_ONE_BROKER:
                yield f"{key} (by alter_config of one broker)"
            elif key in AT_START:
                yield f"{key} (by alter_config)"
    for row in scenario.consumers:
        yield from (f"{key} (of consumers)" for key in row.idle_keys)


def _notes(scenario: Scenario) -> Iterator[str]:
    if scenario.protocol.startswith("kafka"):
        yield from _session_timeout(scenario)
        yield from _compaction(scenario)
    elif scenario.faults.column("moment").null_count < scenario.faults.num_rows:
        yield "moment of faults has no effect on ledgers: they play whole rounds"


def _session_timeout(scenario: Scenario) -> Iterator[str]:
    """Rounds that the file gives win over the key's milliseconds."""
    rounds, given = scenario.session_timeout_rounds, scenario.config.get(SESSION_TIMEOUT)
    if given is not None and rounds != rounds_of(session_timeout_ms(scenario.config), scenario.round_ms):
        yield f"session_timeout_rounds = {rounds} decides when brokers are fenced, not {SESSION_TIMEOUT} = {given}"


def _compaction(scenario: Scenario) -> Iterator[str]:
    """UnifiedLog.deleteOldSegments deletes by size and age where cleanup.policy has "delete"; the cleaner is not emulated."""
    compacted = [topic.name for topic in scenario.topics if any("compact" in str(p) for p in policies(scenario, topic))]
    if compacted:
        yield f"compaction is not emulated: logs of {_some('topic', compacted)} keep what it would free"


def policies(scenario: Scenario, topic: Topic) -> set[ConfigValue]:
    """Every cleanup.policy that a topic has in the run."""
    return {effective(*both, "cleanup.policy") for both in configurations(scenario, topic)}


def configurations(scenario: Scenario, topic: Topic) -> Iterator[tuple[Mapping[str, ConfigValue], Mapping[str, ConfigValue]]]:
    """(the cluster's config, the topic's) at the start and after each alter_config that concerns all brokers or the topic."""
    cluster, own = dict(scenario.config), dict(topic.config)
    yield dict(cluster), dict(own)
    for command in sorted(scenario.commands, key=lambda command: command.round):
        concerns = command.topic is None or fnmatchcase(topic.name, command.topic)
        if command.kind == "alter_config" and command.broker is None and concerns:
            (cluster if command.topic is None else own).update(command.config or {})
            yield dict(cluster), dict(own)


def _some(what: str, names: list[str]) -> str:
    """Up to MOST_NAMED names, and how many more there are."""
    few = [*names[:MOST_NAMED], *([f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else [])]
    return f"{what}{'s' if len(names) > 1 else ''} {listing(few)}"
