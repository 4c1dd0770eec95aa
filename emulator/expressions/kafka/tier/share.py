"""All rows of a partition make the same of what each of them did to remote segments in a round."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, applied, built_once, decided, let, unchanged
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.tier.copying import copied_before
from emulator.expressions.kafka.tier.metadata import index_of, is_allowed, remote_segment, visible
from emulator.expressions.kafka.tier.types import COPY_FINISHED, COPY_STARTED, DELETE_FINISHED, DELETE_STARTED, REMOTE_EVENT
from emulator.expressions.kafka.tier.writes import (
    DELETED,
    FAILED,
    FINISHED,
    GAVE_UP,
    NO_REMOTE_SEGMENTS,
    NO_WRITES,
    STARTED,
    counted,
    rounds_to_retry,
)

EVENTS = ("copy_started", "copy_finished", "copy_failed", "remote_delete")
TOLD = "STRUCT<kind: INT, leader_epoch: INT, from_offset: BIGINT, to_offset: BIGINT>"
"""An event of the row's broker: `kind` is its place in EVENTS."""


def own_share() -> str:
    """SQL text: what this row did in the round, null if nothing."""
    steps = ("tier_inputs", "tier_duties", "tier_expiry", "tier_copy")
    writes = f"concat({', '.join(f'coalesce({step}.writes, {NO_WRITES})' for step in steps)})"
    started = f"coalesce(tier_copy.started, {NO_REMOTE_SEGMENTS})"
    return f"CASE WHEN size({writes}) > 0 THEN named_struct('slot', slot, 'writes', {writes}, 'started', {started}) END"


def share(state: DataFrame, rules: RunRules) -> DataFrame:
    """Apply the writes of all rows, `shares`, in the order of tasks and then of replicas; go on removing a marked partition."""
    return state.withColumns(_decide(rules)).withColumns(_apply(rules))


_OUTPUTS = unchanged(
    *("remote_segments", "remote_events", "leaving", "tier_counts", "metadata_index", "copy_under_way"),
)
_FACTS = ("told", "removed")
"""What `shared` tells: events of the row's broker, and segments that were removed with the whole partition (on slot 0)."""


@built_once
def _decide(rules: RunRules) -> Step:
    guard = "segments IS NOT NULL AND (size(shares) > 0 OR coalesce(round >= leaving.next, false))"
    steps = [_gather(), _place(), _take(rules), _own(rules), *_remove()]
    return decided("shared", f"coalesce({guard}, false)", steps, _OUTPUTS | unchanged(*_FACTS))


@built_once
def _apply(rules: RunRules) -> Step:
    return applied("shared", _OUTPUTS)


def _gather() -> Step:
    return {"known": "size(remote_segments)", "ordered": "array_sort(shares)"}


def _place() -> Step:
    """Attempts that began in this round get their numbers in the order of slots."""
    shift = "aggregate(filter(ordered, o -> o.slot < {0}), 0, (n, o) -> n + size(o.started))".format
    names = ("task", "slot", "at", "kind", "segment", "moved", "tells")
    values = {"segment": f"IF(w.segment < known, w.segment, w.segment + {shift('w.slot')})"}
    placed = "named_struct(" + ", ".join(f"'{name}', {values.get(name, f'w.{name}')}" for name in names) + ")"
    return {
        "shift": shift("slot"),
        "attempts": (
            "transform(concat(remote_segments, flatten(transform(ordered, o -> o.started))), (s, i) -> "
            + remote_segment("s", {"id": "i"})
            + ")"
        ),
        "all_writes": f"array_sort(transform(flatten(transform(ordered, o -> o.writes)), w -> {placed}))",
    }


def _take(rules: RunRules) -> Step:
    """One write after the other: states, bytes in the store, the row's own counters and events."""
    start = (
        "named_struct('segments', attempts, 'counts', tier_counts,"
        f" 'told', CAST(array() AS ARRAY<{TOLD}>), 'events', CAST(array() AS ARRAY<{REMOTE_EVENT}>))"
    )
    return {"taken": f"aggregate(all_writes, {start}, (m, w) -> {let('s_', 'get(m.segments, w.segment)', _after(rules))})"}


