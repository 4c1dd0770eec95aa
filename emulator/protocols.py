"""A protocol is a tuple of phases in the order of its paper, and its rules: the tuple is its documentation."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from emulator.rounds.kafka.advance_high_watermark import advance_high_watermark
from emulator.rounds.kafka.append import append
from emulator.rounds.kafka.apply_inputs import apply_inputs
from emulator.rounds.kafka.check_invariants import check_invariants
from emulator.rounds.kafka.checkpoint import checkpoint
from emulator.rounds.kafka.count_outcomes import count_outcomes
from emulator.rounds.kafka.delete_segments import delete_segments
from emulator.rounds.kafka.elect_leader import elect_leader
from emulator.rounds.kafka.fetch import fetch
from emulator.rounds.kafka.horizons import horizon
from emulator.rounds.kafka.judge_in_sync import judge_in_sync
from emulator.rounds.kafka.learn import learn
from emulator.rounds.kafka.observe import observe
from emulator.rounds.kafka.request_fetch import request_fetch
from emulator.rounds.kafka.rules import RULES, RunRules
from emulator.rounds.kafka.tier.build_aux_state import build_aux_state
from emulator.rounds.kafka.tier.run_tier_tasks import run_tier_tasks
from emulator.rounds.kafka.tier.take_tier_inputs import take_tier_inputs

Phase = Callable[[DataFrame, RunRules], DataFrame]

KAFKA: tuple[Phase, ...] = (
    apply_inputs,
    take_tier_inputs,
    elect_leader,
    append,
    request_fetch,
    judge_in_sync,
    observe,
    advance_high_watermark,
    fetch,
    build_aux_state,
    learn,
    run_tier_tasks,
    delete_segments,
    checkpoint,
    check_invariants,
    count_outcomes,
)
"""Kafka in all its generations; what sets them apart is in emulator/rounds/kafka/rules.py."""

PROTOCOLS: dict[str, tuple[Phase, ...]] = dict.fromkeys(RULES, KAFKA)

LEAP_HORIZONS: dict[str, Callable[[RunRules], str]] = dict.fromkeys(RULES, horizon)
"""SQL, by the rules of a run: where leaps over quiet rounds have to stop."""
