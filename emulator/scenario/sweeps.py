"""Sweeps: each broker, rack or pair of brokers in turn under a fault, settings over values, seeds; every case is a scenario.

Cases are all combinations of a file's sweeps, for the base and for every variant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, combinations, count, product
from typing import Any

import pyarrow as pa

from emulator.errors import did_you_mean, listing, quoted
from emulator.faults.kinds import FAULT_KINDS, FAULT_SCHEMA, RACK_KINDS
from emulator.scenario.both_systems import own_rows
from emulator.scenario.clusters import ELR_FEATURE
from emulator.scenario.config_keys import KEYS, ConfigKey
from emulator.scenario.durations import ROUND_MS
from emulator.scenario.faults import resolve_faults
from emulator.scenario.globs import known_topics_listed, matching_topics
from emulator.scenario.ledger_configs import LEDGER_KEYS
from emulator.scenario.ledgers import has_ledgers, refuse_other_systems
from emulator.scenario.model import Broker, Scenario
from emulator.scenario.places import Location, Places
from emulator.scenario.quorum_configs import GROUP_KEYS
from emulator.scenario.rows import Rows
from emulator.scenario.shapes import SweepShape
from emulator.scenario.variants import MAX_NAME_CHARS, merge_change

MOST_CASES = 50_000

OF_VARIANT, OF_FAULT, OF_SETTINGS, OF_SEED = "sweep.variant", "sweep.fault", "sweep.settings", "sweep.seed"
"""Names in `scenarios.overrides` of what a case varies: texts as JSON, and a number. Every case has the first."""

OF_BROKERS = tuple(name for name, kind in FAULT_KINDS.items() if "broker" in kind.required and "peer" not in kind.required)
OF_PAIRS = (*OF_BROKERS, *(name for name, kind in FAULT_KINDS.items() if "peer" in (*kind.required, *kind.optional)))
IN_RACKS: Mapping[str, Mapping[str, Any]] = {
    "rack_loss": {"kind": "rack_loss"},
    "broker_crash": {"kind": "rack_loss"},
    "power_loss": {"kind": "rack_loss", "power": True},
    "rack_isolation": {"kind": "rack_isolation"},
    "isolation": {"kind": "rack_isolation"},
}
"""Kinds of which a rack has one row, and what they are of a rack."""

OTHER_SETTINGS = ("protocol", "acks", ELR_FEATURE)
SETTINGS = (*OTHER_SETTINGS, *(name for name, key in KEYS.items() if key.effect), *LEDGER_KEYS, *GROUP_KEYS)

Resolve = Callable[[Places, int, str, dict[str, str]], Scenario]
"""From a file with changes to the scenario of this id and name that has these overrides."""


@dataclass(frozen=True)
class _Start:
    """What cases vary: the base or a variant, in its file, and whether it has both systems."""

    places: Places
    scenario: Scenario
    both: bool


def resolve_sweeps(
    places: Places, sweeps: Sequence[SweepShape], starts: Sequence[tuple[Places, Scenario]], both: bool, resolve: Resolve
) -> list[Scenario]:
    """Returns a scenario for each case, with ids from the last of `starts` on.

    `starts`: the base and the variants, with their files. `both`: the file has partitions and ledgers. Raises InputError for a
    sweep of nothing or of more than one thing, for a value that a setting does not take, and for more than MOST_CASES.
    """
    for at, sweep in enumerate(sweeps):
        _check(places, at, sweep)
        for before in sweeps[:at] if sweep.set is not None else ():
            if (before.set, before.topic) == (sweep.set, sweep.topic):
                raise places.error(("sweeps", at, "set"), f"{sweep.set} is swept already", "one sweep with all of its values")
    if not sweeps:
        return []
    found: list[Scenario] = []
    taken, ids = {scenario.name for _, scenario in starts}, count(len(starts))
    for start in starts:
        own = _of_rounds(sweeps, places, start[1].round_ms)
        for scenario in _cases(_Start(*start, both), own, resolve):
            if len(found) == MOST_CASES:
                raise places.error(("sweeps",), f"make more than {MOST_CASES} cases", f"up to {MOST_CASES} combinations")
            if scenario.name in taken:
                raise places.error(("sweeps",), f"make a case called {quoted(scenario.name)}, which there is", "other names")
            taken.add(scenario.name)
            found.append(replace(scenario, scenario_id=next(ids)))
    return found


def _of_rounds(sweeps: Sequence[SweepShape], places: Places, round_ms: int) -> list[SweepShape]:
    """The sweeps of a start with rounds of so many milliseconds: times of faults are divided by them."""
    given = places.data["sweeps"]
    return [SweepShape.model_validate(given[at], context={ROUND_MS: round_ms}) for at in range(len(sweeps))]


def _check(places: Places, at: int, sweep: SweepShape) -> None:
    here: Location = ("sweeps", at)
    of = [name for name in ("each", "set", "seeds") if getattr(sweep, name) is not None]
    if len(of) != 1:
        problem = f"has {' and '.join(of)}" if of else "sweeps nothing"
        raise places.error(here, problem, "one of each, set, seeds")
    needs = {"each": ("fault",), "set": ("values",), "seeds": ()}[of[0]]
    for key in ("fault", "values", "topic"):
        given = getattr(sweep, key) is not None
        if given and key not in needs and not (key == "topic" and of == ["set"]):
            raise places.error((*here, key), f"a sweep of {of[0]} has no use for it", listing([*of, *needs]))
        if not given and key in needs:
            raise places.error((*here, key), "is missing", f"with {of[0]}")
    if sweep.set is not None:
        _check_set(places, here, sweep)


def _check_set(places: Places, here: Location, sweep: SweepShape) -> None:
    name, values = str(sweep.set), sweep.values or []
    if name not in SETTINGS:
        problem = f"unknown setting {quoted(name)}{did_you_mean(name, SETTINGS)}"
        raise places.error((*here, "set"), problem, f"{listing(OTHER_SETTINGS)}, or a config key that has an effect")
    if len({json.dumps(value) for value in values}) < len(values):
        raise places.error((*here, "values"), "has a value twice", "each value once")
    for value in values:
        if not isinstance(value, (str, int, bool)):
            raise places.error(
                (*here, "values"), f"{quoted(value)} is no value of a setting", "strings, integers, true and false"
            )
    if name == "acks" and places.data.get("workload_file") is not None:
        raise places.error((*here, "set"), "workload_file says what acks are", "acks of [[workload]] only")
    key = _key(name)
    if sweep.topic is not None and (key is None or not key.topic):
        raise places.error((*here, "topic"), f"{name} is not of topics", "no topic")


def _key(name: str) -> ConfigKey | None:
    """What a swept config key is; None: another setting."""
    return KEYS.get(name) or LEDGER_KEYS.get(name) or GROUP_KEYS.get(name)


def _cases(start: _Start, sweeps: Sequence[SweepShape], resolve: Resolve) -> Iterator[Scenario]:
    """The cases of one start, in the order of the sweeps, the last one's values fastest; ids are not theirs yet."""
    settings = [_settings(at, sweep, start) for at, sweep in enumerate(sweeps) if sweep.set is not None]
    seeds = [_seeds(at, sweep, start) for at, sweep in enumerate(sweeps) if sweep.seeds is not None]
    for chosen in product(*settings, *seeds):
        changed, overrides = start.places, {**start.scenario.overrides, OF_VARIANT: json.dumps(start.scenario.name)}
        for change in chosen[: len(settings)]:
            changed = change.apply(changed)
        if settings:
            # The view `sweep` takes them apart by ", ".
            told = [re.sub(", +", ",", change.name) for change in chosen[: len(settings)]]
            overrides[OF_SETTINGS] = json.dumps(", ".join(told))
        for change in chosen[len(settings) :]:
            changed = change.apply(changed)
            overrides[OF_SEED] = change.name.removeprefix("seed ")
        names = [change.name for change in chosen]
        scenario = resolve(changed, 0, start.scenario.name, overrides) if chosen else start.scenario
        for at_fault, rows, of_fault in _with_faults(start, changed, scenario, sweeps, resolve):
            name = _named(start, [*at_fault, *names])
            more = {OF_FAULT: json.dumps(" and ".join(at_fault))} if at_fault else {}
            yield replace(of_fault, name=name, overrides={**overrides, **more}, faults=rows)


