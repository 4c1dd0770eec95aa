"""What bookies have of a ledger, as SQL over `stored`, `runs`, `lost`, `copies` and `told`, while no run is open.

`copies`: whether the run makes copies (LedgerRules.repairs); else there are none to look through.
"""

from __future__ import annotations

from collections.abc import Callable

from emulator.expressions.bookkeeper.repair.copies import end_number, entry_numbered, is_copied
from emulator.expressions.bookkeeper.state import NO_LAC
from emulator.expressions.bookkeeper.texts import QW
from emulator.expressions.columns import struct


def _has_share(run: str, bookie: str, entry: str) -> str:
    """Whether the bookie is in the entry's write set by the run's ensemble."""
    place = f"array_position({run}.ensemble, {bookie})"
    return f"({place} > 0 AND pmod({place} - 1 - {entry}, feed.ensemble_size) < {QW})"


def _is_lost(bookie: str, entry: str) -> str:
    return f"exists(lost, l_ -> l_.bookie = {bookie} AND l_.from_entry <= {entry} AND {entry} < l_.to_entry)"


def has_in_run(bookie: str, entry: str) -> str:
    """Whether a bookie has an entry of the runs."""
    within = f"u_.from_entry <= {entry} AND {entry} < u_.to_entry"
    return f"(exists(runs, u_ -> {within} AND {_has_share('u_', bookie, entry)}) AND NOT {_is_lost(bookie, entry)})"


def has(bookie: str, entry: str, copies: bool, stored: str = "stored") -> str:
    """Whether a bookie has an entry."""
    copied = f" OR {is_copied(bookie, entry)}" if copies else ""
    return f"(exists({stored}, o_ -> o_.bookie = {bookie} AND o_.entry = {entry}) OR {has_in_run(bookie, entry)}{copied})"


def _in_run_near_edges(bookie: str, from_entry: str) -> str:
    """The bookie's entries of the run `u_`, from one on, near its edges and what was lost: first and last are among them."""
    lost_here = f"filter(lost, l_ -> l_.bookie = {bookie} AND l_.from_entry < u_.to_entry AND l_.to_entry > u_.from_entry)"
    ends = f"concat(array(u_.to_entry), transform({lost_here}, l_ -> l_.from_entry))"
    starts = f"concat(array(greatest(u_.from_entry, {from_entry})), transform({lost_here}, l_ -> l_.to_entry))"
    before = f"transform({ends}, t_ -> sequence(t_ - feed.ensemble_size, t_ - 1))"
    after = f"transform({starts}, t_ -> sequence(t_, t_ + feed.ensemble_size - 1))"
    within = f"e_ >= greatest(u_.from_entry, {from_entry}) AND e_ < u_.to_entry"
    own = f"{_has_share('u_', bookie, 'e_')} AND NOT {_is_lost(bookie, 'e_')}"
    return f"filter(flatten(concat({before}, {after})), e_ -> {within} AND {own})"


def header_lac(run: str, entry: str) -> str:
    """The LAC in the header of an entry of the run."""
    return f"{run}.lac + (({entry} - {run}.from_entry) DIV {run}.step) * {run}.step"


def last_stored(bookie: str, copies: bool) -> str:
    """(entry, lac in its header) of the last entry that a bookie has, null if it has none."""
    single = f"transform(filter(stored, o_ -> o_.bookie = {bookie}), o_ -> {struct({'entry': 'o_.entry', 'lac': 'o_.lac'})})"
    own = _in_run_near_edges(bookie, "0L")
    of_runs = f"flatten(transform(runs, u_ -> transform({own}, e_ -> {struct({'entry': 'e_', 'lac': header_lac('u_', 'e_')})})))"
    last_copy = entry_numbered("w_.index", f"({end_number('w_')} - 1)")
    copied = f"transform(filter(copies, w_ -> w_.bookie = {bookie}), w_ -> {struct({'entry': last_copy, 'lac': 'w_.lac'})})"
    return f"array_max(concat({single}, {of_runs}{f', {copied}' if copies else ''}))"


def edges_from(bookie: str, from_entry: str) -> str:
    """Entries of runs that a bookie has from an entry on, the first and the last of them included."""
    return f"flatten(transform(runs, u_ -> {_in_run_near_edges(bookie, from_entry)}))"


def lac_of(bookie: str, copies: bool) -> str:
    """What a bookie knows to be confirmed: the header of its last entry, or an explicit LAC above that."""
    explicit = f"array_max(transform(filter(told, h_ -> h_.bookie = {bookie}), h_ -> h_.lac))"
    return f"greatest(coalesce({last_stored(bookie, copies)}.lac, {NO_LAC}L), coalesce({explicit}, {NO_LAC}L))"


def edges(from_entry: str, to_entry: str, counts: Callable[[str], str] | None = None) -> str:
    """The first entry and all at which it may change who has what, ascending. In between, every E-th is on the same bookies.

    `counts`: SQL whether a bookie's own entries matter; all do if not given. Runs are everybody's.
    """

    def of(column: str, bookie: str, *entries: str) -> str:
        rows = column if counts is None else f"filter({column}, y_ -> {counts(bookie)})"
        return f"flatten(transform({rows}, y_ -> array({', '.join(entries)})))"

    all_edges = (
        f"array({from_entry})",
        "transform(fragments, y_ -> y_.first_entry)",
        "flatten(transform(runs, y_ -> array(y_.from_entry, y_.to_entry)))",
        of("lost", "y_.bookie", "y_.from_entry", "y_.to_entry"),
        of("stored", "y_.bookie", "y_.entry", "y_.entry + 1"),
        of("copies", "y_.bookie", "y_.from_entry", entry_numbered("y_.index", end_number("y_"))),
    )
    within = f"filter(concat({', '.join(all_edges)}), y_ -> {from_entry} <= y_ AND y_ < {to_entry})"
    return f"array_sort(array_distinct({within}))"
