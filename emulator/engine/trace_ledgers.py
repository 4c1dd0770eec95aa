"""Every round of traced ledgers and topics: they are played once more, a round at a time, and each state is rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.engine.budgets.share_bookies import NO_SHARES, Shares, inputs_in
from emulator.inputs.ledger_arrays import Block, TopicBlock
from emulator.outcomes.compiled_ledgers.names import LedgerNames
from emulator.outcomes.compiled_ledgers.rounds import round_tables, topic_round_rows
from emulator.outcomes.compiled_ledgers.view import LedgerView
from emulator.rounds.bookkeeper.constants import MAX_ENSEMBLE, NEVER
from emulator.rounds.bookkeeper.play_block import Scratch, Told, play
from emulator.rounds.bookkeeper.records import Fragment, Ledger
from emulator.rounds.bookkeeper.state import LIST_RECORDS, State
from emulator.rounds.bookkeeper.told_records import Asked, Event, Traffic, Violation
from emulator.rounds.bookkeeper.topics.play_block import TopicScratch
from emulator.rounds.bookkeeper.topics.play_block import play as play_topics
from emulator.rounds.bookkeeper.topics.records import Part
from emulator.rounds.bookkeeper.topics.state import TopicState
from emulator.rounds.packed import Packed, entries_of
from emulator.rounds.records import rows
from emulator.table_columns.arrow_columns import arrow_schema

ROUND_TABLES = ("ledger_rounds", "bookie_rounds", "topic_rounds")
"""Output tables that have rows of traced ledgers and topics only."""

OF_TOPICS = ("ledgers", "parts", "owners")
"""Packed lists of TopicState."""

LEDGERS_AT_ONCE = 20_000
"""So many states of ledgers are rows at once."""

NOTHING_TOLD = Told(
    rows(Event, 0), rows(Violation, 0), rows(Fragment, 0), np.zeros((0, MAX_ENSEMBLE), np.int64), rows(Traffic, 0), rows(Asked, 0)
)
"""What happens in these rounds is told already."""


def ledger_rounds(names: LedgerNames, block: Block, shares: Shares = NO_SHARES) -> dict[str, pa.Table]:
    """Rows of ROUND_TABLES of the block's traced ledgers. `shares`: by round Inputs.shares, where a bookie was short."""
    ledgers: Any = block.state.ledgers
    places = np.flatnonzero(ledgers.traced)
    own: Any = ledgers[places].copy()
    state = State(own, **{name: taken(getattr(block.state, name), places) for name in LIST_RECORDS})
    ends = own.end.copy()
    told, scratch = _Rows(_rows_of_ledgers(names, block, places)), Scratch()
    for now in range(int(ends.max(initial=0))):
        playing: Any = state.ledgers
        playing.end = np.minimum(ends, now + 1)
        state, _ = play(state, inputs_in(block.inputs, shares, now), scratch)
        told.add(now, state, len(places))
    return told.tables()


def topic_rounds(names: LedgerNames, block: TopicBlock, shares: Shares = NO_SHARES) -> dict[str, pa.Table]:
    """Rows of ROUND_TABLES of the block's traced topics, and of their ledgers; `shares`: as of ledger_rounds."""
    places = np.flatnonzero(block.traced)
    state = _some(block.state, places)
    own: Any = state.topics
    ends = own.end.copy()
    told, scratch = _Rows(_rows_of_topics(names, block, places)), TopicScratch()
    for now in range(int(ends.max(initial=0))):
        playing: Any = state.topics
        playing.end = np.minimum(ends, now + 1)
        state, _ = play_topics(state, inputs_in(block.inputs, shares, now), scratch)
        told.add(now, state, len(places) + int(state.ledgers.offsets[-1]))
    return told.tables()


class _Rows:
    """States of rounds until there are enough of them to be made rows."""

    def __init__(self, rows_of: Callable[[Sequence[Any], np.ndarray], dict[str, pa.Table]]) -> None:
        self._rows_of = rows_of
        self._states: list[Any] = []
        self._rounds: list[int] = []
        self._count = 0
        self._parts: dict[str, list[pa.Table]] = {name: [arrow_schema(name).empty_table()] for name in ROUND_TABLES}

    def add(self, now: int, state: Any, count: int) -> None:
        """Take the state at the end of a round, of so many ledgers."""
        self._states.append(state)
        self._rounds.append(now)
        self._count += count
        if self._count > LEDGERS_AT_ONCE:
            self._make()

    def tables(self) -> dict[str, pa.Table]:
        """All rows."""
        if self._states:
            self._make()
        return {name: pa.concat_tables(parts) for name, parts in self._parts.items()}

    def _make(self) -> None:
        for name, table in self._rows_of(self._states, np.array(self._rounds)).items():
            self._parts[name].append(table)
        self._states, self._rounds, self._count = [], [], 0


