"""What the texts of tiered storage are asked about a situation: the columns that they read, and their answers."""

from __future__ import annotations

from emulator.expressions.kafka.tier import copying, expiry, following, lineage, metadata, types, writes

from .random_tiers import FOLLOWING, LEADING, NOW, ROUND_MS

INPUTS = {
    "seed": "INT",
    "segments": f"ARRAY<{types.REMOTE_SEGMENT}>",
    "events": f"ARRAY<{types.REMOTE_EVENT}>",
    "read_before": "INT",
    "reads_before": "INT",
    "follower_read_before": "INT",
    "own_event": types.REMOTE_EVENT,
    "epochs": types.EPOCHS,
    "odd_epochs": types.EPOCHS,
    "leo": "BIGINT",
    "log_start": "BIGINT",
    "local_log_start": "BIGINT",
    "closed": f"ARRAY<{types.LOCAL_SEGMENT}>",
    "active_base": "BIGINT",
    "active_bytes": "BIGINT",
    "stable": "BIGINT",
    "copied": "BIGINT",
    "highest_remote": "BIGINT",
    "hw": "BIGINT",
    "pending_log_start": "BIGINT",
    "copying": "INT",
    "retention_ms": "BIGINT",
    "retention_bytes": "BIGINT",
    "failures": "INT",
    "retry_rounds": "ARRAY<INT>",
    "asked_epoch": "INT",
    "asked_offset": "BIGINT",
    "from_offset": "BIGINT",
    "to_offset": "BIGINT",
    "at_pending_upload": "BOOLEAN",
    "store_up": "BOOLEAN",
    "so_far": following.ASKED,
    "check_transitions": "BOOLEAN",
    "within_lineage": "BOOLEAN",
    "lookup_by_epoch": "BOOLEAN",
    "below_last_stable": "BOOLEAN",
    "build_epochs": "BOOLEAN",
    "forget_on_truncation": "BOOLEAN",
    "know_remote_first": "BOOLEAN",
    "log_start_first": "BOOLEAN",
}
CHECK = "check_transitions"


def _written(index: str, read_before: str, now: str, own: str) -> str:
    return metadata.written(index, "events", "segments", "1", read_before, now, own, CHECK)


INDEXES = {
    "index": metadata.index_of(metadata.visible("events", str(LEADING), "read_before"), "segments", CHECK),
    "follower_index": metadata.index_of(metadata.visible("events", str(FOLLOWING), "follower_read_before"), "segments", CHECK),
    "complete": metadata.index_of("events", "segments", CHECK),
}
READ_BEFORE = {
    "read_index": metadata.learned("index", "events", "segments", "1", "read_before", "reads_before", CHECK),
    "known_remote": expiry.known_remote(
        "highest_remote",
        lineage.highest_remote_offset("index", "epochs", "leo", "within_lineage"),
        "know_remote_first",
    ),
    "candidates": copying.candidates(
        "closed", "active_base", "greatest(copied + 1, log_start)", "stable", "leo", "below_last_stable"
    ),
    "start": following.where_to_start("log_start", "local_log_start", "highest_remote", "epochs", "at_pending_upload"),
}
VERDICT = {
    "verdict": expiry.expired(
        "index",
        "segments",
        "epochs",
        "leo",
        "log_start",
        f"({expiry.local_bytes('closed', 'active_base', 'active_bytes', 'known_remote')})",
        "copying",
        str(NOW),
        f"{ROUND_MS}L",
        "retention_ms",
        "retention_bytes",
    ),
    "told": following.asked_leader("so_far", "start", "epochs", "leo", "log_start"),
}
RAISED = {
    "new_log_start": (f"IF({metadata.is_any_known('index')}, IF(log_start_first, verdict.log_start, pending_log_start), null)")
}
FAILS = "coalesce(new_log_start > hw, false)"
CUT = {"epochs_after": f"IF(new_log_start > log_start, {lineage.epochs_in_range('epochs', 'new_log_start', 'leo + 1')}, epochs)"}
NOTHING = "CAST(array() AS ARRAY<INT>)"
DELETED = {"deletions": f"IF({FAILS}, array(), {expiry.deletions('verdict.segments', '1', str(NOW), 'store_up')})"}
KNOWN = {"index_after": f"IF(size(deletions) = 0, index, {_written('index', 'read_before', str(NOW), 'deletions')})"}
LEFT_BEHIND = {
    "left_behind": (
        f"IF({FAILS} OR (size(deletions) > 0 AND NOT store_up), {NOTHING},"
        f" {expiry.left_behind('index_after', 'segments', 'epochs_after', NOTHING)})"
    )
}
STAGES = (INDEXES, READ_BEFORE, VERDICT, RAISED, CUT, DELETED, KNOWN, LEFT_BEHIND)
"""Texts by name; each stage reads the columns of those before."""

ANSWERS = {
    "index": "index",
    "read_index": "read_index",
    "written_index": _written("read_index", "reads_before", str(NOW), "array(own_event)"),
    "states": (
        "transform(segments, s -> aggregate(filter(events, e -> e.segment = s.id), CAST(null AS INT),"
        f" (state, e) -> IF({metadata.is_allowed('state', 'e.state', CHECK)}, e.state, state)))"
    ),
    "without_empty_epochs": lineage.without_empty_epochs("odd_epochs"),
    "epochs_in_range": lineage.epochs_in_range("epochs", "from_offset", "to_offset"),
    "in_lineage": f"transform(segments, s -> {lineage.is_in_lineage('s', 'epochs', 'leo')})",
    "in_odd_lineage": f"transform(segments, s -> {lineage.is_in_lineage('s', 'odd_epochs', 'leo')})",
    "highest_remote": lineage.highest_remote_offset("index", "epochs", "leo", "within_lineage"),
    "remote_log_start": lineage.remote_log_start("index", "epochs", "local_log_start"),
    "lookup": metadata.lookup("complete", "asked_epoch", "asked_offset", "lookup_by_epoch"),
    "candidates": "transform(candidates, x -> struct(x.base_offset, x.end_offset))",
    "started": f"IF(size(candidates) = 0, null, {copying.started_segment('9', 'candidates[0]', 'epochs', '1', '7', str(NOW))})",
    "copied_before": f"transform(segments, s_ -> {copying.copied_before('s_', 'segments')})",
    "after_truncation": copying.after_truncation("known_remote", "leo", "forget_on_truncation"),
    "retry_round": f"{NOW} + {writes.rounds_to_retry('failures - 1', 'retry_rounds')}",
    "expired": f"concat(deletions, {expiry.deletions('left_behind', '1', str(NOW), 'store_up')})",
    "log_start_after": f"IF({FAILS}, log_start, greatest(log_start, new_log_start))",
    "is_moved": following.is_moved("log_start", "local_log_start", "asked_offset"),
    "pending_upload": following.earliest_pending_upload("highest_remote", "log_start", "local_log_start"),
    "start": "start",
    "built": following.built_from_store("start", "follower_index", "segments", "true", "store_up", "build_epochs"),
    "told": "told",
    "built_by_leader": following.built_by_leader("told", "log_start"),
}
