"""Draws fault rows from rates, durations and correlation, by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa

from emulator.faults.generator_kinds import DEFAULT_MEAN_DURATION_ROUNDS, GENERATORS, Brokers, parameter_problems
from emulator.faults.kinds import FAULT_KINDS, FAULT_SCHEMA, RACK_KINDS


class _Row(NamedTuple):
    from_round: int
    order: int
    to_round: int
    kind: str
    broker: int | None
    rack: str | None
    moment: float | None = None


def generate(kind: str, params: Mapping[str, Any], brokers: Brokers, rounds: int, seed: int) -> pa.Table:
    """Draws the fault rows of one generator.

    `kind` and `params`: see GENERATORS; `brokers`: (id, rack). Returns the columns of kinds.FAULT_SCHEMA, sorted by
    from_round and within it by broker or rack as given, every row within [0, rounds). The same arguments give the
    same rows; a broker's (a rack's) rows do not depend on which others there are. Two generators of one scenario
    with the same fault and seed draw the same times: give each a seed of its own. Times: from the end of a fault to
    the start of the next exponential with mean mtbf_rounds, in continuous time, then rounded down, which leaves the
    moment; durations rounded, at least 1. Raises ValueError with the first of parameter_problems.
    """
    problems = parameter_problems(kind, params, brokers)
    if problems:
        raise ValueError(f"{kind}: {problems[0][0]}: {problems[0][1]}")
    declared = GENERATORS[kind].parameters
    settings = {name: parameter.default for name, parameter in declared.items()}
    settings.update((name, value) for name, value in params.items() if value is not None)
    rows = sorted(_DRAW[kind](settings, brokers, rounds, seed))
    clients = settings.get("clients") or None
    columns = {
        "kind": [row.kind for row in rows],
        "from_round": [row.from_round for row in rows],
        "to_round": [row.to_round for row in rows],
        "broker": [row.broker for row in rows],
        "rack": [row.rack for row in rows],
        "name": [settings["name"]] * len(rows),
        "clients": [clients if "clients" in FAULT_KINDS[row.kind].optional else None for row in rows],
        "moment": [row.moment if "moment" in FAULT_KINDS[row.kind].optional else None for row in rows],
    }
    absent = [None] * len(rows)
    return pa.table({name: columns.get(name, absent) for name in FAULT_SCHEMA.names}, schema=FAULT_SCHEMA)


def _draw_independent_crashes(settings: Mapping[str, Any], brokers: Brokers, rounds: int, seed: int) -> list[_Row]:
    rows = []
    for order, broker in enumerate(settings["brokers"] or [broker for broker, _ in brokers]):
        for from_round, to_round, moment in _outages(settings, rounds, [seed, crc32(settings["fault"].encode()), 0, broker]):
            rows.append(_Row(from_round, order, to_round, settings["fault"], broker, None, moment))
    return rows


def _draw_rack_outages(settings: Mapping[str, Any], brokers: Brokers, rounds: int, seed: int) -> list[_Row]:
    of_rack: dict[str, list[int]] = {}
    for broker, rack in brokers:
        if rack is not None:
            of_rack.setdefault(str(rack), []).append(broker)
    rows = []
    order = 0
    for rack in settings["racks"] or of_rack:
        hit: list[tuple[int | None, str | None]] = [(broker, None) for broker in of_rack[rack]]
        if settings["fault"] in RACK_KINDS:
            hit = [(None, rack)]
        outages = _outages(settings, rounds, [seed, crc32(settings["fault"].encode()), 1, crc32(rack.encode())])
        for from_round, to_round, moment in outages:
            for place, (broker_hit, rack_hit) in enumerate(hit):
                rows.append(_Row(from_round, order + place, to_round, settings["fault"], broker_hit, rack_hit, moment))
        order += len(hit)
    return rows


def _draw_rolling_restart(settings: Mapping[str, Any], brokers: Brokers, rounds: int, seed: int) -> list[_Row]:
    listed = settings["brokers"] or [broker for broker, _ in brokers]
    period = settings["down_rounds"] + settings["pause_between_rounds"]
    rows = []
    for order, broker in enumerate(listed):
        from_round = settings["from_round"] + order // settings["brokers_at_once"] * period
        if from_round < rounds:
            to_round = min(from_round + settings["down_rounds"], rounds)
            rows.append(_Row(from_round, order, to_round, settings["fault"], broker, None))
    return rows


def _draw_random_failures(settings: Mapping[str, Any], brokers: Brokers, rounds: int, seed: int) -> list[_Row]:
    candidates = sorted(settings["brokers"] or [broker for broker, _ in brokers])
    # One order of all brokers for each draw: more failures of a draw are the fewer ones and some more, whatever their kind.
    draws = np.random.default_rng([seed % 2**64, 2, settings["draw"]])
    failed = sorted(draws.permutation(candidates)[: settings["count"]].tolist())
    from_round, kind = settings["from_round"], settings["fault"]
    moment = float(draws.random()) if settings["moments"] else None
    rows = [_Row(from_round, order, rounds, kind, broker, None, moment) for order, broker in enumerate(failed)]
    return rows if from_round < rounds else []


_DRAW: Mapping[str, Callable[[Mapping[str, Any], Brokers, int, int], list[_Row]]] = MappingProxyType(
    {
        "independent_crashes": _draw_independent_crashes,
        "rack_outages": _draw_rack_outages,
        "rolling_restart": _draw_rolling_restart,
        "random_failures": _draw_random_failures,
    }
)


def _outages(settings: Mapping[str, Any], rounds: int, entropy: Sequence[int]) -> list[tuple[int, int, float | None]]:
    """Draws the [from, to) of one broker or rack, and moments; the next begins no earlier than the last ends."""
    # Gaps and durations have streams of their own, so that another duration changes no gap.
    of_gaps, of_durations = np.random.SeedSequence([part % 2**64 for part in entropy]).spawn(2)
    gaps, durations = np.random.default_rng(of_gaps), np.random.default_rng(of_durations)
    end = rounds if settings["to_round"] is None else min(settings["to_round"], rounds)
    outages = []
    clock = settings["from_round"] + settings["mtbf_rounds"] * gaps.exponential()
    while clock < end:
        from_round = int(clock)
        duration_rounds = min(_duration_rounds(settings, durations), end)
        moment = float(clock) - from_round if settings["moments"] else None
        outages.append((from_round, min(from_round + duration_rounds, end), moment))
        clock += duration_rounds + settings["mtbf_rounds"] * gaps.exponential()
    return outages


def _duration_rounds(settings: Mapping[str, Any], durations: np.random.Generator) -> int:
    least, greatest = settings["duration_rounds_min"], settings["duration_rounds_max"]
    if least is None and greatest is None:
        mean = settings["mean_duration_rounds"] or DEFAULT_MEAN_DURATION_ROUNDS
        return max(1, round(mean * durations.exponential()))
    least = 1 if least is None else least
    greatest = least if greatest is None else greatest
    return least + int(durations.random() * (greatest - least + 1))
