"""The copy task of a leader, step by step (RLMCopyTask). SQL steps of run_tier_tasks.py."""

from __future__ import annotations

from emulator.expressions.columns import Step, let
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import local_start
from emulator.expressions.kafka.tier.copying import LAST_STABLE_OFFSET, candidates, started_segment, that_have_waited
from emulator.expressions.kafka.tier.expiry_task import known_by_writing
from emulator.expressions.kafka.tier.lineage import highest_remote_offset, remote_log_start
from emulator.expressions.kafka.tier.take_tier_inputs import RUNS, USABLE
from emulator.expressions.kafka.tier.types import COPY, COPY_FINISHED, COPY_STARTED, DELETE_STARTED, QUOTA_WINDOW_MS
from emulator.expressions.kafka.tier.writes import (
    FAILED,
    FINISHED,
    GAVE_UP,
    NO_REMOTE_SEGMENTS,
    NO_WRITES,
    OF_COPY,
    STARTED,
    done,
    due,
    failed,
    left_bytes,
    task,
    write,
)
from emulator.expressions.log import epoch_cache, truncate_from_start

_COPY = "copy_under_way"
_LEFT = left_bytes(_COPY)
_QUOTA = "coalesce(get(world.copy_quota, slot), feed.storage.copy_quota)"
GOING, FAILING, THROTTLED, BUSY = range(4)

COPY_RATE = f"IF({RUNS}, least(feed.storage.copy_bytes, copy_share_bytes), 0L)"
"""Bytes that a copy moves in this round, null: as many as it likes. The store's rate, or what other copies leave it."""

COPY_DUE = (
    f"(NOT coalesce({_COPY}.rate = {COPY_RATE}, false) OR ({RUNS} AND (NOT feed.storage.store_up OR NOT {USABLE}"
    f" OR NOT (feed.storage.copies OR {_COPY}.orphaned) OR {_LEFT} <= {_COPY}.rate)))"
)
"""Whether a copy under way ends in this round, or goes on at another rate."""


