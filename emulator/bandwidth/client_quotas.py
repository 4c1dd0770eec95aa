"""Quotas of clients: what each may send to a broker, and read from it (KIP-13, ClientQuotaManager; KIP-219).

Whoever writes a topic is one client here, and a consumer group is one; each has its quota at every broker for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from emulator.inputs.consumers import groups_of
from emulator.scenario import Command, Scenario, config_keys, configs

PRODUCER, CONSUMER = "producer_byte_rate", "consumer_byte_rate"
NO_CLIENT = -1


@dataclass(frozen=True, eq=False)
class ClientQuotas:
    """`from_round`: where quotas change, from round 0 on; `quotas`: by it and client, bytes a round, infinite without a limit.

    Clients are producers, `producers` of them, then groups: those that are ever limited, and of several groups all, as each has
    connections of its own. `writer`: by partition its producers' number, `reader`: by number of the group its own; NO_CLIENT:
    it is with all others.
    """

    from_round: np.ndarray
    quotas: np.ndarray
    producers: int
    writer: np.ndarray
    reader: np.ndarray

    @property
    def groups(self) -> int:
        """Groups that are clients."""
        return self.quotas.shape[1] - self.producers

    @property
    def are_limits(self) -> bool:
        """Whether a client has a quota in any round."""
        return bool(np.isfinite(self.quotas).any())

    def at(self, round_: int) -> np.ndarray:
        """By client what is in force in a round."""
        found: np.ndarray = self.quotas[np.searchsorted(self.from_round, round_, "right") - 1]
        return found

    def of(self, partitions: np.ndarray) -> ClientQuotas:
        """The same with writers of these partitions only."""
        return replace(self, writer=self.writer[partitions])


def limits_clients(scenario: Scenario) -> bool:
    """Whether any client has a quota in any round."""
    every: list[Mapping[str, Any]] = [scenario.config, *(topic.config for topic in scenario.topics)]
    every += [command.config or {} for command in _alterations(scenario)]
    return any(key in config for config in every for key in (PRODUCER, CONSUMER)) or any(
        row.byte_rate is not None for row in scenario.consumers
    )


def client_quotas(scenario: Scenario, counts: np.ndarray) -> ClientQuotas:
    """The quotas of a scenario. `counts`: partitions by topic; writers are by partition_id."""
    groups = len(groups_of(scenario.consumers))
    if groups < 2 and not limits_clients(scenario):
        writer, reader = np.full(int(counts.sum()), NO_CLIENT), np.full(groups, NO_CLIENT)
        return ClientQuotas(np.zeros(1, np.int64), np.zeros((1, 0)), 0, writer, reader)
    rounds = sorted({0, *(command.round for command in _alterations(scenario) if command.round < scenario.rounds)})
    rates = np.array([[*_of_topics(scenario, round_), *_of_groups(scenario, round_)] for round_ in rounds], float)
    rates[rates >= config_keys.LONG_MAX] = np.inf
    is_client = np.isfinite(rates).any(axis=0)
    is_client[len(scenario.topics) :] |= groups > 1
    number = np.where(is_client, np.cumsum(is_client) - 1, NO_CLIENT)
    of_topic, of_group = number[: len(scenario.topics)], number[len(scenario.topics) :]
    quotas = rates[:, is_client] * scenario.round_ms / 1000
    producers = int(is_client[: len(scenario.topics)].sum())
    return ClientQuotas(np.array(rounds, np.int64), quotas, producers, np.repeat(of_topic, counts), of_group)


def _alterations(scenario: Scenario) -> list[Command]:
    """Commands that alter quotas, by round."""
    given = [c for c in scenario.commands if c.kind == "alter_config" and c.broker is None]
    return sorted((c for c in given if {PRODUCER, CONSUMER} & set(c.config or {})), key=lambda command: command.round)


def _of_topics(scenario: Scenario, round_: int) -> Iterator[int]:
    """What those who write each topic may send in a second."""
    altered = [command for command in _alterations(scenario) if command.round <= round_]
    cluster = _with(scenario.config, [command for command in altered if command.topic is None])
    for topic in scenario.topics:
        own = [c for c in altered if c.topic is not None and fnmatchcase(topic.name, c.topic)]
        yield int(configs.effective(cluster, _with(topic.config, own), PRODUCER))


def _of_groups(scenario: Scenario, round_: int) -> Iterator[int]:
    """What each group may read in a second: its own quota, else that of all."""
    altered = [command for command in _alterations(scenario) if command.round <= round_ and command.topic is None]
    of_all = int(configs.effective(_with(scenario.config, altered), {}, CONSUMER))
    own = {row.group: row.byte_rate for row in scenario.consumers if row.byte_rate is not None}
    for group in groups_of(scenario.consumers):
        yield own.get(group, of_all)


def _with(config: Mapping[str, Any], altered: Sequence[Command]) -> dict[str, Any]:
    found = dict(config)
    for command in altered:
        found.update(command.config or {})
    return found
