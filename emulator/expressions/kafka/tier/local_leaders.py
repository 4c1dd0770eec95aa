"""Who is preferred at an election by what it has on its own disk (KIP-1303): SQL texts.

Every replica judges at the end of a round whether it has enough, by the thresholds then in force, and tells the controller; step
2 of later rounds goes by that (docs/tiered_rounds.md, Leaders by local log). Only runs with the keys have these expressions.
"""

from __future__ import annotations

from emulator.expressions.columns import Step, let, where
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import LOCAL_BYTES, local_start
from emulator.expressions.kafka.tier.take_tier_inputs import RUNS
from emulator.expressions.log import round_of
from emulator.expressions.slots import has, mine

_MS, _BYTES = "feed.storage.eligible_log_ms", "feed.storage.eligible_log_bytes"
_IS_ON = f"coalesce({_MS} > 0 OR {_BYTES} > 0, false)"
_ENOUGH = f"IF({_IS_ON}, enough_local, -1)"


def preferred(mask: str, rules: RunRules) -> str:
    """Those of the mask that have enough, or all of it if nobody has."""
    if not rules.by_local_log:
        return mask
    return f"IF(({mask} & {_ENOUGH}) != 0, {mask} & {_ENOUGH}, {mask})"


def may_replace(slot: str, leader: str, rules: RunRules) -> str:
    """Whether a preferred election moves the lead from one slot to another: not to who has not enough, from one who has."""
    if not rules.by_local_log:
        return "true"
    return f"({has(_ENOUGH, slot)} OR NOT {has(_ENOUGH, leader)})"


def own_report(rules: RunRules) -> Step:
    """`own_enough`: the own bit, if by its last report the replica has enough; who is not heard is taken for what it was."""
    heard = f"world.controller_up AND {RUNS} AND NOT {mine('world.isolated')}"
    spans = f"({_MS} > 0 AND CAST(round - {_oldest_round(rules)} AS BIGINT) * feed.storage.round_ms >= {_MS})"
    is_whole = f"{local_start(rules)} = log_start_offset"
    has_enough = f"(NOT {_IS_ON} OR {is_whole} OR ({_BYTES} > 0 AND {LOCAL_BYTES} >= {_BYTES}) OR {spans})"
    reported = f"CASE WHEN NOT ({heard}) THEN enough_local & own_bit WHEN {has_enough} THEN own_bit ELSE 0 END"
    return {"own_enough": f"IF(segments IS NULL OR NOT {mine('assigned')}, 0, {reported})"}


def learn_reports() -> Step:
    """All rows know what the controller has heard, `enough_seen`."""
    return where("segments IS NOT NULL AND enough_local != enough_seen", {"enough_local": "enough_seen"})


def next_report(rules: RunRules) -> str:
    """The first round at whose end the replica may have enough, null: it has, or is not getting there (for horizons.py)."""
    wait = f"({_MS} + feed.storage.round_ms - 1) DIV feed.storage.round_ms"
    old_enough = f"IF({_MS} > 0, {_oldest_round(rules)} + {wait}, null)"
    missing = f"({_BYTES} - {LOCAL_BYTES})"
    large_enough = (
        f"IF({_BYTES} > 0 AND {missing} > 0 AND drift.segment_bytes > 0, round + ({missing} - 1) DIV drift.segment_bytes, null)"
    )
    is_waiting = f"{_IS_ON} AND {mine('assigned')} AND NOT {mine('enough_local')}"
    return f"IF({is_waiting}, least(IF(leo > {local_start(rules)}, {old_enough}, null), {large_enough}), null)"


def _oldest_round(rules: RunRules) -> str:
    """The round of the oldest record on the replica's disk; this one if there is none."""
    start = local_start(rules)
    at = f"element_at(filter(log, x -> x.start_offset <= {start}), -1)"
    of_first = let("x", at, f"IF(x IS NULL, round, {round_of('x', start)})")
    return f"IF(leo > {start}, {of_first}, round)"
