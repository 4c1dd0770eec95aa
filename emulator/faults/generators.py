"""Draws fault rows from rates, durations and correlation, by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa

from emulator.faults.kinds import BROKER_STATE_KINDS, FAULT_KINDS, FAULT_SCHEMA

Brokers = Sequence[tuple[int, str | None]]

DEFAULT_MEAN_DURATION_ROUNDS = 120.0  # a minute of rounds of 500 ms
_MAX_ROUNDS = 2**62


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a generator.

    `type`: "int", "float" (ints as well), "str", "bool", "int_list" or "str_list"; `minimum` is inclusive, or, with
    `exclusive_minimum`, not; a default of None means what `meaning` says.
    """

    name: str
    type: str
    meaning: str
    required: bool = False
    default: Any = None
    minimum: float | None = None
    exclusive_minimum: bool = False
    allowed: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Generator:
    """A kind of generator: what it does and its parameters by name."""

    meaning: str
    parameters: Mapping[str, Parameter]


class _Row(NamedTuple):
    from_round: int
    order: int
    to_round: int
    kind: str
    broker: int | None
    rack: str | None
    moment: float | None = None


def _by_name(*parameters: Parameter) -> Mapping[str, Parameter]:
    return MappingProxyType({parameter.name: parameter for parameter in parameters})


_RATES = (
    Parameter("mtbf_rounds", "float", "mean rounds from a recovery to the next fault", True, None, 0, True),
    Parameter("mean_duration_rounds", "float", f"mean of exponential durations; {DEFAULT_MEAN_DURATION_ROUNDS:.0f} "
              "without any duration parameter", minimum=0, exclusive_minimum=True),
    Parameter("duration_rounds_min", "int", "least of uniform durations; 1 with only a max", minimum=1),
    Parameter("duration_rounds_max", "int", "greatest of uniform durations; the min with only a min", minimum=1),
    Parameter("from_round", "int", "first round with faults", default=0, minimum=0),
    Parameter("to_round", "int", "all faults are over by then; default: the end of the run", minimum=0),
    Parameter("clients", "bool", "isolation only: cut off from clients too", default=False),
)  # fmt: skip
_MOMENTS = Parameter("moments", "bool", "faults that kill a broker have a drawn moment", default=False)
_BROKERS = Parameter("brokers", "int_list", "only these brokers; default: all")
_NAME = Parameter("name", "str", "name of every row")

GENERATORS: Mapping[str, Generator] = MappingProxyType(
    {
        "independent_crashes": Generator(
            "each broker fails on its own, at exponential times",
            _by_name(
                Parameter("fault", "str", "kind of the rows", default="broker_crash", allowed=BROKER_STATE_KINDS),
                *_RATES,
                _MOMENTS,
                _BROKERS,
                _NAME,
            ),
        ),
        "rack_outages": Generator(
            "each rack fails at once, at exponential times; brokers without a rack never do",
            _by_name(
                Parameter(
                    "fault",
                    "str",
                    "kind of the rows: rack_loss, one a rack; else one for each of its brokers",
                    default="rack_loss",
                    allowed=("rack_loss", *BROKER_STATE_KINDS),
                ),
                *_RATES,
                _MOMENTS,
                Parameter("racks", "str_list", "only these racks; default: all"),
                _NAME,
            ),
        ),
        "rolling_restart": Generator(
            "a controlled shutdown of one broker after the other",
            _by_name(
                Parameter("down_rounds", "int", "rounds each broker is down", True, minimum=1),
                Parameter("from_round", "int", "round of the first shutdown", default=0, minimum=0),
                Parameter("pause_between_rounds", "int", "rounds from an end to the next start", default=0, minimum=0),
                Parameter("brokers", "int_list", "these brokers, in this order; default: all, as given"),
                _NAME,
            ),
        ),
        "random_failures": Generator(
            "some brokers, drawn from all, fail together for good",
            _by_name(
                Parameter("count", "int", "how many brokers fail", True, minimum=1),
                Parameter("draw", "int", "which draw of the seed's: each is of other brokers", default=0, minimum=0),
                Parameter(
                    "fault",
                    "str",
                    "kind of the rows",
                    default="power_loss",
                    allowed=("power_loss", "broker_crash", "disk_loss"),
                ),
                Parameter("from_round", "int", "round in which they fail", default=0, minimum=0),
                _MOMENTS,
                _BROKERS,
                _NAME,
            ),
        ),
    }
)
"""Every generator with its parameters: what the scenario file may say."""

_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {"int": (int,), "float": (int, float), "str": (str,), "bool": (bool,)}
)


