"""Chunks: what each fetch of a round brings. A follower appends one after the other, and they fill its segments (step 7).

A fetch takes whole batches as long as they fit, and so does a segment with chunks: a running total that begins anew where it
would pass a limit (`in_bins`).
"""

from __future__ import annotations

from dataclasses import replace

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import REPLICA, Round

BY_END = "OVER (PARTITION BY pid, broker ORDER BY ends)"
OF_A_LOG = (
    "leo", "flushed", "segment_base", "segment_size", "segment_round", "segment_newest", "segment_bytes", "segment_rounds",
    "flush_messages", "round",
)  # fmt: skip
"""What is asked of a log that takes chunks: where it stands, and its settings."""


def in_bins(rows: Query, most: int, with_last: bool = False) -> Query:
    """Fill bins with rows of a `size` each, in the order of `nth` (from 1): adds the number of its `bin` (from 0).

    A row that is more than the `room` left begins the next bin, whatever its size; `with_last`: it is the last of its bin.
    `most`: as many bins are told apart.

    No window has such a total, for a bin begins where the one before ends. So each row is asked where the next bin would begin
    if one began with it, which a window tells; two such steps joined are one step of two bins, two of these one of four.
    """
    in_order = "OVER (PARTITION BY pid, broker ORDER BY nth)"
    rows = rows.with_columns(total=f"sum(size) {in_order}", in_all="sum(size) OVER (PARTITION BY pid, broker)")
    several = rows.where("in_all > room")
    # How many rows fit, up to which total: the ends of rows and the limits that are asked for, in one order.
    asked = several.stacked([{"at": "total", "is_end": "1"}, {"at": "total - size + room", "is_end": "0"}])
    fitting = asked.with_columns(fit="sum(is_end) OVER (PARTITION BY pid, broker ORDER BY at)").where("is_end = 0")
    last = "greatest(nth, fit + 1)" if with_last else "greatest(nth, fit)"
    steps = [fitting.select(*REPLICA, "nth", f"{last} + 1 AS next_begin").settled()]
    while 2 ** len(steps) <= most:
        first = steps[-1]
        second = first.select(*REPLICA, "nth AS next_begin", "next_begin AS later_begin")
        steps.append(first.join(second, [*REPLICA, "next_begin"]).select(*REPLICA, "nth", "later_begin AS next_begin").settled())
    begins = several.where("nth = 1").select(*REPLICA, "nth")
    for step in reversed(steps):
        begins = begins.union(begins.join(step, [*REPLICA, "nth"]).select(*REPLICA, "next_begin AS nth")).settled()
    marked = rows.join(begins.where("nth > 1").with_columns(begins="1L"), [*REPLICA, "nth"], "left")
    return marked.with_columns(bin=f"coalesce(sum(begins) {in_order}, 0L)").drop("total", "in_all", "begins")


def numbered(rows: Query, order: str) -> Query:
    """The rows of each replica with their places in an order, `nth` (from 1)."""
    return rows.with_columns(nth=f"CAST(row_number() OVER (PARTITION BY pid, broker ORDER BY {order}) AS BIGINT)")


def append_chunks(now: Round, chunks: Query, most: int) -> Round:
    """Logs take chunks, at most so many each: one that does not fit, or comes too late, closes the active segment.

    `chunks`: pid, broker, ends, bytes, newest (the round of its newest record). `closed`: the segments that they close. What
    `roll_segment` and `flush_messages` (leading.py) make of a leader's batches, one by one.
    """
    came = chunks.join(now.replicas.select(*REPLICA, *OF_A_LOG), REPLICA)
    came = came.with_columns(place=f"row_number() {BY_END}", begins_at=f"coalesce(lag(ends) {BY_END}, leo)").settled()
    # The active segment is the first that is there. When it is too old nothing more fits.
    active = came.where("place = 1 AND leo != segment_base").select(
        *REPLICA, "segment_base AS base_offset", "leo AS end_offset", "segment_size AS size_bytes",
        "segment_round AS first_round", "segment_newest AS newest_round", "segment_bytes AS room",
        "IF(round - segment_round >= segment_rounds, segment_bytes + 1, segment_size) AS size",
    )  # fmt: skip
    parts = came.select(
        *REPLICA, "begins_at AS base_offset", "ends AS end_offset", "bytes AS size_bytes", "round AS first_round",
        "newest AS newest_round", "segment_bytes AS room", "bytes AS size",
    )  # fmt: skip
    filled = in_bins(numbered(active.union(parts), "end_offset").settled(), most)
    segments = filled.group_by(*REPLICA, "bin").agg(
        "min(base_offset) AS base_offset", "max(end_offset) AS end_offset", "sum(size_bytes) AS size_bytes",
        "min(first_round) AS first_round", "max(newest_round) AS newest_round",
    )  # fmt: skip
    segments = segments.with_columns(is_last="bin = max(bin) OVER (PARTITION BY pid, broker)").settled()
    last = segments.where("is_last").select(
        *REPLICA, "bin > 0 AS rolled", "base_offset AS new_base", "size_bytes AS new_size", "first_round AS new_round",
        "newest_round AS new_newest",
    )  # fmt: skip
    now = replace(now, closed=segments.where("NOT is_last").drop("bin", "is_last"))
    now = now.with_replicas(now.replicas.join(last, REPLICA, "left")).with_columns(
        segment_base="coalesce(new_base, segment_base)",
        segment_size="coalesce(new_size, segment_size)",
        segment_round="coalesce(new_round, segment_round)",
        segment_newest="coalesce(new_newest, segment_newest)",
        flushed="IF(rolled, greatest(flushed, new_base), flushed)",
    )
    now = now.with_replicas(now.replicas.drop(*last.columns[2:]))
    return _flush_messages_of_chunks(now, came, last, most) if now.inputs.flushes_messages else now


def _flush_messages_of_chunks(now: Round, came: Query, last: Query, most: int) -> Round:
    """flush.messages is looked at after every chunk: those of the last segment, for what was before them is flushed."""
    rows = came.where("flush_messages IS NOT NULL").join(last, REPLICA).where("NOT rolled OR begins_at >= new_base")
    rows = numbered(rows.with_columns(flushed="IF(rolled, greatest(flushed, new_base), flushed)"), "ends")
    rows = rows.with_columns(size="ends - IF(nth = 1, flushed, begins_at)", room="flush_messages - 1").settled()
    bins = in_bins(rows, most, with_last=True).group_by(*REPLICA, "bin", "room").agg("sum(size) AS records", "max(ends) AS ends")
    flushed = bins.where("records > room").group_by(*REPLICA).agg("max(ends) AS flushed_to")
    now = now.with_replicas(now.replicas.join(flushed, REPLICA, "left")).with_columns(flushed="coalesce(flushed_to, flushed)")
    return now.with_replicas(now.replicas.drop("flushed_to"))


def rolled_by_chunks(now: Round, epoch: str) -> Query:
    """The events of segments that chunks closed. `epoch`: the column of their epoch."""
    assert now.closed is not None
    return now.closed.join(now.replicas.select(*REPLICA, "round", f"{epoch} AS rolled_epoch"), REPLICA).select(
        "pid", "round", "'segment_roll' AS kind", "broker", "CAST(rolled_epoch AS INT) AS leader_epoch",
        "end_offset AS from_offset", "CAST(null AS BIGINT) AS to_offset", "CAST(null AS INT) AS cause",
    )  # fmt: skip
