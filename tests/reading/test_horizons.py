"""Readers leap: up to its horizon a reader moves on as in the round before, or a probe after the leap shows that it does not."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from emulator.expressions.kafka.reading.horizons import Drift, horizon
from emulator.expressions.kafka.reading.types import CAUSES, COUNTERS
from tests.reference.consumers.cases import group, one_log
from tests.reference.consumers.reader import Reader, Stretch
from tests.reference.consumers.simulate import consume_all, lag_of
from tests.reference.consumers.site import Site, site_of, watch_memory
from tests.reference.consumers.sources import IndexCache
from tests.reference.tiered.cases import fault, produce, remote
from tests.reference.tiered.simulate import play_round

from .situations import row_before
from .test_against_reference import INPUTS, ROW, frame_of

INPUT_NAMES = [name for name in INPUTS if name not in ("seed", "readers", "wants", "segments", "after", "cache_after", "asked")]
ROW_OF_ONE = dataclasses.replace(ROW, segment="segment", slot="1")
ROUNDS = 110
Caches = dict[int, IndexCache]


def _case(*readers: dict[str, Any], odd_bytes: int = 0, **given: Any) -> dict[str, Any]:
    """300 remote records and 200 local ones of 100 bytes; 3 a round of 60 bytes come, and 3 of 100 from round 40 on."""
    segments = [{**remote(base, base + 49), "bytes": 5000 + odd_bytes} for base in range(0, 300, 50)]
    rows = [{**produce(0, 40, records=3), "record_bytes": 60}, produce(40, ROUNDS, records=3)]
    return one_log(
        500,
        list(readers),
        **{
            "rounds": ROUNDS,
            "log": {"local": 300},
            "initial": {"remote_segments": segments},
            "workload": rows,
            "page_cache_bytes": 3000,
            "topic_config": {"local.retention.bytes": -1},
            **given,
        },
    )


CASES = [
    *(_case(group(start=0, records_per_round=rate, from_round=2)) for rate in (3, 5, 7, 10, 25, 50)),
    _case(group(start=0), config={"remote.log.manager.fetch.max.bytes.per.second": 1400}),
    _case(group(start=0, records_per_round=5), faults=[fault("remote_storage_outage", 10, 30)]),
    _case(group(start=0, records_per_round=2), odd_bytes=15),
    _case(group("a", start=0, records_per_round=5), group("b", start=200, max_partition_fetch_bytes=730)),
]


class _History:
    """What the readers of a case were like at the end of every round, and rows for those that a round only moved."""

    def __init__(self, number: int, case: dict[str, Any]) -> None:
        self.case = case
        self.readers: list[dict[str, Reader]] = []
        self.rows: list[dict[str, Any]] = []
        before = (0, 0)
        for site, caches in _rounds(case):
            _read(site, caches)
            self.readers.append({name: _copied(reader) for name, reader in site.readers.items()})
            leader = site.partition.replicas[1]
            ends, before = before, (leader.log.leo, leader.hw)
            if 3 <= site.now < ROUNDS - 2:
                self.rows += [self._row(number, site, caches, name, ends) for name in self._moved_only(site.now)]

    def _moved_only(self, round_: int) -> list[str]:
        before, after = self.readers[round_ - 1], self.readers[round_]
        return [name for name in after if _discrete(before[name]) == _discrete(after[name])]

    def moved(self, round_: int, name: str) -> list[int]:
        """What a round moved a reader's counters by."""
        before, after = self.readers[round_ - 1][name], self.readers[round_][name]
        return [new - old for new, old in zip(_counters(after), _counters(before), strict=True)]

    def _row(self, number: int, site: Site, caches: Caches, name: str, ends: tuple[int, int]) -> dict[str, Any]:
        row = row_before(site, site.readers[name], caches)
        assert row is not None
        leader = site.partition.replicas[1]
        return {
            **{key: row[key] for key in INPUT_NAMES},
            "now": site.now + 1,
            "r": row["reader"],
            "segment": row["segment"],
            "at": number,
            "name": name,
            "drift_position": self.moved(site.now, name)[0],
            "drift_hw": leader.hw - ends[1],
            "drift_log_bytes": (leader.log.leo - ends[0]) * (60 if site.now < 40 else 100),
        }


@dataclasses.dataclass
class _Leap:
    """A reader that leaps: to the state that it is to have before the round `probe`."""

    probe: int
    name: str
    landed: Reader
    moved: list[int]
    is_right: bool = False


def _rounds(case: dict[str, Any]) -> Iterator[tuple[Site, Caches]]:
    """The case at the end of every round, before anybody reads."""
    site, caches = site_of([case], 0, budgets={}), {broker: IndexCache() for broker in case["brokers"]}
    for now in range(ROUNDS):
        site.partition.now = now
        play_round(site.partition)
        watch_memory(site, caches)
        yield site, caches


