"""What a record class declares once: the fields of a role, each with its meaning and its kind under leaps.

    class Segment(Record):
        base_offset: int = constant("its first offset")

`rows(Segment, 3)` are three of them, zeroed; `Rows[Segment]` is the annotation of such an array. Every field is 64 bits wide: a
product that overflows 32 bits differs between compiled and plain Python, and a record is a row of words.

Kinds say what a leap over quiet rounds does with a field (emulator/rounds/kafka/probe.py, leap.py):

* constant: no round changes it, or not without a change of the list it is in.
* compared: if a round changes it, that round is not quiet.
* apart: likewise, and how counters move does not depend on it: a drift that was proven before it changed needs one round to show
  that it goes on.
* aside: likewise, and nothing follows from a change of it in the rounds after but what horizons look at: a round that changes
  nothing else is leapt from at once.
* counter: moves by the same amount in every quiet round.
* restarts: a counter that begins anew now and then, as a segment's bytes; no obstacle either, as what it is part of goes on.
* flow: a counter that goes on by what it moved in the last round, as long as nothing that is compared changes.
* sample: what a counter was in the last round divisible by a period; worked out when leapt over.
* due: a round in which something will happen: apart, and a leap ends there at the latest.
* total: the sum of a counter's values at the ends of all rounds.
* tick: the round of the next run of what is tried again and again; a leap takes it over runs that do nothing else.
* tally: what such runs count, or fetches that bring several rounds' records; worked out when leapt over.
* scratch: of one round only; the next one sets it before it reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, overload

import numpy as np

T = TypeVar("T")
C = TypeVar("C", covariant=True)

CONSTANT, COMPARED, APART, ASIDE, DUE, COUNTER, RESTARTS, FLOW, SAMPLE, TOTAL, TICK, TALLY, SCRATCH = range(13)


@dataclass(frozen=True)
class Field:
    """A field of a record: its type, its kind under leaps, its meaning."""

    type: Any
    kind: int
    meaning: str


def constant(meaning: str) -> Any:
    """A field that rounds leave alone."""
    return Field(np.int64, CONSTANT, meaning)


def compared(meaning: str) -> Any:
    """A field whose change is an event."""
    return Field(np.int64, COMPARED, meaning)


def apart(meaning: str) -> Any:
    """A field whose change is an event that leaves the drift of counters alone."""
    return Field(np.int64, APART, meaning)


def aside(meaning: str) -> Any:
    """A field whose change is no obstacle to a leap."""
    return Field(np.int64, ASIDE, meaning)


def due(meaning: str) -> Any:
    """A field with the round of what comes next."""
    return Field(np.int64, DUE, meaning)


def counter(meaning: str) -> Any:
    """A field that drifts."""
    return Field(np.int64, COUNTER, meaning)


def restarts(meaning: str) -> Any:
    """A field that drifts, and begins anew now and then."""
    return Field(np.int64, RESTARTS, meaning)


def flow(meaning: str) -> Any:
    """A field that goes on as in the last round."""
    return Field(np.int64, FLOW, meaning)


def sample(meaning: str) -> Any:
    """A field that takes a counter's value now and then."""
    return Field(np.int64, SAMPLE, meaning)


def total(meaning: str) -> Any:
    """A field that sums a counter up."""
    return Field(np.int64, TOTAL, meaning)


def tick(meaning: str) -> Any:
    """A field with the round of the next run of something."""
    return Field(np.int64, TICK, meaning)


def tally(meaning: str) -> Any:
    """A field that counts such runs."""
    return Field(np.int64, TALLY, meaning)


def scratch(meaning: str) -> Any:
    """A field of one round."""
    return Field(np.int64, SCRATCH, meaning)


def part_of(record: type[T], meaning: str) -> T:
    """A record in a record; its fields have their own kinds."""
    return Field(record, CONSTANT, meaning)  # type: ignore[return-value]


def part_aside(record: type[T], meaning: str) -> T:
    """Likewise, and what is compared in it is aside."""
    return Field(record, ASIDE, meaning)  # type: ignore[return-value]


class Record:
    """A class of records: only its fields count, there are no instances; np.record, or numba's, stand in for them."""


class Rows(Protocol[C]):
    """An array of records, as rules see it."""

    @overload
    def __getitem__(self, at: int, /) -> C: ...

    @overload
    def __getitem__(self, at: slice, /) -> Rows[C]: ...

    def __len__(self) -> int:
        """How many there are."""


def fields_of(record: type[Any]) -> dict[str, Field]:
    """The fields of a record, in order.

    Raises TypeError for a field without a kind, and for a name that np.record has: uncompiled it would read as a method.
    """
    fields = {name: value for name, value in vars(record).items() if isinstance(value, Field)}
    bare = {name for name in record.__annotations__ if name not in fields}
    if bare:
        raise TypeError(f"{record.__name__}: {', '.join(sorted(bare))} declared without a kind")
    clash = set(fields) & set(dir(np.record))
    if clash:
        raise TypeError(f"{record.__name__}: np.record has attributes named {', '.join(sorted(clash))}")
    return fields


def dtype_of(record: type[Any]) -> np.dtype[Any]:
    """The NumPy type of a record."""
    if record not in _DTYPES:
        fields = fields_of(record).items()
        of_fields = [(name, field.type if field.type is np.int64 else dtype_of(field.type)) for name, field in fields]
        _DTYPES[record] = np.dtype(of_fields)
    return _DTYPES[record]


_DTYPES: dict[type[Any], np.dtype[Any]] = {}


def kinds_of(record: type[Any]) -> list[int]:
    """The kind of each word of a record."""
    kinds: list[int] = []
    for field in fields_of(record).values():
        own = [field.kind] if field.type is np.int64 else kinds_of(field.type)
        kinds += compared_as(ASIDE, own) if field.kind == ASIDE else own
    return kinds


def compared_as(other: int, kinds: list[int]) -> list[int]:
    """The same, with another kind for compared."""
    return [other if kind == COMPARED else kind for kind in kinds]


def word_of(record: type[Any], name: str) -> int:
    """The place of a field among the words of its record."""
    offset: int = dtype_of(record).fields[name][1]  # type: ignore[index]
    return offset // 8


def rows(record: type[Any], *shape: int) -> Any:
    """Records, all zero."""
    return np.zeros(shape, dtype_of(record)).view(np.recarray)


def field_of(records: Any, field: str) -> np.ndarray:
    """A field of all records of an array."""
    return np.asarray(np.asarray(records)[field])


def fields_at(records: Any, places: Any) -> Callable[[str], np.ndarray]:
    """What gives a field of the records at these places: to copy them whole, hundreds of bytes each, takes ten times as long."""
    return lambda field: np.asarray(field_of(records, field)[places])


def words_of(values: Any) -> np.ndarray:
    """The same memory as rows of 64-bit words."""
    words = values.dtype.itemsize // 8
    whole: np.ndarray = values.view(np.ndarray).view(np.int64).reshape(*values.shape, words)
    return whole
