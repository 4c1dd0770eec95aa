"""A block of ledgers from its start to its end: scratch arrays, calls of compiled code, what is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from emulator.rounds.bookkeeper.constants import MAX_ENSEMBLE, MAX_REGIONS
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.leap import BOOKIE_KINDS, LEDGER_KINDS, RECOVERY_KINDS, Probe
from emulator.rounds.bookkeeper.ledger_lists import Words
from emulator.rounds.bookkeeper.play_ledgers import OUTPUT_FULL, SCRATCH_FULL, play_ledgers
from emulator.rounds.bookkeeper.records import Fragment, Ledger, Lists
from emulator.rounds.bookkeeper.state import LIST_RECORDS, ROOMS, WIDTHS, State
from emulator.rounds.bookkeeper.told_records import Asked, Event, Spans, Traffic, Violation
from emulator.rounds.packed import cut, grown, roomy
from emulator.rounds.records import rows, words_of

TOLD = ("events", "violations", "witness", "witness_ensembles", "traffic", "asked")
OF_RECORDS = ("events", "violations", "witness", "traffic", "asked")
SPANS = {"witness_ensembles": "witness"}
"""Arrays of outputs -> the span that says how far they are filled, where it has another name."""


class Told(NamedTuple):
    """Rows in the order in which they were told.

    `events`: records.Event; `violations`: Violation, each with the writer's ensemble and `fragments` fragments in `witness`
    (Fragment), whose ensembles stand in `witness_ensembles`, as broker ids; `traffic`: Traffic; `asked`: Asked, in no
    order, and only where it is to be told (ScenarioRow.sharing).
    """

    events: np.ndarray
    violations: np.ndarray
    witness: np.ndarray
    witness_ensembles: np.ndarray
    traffic: np.ndarray
    asked: np.ndarray


class Scratch:
    """Rooms for the lists of ledgers that are played at once, and for what a block tells until it is handed over."""

    def __init__(self, room: int = 8, rows_told: int = 16_384, seats: int = 1) -> None:
        self.room, self.rows_told, self.seats = room, rows_told, seats
        self.make()

    def make(self) -> None:
        """Arrays of the present sizes."""
        arrays: dict[str, Any] = {}
        for name, (of_ledger, record) in LIST_RECORDS.items():
            size = self.seats * ROOMS[of_ledger] * self.room
            arrays[name] = rows(record, size) if record is not None else np.zeros((size, WIDTHS[name]), np.int64)
        bookies, recoveries = (ROOMS[name] * self.room for name in ("bookies", "recoveries"))
        kinds = (LEDGER_KINDS, BOOKIE_KINDS, RECOVERY_KINDS)
        ledger, bookie, recovery = ((len(of_record),) for of_record in kinds)
        shapes = (ledger, ledger, (bookies, *bookie), (bookies, *bookie), (recoveries, *recovery), (recoveries, *recovery))
        self.probe = Probe(*(np.zeros(shape, np.int64) for shape in shapes))
        told = self.rows_told
        self.lists = Lists(
            **arrays,
            events=rows(Event, told),
            violations=rows(Violation, told),
            witness=rows(Fragment, told),
            witness_ensembles=np.zeros((told, MAX_ENSEMBLE), np.int64),
            traffic=rows(Traffic, told),
            asked=rows(Asked, told),
            filled=rows(Spans, 1),
            shares=np.zeros((MAX_REGIONS, 4), np.int64),
        )
        for name in OF_RECORDS:
            getattr(self.lists.filled[0], name).limit = told - 1

    def words(self, old: State, new: State) -> Words:
        """All of it, and the ledgers, as words."""
        arrays = {name: getattr(self.lists, name) for name in LIST_RECORDS}
        return Words(
            **{name: array if array.dtype.names is None else words_of(array) for name, array in arrays.items()},
            old_ledgers=words_of(old.ledgers),
            ledgers=words_of(new.ledgers),
        )

    def hand_over(self) -> dict[str, np.ndarray]:
        """What was told since the last time, copied; the arrays are empty again."""
        told = {}
        for name in TOLD:
            count = int(getattr(self.lists.filled[0], SPANS.get(name, name)).count)
            told[name] = getattr(self.lists, name)[:count].copy()
        for name in OF_RECORDS:
            getattr(self.lists.filled[0], name).count = 0
        return told

    def is_crowded(self) -> bool:
        """Whether what was told before took the room of what is told now, so that handing it over is enough."""
        spans = [getattr(self.lists.filled[0], name) for name in OF_RECORDS]
        is_crowded = any(span.full and span.count > 0 for span in spans)
        for span in spans:
            span.full = 0
        return is_crowded

    def grow(self) -> None:
        """Twice the room."""
        self.room, self.rows_told = 2 * self.room, 2 * self.rows_told
        self.make()


def play(state: State, inputs: Inputs, scratch: Scratch | None = None, ledgers_a_call: int = 256) -> tuple[State, Told]:
    """Play every ledger of a block to its `end`. Returns the state then, and what was told. What is given stays as it is.

    Calls of compiled code take about a second at most and release the GIL.
    """
    scratch = scratch or Scratch()
    count = len(state.ledgers)
    new = State(rows(Ledger, count), **{name: roomy(getattr(state, name)) for name in LIST_RECORDS})
    told: list[dict[str, np.ndarray]] = []
    first, is_played = 0, False
    while first < count:
        until = min(first + ledgers_a_call, count)
        words = scratch.words(state, new)
        first, why = play_ledgers(state, new, inputs, scratch.lists, words, scratch.probe, first, until, is_played)
        is_played = why == OUTPUT_FULL
        if why == OUTPUT_FULL:
            new = State(new.ledgers, **{name: grown(getattr(new, name)) for name in LIST_RECORDS})
        elif why == SCRATCH_FULL:
            is_crowded = scratch.is_crowded()
            told.append(scratch.hand_over())
            if not is_crowded:
                scratch.grow()
    told.append(scratch.hand_over())
    return State(new.ledgers, **{name: cut(getattr(new, name), count) for name in LIST_RECORDS}), joined(told)


def joined(told: Sequence[Mapping[str, np.ndarray]]) -> Told:
    """What was handed over, one after the other."""
    whole: dict[str, Any] = {name: np.concatenate([part[name] for part in told]) for name in TOLD}
    for name in OF_RECORDS:
        whole[name] = whole[name].view(np.recarray)
    return Told(**whole)
