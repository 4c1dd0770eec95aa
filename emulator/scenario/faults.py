"""Fault rows: from the scenario file, from faults_file, and from generators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import did_you_mean, listing, quoted
from emulator.faults.kinds import DIRECTIONS, FAULT_KINDS, FAULT_SCHEMA, SLOWNESS
from emulator.scenario.durations import milliseconds, rounds_of
from emulator.scenario.model import Broker
from emulator.scenario.places import Places
from emulator.scenario.rows import Rows
from emulator.scenario.shapes import INT_MAX, MAX_ROUND_MS, MIN_ROUND_TRIP_MS
from emulator.scenario.table_files import Column
from emulator.scenario.workload import fill_to_round

SEED_STRIDE = 0x9E3779B97F4A7C15  # far apart, so that no generator repeats one of a neighbouring scenario seed
EMULATED = tuple(FAULT_KINDS)
STALLING = "slow_remote_storage"
"""The kind that may leave nothing: a copy waits then."""
OF_LINKS = frozenset({"link_cut", "slow_link"})
"""Kinds that may have a direction."""
MEAN_DURATION_MS = 60_000
"""Mean duration of a drawn fault that nothing is said of."""
_DURATIONS = {"mean_duration_rounds", "duration_rounds_min", "duration_rounds_max"}
OF_EVERY_KIND = ("kind", "from_round", "to_round", "name")
FAULT_FILE_COLUMNS: Mapping[str, Column] = {
    field.name: Column(field.type, required=field.name in ("kind", "from_round")) for field in FAULT_SCHEMA
}


def resolve_faults(sources: Sequence[Rows], brokers: Sequence[Broker], partitions: Mapping[str, int], rounds: int) -> pa.Table:
    """Checks fault rows; returns FAULT_SCHEMA, sources in their order, so that the row index is the fault_id.

    `partitions`: by topic name. An absent to_round becomes the end of the run, an absent direction of a link "both",
    an absent `clients` false. Raises InputError for the first row of an unknown kind, without what its kind needs or
    with what it has no use for, with an impossible interval, or naming a broker, rack, topic or partition that does
    not exist.
    """
    return pa.concat_tables([_resolve(rows, brokers, partitions, rounds) for rows in sources])


def draw_generators(
    places: Places, generators: Sequence[Mapping[str, Any]], brokers: Sequence[Broker], rounds: int, seed: int, round_ms: int
) -> list[Rows]:
    """Draws the fault rows of each generator; the same scenario seed and generator index give the same rows.

    `round_ms`: what times such as "10m" are divided by, and the mean duration where nothing is said of it. Raises InputError for
    an unknown generator, or parameters it does not take.
    """
    from emulator.faults.generator_kinds import GENERATORS, parameter_problems  # only where there are some
    from emulator.faults.generators import generate

    drawn = []
    known = [(broker.id, broker.rack) for broker in brokers]
    for index, given in enumerate(generators):
        kind = given.get("kind")
        if not isinstance(kind, str) or kind not in GENERATORS:
            found = "is missing" if kind is None else f"unknown kind {quoted(kind)}{did_you_mean(str(kind), GENERATORS)}"
            raise places.error(("fault_generators", index, "kind"), found, listing(GENERATORS))
        params = {key: _in_rounds(key, value, round_ms) for key, value in given.items() if key != "kind"}
        if "mean_duration_rounds" in GENERATORS[kind].parameters and not _DURATIONS & params.keys():
            params["mean_duration_rounds"] = MEAN_DURATION_MS / round_ms
        if isinstance(params.get("racks"), list):
            params["racks"] = [str(rack) if type(rack) is int else rack for rack in params["racks"]]
        for key, problem in parameter_problems(kind, params, known):
            allowed = {
                "brokers": broker_ids_allowed([broker.id for broker in brokers]),
                "racks": _racks_allowed(brokers),
            }
            words = None if "allowed:" in problem else allowed.get(key, listing(GENERATORS[kind].parameters))
            raise places.error(("fault_generators", index, key), problem, words)
        table = generate(kind, params, known, rounds, (seed + index * SEED_STRIDE) % 2**63)
        drawn.append(Rows(table, places.file, partial(_drawn_place, places.name("fault_generators", index))))
    return drawn


def _in_rounds(key: str, value: Any, round_ms: int) -> Any:
    """A parameter of a generator; of those in rounds, a time as so many rounds: of means exactly, of all others whole ones."""
    ms = milliseconds(value) if isinstance(value, str) and "round" in key else None
    if ms is None:
        return value
    return float(ms / round_ms) if key in ("mtbf_rounds", "mean_duration_rounds") else rounds_of(ms, round_ms)


def _drawn_place(generator: str, row: int, column: str) -> str:
    return f"{generator}, drawn row {row + 1}, {column}"


def _resolve(rows: Rows, brokers: Sequence[Broker], partitions: Mapping[str, int], rounds: int) -> pa.Table:
    _check_kinds(rows)
    rows.check_interval()
    rows.check_range("bytes_per_second", 0)
    if rows.has_any("bytes_per_second"):
        stalled = pc.and_(pc.equal(rows.table.column("bytes_per_second"), 0), pc.not_equal(rows.table.column("kind"), STALLING))
        rows.refuse(stalled, "bytes_per_second", "{value} is out of range", "1 or more")
    rows.check_range("round_trip_ms", MIN_ROUND_TRIP_MS, MAX_ROUND_MS)
    rows.check_range("lag_rounds", 0, INT_MAX)
    if rows.has_any("lag_rounds"):
        prompt = pc.and_(pc.equal(rows.table.column("lag_rounds"), 0), pc.equal(rows.table.column("kind"), "slow_bookie"))
        rows.refuse(prompt, "lag_rounds", "{value} is out of range", "1 or more")
    if rows.has_any("moment"):
        moments = rows.table.column("moment")
        wrong = pc.invert(pc.and_(pc.greater_equal(moments, 0), pc.less_equal(moments, 1)))  # also what is not a number
        rows.refuse(wrong, "moment", "{value} is no moment of a round", "0 or more and below 1, or 1 for after the append")
    if rows.has_any("direction"):
        directions = rows.table.column("direction")
        wrong = pc.invert(pc.is_in(directions, value_set=pa.array([None, *DIRECTIONS], pa.string())))
        rows.refuse(wrong, "direction", "{value} is not known", '"both", "out" or "in"')
    _check_brokers(rows, brokers)
    if rows.has_any("topic"):
        rows.check_partition(rows.check_topics(partitions))
    return _filled(rows.table, rounds)


def _check_kinds(rows: Rows) -> None:
    kinds = rows.table.column("kind")
    there = kinds.unique().to_pylist()
    for name in there:
        if name not in FAULT_KINDS:
            problem = f"unknown kind {quoted(name)}{did_you_mean(name, EMULATED)}"
            raise rows.error(pc.index(kinds, name).as_py(), "kind", problem, listing(EMULATED))
    for column in FAULT_SCHEMA.names:
        if column in OF_EVERY_KIND:
            continue
        values = rows.table.column(column)
        needing = [kind for kind in there if column in FAULT_KINDS[kind].required]
        if needing and values.null_count:
            bad = pc.and_(pc.is_null(values), pc.is_in(kinds, value_set=pa.array(needing, pa.string())))
            _refuse_column(rows, bad, column, "needs")
        idle = [kind for kind in there if column not in (*FAULT_KINDS[kind].required, *FAULT_KINDS[kind].optional)]
        if idle and rows.has_any(column):
            bad = pc.and_(pc.is_valid(values), pc.is_in(kinds, value_set=pa.array(idle, pa.string())))
            _refuse_column(rows, bad, column, "has no use for")
    if "slow_link" in there:
        says = [pc.is_valid(rows.table.column(name)) for name in SLOWNESS]
        bad = pc.and_(pc.equal(kinds, "slow_link"), pc.invert(pc.or_(*says)))
        _refuse_column(rows, bad, SLOWNESS[0], f"needs {SLOWNESS[1]} or")
    if rows.has_any("partition"):
        orphans = pc.and_(pc.is_valid(rows.table.column("partition")), pc.is_null(rows.table.column("topic")))
        rows.refuse(orphans, "partition", "{value} stands without a topic", "topic and partition, topic alone, or neither")


def _refuse_column(rows: Rows, bad: Any, column: str, verb: str) -> None:
    row = pc.index(bad, True).as_py()
    if row >= 0:
        kind = rows.table.column("kind")[row].as_py()
        needs, may = FAULT_KINDS[kind].required, FAULT_KINDS[kind].optional
        optional = [*(f"{name} (optional)" for name in may), "to_round (optional)", "name (optional)"]
        raise rows.error(row, column, f"{kind} {verb} {column}", listing(["kind", "from_round", *needs, *optional]))


def _check_brokers(rows: Rows, brokers: Sequence[Broker]) -> None:
    ids = [broker.id for broker in brokers]
    racks = sorted({broker.rack for broker in brokers if broker.rack is not None})
    allowed = broker_ids_allowed(ids)
    rows.check_member("broker", ids, "broker", allowed)
    rows.check_member("peer", ids, "broker", allowed)
    if rows.has_any("peer"):
        same = pc.equal(rows.table.column("broker"), rows.table.column("peer"))
        rows.refuse(same, "peer", "{value} is the broker itself", "another broker")
    rows.check_member("rack", racks, "rack", _racks_allowed(brokers))


def _racks_allowed(brokers: Sequence[Broker]) -> str:
    racks = sorted({broker.rack for broker in brokers if broker.rack is not None})
    return listing(quoted(rack) for rack in racks) or "none, the brokers have no racks"


def broker_ids_allowed(ids: Sequence[int]) -> str:
    """Says which brokers there are: a range when they are numbered without a gap.

    >>> broker_ids_allowed([1, 2, 3]), broker_ids_allowed([1, 5])
    ('1 to 3', '1, 5')
    """
    ordered = sorted(ids)
    if len(ordered) > 1 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{ordered[0]} to {ordered[-1]}"
    return listing(ordered)


def _filled(table: pa.Table, rounds: int) -> pa.Table:
    kinds = table.column("kind")
    columns = {name: table.column(name) for name in FAULT_SCHEMA.names}
    columns["to_round"] = fill_to_round(columns["from_round"], columns["to_round"], rounds)
    if not OF_LINKS.isdisjoint(kinds.unique().to_pylist()):
        links = pc.is_in(kinds, value_set=pa.array(sorted(OF_LINKS)))
        columns["direction"] = pc.if_else(links, pc.fill_null(columns["direction"], "both"), pa.nulls(len(kinds), pa.string()))
    columns["clients"] = pc.fill_null(columns["clients"], False)
    return pa.table(columns, schema=FAULT_SCHEMA)
