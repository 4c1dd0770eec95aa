"""What a file asks for, in lines, before anything is played: how much is sent, and which faults come when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np

from emulator.explain.faults import fault_line, fault_words
from emulator.explain.times import times_of
from emulator.progress import counted, scaled, size
from emulator.scenario import Scenario
from emulator.scenario.globs import matching_topics, parse_partitions
from emulator.scenario.rates import mean_records_a_round

MOST_FAULTS = 8
"""That are told one by one."""


def asked_lines(scenarios: Sequence[Scenario]) -> Iterator[str]:
    """Yields the load and the faults of the first scenario; of the others, how many have others."""
    base, others = scenarios[0], scenarios[1:]
    yield f"workload: {_load(base)}"
    same = (_sizes(base), base.rounds, base.round_ms)
    other_loads = [s for s in others if (_sizes(s), s.rounds, s.round_ms) != same or not s.workload.equals(base.workload)]
    if other_loads:
        yield f"workload: another one in {counted(len(other_loads), 'scenario')}"
    yield from _faults(base)
    other_faults = [s for s in others if not s.faults.equals(base.faults)]
    if other_faults:
        yield f"faults: others in {counted(len(other_faults), 'scenario')}"


def _load(scenario: Scenario) -> str:
    """What is sent to all partitions together: at the most, in all, from when to when."""
    columns = ("from_round", "to_round", "record_bytes")
    starts, ends, record_bytes = (scenario.workload.column(name).to_numpy() for name in columns)
    ends = np.minimum(ends, scenario.rounds)
    a_round = mean_records_a_round(scenario.workload, scenario.round_ms)
    rates = a_round * 1000 / scenario.round_ms * _partitions(scenario)
    sent = (starts < ends) & (rates > 0)
    if not sent.any():
        return "nothing is sent"
    starts, ends, rates, record_bytes = starts[sent], ends[sent], rates[sent], record_bytes[sent]
    most, most_bytes = (_peak(starts, ends, each) for each in (rates, rates * record_bytes))
    in_all = rates * (ends - starts) * scenario.round_ms / 1000
    return (
        f"{scaled(most)} records/s, {size(most_bytes)}/s at the most; in all {scaled(in_all.sum())} records,"
        f" {size(in_all @ record_bytes)}, from {times_of(_times(scenario), int(starts.min()), int(ends.max()) - 1)}"
    )


def _partitions(scenario: Scenario) -> np.ndarray:
    """How many partitions each workload row is for."""
    sizes = _sizes(scenario)

    @cache
    def of_row(topic: str, partitions: str | None) -> int:
        topics = matching_topics(topic, sizes)
        if partitions is None:
            return sum(sizes[name] for name in topics)
        named = {number for first, last in parse_partitions(partitions) for number in range(first, last + 1)}
        return len(topics) * len(named)

    pairs = zip(*(scenario.workload.column(name).to_pylist() for name in ("topic", "partitions")), strict=True)
    return np.array([of_row(topic, partitions) for topic, partitions in pairs], np.float64)


def _sizes(scenario: Scenario) -> Mapping[str, int]:
    return {topic.name: len(topic.assignment) for topic in scenario.topics}


def _peak(starts: np.ndarray, ends: np.ndarray, rates: np.ndarray) -> float:
    """The most that is sent at once."""
    rounds, at = np.unique(np.concatenate([starts, ends]), return_inverse=True)
    return float(np.cumsum(np.bincount(at, np.concatenate([rates, -rates]), len(rounds))).max())


def _faults(scenario: Scenario) -> Iterator[str]:
    """How many of which kind, and the first to come."""
    kinds = Counter(scenario.faults.column("kind").to_pylist())
    listed = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
    yield f"faults: {scenario.faults.num_rows:,}" + (f" ({listed})" if listed else "")
    first = np.argsort(scenario.faults.column("from_round").to_numpy(), kind="stable")[:MOST_FAULTS]
    for number, fault in zip(first.tolist(), scenario.faults.take(first).to_pylist(), strict=True):
        if fault["from_round"] >= scenario.rounds:
            told = f"it is from round {fault['from_round']} on, the last is {scenario.rounds - 1}"
            yield f"fault {number}: {fault_words(fault)} never comes: {told}"
            continue
        end = fault["to_round"] if fault["to_round"] < scenario.rounds else None
        yield f"fault {fault_line(fault | {'fault_id': number, 'to_round': end}, _times(scenario))}"
    if scenario.faults.num_rows > MOST_FAULTS:
        yield f"faults: these are the first {MOST_FAULTS} to come"


def _times(scenario: Scenario) -> dict[str, object]:
    """What rounds are told as times by."""
    return {"rounds": scenario.rounds, "round_ms": scenario.round_ms}
