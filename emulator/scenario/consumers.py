"""Consumer groups: what each reads, from when to when, and how (docs/consumer_rounds.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import pyarrow as pa

from emulator.errors import did_you_mean, listing, quoted
from emulator.scenario.globs import matching_topics, parse_partitions
from emulator.scenario.model import ConsumerRow, Scenario
from emulator.scenario.places import Location, Places
from emulator.scenario.rates import records_a_round
from emulator.scenario.rows import rows_of_list
from emulator.scenario.shapes import INT_MAX, LONG_MAX, ConsumerShape, ScenarioShape
from emulator.scenario.workload import check_partitions

CONSUMERS_PROTOCOL = "kafka"
STARTS = ("earliest", "latest")
QUOTA = "consumer_byte_rate"
"""The group's own quota: no key of a consumer's, but what a broker has for one (KIP-13)."""
_ALL_PARTITIONS = ((0, INT_MAX),)
_ROWS: pa.Schema = pa.schema(
    [(name, pa.string()) for name in ("topic", "partitions")] + [("from_round", pa.int64()), ("to_round", pa.int64())]
)


@dataclass(frozen=True)
class ConsumerKey:
    """A key of a consumer's config: its default, and what it takes: one of some words, or a range of integers."""

    default: str | int
    words: tuple[str, ...] = ()
    span: tuple[int, int] = (0, INT_MAX)

    @property
    def allowed(self) -> str:
        """What values it takes, in words."""
        if self.words:
            return f"one of {listing(quoted(word) for word in self.words)}"
        return f"an integer from {self.span[0]} to {self.span[1]}"

    def takes(self, value: object) -> bool:
        """Whether the value is one of these."""
        return value in self.words if self.words else type(value) is int and self.span[0] <= value <= self.span[1]


CONSUMER_KEYS: Mapping[str, ConsumerKey] = {
    "auto.offset.reset": ConsumerKey("latest", words=(*STARTS, "none")),
    "isolation.level": ConsumerKey("read_uncommitted", words=("read_uncommitted", "read_committed")),
    "max.partition.fetch.bytes": ConsumerKey(1_048_576),
    "fetch.max.bytes": ConsumerKey(52_428_800),
    "metadata.max.age.ms": ConsumerKey(300_000, span=(0, LONG_MAX)),
    "fetch.max.wait.ms": ConsumerKey(500),
    QUOTA: ConsumerKey(LONG_MAX, span=(1, LONG_MAX)),
}
IDLE_KEYS = ("fetch.max.wait.ms",)
"""Those without effect: what is there is read in every round."""


def resolve_consumers(places: Places, shape: ScenarioShape, partitions: Mapping[str, int]) -> tuple[ConsumerRow, ...]:
    """Checks the rows of `consumers` and fills in what they leave out, in file order.

    `partitions`: by topic name. Raises InputError for the first row with an unknown topic, partition or config key, an impossible
    interval, start or number, or that does not go with another one of its group.
    """
    shapes = shape.consumers
    if not shapes:
        return ()
    if shape.protocol != CONSUMERS_PROTOCOL:
        raise places.error(
            ("consumers",), f"protocol {quoted(shape.protocol)} has no consumers", f"protocol {quoted(CONSUMERS_PROTOCOL)}"
        )
    rows = rows_of_list(places, ("consumers",), [one.model_dump() for one in shapes], _ROWS)
    rows.check_interval()
    check_partitions(rows, rows.check_topics(partitions))
    resolved = tuple(_resolve(places, ("consumers", at), one, shape.rounds, shape.round_ms) for at, one in enumerate(shapes))
    _check_groups(places, shapes, resolved, partitions)
    return resolved


def _resolve(places: Places, here: Location, shape: ConsumerShape, rounds: int, round_ms: int) -> ConsumerRow:
    for key, value in shape.config.items():
        known = CONSUMER_KEYS.get(key)
        if known is None:
            problem = f"unknown config key {quoted(key)}{did_you_mean(key, CONSUMER_KEYS)}"
            raise places.error((*here, "config", key), problem, listing(CONSUMER_KEYS))
        if not known.takes(value):
            raise places.error((*here, "config", key), f"{quoted(value)} is not a value of {quoted(key)}", known.allowed)
    if shape.records_per_second is not None and shape.records_per_round is not None:
        raise places.error((*here, "records_per_second"), "stands beside records_per_round", "one of the two")
    if shape.records_per_second is not None and records_a_round(shape.records_per_second, round_ms).denominator > 1:
        problem = f"{shape.records_per_second} is no whole number of records a round"
        raise places.error((*here, "records_per_second"), problem, "one that is, or longer rounds")
    config = {key: shape.config.get(key, known.default) for key, known in CONSUMER_KEYS.items()}
    reset = str(config["auto.offset.reset"])
    start = _start(places, here, shape.start, reset)
    return ConsumerRow(
        group=shape.group,
        topic=shape.topic,
        partitions=shape.partitions,
        start=start,
        reset=reset,
        reads_committed=config["isolation.level"] == "read_committed",
        records_per_round=records_per_round(shape, round_ms),
        bytes_per_round=shape.bytes_per_round,
        fetch_bytes=min(int(config["max.partition.fetch.bytes"]), int(config["fetch.max.bytes"])),
        max_age_ms=int(config["metadata.max.age.ms"]),
        from_round=shape.from_round,
        to_round=max(rounds, shape.from_round + 1) if shape.to_round is None else shape.to_round,
        rack=shape.rack,
        members=shape.members,
        byte_rate=shape.config.get(QUOTA),
        idle_keys=tuple(key for key in IDLE_KEYS if key in shape.config),
    )


