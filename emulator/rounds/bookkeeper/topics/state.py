"""The state of a block of topics between two stretches."""

from __future__ import annotations

from typing import NamedTuple

from emulator.rounds.bookkeeper.state import State
from emulator.rounds.bookkeeper.topics.records import Topic
from emulator.rounds.packed import Packed
from emulator.rounds.records import Rows


class TopicState(NamedTuple):
    """Topics, their ledgers (Ledger) and what they know of each (Part), their owners (Owner), packed by topic.

    `lists` has the lists of all ledgers, topic by topic; its own `ledgers` is empty.
    """

    topics: Rows[Topic]
    ledgers: Packed
    parts: Packed
    owners: Packed
    lists: State
