"""What all partitions of a scenario have in common as records (emulator.rounds.kafka.input_records.ScenarioRow)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.inputs.arrays.rules import RULES_PLACES
from emulator.inputs.arrays.scenarios import quiet_from
from emulator.inputs.arrays.shared import has_edges
from emulator.inputs.arrays.stale import has_late_news
from emulator.inputs.consumers import reads_per_thread
from emulator.inputs.fetch_waits import fetch_wait_us
from emulator.rounds.kafka.input_records import ScenarioRow
from emulator.rounds.kafka.last_moments import draws_of_seed
from emulator.rounds.records import rows
from emulator.scenario import ELR_FEATURE, Scenario

DELIVERY_TIMEOUT_MS = 120_000
"""delivery.timeout.ms of a producer: its default (ProducerConfig)."""


def scenario_rows(scenarios: Sequence[Scenario], leaps: bool, bucket_rounds: int) -> Any:
    """Their records, in this order; `first_bucket` differs from block to block, and `some_tiered` is for all of them."""
    records = rows(ScenarioRow, len(scenarios))
    values: dict[str, list[int]] = {}
    for scenario in scenarios:
        of_scenario = {
            "rules": RULES_PLACES[scenario.protocol],
            "rounds": scenario.rounds,
            "elr": int(scenario.features[ELR_FEATURE] > 0),
            "shares": int(has_edges(scenario)),
            "late_news": int(has_late_news(scenario)),
            "leaps": int(leaps),
            "session_timeout_rounds": scenario.session_timeout_rounds,
            "quiet_from": quiet_from(scenario),
            "bucket_rounds": bucket_rounds,
            "buckets": -(-scenario.rounds // bucket_rounds),
            "by_list": int(scenario.remote_storage.metadata == "list"),
            "metadata_lag": scenario.remote_storage.metadata_lag_rounds,
            "finishes": int(scenario.remote_storage.on_leadership_lost == "finish"),
            "from_leader": int(scenario.remote_storage.aux_state == "leader"),
            "reads_per_thread": reads_per_thread(scenario) or 0,
            "round_us": scenario.round_ms * 1000,
            "round_trip_us": scenario.fetching.round_trip_us,
            "fetch_wait_us": fetch_wait_us(scenario),
            "fetch_bytes_per_second": scenario.fetching.bytes_per_second,
            "delivery_rounds": max(1, -(-DELIVERY_TIMEOUT_MS // scenario.round_ms)),
            "fetches_per_round": scenario.fetching.per_round or 0,
            "draws": draws_of_seed(scenario.seed),
        }
        for name, value in of_scenario.items():
            values.setdefault(name, []).append(value)
    for name, of_scenarios in values.items():
        records[name] = of_scenarios
    return records
