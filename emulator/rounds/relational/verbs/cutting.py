"""What it means for a replica that its log is cut."""

from __future__ import annotations

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import REPLICA, Round
from emulator.rounds.relational.verbs.logs import EPOCH, batches_at, bytes_between, contents

REOPENED = ("met_base", "met_size", "met_round", "met_newest")


def write_down_cuts(now: Round, cuts: Query) -> Round:
    """Write down what T's log loses above `cut_now`: it counts as held until the next election."""
    losing = cuts.where("broker = client_leader").select(
        *REPLICA, "greatest(log_start, cut_now) AS log_start", "leo", "client_epoch", "round"
    )
    rows = contents(now.logs, losing).select(
        "pid", "client_epoch", "'damaged' AS part", "round", "log_start", f"{EPOCH} AS epoch", "from_offset", "to_offset"
    )
    return now.writing("histories", rows)


def lost_by_cuts(now: Round, cuts: Query) -> Query:
    """What the active segment loses by cuts: pid, broker, cut_bytes; the segment that is active again, where they are kept.

    `cuts`: pid, broker, cut_now, and log_start and leo of before. Of that segment REOPENED, null: none is.
    """
    losing = cuts.where("cut_now < leo").select(*REPLICA, "cut_now", "log_start", "leo")
    if now.segments is None:
        sizes = bytes_between(contents(now.logs, _behind(losing, "leo")), now.batches)
        return sizes.select(*REPLICA, "bytes AS cut_bytes")
    losing = losing.settled()  # it is asked for five times
    met = now.segments.join(losing.select(*REPLICA, "cut_now"), REPLICA).where("base_offset <= cut_now AND cut_now < end_offset")
    met = met.select(
        *REPLICA, "base_offset AS met_base", "end_offset AS met_end", "size_bytes AS met_size", "first_round AS met_round",
        "newest_round AS met_newest",
    )  # fmt: skip
    losing = losing.join(met, REPLICA, "left")
    sizes = bytes_between(contents(now.logs, _behind(losing, "least(leo, coalesce(met_end, leo))")), now.batches)
    last = losing.where("cut_now > log_start").select(*REPLICA, "cut_now - 1 AS offset", "log_start", "leo")
    newest = batches_at(last, now.logs, now.batches).select(*REPLICA, "batch_round AS last_round")
    found = losing.join(sizes, REPLICA, "left").join(newest, REPLICA, "left")
    return found.select(*REPLICA, "bytes AS cut_bytes", *REOPENED, "last_round")


def _behind(losing: Query, end: str) -> Query:
    return losing.select(*REPLICA, "greatest(log_start, cut_now) AS log_start", f"{end} AS leo")


def cut_columns(now: Round, offset: str) -> dict[str, str]:
    """What a log's columns become when it is cut at `offset` (SQL; null: it is not), with those of `lost_by_cuts`.

    A cut at or below the active segment's base starts an empty segment, where segments are kept only below the first of them:
    the segment that it meets is active again. One below the log start takes that along.
    """
    cut = f"coalesce({offset} < leo, false)"
    size = f"IF({offset} > segment_base, segment_size - coalesce(cut_bytes, 0L), 0L)"
    segments = {"segment_base": f"IF({cut}, least(segment_base, {offset}), segment_base)"}
    if now.segments is not None:
        again = f"{cut} AND {offset} < segment_base AND met_base IS NOT NULL"
        size = f"IF({again}, IF({offset} > met_base, met_size - coalesce(cut_bytes, 0L), 0L), {size})"
        is_empty = f"{offset} <= IF({again}, met_base, segment_base)"
        newest = f"coalesce(last_round, IF({again}, met_newest, segment_newest))"
        segments = {
            "segment_base": f"IF({again}, met_base, {segments['segment_base']})",
            "segment_round": f"IF({again}, met_round, segment_round)",
            "segment_newest": f"CASE WHEN NOT {cut} THEN segment_newest WHEN {is_empty} THEN null ELSE {newest} END",
        }
    if now.remote_segments is not None:
        segments |= {"whole_start": f"IF({cut} AND {offset} < log_start, {offset}, whole_start)"}
    return segments | {
        "leo": f"IF({cut}, {offset}, leo)",
        "log_start": f"IF({cut}, least(log_start, {offset}), log_start)",
        "flushed": f"IF({cut}, least(flushed, {offset}), flushed)",
        "segment_size": f"IF({cut}, {size}, segment_size)",
        "cut_records": f"IF({cut}, leo - greatest({offset}, log_start), 0L)",
        "truncated": f"truncated + IF({cut}, leo - greatest({offset}, log_start), 0L)",
    }


def clamped(hw: str) -> str:
    """SQL: a high watermark stays within log start and LEO."""
    return f"greatest(log_start, least(leo, {hw}))"