def _rows_of_ledgers(
    names: LedgerNames, block: Block, places: np.ndarray
) -> Callable[[Sequence[State], np.ndarray], dict[str, pa.Table]]:
    def rows_of(states: Sequence[State], rounds: np.ndarray) -> dict[str, pa.Table]:
        ledgers: Any = np.concatenate([state.ledgers for state in states]).view(np.recarray)
        lists = _joined_lists(states, ledgers)
        at = np.repeat(rounds, len(places))
        # Who has played to its end stays as it is in rounds of longer scenarios.
        playing, unit = ledgers.now > at, np.tile(places, len(rounds))
        view = LedgerView(names, block.inputs, ledgers, lists, NOTHING_TOLD, unit, playing, playing)
        return round_tables(view, at)

    return rows_of


def _rows_of_topics(
    names: LedgerNames, block: TopicBlock, places: np.ndarray
) -> Callable[[Sequence[TopicState], np.ndarray], dict[str, pa.Table]]:
    def rows_of(states: Sequence[TopicState], rounds: np.ndarray) -> dict[str, pa.Table]:
        whole = [_still_played(state, now) for state, now in zip(states, rounds, strict=True)]
        topics: Any = np.concatenate([np.asarray(state.topics) for state, _ in whole]).view(np.recarray)
        ledgers_of, parts_of, owners = (_joined([getattr(state, name) for state, _ in whole]) for name in OF_TOPICS)
        joined = TopicState(topics, ledgers_of, parts_of, owners, _joined_lists([state.lists for state, _ in whole], None))
        unit = np.concatenate([places[kept] for _, kept in whole])
        at = np.repeat(rounds, [len(kept) for _, kept in whole])
        ledgers: Any = entries_of(Ledger, joined.ledgers)
        parts: Any = entries_of(Part, joined.parts)
        of_topic = np.repeat(np.arange(len(topics)), np.diff(joined.ledgers.offsets))
        on_bookies = (parts.deleted_round == NEVER) & (parts.freed_round == NEVER)
        listed = (parts.deleted_round == NEVER) & (parts.dropped_round == NEVER)
        view = LedgerView(names, block.inputs, ledgers, joined.lists, NOTHING_TOLD, unit[of_topic], on_bookies, on_bookies)
        return round_tables(view, at[of_topic]) | {"topic_rounds": topic_round_rows(view, joined, unit, at, listed)}

    return rows_of


def _still_played(state: TopicState, now: int) -> tuple[TopicState, np.ndarray]:
    """The topics that played this round, and their places in the state; others are at the end of their scenario."""
    topics: Any = state.topics
    kept = np.flatnonzero(topics.now > now)
    if len(kept) == len(topics):
        return state, kept
    return _some(state, kept), kept


def _some(state: TopicState, places: np.ndarray) -> TopicState:
    """Some of a state's topics, with their ledgers."""
    topics: Any = state.topics
    firsts, ends = state.ledgers.offsets[places], state.ledgers.offsets[places + 1]
    numbers = np.concatenate([np.zeros(0, np.int64), *(np.arange(f, e) for f, e in zip(firsts, ends, strict=True))])
    lists = State(state.lists.ledgers, **{name: taken(getattr(state.lists, name), numbers) for name in LIST_RECORDS})
    ledgers, parts, owners = (taken(getattr(state, name), places) for name in OF_TOPICS)
    return TopicState(topics[places].copy(), ledgers, parts, owners, lists)


def taken(lists: Packed, places: np.ndarray) -> Packed:
    """Some of packed lists."""
    counts = np.diff(lists.offsets)[places]
    offsets = np.zeros(len(places) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    rows = np.repeat(lists.offsets[places] - offsets[:-1], counts) + np.arange(offsets[-1])
    return Packed(lists.words[rows], offsets)


def _joined(lists: Sequence[Packed]) -> Packed:
    """Packed lists of several states, one state after the other."""
    begins = np.cumsum([0, *(len(one.words) for one in lists)])
    offsets = [one.offsets[1:] + begin for one, begin in zip(lists, begins, strict=False)]
    return Packed(np.concatenate([one.words for one in lists]), np.concatenate([np.zeros(1, np.int64), *offsets]))


def _joined_lists(states: Sequence[State], ledgers: Any) -> State:
    """The lists of several states; `ledgers`: theirs, None: those of topics, which stand elsewhere."""
    lists = {name: _joined([getattr(state, name) for state in states]) for name in LIST_RECORDS}
    return State(states[0].ledgers if ledgers is None else ledgers, **lists)
