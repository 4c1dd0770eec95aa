"""What rounds of ledgers read, as arrays, made from scenarios."""

from __future__ import annotations

from emulator.inputs.ledger_arrays.prepare import Block, read_ledgers
from emulator.inputs.ledger_arrays.topics import TopicBlock, read_topics

__all__ = ["Block", "TopicBlock", "read_ledgers", "read_topics"]