def _named(start: _Start, names: Sequence[str]) -> str:
    of_start = [start.scenario.name] if start.scenario.scenario_id else []
    name = ", ".join([*of_start, *names])
    if len(name) > MAX_NAME_CHARS:
        raise start.places.error(("sweeps",), f"make the name {quoted(name)}", f"names of up to {MAX_NAME_CHARS} characters")
    return name


@dataclass(frozen=True)
class _Change:
    """One value of a sweep: what it is called, and how it changes a file."""

    name: str
    apply: Callable[[Places], Places]


def _seeds(at: int, sweep: SweepShape, start: _Start) -> list[_Change]:
    first = start.scenario.seed
    prefix = start.places.name("sweeps", at)
    return [
        _Change(f"seed {seed}", partial(merge_change, change={"seed": seed}, prefix=prefix))
        for seed in range(first, first + (sweep.seeds or 0))
    ]


def _settings(at: int, sweep: SweepShape, start: _Start) -> list[_Change]:
    name, here = str(sweep.set), f"sweeps[{at}]"
    known = [topic.name for topic in start.scenario.topics]
    topics = matching_topics(sweep.topic or "*", known)
    if not topics and sweep.topic is not None:
        problem = f"no topic is called {quoted(sweep.topic)}{did_you_mean(sweep.topic, known)}"
        raise start.places.error(("sweeps", at, "topic"), problem, known_topics_listed(known))
    of = f"{sweep.topic}: " if sweep.topic else ""
    changes = []
    for value in sweep.values or []:
        told = f"{of}{name} = {value if isinstance(value, str) else json.dumps(value)}"
        change = partial(_changed, name=name, value=value, topics=topics, prefix=f"{here} ({told})")
        changes.append(_Change(told, change))
    return changes


