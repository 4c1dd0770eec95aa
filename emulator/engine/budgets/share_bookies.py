"""Ledgers, or topics of ledgers, that share bookies' budgets, played together in one task.

They are first played as if no budget bound, a stretch of rounds at once; of each bookie and ledger it is noted what was asked of
it in a round at most. Where that is more than a bookie's budget the stretch is taken back and a shorter one is played. A single
round in which a bookie is short is played again, with what every ledger may have of it: these are rules of adds by their round
of sending (rounds/bookkeeper/share_bookies.py), so that nobody has to know of other ledgers. Stretches change nothing in what
comes out, only in how long it takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.engine.budgets.saturated import PLACES, SATURATED_SCHEMA
from emulator.rounds.bookkeeper.constants import ASKED_TOLD, FOREVER, NO_LIMIT, USE_NOTED
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.play_block import Scratch, Told, play
from emulator.rounds.bookkeeper.records import Bookie, Ledger
from emulator.rounds.bookkeeper.state import State
from emulator.rounds.bookkeeper.told_records import Asked
from emulator.rounds.bookkeeper.topics.play_block import TopicScratch
from emulator.rounds.bookkeeper.topics.play_block import play as play_topics
from emulator.rounds.calls import joined
from emulator.rounds.packed import entries_of
from emulator.rounds.records import rows, word_of

Shares = Mapping[int, Any]
"""By round, where a bookie was short, rows of BookieShare."""
NO_SHARES: Shares = {}

TOLD_AT_ONCE = 64
"""Stretches after which what they told is put together."""

FIRST_STRETCH = FOREVER
"""Rounds that are tried first."""

MOST_ASKED = word_of(Bookie, "most_asked_bytes")


class Part:
    """Ledgers, or topics, that are played together with others of their scenario, and what they have told."""

    def __init__(self, state: Any, inputs: Inputs) -> None:
        self.inputs = inputs
        self.units = "ledgers" if isinstance(state, State) else "topics"
        own = getattr(state, self.units).copy()
        self.state, self.ends = state._replace(**{self.units: own}), np.asarray(own["end"]).copy()
        self._scratch: Any = Scratch() if isinstance(state, State) else TopicScratch()
        self._told: list[Told] = []

    def ahead(self, until: int, inputs: Inputs) -> tuple[Any, Told]:
        """(its state before a round, what it tells up to there)."""
        self._stop_at(np.minimum(self.ends, until))
        if self.units == "ledgers":
            return play(self.state, inputs, self._scratch)
        return play_topics(self.state, inputs, self._scratch)

    def go_to(self, state: Any, told: Told) -> None:
        """What was played ahead is so."""
        self.state = state
        self._told.append(told._replace(asked=rows(Asked, 0)))
        if len(self._told) >= TOLD_AT_ONCE:
            self._told = [self.told()]

    def finish(self) -> None:
        """It is at its end."""
        self._stop_at(self.ends)

    def told(self) -> Told:
        """All that it has told."""
        return Told(**joined([one._asdict() for one in self._told]))

    def _stop_at(self, rounds: np.ndarray) -> None:
        getattr(self.state, self.units)["end"] = rounds


def play_together(parts: Sequence[Part]) -> Shares:
    """Play all of a scenario, or of several, to its end; who was short when. Each part then has its state, and what it told."""
    shares: dict[int, Any] = {}
    begin, rounds, last = 0, FIRST_STRETCH, max(int(part.ends.max(initial=0)) for part in parts)
    while begin < last:
        until = min(begin + rounds, last)
        is_one = until == begin + 1
        for part in parts:
            forget_use(part.state)
        ahead = [part.ahead(until, telling(part.inputs) if is_one else part.inputs) for part in parts]
        if not is_exceeded([state for state, _ in ahead], parts):
            rounds = 2 * (until - begin)
        elif is_one:
            shares[begin] = shares_of([told.asked for _, told in ahead], parts[0].inputs)
            ahead = [part.ahead(until, part.inputs._replace(shares=shares[begin])) for part in parts]
            rounds = 1
        else:
            rounds = (until - begin) // 2
            continue
        for part, (state, told) in zip(parts, ahead, strict=True):
            part.go_to(state, told)
        begin = until
    for part in parts:
        part.finish()
    return shares


def telling(inputs: Inputs) -> Inputs:
    """The same inputs for a round in which ledgers tell what they ask for."""
    scenarios: Any = inputs.scenarios
    told = scenarios.copy()
    told.sharing = np.where(told.sharing == USE_NOTED, ASKED_TOLD, told.sharing)
    return inputs._replace(scenarios=told)


def inputs_in(inputs: Inputs, shares: Shares, now: int) -> Inputs:
    """What a round that was played already reads."""
    return inputs._replace(shares=shares[now]) if now in shares else inputs


def forget_use(state: Any) -> None:
    """A stretch begins."""
    _lists_of(state).bookies.words[:, MOST_ASKED] = 0


def is_exceeded(states: Sequence[Any], parts: Sequence[Part]) -> bool:
    """Whether a bookie may have been asked for more than its budget in some round of the stretch that ends with these states."""
    budget = np.asarray(parts[0].inputs.shares["budget_bytes"])  # type: ignore[call-overload]
    asked = np.zeros(len(budget), np.int64)
    for state, part in zip(states, parts, strict=True):
        lists = _lists_of(state)
        ledgers: Any = state.ledgers if isinstance(state, State) else entries_of(Ledger, state.ledgers)
        bookies: Any = entries_of(Bookie, lists.bookies)
        scenarios: Any = part.inputs.scenarios
        first = np.repeat(scenarios.first_bookie[ledgers.scenario], np.diff(lists.bookies.offsets))
        np.add.at(asked, first + bookies.place, bookies.most_asked_bytes)
    return bool(((budget != NO_LIMIT) & (asked > budget)).any())


def shares_of(asked: Sequence[Any], inputs: Inputs) -> Any:
    """Of a round in which this is asked: adds are taken in the order of sending; the first round without room shares the rest."""
    shares: Any = inputs.shares
    found = shares.copy()
    bookie, sent_round, asked_bytes = (
        np.concatenate([np.asarray(part[name]) for part in asked]) for name in ("bookie", "sent_round", "asked_bytes")
    )
    for at in np.unique(bookie).tolist():
        is_own = bookie == at
        sent, which = np.unique(sent_round[is_own], return_inverse=True)
        by_round = np.zeros(len(sent), np.int64)
        np.add.at(by_round, which.reshape(-1), asked_bytes[is_own])
        total, budget = np.cumsum(by_round), int(shares.budget_bytes[at])
        if total[-1] <= budget:
            continue
        cut = int(np.searchsorted(total, budget, "right"))
        of_cut_round = int(by_round[cut])
        left = budget - (int(total[cut]) - of_cut_round)
        coarser = max(0, of_cut_round.bit_length() + left.bit_length() - 62)  # so that no product in rounds overflows
        found.cut_round[at], found.left_bytes[at], found.asked_bytes[at] = sent[cut], left >> coarser, of_cut_round >> coarser
    return found


def saturated_rows(scenario_id: int, place: int, shares: Shares, inputs: Inputs) -> pa.Table:
    """Rows of saturated.SATURATED_SCHEMA: whose disk, or network, was short in which round, and that producers waited for it.

    `place`: of the scenario, all of `shares` are of its bookies.
    """
    scenarios: Any = inputs.scenarios
    first, count = int(scenarios.first_bookie[place]), int(scenarios.bookies[place])
    noted: list[tuple[int, ...]] = []
    for now, of_round in shares.items():
        own = of_round[first : first + count]
        for at in np.flatnonzero(own.cut_round != FOREVER).tolist():
            for kind in ("disk" if own.by_disk[at] else "network_in", "producers"):
                noted.append((scenario_id, at, PLACES.index(kind), now, now + 1))
    columns = zip(*noted, strict=True) if noted else [[]] * len(SATURATED_SCHEMA)
    return pa.table([pa.array(column, pa.int32()) for column in columns], schema=SATURATED_SCHEMA)


def _lists_of(state: Any) -> State:
    return state if isinstance(state, State) else state.lists