_IN_WORDS = {"int": "an integer", "float": "a number", "str": "a string", "bool": "true or false"}
_OF_LISTS = {"int": "integers", "str": "strings"}


def parameter_problems(kind: str, params: Mapping[str, Any], brokers: Brokers) -> list[tuple[str, str]]:
    """Says what is wrong with a generator's parameters: (parameter, what is wrong and what is allowed); [] if nothing.

    The parameter is "generator" when the kind itself is unknown. A parameter that is None counts as absent.
    """
    generator = GENERATORS.get(kind)
    if generator is None:
        return [("generator", f"unknown generator {kind!r}; allowed: {', '.join(GENERATORS)}")]
    given = {name: value for name, value in params.items() if value is not None}
    problems = [
        (name, f"unknown parameter; allowed: {', '.join(generator.parameters)}")
        for name in given
        if name not in generator.parameters
    ]
    for name, parameter in generator.parameters.items():
        if name not in given:
            if parameter.required:
                problems.append((name, f"is required ({parameter.type}): {parameter.meaning}"))
        elif (problem := _value_problem(parameter, given[name])) is not None:
            problems.append((name, problem))
    return problems or _combination_problems(given, brokers)


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
        "clients": [clients if row.kind == "isolation" else None for row in rows],
        "moment": [row.moment if "moment" in FAULT_KINDS[row.kind].optional else None for row in rows],
    }
    absent = [None] * len(rows)
    return pa.table({name: columns.get(name, absent) for name in FAULT_SCHEMA.names}, schema=FAULT_SCHEMA)


def _value_problem(parameter: Parameter, value: Any) -> str | None:
    if parameter.type.endswith("_list"):
        item = parameter.type.removesuffix("_list")
        ok = isinstance(value, (list, tuple)) and len(value) > 0 and all(_is(item, one) for one in value)
        return None if ok else f"{value!r} is of the wrong type; allowed: a list of {_OF_LISTS[item]}, not empty"
    if not _is(parameter.type, value):
        time = ' of rounds, or a time such as "10m"' if "round" in parameter.name else ""
        return f"{value!r} is of the wrong type; allowed: {_IN_WORDS[parameter.type]}{time}"
    if parameter.allowed is not None and value not in parameter.allowed:
        return f"unknown value {value!r}; allowed: {', '.join(parameter.allowed)}"
    if parameter.type in ("int", "float"):
        # Written so that nan is refused too.
        low = -_MAX_ROUNDS if parameter.minimum is None else parameter.minimum
        if not (low <= value <= _MAX_ROUNDS) or (parameter.exclusive_minimum and value == low):
            return (
                f"{value!r} is out of range; allowed: {f'more than {low}' if parameter.exclusive_minimum else f'{low} or more'}"
            )
    return None


def _is(type_name: str, value: Any) -> bool:
    is_bool = isinstance(value, bool)
    return isinstance(value, _PYTHON_TYPES[type_name]) and is_bool == (type_name == "bool")


def _combination_problems(given: Mapping[str, Any], brokers: Brokers) -> list[tuple[str, str]]:
    problems = []
    uniform = [name for name in ("duration_rounds_min", "duration_rounds_max") if name in given]
    if uniform and "mean_duration_rounds" in given:
        problems.append(("mean_duration_rounds", f"give either it or {' and '.join(uniform)}"))
    if len(uniform) == 2 and given["duration_rounds_min"] > given["duration_rounds_max"]:
        problems.append(("duration_rounds_max", f"is below duration_rounds_min; allowed: {given['duration_rounds_min']} or more"))
    if "from_round" in given and "to_round" in given and given["from_round"] > given["to_round"]:
        problems.append(("to_round", f"is before from_round; allowed: {given['from_round']} or more"))
    candidates = len(given.get("brokers", brokers))
    if given.get("count", 0) > candidates:
        problems.append(("count", f"{given['count']} is out of range; allowed: 1 to {candidates}, the number of brokers"))
    known: dict[str, set[Any]] = {
        "brokers": {broker for broker, _ in brokers},
        "racks": {str(rack) for _, rack in brokers if rack is not None},
    }
    for name, members in known.items():
        listed = given.get(name, ())
        unknown = [one for one in listed if one not in members]
        if unknown:
            problems.append((name, f"names {unknown[0]!r}, which does not exist"))
        elif len(set(listed)) != len(listed):
            problems.append((name, "names one twice"))
    return problems


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
        if settings["fault"] == "rack_loss":
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
        from_round = settings["from_round"] + order * period
        if from_round < rounds:
            to_round = min(from_round + settings["down_rounds"], rounds)
            rows.append(_Row(from_round, order, to_round, "controlled_shutdown", broker, None))
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
