"""A replica's local segments: the closed ones in `segments`, the active one in its own columns. SQL text helpers.

Kept only where something can be deleted in the run (`RunRules.segments`, and within such a run `feed.storage`); elsewhere
`segments` is null, a truncation below the active segment starts an empty one, and nothing here is asked for. A segment's records
below the log start count in its bytes until it goes as a whole (docs/tiered_rounds.md, Segments).
"""

from __future__ import annotations

from emulator.expressions.columns import Step
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.log import bytes_at, newest_round

FIRST_BASE = "coalesce(get(segments, 0).base_offset, segment_base_offset)"
"""Base of the first local segment, where segments are kept."""

LOCAL_START = f"IF(segments IS NULL, log_start_offset, greatest(log_start_offset, {FIRST_BASE}))"
"""The first offset that the replica has itself."""

ACTIVE_NEWEST = f"IF(leo > segment_base_offset, coalesce({newest_round('log', 'leo')}, 0), null)"
"""The round of the newest record of the active segment, null if it is empty."""

LOCAL_BYTES = "(segment_bytes + aggregate(segments, 0L, (sum, s) -> sum + s.bytes))"
"""Bytes on the replica's disk."""

NO_SEGMENTS = "filter(segments, s -> false)"


def local_start(rules: RunRules) -> str:
    """The first offset that the replica has itself; the log start where segments are not kept."""
    if not rules.segments:
        return "log_start_offset"
    return LOCAL_START


def closed(base: str, size: str, first: str, newest: str) -> str:
    """A closed segment as SQL struct."""
    return f"named_struct('base_offset', {base}, 'bytes', {size}, 'first_round', {first}, 'newest_round', {newest})"


def with_closed(newest: str = ACTIVE_NEWEST) -> str:
    """The closed segments once the active one is closed as well; null where they are not kept."""
    active = closed("segment_base_offset", "segment_bytes", "segment_round", newest)
    return f"IF(segments IS NULL, null, concat(segments, array({active})))"


def cut_place(cut_to: str, rules: RunRules) -> Step:
    """Where a cut meets the segments: `cut_place` (index, their number for the active one, -1 below all), `cut_from_offset`.

    Null: no record goes, or segments are not kept.
    """
    return {
        "cut_place": (
            f"CASE WHEN segments IS NULL OR NOT coalesce({cut_to} < leo, false) THEN null WHEN {cut_to} < {FIRST_BASE} THEN -1"
            f" WHEN {cut_to} >= segment_base_offset THEN size(segments)"
            f" ELSE size(filter(segments, s -> s.base_offset <= {cut_to})) - 1 END"
        ),
        "cut_from_offset": f"greatest({cut_to}, {local_start(rules)})",
    }


def cut_segments(cut_to: str, plain: Step) -> Step:
    """What a cut does to the segments, after `cut_place`: the one it cuts is active again, with its old age.

    Below the first one it leaves an empty one where it cuts. `plain`: `segment_base_offset` and `segment_bytes` where segments
    are not kept.
    """
    held = "get(segments, cut_place)"
    end = "coalesce(get(segments, cut_place + 1).base_offset, segment_base_offset)"
    gone = f"greatest({bytes_at('log', end)} - {bytes_at('log', 'cut_from_offset')}, 0L)"
    active_gone = f"greatest(log_bytes - {bytes_at('log', 'cut_from_offset')}, 0L)"
    closed_again = "cut_place < size(segments)"
    return {
        "segments": (
            f"CASE WHEN cut_place IS NULL THEN segments WHEN cut_place < 0 THEN {NO_SEGMENTS}"
            " ELSE slice(segments, 1, cut_place) END"
        ),
        "segment_base_offset": (
            f"CASE WHEN cut_place IS NULL THEN {plain['segment_base_offset']} WHEN cut_place < 0 THEN {cut_to}"
            f" WHEN {closed_again} THEN {held}.base_offset ELSE segment_base_offset END"
        ),
        "segment_bytes": (
            f"CASE WHEN cut_place IS NULL THEN {plain['segment_bytes']} WHEN cut_place < 0 THEN 0L"
            f" WHEN {closed_again} THEN IF({cut_to} = {held}.base_offset, 0L, {held}.bytes - {gone})"
            f" WHEN {cut_to} = segment_base_offset THEN 0L ELSE segment_bytes - {active_gone} END"
        ),
        "segment_round": f"IF(cut_place >= 0 AND {closed_again}, {held}.first_round, segment_round)",
    }
