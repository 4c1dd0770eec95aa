"""A fetch response that is not simple, step by step: divergence, limits, new runs, segments, log start."""

from __future__ import annotations

from emulator.expressions.columns import Step, let
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import ACTIVE_NEWEST, NO_SEGMENTS, local_start, with_closed
from emulator.expressions.kafka.tier.following import is_moved
from emulator.expressions.kafka.tier.writes import counted
from emulator.expressions.kafka.truncation import answered_question, cut_log
from emulator.expressions.log import (
    append_from,
    batch_start,
    bytes_at,
    end_offset_for_epoch,
    floor_epoch,
    last_epoch,
    one_batch,
    truncate_from_start,
    whole_batches,
)

NO_WAIT = "coalesce(get(world.no_wait, slot), feed.no_wait)"
MAX_BYTES = "coalesce(get(world.fetch_max_bytes, slot), feed.fetch_max_bytes)"
"""The fetching broker's own settings, else those of all brokers."""

NO_LATE_RESPONSE = "IF(true, null, late_response)"  # a null of its type


def response_steps(rules: RunRules) -> list[Step]:
    """The steps of a response, in order."""
    asks = answered_question(rules) if rules.some("asks") else []
    return [
        *[_source(rules), *asks, _outcome(rules), _cut(rules), _whole_batches(rules), *cut_log("fetch_epoch", rules)],
        *[_first_batch(), _limits(), _take(), _chunk(rules), _write(), _high_watermark(rules), _segment(rules), _log_start()],
        *[*_moved(rules), *_taken(rules)],
    ]


def comes_late() -> str:
    """Whether a response of the round before arrives, and still fits the log."""
    passes = "(world.drop IS NULL OR (get(world.drop, late_response.slot) & own_bit) = 0)"
    return (
        "(late_response IS NOT NULL AND (world.running & own_bit) != 0 AND NOT is_leader"
        f" AND late_response.offset = leo AND {passes})"
    )


def _source(rules: RunRules) -> Step:
    """The leader that answers: the client leader, or the superseded one believed in; null if it is neither."""
    fields = ["leo", "hw", "log", "log_bytes", "log_start_offset"] + ["local_start"] * rules.segments
    fields += ["highest_remote"] * rules.tiers
    fields += ["log_at_start", "leo_at_start"] * rules.some("asks")
    main = "named_struct('slot', client_leader, 'epoch', client_epoch, " + ", ".join(f"'{f}', lead.{f}" for f in fields) + ")"
    in_epoch = rules.choose("fetch_in_leader_epoch", "x.epoch = believed_epoch", "true")
    believed = f"filter(superseded, x -> x.slot = believed_leader AND {in_epoch})"
    source = f"IF(primary, {main}, get({believed}, 0))"
    if not rules.some_lack("response_in_leader_epoch"):
        return {"is_late": "false", "source": source, "leo_before": "leo"}
    late_log = {
        "log_bytes": "0L",
        "local_start": "late_response.log_start_offset",
        "highest_remote": "-1L",
        "log_at_start": "late_response.log",
        "leo_at_start": "late_response.leo",
    }
    late = ", ".join(f"'{f}', {late_log.get(f, f'late_response.{f}')}" for f in fields)
    late = f"named_struct('slot', late_response.slot, 'epoch', -1, {late})"
    is_late = comes_late()
    return {"is_late": is_late, "source": f"IF({is_late}, {late}, {source})", "leo_before": "leo"}


