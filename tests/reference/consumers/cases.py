"""Pieces of cases for the tests of consumers, beside those of the tiered reference."""

from __future__ import annotations

from typing import Any

from ..tiered.cases import ROUND_MS, fault, given_log, produce, remote, tiered_case
from .reader import REMOTE
from .settings import RACK_AWARE
from .simulate import Result

EPOCH_0 = [[0, 0]]
SELECTOR = {"replica.selector.class": RACK_AWARE}
RACKS = {1: "a", 2: "b", 3: "b"}


def group(name: str = "g", **given: Any) -> dict[str, Any]:
    """A row of `consumers`; keys of its config are given with `_` for `.`."""
    keys = ("start", "records_per_round", "bytes_per_round", "from_round", "to_round", "rack", "members")
    row = {key: given.pop(key) for key in keys if key in given}
    return {"group": name, **row, "config": {key.replace("_", "."): value for key, value in given.items()}}


def one_log(leo: int, consumers: list[dict[str, Any]], **given: Any) -> dict[str, Any]:
    """A partition on brokers 1 and 2, alike, with records of epoch 0 up to `leo`; `log` is for both replicas."""
    log = given_log(leo, EPOCH_0, **given.pop("log", {}))
    initial = {"leader": 1, "leader_epoch": 0, "isr": [1, 2], "replicas": {1: log, 2: log}, **given.pop("initial", {})}
    return tiered_case(initial=initial, consumers=consumers, **given)


def remote_log(consumers: list[dict[str, Any]], records: int = 10, **given: Any) -> dict[str, Any]:
    """100 remote records, in segments of so many, and 20 local ones."""
    initial = {"remote_segments": [remote(base, base + records - 1) for base in range(0, 100, records)]}
    initial |= given.pop("initial", {})
    return one_log(120, consumers, **{"rounds": 7, "log": {"local": 100}, "initial": initial, **given})


def seen(result: Result, name: str = "g", key: str = "position") -> list[Any]:
    """A column of the group's rows, round by round."""
    return [row[key] for row in result.trace if row["group"] == name]


def counts(result: Result, name: str = "g") -> dict[str, Any]:
    """The group's row of `consumer_groups`."""
    return next(row for row in result.consumer_groups if row["group"] == name)


def request_rounds(result: Result, name: str = "g") -> list[int]:
    """The rounds in which the group made a remote request."""
    return [taken.round for taken in result.readers[name].taken if taken.source == REMOTE and taken.requests]


def requests(result: Result, name: str = "g") -> list[int]:
    """How many remote requests each of the group's remote reads made."""
    return [taken.requests for taken in result.readers[name].taken if taken.source == REMOTE]


def pieces(result: Result, name: str = "g") -> list[int]:
    """Of how many pieces each of the group's remote reads was."""
    return [taken.pieces for taken in result.readers[name].taken if taken.source == REMOTE]


def indexes(result: Result, name: str = "g") -> tuple[int, int]:
    """The group's hits and misses of indexes, one for each request."""
    row = counts(result, name)
    assert row["index_hits"] + row["index_misses"] == row["remote_requests"] == sum(requests(result, name))
    return row["index_hits"], row["index_misses"]


def unread(result: Result, *kinds: str) -> list[tuple[str, int, int, int, int]]:
    """What could not be read, as (cause, from round, to round, from offset, to offset)."""
    found = [row for row in result.unread if not kinds or row.kind in kinds]
    return [(row.cause, row.from_round, row.to_round, row.from_offset, row.to_offset) for row in found]


def ms(rounds: int) -> int:
    return rounds * ROUND_MS


def fenced_follower() -> dict[str, Any]:
    """2, which serves rack b, is out of the ISR when 1 dies in round 10; in 12, at its end, it learns that nobody leads."""
    return one_log(
        60,
        [group(start=0, records_per_round=1, rack="b")],
        rounds=16,
        racks=RACKS,
        config={**SELECTOR, "replica.lag.time.max.ms": ms(4)},
        workload=[produce(3, acks="1")],
        faults=[fault("link_cut", 3, 16, broker=1, peer=2), fault("broker_crash", 10, 20, broker=1)],
    )
