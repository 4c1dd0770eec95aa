"""What the partitions of a scenario share: brokers' budgets over time, and where they are shared out again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator.bandwidth.budgets import RATES, Budgets, limits_bandwidth
from emulator.bandwidth.client_quotas import ClientQuotas, client_quotas
from emulator.bandwidth.fetchers import FETCHERS, Fetchers, fetchers_of_scenario
from emulator.inputs.arrays.brokers import BrokerArrays
from emulator.inputs.arrays.changes import changes_of_inputs
from emulator.inputs.arrays.copy_budgets import CopyBudgets, copy_budgets, limits_copying
from emulator.inputs.arrays.placement import Placement
from emulator.inputs.arrays.shared_reads import ReadLimits, limits_reading, read_limits
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.inputs.storage_settings import may_copy
from emulator.scenario import Scenario, configs


@dataclass(frozen=True, eq=False)
class SharedBudgets:
    """Of one scenario. `window_rounds`: between two edges while something is short; `changes`: rounds in which an input changes.

    `brokers`: their ids, ascending. `from_round`: where budgets change, from round 0 on; `budgets`: by it and number of the
    budget (kind x brokers + place of the broker, kinds as of bandwidth.budgets.KINDS), bytes per round, infinite without a limit.
    `uploads`: whether some topic copies segments to remote storage. `copies`, `reads`: what copies, and remote reads, share, None
    where they never compete. `fetchers_per_pair`: num.replica.fetchers; `fetchers`: what these bring, None where each partition
    has one for itself. `clients`: quotas of clients.
    """

    scenario_id: int
    rounds: int
    round_ms: int
    window_rounds: int
    changes: np.ndarray
    brokers: np.ndarray
    from_round: np.ndarray
    budgets: np.ndarray
    uploads: bool
    copies: CopyBudgets | None
    reads: ReadLimits | None
    fetchers_per_pair: int
    fetchers: Fetchers | None
    clients: ClientQuotas

    @property
    def limits_fetches(self) -> bool:
        """Whether any budget of fetches is limited in any round, or a client has a quota."""
        return bool(np.isfinite(self.budgets).any()) or self.limits_clients or self.fetchers is not None

    @property
    def limits_clients(self) -> bool:
        """Whether a client has a quota in any round."""
        return self.clients.are_limits

    @property
    def is_by_edges(self) -> bool:
        """Whether nobody looks at others between two quota edges: no copies or remote reads take turns, no copies that begin
        together share their broker's network (engine/budgets/copy_bursts.py).
        """
        return self.copies is None and self.reads is None and not self.uploads

    def at(self, round_: int) -> np.ndarray:
        """The budgets in force in a round, to write to."""
        found: np.ndarray = self.budgets[np.searchsorted(self.from_round, round_, "right") - 1].copy()
        return found


def has_edges(scenario: Scenario) -> bool:
    """Whether what they share is shared out at quota edges; copies and remote reads take turns instead."""
    return limits_bandwidth(scenario) or scenario.shares_fetchers


def shares_budgets(scenario: Scenario) -> bool:
    """Whether its partitions share anything that is limited, so that they are played together."""
    return has_edges(scenario) or limits_copying(scenario) or limits_reading(scenario)


def shared_budgets(
    scenario: Scenario, places: TopicPlaces, brokers: BrokerArrays, placement: Placement, keeps: np.ndarray, commits: np.ndarray
) -> SharedBudgets:
    """The shared budgets of a scenario. `keeps`, `commits`: as of `changes_of_inputs`."""
    budgets = Budgets(scenario)
    alterations = [c for c in scenario.commands if c.kind == "alter_config" and c.topic is None and c.round < scenario.rounds]
    rounds = sorted({0, *(c.round for c in alterations if any(key in (c.config or {}) for key in RATES.values()))})
    return SharedBudgets(
        scenario.scenario_id,
        scenario.rounds,
        scenario.round_ms,
        scenario.quota_window_rounds,
        changes_of_inputs(scenario, places, brokers, placement, keeps, commits),
        budgets.brokers,
        np.array(rounds, np.int64),
        np.stack([budgets.at(round_) for round_ in rounds]),
        any(may_copy(scenario, topic.config, scenario.alterations[topic.name]) for topic in scenario.topics),
        copy_budgets(scenario),
        read_limits(scenario),
        int(configs.effective(scenario.config, {}, FETCHERS)),
        fetchers_of_scenario(scenario) if scenario.shares_fetchers else None,
        client_quotas(scenario, places.counts),
    )