def copy_steps(rules: RunRules) -> list[Step]:
    """The copy under way goes on; when it is done, or the task is due, the next segments follow as far as the bytes reach."""
    moved = f"get(remote_segments, {_COPY}.segment).bytes - {_LEFT}"
    segment = f"get(remote_segments, {_COPY}.segment)"
    cancels = f"(runs AND {_COPY} IS NOT NULL AND NOT {_COPY}.orphaned AND NOT feed.storage.copies)"
    rebased = (
        f"named_struct('segment', {_COPY}.segment, 'left_bytes', {_LEFT}, 'as_of', round, 'rate', copy_rate,"
        f" 'orphaned', {_COPY}.orphaned)"
    )
    started = remote_log_start("metadata_index", "epochs", "local_from")
    found = highest_remote_offset("metadata_index", "epochs", "leo", rules.holds("within_lineage"))
    from_offset, below = "greatest(copied + 1, log_start_offset)", rules.holds("below_last_stable")
    listed = candidates("segments", "segment_base_offset", from_offset, LAST_STABLE_OFFSET, "leo", below)
    waited = that_have_waited("to_copy", "segments", "segment_bytes", "round", "feed.storage")
    at = "size(writes)"
    fails = write(OF_COPY, at, FAILED, f"{_COPY}.segment", moved, "usable")
    finishes = write(OF_COPY, at, FINISHED, f"{_COPY}.segment", f"{segment}.bytes")
    return [
        {
            "cancelled": f"coalesce({cancels}, false)",
            "copying": f"coalesce(runs AND {_COPY} IS NOT NULL AND NOT {cancels}, false)",
        },
        {
            "writes": f"IF(cancelled, concat(writes, array({write(OF_COPY, at, GAVE_UP, f'{_COPY}.segment', moved)})), writes)",
            _COPY: f"IF(cancelled, null, {_COPY})",
            "copy_fails": "copying AND NOT (store_up AND usable)",
            "copy_ends": f"copying AND store_up AND usable AND coalesce({_LEFT} <= copy_rate, true)",
        },
        {
            "writes": (
                f"CASE WHEN copy_fails THEN concat(writes, array({fails}))"
                f" WHEN copy_ends THEN concat(writes, array({finishes}))"
                " ELSE writes END"
            ),
            "own_events": (
                f"filter(array({_event(f'{_COPY}.segment', f'IF(copy_ends, {COPY_FINISHED}, {DELETE_STARTED})')}),"
                " e -> copy_ends OR (copy_fails AND usable))"
            ),
            "copied": f"IF(copy_ends AND NOT {_COPY}.orphaned, {segment}.end_offset, copied)",
            "highest_remote": (
                f"IF(copy_ends AND NOT {_COPY}.orphaned, greatest(highest_remote, {segment}.end_offset), highest_remote)"
            ),
            "copy_task": f"IF(copy_fails, {failed('copy_task')}, copy_task)",
            "copy_left": f"IF(copy_ends, copy_rate - {_LEFT}, copy_rate)",
            _COPY: (
                f"CASE WHEN copy_fails OR copy_ends THEN null WHEN {_COPY} IS NOT NULL AND NOT ({_COPY}.rate <=> copy_rate)"
                f" THEN {rebased} ELSE {_COPY} END"
            ),
        },
        known_by_writing("remote_segments", rules),
        {"copy_due": f"runs AND NOT copy_fails AND {_COPY} IS NULL AND (duty = 1 OR copy_ends) AND {due('copy_task')}"},
        {"copies_now": "copy_due AND duty = 1 AND feed.storage.copies"},
        {"new_start": f"IF(copies_now AND usable AND NOT knows_log_start, {started}, null)"},
        {
            "prepared": "copies_now AND usable AND coalesce(new_start <= hw, true)",
            "rises_to": "IF(new_start > log_start_offset AND new_start <= hw, new_start, null)",
        },
        {
            "knows_log_start": "knows_log_start OR prepared",
            "log": f"IF(rises_to IS NULL, log, {truncate_from_start('log', 'rises_to')})",
            "log_start_offset": "coalesce(rises_to, log_start_offset)",
        },
        {"epochs": f"IF(rises_to IS NULL, epochs, {epoch_cache('log', 'log_start_offset')})", "local_from": local_start(rules)},
        {"looked_up": f"IF(prepared AND copied IS NULL, {found}, null)"},
        {
            "highest_remote": "IF(looked_up IS NULL, highest_remote, greatest(highest_remote, looked_up))",
            "copied": "coalesce(copied, looked_up)",
        },
        {"to_copy": f"IF(prepared, {listed}, {candidates('segments', 'segment_base_offset', 'leo', '-1L', 'leo')})"},
        {"to_copy": rules.choose("wait_for_lag", waited, "to_copy")},
        {"walked": f"aggregate(to_copy, {_start()}, (a, c) -> IF(a.status = {GOING}, {_next(rules)}, a))"},
        {
            "writes": "concat(writes, walked.writes)",
            "started": "walked.started",
            "own_events": "walked.events",
            "copied": "walked.copied",
            "highest_remote": "IF(size(to_copy) > 0, greatest(highest_remote, walked.highest), highest_remote)",
            "copy_starts": "walked.starts",
            _COPY: f"coalesce({_COPY}, walked.copy)",
            "copy_task": (
                f"CASE WHEN NOT copy_due THEN copy_task WHEN NOT copies_now THEN {done('copy_task')}"
                f" WHEN NOT prepared OR walked.status = {FAILING} THEN {failed('copy_task')}"
                f" WHEN walked.status = {THROTTLED} THEN {task('round + 1', '1', 'copy_task.failures')}"
                f" WHEN walked.status = {BUSY} THEN {task('round', '1', 'copy_task.failures')} ELSE {done('copy_task')} END"
            ),
        },
        {"with_started": "concat(remote_segments, started)"},
        known_by_writing("with_started", rules),
    ]


