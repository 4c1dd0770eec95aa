"""Copies of entries as SQL: which entries of an index there are, who has got them, and more of them.

An index of an ensemble has Qw of every E entries. They are numbered, so that so many of them from one on are a range whatever E
and Qw are: a copy under way moves by its batch every round, which leaps multiply.
"""

from __future__ import annotations

from emulator.expressions.bookkeeper.state import CLOSED, COPIES, COPIES_FIELDS
from emulator.expressions.bookkeeper.texts import QW, empty, holds, last_of
from emulator.expressions.columns import struct, with_changes


def _shifted(index: str) -> str:
    """By how much entries are shifted, so that those of the index are the first Qw of every E."""
    return f"pmod({QW} - 1 - {index}, feed.ensemble_size)"


def number(index: str, entry: str) -> str:
    """The number of an entry among those of an index; of an entry that isn't its, that of the next one that is."""
    shifted = f"({entry} + {_shifted(index)})"
    return f"({shifted} DIV feed.ensemble_size * {QW} + least({shifted} % feed.ensemble_size, {QW}))"


def entry_numbered(index: str, of_number: str) -> str:
    """The entry of an index that has this number."""
    return f"({of_number} DIV {QW} * feed.ensemble_size + {of_number} % {QW} - {_shifted(index)})"


def end_number(copies: str) -> str:
    """The number after that of the last entry of some copies."""
    return f"({number(f'{copies}.index', f'{copies}.from_entry')} + {copies}.entries)"


def nth_entry(copies: str, count: str) -> str:
    """The entry after the first `count` ones of some copies."""
    return entry_numbered(f"{copies}.index", f"({number(f'{copies}.index', f'{copies}.from_entry')} + {count})")


def is_copy(copies: str, bookie: str, entry: str) -> str:
    """Whether a bookie got an entry with these copies."""
    index = f"{copies}.index"
    within = f"{copies}.from_entry <= {entry} AND {holds(index, entry)} AND {number(index, entry)} < {end_number(copies)}"
    return f"({copies}.bookie = {bookie} AND {within})"


def is_copied(bookie: str, entry: str) -> str:
    """Whether the bookie got the entry as a copy."""
    return f"exists(copies, w_ -> {is_copy('w_', bookie, entry)})"


def header() -> str:
    """The LAC in the header of a copy made now: the last entry of a closed ledger, else all before the last fragment."""
    return f"IF(ledger_state = {CLOSED}, last_entry, {last_of('fragments')}.first_entry - 1)"


def entry_at(bookie: str, index: str, entry: str) -> str:
    """(bookie, index, entry): an entry that the bookie gets."""
    return struct({"bookie": bookie, "index": index, "entry": entry})


def with_copies(entries: str, lac: str) -> str:
    """`copies` with more entries that bookies had not; what goes on where earlier copies end makes these longer."""
    same = f"v_.bookie = n_.bookie AND v_.index = n_.index AND v_.lac = {lac}"
    goes_on = f"{same} AND {end_number('v_')} = {number('n_.index', 'n_.entry')}"
    fields = {"bookie": "n_.bookie", "index": "n_.index", "from_entry": "n_.entry", "entries": "1", "lac": lac, "flushed": "0"}
    new = f"CAST({struct(fields)} AS {COPIES})"
    longer = with_changes("v_", COPIES_FIELDS, entries="v_.entries + 1")
    put = f"IF(exists(all_, v_ -> {goes_on}), transform(all_, v_ -> IF({goes_on}, {longer}, v_)), concat(all_, array({new})))"
    return f"aggregate({entries}, copies, (all_, n_) -> {put})"


def kept_of(copies: str, kept: str) -> str:
    """What is left of copies of which so many entries are kept; those of which none is are gone. `w_`: the copies asked about."""
    shorter = with_changes("w_", COPIES_FIELDS, entries=kept, flushed=f"least(w_.flushed, {kept})")
    return f"filter(transform({copies}, w_ -> {shorter}), w_ -> w_.entries > 0)"


NO_COPIES = empty(COPIES)