def _copied(reader: Reader) -> Reader:
    taken, reader.taken = reader.taken, []
    copied = copy.deepcopy(reader)
    reader.taken = taken
    return copied


def _read(site: Site, caches: Caches) -> None:
    for _, reader in consume_all([site], caches)[0]:
        reader.max_lag = max(reader.max_lag, lag_of(site, reader))


def _probe_all(history: _History, leaps: list[_Leap]) -> None:
    """Run the round after each leap, from where it landed: does it move the counters as before, and nothing else?"""
    for site, caches in _rounds(history.case):
        actual = site.readers
        for leap in [leap for leap in leaps if leap.probe == site.now]:
            probed = _copied(leap.landed)
            site.readers = {**{name: _copied(reader) for name, reader in actual.items()}, leap.name: probed}
            _read(site, copy.deepcopy(caches))
            after = [value + by for value, by in zip(_counters(leap.landed), leap.moved, strict=True)]
            leap.is_right = _counters(probed) == after and _discrete(probed) == _discrete(leap.landed)
        site.readers = actual
        _read(site, caches)


def _counters(reader: Reader) -> list[int]:
    stretch = reader.stretch
    moving = [-1, -1] if stretch is None else [stretch.last_round, stretch.to_offset]
    waited = [reader.waited_rounds[cause] for cause in CAUSES]
    return [
        reader.position or 0,
        reader.max_lag,
        reader.remote_round,
        *moving,
        *waited,
        *(reader.counts[name] for name in COUNTERS),
    ]


def _set_counters(reader: Reader, values: list[int]) -> None:
    reader.position, reader.max_lag, reader.remote_round = values[:3]
    if reader.stretch is not None:
        reader.stretch.last_round, reader.stretch.to_offset = values[3:5]
    for cause, rounds in zip(CAUSES, values[5 : 5 + len(CAUSES)], strict=True):
        reader.waited_rounds[cause] = rounds
    for name, count in zip(COUNTERS, values[5 + len(CAUSES) :], strict=True):
        reader.counts[name] = count


def _discrete(reader: Reader) -> tuple[Any, ...]:
    stretch: Stretch | None = reader.stretch
    of_stretch = None if stretch is None else (stretch.cause, stretch.broker, stretch.from_round, stretch.from_offset)
    return (
        *(reader.epoch, reader.leader, reader.replica, reader.replica_until, reader.reset_cause, reader.stopped),
        *(of_stretch, len(reader.unread), reader.position is None),
    )


def test_leaps(spark: SparkSession, tmp_path: Path) -> None:
    histories = [_History(number, case) for number, case in enumerate(CASES)]
    rows = [row for history in histories for row in history.rows]
    more = {"r": INPUTS["readers"][len("ARRAY<") : -1], "segment": INPUTS["segments"][len("ARRAY<") : -1], "at": "INT"}
    drifts = dict.fromkeys(("drift_position", "drift_hw", "drift_log_bytes"), "BIGINT")
    types = {**{name: INPUTS[name] for name in INPUT_NAMES}, **more, "name": "STRING", **drifts}
    text = horizon(ROW_OF_ONE, Drift("drift_position", "drift_hw", "drift_log_bytes"), "cache")
    found = frame_of(spark, tmp_path, rows, types).select("at", "name", "now", F.expr(text).alias("horizon")).collect()
    rounds_leapt = taken_back = 0
    for number, history in enumerate(histories):
        leaps = [leap for one in found if one["at"] == number for leap in _leap(history, one)]
        _probe_all(history, leaps)
        for leap in leaps:
            actual = history.readers[leap.probe - 1][leap.name]
            assert not leap.is_right or (_counters(actual), _discrete(actual)) == (_counters(leap.landed), _discrete(leap.landed))
        rounds_leapt += sum(leap.is_right for leap in leaps)
        taken_back += sum(not leap.is_right for leap in leaps)
    assert rounds_leapt > 400
    assert taken_back < rounds_leapt / 4


def _leap(history: _History, one: Any) -> list[_Leap]:
    """The leap of a reader up to its horizon, the next input or the end; none if that is too near."""
    first, name = one["now"], one["name"]
    probe = min(one["horizon"], _next_input(first), ROUNDS) - 1
    if probe <= first:
        return []
    moved, landed = history.moved(first - 1, name), _copied(history.readers[first - 1][name])
    _set_counters(landed, [value + (probe - first) * by for value, by in zip(_counters(landed), moved, strict=True)])
    return [_Leap(probe, name, landed, moved)]


def _next_input(round_: int) -> int:
    """When the next input changes: the workload's records in 40, the store in 10 and 30."""
    return min(at for at in (10, 30, 40, ROUNDS) if at >= round_)
