"""Topic globs and partition lists, as workload rows, faults and commands name partitions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from fnmatch import translate

import pyarrow as pa
import pyarrow.compute as pc

PARTITIONS_PATTERN = r"[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*"
PARTITIONS_ALLOWED = 'partition numbers and ranges, as in "5", "0-99" or "0-3,7"'
GLOB_CHARACTERS = frozenset("*?[")


def matching_topics(glob: str, names: Collection[str]) -> list[str]:
    """Returns the topic names that a glob matches, in their order; case counts.

    >>> matching_topics("or*", ["orders", "payments"])
    ['orders']
    """
    if GLOB_CHARACTERS.isdisjoint(glob):
        return [glob] if glob in names else []
    pattern = re.compile(translate(glob))
    return [name for name in names if pattern.match(name)]


class Globs:
    """Distinct topic globs; None matches every topic."""

    def __init__(self, globs: Iterable[str | None]) -> None:
        self.numbers: dict[str | None, int] = {}
        """Glob -> its number, in the order in which they come first."""
        self._wild: list[tuple[int, re.Pattern[str]]] = []
        for glob in globs:
            if glob not in self.numbers:
                number = self.numbers[glob] = len(self.numbers)
                if glob is not None and not GLOB_CHARACTERS.isdisjoint(glob):
                    self._wild.append((number, re.compile(translate(glob))))

    def matching(self, topic: str) -> list[int]:
        """The numbers of the globs that match a topic, ascending."""
        if not self.numbers:
            return []
        found = {number for number, pattern in self._wild if pattern.match(topic)}
        found |= {self.numbers[glob] for glob in (None, topic) if glob in self.numbers}
        return sorted(found)


def parse_partitions(text: str) -> list[tuple[int, int]]:
    """Parses "0-3,7" into ranges of partitions, first and last inclusive.

    Raises ValueError when it is something else, or a range runs backwards.

    >>> parse_partitions("0-3,7")
    [(0, 3), (7, 7)]
    """
    if not re.fullmatch(PARTITIONS_PATTERN, text):
        raise ValueError("is not a list of partitions")
    ranges = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        ranges.append((int(first), int(last or first)))
        if ranges[-1][1] < ranges[-1][0]:
            raise ValueError("has a range that runs backwards")
    return ranges


def single_ranges(texts: pa.StringArray) -> tuple[pa.Int64Array, pa.Int64Array]:
    """First and last of each text that is a number or one range; null of any other, for `parse_partitions`."""
    one = pc.extract_regex(texts, r"^(?P<first>[0-9]+)(?:-(?P<last>[0-9]+))?$")
    first, last = (pc.if_else(pc.equal(digits, ""), None, digits).cast(pa.int64()) for digits in (one.field(0), one.field(1)))
    return first, pc.coalesce(last, first)


def known_topics_listed(names: Iterable[str]) -> str:
    """What a message says of the topics there are, or that there are none."""
    listed = ", ".join(names)
    return listed if listed else "none, the scenario has no topics"