def _event(segment: str, state: str) -> str:
    return f"named_struct('round', round, 'segment', {segment}, 'state', {state}, 'slot', slot)"


def _start() -> str:
    fields = {
        "status": str(GOING),
        "left": "copy_left",
        "writes": NO_WRITES,
        "started": NO_REMOTE_SEGMENTS,
        "events": f"filter(array({_event('0', '0')}), e -> false)",
        "copied": "copied",
        "highest": "highest_remote",
        "starts": "copy_starts",
        "copy": f"CAST(null AS {COPY})",
    }
    return "named_struct(" + ", ".join(f"'{name}', {text}" for name, text in fields.items()) + ")"


def _next(rules: RunRules) -> str:
    """What becomes of the next segment: it waits, fails, is under way, or done."""
    rounds = f"greatest({QUOTA_WINDOW_MS} DIV feed.storage.round_ms, 1)"
    recent = f"filter(a.starts, s -> round - s.round < {rounds})"
    taken = f"aggregate({recent}, 0L, (sum, s) -> sum + s.bytes)"
    allowed = f"coalesce({taken} * 1000 <= {_QUOTA} * CAST({rounds} * feed.storage.round_ms AS BIGINT), true)"
    number = "(size(remote_segments) + size(a.started))"
    segment = started_segment(number, "c", "epochs", "slot", "duty_epoch", "round")
    at = "size(writes) + size(a.writes)"
    moved = "IF(a.left IS NULL, c.bytes, least(c.bytes, a.left))"
    starts = write(OF_COPY, at, STARTED, number)
    fails = write(OF_COPY, f"{at} + 1", FAILED, number, "0L", "usable")
    finishes = write(OF_COPY, f"{at} + 1", FINISHED, number, "c.bytes")
    copy = (
        f"named_struct('segment', {number}, 'left_bytes', c.bytes - moved_, 'as_of', round + 1, 'rate', copy_rate,"
        " 'orphaned', false)"
    )
    started, failing = _event(number, str(COPY_STARTED)), _event(number, str(DELETE_STARTED))
    ends = "(store_up AND moved_ >= c.bytes)"
    fields = {
        "status": f"CASE WHEN NOT store_up THEN {FAILING} WHEN {ends} THEN {GOING} ELSE {BUSY} END",
        "left": "a.left - moved_",
        "writes": (
            f"concat(a.writes, array({starts}), CASE WHEN NOT store_up THEN array({fails}) WHEN {ends} THEN array({finishes})"
            f" ELSE {NO_WRITES} END)"
        ),
        "started": f"concat(a.started, array({segment}))",
        "events": (
            f"concat(a.events, array({started}), CASE WHEN NOT store_up THEN array({failing})"
            f" WHEN {ends} THEN array({_event(number, str(COPY_FINISHED))}) ELSE filter(array({started}), e -> false) END)"
        ),
        "copied": f"IF({ends}, c.end_offset - 1, a.copied)",
        "highest": f"IF({rules.choose('finished_counts', ends, 'true')}, greatest(a.highest, c.end_offset - 1), a.highest)",
        "starts": f"concat({recent}, array(named_struct('round', round, 'bytes', c.bytes)))",
        "copy": f"IF(store_up AND moved_ < c.bytes, {copy}, a.copy)",
    }
    taken_on = let("moved_", moved, "named_struct(" + ", ".join(f"'{name}', {text}" for name, text in fields.items()) + ")")
    throttled = {name: f"a.{name}" for name in fields} | {"status": str(THROTTLED)}
    waits = "named_struct(" + ", ".join(f"'{name}', {text}" for name, text in throttled.items()) + ")"
    return f"IF({_QUOTA} IS NULL OR {allowed}, {taken_on}, {waits})"
