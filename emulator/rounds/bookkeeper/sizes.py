"""Bytes of entries: what the workload hands over, in the order of entries."""

from __future__ import annotations

from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.compiled import compiled

NO_SIZE = -1


@compiled
def bytes_of_entry(inputs: Inputs, ledger: Ledger, entry: int) -> int:
    """Bytes of an entry: the mean of those that came with it."""
    if entry < ledger.first_own_entry:
        return ledger.given_bytes // ledger.first_own_entry
    at = size_of(inputs, ledger, entry)
    return 0 if at == NO_SIZE else inputs.sizes[at].size_bytes // inputs.sizes[at].records


@compiled
def size_of(inputs: Inputs, ledger: Ledger, entry: int) -> int:
    """The place in Inputs.sizes of an entry of the writer's own; NO_SIZE: the workload hands over none for it."""
    message = entry - ledger.first_own_entry + ledger.first_message
    for at in range(ledger.first_size, ledger.first_size + ledger.size_count):
        size = inputs.sizes[at]
        if size.from_entry <= message < size.to_entry:
            return at
    return NO_SIZE
