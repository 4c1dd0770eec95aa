"""The expiry task of a leader, step by step (RLMExpirationTask). SQL steps of run_tier_tasks.py."""

from __future__ import annotations

from emulator.expressions.columns import Step
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import local_start
from emulator.expressions.kafka.tier.expiry import deletions, expired, known_remote, left_behind, local_bytes
from emulator.expressions.kafka.tier.lineage import highest_remote_offset, remote_log_start
from emulator.expressions.kafka.tier.metadata import apply_events, is_any_known, learned
from emulator.expressions.kafka.tier.writes import DELETED, OF_EXPIRY, done, due, failed, write
from emulator.expressions.log import epoch_cache, truncate_from_start


def expiry_steps(rules: RunRules) -> list[Step]:
    """The log start rises before segments go; the first one that the store fails ends the run, and it is tried again."""
    local = local_bytes("segments", "segment_base_offset", "segment_bytes", "highest_remote")
    storage = "feed.storage"
    verdict = expired(
        *("metadata_index", "remote_segments", "epochs", "leo", "log_start_offset", "not_remote", "copy_under_way.segment"),
        *("round", f"CAST({storage}.round_ms AS BIGINT)", f"{storage}.retention_ms", f"{storage}.retention_bytes"),
    )
    nothing = "CAST(array() AS ARRAY<INT>)"
    behind = left_behind("metadata_index", "remote_segments", "epochs", nothing)
    found = highest_remote_offset("metadata_index", "epochs", "leo", rules.holds("within_lineage"))
    by_what_is_left = f"IF(size(verdict.segments) = 0, {remote_log_start('metadata_index', 'epochs', 'local_from')}, null)"
    log_start = rules.choose("log_start_first", "verdict.log_start", by_what_is_left)
    return [
        {
            "expires": f"runs AND duty = 1 AND {due('expiry_task')}",
            "finds": f"runs AND duty = 1 AND {due('expiry_task')} AND usable AND {is_any_known('metadata_index')}",
        },
        {"highest_remote": f"IF(finds, {known_remote('highest_remote', found)}, highest_remote)"},
        {"not_remote": f"IF(finds, {local}, 0L)"},
        {"verdict": f"IF(finds, {verdict}, null)"},
        {"new_start": f"IF(verdict IS NULL, null, {log_start})"},
        {
            "may_rise": "coalesce(new_start <= hw, true)",
            "rises_to": "IF(new_start > log_start_offset AND new_start <= hw, new_start, null)",
        },
        {
            "log": f"IF(rises_to IS NULL, log, {truncate_from_start('log', 'rises_to')})",
            "log_start_offset": "coalesce(rises_to, log_start_offset)",
            "wanted": f"IF(finds AND may_rise, verdict.segments, {nothing})",
        },
        {"epochs": f"IF(rises_to IS NULL, epochs, {epoch_cache('log', 'log_start_offset')})", "local_from": local_start(rules)},
        *_delete(rules),
        {"fails": "expires AND NOT (usable AND may_rise AND (store_up OR size(wanted) = 0))"},
        {"wanted": f"IF(finds AND may_rise AND NOT fails, {behind}, {nothing})"},
        *_delete(rules),
        {"fails": "fails OR (NOT store_up AND size(wanted) > 0)"},
        {
            "expiry_task": f"CASE WHEN NOT expires THEN expiry_task WHEN fails THEN {failed('expiry_task')}"
            f" ELSE {done('expiry_task')} END"
        },
    ]


def _delete(rules: RunRules) -> list[Step]:
    """Delete the segments in `wanted` one after the other: said, done, said; the first one that the store fails ends it."""
    deletes = write(OF_EXPIRY, "size(writes) + at", DELETED, "id")
    return [
        {"deleted": "IF(store_up, wanted, slice(wanted, 1, 1))"},
        {
            "writes": f"concat(writes, transform(deleted, (id, at) -> {deletes}))",
            "own_events": deletions("wanted", "slot", "round", "store_up"),
        },
        known_by_writing("remote_segments", rules),
    ]


def known_by_writing(segments: str, rules: RunRules) -> Step:
    """Who writes `own_events` has read all that was written in the rounds before when that is done."""
    checks = rules.holds("check_transitions")
    read = learned("metadata_index", "remote_events", segments, "slot", "metadata_read", "round", checks)
    return {
        "metadata_index": f"IF(size(own_events) = 0, metadata_index, {apply_events(read, 'own_events', segments, checks)})",
        "metadata_read": "IF(size(own_events) = 0, metadata_read, greatest(metadata_read, round))",
    }
