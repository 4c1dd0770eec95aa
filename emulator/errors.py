"""The one error for everything wrong with what a user handed in, and how values are quoted in it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

MAX_VALUE_CHARS = 80
MAX_LIST_CHARS = 1_000
MAX_LINE_CHARS = 4_000
LONGEST_NAME_COMPARED = 100
MOST_NAMED = 3
"""Names of many that a note says."""

MOST_LINES = 20
"""Lines of one kind that are told one by one."""


class InputError(Exception):
    """Says in one line what is wrong with the user's input: "FILE: PLACE: what is wrong; allowed: ...".

    The message stays one printable line whatever the input held: control characters are escaped, the rest is cut.
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message, MAX_LINE_CHARS))

    @classmethod
    def at(cls, file: str, place: str, problem: str, allowed: str | None = None) -> InputError:
        """Builds the error for a place of a file.

        `place` is a key path, a row and column, or "file" for the whole of it; `allowed` is left out if None.
        """
        ending = "" if allowed is None else f"; allowed: {allowed}"
        return cls(f"{file}: {place}: {problem}{ending}")


def one_line(text: str, max_chars: int = MAX_VALUE_CHARS) -> str:
    """Returns the text with unprintable characters escaped, cut to `max_chars` characters.

    >>> one_line("a\\nb"), one_line("abcdefgh", 6)
    ('a\\\\nb', 'abc...')
    """
    escaped = _escaped(text[: max_chars + 1])
    return escaped if len(escaped) <= max_chars else escaped[: max_chars - 3] + "..."


def both_ends(text: str, max_chars: int) -> str:
    """Returns the text with unprintable characters escaped, cut in its middle to `max_chars` characters.

    >>> both_ends("a = 1, b = 2", 9), both_ends("a\\nb", 9)
    ('a =...= 2', 'a\\\\nb')
    """
    head, tail = _escaped(text[:max_chars]), _escaped(text[-max_chars:])
    if len(text) <= max_chars and len(head) <= max_chars:
        return head
    at_end = (max_chars - 3) // 2
    return f"{head[: max_chars - 3 - at_end]}...{tail[-at_end:]}"


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def quoted(value: object) -> str:
    """Returns a user's value as a message shows it: strings in double quotes, TOML booleans, the rest as Python.

    >>> quoted("a"), quoted(True), quoted(3)
    ('"a"', 'true', '3')
    """
    if isinstance(value, str):
        return f'"{one_line(value)}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        return one_line(str(value))
    except ValueError:  # Python refuses to print integers of thousands of digits
        return "an integer of thousands of digits"


def listing(names: Iterable[object]) -> str:
    """Returns the names joined by commas, cut when there are very many.

    >>> listing(["a", "b"])
    'a, b'
    """
    return one_line(", ".join(str(name) for name in names), MAX_LIST_CHARS)


def some(what: str, names: Sequence[str]) -> str:
    """Returns up to MOST_NAMED names with what they are of, and how many more there are.

    >>> some("topic", ["a"]), some("topic", ["a", "b", "c", "d"])
    ('topic a', 'topics a, b, c, 1 more')
    """
    return f"{what}{'s' if len(names) > 1 else ''} {listing(few(names, len(names)))}"


def some_scenarios(names: Sequence[str], count: int) -> str:
    """Returns which of `count` scenarios these are: a case of sweeps has a name of several parts, of which one is enough.

    >>> some_scenarios(["a", "b"], 3), some_scenarios(["c = 1, d = 2", "c = 2, d = 2"], 3)
    ('scenarios a, b', '2 of 3 scenarios, such as "c = 1, d = 2"')
    """
    parted = [name for name in names if "," in name]
    if not parted:
        return some("scenario", names)
    return f"{len(names)} of {count} scenarios, such as {quoted(parted[0])}"


def few(names: Sequence[str], count: int) -> list[str]:
    """Returns up to MOST_NAMED of `count` names, and how many more there are."""
    return [*names[:MOST_NAMED], *([f"{count - MOST_NAMED} more"] if count > MOST_NAMED else [])]


def first_lines(lines: Sequence[str], more: str) -> list[str]:
    """Returns up to MOST_LINES lines, and one that says how many `more` there are."""
    return [*lines[:MOST_LINES], *([f"{len(lines) - MOST_LINES:,} more {more}"] if len(lines) > MOST_LINES else [])]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns ' (did you mean "x"?)' for the known name closest to `name`, or nothing when none is close.

    >>> did_you_mean("partitons", ["partitions", "name"])
    ' (did you mean "partitions"?)'
    """
    matches = difflib.get_close_matches(name[:LONGEST_NAME_COMPARED], list(known), n=1)
    return f" (did you mean {quoted(matches[0])}?)" if matches else ""


class EnvironmentProblem(Exception):
    """Says in one line what the machine or Spark lacks for the emulator to run; no fault of the user's input."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message, MAX_LINE_CHARS))
