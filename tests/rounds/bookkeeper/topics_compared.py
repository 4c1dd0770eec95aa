"""Compiled rounds of topics that are lists of ledgers in the words of the reference (tests/bookkeeper/topics_by_reference.py)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emulator.inputs.ledger_arrays import TopicBlock, read_topics
from emulator.inputs.ledger_arrays.prepare import Block
from emulator.rounds.bookkeeper.constants import ALL_BETWEEN, EVENT_KINDS, NEVER, NO_ENTRY, NO_FAULT, NOBODY, ROLLED_OVER_BY
from emulator.rounds.bookkeeper.invariants import NAMES
from emulator.rounds.bookkeeper.play_block import Told
from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.bookkeeper.topics.play_block import TopicScratch, play
from emulator.rounds.bookkeeper.topics.records import Owner, Part
from emulator.rounds.bookkeeper.topics.state import TopicState
from emulator.rounds.packed import entries_of
from emulator.scenario import Scenario
from tests.bookkeeper.by_reference import LOSSES, first_rounds
from tests.bookkeeper.topics_by_reference import _OF_GONE, _OF_THE_TOPIC, OF_COPIES, OF_TOPICS, _flat
from tests.rounds.bookkeeper.compared import OF_AN_EVENT, Played, Row, of_rounds, rows_of
from tests.rounds.cells import cells


@dataclass
class PlayedTopics:
    """A block of topics and what became of it; `ledgers`: of all topics, one after the other."""

    block: TopicBlock
    state: TopicState
    told: Told
    ledgers: Played


def played_topics(
    scenarios: Sequence[Scenario], leaps: bool = False, room: int | None = None, bucket_rounds: int = 0
) -> PlayedTopics:
    """All topics of some scenarios, played to their end; `room`: of lists, rows told and seats, to begin with."""
    flags = {s.scenario_id: np.ones(sum(topic.partitions for topic in s.topics), bool) for s in scenarios}
    block = read_topics(scenarios, flags, leaps, bucket_rounds)
    state, told = play(block.state, block.inputs, TopicScratch() if room is None else TopicScratch(room, room, 2))
    lists = state.lists._replace(ledgers=entries_of(Ledger, state.ledgers))
    return PlayedTopics(block, state, told, Played(Block(lists, block.inputs), lists, told))


def of_rounds_of_topic(game: PlayedTopics, place: int) -> Row:
    """What the rounds end with, as topics_by_reference.of_played has it."""
    topic = game.state.topics[place]
    first, end = (int(game.state.ledgers.offsets[place + more]) for more in (0, 1))
    parts: Any = entries_of(Part, game.state.parts)[first:end]
    owners: Any = entries_of(Owner, game.state.owners)[game.state.owners.offsets[place] : game.state.owners.offsets[place + 1]]
    ledgers: Any = entries_of(Ledger, game.state.ledgers)[first:end]
    ended = [_of_ledger(game, first + number, parts[number]) for number in range(end - first)]
    listed = (parts.deleted_round == NEVER) & (parts.dropped_round == NEVER)
    entries = np.where(ledgers.last_entry == NO_ENTRY, ledgers.lac, ledgers.last_entry) + 1
    own_losses = [one["losses"] for one in ended]
    events = cells(rows_of(game.told.events, place), "in_list", *OF_AN_EVENT)
    violations = cells(rows_of(game.told.violations, place), "invariant", "at_round")
    messages = zip(parts["first_message"].tolist(), ledgers["lac"].tolist(), strict=True)
    return _flat(ended) | {
        "losses": tuple(sum(one[at] for one in own_losses) for at in range(len(LOSSES))),
        "acked": sorted(m for first_one, lac in messages for m in range(first_one, first_one + lac + 1) if m >= 0),
        "readable": int(entries[listed].sum()),
        "listed": int(listed.sum()),
        "messages": int(topic.messages),
        "unacked": int(topic.unacked),
        "unwritable_rounds": int(topic.unwritable_rounds),
        "unacked_rounds": int(topic.unacked_rounds),
        "list_version": int(topic.version),
        "take_overs": len(owners) - 1,
        "events": Counter(_event(*event) for event in events),
        "violations": first_rounds((NAMES[number], at_round) for number, at_round in violations),
    }


def _messages(part: Any, count: int) -> range:
    return range(int(part.first_message), int(part.first_message) + count)


def _event(
    in_list: int, at_round: int, kind: int, broker: int, from_entry: int, to_entry: int, cause: int, records: int
) -> tuple[Any, ...]:
    name, number = EVENT_KINDS[kind], None if in_list == NOBODY else in_list
    own_cause = None if cause == NO_FAULT else cause
    if name in OF_TOPICS:
        return (at_round, name, number, own_cause)
    entries = [None if entry == NO_ENTRY else entry for entry in (from_entry, to_entry)]
    own_broker, count = (None if one == nobody else one for one, nobody in ((broker, NOBODY), (records, ALL_BETWEEN)))
    return (at_round, name, own_broker, number, *entries, own_cause, count)


def _of_ledger(game: PlayedTopics, number: int, part: Any) -> Row:
    ended = of_rounds(game.ledgers, number)
    is_held = part.deleted_round == NEVER and part.freed_round == NEVER
    kept = [name for name in ended if name not in _OF_THE_TOPIC] if is_held else _OF_GONE
    own = {
        name: None if part[name] == NEVER else int(part[name])
        for name in ("created_round", "closed_round", "deleted_round", "offloaded_round")
    }
    own |= {"losses": _losses(ended, part), **{name: int(part[name]) for name in OF_COPIES}}
    last = ended["writer_lac"] if ended["last_entry"] is None else ended["last_entry"]
    return own | {
        "owner": int(part.owner),
        "rolled_over": ROLLED_OVER_BY[part.rolled_over - 1] if part.rolled_over else None,
        "deleted_from_bookies_round": None if part.freed_round == NEVER else int(part.freed_round),
        **{name: ended[name] for name in kept},
        "messages": list(_messages(part, last + 1)),
    }


def _losses(ended: Row, part: Any) -> Any:
    if part.dropped_round != NEVER:
        return (ended["writer_lac"] + 1, 0, 0)
    if part.deleted_round != NEVER:
        return (0 if ended["last_entry"] is None else max(0, ended["writer_lac"] - ended["last_entry"]), 0, 0)
    return ended["losses"]
