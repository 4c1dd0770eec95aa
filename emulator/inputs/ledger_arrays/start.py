"""Ledgers before round 0 (docs/bookkeeper_rounds.md, Start): empty, or as `initial_ledgers` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from emulator.rounds.bookkeeper.constants import (
    CLOSED,
    MAX_ENSEMBLE,
    NO_FAULT,
    NO_LAC,
    NO_LIMIT,
    NOWHERE,
    OF_THE_WRITER,
    OPEN,
    SHUT,
    STATES,
    WRITER_CRASHED,
    WRITING,
)
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Bookie, Fragment, Header, StoredRun
from emulator.rounds.bookkeeper.state import LIST_RECORDS, WIDTHS, State
from emulator.rounds.packed import Packed, packed, packed_empty
from emulator.rounds.records import rows, words_of

Given = Mapping[str, Any]


def empty_bookies(places: np.ndarray, first: np.ndarray | int, inputs: Inputs) -> Any:
    """Bookies of some places that have nothing of a ledger; `first`: where in Inputs.bookies those of their scenario begin."""
    bookies: Any = inputs.bookies
    own, at = rows(Bookie, len(places)), places + first
    own.place = places
    own.broker, own.rack, own.span = bookies.broker[at], bookies.rack[at], bookies.first_span[at]
    own.explicit_lac = NO_LAC
    own.is_missed, own.open_run, own.may_take = 0, NOWHERE, NO_LIMIT
    own.cause = own.damage_cause = own.filling_cause = NO_FAULT
    return own


def state_of(ledgers: Any, ensembles: np.ndarray, inputs: Inputs, given: Mapping[int, Given]) -> State:
    """The state of ledgers with these first ensembles (rows of places, -1 behind the last), by ledger.

    `given`: what a ledger starts with, by its place.
    """
    scenarios: Any = inputs.scenarios
    count = len(ledgers)
    sizes = (ensembles >= 0).sum(axis=1)
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    slots = np.where(ensembles >= 0, np.arange(MAX_ENSEMBLE), 0)
    lists: dict[str, Packed] = {name: packed_empty(WIDTHS[name], count) for name in LIST_RECORDS}
    one_each = np.arange(count + 1)
    first = scenarios.first_bookie[ledgers.scenario]
    lists["fragments"] = Packed(words_of(rows(Fragment, count)).copy(), one_each)
    lists["ensembles"] = Packed(slots, one_each)
    lists["own"] = Packed(slots.copy(), one_each.copy())
    lists["bookies"] = Packed(words_of(empty_bookies(ensembles[ensembles >= 0], np.repeat(first, sizes), inputs)).copy(), offsets)
    state = State(ledgers, **lists)
    return _with_given(state, given, inputs) if given else state


def _with_given(state: State, given: Mapping[int, Given], inputs: Inputs) -> State:
    """All bookies have their share of every fragment, on disk, each entry with the one before it as LAC in its header."""
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("fragments", "ensembles", "own", "bookies", "stored", "headers")}
    for at in range(len(state.ledgers)):
        if at in given:
            ledger = state.ledgers[at]
            own = lists_of(given[at], inputs.scenarios[ledger.scenario].first_bookie, inputs, ledger.settings)
            set_start(ledger, given[at])
        else:
            own = {
                name: of_all.words[of_all.offsets[at] : of_all.offsets[at + 1]]
                for name in parts
                for of_all in (getattr(state, name),)
            }
        for name, entries in own.items():
            parts[name].append(entries)
    lists: dict[str, Any] = {name: packed(WIDTHS[name], entries) for name, entries in parts.items()}
    return state._replace(**lists)


def set_start(ledger: Any, given: Given) -> None:
    """State, writer and entries of a ledger that starts with something."""
    state = STATES.index(given["state"])
    ledger.state = state
    ledger.lac = given["last_entry"]
    ledger.lac_told = ledger.explicit_lac = max(given["last_entry"] - 1, NO_LAC)
    ledger.next_entry = ledger.first_own_entry = given["last_entry"] + 1
    ledger.given_bytes = given["bytes"]
    if state == CLOSED:
        ledger.last_entry = given["last_entry"]
    ledger.writer = {OPEN: WRITING, CLOSED: SHUT}.get(state, WRITER_CRASHED)


def lists_of(given: Given, first: int, inputs: Inputs, settings: int) -> dict[str, np.ndarray]:
    """The lists of a ledger that starts with something; its fragments name bookies by place. `settings`: place of its own."""
    row = inputs.settings[settings]
    size, quorum = int(row.ensemble_size), int(row.write_quorum)
    fragments: Sequence[Mapping[str, Any]] = given["fragments"]
    places = list(dict.fromkeys(place for fragment in fragments for place in fragment["places"]))
    slot = {place: number for number, place in enumerate(places)}
    ends = [*(fragment["first_entry"] for fragment in fragments[1:]), given["last_entry"] + 1]
    own = rows(Fragment, len(fragments))
    own.first_entry = [fragment["first_entry"] for fragment in fragments]
    ensembles = np.zeros((len(fragments), MAX_ENSEMBLE), np.int64)
    of_bookies = empty_bookies(np.array(places, np.int64), first, inputs)
    stored: list[tuple[int, int, int, int]] = []
    for number, (fragment, end) in enumerate(zip(fragments, ends, strict=True)):
        for index, place in enumerate(fragment["places"]):
            ensembles[number, index] = slot[place]
            begin = fragment["first_entry"]
            if any((index - entry) % size < quorum for entry in range(begin, min(end, begin + size))):
                stored.append((slot[place], index, begin, end))
    runs = rows(StoredRun, len(stored))
    for run, (bookie, index, begin, end) in zip(runs, stored, strict=True):
        run.bookie, run.index, run.header = bookie, index, OF_THE_WRITER
        run.residues = sum(1 << entry for entry in range(size) if (index - entry) % size < quorum)
        run.from_entry, run.to_entry, run.flushed_to = begin, end, end
    headers = rows(Header, 1 if given["last_entry"] >= 0 else 0)
    headers.lac, headers.step = NO_LAC, 1
    lists = {"fragments": own, "bookies": of_bookies, "stored": runs, "headers": headers}
    return {name: words_of(records).copy() for name, records in lists.items()} | {
        "ensembles": ensembles,
        "own": ensembles[-1:].copy(),
    }