def _outcome(rules: RunRules) -> Step:
    epoch = last_epoch("log")
    end = f"greatest({end_offset_for_epoch('source.log', 'source.leo', epoch)}, source.log_start_offset)"
    diverges = f"({floor_epoch('source.log', epoch)} < {epoch} OR {end} < leo)"
    below = " WHEN leo < source.local_start THEN 'reset'" if rules.segments else ""
    empty = "IF(leo < source.local_start, 'reset', 'data')" if rules.segments else "'data'"
    by_epoch = (
        "CASE WHEN source IS NULL THEN 'none' WHEN leo < source.log_start_offset THEN 'reset'"
        f" WHEN size(log) = 0 THEN IF(leo > source.leo, 'too_high', {empty})"
        f" WHEN NOT (primary AND noted) AND {diverges} THEN 'diverging'{below} ELSE 'data' END"
    )
    inside = f"(size(log) > 0 AND leo < source.leo AND {batch_start('source.log', 'leo', 'source.log_start_offset')} < leo)"
    by_offset = (
        f"CASE WHEN source IS NULL THEN 'none' WHEN {rules.choose('asks', 'truncating', 'false')} THEN 'answer'"
        " WHEN leo < source.log_start_offset THEN 'reset' WHEN leo > source.leo THEN 'too_high'"
        f" WHEN {inside} THEN 'out_of_order' ELSE 'data' END"
    )
    outcome = f"IF(is_late, 'data', {rules.choose('epochs_in_fetch', by_epoch, by_offset)})"
    if rules.tiers:
        at_pending = (
            f"coalesce(get(world.at_pending_upload, slot), feed.storage.at_pending_upload) AND leo = {local_start(rules)}"
        )
        is_remote = is_moved("source.log_start_offset", "source.local_start", "leo")
        moved = f"coalesce(feed.storage.tiered AND ({is_remote} OR ({at_pending})), false)"
        outcome = let("o_", outcome, f"IF(o_ = 'reset' AND {moved}, 'moved', o_)")
    return {
        "outcome": outcome,
        "answered_epoch": f"IF(source IS NULL OR size(log) = 0, null, {floor_epoch('source.log', epoch)})",
        "answered_end": f"IF(source IS NULL OR size(log) = 0, null, {end})",
    }


def _cut(rules: RunRules) -> Step:
    own_end = f"greatest({end_offset_for_epoch('log', 'leo', 'answered_epoch')}, log_start_offset)"
    diverging = rules.choose("cut_by_epoch", f"least(answered_end, {own_end}, leo)", "least(leo, hw)")
    answer = " WHEN 'answer' THEN answer_cut" if rules.some("asks") else ""
    slow = "array_min(transform(filter(world.slow, x -> x.from_slot = source.slot AND x.to_slot = slot), x -> x.bytes_per_round))"
    limits = "world.slow IS NOT NULL OR world.disk IS NOT NULL" + " OR quota_bytes IS NOT NULL" * rules.budgets
    limited = f"(outcome = 'data' AND NOT is_late AND ({limits}))"
    quota = ", quota_bytes" if rules.budgets else ""
    again = "IF(outcome = 'answer', asks_again, truncating)" if rules.some("asks") else "truncating"
    return {
        "cut_to": f"CASE outcome WHEN 'diverging' THEN {diverging} WHEN 'too_high' THEN source.leo{answer} END",
        "truncating": again,
        "takes": "outcome = 'data'",
        "allowance": f"IF({limited}, least({slow}, get(world.disk, slot){quota}) + credit_bytes, null)",
        "max_bytes": f"CAST({MAX_BYTES} AS BIGINT)",
    }


def _whole_batches(rules: RunRules) -> Step:
    """Before KIP-320, when a cut need not be where an epoch ends, it takes the whole batch that it meets."""
    whole = f"IF(cut_to IS NULL, null, {batch_start('log', 'cut_to')})"
    return {"cut_to": rules.choose("epochs_in_fetch", "cut_to", whole)}


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


def _chunk(rules: RunRules) -> Step:
    return {
        "chunk_bytes": f"IF(fetched_to > leo, {bytes_at('source.log', 'fetched_to')} - from_bytes, 0L)",
        "fetched": "fetched_to > leo",
        "cut_records": f"IF(outcome = 'reset', leo - {local_start(rules)}, cut_records)",
        **({"newest": ACTIVE_NEWEST} if rules.segments else {}),
    }


