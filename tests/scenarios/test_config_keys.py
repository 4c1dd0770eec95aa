"""Every config key that a scenario file takes changes what rounds read, or is named by the note of those without effect."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from emulator.errors import InputError
from emulator.inputs.arrays import prepare
from emulator.scenario import load_run
from emulator.scenario.config_keys import KEYS, OF_ONE_BROKER, ConfigKey, ConfigValue
from emulator.scenario.notes import notes_of

FILE = """
rounds = 200000
[cluster]
brokers = 3
racks = 3
network_bytes_per_second = 1000000
page_cache_bytes = 100000000
config = {{ {config} }}
[[topics]]
name = "t"
assignment = [[1, 2, 3], [2, 3, 1]]
config = {{ {topic} }}
[[workload]]
topic = "t"
records_per_round = 5
[[consumers]]
group = "g"
topic = "t"
start = "earliest"
members = 1
[remote_storage]
copy_bytes_per_second = 1000000
read_bytes_per_second = 1000000
read_ms = 250
{commands}
"""
OF_READS = ("a remote read of ", "reads of group g, whose consumers have no rack")
"""Notes that the file itself has."""
COMMANDS = {
    "remote.log.delete.on.disable": """
[[commands]]
kind = "alter_config"
topic = "t"
round = 100
config = { "remote.storage.enable" = false }
"""
}
"""Without a topic that is taken off remote storage the key says nothing."""
CLUSTER: Mapping[str, ConfigValue] = {"remote.log.storage.system.enable": True}
TOPIC: Mapping[str, ConfigValue] = {
    "remote.storage.enable": True,
    "leader.replication.throttled.replicas": "*",
    "follower.replication.throttled.replicas": "*",
}
SYSTEM = "remote.log.storage.system.enable"
UNTIERED = ("remote.log.storage.system.enable", "remote.storage.enable", "cleanup.policy", "log.cleanup.policy")
"""Keys that a tiered topic does not take otherwise: the topic has no remote storage then."""
NOTHING_REMOTE = "no effect without remote storage, which remote.storage.enable of a topic turns on: [remote_storage]"
OTHER: Mapping[str, ConfigValue] = {
    "min.insync.replicas": 2,
    "cleanup.policy": "compact",
    "log.cleanup.policy": "compact",
    "max.message.bytes": 999,
    "message.max.bytes": 999,
    "replica.fetch.wait.max.ms": 0,
    "remote.log.manager.copier.thread.pool.size": 1,
}


def other_value(key: ConfigKey) -> ConfigValue:
    """A value that is not the default."""
    if key.name in OTHER:
        return OTHER[key.name]
    if key.type is bool:
        return not key.default
    if key.choices:
        return next(choice for choice in key.choices if choice != key.default)
    if key.type is str:
        return "0:1"
    low, high = key.span or (0, 2**31 - 1)
    return next(value for value in (1000, 7, low) if low <= value <= high and value != key.default)


def read_by_rounds(folder: Path, key: ConfigKey, is_other: bool) -> bytes:
    """All that rounds are given of a scenario, with another value of one key or without it."""
    path = written(folder, key, is_other)
    (scenario,) = load_run(str(path)).scenarios
    prepared = prepare([scenario], {}, True, 60)
    return pickle.dumps((scenario.session_timeout_rounds, prepared.block(np.arange(2)), prepared.shared_of(0)))


def written(folder: Path, key: ConfigKey, is_other: bool) -> Path:
    """The file of `read_by_rounds`."""
    cluster, topic = dict(CLUSTER), dict(TOPIC)
    if key.name in UNTIERED:
        cluster, topic = {}, {}
    if is_other:
        (topic if key.topic else cluster)[key.name] = other_value(key)
    if key.name == "remote.storage.enable":
        cluster = dict(CLUSTER)
    if key.name == SYSTEM:
        topic = {"remote.storage.enable": True}
    path = folder / "scenario.toml"
    path.write_text(FILE.format(config=_inline(cluster), topic=_inline(topic), commands=COMMANDS.get(key.name, "")))
    return path


def _inline(config: Mapping[str, ConfigValue]) -> str:
    return ", ".join(f'"{name}" = {json.dumps(value)}' for name, value in config.items())


@pytest.mark.parametrize("name", [name for name, key in KEYS.items() if key.effect and name != SYSTEM])
def test_keys_with_effect_change_what_rounds_read(tmp_path: Path, name: str) -> None:
    assert read_by_rounds(tmp_path, KEYS[name], True) != read_by_rounds(tmp_path, KEYS[name], False)
    told = [note for note in notes_of(load_run(str(written(tmp_path, KEYS[name], True)))) if note.startswith("no effect")]
    assert told == ([NOTHING_REMOTE] if name in UNTIERED and name != "remote.storage.enable" else [])


def test_remote_storage_needs_the_system(tmp_path: Path) -> None:
    assert load_run(str(written(tmp_path, KEYS[SYSTEM], True)))
    with pytest.raises(InputError, match=SYSTEM):
        load_run(str(written(tmp_path, KEYS[SYSTEM], False)))


@pytest.mark.parametrize("name", [name for name, key in KEYS.items() if not key.effect])
def test_keys_without_effect_change_nothing_and_are_noted(tmp_path: Path, name: str) -> None:
    assert read_by_rounds(tmp_path, KEYS[name], True) == read_by_rounds(tmp_path, KEYS[name], False)
    told = notes_of(load_run(str(written(tmp_path, KEYS[name], True))))
    assert [note for note in told if not note.startswith(OF_READS)] == [f"no effect here: {name}"]


def test_there_is_one_note_of_all(tmp_path: Path) -> None:
    """In order, each once: of the cluster, topics, commands and consumers of all scenarios."""
    path = tmp_path / "scenario.toml"
    given = {"preallocate": True, "broker.heartbeat.interval.ms": 1000}
    text = FILE.format(config='"num.partitions" = 3', topic=_inline({"preallocate": True}), commands="")
    text = text.replace("members = 1", 'members = 1\nconfig = { "fetch.max.wait.ms" = 1 }')
    command = '[[commands]]\nkind = "alter_config"\nround = 5\n'
    text += f"{command}broker = 1\nconfig = {{ {_inline({'replica.lag.time.max.ms': 5, 'replica.fetch.max.bytes': 5})} }}\n"
    text += f"{command}config = {{ {_inline({'broker.session.timeout.ms': 5})} }}\n"
    path.write_text(text + f'[[variants]]\nname = "v"\ncluster = {{ config = {{ {_inline(given)} }} }}\n')
    named = (
        "broker.heartbeat.interval.ms, broker.session.timeout.ms (by alter_config), fetch.max.wait.ms (of consumers), "
        "num.partitions, preallocate, replica.lag.time.max.ms (by alter_config of one broker)"
    )
    told = notes_of(load_run(str(path)))
    assert [note for note in told if not note.startswith(OF_READS)] == [f"no effect here: {named}", NOTHING_REMOTE]


def test_the_page_says_of_each_key_whether_it_has_an_effect() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scenario_file.md").read_text("utf-8")
    keys = page.partition("## Config keys")[2]
    with_effect, without = keys.split("These have none")
    for part, is_told in ((with_effect, True), (without, False)):
        rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| ") and not line.startswith("| key ")]
        named = {name for row in rows for name in re.findall(r"[a-z][a-z._]+[a-z]", row) if name in KEYS}
        assert named == {name for name, key in KEYS.items() if key.effect is is_told}


def test_which_keys_one_broker_may_have_otherwise() -> None:
    """Those that the page says so of."""
    page = (Path(__file__).parents[2] / "docs" / "scenario_file.md").read_text("utf-8")
    rows = [line.split("|") for line in page.partition("## Config keys")[2].splitlines() if "broker (by alter_config)" in line]
    assert {row[1].strip() for row in rows} == OF_ONE_BROKER
