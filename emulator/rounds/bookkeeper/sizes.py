"""Bytes of entries: what the workload hands over, in the order of entries."""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger


@compiled
def bytes_of_entry(inputs: Inputs, ledger: Ledger, entry: int) -> int:
    """Bytes of an entry: the mean of those that came with it."""
    if entry < ledger.first_own_entry:
        return ledger.given_bytes // ledger.first_own_entry
    message = entry - ledger.first_own_entry + ledger.first_message
    for at in range(ledger.first_size, ledger.first_size + ledger.size_count):
        size = inputs.sizes[at]
        if size.from_entry <= message < size.to_entry:
            return size.size_bytes // size.records
    return 0
