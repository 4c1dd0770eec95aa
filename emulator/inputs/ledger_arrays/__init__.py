"""What rounds of ledgers read, as arrays, made from scenarios."""

from __future__ import annotations

from emulator.inputs.ledger_arrays.prepare import Block, PreparedLedgers, read_ledger_block, read_ledgers
from emulator.inputs.ledger_arrays.topics import PreparedTopics, TopicBlock, read_topic_block, read_topics

__all__ = [
    "Block",
    "PreparedLedgers",
    "PreparedTopics",
    "TopicBlock",
    "read_ledger_block",
    "read_ledgers",
    "read_topic_block",
    "read_topics",
]
