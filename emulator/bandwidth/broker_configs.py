"""Brokers' own settings, round by round: the cluster's config and the commands that alter it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from emulator.scenario import Scenario, configs


class BrokerConfigs:
    """The values in force of some of the keys that a broker may have by itself."""

    def __init__(self, scenario: Scenario, keys: tuple[str, ...]) -> None:
        self._scenario = scenario
        self._keys = keys
        self._alterations = [
            c
            for c in sorted(scenario.commands, key=lambda c: c.round)
            if c.kind == "alter_config" and c.topic is None and any(key in (c.config or {}) for key in keys)
        ]

    @property
    def are_set(self) -> bool:
        """Whether any of the keys is given a value, of whichever broker and in whichever round."""
        return bool(self._alterations) or any(key in self._scenario.config for key in self._keys)

    def ever(self, key: str) -> set[int]:
        """All values that the key has anywhere."""
        given = {int((c.config or {})[key]) for c in self._alterations if key in (c.config or {})}
        return given | {int(configs.effective(self._scenario.config, {}, key))}

    def at(self, key: str, broker: int, round_: int) -> int:
        """The value of a key for a broker in a round."""
        config: dict[str, Any] = dict(self._scenario.config)
        own: dict[str, Any] = {}
        for command in self._alterations:
            if command.round <= round_:
                if command.broker is None:
                    config.update(command.config or {})
                elif command.broker == broker:
                    own.update(command.config or {})
        return int(configs.effective({**config, **own}, {}, key))

    def from_rounds(self) -> list[int]:
        """The rounds of the run, from 0 on, from which some value may be another."""
        return [0, *sorted({c.round for c in self._alterations if 0 < c.round < self._scenario.rounds})]

    def by_round(self, key: str, rounds: Sequence[int]) -> np.ndarray:
        """The values of a key, int64 (rounds, brokers by id)."""
        brokers = sorted(broker.id for broker in self._scenario.brokers)
        return np.array([[self.at(key, broker, round_) for broker in brokers] for round_ in rounds], np.int64)
