"""What tests/quick_records.py makes quicker is as NumPy has it: fields and methods by name, values that fit and that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests import quick_records

INNER = np.dtype([("x", "i4")])
FIELDS = np.dtype([("a", "i4"), ("size", "i8"), ("several", "u1", (2,)), ("inner", INNER)])


def told(act: Callable[[], Any]) -> Any:
    """What comes of it, as text; of a method its name."""
    try:
        found = act()
    except (AttributeError, OverflowError, ValueError, TypeError) as error:
        return type(error), str(error)
    return type(found), getattr(found, "__name__", repr(found))


@pytest.fixture
def record() -> Any:
    return np.rec.array(np.zeros(1, FIELDS))[0]


@pytest.mark.parametrize("name", ["a", "size", "several", "inner", "nothing", "dtype", "view", "x", "setfield"])
def test_what_is_found(name: str, record: Any) -> None:
    assert told(lambda: getattr(record, name)) == told(lambda: quick_records.looked_up(record, name))
    assert np.record.__getattribute__ is not quick_records.looked_up


VALUES: list[tuple[str, Any]] = [
    ("a", 5), ("a", 2**40), ("a", -1), ("a", 1.7), ("a", np.int64(2**40)), ("a", "text"), ("size", 3), ("several", [1, 2]),
    ("several", 300), ("inner", (4,)), ("nothing", 1), ("dtype", 1), ("view", 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), VALUES, ids=repr)
def test_what_is_assigned(name: str, value: Any, record: Any) -> None:
    other = record.copy()
    assert told(lambda: setattr(record, name, value)) == told(lambda: quick_records.assigned(other, name, value))
    assert record == other
    assert np.record.__setattr__ is not quick_records.assigned


@pytest.fixture
def array() -> Any:
    return np.rec.array(np.zeros(3, FIELDS))


@pytest.mark.parametrize("name", ["a", "size", "several", "inner", "nothing", "dtype", "view", "x", "shape"])
def test_what_an_array_is_found_to_have(name: str, array: Any) -> None:
    """A field that is called as an attribute of arrays is found by that name in brackets only."""
    assert told(lambda: getattr(array, name)) == told(lambda: quick_records.looked_up_in_array(array, name))
    assert np.recarray.__getattribute__ is not quick_records.looked_up_in_array


PLACES: list[Any] = [
    *("a", "size", "several", "inner", "nothing", ["a", "size"]),
    *(1, np.int64(2), -1, 7, slice(1, 3), slice(0, 0), [0, 2], np.array([True, False, True]), np.array([2, 1]), ..., None, (1,)),
]


@pytest.mark.parametrize("at", PLACES, ids=repr)
def test_what_is_taken_of_an_array(at: Any, array: Any) -> None:
    array["a"], array["inner"]["x"] = range(3), range(3, 6)
    try:
        expected = quick_records.taken(array, at)
    except (IndexError, KeyError, ValueError) as error:
        with pytest.raises(type(error)) as seen:
            array[at]
        assert str(seen.value) == str(error)
        return
    found = array[at]
    assert type(found) is type(expected) and found.dtype == expected.dtype and found.dtype.type is expected.dtype.type
    assert repr(found) == repr(expected)
    assert np.shares_memory(found, array) == np.shares_memory(expected, array)