def _after(rules: RunRules) -> str:
    up = "feed.storage.store_up"
    first = (
        f"CASE w.kind WHEN {STARTED} THEN {COPY_STARTED} WHEN {FINISHED} THEN {COPY_FINISHED}"
        f" WHEN {DELETED} THEN {DELETE_STARTED} WHEN {FAILED} THEN IF(w.tells, {DELETE_STARTED}, null) END"
    )
    allowed = is_allowed("s_.state", "first_", rules.holds("check_transitions"))
    after_first = f"IF(first_ IS NOT NULL AND {allowed}, first_, s_.state)"
    deletes = f"(w.kind = {DELETED} AND {up})"
    state = f"IF({deletes} AND state_ >= {DELETE_STARTED}, {DELETE_FINISHED}, state_)"
    over = f"w.kind IN ({GAVE_UP}, {FINISHED}, {FAILED})"
    new = {
        "state": state,
        "was_finished": f"s_.was_finished OR (w.kind = {FINISHED} AND state_ = {COPY_FINISHED})",
        "copied_round": f"IF(w.kind = {FINISHED} AND state_ = {COPY_FINISHED}, round, s_.copied_round)",
        "deleted_round": f"IF({deletes} AND state_ >= {DELETE_STARTED}, round, s_.deleted_round)",
        "stored_bytes": (
            f"CASE WHEN {deletes} THEN 0L"
            f" WHEN w.kind = {FINISHED} OR ({over} AND NOT coalesce(s_.state = {DELETE_FINISHED}, false))"
            " THEN w.moved ELSE s_.stored_bytes END"
        ),
        "moved_bytes": f"IF({over}, w.moved, s_.moved_bytes)",
    }
    counts = counted(
        "m.counts",
        {
            "remote_copy_requests": f"IF(w.kind = {STARTED}, 1, 0)",
            "remote_copy_bytes": f"IF({over}, w.moved, 0L)",
            "remote_copied_again_bytes": f"IF({over} AND {copied_before('s_', 'm.segments')}, w.moved, 0L)",
            "remote_copy_errors": f"IF(w.kind = {FAILED}, 1, 0)",
            "remote_delete_requests": f"IF(w.kind = {DELETED}, 1, 0)",
            "remote_delete_errors": f"IF(w.kind = {DELETED} AND NOT {up}, 1, 0)",
            "remote_deleted_bytes": f"IF({deletes}, s_.stored_bytes, 0L)",
        },
    )
    is_told = f"(w.slot = slot AND w.kind > {GAVE_UP} AND (w.kind < {DELETED} OR ({up} AND NOT s_.state <=> {DELETE_FINISHED})))"
    told = (
        "named_struct('kind', w.kind - 1, 'leader_epoch', s_.leader_epoch, 'from_offset', s_.base_offset,"
        " 'to_offset', s_.end_offset + 1)"
    )
    states = f"filter(array(first_, IF({deletes}, {DELETE_FINISHED}, null)), e -> e IS NOT NULL)"
    events = f"transform({states}, e -> named_struct('round', round, 'segment', w.segment, 'state', e, 'slot', w.slot))"
    segments = f"transform(m.segments, s -> IF(s.id = w.segment, {remote_segment('s_', new)}, s))"
    result = (
        f"named_struct('segments', {segments}, 'counts', IF(w.slot = slot, {counts}, m.counts),"
        f" 'told', IF({is_told}, concat(m.told, array({told})), m.told), 'events', concat(m.events, {events}))"
    )
    return let("first_", first, let("state_", after_first, result))


def _own(rules: RunRules) -> Step:
    copy = "copy_under_way"
    moved = (
        f"named_struct('segment', {copy}.segment + shift, 'left_bytes', {copy}.left_bytes, 'as_of', {copy}.as_of,"
        f" 'rate', {copy}.rate, 'orphaned', {copy}.orphaned)"
    )
    events = "concat(remote_events, taken.events)"
    known = visible("every_", "slot", "metadata_read")
    anew = index_of(known, "taken.segments", rules.holds("check_transitions"))
    return {
        "remote_segments": "taken.segments",
        "remote_events": events,
        "tier_counts": "taken.counts",
        "told": "taken.told",
        copy: f"IF(shift > 0 AND {copy}.segment >= known, {moved}, {copy})",
        # What the row wrote of attempts that got other numbers it has to take in anew.
        "metadata_index": (
            f"IF(shift > 0 AND exists(all_writes, w -> w.slot = slot AND w.segment >= known),"
            f" {let('every_', events, anew)}, metadata_index)"
        ),
    }


def _remove() -> list[Step]:
    """What is left of a marked partition is deleted one by one; while the store is away it is tried again."""
    up = "feed.storage.store_up"
    next_round = f"round + {rounds_to_retry('leaving.failures')}"
    later = f"named_struct('segments', leaving.segments, 'next', {next_round}, 'failures', leaving.failures + 1)"
    is_left = "array_contains(leaving.segments, s.id)"
    new = {
        "state": f"IF({up}, {DELETE_FINISHED}, {DELETE_STARTED})",
        "stored_bytes": f"IF({up}, 0L, s.stored_bytes)",
        "deleted_round": f"IF({up}, round, s.deleted_round)",
    }
    goes = f"s -> {is_left} AND s.state < {DELETE_FINISHED}"
    return [
        {"removes": "coalesce(round >= leaving.next, false)"},
        {"removed": f"IF(removes, filter(remote_segments, {goes}), {NO_REMOTE_SEGMENTS})"},
        {
            "remote_segments": (
                f"IF(size(removed) = 0, remote_segments, transform(remote_segments, s -> IF({is_left} AND s.state <"
                f" {DELETE_FINISHED}, {remote_segment('s', new)}, s)))"
            ),
            "leaving": f"CASE WHEN NOT removes THEN leaving WHEN {up} OR size(removed) = 0 THEN null ELSE {later} END",
            "tier_counts": (
                "IF(slot != 0 OR size(removed) = 0, tier_counts, "
                + counted(
                    "tier_counts",
                    {
                        "remote_delete_requests": f"IF({up}, size(removed), 1)",
                        "remote_delete_errors": f"IF({up}, 0, 1)",
                        "remote_deleted_bytes": f"IF({up}, aggregate(removed, 0L, (sum, s) -> sum + s.stored_bytes), 0L)",
                    },
                )
                + ")"
            ),
            "removed": f"IF(slot = 0 AND {up}, removed, {NO_REMOTE_SEGMENTS})",
        },
    ]
