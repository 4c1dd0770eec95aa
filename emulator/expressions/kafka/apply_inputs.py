"""Faults, settings, workload and commands of this round take effect; damage and restarts."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, applied, built_once, decided, unchanged
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import NO_SEGMENTS, cut_place, cut_segments, local_start
from emulator.expressions.kafka.served import served_by
from emulator.expressions.kafka.truncation import CUT_FACTS, cut_to_high_watermark
from emulator.expressions.log import bytes_at, truncate_from_end
from emulator.expressions.slots import mine


def apply_inputs(state: DataFrame, rules: RunRules) -> DataFrame:
    """Bring `world` and `feed` up to this round, then let faults damage and restart the own replica.

    `world` (what the faults say of the partition's brokers) and `feed` (workload, settings, commands) hold what is in
    force; `world_changes` and `feed_changes` hold what begins within the job, in order. power_loss cuts the log to the
    flushed offset, disk_loss empties it, a clean stop writes the checkpoint and flushes, a restart falls back to the
    checkpointed high watermark and to what the controller knows (docs/kafka_rounds.md step 1).
    """
    return state.withColumns(_in_force(rules)).withColumns(_decide(rules)).withColumns(_apply(rules))


@built_once
def _in_force(rules: RunRules) -> Step:
    def current(kind: str) -> str:
        change = f"get({kind}_changes, {kind}_next)"
        # The inner coalesce tells Spark that the result is never null, as a change's value is not.
        return f"IF(coalesce({change}.from_round = round, false), coalesce({change}.value, {kind}), {kind})"

    def pointer(kind: str) -> str:
        change = f"get({kind}_changes, {kind}_next)"
        return f"IF(coalesce({change}.from_round = round, false), {kind}_next + 1, {kind}_next)"

    world = current("world")
    if rules.tiers:  # nothing reaches a partition whose topic was deleted
        world = f"IF(coalesce(is_deleted, false), world, {world})"
    before = {"log_start_before": "log_start_offset"} if rules.consumers else {}
    return {
        **before,
        "world": world,
        "world_next": pointer("world"),
        "feed": current("feed"),
        "feed_next": pointer("feed"),
    }


_OUTPUTS = {
    **unchanged("leo", "hw", "log", "log_bytes", "log_start_offset", "hw_checkpoint", "flushed_offset"),
    **unchanged("segment_base_offset", "segment_bytes", "is_leader", "believed_leader", "believed_epoch"),
    **unchanged("truncating", "served", "served_bytes"),
    **unchanged("credit_bytes"),
}

_OF_SEGMENTS = unchanged("segments", "segment_round")

_FACTS = ("damaged_from", "damaged_to")
"""What `damage` tells the later phases: the range that a fault took."""


@built_once
def _decide(rules: RunRules) -> Step:
    markers = "world.power_loss | world.disk_loss | world.restarted | world.clean_stop"
    guard = mine(f"({markers})")
    steps = [_own_faults(), _cut(rules), _kept_bytes(rules), _damage(rules), _restart(rules)]
    outputs = _OUTPUTS | (_OF_SEGMENTS if rules.segments else {})
    facts: tuple[str, ...] = _FACTS
    if rules.some("cuts_to_high_watermark"):
        cuts = rules.holds("cuts_to_high_watermark")
        begins = f"(round = 0 AND NOT is_leader AND {mine('assigned')})"
        guard = f"({guard} OR ({cuts} AND {begins}))"
        steps += cut_to_high_watermark(f"({cuts} AND (restarted OR {begins}))", "believed_epoch", rules)
        facts += CUT_FACTS
    return decided("damage", guard, steps, outputs | unchanged(*facts))


@built_once
def _apply(rules: RunRules) -> Step:
    step = applied("damage", _OUTPUTS | (_OF_SEGMENTS if rules.segments else {}))
    if rules.some("asks"):
        step |= {"log_at_start": step["log"], "leo_at_start": step["leo"]}
    return step


def _own_faults() -> Step:
    return {
        "power_lost": mine("world.power_loss") + " AND NOT " + mine("world.disk_loss"),
        "disk_lost": mine("world.disk_loss"),
        "restarted": mine("world.restarted & assigned"),
        "stopped": mine("world.clean_stop"),
    }


def _cut(rules: RunRules) -> Step:
    kept = f"greatest(least(leo, flushed_offset), {local_start(rules)})"
    return {"kept": f"CASE WHEN disk_lost THEN 0L WHEN power_lost THEN {kept} ELSE leo END"}


def _kept_bytes(rules: RunRules) -> Step:
    place = cut_place("kept", rules) if rules.segments else {}
    return {"kept_bytes": f"IF(kept < leo, {bytes_at('log', 'kept')}, log_bytes)", **place}


def _damage(rules: RunRules) -> Step:
    segment = {
        "segment_base_offset": "least(segment_base_offset, kept)",
        "segment_bytes": "greatest(segment_bytes - (log_bytes - kept_bytes), 0L)",
    }
    if rules.segments:
        segment = cut_segments("kept", segment)
        segment["segments"] = f"IF(disk_lost, {NO_SEGMENTS}, {segment['segments']})"
    return {
        "damaged_from": "IF(kept < leo, kept, null)",
        "damaged_to": "IF(kept < leo, leo, null)",
        "log": (
            f"CASE WHEN disk_lost THEN filter(log, x -> false) WHEN power_lost THEN {truncate_from_end('log', 'kept')}"
            " ELSE log END"
        ),
        "log_bytes": "IF(disk_lost, 0L, kept_bytes)",
        "leo": "kept",
        "hw": "IF(disk_lost, 0L, least(hw, kept))",
        "log_start_offset": "IF(disk_lost, 0L, log_start_offset)",
        "hw_checkpoint": "CASE WHEN disk_lost THEN 0L WHEN stopped THEN hw ELSE hw_checkpoint END",
        "flushed_offset": "CASE WHEN disk_lost THEN 0L WHEN stopped THEN leo ELSE flushed_offset END",
        **segment,
        "segment_base_offset": f"IF(disk_lost, 0L, {segment['segment_base_offset']})",
        "segment_bytes": f"IF(disk_lost, 0L, {segment['segment_bytes']})",
        "credit_bytes": "IF(disk_lost, 0L, credit_bytes)",
    }


def _restart(rules: RunRules) -> Step:
    return {
        "hw": f"IF(restarted, greatest(least(hw_checkpoint, leo), {local_start(rules)}), hw)",
        "is_leader": "is_leader AND NOT restarted",
        **served_by("leader", "restarted"),
        "believed_leader": "IF(restarted, leader, believed_leader)",
        "believed_epoch": "IF(restarted, leader_epoch, believed_epoch)",
        "truncating": f"truncating OR (restarted AND {rules.holds('asks')})",
    }
