"""Chunks: what each fetch of a round brings; a follower appends one after the other, and they roll its segments (7)."""

from __future__ import annotations

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import REPLICA, Round

WAITING = "array_sort(collect_list(struct(base_offset, end_offset, batch_bytes, batch_round))) AS waiting"
"""The batches that a follower lacks, in order."""


def _struct(**fields: str) -> str:
    return f"struct({', '.join(f'{text} AS {name}' for name, text in fields.items())})"


def _so_far(chunks: str, room: str = "so.room", total: str = "so.total + each.batch_bytes", is_full: str = "false") -> str:
    return _struct(chunks=chunks, room=room, total=total, is_full=is_full)


_NONE = _so_far("CAST(array() AS array<struct<ends:bigint, bytes:bigint, newest:int>>)", "0L", "0L")
_LAST = "element_at(so.chunks, -1)"
_LONGER = _struct(
    ends="each.end_offset", bytes=f"{_LAST}.bytes + each.batch_bytes", newest=f"greatest({_LAST}.newest, each.batch_round)"
)
_NEXT = _struct(ends="each.end_offset", bytes="each.batch_bytes", newest="each.batch_round")
_FULL = _so_far("so.chunks", total="so.total", is_full="true")
_GROWN = _so_far(f"concat(slice(so.chunks, 1, size(so.chunks) - 1), array({_LONGER}))", room="so.room - each.batch_bytes")
_ONE_MORE = _so_far(f"concat(so.chunks, array({_NEXT}))", room="fetch_max_bytes - each.batch_bytes")
_BROUGHT = (
    f"CASE WHEN so.is_full OR coalesce(so.total + each.batch_bytes > allowance, false) THEN {_FULL}"
    f" WHEN size(so.chunks) > 0 AND each.batch_bytes <= so.room THEN {_GROWN}"
    f" WHEN size(so.chunks) < fetches THEN {_ONE_MORE} ELSE {_FULL} END"
)

_ROLLS = "(so.leo != so.base AND (so.size + each.bytes > segment_bytes OR round - so.round >= segment_rounds))"
_FLUSHED = f"IF({_ROLLS}, greatest(so.flushed, so.leo), so.flushed)"
_CLOSES = _struct(at="so.leo", base="so.base", size="so.size", round="so.round", newest="so.newest")
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
    leo="each.ends",
    base=f"IF({_ROLLS}, so.leo, so.base)",
    size=f"IF({_ROLLS}, 0L, so.size) + each.bytes",
    round=f"IF({_ROLLS} OR so.leo = so.base, round, so.round)",
    newest=f"greatest(IF({_ROLLS}, CAST(null AS INT), so.newest), each.newest)",
    flushed=f"IF(coalesce(each.ends - {_FLUSHED} >= flush_messages, false), each.ends, {_FLUSHED})",
    rolled=f"IF({_ROLLS}, concat(so.rolled, array({_CLOSES})), so.rolled)",
)
"""The active segment behind a chunk, as `roll_segment` and `flush_messages` (leading.py) would leave it."""


def brought(waiting: Query) -> Query:
    """What the fetches of a round bring of what waits: pid, broker, chunks, chunks_end.

    Each chunk is whole batches within the limit, at least one; together they are within the allowance.
    """
    chunks = waiting.folded("brought", "waiting", _NONE, _BROUGHT).select(*REPLICA, "brought.chunks AS chunks")
    return chunks.where("size(chunks) > 0").with_columns(chunks_end="element_at(chunks, -1).ends")


def listed(chunks: Query) -> Query:
    """Chunks of this round's records, a row each (pid, broker, ends, bytes, round), as `append_chunks` takes them."""
    return chunks.group_by(*REPLICA).agg("array_sort(collect_list(struct(ends, bytes, round AS newest))) AS chunks")


def append_chunks(now: Round) -> Round:
    """The active segment takes the chunks; `rolled_chunks`: the segments that they closed, where each ended and what it was."""
    active = {f"segment_{name}": name for name in ("base", "size", "round", "newest")} | {"flushed": "flushed"}
    return now.with_replicas(now.replicas.folded("segment", "chunks", _BEFORE, _AFTER)).with_columns(
        rolled_chunks="segment.rolled", **{column: f"coalesce(segment.{name}, {column})" for column, name in active.items()}
    )


def closed_by_chunks(now: Round, *columns: str) -> Query:
    """A row for each segment that a chunk closed: the replica, columns of it, and `rolled`."""
    rolling = now.replicas.where("size(rolled_chunks) > 0")
    return rolling.select(*REPLICA, *columns, "rolled_chunks").exploded("rolled", "rolled_chunks").drop("rolled_chunks")
