"""Sets of records as ranges (epoch, from_offset, to_offset): a record is (offset, epoch), so sets of them are few rows.

Every function takes and returns `Column`s of type RANGES; to_offset is exclusive, empty ranges are left out.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

RANGES = "array<struct<epoch:int,from_offset:bigint,to_offset:bigint>>"


def no_ranges() -> Column:
    """The empty set."""
    return F.array().cast(RANGES)


def record_range(epoch: Column, from_offset: Column, to_offset: Column) -> Column:
    """One range as a struct; it may be empty."""
    return F.struct(
        epoch.cast("int").alias("epoch"),
        from_offset.cast("bigint").alias("from_offset"),
        to_offset.cast("bigint").alias("to_offset"),
    )


def one_range(epoch: Column, from_offset: Column, to_offset: Column) -> Column:
    """The set of one range, the empty set when an offset is null."""
    return not_empty(F.array(record_range(epoch, from_offset, to_offset)))


def not_empty(ranges: Column) -> Column:
    """The set without its empty ranges, and without those that have a null offset."""
    return F.filter(ranges, lambda x: F.coalesce(x["from_offset"] < x["to_offset"], F.lit(False)))


def log_ranges(entries: Column, log_start_offset: Column, leo: Column) -> Column:
    """What a log holds, from its entries (array of structs with epoch and start_offset, by offset) and its LEO.

    An entry ends where the next begins; several entries of one epoch are several ranges.
    """

    def one(x: Column, i: Column) -> Column:
        end = F.coalesce(F.get(entries, i + 1)["start_offset"], leo)
        return record_range(x["epoch"], F.greatest(x["start_offset"], log_start_offset), F.least(end, leo))

    return not_empty(F.transform(entries, one))


def above(ranges: Column, offset: Column) -> Column:
    """The records at or above an offset."""
    return not_empty(
        F.transform(ranges, lambda x: record_range(x["epoch"], F.greatest(x["from_offset"], offset), x["to_offset"]))
    )


def below(ranges: Column, offset: Column) -> Column:
    """The records below an offset."""
    return not_empty(F.transform(ranges, lambda x: record_range(x["epoch"], x["from_offset"], F.least(x["to_offset"], offset))))


def within(ranges: Column, log: Column) -> Column:
    """The records that the other set has, too."""

    def common(x: Column) -> Column:
        def overlap(y: Column) -> Column:
            return record_range(
                x["epoch"], F.greatest(x["from_offset"], y["from_offset"]), F.least(x["to_offset"], y["to_offset"])
            )

        return F.transform(F.filter(log, lambda y: y["epoch"] == x["epoch"]), overlap)

    return not_empty(F.flatten(F.transform(ranges, common)))


def without(ranges: Column, log: Column) -> Column:
    """The records that the other set lacks."""

    def rest(x: Column) -> Column:
        def cut(parts: Column, y: Column) -> Column:
            def sides(part: Column) -> Column:
                return F.array(
                    record_range(part["epoch"], part["from_offset"], F.least(part["to_offset"], y["from_offset"])),
                    record_range(part["epoch"], F.greatest(part["from_offset"], y["to_offset"]), part["to_offset"]),
                )

            return not_empty(F.flatten(F.transform(parts, sides)))

        whole = F.array(record_range(x["epoch"], x["from_offset"], x["to_offset"]))
        return F.aggregate(F.filter(log, lambda y: y["epoch"] == x["epoch"]), whole, cut)

    return not_empty(F.flatten(F.transform(ranges, rest)))


def union(ranges: Column) -> Column:
    """The same records as disjoint ranges, by epoch and offset; ranges that touch become one."""

    def merge(merged: Column, x: Column) -> Column:
        last = F.get(merged, F.size(merged) - 1)
        touches = (last["epoch"] == x["epoch"]) & (x["from_offset"] <= last["to_offset"])
        longer = record_range(x["epoch"], last["from_offset"], F.greatest(last["to_offset"], x["to_offset"]))
        all_but_last = F.slice(merged, F.lit(1), F.greatest(F.size(merged) - 1, F.lit(0)))
        return F.when(F.coalesce(touches, F.lit(False)), F.concat(all_but_last, F.array(longer))).otherwise(
            F.concat(merged, F.array(x))
        )

    return F.aggregate(F.array_sort(ranges), no_ranges(), merge)


def record_count(ranges: Column) -> Column:
    """How many records disjoint ranges hold."""
    return F.aggregate(ranges, F.lit(0).cast("bigint"), lambda sum_, x: sum_ + (x["to_offset"] - x["from_offset"]))
