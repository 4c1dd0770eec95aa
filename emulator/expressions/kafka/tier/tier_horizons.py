"""Where a leap has to stop for remote storage: the next run of a task that may find something, the end of a copy.

SQL texts for horizons.py. A run of a task that finds nothing changes nothing, so that leaps go over it; what is taken here for
"may find something" may be too much, but never too little. Every text is null where nothing is to be met.
"""

from __future__ import annotations

from emulator.expressions.columns import let
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.tier.copying import behind, with_ends
from emulator.expressions.kafka.tier.expiry import local_bytes
from emulator.expressions.kafka.tier.lineage import highest_remote_offset
from emulator.expressions.kafka.tier.local_leaders import next_report
from emulator.expressions.kafka.tier.take_tier_inputs import READS_BEFORE, RUNS
from emulator.expressions.kafka.tier.types import COPY_FINISHED, DELETE_STARTED
from emulator.expressions.log import epoch_cache

_FAR = 2**60
_COPY = "copy_under_way"
_ENTRIES = "metadata_index.entries"


def _next_run(task: str, from_round: str = "round") -> str:
    """The first round, from one on, in which a task is due."""
    since = f"greatest({from_round} - {task}.next, 0)"
    return f"({task}.next + ({since} + {task}.period - 1) DIV {task}.period * {task}.period)"


def _when(duty: int, task: str, finds: str) -> str:
    """The next run, if it may find something; one that is not at its usual pace changes something anyway."""
    unusual = f"{task}.period != feed.storage.task_rounds OR {task}.failures > 0"
    met = f"IF({RUNS}, {unusual} OR coalesce({finds}, false), {task}.period > 1)"  # who does not run misses it
    return f"IF(duty = {duty} AND {met}, {_next_run(task)}, null)"


_NOT_LOOKED_UP = "(copied IS NULL OR NOT knows_log_start)"
_HAS_CLOSED = "(size(segments) > 0 AND segment_base_offset > greatest(copied + 1, log_start_offset))"
_HAS_LAG = "(feed.storage.copy_lag_ms != 0 AND feed.storage.copy_lag_bytes != 0)"

_CLOSED = with_ends("segments", "segment_base_offset")
_FIRST_TO_COPY = f"get(filter({_CLOSED}, x -> x.end_offset > greatest(copied + 1, log_start_offset)), 0)"
_AGED = (
    "IF(feed.storage.copy_lag_ms > 0, c_.newest_round"
    " + (feed.storage.copy_lag_ms + feed.storage.round_ms - 1) DIV feed.storage.round_ms, null)"
)
_MISSING = f"(feed.storage.copy_lag_bytes - {behind('c_', 'segments', 'segment_bytes')})"
_FULL = (
    f"CASE WHEN feed.storage.copy_lag_bytes <= 0 THEN null WHEN {_MISSING} <= 0 THEN round"
    f" WHEN drift.segment_bytes > 0 THEN round + {_MISSING} DIV drift.segment_bytes - 1 END"
)
_HAS_WAITED = let("c_", _FIRST_TO_COPY, f"IF(c_ IS NULL, null, least({_AGED}, {_FULL}))")
_COPIED = f"array_distinct(transform(filter({_ENTRIES}, x -> x.state = {COPY_FINISHED}), x -> x.segment))"
_OF_COPIED = f"transform({_COPIED}, id -> get(remote_segments, id))"
_FIRST_EPOCH = "get(log, 0).epoch"
_LEFT_BEHIND = (
    f"exists({_ENTRIES}, x -> x.state = {DELETE_STARTED} OR x.end_offset < log_start_offset"
    f" OR element_at(get(remote_segments, x.segment).epochs, -1).epoch < {_FIRST_EPOCH})"
)
_TOO_OLD = (
    "(array_min(transform(s_, s -> s.newest_round))"
    " + (feed.storage.retention_ms + feed.storage.round_ms - 1) DIV feed.storage.round_ms)"
)
_LOCAL = local_bytes("segments", "segment_base_offset", "segment_bytes", "highest_remote")
_SPARE = (
    "(feed.storage.retention_bytes + array_min(transform(s_, s -> s.bytes))"
    f" - aggregate(s_, {_LOCAL}, (sum, s) -> sum + s.bytes))"
)
_LIMITS = let(
    "s_",
    _OF_COPIED,
    "least(IF(feed.storage.retention_ms >= 0, " + _TOO_OLD + ", null), IF(feed.storage.retention_bytes < 0, null,"
    f" CASE WHEN {_SPARE} <= 0 THEN round WHEN drift.segment_bytes > 0 THEN round + ({_SPARE} - 1) DIV drift.segment_bytes END))",
)
_EPOCHS = epoch_cache("log", "log_start_offset")
_UNREAD = "array_min(transform(filter(remote_events, e -> e.slot != slot AND e.round >= metadata_read), e -> e.round))"

_EXPIRES = let("l_", _LIMITS, f"IF(l_ IS NULL, null, {_next_run('expiry_task', 'greatest(round, l_)')})")

_COPIES_LATE = let("l_", _HAS_WAITED, f"IF(l_ IS NULL, null, {_next_run('copy_task', 'greatest(round, l_)')})")

_ASKS_IN_VAIN = "(NOT feed.storage.store_up AND NOT feed.storage.from_leader AND feed.storage.backoff_rounds = 1)"
"""A follower's questions in every round come to nothing until the store is back, or the leader's log says something else."""

CALM_HORIZONS = ("copy", "delayed copy", "copy done", "follower", "metadata")
"""What comes then is noted, and decides only what other tasks and checks find."""


def tier_horizons(rules: RunRules) -> dict[str, str]:
    """Name -> SQL text of a round."""
    waits = rules.choose("wait_for_lag", _HAS_LAG, "false")
    to_copy = f"({_NOT_LOOKED_UP} OR (NOT {waits} AND {_HAS_CLOSED}))"
    may_copy_late = f"feed.storage.copies AND {waits} AND {_HAS_CLOSED}"
    found = let("e_", _EPOCHS, highest_remote_offset("metadata_index", "e_", f"{_FAR}L", rules.holds("within_lineage")))
    expires = f"(highest_remote < 0 AND size({_COPIED}) > 0) OR {_LEFT_BEHIND} OR NOT {rules.holds('log_start_first')}"
    return {
        "copy": f"IF({_COPY} IS NULL, {_when(1, 'copy_task', f'feed.storage.copies AND {to_copy}')}, null)",
        "delayed copy": f"IF({_COPY} IS NULL AND duty = 1 AND {RUNS} AND {may_copy_late}, {_COPIES_LATE}, null)",
        "copy done": f"IF({_COPY}.rate > 0, {_COPY}.as_of + ({_COPY}.left_bytes - 1) DIV {_COPY}.rate, null)",
        "expiry": _when(1, "expiry_task", expires),
        "retention": f"IF(duty = 1 AND {RUNS} AND size({_ENTRIES}) > 0, {_EXPIRES}, null)",
        "follower": _when(2, "follower_task", f"{found} > highest_remote"),
        "metadata": f"IF({_UNREAD} IS NULL OR {READS_BEFORE} IS NULL, null, {_UNREAD} + 1 + round - {READS_BEFORE})",
        "removal": "leaving.next",
        "auxiliary state": f"IF({_ASKS_IN_VAIN}, null, aux_state.next)",
        **({"local log": next_report(rules)} if rules.by_local_log else {}),
    }
