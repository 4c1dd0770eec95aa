"""Compiled rounds against the plain-Python reference, without Spark: what each tells of a case, in the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from emulator.inputs.arrays import Block, prepare, read_block
from emulator.outcomes.compiled.remote_segments import tier_counters
from emulator.outcomes.compiled.trace import list_offsets
from emulator.rounds.kafka.constants import FETCH_STATES, UNKNOWN
from emulator.rounds.kafka.event_kinds import EVENT_KINDS
from emulator.rounds.kafka.invariants import NAMES
from emulator.rounds.kafka.list_records import EpochEntry
from emulator.rounds.kafka.play_block import Scratch, play
from emulator.rounds.kafka.reading.records import CAUSES, NO_CAUSE, NO_POSITION, UNREAD_KINDS, Reader, Waited
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.tier.records import NOT_DELETED, STATE_NAMES, RemoteSegment
from emulator.rounds.kafka.told import Told
from emulator.rounds.packed import entries_of
from emulator.scenario import Run, Scenario, load_run
from tests.differing_rows import rows_that_differ
from tests.reference.consumers.reader import COUNTERS as READ_COUNTERS
from tests.reference.kafka import Result
from tests.rounds.cells import cells

Row = dict[str, Any]

COUNTERS = (
    "appended", "refused", "truncated", "replicated_bytes", "elections", "unclean_elections", "isr_shrinks", "isr_expands",
    "leaderless_rounds", "under_min_isr_rounds", "under_replicated_rounds", "unwritable_rounds", "unacked_rounds",
)  # fmt: skip
REFERENCE_KINDS = (
    "election", "unclean_election", "leader_lost", "isr_shrink", "isr_expand", "truncate",
    "acked_lost", "unacknowledged_lost", "committed_lost", "refused", "records_deleted", "log_damaged", "reassignment_completed",
)  # fmt: skip
TRACE_COLUMNS = ("role", "leader_epoch", "log_start_offset", "leo", "hw", "remote_leo", "in_isr", "epochs")
OF_A_TRACE_ROW = (
    "partition", "at_round", "role", "epochs", "segments", "local_bytes", "remote_leo", "in_isr", "fetch_state",
)  # fmt: skip
ROLES = ("follower", "leader", "offline")
SAME_IN_TRACE = {
    "broker": "broker",
    "leader_epoch": "leader_epoch",
    "log_start_offset": "log_start",
    "highest_remote_offset": "highest_remote",
    "leo": "leo",
    "hw": "hw",
}
"""Columns of the trace that a row of the rounds has as they are."""
MASKS = ("isr", "elr", "last_known_elr")
PARTITION_COLUMNS = ("leader", "leader_epoch", "isr", "elr", "last_known_elr")


@dataclass
class Played:
    """A block and what became of it."""

    block: Block
    state: State
    told: Told

    @cached_property
    def trace(self) -> dict[int, list[Row]]:
        """By place: rows of the trace, as the reference has them."""
        return _trace(self)

    @cached_property
    def events(self) -> dict[int, list[Row]]:
        """By place: events with nulls as None."""
        return _events(self)

    @cached_property
    def tier_counters(self) -> dict[str, np.ndarray]:
        """The counters of tiered storage, of all partitions."""
        return tier_counters(self.block.inputs, self.state)


def played(
    scenarios: Sequence[Scenario],
    traced: bool = True,
    leaps: bool = False,
    bucket_rounds: int = 10,
    room: int | None = None,
    rows_told: int | None = None,
    rules: Mapping[str, int] | None = None,
) -> Played:
    """All partitions of some scenarios, played to their end in one block.

    `room`: of lists, to begin with, and of rows told where `rows_told` does not say that. `rules`: fields of the rules of all
    protocols that are to be otherwise.
    """
    flags = {s.scenario_id: np.full(sum(len(t.assignment) for t in s.topics), traced) for s in scenarios}
    prepared = prepare(scenarios, flags, leaps, bucket_rounds)
    block = read_block(prepared.block(np.arange(prepared.partition_count)))
    for name, value in (rules or {}).items():
        block.inputs.rules[name][:] = value  # type: ignore[call-overload]
    scratch = Scratch(block.inputs) if room is None else Scratch(block.inputs, room, rows_told or room)
    state, told = play(block.state, block.inputs, block.traffic, scratch)
    return Played(block, state, told)


def scenarios_of(text: str, folder: Path) -> Run:
    """A scenario file from its text."""
    path = folder / "scenario.toml"
    path.write_text(text)
    return load_run(str(path))


def with_protocol(run: Run, protocol: str) -> Run:
    """The same under another protocol."""
    return replace(run, scenarios=tuple(replace(s, protocol=protocol) for s in run.scenarios))


def brokers_of(game: Played, place: int) -> list[int]:
    """Broker ids by slot of a partition."""
    part = game.state.partitions[place]
    brokers: list[int] = np.asarray(game.state.replicas["broker"][part.first_replica : part.first_replica + part.slots]).tolist()
    return brokers


def members(mask: int, brokers: Sequence[int]) -> list[int]:
    """The sorted broker ids of a mask."""
    return sorted(broker for slot, broker in enumerate(brokers) if mask >> slot & 1)


def trace_of(game: Played) -> dict[int, list[Row]]:
    """By place: rows of the trace, as the reference has them."""
    return game.trace


def _trace(game: Played) -> dict[int, list[Row]]:
    trace = game.told.trace
    places, rounds, roles, epochs, segments, local_bytes, remote_leo, in_isr, fetch_states = (
        np.asarray(trace[name]).tolist() for name in OF_A_TRACE_ROW
    )
    all_epochs = [list(entry) for entry in cells(game.told.trace_epochs, "epoch", "start_offset")]
    bases = [base for (base,) in cells(game.told.trace_segments, "base_offset")]
    columns = {
        "round": rounds,
        "role": [ROLES[role] for role in roles],
        "local_segments": [own or None for own in _parted(bases, segments)],
        "local_bytes": [None if known == UNKNOWN else known for known in local_bytes],
        "remote_leo": [None if known == UNKNOWN else known for known in remote_leo],
        "in_isr": list(map(bool, in_isr)),
        "fetch_state": [FETCH_STATES[state] or None for state in fetch_states],
        "epochs": _parted(all_epochs, epochs),
        **{name: np.asarray(trace[own]).tolist() for name, own in SAME_IN_TRACE.items()},
        **{name: values.to_pylist() for name, values in list_offsets(game.block.inputs, game.state, trace).items()},
    }
    traces: dict[int, list[Row]] = {}
    for place, row in zip(places, zip(*columns.values(), strict=True), strict=True):
        traces.setdefault(place, []).append(dict(zip(columns, row, strict=True)))
    return traces


def _parted(entries: list[Any], counts: Sequence[int]) -> list[list[Any]]:
    """The entries of a list by the row they belong to: so many each, one row's after the other's."""
    return [entries[end - count : end] for count, end in zip(counts, accumulate(counts), strict=True)]


def partition_trace_of(game: Played) -> dict[int, list[Row]]:
    """By place: rows of trace_partitions."""
    traces: dict[int, list[Row]] = {}
    brokers_by_place = {place: brokers_of(game, place) for place in range(len(game.state.partitions))}
    for place, round_, leader, epoch, *masks in cells(
        game.told.trace_partitions, "partition", "at_round", "leader", "leader_epoch", *MASKS
    ):
        brokers = brokers_by_place[place]
        traces.setdefault(place, []).append(
            {
                "round": round_,
                "leader": brokers[leader] if leader >= 0 else -1,
                "leader_epoch": epoch,
                **{name: members(mask, brokers) for name, mask in zip(MASKS, masks, strict=True)},
            }
        )
    return traces


def events_of(game: Played) -> dict[int, list[Row]]:
    """By place: events with nulls as None."""
    return game.events


def _events(game: Played) -> dict[int, list[Row]]:
    events: dict[int, list[Row]] = {}
    nullable = ("leader_epoch", "from_offset", "to_offset", "cause", "records")
    for place, round_, kind, broker, *others in cells(game.told.events, "partition", "at_round", "kind", "broker", *nullable):
        known = {name: None if value == UNKNOWN else value for name, value in zip(nullable, others, strict=True)}
        events.setdefault(place, []).append({"round": round_, "kind": EVENT_KINDS[kind], "broker": broker, **known})
    return events


def outcomes_of(game: Played, place: int) -> Row:
    """The outcomes of a partition."""
    part = game.state.partitions[place]
    brokers = brokers_of(game, place)
    return {
        **{name: int(part[name]) for name in COUNTERS},
        "acked": int(part.acked_total),
        **tier_outcomes_of(game, place),
        "local_deleted_bytes": int(part.local_deleted_bytes),
        "acked_lost": int(part.acked_lost),
        "sent_unacknowledged": int(part.sent_unacknowledged),
        "unacknowledged_lost": int(part.unacknowledged_lost),
        "committed_lost": int(part.committed_lost),
        "leader": brokers[part.leader] if part.leader >= 0 else -1,
        "leader_epoch": int(part.epoch),
        "isr": members(int(part.isr), brokers),
        "elr": members(int(part.elr), brokers),
        "hw": int(part.end_hw),
        "leo": int(part.end_leo),
    }


def tier_outcomes_of(game: Played, place: int) -> Row:
    """The counters of tiered storage, where the partition has it."""
    return {column: int(values[place]) for column, values in game.tier_counters.items()}


def remote_segments_of(game: Played, place: int) -> list[Row]:
    """The attempts to copy of a partition, by number, as the reference has them."""
    remote, epochs = game.state.remote, entries_of(EpochEntry, game.state.remote_epochs)
    first, brokers = int(game.state.remote_epochs.offsets[place]), brokers_of(game, place)
    rows = entries_of(RemoteSegment, remote)[remote.offsets[place] : remote.offsets[place + 1]]

    def span(begin: int, count: int) -> list[list[int]]:
        return [[int(e.epoch), int(e.start_offset)] for e in epochs[first + begin : first + begin + count]]

    return [
        {
            "segment": number,
            "base_offset": int(row.base_offset),
            "end_offset": int(row.end_offset),
            "epochs": span(row.first_epoch, row.epochs),
            "checkpoint": span(row.first_checkpoint, row.checkpoints),
            "bytes": int(row.size_bytes),
            "stored_bytes": int(row.stored_bytes),
            "state": STATE_NAMES[row.state],
            "broker": brokers[row.slot] if row.slot >= 0 else -1,
            "leader_epoch": int(row.leader_epoch),
            **{name: None if row[name] == UNKNOWN else int(row[name]) for name in ("started_round", "copied_round")},
            "in_lineage": bool(row.in_lineage),
            "deleted_round": None if row.deleted_round == NOT_DELETED else int(row.deleted_round),
        }
        for number, row in enumerate(rows)
    ]


def consumer_groups_of(game: Played, place: int) -> dict[str, Row]:
    """By name of the group the row of `consumer_groups` for a partition, with nulls as None."""
    part, reading = game.state.partitions[place], game.state.readers
    readers = entries_of(Reader, reading)[reading.offsets[place] : reading.offsets[place + 1]]
    waits = entries_of(Waited, game.state.waits)[game.state.waits.offsets[place] :]
    names = game.block.group_names[int(part.scenario)]
    first, last = int(part.first_replica), int(part.client_leader)
    hw = 0 if last < 0 else int(game.state.replicas[first + last].hw)
    found = {}
    for number, reader in enumerate(readers):
        waited = {cause: int(waits[number * len(CAUSES) + at].waited_rounds) for at, cause in enumerate(CAUSES)}
        has_started = reader.position != NO_POSITION
        found[names[int(game.block.inputs.wants[reader.want].group)]] = {
            **{name: int(reader[name]) for name in (*READ_COUNTERS, "max_lag")},
            "group": names[int(game.block.inputs.wants[reader.want].group)],
            "position": int(reader.position) if has_started else None,
            "epoch": None if reader.epoch == UNKNOWN else int(reader.epoch),
            "lag": max(0, hw - int(reader.position)) if has_started else 0,
            "waited_rounds": {cause: rounds for cause, rounds in sorted(waited.items()) if rounds},
            "stopped": None if reader.stopped == NO_CAUSE else CAUSES[int(reader.stopped)],
        }
    return found


def unread_of(game: Played, place: int) -> list[Row]:
    """The rows of `unread` for a partition, with nulls as None."""
    names = game.block.group_names[int(game.state.partitions[place].scenario)]
    same = ("from_round", "to_round", "from_offset", "to_offset")
    return [
        {
            **dict(zip(same, others, strict=True)),
            "group": names[group],
            "kind": UNREAD_KINDS[kind],
            "cause": CAUSES[cause],
            "broker": None if broker < 0 else broker,
        }
        for group, kind, cause, broker, *others in cells(
            rows_of(game.told.unread, place), "group", "kind", "cause", "broker", *same
        )
    ]


def read_violations_of(game: Played, place: int) -> list[tuple[int, str, str]]:
    """(round, invariant, group) of the violations by reads of a partition."""
    names = game.block.group_names[int(game.state.partitions[place].scenario)]
    rows = cells(rows_of(game.told.violations, place), "at_round", "invariant", "group")
    return [(round_, NAMES[invariant], names[group]) for round_, invariant, group in rows if group >= 0]


def rows_of(table: Any, place: int) -> Any:
    """The rows of a table that were told of one partition."""
    return table[np.asarray(table["partition"]) == place]


def differences(
    expected: Result,
    game: Played,
    place: int,
    known: Mapping[str, Any],
    columns_too: tuple[str, ...] = (),
    kinds_too: tuple[str, ...] = (),
) -> list[tuple[Any, ...]]:
    """What differs, as (column, round, key, of the reference, of the rounds), earliest round first; `known`: parts made once.

    `columns_too`, `kinds_too`: columns of the trace and kinds of events beside those of the plain reference.
    """
    kinds = (*REFERENCE_KINDS, *kinds_too)
    found = rows_that_differ(expected.trace, known["trace"][place], ("round", "broker"), (*TRACE_COLUMNS, *columns_too))
    found += rows_that_differ(expected.trace_partitions, known["partitions"][place], ("round",), PARTITION_COLUMNS)
    left = Counter(tuple(event) for event in expected.events if event.kind in kinds)
    columns = ("round", "kind", "broker", "leader_epoch", "from_offset", "to_offset", "cause", "records")
    seen = [row for row in known["events"].get(place, []) if row["kind"] in kinds]
    right = Counter(tuple(row[c] for c in columns) for row in seen)
    found += [("event", event[0], event, n, 0) for event, n in (left - right).items()]
    found += [("event", event[0], event, 0, n) for event, n in (right - left).items()]
    own = outcomes_of(game, place)
    end = len(expected.trace_partitions)
    found += [(k, end, "outcomes", v, own[k]) for k, v in expected.outcomes.items() if k in own and v != own[k]]
    return sorted(found, key=lambda difference: difference[1])


def all_known(game: Played) -> dict[str, Any]:
    """Trace and events of all partitions, by place."""
    return {"trace": trace_of(game), "partitions": partition_trace_of(game), "events": events_of(game)}
