"""What is said before a run of what a file gives for remote storage, of topics that have none (notes.py)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.compute as pc

from emulator.errors import listing, some
from emulator.scenario.config_keys import KEYS
from emulator.scenario.configs_in_run import configurations_of, values
from emulator.scenario.globs import matching_topics
from emulator.scenario.model import RemoteStorage, Run, Scenario
from emulator.scenario.protocols import PARTITIONS, system_of
from emulator.scenario.tiered import ENABLE, SYSTEM

OF_TIERED_TOPICS = (
    "local.retention.ms", "local.retention.bytes", "remote.copy.lag.ms", "remote.copy.lag.bytes", "remote.log.copy.disable",
    "remote.log.delete.on.disable",
)  # fmt: skip
"""A topic's settings that are asked for where it has remote storage only (LogConfig; RemoteLogManager)."""
OF_BROKERS = [
    name
    for name, key in KEYS.items()
    if key.effect and name != SYSTEM and (key.setting in OF_TIERED_TOPICS or name.startswith("remote.log."))
]
"""What a cluster's config says of them."""
REMOTE_FETCH_MAX_WAIT_MS = 500
"""Kafka's default of remote.fetch.max.wait.ms, which is no key here."""
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
            if True in values(scenario, topic, ENABLE):  # at the start, or after an alter_config
                tiered.add(topic.name)
            own_keys = (key for _, own in configurations_of(scenario, topic) for key in own if key in OF_TIERED_TOPICS)
            for key in own_keys:
                given.setdefault(key, {})[topic.name] = None
    idle = {key: [name for name in topics if name not in tiered] for key, topics in given.items()}
    told = [f"{key} of {some('topic', names)}" for key, names in idle.items() if names]
    if not tiered:
        told += dict.fromkeys(what for scenario in run.scenarios for what in _of_all_topics(scenario))
    if told:
        yield f"no effect without remote storage, which {ENABLE} of a topic turns on: {listing(told)}"


def slow_reads(scenario: Scenario) -> Iterator[str]:
    """Remote reads that a real broker gives up before they are done, so that a consumer gets nothing (DelayedRemoteFetch)."""
    tiered = [topic.name for topic in scenario.topics if True in values(scenario, topic, ENABLE)]
    readers = [row for row in scenario.consumers if matching_topics(row.topic, tiered)]
    if not readers:
        return
    store = scenario.remote_storage
    rates = [store.read_bytes_per_second] if store.read_bytes_per_second else []
    is_slow = pc.equal(scenario.faults.column("kind"), "slow_remote_storage")
    slow = scenario.faults.filter(pc.and_(is_slow, pc.less(scenario.faults.column("from_round"), scenario.rounds)))
    rates += [rate for rate in slow.column("bytes_per_second").to_pylist() if rate]
    most_bytes = max(row.fetch_bytes for row in readers)
    read_ms = store.read_ms + (most_bytes * 1000 / min(rates) if rates else 0)
    if read_ms > REMOTE_FETCH_MAX_WAIT_MS:
        yield (
            f"a remote read of {most_bytes:,} bytes takes {read_ms:,.0f} ms: a real broker gives up after"
            f" remote.fetch.max.wait.ms = {REMOTE_FETCH_MAX_WAIT_MS}, and its consumer gets nothing; here it reads on, slowly"
        )


def _of_all_topics(scenario: Scenario) -> Iterator[str]:
    """What a scenario gives that is about all that is tiered."""
    yield from (key for key in scenario.config if key in OF_BROKERS)
    if scenario.remote_storage != RemoteStorage():
        yield "[remote_storage]"
    yield from (kind for kind in OF_THE_STORE if kind in scenario.faults.column("kind").to_pylist())
