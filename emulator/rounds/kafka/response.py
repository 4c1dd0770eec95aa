"""A fetch response that is not simple, step by step: divergence, limits, new runs, segments, log start."""

from __future__ import annotations

from emulator.rounds.columns import Step
from emulator.rounds.log import (
    append_from,
    bytes_at,
    end_offset_for_epoch,
    floor_epoch,
    last_epoch,
    one_batch,
    truncate_from_end,
    truncate_from_start,
    whole_batches,
)


def _source() -> Step:
    """The leader that answers: the client leader, or the superseded one believed in; null if it is neither."""
    main = (
        "named_struct('slot', client_leader, 'epoch', client_epoch, 'leo', lead.leo, 'hw', lead.hw, 'log', lead.log,"
        " 'log_bytes', lead.log_bytes, 'log_start_offset', lead.log_start_offset)"
    )
    believed = "filter(superseded, x -> x.slot = believed_leader AND x.epoch = believed_epoch)"
    return {"source": f"IF(primary, {main}, get({believed}, 0))", "leo_before": "leo", "bytes_before": "log_bytes"}


def _outcome() -> Step:
    epoch = last_epoch("log")
    end = f"greatest({end_offset_for_epoch('source.log', 'source.leo', epoch)}, source.log_start_offset)"
    diverges = f"({floor_epoch('source.log', epoch)} < {epoch} OR {end} < leo)"
    return {
        "outcome": (
            "CASE WHEN source IS NULL THEN 'none' WHEN leo < source.log_start_offset THEN 'reset'"
            " WHEN size(log) = 0 THEN IF(leo > source.leo, 'too_high', 'data')"
            f" WHEN NOT (primary AND noted) AND {diverges} THEN 'diverging' ELSE 'data' END"
        ),
        "answered_epoch": f"IF(source IS NULL OR size(log) = 0, null, {floor_epoch('source.log', epoch)})",
        "answered_end": f"IF(source IS NULL OR size(log) = 0, null, {end})",
    }


def _cut() -> Step:
    own_end = f"greatest({end_offset_for_epoch('log', 'leo', 'answered_epoch')}, log_start_offset)"
    slow = "array_min(transform(filter(world.slow, x -> x.from_slot = source.slot AND x.to_slot = slot), x -> x.bytes_per_round))"
    limited = "(world.slow IS NOT NULL OR world.disk IS NOT NULL)"
    return {
        "cut_to": (f"CASE outcome WHEN 'diverging' THEN least(answered_end, {own_end}, leo) WHEN 'too_high' THEN source.leo END"),
        "takes": "outcome = 'data'",
        "allowance": f"IF(outcome = 'data' AND {limited}, least({slow}, get(world.disk, slot)) + credit_bytes, null)",
        "max_bytes": "CAST(coalesce(get(world.fetch_max_bytes, slot), feed.fetch_max_bytes) AS BIGINT)",
    }


def _first_batch() -> Step:
    return {"first_end": one_batch("source.log", "source.leo", "leo"), "from_bytes": bytes_at("source.log", "leo")}


def _limits() -> Step:
    return {
        "first_bytes": f"{bytes_at('source.log', 'first_end')} - from_bytes",
        "target_bytes": "from_bytes + least(max_bytes, coalesce(allowance, max_bytes))",
    }


def _take() -> Step:
    return {
        "fetched_to": (
            "CASE WHEN NOT takes OR source.leo <= leo THEN leo"
            " WHEN allowance IS NOT NULL AND first_bytes > allowance THEN leo"
            f" ELSE greatest({whole_batches('source.log', 'source.leo', 'leo', 'target_bytes')}, first_end) END"
        ),
    }


def _chunk() -> Step:
    return {
        "chunk_bytes": f"IF(fetched_to > leo, {bytes_at('source.log', 'fetched_to')} - from_bytes, 0L)",
        "fetched": "fetched_to > leo",
        "cut_from": "IF(cut_to < leo, leo, null)",
        "cut_records": (
            "CASE WHEN cut_to IS NOT NULL THEN leo - least(greatest(cut_to, log_start_offset), leo)"
            " WHEN outcome = 'reset' THEN leo - log_start_offset ELSE 0L END"
        ),
    }


