"""Compiled rounds of ledgers in the words of the reference, without Spark (tests/bookkeeper/by_reference.py)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emulator.inputs.ledger_arrays import Block, read_ledgers
from emulator.rounds.bookkeeper.constants import (
    ALL_BETWEEN,
    DONE,
    ERRORS,
    EVENT_KINDS,
    NEVER,
    NO_ENTRY,
    NO_FAULT,
    NOBODY,
    OF_THE_WRITER,
    OK,
    PENDING,
    PHASES,
    STATES,
    WRITER_STATES,
)
from emulator.rounds.bookkeeper.invariants import NAMES
from emulator.rounds.bookkeeper.play_block import Scratch, Told, play
from emulator.rounds.bookkeeper.state import LIST_RECORDS, State
from emulator.rounds.packed import entries_of
from emulator.scenario import Scenario
from tests.bookkeeper.by_reference import LOSSES, OF_METADATA, READ, first_rounds
from tests.rounds.cells import cells

Row = dict[str, Any]

OF_A_READER = (
    *("at_round", "done_round", "entries", "read", "missing", "read_bytes", "remote_bytes", "speculative"),
    *("first_missing", "error"),
)
COUNTED = ("next_entry", "ensemble_changes", "adds_resent", "unwritable_rounds", "unacked_rounds")
OF_AN_EVENT = ("at_round", "kind", "broker", "from_entry", "to_entry", "cause", "entries")


@dataclass
class Played:
    """A block and what became of it."""

    block: Block
    state: State
    told: Told


def played(scenarios: Sequence[Scenario], leaps: bool = False, room: int | None = None, bucket_rounds: int = 0) -> Played:
    """All ledgers of some scenarios, played to their end; `room`: of lists and rows told, to begin with."""
    flags = {s.scenario_id: np.ones(sum(topic.partitions for topic in s.topics), bool) for s in scenarios}
    block = read_ledgers(scenarios, flags, leaps, bucket_rounds)
    state, told = play(block.state, block.inputs, Scratch() if room is None else Scratch(room, room))
    return Played(block, state, told)


def rows_of(table: Any, place: int) -> Any:
    """The rows of a table that were told of one ledger, or one topic."""
    return table[np.asarray(table["ledger"]) == place]


def list_of(game: Played, name: str, place: int) -> Any:
    """One list of a ledger: records, or rows of numbers."""
    lists, record = getattr(game.state, name), LIST_RECORDS[name][1]
    begin, end = lists.offsets[place], lists.offsets[place + 1]
    return lists.words[begin:end] if record is None else entries_of(record, lists)[begin:end]


def shares(game: Played, place: int) -> dict[int, dict[int, int]]:
    """entry -> broker -> LAC in the header of what the bookie has."""
    settings = game.block.inputs.settings[game.state.ledgers[place].settings]
    size = int(settings.ensemble_size)
    bookies = list(cells(list_of(game, "bookies", place), "broker", "open_run", "has_to"))
    headers = list(cells(list_of(game, "headers", place), "from_entry", "lac", "step"))
    entries: dict[int, dict[int, int]] = {}
    runs = cells(list_of(game, "stored", place), "bookie", "from_entry", "to_entry", "residues", "header")
    for number, (bookie, from_entry, to_entry, residues, header) in enumerate(runs):
        broker, open_run, has_to = bookies[bookie]
        for entry in range(from_entry, has_to if open_run == number else to_entry):
            if not residues >> entry % size & 1:
                continue
            lac = header
            if header == OF_THE_WRITER:
                first, lac_of_first, step = [h for h in headers if h[0] <= entry][-1]
                lac = lac_of_first + (entry - first) // step * step
            own = entries.setdefault(entry, {})
            assert broker not in own, "a bookie has an entry twice"
            own[broker] = lac
    return {entry: dict(sorted(entries[entry].items())) for entry in sorted(entries)}


def of_rounds(game: Played, place: int) -> Row:
    """What the rounds end with, as by_reference.of_reference has it."""
    ledger = game.state.ledgers[place]
    size = game.block.inputs.settings[ledger.settings].ensemble_size
    entries = shares(game, place)
    bookies = list(cells(list_of(game, "bookies", place), "broker", "fenced", "last_entry", "lac", "limbo"))
    known = {
        broker: (None if last == NO_ENTRY else last, lac, bool(fenced))
        for broker, fenced, last, lac, _ in bookies
        if last != NO_ENTRY or fenced
    }
    brokers = [bookie[0] for bookie in bookies]
    events = rows_of(game.told.events, place)
    told = Counter(
        (
            at_round,
            EVENT_KINDS[kind],
            None if broker == NOBODY else broker,
            None if from_entry == NO_ENTRY else from_entry,
            None if to_entry == NO_ENTRY else to_entry,
            None if cause == NO_FAULT else cause,
            None if count == ALL_BETWEEN else count,
        )
        for at_round, kind, broker, from_entry, to_entry, cause, count in cells(events, *OF_AN_EVENT)
        if EVENT_KINDS[kind] in OF_METADATA
    )
    recoveries, openings = list_of(game, "recoveries", place), list_of(game, "openings", place)
    violations = cells(rows_of(game.told.violations, place), "invariant", "at_round")
    ensembles = list_of(game, "ensembles", place)
    return {
        "state": STATES[ledger.state],
        "last_entry": None if ledger.last_entry == NO_ENTRY else int(ledger.last_entry),
        "writer_lac": int(ledger.lac),
        "fragments": [
            (int(fragment.first_entry), [brokers[slot] for slot in ensembles[at][:size]])
            for at, fragment in enumerate(list_of(game, "fragments", place))
        ],
        "entries": entries,
        "bookies": dict(sorted(known.items())),
        "limbo": {broker for broker, *_, limbo in bookies if limbo} & set(known),
        "losses": tuple(int(ledger[name]) for name in LOSSES),
        "entries_copied": int(ledger.entries_copied),
        "read": tuple(int(ledger[name]) for name in READ),
        "underreplicated": len(list_of(game, "replacements", place)),
        "recoveries": [(PHASES[r.phase], error_of(r.error), int(r.lac) if r.phase == DONE else None) for r in recoveries],
        "attempts": [error_of(r.attempt_error) for r in recoveries],
        "openings": [(None if o.lac == NO_ENTRY else int(o.lac), error_of(o.error)) for o in openings],
        "readers": [_reader(*one) for one in cells(list_of(game, "readers", place), *OF_A_READER)],
        "closes": [ERRORS[answer] for answer in list_of(game, "closes", place)[:, 0]],
        "acked": int(ledger.lac) + 1 - int(ledger.first_own_entry),
        "failed": int(ledger.failed_adds),
        "refused_fenced": int(ledger.refused_fenced),
        "refused_closed": int(ledger.refused_closed),
        "events": told,
        "writer": WRITER_STATES[ledger.writer],
        "error": ERRORS[ledger.error],
        **{name: int(ledger[name]) for name in COUNTED},
        "violations": first_rounds((NAMES[number], at_round) for number, at_round in violations),
    }


def _reader(at_round: int, done_round: int, *counts: int) -> tuple[Any, ...]:
    """As tests.reference.bookkeeper.readers.Reader.row."""
    *numbers, first, error = counts
    done = None if done_round == NEVER else done_round
    return (at_round, done, *numbers, None if first == NO_ENTRY else first, None if error == OK else ERRORS[error])


def error_of(number: int) -> str | None:
    """An error by name, None while there is no answer."""
    return None if number == PENDING else ERRORS[number]


def differences(expected: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What differs: name -> (of the reference, of the rounds); of events only those that one side has more of."""
    found = {name: (expected[name], seen.get(name)) for name in expected if expected[name] != seen.get(name)}
    if "events" in found:
        left, right = found["events"]
        found["events"] = (left - right, right - left)
    return found
