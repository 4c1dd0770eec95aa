"""What remote reads of several partitions share: brokers' quotas (KIP-956) and reader threads, and fetches of group members.

docs/consumer_rounds.md, Reading in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from emulator.bandwidth.broker_configs import BrokerConfigs
from emulator.bandwidth.most_replicas import most_replicas
from emulator.inputs.consumers import (
    MOST_RECORDS,
    groups_of,
    largest_record,
    least_segment,
    limit_of_a_round,
    most_of_a_round,
    read_quota,
    reads_per_thread,
    taken_bytes,
)
from emulator.inputs.fetching import fetching_members
from emulator.inputs.storage_settings import is_ever_tiered
from emulator.scenario import Scenario, config_keys
from emulator.scenario.consumers import remote_fetches
from emulator.scenario.model import Topic

THREADS = "remote.log.reader.threads"
QUOTA = "remote.log.manager.fetch.max.bytes.per.second"
QUEUE = "remote.log.reader.max.pending.tasks"

BY_ITSELF = -1
"""The fetch of readers that share theirs with no other partition."""


def limits_reading(scenario: Scenario) -> bool:
    """Whether remote reads of several partitions on one broker may compete in any round: for its quota, its threads, a fetch.

    For threads only where reads take time (`read_ms`) and a broker's readers may need more requests than they make in a round;
    for fetches where a group has fewer members than partitions, which may need more than a round holds.
    """
    if not scenario.consumers:
        return False
    read = [
        topic
        for topic in scenario.topics
        if any(fnmatchcase(topic.name, row.topic) for row in scenario.consumers)
        and is_ever_tiered(scenario, topic.config, scenario.alterations[topic.name])
    ]
    most = most_replicas(scenario, read)
    if most <= 1:
        return False
    settings = BrokerConfigs(scenario, (THREADS, QUOTA))
    reads, of_groups = reads_per_thread(scenario), _requests_of_groups(scenario, read)
    needed = most * sum(requests for requests, _ in of_groups.values())
    is_short = reads is not None and needed > min(settings.ever(THREADS)) * reads
    of_members = {group: np.bincount(member[member >= 0]).max() for group, member in fetching_members(scenario).items()}
    shares_fetches = any(partitions * of_groups[group][0] > of_groups[group][1] for group, partitions in of_members.items())
    return min(settings.ever(QUOTA)) < config_keys.NEVER or is_short or shares_fetches


def _requests_of_groups(scenario: Scenario, topics: Sequence[Topic]) -> dict[str, tuple[int, int]]:
    """By group, the remote requests that it needs of a partition in a round at the most, and the fetches that this holds.

    A piece of a read ends with a segment of one of the replicas.
    """
    found: dict[str, tuple[int, int]] = {}
    record_bytes, segment_bytes = largest_record(scenario), least_segment(scenario, topics)
    replicas = max(topic.assignment.shape[1] for topic in topics)
    for row in scenario.consumers:
        fetches = remote_fetches(scenario, row)
        records = MOST_RECORDS if row.records_per_round is None else min(row.records_per_round, MOST_RECORDS)
        pieces = 1 + 2 * replicas * (1 + int(limit_of_a_round(taken_bytes(row), records, record_bytes)) // segment_bytes)
        limits = (taken_bytes(row), records, record_bytes, min(pieces, fetches))
        requests, _ = most_of_a_round(fetches, max(1, row.fetch_bytes), *limits)
        most, least = found.get(row.group, (0, fetches))
        found[row.group] = max(most, int(requests)), min(least, fetches)
    return found


@dataclass(frozen=True, eq=False)
class ReadLimits:
    """`from_round`: where limits change, from round 0 on; by it and place of the broker `quotas`, bytes a round, and `reads`,
    requests of all threads in a round, infinite without a limit, and `queues`: reads that may wait for a thread.

    `fetches`: by number of a group with fewer members than partitions: by partition the fetch that brings it, BY_ITSELF for none.
    `record_bytes`: of the scenario's largest record.
    """

    from_round: np.ndarray
    quotas: np.ndarray
    reads: np.ndarray
    queues: np.ndarray
    fetches: Mapping[int, np.ndarray]
    record_bytes: int

    def at(self, round_: int) -> tuple[np.ndarray, np.ndarray]:
        """(quotas, reads) in force in a round, by place of the broker."""
        place = self._place(round_)
        return self.quotas[place], self.reads[place]

    def queues_at(self, round_: int) -> list[int]:
        """How many reads may wait for a thread of each broker in a round."""
        found: list[int] = self.queues[self._place(round_)].tolist()
        return found

    def _place(self, round_: int) -> int:
        return int(np.searchsorted(self.from_round, round_, "right")) - 1

    def of(self, partitions: np.ndarray) -> ReadLimits:
        """The same with fetches of these partitions only."""
        return replace(self, fetches={group: fetch[partitions] for group, fetch in self.fetches.items()})


def read_limits(scenario: Scenario) -> ReadLimits | None:
    """The limits of a scenario, None where reads do not compete. Fetches are by partition_id."""
    if not limits_reading(scenario):
        return None
    settings = BrokerConfigs(scenario, (THREADS, QUOTA, QUEUE))
    rounds = settings.from_rounds()
    a_thread = reads_per_thread(scenario)

    def quota(bytes_per_second: int) -> float:
        return np.inf if bytes_per_second >= config_keys.NEVER else read_quota(bytes_per_second, scenario.round_ms)

    quotas = np.array([[quota(int(value)) for value in row] for row in settings.by_round(QUOTA, rounds)], float)
    reads = settings.by_round(THREADS, rounds) * (np.inf if a_thread is None else a_thread)
    queues = settings.by_round(QUEUE, rounds)
    return ReadLimits(np.array(rounds, np.int64), quotas, reads, queues, _fetches(scenario), largest_record(scenario))


def _fetches(scenario: Scenario) -> dict[int, np.ndarray]:
    groups = groups_of(scenario.consumers)
    members = fetching_members(scenario)
    return {
        groups.index(group): np.where(member < 0, BY_ITSELF, member + (at << 32))
        for at, (group, member) in enumerate(members.items())
    }
