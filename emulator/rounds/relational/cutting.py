"""What it means for a replica that its log is cut."""

from __future__ import annotations

from pyspark.sql import DataFrame

from .logs import contents
from .tables import REPLICA, Round


def tell_cuts(now: Round, cuts: DataFrame) -> Round:
    """Write down what T's log loses above `cut_now`: it counts as held until the next election."""
    losing = cuts.where("broker = client_leader").selectExpr(
        *REPLICA, "greatest(log_start, cut_now) AS log_start", "leo", "client_epoch", "round"
    )
    rows = contents(now.logs, losing).selectExpr(
        "pid", "client_epoch", "'damaged' AS part", "round", "log_start", "epoch", "from_offset", "to_offset"
    )
    return now.telling("histories", rows)


def cut_columns(offset: str, size: str) -> dict[str, str]:
    """What a log's columns become when it is cut at `offset` (SQL; null: it is not) and loses `size` bytes.

    A cut at or below the active segment's base starts an empty segment; one below the log start takes that along.
    """
    cut = f"coalesce({offset} < leo, false)"
    return {
        "leo": f"IF({cut}, {offset}, leo)",
        "log_start": f"IF({cut}, least(log_start, {offset}), log_start)",
        "flushed": f"IF({cut}, least(flushed, {offset}), flushed)",
        "segment_base": f"IF({cut}, least(segment_base, {offset}), segment_base)",
        "segment_size": (
            f"CASE WHEN NOT {cut} THEN segment_size WHEN {offset} > segment_base THEN segment_size - {size} ELSE 0 END"
        ),
        "cut_records": f"IF({cut}, leo - greatest({offset}, log_start), 0L)",
        "truncated": f"truncated + IF({cut}, leo - greatest({offset}, log_start), 0L)",
    }


def clamped(hw: str) -> str:
    """SQL: a high watermark stays within log start and LEO."""
    return f"greatest(log_start, least(leo, {hw}))"
