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
    NO_ENTRY,
    NO_FAULT,
    NOBODY,
    OF_THE_WRITER,
    PENDING,
    PHASES,
    STATES,
)
from emulator.rounds.bookkeeper.invariants import NAMES
from emulator.rounds.bookkeeper.play_block import Scratch, Told, play
from emulator.rounds.bookkeeper.state import LIST_RECORDS, State
from emulator.rounds.packed import entries_of
from emulator.scenario import Scenario
from tests.bookkeeper.by_reference import LOSSES, OF_METADATA, first_rounds

Row = dict[str, Any]


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


def list_of(game: Played, name: str, place: int) -> Any:
    """One list of a ledger: records, or rows of numbers."""
    lists, record = getattr(game.state, name), LIST_RECORDS[name][1]
    begin, end = lists.offsets[place], lists.offsets[place + 1]
    return lists.words[begin:end] if record is None else entries_of(record, lists)[begin:end]


def shares(game: Played, place: int) -> dict[int, dict[int, int]]:
    """entry -> broker -> LAC in the header of what the bookie has."""
    ledger = game.state.ledgers[place]
    settings = game.block.inputs.settings[ledger.settings]
    bookies, headers = list_of(game, "bookies", place), list_of(game, "headers", place)
    entries: dict[int, dict[int, int]] = {}
    for number, run in enumerate(list_of(game, "stored", place)):
        bookie = bookies[run.bookie]
        end = bookie.has_to if bookie.open_run == number else run.to_entry
        for entry in range(int(run.from_entry), int(end)):
            if (run.index - entry) % settings.ensemble_size >= settings.write_quorum:
                continue
            lac = int(run.header)
            if lac == OF_THE_WRITER:
                header = [h for h in headers if h.from_entry <= entry][-1]
                lac = int(header.lac + (entry - header.from_entry) // header.step * header.step)
            own = entries.setdefault(entry, {})
            assert int(bookie.broker) not in own, "a bookie has an entry twice"
            own[int(bookie.broker)] = lac
    return {entry: dict(sorted(entries[entry].items())) for entry in sorted(entries)}


def of_rounds(game: Played, place: int) -> Row:
    """What the rounds end with, as by_reference.of_reference has it."""
    ledger = game.state.ledgers[place]
    size = game.block.inputs.settings[ledger.settings].ensemble_size
    bookies, entries = list_of(game, "bookies", place), shares(game, place)
    brokers = [int(b.broker) for b in bookies]
    own: dict[int, list[int]] = {broker: [e for e in entries if broker in entries[e]] for broker in brokers}
    known = {}
    for bookie in bookies:
        held = own[int(bookie.broker)]
        if held or bookie.fenced:
            last = held[-1] if held else None
            lac = -1 if last is None else entries[last][int(bookie.broker)]
            known[int(bookie.broker)] = (last, max(lac, int(bookie.explicit_lac)), bool(bookie.fenced))
    events = [e for e in game.told.events if e.ledger == place]
    told = Counter(
        (
            int(e.at_round),
            EVENT_KINDS[e.kind],
            None if e.broker == NOBODY else int(e.broker),
            None if e.from_entry == NO_ENTRY else int(e.from_entry),
            None if e.to_entry == NO_ENTRY else int(e.to_entry),
            None if e.cause == NO_FAULT else int(e.cause),
            None if e.entries == ALL_BETWEEN else int(e.entries),
        )
        for e in events
        if EVENT_KINDS[e.kind] in OF_METADATA
    )
    recoveries, openings = list_of(game, "recoveries", place), list_of(game, "openings", place)
    seen = [(NAMES[v.invariant], int(v.at_round)) for v in game.told.violations if v.ledger == place]
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
        "limbo": {int(b.broker) for b in bookies if b.limbo} & set(known),
        "losses": tuple(int(ledger[name]) for name in LOSSES),
        "entries_copied": int(ledger.entries_copied),
        "underreplicated": len(list_of(game, "replacements", place)),
        "recoveries": [(PHASES[r.phase], error_of(r.error), int(r.lac) if r.phase == DONE else None) for r in recoveries],
        "attempts": [error_of(r.attempt_error) for r in recoveries],
        "openings": [(None if o.lac == NO_ENTRY else int(o.lac), error_of(o.error)) for o in openings],
        "closes": [ERRORS[answer] for answer in list_of(game, "closes", place)[:, 0]],
        "acked": int(ledger.lac) + 1 - int(ledger.first_own_entry),
        "failed": int(ledger.failed_adds),
        "refused_fenced": int(ledger.refused_fenced),
        "refused_closed": int(ledger.refused_closed),
        "events": told,
        "violations": first_rounds(seen),
    }


def error_of(number: int) -> str | None:
    """An error by name, None while there is no answer."""
    return None if number == PENDING else ERRORS[number]


def differences(expected: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What differs: name -> (of the reference, of the rounds); of events only those that one side has more of."""
    found = {name: (expected[name], seen[name]) for name in expected if expected[name] != seen[name]}
    if "events" in found:
        left, right = found["events"]
        found["events"] = (left - right, right - left)
    return found
