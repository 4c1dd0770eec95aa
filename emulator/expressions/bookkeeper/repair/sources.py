"""Whom copies come from, and which part of a ledger there is to copy, as SQL."""

from __future__ import annotations

from emulator.expressions.bookkeeper.bookies import has
from emulator.expressions.bookkeeper.state import CLOSED
from emulator.expressions.bookkeeper.texts import WRITE_PLACES, is_heard, last_of


def fragment_end(fragment: str) -> str:
    """The exclusive end of a fragment: where the next one begins, else the end of the ledger, of which an open one knows none."""
    next_starts = f"transform(filter(fragments, y_ -> y_.first_entry > {fragment}.first_entry), y_ -> y_.first_entry)"
    end = f"IF(ledger_state = {CLOSED}, last_entry + 1, {last_of('fragments')}.first_entry)"
    return f"coalesce(array_min({next_starts}), {end})"


def may_grow(fragment: str) -> str:
    """Whether entries may still come: the last fragment of a ledger that isn't closed is left alone."""
    return f"(ledger_state != {CLOSED} AND {fragment}.first_entry = {last_of('fragments')}.first_entry)"


def is_sourced(ensemble: str, entry: str, target: str, excluded: str = "false") -> str:
    """Whether a heard bookie of the write set, not the target, has the entry; `excluded`: a condition on the bookie `src_`."""
    source = f"get({ensemble}, CAST(pmod({entry} + k_, feed.ensemble_size) AS INT))"
    sources = f"filter(transform({WRITE_PLACES}, k_ -> {source}), src_ -> src_ != {target} AND NOT {excluded})"
    return f"exists({sources}, src_ -> {is_heard('src_')} AND {has('src_', entry, True)})"
