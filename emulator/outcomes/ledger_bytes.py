"""How many entries and bytes a bookie has of a ledger: arithmetic on the runs, as SQL; sizes of entries come from the workload.

Entries get their numbers in the order in which the application hands them over, and a writer that refuses some sends none after
them: so the workload alone says which entry has which size, and rounds need not carry it.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.expressions.bookkeeper.repair.copies import end_number, number
from emulator.expressions.bookkeeper.texts import QW
from emulator.expressions.columns import let, struct
from emulator.inputs import ScenarioInputs
from emulator.inputs.ledgers import LedgerInputs

ALL_ENTRIES = 2**62
_PIECES = pa.schema(
    [
        pa.field("feed_id", pa.int64(), nullable=False),
        pa.field(
            "sizes",
            pa.list_(pa.struct([(name, pa.int64()) for name in ("from_entry", "to_entry", "records", "bytes")])),
            nullable=False,
        ),
    ]
)


def with_entry_sizes(spark: SparkSession, state: DataFrame, inputs: list[ScenarioInputs]) -> DataFrame:
    """The state with `sizes`: from_entry to to_entry - 1 have `bytes` / `records` bytes each, those of the start first.

    Entry 0 of a ledger of a topic's list is the topic's message number `first_message`.
    """
    before = {"from_entry": "0L", "to_entry": "first_own_entry", "records": "first_own_entry", "bytes": "given_bytes"}
    begin = "first_own_entry - coalesce(first_message, 0L)"
    moved = {"from_entry": f"p_.from_entry + {begin}", "to_entry": f"p_.to_entry + {begin}"}
    moved |= {name: f"p_.{name}" for name in ("records", "bytes")}
    own = f"transform(sizes, p_ -> {struct(moved)})"
    given = f"IF(first_own_entry > 0, concat(array({struct(before)}), {own}), {own})"
    joined = state.join(F.broadcast(_entry_sizes(spark, inputs)), "feed_id")
    return joined.withColumn("sizes", F.expr(given))


def _entry_sizes(spark: SparkSession, inputs: list[ScenarioInputs]) -> DataFrame:
    """feed_id, sizes, of the entries of the run. Feeds count on over the scenarios."""
    sizes = [feed.entry_sizes() for i in inputs if isinstance(i, LedgerInputs) for feed in i.ledger_feeds]
    columns = [pa.array(range(len(sizes)), pa.int64()), pa.array(sizes, _PIECES.field("sizes").type)]
    return frame_of(spark, pa.table(columns, schema=_PIECES))


def entries_held(bookie: str, copies: bool, from_entry: str = "0L", to_entry: str = f"{ALL_ENTRIES}L") -> str:
    """SQL: entries in [from_entry, to_entry) that a bookie has, of a row with feed, runs, lost, stored and `copies`, if any."""

    def clipped(low: str, high: str) -> str:
        """What of the run `u_` in [low, high) the bookie's place in its ensemble gives it."""
        start, end = f"greatest({low}, u_.from_entry, {from_entry})", f"least({high}, u_.to_entry, {to_entry})"
        return f"IF({start} < {end}, {_share_below(end)} - {_share_below(start)}, 0L)"

    gone = f"aggregate(gone_, 0L, (n_, l_) -> n_ + {clipped('l_.from_entry', 'l_.to_entry')})"
    of_run = f"{clipped('u_.from_entry', 'u_.to_entry')} - {gone}"
    own = f"filter(runs, v_ -> array_contains(v_.ensemble, {bookie}))"
    in_runs = f"aggregate({own}, 0L, (m_, u_) -> m_ + {_at_place(bookie, of_run)})"
    single = f"o_.bookie = {bookie} AND {from_entry} <= o_.entry AND o_.entry < {to_entry}"
    held = f"{let('gone_', _lost_once(bookie), in_runs)} + CAST(size(filter(stored, o_ -> {single})) AS BIGINT)"
    return f"{held} + {_copies_held(bookie, from_entry, to_entry)}" if copies else held


def _copies_held(bookie: str, from_entry: str, to_entry: str) -> str:
    """Entries in [from_entry, to_entry) that a bookie got as copies."""
    start = number("w_.index", f"greatest(w_.from_entry, {from_entry})")
    end = f"least({end_number('w_')}, {number('w_.index', to_entry)})"
    return f"aggregate(filter(copies, x_ -> x_.bookie = {bookie}), 0L, (c_, w_) -> c_ + greatest({end} - {start}, 0L))"


def bytes_held(bookie: str, copies: bool) -> str:
    """SQL: bytes of all entries that a bookie has, of such a row with `sizes`."""
    return _bytes_of(entries_held(bookie, copies, "p_.from_entry", "p_.to_entry"))


def entry_bytes(entries: str) -> str:
    """SQL: bytes of the first so many entries of a ledger, of a row with `sizes`."""
    return _bytes_of(f"greatest(least(p_.to_entry, {entries}) - greatest(p_.from_entry, 0L), 0L)")


def _bytes_of(entries_of_piece: str) -> str:
    """Bytes over all sizes; `entries_of_piece`: entries that are of the size `p_`."""
    return f"aggregate(sizes, 0L, (b_, p_) -> b_ + ({entries_of_piece}) * p_.bytes DIV p_.records)"


def _at_place(bookie: str, body: str) -> str:
    return let("place_", f"CAST(array_position(u_.ensemble, {bookie}) - 1 AS BIGINT)", body)


def _share_below(entry: str) -> str:
    """Entries below one whose write sets have the place `place_`."""
    rest = f"filter(sequence(0L, {entry} % feed.ensemble_size), e_ -> e_ < {entry} % feed.ensemble_size"
    rest += f" AND pmod(place_ - e_, feed.ensemble_size) < {QW})"
    return f"(({entry} DIV feed.ensemble_size) * {QW} + CAST(size({rest}) AS BIGINT))"


def _lost_once(bookie: str) -> str:
    """The ranges that the bookie lost, none twice: each goes to the end of its day, so a later one covers all above its start."""
    own = f"filter(lost, l_ -> l_.bookie = {bookie})"
    later = "array_min(transform(slice(own_, i_ + 2, size(own_)), k_ -> k_.from_entry))"
    once = struct({"from_entry": "l_.from_entry", "to_entry": f"least(l_.to_entry, coalesce({later}, l_.to_entry))"})
    return let("own_", own, f"transform(own_, (l_, i_) -> {once})")