def remote_fetches(scenario: Scenario, row: ConsumerRow) -> int:
    """Remote fetches of a reader that a round holds, one after the other (docs/consumer_rounds.md, Remote reads)."""
    return scenario.fetching.in_a_round(scenario.round_ms, row.fetch_bytes, scenario.remote_storage.read_ms * 1000)


def records_per_round(shape: ConsumerShape, round_ms: int) -> int | None:
    """Records that a group takes of a partition in a round, None: any number."""
    per_second = shape.records_per_second
    return shape.records_per_round if per_second is None else int(records_a_round(per_second, round_ms))


def _start(places: Places, here: Location, given: object, reset: str) -> str | int:
    allowed = f"{listing(quoted(word) for word in STARTS)} or an offset, 0 or more"
    if given is None:
        if reset == "none":
            raise places.error((*here, "start"), 'is missing, and "auto.offset.reset" is "none"', allowed)
        return reset
    if isinstance(given, str) and given in STARTS:
        return given
    if type(given) is int and 0 <= given <= LONG_MAX:
        return given
    raise places.error((*here, "start"), f"{quoted(given)} is no place to start at", allowed)


def _check_groups(
    places: Places, shapes: list[ConsumerShape], rows: tuple[ConsumerRow, ...], partitions: Mapping[str, int]
) -> None:
    """Rows of one group may not overlap for a partition, nor differ in members or quota."""
    read = [read_partitions(row, partitions) for row in rows]
    groups: dict[str, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        groups[row.group].append(at)
    for group, places_of_rows in groups.items():
        for first, second in combinations(places_of_rows, 2):
            a, b = rows[first], rows[second]
            if a.from_round < b.to_round and b.from_round < a.to_round and (both := _common(read[first], read[second])):
                problem = f"group {quoted(group)} reads {both} by another row in these rounds"
                raise places.error(("consumers", second), problem, "rows of a group that do not overlap in time for a partition")
        _check_same(places, shapes, places_of_rows)


def _check_same(places: Places, shapes: list[ConsumerShape], of_group: list[int]) -> None:
    first = shapes[of_group[0]]
    for at in of_group:
        own = shapes[at]
        if own.members != first.members:
            told = "does not say members" if first.members is None else f"has {quoted(first.members)} members"
            problem = f"group {quoted(own.group)} {told} in another row"
            raise places.error(("consumers", at, "members"), problem, "the same in all rows of a group")
        if own.config.get(QUOTA) != first.config.get(QUOTA):
            quota = first.config.get(QUOTA)
            told = f"has no {quoted(QUOTA)}" if quota is None else f"has {quoted(QUOTA)} {quoted(quota)}"
            problem = f"group {quoted(own.group)} {told} in another row"
            raise places.error(("consumers", at, "config", QUOTA), problem, "the same in all rows of a group")


def read_partitions(row: ConsumerRow, partitions: Mapping[str, int]) -> dict[str, list[tuple[int, int]]]:
    """By topic the ranges of its partitions that a row names, inclusive."""
    named = _ALL_PARTITIONS if row.partitions is None else parse_partitions(row.partitions)
    found = {}
    for topic in matching_topics(row.topic, partitions):
        last = partitions[topic] - 1
        ranges = [(low, min(high, last)) for low, high in named if low <= last]
        if ranges:
            found[topic] = ranges
    return found


def _common(one: dict[str, list[tuple[int, int]]], other: dict[str, list[tuple[int, int]]]) -> str:
    """A partition that both have, as topic:number; empty if there is none."""
    for topic in one.keys() & other.keys():
        for low, high in one[topic]:
            for low_2, high_2 in other[topic]:
                if max(low, low_2) <= min(high, high_2):
                    return f"{topic}:{max(low, low_2)}"
    return ""
