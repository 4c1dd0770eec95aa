"""What rounds of ledgers read, as arrays, made from scenarios."""

from __future__ import annotations

from emulator.inputs.ledger_arrays.prepare import Block, read_ledgers

__all__ = ["Block", "read_ledgers"]
