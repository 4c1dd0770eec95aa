"""Fields of NumPy's records in half the time, for rounds as ordinary Python: to be imported, as tests/conftest.py does.

A record looks for a method of a name before its field, in Python and with an exception for each; that was three quarters of all
time. Which of the two a name stands for, and how a value is converted, is as NumPy has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

METHODS = frozenset(dir(np.record))
looked_up, assigned = np.record.__getattribute__, np.record.__setattr__
_method, _field = np.void.__getattribute__, np.void.__getitem__
_dtype, _set_field = np.void.dtype.__get__, np.void.setfield  # type: ignore[attr-defined]


def _get(record: np.record, name: str) -> Any:
    if name in METHODS:
        return _method(record, name)
    try:
        found = _field(record, name)
    except (KeyError, ValueError):  # no field of this name: NumPy says so
        return looked_up(record, name)
    return looked_up(record, name) if type(found) is np.void else found  # a record within it is for NumPy to make


def _set(record: np.record, name: str, value: Any) -> None:
    field = _dtype(record).fields.get(name)
    if field is None or name in METHODS:
        assigned(record, name, value)
    else:
        _set_field(record, value, field[0], field[1])


np.record.__getattribute__ = _get  # type: ignore[assignment]
np.record.__setattr__ = _set  # type: ignore[assignment]
