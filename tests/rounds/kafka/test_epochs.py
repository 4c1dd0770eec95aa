"""Leader epoch caches against the cases of Kafka's LeaderEpochFileCacheTest (data/leader_epoch_cache.json). No Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.rounds.kafka.constants import NO_EPOCH
from emulator.rounds.kafka.epochs import (
    assign_epoch,
    cut_epochs_below,
    cut_epochs_from,
    end_of_epoch,
    latest_epoch,
    own_end_of,
    place_of_epoch,
    start_of_next_epoch,
)
from emulator.rounds.kafka.list_records import EpochEntry
from emulator.rounds.kafka.records import Replica
from emulator.rounds.lists import every
from emulator.rounds.records import rows

DATA = Path(__file__).parents[2] / "data"
CASES: list[dict[str, Any]] = json.loads((DATA / "leader_epoch_cache.json").read_text())["cases"]
FIRST, ROOM = 3, 8
UNDEFINED = (NO_EPOCH, -1)
OPERATIONS = {"assign": assign_epoch, "truncFromEnd": cut_epochs_from, "truncFromStart": cut_epochs_below}


class Cache:
    """A replica's cache in the middle of an array that holds rubbish around it, with a case's operations done to it."""

    def __init__(self, operations: list[list[Any]]) -> None:
        self.entries = rows(EpochEntry, FIRST + ROOM + 1)
        self.entries.epoch = self.entries.start_offset = 7
        self.replica = rows(Replica, 1)[0]
        self.replica.epochs.start, self.replica.epochs.limit = FIRST, FIRST + ROOM
        for name, *arguments in operations:
            before, changes = self.pairs(), self.replica.epochs.changes
            OPERATIONS[name](self.entries, self.replica, *arguments)
            assert (self.replica.epochs.changes > changes) == (self.pairs() != before), f"{name} {arguments}"
        assert not self.replica.epochs.full

    def pairs(self) -> list[tuple[int, int]]:
        """(epoch, start offset) of its entries."""
        return [(int(self.entries[at].epoch), int(self.entries[at].start_offset)) for at in every(self.replica.epochs)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_case_of_kafka(case: dict[str, Any]) -> None:
    cache, expected = Cache(case["ops"]), case["expect"]
    entries, replica, pairs = cache.entries, cache.replica, cache.pairs()
    if "entries" in expected:
        assert pairs == [tuple(entry) for entry in expected["entries"]]
    if "latest" in expected:
        assert latest_epoch(entries, replica) == (NO_EPOCH if expected["latest"] is None else expected["latest"])
    if "previous" in expected:
        at = place_of_epoch(entries, replica, latest_epoch(entries, replica) - 1)
        assert entries[at].epoch == expected["previous"]
    for asked, following in expected.get("nextEpoch", []):
        begins = dict(pairs).get(following)
        if begins is None:
            begins = 1000 if asked == latest_epoch(entries, replica) else -1
        assert start_of_next_epoch(entries, replica, len(pairs), 1000, asked) == begins
    for asked, leo, *answer in expected.get("endOffsetFor", []):
        check_answer(cache, asked, leo, tuple(answer))


def check_answer(cache: Cache, asked: int, leo: int, answer: tuple[int, int]) -> None:
    """What a leader answers (KIP-279); KIP-101's answer is the same offset without the epoch, which a cache tells of itself."""
    entries, replica, pairs = cache.entries, cache.replica, cache.pairs()
    assert end_of_epoch(entries, replica, len(pairs), leo, asked) == answer
    assert start_of_next_epoch(entries, replica, len(pairs), leo, asked) == answer[1]
    at = place_of_epoch(entries, replica, asked)
    assert (at == -1) == (not pairs or asked < pairs[0][0])
    if answer[0] in dict(pairs):
        replica.leo = leo
        assert (entries[at].epoch, own_end_of(entries, replica, at)) == answer


def test_a_cache_of_before() -> None:
    """A leader may answer by the first entries of its cache and the LEO of then: by what it was before the last one."""
    cache = Cache([["assign", 0, 10], ["assign", 2, 13], ["assign", 4, 17]])
    answers = [end_of_epoch(cache.entries, cache.replica, 2, 15, asked) for asked in range(5)]
    assert answers == [(0, 13), (0, 13), (2, 15), UNDEFINED, UNDEFINED]
    assert [start_of_next_epoch(cache.entries, cache.replica, 2, 15, asked) for asked in range(5)] == [13, 13, 15, -1, -1]


def test_the_same_epoch_at_a_lower_offset() -> None:
    """Kafka's isUpdateNeeded: the last epoch's start moves down only, and what stands at or above it goes."""
    assert Cache([["assign", 1, 5], ["assign", 2, 9], ["assign", 2, 7]]).pairs() == [(1, 5), (2, 7)]
    assert Cache([["assign", 1, 5], ["assign", 2, 9], ["assign", 2, 5]]).pairs() == [(2, 5)]


def test_an_entry_that_is_only_rewritten() -> None:
    """None goes; that the list has changed is told all the same, or a leap would go on."""
    assert Cache([["assign", 2, 6], ["assign", 3, 8], ["truncFromStart", 7]]).pairs() == [(2, 7), (3, 8)]
