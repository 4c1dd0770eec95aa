"""A block of ledgers from its start to its end: scratch arrays, calls of compiled code, what is told."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emulator.rounds.bookkeeper.constants import MAX_ENSEMBLE, MAX_REGIONS
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.leap import BOOKIE_KINDS, LEDGER_KINDS, RECOVERY_KINDS, Probe
from emulator.rounds.bookkeeper.ledger_lists import Words
from emulator.rounds.bookkeeper.play_ledgers import play_ledgers
from emulator.rounds.bookkeeper.records import Fragment, Ledger, Lists
from emulator.rounds.bookkeeper.state import LIST_RECORDS, ROOMS, WIDTHS, State
from emulator.rounds.bookkeeper.told_records import Asked, Event, Spans, Traffic, Violation
from emulator.rounds.calls import Rooms, play_in_calls
from emulator.rounds.packed import cut, grown, roomy
from emulator.rounds.records import rows, words_of


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


class Scratch(Rooms):
    """Rooms for the lists of ledgers that are played at once, and for what a block tells until it is handed over."""

    TOLD = Told._fields
    SPANS = {"witness_ensembles": "witness"}

    def __init__(self, room: int = 8, rows_told: int = 16_384, seats: int = 1) -> None:
        self.seats = seats
        super().__init__(room, rows_told)

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
        for name in self.TOLD:
            self.span(name).limit = told - 1

    def words(self, old: State, new: State) -> Words:
        """All of it, and the ledgers, as words."""
        arrays = {name: getattr(self.lists, name) for name in LIST_RECORDS}
        return Words(
            **{name: array if array.dtype.names is None else words_of(array) for name, array in arrays.items()},
            old_ledgers=words_of(old.ledgers),
            ledgers=words_of(new.ledgers),
        )


def play(state: State, inputs: Inputs, scratch: Scratch | None = None, ledgers_a_call: int = 256) -> tuple[State, Told]:
    """Play every ledger of a block to its `end`. Returns the state then, and what was told. What is given stays as it is.

    Calls of compiled code take about a second at most and release the GIL.
    """
    rooms = scratch or Scratch()
    count = len(state.ledgers)
    new = State(rows(Ledger, count), **{name: roomy(getattr(state, name)) for name in LIST_RECORDS})

    def call(new: State, first: int, until: int, is_played: bool) -> tuple[int, int]:
        words = rooms.words(state, new)
        return play_ledgers(state, new, inputs, rooms.lists, words, rooms.probe, first, until, is_played)

    new, told = play_in_calls(rooms, new, count, ledgers_a_call, call, with_more_room)
    return State(new.ledgers, **{name: cut(getattr(new, name), count) for name in LIST_RECORDS}), Told(**told)


def with_more_room(state: State) -> State:
    """The same ledgers, with twice the room for their lists."""
    return State(state.ledgers, **{name: grown(getattr(state, name)) for name in LIST_RECORDS})