def _changed(places: Places, name: str, value: Any, topics: Sequence[str], prefix: str) -> Places:
    """The file with a setting of this value."""
    change: dict[str, Any]
    key = _key(name)
    if name == "protocol":
        change = {"protocol": value}
    elif name == "acks":
        rows = [{**row, "acks": value} for row in places.data.get("workload", [])]
        return Places(places.file, {**places.data, "workload": rows}, prefix)
    elif key is not None and key.topic:
        change = {"topics": [{"name": topic, "config": {name: value}} for topic in topics]}
    else:
        change = {"cluster": {"features" if key is None else "config": {name: value}}}
    return merge_change(places, change, prefix)


def _with_faults(
    start: _Start, places: Places, scenario: Scenario, sweeps: Sequence[SweepShape], resolve: Resolve
) -> Iterator[tuple[list[str], pa.Table, Scenario]]:
    """Of each combination of what the sweeps strike: names of it, the faults, and the scenario that has them."""
    each = [(at, sweep) for at, sweep in enumerate(sweeps) if sweep.each is not None]
    if not each:
        yield [], scenario.faults, scenario
        return
    struck = list(product(*(_struck(start.places, at, sweep, scenario.brokers) for at, sweep in each)))
    rows = [[row for one in combination for row in one.rows] for combination in struck]
    places_of_rows = [f"sweeps[{each[0][0]}] ({one[0].name}).fault" for one, of in zip(struck, rows, strict=True) for _ in of]
    table = pa.Table.from_pylist(list(chain.from_iterable(rows)), schema=FAULT_SCHEMA)
    partitions = {topic.name: topic.partitions for topic in scenario.topics}
    checked = Rows(table, start.places.file, lambda row, column: f"{places_of_rows[row]}.{column}")
    faults = resolve_faults([checked], scenario.brokers, partitions, scenario.rounds)
    first = 0
    for combination, own in zip(struck, rows, strict=True):
        names = [one.name for one in combination]
        more = faults.slice(first, len(own))
        first += len(own)
        if has_ledgers(scenario.protocol):  # their first ensembles follow from the faults
            given = {"faults": [*places.data.get("faults", []), *own]}
            again = resolve(Places(places.file, {**places.data, **given}, places.prefix), 0, scenario.name, {})
            yield names, again.faults, again
            continue
        if start.both:
            more = own_rows(scenario.protocol, scenario.workload, more)[1]
        refuse_other_systems(start.places, scenario.protocol, scenario.workload, more)
        yield names, pa.concat_tables([scenario.faults, more]).combine_chunks(), scenario


@dataclass(frozen=True)
class _Struck:
    """What one case strikes: what it is called, and the fault rows of it."""

    name: str
    rows: tuple[Mapping[str, Any], ...]


def _struck(places: Places, at: int, sweep: SweepShape, brokers: Sequence[Broker]) -> list[_Struck]:
    """Each broker, rack or pair of brokers under the sweep's fault, in the order of ids and names."""
    given = {} if sweep.fault is None else sweep.fault.model_dump(exclude_none=True)
    kind, here = str(given.get("kind")), ("sweeps", at, "fault")
    for key in ("broker", "peer", "rack"):
        if key in given:
            raise places.error((*here, key), "the sweep says which", f"a fault without {key}")
    allowed = {"broker": OF_BROKERS, "rack": (*RACK_KINDS, *OF_BROKERS), "pair": OF_PAIRS}[str(sweep.each)]
    if kind not in allowed:
        problem = f"{quoted(kind)} is no fault of a {sweep.each}{did_you_mean(kind, allowed)}"
        raise places.error((*here, "kind"), problem, listing(dict.fromkeys(allowed)))
    ids = sorted(broker.id for broker in brokers)
    if sweep.each == "broker":
        return [_Struck(f"broker {broker}", ({**given, "broker": broker},)) for broker in ids]
    if sweep.each == "pair":
        return [_Struck(f"brokers {one} and {other}", _of_pair(given, one, other)) for one, other in combinations(ids, 2)]
    racks = sorted({broker.rack for broker in brokers if broker.rack is not None})
    if not racks:
        raise places.error(("sweeps", at, "each"), "the brokers have no racks", "broker or pair")
    return [_Struck(f"rack {rack}", _of_rack(given, rack, brokers)) for rack in racks]


def _of_pair(given: Mapping[str, Any], one: int, other: int) -> tuple[Mapping[str, Any], ...]:
    if "peer" in (*FAULT_KINDS[given["kind"]].required, *FAULT_KINDS[given["kind"]].optional):
        return ({**given, "broker": one, "peer": other},)
    return ({**given, "broker": one}, {**given, "broker": other})


def _of_rack(given: Mapping[str, Any], rack: str, brokers: Sequence[Broker]) -> tuple[Mapping[str, Any], ...]:
    kind = given["kind"]
    if kind in IN_RACKS:
        return ({**given, **IN_RACKS[kind], "rack": rack},)
    return tuple({**given, "broker": broker.id} for broker in brokers if broker.rack == rack)
