"""The rules of Kafka's generations and mutants as records (emulator.rounds.kafka.records.Rules)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.rounds.kafka.records import Rules
from emulator.rounds.records import fields_of, rows

_KAFKA = dict.fromkeys(fields_of(Rules), 1) | {"asks": 0, "answers_epoch": 0, "cuts_to_high_watermark": 0}
_BEFORE_KIP320 = {"epochs_in_fetch": 0, "join_at_epoch_start": 0, "fetch_in_leader_epoch": 0}
_MUTANT = "kafka-mutant-"


def _lacking(guard: str) -> dict[str, int]:
    """Kafka of today without one of its guards; divergence is looked for in a follower's first fetch of an epoch only."""
    return {guard: 0, "check_every_fetch": 0}


_DIFFERENCES: Mapping[str, Mapping[str, int]] = {
    "kafka": {},
    "kafka-high-watermark": {"entry_at_election": 0, "cuts_to_high_watermark": 1, **_BEFORE_KIP320},
    "kafka-kip101": {"entry_at_election": 0, "asks": 1, **_BEFORE_KIP320},
    "kafka-kip279": {"asks": 1, "answers_epoch": 1, **_BEFORE_KIP320},
    _MUTANT + "truncate-to-high-watermark": _lacking("cut_by_epoch"),
    _MUTANT + "join-without-high-watermark": _lacking("join_at_high_watermark"),
    _MUTANT + "join-without-epoch-start": _lacking("join_at_epoch_start"),
    _MUTANT + "high-watermark-over-committed-isr": _lacking("wait_for_maximal_isr"),
    _MUTANT + "fetch-without-epoch-check": _lacking("fetch_in_leader_epoch"),
    _MUTANT + "new-leader-keeps-old-remote-leo": _lacking("forget_followers"),
    _MUTANT + "high-watermark-below-min-isr": _lacking("hold_below_min_isr"),
    _MUTANT + "unclean-kept-in-elr": _lacking("remove_unclean_from_elr"),
    _MUTANT + "response-after-epoch-moved": _lacking("response_in_leader_epoch"),
    _MUTANT + "copy-above-last-stable": {"below_last_stable": 0},
    _MUTANT + "copy-without-lag": {"wait_for_lag": 0},
    _MUTANT + "started-counts-as-copied": {"finished_counts": 0},
    _MUTANT + "resume-after-any-epoch": {"within_lineage": 0},
    _MUTANT + "remote-offset-kept-on-truncation": {"forget_on_truncation": 0},
    _MUTANT + "delete-before-copy": {"copy_before_delete": 0},
    _MUTANT + "delete-before-log-start": {"log_start_first": 0},
    _MUTANT + "any-transition": {"check_transitions": 0},
    _MUTANT + "lookup-without-epoch": {"lookup_by_epoch": 0},
    _MUTANT + "follower-without-epochs": {"build_epochs": 0},
    _MUTANT + "follower-keeps-log": {"drop_log": 0},
}

CORE_RULES: Mapping[str, Mapping[str, int]] = {name: _KAFKA | dict(own) for name, own in _DIFFERENCES.items()}
"""Protocol -> its rules by name: all protocols of Kafka."""

RULES_PLACES = {name: place for place, name in enumerate(CORE_RULES)}
"""Protocol -> place of its rules in `rules_records`."""


def rules_records() -> Any:
    """The rules of all protocols, in the order of CORE_RULES."""
    records = rows(Rules, len(CORE_RULES))
    for place, values in enumerate(CORE_RULES.values()):
        for name, value in values.items():
            records[name][place] = value
    return records
