"""What is said before a run of what its logs and copies start with (notes.py)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow.compute as pc

from emulator.errors import listing, some
from emulator.scenario.configs import effective
from emulator.scenario.model import Scenario

THREADS = "remote.log.manager.copier.thread.pool.size"


def notes_of_start(scenario: Scenario) -> Iterator[str]:
    """The notes on a scenario's start."""
    yield from _local_starts(scenario)
    yield from _copies_under_way(scenario)


def _local_starts(scenario: Scenario) -> Iterator[str]:
    """Logs given with a local log start above their log start, where nothing is remote, or only from later on."""
    logs, remote = scenario.initial_replicas, scenario.initial_remote_segments
    parted = logs.filter(pc.greater(logs.column("local_log_start_offset"), logs.column("log_start_offset")))
    if parted.num_rows:
        there = remote.filter(pc.not_equal(remote.column("state"), "DELETE_FINISHED"))
        first = there.group_by(["topic", "partition"]).aggregate([("base_offset", "min")])
        parted = parted.select(["topic", "partition", "log_start_offset"]).join(first, ["topic", "partition"])
        lacking = parted.filter(pc.is_null(parted.column("base_offset_min")))
        if topics := sorted(set(lacking.column("topic").to_pylist())):
            yield (
                f"nothing is remote below given local log starts of {some('topic', topics)}: without remote storage such a log"
                " begins on disk at its log start, with it the leader raises its log start to the local one"
            )
        late = parted.filter(pc.greater(parted.column("base_offset_min"), parted.column("log_start_offset")))
        if topics := sorted(set(late.column("topic").to_pylist())):
            yield (
                f"given log starts of {some('topic', topics)} lie below the first remote segment: leaders raise theirs to where"
                " it begins"
            )


def _copies_under_way(scenario: Scenario) -> Iterator[str]:
    """More copies under way at the start than a broker has threads: no broker of Kafka has them (RemoteLogManager, its pool)."""
    copies = scenario.initial_remote_segments.filter(pc.is_valid(scenario.initial_remote_segments.column("moved_bytes")))
    if not copies.num_rows or scenario.remote_storage.copy_bytes_per_second is None:
        return
    said = scenario.initial_partitions.filter(pc.is_valid(scenario.initial_partitions.column("leader")))
    leaders = {
        (row["topic"], row["partition"]): row["leader"] for row in said.select(["topic", "partition", "leader"]).to_pylist()
    }
    assignment = {topic.name: topic.assignment for topic in scenario.topics}
    places = zip(copies.column("topic").to_pylist(), copies.column("partition").to_pylist(), strict=True)
    count = Counter(leaders.get(place, int(assignment[place[0]][place[1], 0])) for place in places)
    threads = int(effective(scenario.config, {}, THREADS))
    brokers = [str(broker) for broker, number in sorted(count.items()) if number > threads]
    if brokers:
        whose = f"broker{'s' if len(brokers) > 1 else ''} {listing(brokers)}"
        yield f"{whose}: more copies are under way at the start than {threads} copier threads; they all go on, side by side"
