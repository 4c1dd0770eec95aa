"""The kinds of generators with their parameters, and what is wrong with parameters that are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from emulator.faults.kinds import BROKER_STATE_KINDS, RACK_KINDS
from emulator.scenario.durations import why_no_time

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
    Parameter("clients", "bool", "isolation and rack_isolation only: cut off from clients too", default=False),
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
                    "kind of the rows: rack_loss and rack_isolation, one a rack; else one for each of its brokers",
                    default="rack_loss",
                    allowed=(*RACK_KINDS, *BROKER_STATE_KINDS),
                ),
                *_RATES,
                _MOMENTS,
                Parameter("racks", "str_list", "only these racks; default: all"),
                _NAME,
            ),
        ),
        "rolling_restart": Generator(
            "one broker after the other goes down and comes back, or a few at a time",
            _by_name(
                Parameter("fault", "str", "kind of the rows", default="controlled_shutdown", allowed=BROKER_STATE_KINDS),
                Parameter("brokers_at_once", "int", "brokers that go down together", default=1, minimum=1),
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


def _value_problem(parameter: Parameter, value: Any) -> str | None:
    if parameter.type.endswith("_list"):
        item = parameter.type.removesuffix("_list")
        ok = isinstance(value, (list, tuple)) and len(value) > 0 and all(_is(item, one) for one in value)
        return None if ok else f"{value!r} is of the wrong type; allowed: a list of {_OF_LISTS[item]}, not empty"
    if not _is(parameter.type, value):
        is_time = "round" in parameter.name
        time = ' of rounds, or a time such as "10m"' if is_time else ""
        problem = why_no_time(value) if is_time and isinstance(value, str) else "is of the wrong type"
        return f"{value!r} {problem}; allowed: {_IN_WORDS[parameter.type]}{time}"
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
