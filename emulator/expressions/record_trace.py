"""Traced replicas keep what they look like at the end of every round."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, built_once, let
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import LOCAL_BYTES, local_start
from emulator.expressions.kafka.tier.following import earliest_pending_upload
from emulator.expressions.log import epoch_cache
from emulator.schema import LIST_OFFSETS


def record_trace(state: DataFrame, rules: RunRules) -> DataFrame:
    """Append this round to `trace` (array of TRACE structs) of traced rows; comes last, when `round` has moved on."""
    return state.withColumns(_trace(rules))


@built_once
def _trace(rules: RunRules) -> Step:
    bases, size = "CAST(null AS ARRAY<BIGINT>)", "CAST(null AS BIGINT)"
    if rules.segments:
        bases = "IF(segments IS NULL, null, concat(transform(segments, s -> s.base_offset), array(segment_base_offset)))"
        size = f"IF(segments IS NULL, null, {LOCAL_BYTES})"
    fields = {
        "round": "round - 1",
        "running": "(world.running & own_bit) != 0",
        "offline": "(world.offline & own_bit) != 0",
        "assigned": "assigned",
        "replica": "(assigned & own_bit) != 0",
        "is_leader": "is_leader",
        "believed_epoch": "believed_epoch",
        "log_start_offset": "log_start_offset",
        "leo": "leo",
        "hw": "hw",
        "remote_leo": "IF(slot = client_leader, null, remote_leo)",
        "in_isr": "(isr & own_bit) != 0",
        "fetch_state": (
            f"CASE{_of_tiers(rules)} WHEN NOT sends THEN null WHEN NOT answered THEN 'unanswered'"
            " WHEN response.outcome = 'answer' THEN 'asked'"
            " WHEN response.outcome = 'out_of_order' THEN 'out_of_order'"
            " WHEN response.cut_from IS NOT NULL THEN 'truncated'"
            " WHEN chunk_bytes > 0 THEN 'fetched' WHEN primary AND NOT noted THEN 'out_of_range' ELSE 'empty' END"
        ),
        "epochs": epoch_cache("log", "log_start_offset"),
        "leader": "leader",
        "leader_epoch": "leader_epoch",
        "isr": "isr",
        "elr": "elr",
        "last_known_elr": "last_known_elr",
        "local_log_start_offset": local_start(rules),
        "local_segments": bases,
        "local_bytes": size,
        **list_offsets(rules),
    }
    row = ", ".join(f"'{name}', {text}" for name, text in fields.items())
    traced = "traced AND NOT coalesce(is_deleted, false)" if rules.tiers else "traced"
    return {"trace": f"IF({traced}, concat(trace, array(named_struct({row}))), trace)"}


def _of_tiers(rules: RunRules) -> str:
    """What is so of a follower whose next record is in remote storage."""
    if not rules.tiers:
        return ""
    return (
        " WHEN coalesce(building.is_built, false) THEN 'aux_state_built' WHEN builds THEN 'building_remote_log_aux'"
        " WHEN response.outcome = 'moved' THEN 'moved_to_tiered_storage'"
        " WHEN sends AND response.outcome = 'none' THEN 'unanswered'"
        " WHEN response.outcome = 'reset' THEN 'out_of_range' WHEN response.outcome IN ('too_high', 'diverging') THEN 'truncated'"
    )


def list_offsets(rules: RunRules) -> Step:
    """What a leader answers to the special timestamps of ListOffsets, and how far every replica knows its log to be tiered."""
    if not rules.tiers:
        return dict.fromkeys(("highest_remote_offset", *LIST_OFFSETS), "CAST(null AS BIGINT)")
    first = local_start(rules)
    run = "element_at(filter(log, x -> x.start_offset < leo AND x.batch_records > 0), -1)"
    of_run = f"IF(r_.round < 0, {first}, r_.start_offset + (leo - 1 - r_.start_offset) DIV r_.batch_records * r_.batch_records)"
    newest = f"IF(leo > {first}, greatest({let('r_', run, of_run)}, {first}), -1L)"
    pending = f"coalesce({earliest_pending_upload('highest_remote', 'log_start_offset', first)}, -1L)"
    answers = {
        "latest_offset": "hw",
        "earliest_offset": "log_start_offset",
        "max_timestamp_offset": newest,
        "earliest_local_offset": first,
        "latest_tiered_offset": "IF(feed.storage.tiered, highest_remote, -1L)",
        "earliest_pending_upload_offset": f"IF(feed.storage.tiered, {pending}, -1L)",
    }
    leads = "segments IS NOT NULL AND is_leader AND (world.offline & own_bit) = 0"
    return {"highest_remote_offset": "highest_remote", **{name: f"IF({leads}, {text}, null)" for name, text in answers.items()}}
