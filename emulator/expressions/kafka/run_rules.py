"""The rules of a Kafka run, by what its scenarios have."""

from __future__ import annotations

from emulator.bandwidth.budgets import limits_bandwidth
from emulator.expressions.kafka.rules import RunRules
from emulator.inputs import ScenarioInputs
from emulator.scenario import ELR_FEATURE


def rules_of(inputs: list[ScenarioInputs]) -> RunRules:
    """The rules of all protocols of a run, and which of the optional parts of a round it needs."""
    return RunRules(
        slots=max(int(i.partition_table.slot_count.max()) for i in inputs),
        protocols=tuple(sorted({i.scenario.protocol for i in inputs})),
        elr=any(i.scenario.features[ELR_FEATURE] > 0 for i in inputs),
        late_news=any(i.has_late_news for i in inputs),
        budgets=any(limits_bandwidth(i.scenario) for i in inputs),
        segments=any(i.keeps_segments for i in inputs),
        tiers=any(i.has_remote_storage for i in inputs),
        lists=any(i.has_remote_storage and i.scenario.remote_storage.metadata == "list" for i in inputs),
        by_local_log=any(i.prefers_local_log for i in inputs),
        consumers=any(i.has_consumers for i in inputs),
    )
