"""Brokers over time as arrays: what faults and their own settings make of them, and links between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.faults.timeline import broker_timelines
from emulator.inputs.arrays.broker_columns import NONE, BrokerColumns, Links, parted
from emulator.inputs.arrays.columns import offsets_of
from emulator.inputs.arrays.stale import StaleTable
from emulator.inputs.brokers_over_time import BrokersOverTime
from emulator.rounds.kafka.constants import (
    CLEAN_STOP,
    CLIENTS_CUT,
    CONTROLLER_DOWN,
    DISK_LOSS,
    FENCED,
    FOREVER,
    ISOLATED,
    OFFLINE,
    PAUSED,
    POWER_LOSS,
    RESTARTED,
    RETURNING,
    UNCLEAN_RESTART,
    UNKNOWN,
    WAKING,
    WITH_RACK,
)
from emulator.rounds.kafka.input_records import BrokerSpan, Link
from emulator.rounds.kafka.moments import NOT_STOPPED
from emulator.rounds.records import rows
from emulator.scenario import Scenario

STATUS_BITS = {
    "offline": OFFLINE,
    "paused": PAUSED,
    "isolated": ISOLATED,
    "waking": WAKING,
    "fenced": FENCED,
    "returning": RETURNING,
    "restarted": RESTARTED,
    "unclean_restart": UNCLEAN_RESTART,
    "clean_stop": CLEAN_STOP,
    "power_loss": POWER_LOSS,
    "disk_loss": DISK_LOSS,
    "clients_cut": CLIENTS_CUT,
    "is_with_rack": WITH_RACK,
}
"""Flag of a BrokerSegment -> bit of a status. CONTROLLER_DOWN is the opposite of its flag, STALE depends on the partition."""


OF_SETTINGS = (
    *("fetch_max_bytes", "response_max_bytes", "no_wait", "copy_quota", "at_pending_upload"),
    *("read_quota", "reader_threads", "reader_queue", "index_cache_bytes"),
)
"""Settings of brokers that are UNKNOWN where a broker has none of its own."""

READ_BY_BROKERS = ("brokers", "rounds", "round_ms", "session_timeout_rounds", "faults", "commands")
"""Fields of a scenario that its BrokerArrays are made of."""


class BrokerArrays:
    """The brokers of one scenario, by place among their sorted ids.

    `spans`, `links`: records, places of links counted from 0; `first_span`: by broker, and one more for the end; `changes`: by
    broker, how often something changes for it. `racks`: by broker the number of its rack; `rack_numbers`: by name.
    """

    def __init__(self, scenario: Scenario, stale: StaleTable) -> None:
        brokers = [(b.id, b.rack) for b in scenario.brokers]
        timelines = broker_timelines(scenario.faults, brokers, scenario.rounds, scenario.session_timeout_rounds)
        columns = BrokerColumns(BrokersOverTime(scenario, timelines), scenario.round_ms)
        self.ids = columns.ids
        self.racks, self.rack_numbers = _racks(scenario, self.ids)
        self.changes = np.bincount(columns.broker, minlength=len(self.ids)) - 1
        self.first_span = offsets_of(self.changes + 2)
        self.spans, self.links = self._spans(columns, stale)

    def _spans(self, columns: BrokerColumns, stale: StaleTable) -> tuple[Any, Any]:
        spans = rows(BrokerSpan, int(self.first_span[-1]))
        for name in ("disk_bytes", *OF_SETTINGS):
            spans[name] = UNKNOWN
        spans["from_round"], spans["cause"], spans["moment"] = FOREVER, -1, NOT_STOPPED
        at = np.arange(len(columns.round)) + columns.broker  # each broker before has one more, at FOREVER
        spans["from_round"][at] = columns.round
        status = np.where(columns.flags["controller_up"], 0, CONTROLLER_DOWN)
        for name, bit in STATUS_BITS.items():
            status |= np.where(columns.flags[name], bit, 0)
        spans["status"][at] = status
        spans["cause"][at] = columns.cause
        spans["moment"][at] = np.where(columns.moment == NONE, NOT_STOPPED, columns.moment)
        spans["disk_bytes"][at] = _or_unknown(columns.disk)
        for name in OF_SETTINGS:
            spans[name][at] = _or_unknown(columns.settings[name])
        lag = columns.settings["metadata_lag"]
        spans["metadata_lag"][at] = np.where(lag == NONE, 0, lag)
        numbers = np.array([stale.row(covered) for covered in columns.stale_sets], np.int64)
        spans["stale"][at] = numbers[columns.stale]
        spans["stale_before"][at] = numbers[columns.stale_before]
        kinds = (("cut", columns.cut_links), ("slow", columns.slow_links), ("far", columns.far_links))
        links = rows(Link, sum(len(of_kind.key) for _, of_kind in kinds))
        first = 0
        for kind, of_kind in kinds:
            spans[f"first_{kind}"][at] = first + _begins(of_kind)
            spans[f"{kind}_count"][at] = of_kind.count
            end = first + len(of_kind.key)
            links["peer"][first:end] = parted(of_kind.key)[1]
            links["number"][first:end] = of_kind.number
            first = end
        return spans, links


def _begins(links: Links) -> np.ndarray:
    return np.cumsum(links.count) - links.count


def _or_unknown(numbers: np.ndarray) -> np.ndarray:
    return np.where(numbers == NONE, UNKNOWN, numbers)


def _racks(scenario: Scenario, ids: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
    """(by place the number of the broker's rack, -1 - place without one: no two of those share a rack; numbers by name)."""
    numbers: dict[str, int] = {}
    rack_of = {b.id: b.rack for b in scenario.brokers}
    racks = enumerate(rack_of[broker] for broker in ids.tolist())
    found = np.array([-1 - i if rack is None else numbers.setdefault(rack, len(numbers)) for i, rack in racks], np.int64)
    return found, numbers
