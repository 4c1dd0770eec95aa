"""Fields of NumPy's records and record arrays in half the time: to be imported, as tests/conftest.py does.

A record looks for a method of a name before its field, in Python and with an exception for each; that was three quarters of all
time of rounds as ordinary Python. A record array does likewise, also for what it does not have, which Numba asks of each that it
is given, and makes views of views. Which of the two a name stands for, and how a value is converted, is as NumPy has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

METHODS = frozenset(dir(np.record))
looked_up, assigned = np.record.__getattribute__, np.record.__setattr__
looked_up_in_array, taken = np.recarray.__getattribute__, np.recarray.__getitem__
_method, _field = np.void.__getattribute__, np.void.__getitem__
_dtype, _set_field = np.void.dtype.__get__, np.void.setfield  # type: ignore[attr-defined]
_plain, _item = np.ndarray.view, np.ndarray.__getitem__


def _get(record: np.record, name: str) -> Any:
    if name in METHODS:
        return _method(record, name)
    try:
        found = _field(record, name)
    except (KeyError, ValueError):  # no field of this name: NumPy says so
        return looked_up(record, name)
    return found.view((type(record), found.dtype)) if type(found) is np.void else found  # a record within it is one, too


def _set(record: np.record, name: str, value: Any) -> None:
    field = _dtype(record).fields.get(name)
    if field is None or name in METHODS:
        assigned(record, name, value)
    else:
        _set_field(record, value, field[0], field[1])


def _take(array: np.recarray[Any, Any], at: Any) -> Any:
    if type(at) is str:
        found = _item(_plain(array, np.ndarray), at)
        return taken(array, at) if found.dtype.names else found
    found = _item(array, at)
    return found if type(found) is np.record or found.dtype is array.dtype else taken(array, at)


def _column(array: np.recarray[Any, Any], name: str) -> Any:
    """Python asks for it where the array has no attribute of the name."""
    if name not in (array.dtype.names or ()):
        raise AttributeError(f"recarray has no attribute {name}")
    return _take(array, name)


np.record.__getattribute__ = _get  # type: ignore[assignment]
np.record.__setattr__ = _set  # type: ignore[assignment]
np.recarray.__getattribute__ = object.__getattribute__  # type: ignore[assignment]
np.recarray.__getattr__ = _column  # type: ignore[attr-defined]
np.recarray.__getitem__ = _take  # type: ignore[assignment]
