"""The range of rounds that a user asks for."""

from __future__ import annotations

import re

from emulator.errors import InputError, quoted


def parse_rounds(text: str) -> tuple[int, int]:
    """Returns the first and the last round of "A-B", both included, or of "A".

    >>> parse_rounds("3-12"), parse_rounds("7")
    ((3, 12), (7, 7))
    """
    match = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?", text)
    if match is None:
        raise InputError(f"--rounds: {quoted(text)} is no range of rounds; allowed: A-B, both included, or A, as in 10-25")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise InputError(f"--rounds: {quoted(text)} ends before it begins; allowed: A-B with A up to B")
    return first, last
