"""Times in a scenario file: "500ms", "90s", "10m", "36h" or "7d" wherever a number of rounds may stand."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil
from typing import Any

from pydantic import BeforeValidator, ValidationInfo
from pydantic_core import PydanticCustomError

DEFAULT_ROUND_MS = 500
ROUND_MS = "round_ms"
"""What a shape is told when it is checked: the milliseconds of a round."""

ALLOWED = 'a number of rounds, or a time such as "500ms", "90s", "10m", "36h" or "7d"'
_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?) ?(ms|s|m|h|d)\Z")


def milliseconds(text: str) -> Fraction | None:
    """The milliseconds of a time such as "1.5h"; None for a text that is none.

    >>> milliseconds("1.5s"), milliseconds("a while")
    (Fraction(1500, 1), None)
    """
    found = _DURATION.match(text)
    return Fraction(found[1]) * _UNITS_MS[found[2]] if found else None


def rounds_of(ms: Fraction | int, round_ms: int) -> int:
    """Rounds that a time takes, the last one begun counted whole: nothing comes before its time or ends too early.

    >>> rounds_of(9_000, 500), rounds_of(9_000, 2_000)
    (18, 5)
    """
    return ceil(Fraction(ms) / round_ms)


def round_ms_of(data: Any) -> int:
    """The milliseconds of a round of a scenario file; the default where what it says will be refused."""
    given = data.get(ROUND_MS)
    return given if type(given) is int and given > 0 else DEFAULT_ROUND_MS


def _in_rounds(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        return value
    ms = milliseconds(value)
    if ms is None:
        raise PydanticCustomError("no_duration", "is no duration", {"allowed": ALLOWED})
    return rounds_of(ms, (info.context or {}).get(ROUND_MS, DEFAULT_ROUND_MS))


InRounds = BeforeValidator(_in_rounds)
"""Of a field in rounds: it may be a time. The shape is checked with ROUND_MS in its context."""
