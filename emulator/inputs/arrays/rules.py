"""The rules of Kafka's generations and mutants as records (emulator.rounds.kafka.input_records.Rules)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.rounds.kafka.input_records import Rules
from emulator.rounds.records import fields_of, rows
from emulator.scenario.protocols import KAFKA_PROTOCOLS

_KAFKA = dict.fromkeys(fields_of(Rules), 1) | {"asks": 0, "answers_epoch": 0, "cuts_to_high_watermark": 0}

CORE_RULES: Mapping[str, Mapping[str, int]] = {name: _KAFKA | dict(own) for name, own in KAFKA_PROTOCOLS.items()}
"""Protocol -> its rules by name: all protocols of Kafka."""

RULES_PLACES = {name: place for place, name in enumerate(CORE_RULES)}
"""Protocol -> place of its rules in `rules_records`."""


def rules_records() -> Any:
    """The rules of all protocols, in the order of CORE_RULES."""
    records = rows(Rules, len(CORE_RULES))
    for name in fields_of(Rules):
        records[name] = [values[name] for values in CORE_RULES.values()]
    return records
