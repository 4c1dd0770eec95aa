"""What rounds of ledgers read, as arrays, made from scenarios."""

from __future__ import annotations

from emulator.inputs.ledger_arrays.prepare import Block, PreparedLedgers, read_ledgers
from emulator.inputs.ledger_arrays.topics import TopicBlock, read_topics

__all__ = ["Block", "PreparedLedgers", "TopicBlock", "read_ledgers", "read_topics"]
