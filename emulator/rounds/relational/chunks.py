"""Chunks: what each fetch of a round brings; a follower appends one after the other, and they roll its segments (7)."""

from __future__ import annotations

from pyspark.sql import DataFrame

from .tables import REPLICA, Round

WAITING = "array_sort(collect_list(struct(base_offset, end_offset, batch_bytes, batch_round))) AS waiting"
"""The batches that a follower lacks, in order."""


def _struct(**fields: str) -> str:
    return f"struct({', '.join(f'{text} AS {name}' for name, text in fields.items())})"


def _so_far(chunks: str, room: str = "so.room", total: str = "so.total + b.batch_bytes", is_full: str = "false") -> str:
    return _struct(chunks=chunks, room=room, total=total, is_full=is_full)


_NONE = "CAST(array() AS array<struct<end:bigint, bytes:bigint, newest:int>>)"
_LAST = "element_at(so.chunks, -1)"
_LONGER = _struct(end="b.end_offset", bytes=f"{_LAST}.bytes + b.batch_bytes", newest=f"greatest({_LAST}.newest, b.batch_round)")
_NEXT = _struct(end="b.end_offset", bytes="b.batch_bytes", newest="b.batch_round")
_FULL = _so_far("so.chunks", total="so.total", is_full="true")
_GROWN = _so_far(f"concat(slice(so.chunks, 1, size(so.chunks) - 1), array({_LONGER}))", room="so.room - b.batch_bytes")
_ONE_MORE = _so_far(f"concat(so.chunks, array({_NEXT}))", room="fetch_max_bytes - b.batch_bytes")
CHUNKS = (
    f"aggregate(waiting, {_so_far(_NONE, '0L', '0L')}, (so, b) -> CASE"
    f" WHEN so.is_full OR coalesce(so.total + b.batch_bytes > allowance, false) THEN {_FULL}"
    f" WHEN size(so.chunks) > 0 AND b.batch_bytes <= so.room THEN {_GROWN}"
    f" WHEN size(so.chunks) < fetches THEN {_ONE_MORE} ELSE {_FULL} END).chunks AS chunks"
)
"""What the fetches of a round bring of them: each whole batches within the limit, at least one; together within the allowance."""

_ROLLS = "(s.leo != s.base AND (s.size + c.bytes > segment_bytes OR round - s.round >= segment_rounds))"
_FLUSHED = f"IF({_ROLLS}, greatest(s.flushed, s.leo), s.flushed)"
_CLOSES = _struct(at="s.leo", base="s.base", size="s.size", round="s.round", newest="s.newest")
_BEFORE = _struct(
    leo="leo",
    base="segment_base",
    size="segment_size",
    round="segment_round",
    newest="segment_newest",
    flushed="flushed",
    rolled="CAST(array() AS array<struct<at:bigint, base:bigint, size:bigint, round:int, newest:int>>)",
)
_AFTER = _struct(
    leo="c.end",
    base=f"IF({_ROLLS}, s.leo, s.base)",
    size=f"IF({_ROLLS}, 0L, s.size) + c.bytes",
    round=f"IF({_ROLLS} OR s.leo = s.base, round, s.round)",
    newest=f"greatest(IF({_ROLLS}, CAST(null AS INT), s.newest), c.newest)",
    flushed=f"IF(coalesce(c.end - {_FLUSHED} >= flush_messages, false), c.end, {_FLUSHED})",
    rolled=f"IF({_ROLLS}, concat(s.rolled, array({_CLOSES})), s.rolled)",
)
SEGMENT = f"aggregate(chunks, {_BEFORE}, (s, c) -> {_AFTER})"
"""The active segment behind the chunks, as `roll_segment` and `flush_messages` (leading.py) would leave it after each."""


def append_chunks(now: Round) -> Round:
    """The active segment takes the chunks; `rolled_chunks`: the segments that they closed, where each ended and what it was."""
    active = {f"segment_{name}": name for name in ("base", "size", "round", "newest")} | {"flushed": "flushed"}
    return now.with_columns(segment=SEGMENT).with_columns(
        rolled_chunks="segment.rolled", **{column: f"coalesce(segment.{name}, {column})" for column, name in active.items()}
    )


def closed_by_chunks(now: Round, *columns: str) -> DataFrame:
    """A row for each segment that a chunk closed: the replica, columns of it, and `rolled`."""
    rolling = now.replicas.where("size(rolled_chunks) > 0")
    return rolling.selectExpr(*REPLICA, *columns, "explode(rolled_chunks) AS rolled")
