"""Times in a scenario file: "500ms", "90s", "10m", "26h20m" or "7d" wherever a number of rounds may stand."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

from pydantic import BeforeValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from emulator.errors import MAX_VALUE_CHARS

DEFAULT_ROUND_MS = 500
ROUND_MS = "round_ms"
"""What a shape is told when it is checked: the milliseconds of a round."""

ALLOWED = 'a number of rounds, or a time such as "500ms", "90s", "10m", "26h20m" or "7d"'
_UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_UNIT_OF = {
    word: unit
    for unit, words in {
        "d": "d day days", "h": "h hr hrs hour hours", "m": "m min mins minute minutes",
        "s": "s sec secs second seconds", "ms": "ms msec msecs millis millisecond milliseconds", "": "and",
    }.items()
    for word in words.split()
}  # fmt: skip
_WORD = re.compile("[A-Za-z]+")
_PART = re.compile(r" ?([0-9]{1,18}(?:\.[0-9]{1,9})?) ?(ms|s|m|h|d)")


def milliseconds(text: str) -> Fraction | None:
    """The milliseconds of a time such as "1.5h" or "26h20m"; None for a text that is none.

    Units fall from part to part, each at most once, and only the last part may have a fraction.

    >>> milliseconds("1.5s"), milliseconds("1m30s"), milliseconds("a while")
    (Fraction(1500, 1), Fraction(90000, 1), None)
    """
    parts = _PART.findall(text)
    lengths = [_UNITS_MS[unit] for _, unit in parts]
    falling = all(longer > shorter for longer, shorter in pairwise(lengths))
    whole = not any("." in number for number, _ in parts[:-1])
    if not parts or _PART.sub("", text) or text.startswith(" ") or not falling or not whole:
        return None
    return sum((Fraction(number) * length for (number, _), length in zip(parts, lengths, strict=True)), Fraction(0))


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


def why_no_time(text: str) -> str:
    """What is wrong with a text that is no time.

    >>> why_no_time("25 minutes"), why_no_time("100")
    ('is no time (did you mean "25m"?)', 'is no time, as it has no unit; without quotes it is a number of rounds')
    """
    if text.isdecimal():
        return "is no time, as it has no unit; without quotes it is a number of rounds"
    meant = "".join(_WORD.sub(lambda word: _UNIT_OF.get(word.group().lower(), word.group()), text[:MAX_VALUE_CHARS]).split())
    if milliseconds(meant) is not None:
        return f'is no time (did you mean "{meant}"?)'
    return "is no time, which has numbers with the units d, h, m, s and ms, the longest first"


def _in_rounds(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        return value
    ms = milliseconds(value)
    if ms is None:
        raise PydanticCustomError("no_duration", "is no duration", {"why": why_no_time(value), "allowed": ALLOWED})
    return rounds_of(ms, (info.context or {}).get(ROUND_MS, DEFAULT_ROUND_MS))


InRounds = BeforeValidator(_in_rounds)
"""Of a field in rounds: it may be a time. The shape is checked with ROUND_MS in its context."""
