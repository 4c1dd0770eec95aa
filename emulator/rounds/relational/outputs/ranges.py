"""Sets of records as rows of ranges: an epoch, from_offset, to_offset (exclusive). A record is (epoch, offset)."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.rounds.relational.queries.query import Query


def merged(ranges: Query, keys: Sequence[str]) -> Query:
    """The same records once each: ranges that overlap or touch become one. `keys`: whose sets they are, the epoch included."""
    by = f"PARTITION BY {', '.join(keys)} ORDER BY from_offset, to_offset"
    before = f"max(to_offset) OVER ({by} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    goes_on = f"coalesce(from_offset <= {before}, false)"
    islands = ranges.where("from_offset < to_offset").with_columns(begins=f"NOT {goes_on}")
    numbered = islands.with_columns(island=f"count_if(begins) OVER ({by})")
    edges = ("min(from_offset) AS from_offset", "max(to_offset) AS to_offset")
    return numbered.group_by(*keys, "island").agg(*edges).drop("island")


def without(ranges: Query, others: Query, keys: Sequence[str]) -> Query:
    """The records that the other sets of the same keys lack: what lies before, between and behind their ranges.

    No two rows of `ranges` may have the same keys and from_offset (`merged`).
    """
    theirs = merged(others.select(*keys, "from_offset", "to_offset"), keys).renamed(
        from_offset="other_from", to_offset="other_to"
    )
    both = ranges.join(theirs, list(keys), "left")
    overlap = "other_from < to_offset AND from_offset < other_to"
    both = both.with_columns(other_from=f"IF({overlap}, other_from, null)", other_to=f"IF({overlap}, other_to, null)")
    of_range = f"PARTITION BY {', '.join(keys)}, from_offset ORDER BY other_from"
    gaps = both.with_columns(
        gap_from=f"coalesce(max(other_to) OVER ({of_range} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), from_offset)",
        gap_to="coalesce(other_from, from_offset)",
        last_to=f"max(other_to) OVER (PARTITION BY {', '.join(keys)}, from_offset)",
    )
    columns = [name for name in ranges.columns if name not in ("from_offset", "to_offset")]
    between = gaps.select(*columns, "gap_from AS from_offset", "gap_to AS to_offset")
    behind = gaps.select(*columns, "coalesce(last_to, from_offset) AS from_offset", "to_offset").distinct()
    return between.union(behind).where("from_offset < to_offset")


def count(ranges: Query, keys: Sequence[str], name: str) -> Query:
    """How many records there are, by keys."""
    once = merged(ranges, [*keys, "epoch"])
    return once.group_by(*keys).agg(f"sum(to_offset - from_offset) AS {name}")
