"""Logs and leader epoch caches, a row an entry (LeaderEpochFileCache)."""

from __future__ import annotations

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import ACKS, PARTITION, REPLICA

BY_START = "OVER (PARTITION BY pid, broker ORDER BY start_offset)"


BEYOND = "-1 - epoch"
EPOCH = f"IF(epoch < 0, {BEYOND}, epoch)"
"""SQL, of what logs hold, and of batches: the epoch of a record.

A record is its epoch and offset. But a replica may begin with records beyond the end of its leader's log, in the epoch in which
that is about to append others: files of a cluster's brokers are of different moments. What such a replica has there goes by an
epoch below 0, BEYOND, of which nobody appends.
"""


def round_of(place: str) -> str:
    """SQL: the round in which a batch was appended, by its place in its row."""
    return f"CAST(first_round + batch_rounds * ({place}) AS INT)"


def epoch_ends(epochs: Query) -> Query:
    """Each entry with where its epoch ends: at the start of the next one; null: at the LEO."""
    return epochs.with_columns(end_offset=f"lead(start_offset) {BY_START}")


def end_offset_for_epoch(asked: Query, epochs: Query, of: str, leo: str) -> Query:
    """Look up in the cache of replica `of` where `asked_epoch` ends (LeaderEpochFileCache.endOffsetFor).

    Where each epoch ends is a window (`epoch_ends`). `leo`: SQL, that replica's LEO. Adds floor_epoch, the largest epoch up to
    the asked one, and its end_offset; below the first entry the asked epoch, which ends where the cache begins. Both are null
    when the epoch is above the last one, or no entry is there. has_floor: the cache has that epoch.
    """
    names = {"broker": of, "epoch": "entry_epoch", "start_offset": "entry_start", "end_offset": "entry_end"}
    entries = epoch_ends(epochs).renamed(**names)
    found = (
        asked.join(entries, ["pid", of], "left")
        .group_by(*asked.columns)
        .agg(
            "max(entry_epoch) AS last_entry",
            "min(entry_start) AS first_start",
            "max(entry_epoch) FILTER (WHERE entry_epoch <= asked_epoch) AS floor_entry",
            "max_by(entry_end, entry_epoch) FILTER (WHERE entry_epoch <= asked_epoch) AS floor_end",
        )
    )
    return found.with_columns(
        floor_epoch="IF(asked_epoch <= last_entry, coalesce(floor_entry, asked_epoch), null)",
        has_floor="floor_entry IS NOT NULL",
        end_offset=(
            "CASE WHEN asked_epoch <= last_entry AND floor_entry IS NULL THEN first_start"
            f" WHEN asked_epoch <= last_entry THEN coalesce(floor_end, {leo}) END"
        ),
    ).drop("last_entry", "first_start", "floor_entry", "floor_end")


def last_epochs(epochs: Query) -> Query:
    """The last epoch of every cache that has one: pid, broker, last_epoch."""
    return epochs.group_by(*REPLICA).agg("max(epoch) AS last_epoch")


def contents(logs: Query, replicas: Query) -> Query:
    """What logs hold, a row for each epoch: pid, broker, epoch, from_offset, to_offset. `replicas`: with log_start and leo."""
    ends = epoch_ends(logs).join(replicas, REPLICA)
    ranges = ends.with_columns(from_offset="greatest(start_offset, log_start)", to_offset="least(coalesce(end_offset, leo), leo)")
    return ranges.where("from_offset < to_offset").drop("start_offset", "end_offset")


def batches_between(ranges: Query, batches: Query, most: str) -> Query:
    """The batches in ranges of records (pid, epoch, from_offset, to_offset), cut at their ends: a row each.

    `most`: SQL, how many of a row of like batches are looked at. Gives the columns of `ranges`, base_offset, end_offset,
    batch_bytes, batch_round, is_rest; the first of a range may be the rest of a batch.
    """
    runs = batches.renamed(base_offset="run_base", end_offset="run_end").drop(*ACKS)
    found = ranges.join(runs, [*PARTITION, "epoch"]).where("run_base < to_offset AND run_end > from_offset")
    found = found.with_columns(
        first="(greatest(from_offset, run_base) - run_base) DIV batch_records",
        last="(least(to_offset, run_end) - 1 - run_base) DIV batch_records",
    )
    each = found.exploded("place", f"sequence(first, least(last, first + {most}))")
    return each.with_columns(
        is_rest="run_base + place * batch_records < from_offset",
        base_offset="greatest(run_base + place * batch_records, from_offset)",
        end_offset="least(run_base + (place + 1) * batch_records, to_offset)",
    ).with_columns(batch_bytes="(end_offset - base_offset) * record_bytes", batch_round=round_of("place"))


def bytes_between(ranges: Query, batches: Query) -> Query:
    """Bytes of ranges of records (pid, broker, epoch, from_offset, to_offset), summed by replica: pid, broker, bytes."""
    runs = batches.drop(*ACKS, "batch_records")
    found = ranges.join(runs, [*PARTITION, "epoch"]).where("base_offset < to_offset AND end_offset > from_offset")
    size = "(least(end_offset, to_offset) - greatest(base_offset, from_offset)) * record_bytes"
    return found.group_by(*REPLICA).agg(f"sum({size}) AS bytes")


def batches_at(offsets: Query, logs: Query, batches: Query) -> Query:
    """The batches that offsets lie in, of which logs hold what is there: pid, broker, batch_start, batch_round.

    `offsets`: pid, broker, offset, and log_start and leo of the log.
    """
    held = contents(logs, offsets).where("from_offset <= offset AND offset < to_offset")
    runs = batches.renamed(base_offset="run_base", end_offset="run_end")
    found = held.join(runs, [*PARTITION, "epoch"]).where("run_base <= offset AND offset < run_end")
    start = "greatest(from_offset, offset - (offset - run_base) % batch_records) AS batch_start"
    return found.select(*REPLICA, start, f"{round_of('(offset - run_base) DIV batch_records')} AS batch_round")