def _write() -> Step:
    return {
        "log": (
            "CASE WHEN outcome = 'reset' THEN filter(log, x -> false)"
            f" WHEN fetched THEN {append_from('log', 'source.log', 'leo', 'fetched_to')} ELSE log END"
        ),
        "leo": "IF(outcome = 'reset', source.log_start_offset, fetched_to)",
        "log_bytes": (
            f"CASE WHEN outcome = 'reset' THEN {bytes_at('source.log', 'source.log_start_offset')}"
            " WHEN fetched THEN from_bytes + chunk_bytes ELSE log_bytes END"
        ),
        "credit_bytes": (
            "CASE WHEN NOT takes THEN credit_bytes WHEN allowance IS NOT NULL AND fetched_to < source.leo"
            " THEN allowance - chunk_bytes ELSE 0L END"
        ),
        "rolls": (
            "fetched AND segment_bytes > 0 AND (segment_bytes + chunk_bytes > feed.segment_bytes"
            " OR round - segment_round >= feed.segment_rounds)"
        ),
    }


def _high_watermark(rules: RunRules) -> Step:
    told = f"IF(is_late OR NOT primary OR fetched OR {NO_WAIT}, source.hw, leader_hw)"
    return {
        "hw": (
            "CASE WHEN outcome = 'reset' THEN source.log_start_offset"
            f" WHEN takes THEN greatest(least({told}, leo), {local_start(rules)}) ELSE hw END"
        ),
    }


def _segment(rules: RunRules) -> Step:
    flushed = "least(IF(rolls, greatest(flushed_offset, leo_before), flushed_offset), leo)"
    kept = f"CASE WHEN outcome = 'reset' THEN {NO_SEGMENTS} WHEN rolls THEN {with_closed('newest')} ELSE segments END"
    due = f"(fetched AND feed.flush_messages > 0 AND leo - {flushed} >= feed.flush_messages)"
    return {
        "segment_base_offset": ("CASE WHEN outcome = 'reset' THEN leo WHEN rolls THEN leo_before ELSE segment_base_offset END"),
        "segment_bytes": ("CASE WHEN outcome = 'reset' THEN 0L WHEN rolls THEN chunk_bytes ELSE segment_bytes + chunk_bytes END"),
        "segment_round": "IF(fetched AND (rolls OR segment_bytes = 0), round, segment_round)",
        "flushed_offset": f"CASE WHEN outcome = 'reset' OR {due} THEN leo ELSE {flushed} END",
        **({"segments": kept} if rules.segments else {}),
        "rolled_chunk_at": "IF(rolls, leo_before, null)",
        "starts_later": "takes AND NOT is_late AND source.log_start_offset > log_start_offset AND source.log_start_offset <= hw",
    }


def _log_start() -> Step:
    return {
        "log": f"IF(starts_later, {truncate_from_start('log', 'source.log_start_offset')}, log)",
        "log_start_offset": ("IF(starts_later OR outcome = 'reset', source.log_start_offset, log_start_offset)"),
    }


def _moved(rules: RunRules) -> list[Step]:
    """OFFSET_MOVED_TO_TIERED_STORAGE: from the next round on the follower asks where to start instead of fetching."""
    aux = (
        "named_struct('leader', believed_leader, 'epoch', believed_epoch, 'next', round + 1,"
        " 'asked', IF(true, null, aux_state.asked))"
    )
    counts = counted("tier_counts", {"moved_to_tiered_storage": "1"})
    step = {
        "aux_state": f"IF(outcome = 'moved', {aux}, aux_state)",
        "tier_counts": f"IF(outcome = 'moved', {counts}, tier_counts)",
    }
    return [step] if rules.tiers else []


def _taken(rules: RunRules) -> list[Step]:
    return [{"late_response": NO_LATE_RESPONSE}] if rules.some_lack("response_in_leader_epoch") else []
