"""Local retention: every replica deletes old segments from the front of its own log, and the leader is looked at once more."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from emulator.expressions.columns import Step, applied, built_once, decided, unchanged
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import ACTIVE_NEWEST, FIRST_BASE, LOCAL_BYTES, local_start, with_closed
from emulator.expressions.kafka.tier.check_tiers import check_tiers
from emulator.expressions.kafka.tier.local_leaders import learn_reports, own_report
from emulator.expressions.kafka.tier.share import own_share, share
from emulator.expressions.log import bytes_at, truncate_from_start
from emulator.expressions.slots import mine

_ALL = with_closed()
_MS = "CAST(feed.storage.round_ms AS BIGINT)"


def delete_segments(state: DataFrame, rules: RunRules) -> DataFrame:
    """In rounds of the check, delete what lies below the log start, then by size, then by age (UnifiedLog.deleteOldSegments).

    Only what ends at or below the high watermark goes; in a topic that does not copy the log start rises with it. Then every row
    learns where the leader's log, and its own part of it, start (docs/tiered_rounds.md, Local retention).
    """
    if not rules.segments:
        return state
    partition = Window.partitionBy("scenario_id", "partition_id")
    state = state.withColumns(_decide(rules)).withColumns(_apply()).withColumns(_own_view(rules))
    seen = {"leader_start": F.first("own_start", ignorenulls=True).over(partition)}
    if rules.tiers:
        seen["shares"] = F.collect_list("own_share").over(partition)
        seen |= {"enough_seen": F.bit_or("own_enough").over(partition)} if rules.by_local_log else {}
        seen["leading_start"] = F.max("own_leading_start").over(partition)
    state = state.withColumns(seen).withColumns(_learn(rules))
    return check_tiers(share(state, rules), rules) if rules.tiers else state


_OUTPUTS = {
    **unchanged("log", "log_start_offset", "flushed_offset", "segment_base_offset", "segment_bytes", "segment_round"),
    **unchanged("segments", "local_deleted_bytes"),
}

_FACTS = ("deleted_log_start", "deleted_size", "deleted_age", "retention_rolled_at")
"""What `retention` tells: from where to where each pass deleted, and where it rolled the active segment."""


@built_once
def _decide(rules: RunRules) -> Step:
    """The guard looks at the first segment alone: if it may stay, or waits for its copy, all do; an active one is rolled then."""
    first_end = "coalesce(get(segments, 1).base_offset, IF(size(segments) > 0, segment_base_offset, leo))"
    newest = f"IF(size(segments) > 0, get(segments, 0).newest_round, {ACTIVE_NEWEST})"
    first_bytes = "coalesce(get(segments, 0).bytes, segment_bytes)"
    limits = (
        f"({first_end} <= log_start_offset"
        f" OR (feed.storage.local_retention_bytes >= 0 AND {LOCAL_BYTES} - feed.storage.local_retention_bytes >= {first_bytes})"
        f" OR (feed.storage.local_retention_ms >= 0"
        f" AND (round - coalesce({newest}, round)) * {_MS} > feed.storage.local_retention_ms))"
    )
    due = "segments IS NOT NULL AND round > 0 AND round % feed.storage.check_rounds = 0"
    waits = f"size(segments) > 0 AND NOT {_may_go(rules, first_end)}"
    guard = f"{due} AND {mine('world.running & assigned')} AND {first_end} <= hw AND NOT ({waits}) AND {limits}"
    passes = [
        ("log_start", "NOT a.active AND a.end_offset <= start_before", "0L"),
        (
            "size",
            "feed.storage.local_retention_bytes >= 0 AND sum.left >= a.bytes",
            f"{LOCAL_BYTES} - feed.storage.local_retention_bytes",
        ),
        (
            "age",
            "feed.storage.local_retention_ms >= 0"
            f" AND (round - coalesce(a.newest_round, round)) * {_MS} > feed.storage.local_retention_ms",
            "0L",
        ),
    ]
    steps: list[Step] = [{"retention_rolled_at": "CAST(null AS BIGINT)"}]
    for name, breaks, left in passes:
        steps += _pass(name, breaks, left, rules)
    return decided("retention", f"coalesce({guard}, false)", steps, _OUTPUTS | unchanged(*_FACTS))


@built_once
def _apply() -> Step:
    return applied("retention", _OUTPUTS)


def _may_go(rules: RunRules, end_offset: str, active: str = "false") -> str:
    """Whether a segment needs no copy, or has one, or lies below the log start."""
    if not rules.tiers:
        return "true"
    needs_copy = rules.choose("copy_before_delete", "feed.storage.copies", "false")
    return f"(NOT {needs_copy} OR {end_offset} <= highest_remote + 1 OR (NOT {active} AND {end_offset} <= log_start_offset))"


def _pass(name: str, breaks: str, left: str, rules: RunRules) -> list[Step]:
    """Delete from the front as long as segments end at or below the high watermark, break the limit and may go."""
    end = "coalesce(get(every, i + 1).base_offset, leo)"
    fields = ", ".join(f"'{f}', s.{f}" for f in ("base_offset", "bytes", "first_round", "newest_round"))
    placed = f"named_struct({fields}, 'end_offset', {end}, 'active', i = size(segments))"
    stops = f"(NOT sum.goes OR a.end_offset > hw OR NOT ({breaks}) OR (a.active AND a.newest_round IS NULL))"
    may_go = _may_go(rules, "a.end_offset", "a.active")
    rolls = f"(a.active AND ({may_go} OR feed.storage.tiered))"
    walk = "named_struct('goes', false, 'count', sum.count, 'left', sum.left, 'rolls', sum.rolls)"
    goes = (
        f"named_struct('goes', {may_go}, 'count', sum.count + IF({may_go}, 1, 0), 'left', sum.left - a.bytes, 'rolls', {rolls})"
    )
    gone = f"{bytes_at('log', 'to_base')} - {bytes_at('log', 'start_before')}"
    return [
        {"every": _ALL, "start_before": local_start(rules), "left": left},
        {"every": f"transform(every, (s, i) -> {placed})"},
        {
            "walked": (
                "aggregate(every, named_struct('goes', true, 'count', 0, 'left', left, 'rolls', false), (sum, a) ->"
                f" IF({stops}, {walk}, {goes}))"
            )
        },
        {
            "from_base": FIRST_BASE,
            "to_base": "coalesce(get(every, walked.count).base_offset, leo)",
            "segments": f"IF(walked.rolls, {_ALL}, segments)",
            "segment_base_offset": "IF(walked.rolls, leo, segment_base_offset)",
            "segment_bytes": "IF(walked.rolls, 0L, segment_bytes)",
            "flushed_offset": "IF(walked.rolls, greatest(flushed_offset, leo), flushed_offset)",
            "retention_rolled_at": "IF(walked.rolls, leo, retention_rolled_at)",
        },
        {
            f"deleted_{name}": ("IF(walked.count > 0, named_struct('from_offset', from_base, 'to_offset', to_base), null)"),
            "segments": "slice(segments, walked.count + 1, size(segments))",
            "local_deleted_bytes": f"local_deleted_bytes + IF(to_base > start_before, {gone}, 0L)",
            "raised_to": "IF(walked.count > 0 AND NOT feed.storage.copies AND to_base > log_start_offset, to_base, null)",
        },
        {
            "log": f"IF(raised_to IS NULL, log, {truncate_from_start('log', 'raised_to')})",
            "log_start_offset": "coalesce(raised_to, log_start_offset)",
        },
    ]


@built_once
def _own_view(rules: RunRules) -> Step:
    fields = f"'log_start_offset', log_start_offset, 'local_start', {local_start(rules)}"
    own = {"own_start": f"CASE WHEN slot = client_leader THEN named_struct({fields}) END"}
    if rules.tiers:
        own["own_leading_start"] = f"CASE WHEN is_leader AND NOT {mine('world.offline')} THEN log_start_offset END"
        own["own_share"] = own_share()
        own |= own_report(rules) if rules.by_local_log else {}
    return own


@built_once
def _learn(rules: RunRules) -> Step:
    return {
        **(learn_reports() if rules.by_local_log else {}),
        "leader_log_start": "coalesce(leader_start.log_start_offset, leader_log_start)",
        "leader_local_start": "IF(segments IS NULL, null, leader_start.local_start)",
    }