def _write() -> Step:
    return {
        "log": (
            f"CASE WHEN cut_to IS NOT NULL THEN {truncate_from_end('log', 'cut_to')}"
            " WHEN outcome = 'reset' THEN filter(log, x -> false)"
            f" WHEN fetched THEN {append_from('log', 'source.log', 'leo', 'fetched_to')} ELSE log END"
        ),
        "leo": "CASE WHEN cut_to IS NOT NULL THEN cut_to WHEN outcome = 'reset' THEN source.log_start_offset ELSE fetched_to END",
        "log_bytes": (
            f"CASE WHEN cut_to IS NOT NULL THEN {bytes_at('log', 'cut_to')}"
            f" WHEN outcome = 'reset' THEN {bytes_at('source.log', 'source.log_start_offset')}"
            " WHEN fetched THEN from_bytes + chunk_bytes ELSE log_bytes END"
        ),
        "credit_bytes": (
            "CASE WHEN NOT takes THEN credit_bytes WHEN allowance IS NOT NULL AND fetched_to < source.leo"
            " THEN allowance - chunk_bytes ELSE 0L END"
        ),
        "log_start_offset": "least(log_start_offset, coalesce(cut_to, log_start_offset))",
        "rolls": (
            "fetched AND segment_bytes > 0 AND (segment_bytes + chunk_bytes > feed.segment_bytes"
            " OR round - segment_round >= feed.segment_rounds)"
        ),
    }


def _high_watermark() -> Step:
    told = "IF(NOT primary OR fetched OR coalesce(get(world.no_wait, slot), feed.no_wait), source.hw, leader_hw)"
    return {
        "hw": (
            "CASE WHEN outcome = 'reset' THEN source.log_start_offset WHEN cut_to IS NOT NULL THEN least(hw, leo)"
            f" WHEN takes THEN greatest(least({told}, leo), log_start_offset) ELSE hw END"
        ),
    }


def _segment() -> Step:
    fell = "(cut_to IS NOT NULL AND leo <= segment_base_offset)"
    flushed = "least(IF(rolls, greatest(flushed_offset, leo_before), flushed_offset), leo)"
    due = f"(fetched AND feed.flush_messages > 0 AND leo - {flushed} >= feed.flush_messages)"
    return {
        "segment_base_offset": (
            f"CASE WHEN outcome = 'reset' OR {fell} THEN leo WHEN rolls THEN leo_before ELSE segment_base_offset END"
        ),
        "segment_bytes": (
            f"CASE WHEN outcome = 'reset' OR {fell} THEN 0L"
            " WHEN cut_to IS NOT NULL THEN greatest(segment_bytes - (bytes_before - log_bytes), 0L)"
            " WHEN rolls THEN chunk_bytes ELSE segment_bytes + chunk_bytes END"
        ),
        "segment_round": "IF(fetched AND (rolls OR segment_bytes = 0), round, segment_round)",
        "flushed_offset": f"CASE WHEN outcome = 'reset' OR {due} THEN leo ELSE {flushed} END",
        "rolled_chunk_at": "IF(rolls, leo_before, null)",
        "starts_later": "takes AND source.log_start_offset > log_start_offset AND source.log_start_offset <= hw",
    }


def _log_start() -> Step:
    return {
        "log": f"IF(starts_later, {truncate_from_start('log', 'source.log_start_offset')}, log)",
        "log_start_offset": ("IF(starts_later OR outcome = 'reset', source.log_start_offset, log_start_offset)"),
    }


RESPONSE_STEPS: list[Step] = [
    _source(),
    _outcome(),
    _cut(),
    _first_batch(),
    _limits(),
    _take(),
    _chunk(),
    _write(),
    _high_watermark(),
    _segment(),
    _log_start(),
]
