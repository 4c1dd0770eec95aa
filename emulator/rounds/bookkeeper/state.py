"""The state of a block of ledgers between two stretches: records, and their lists packed one after the other."""

from __future__ import annotations

from typing import Any, NamedTuple

from emulator.rounds.bookkeeper.client_records import (
    Add,
    FailedBookie,
    FoundFragment,
    LateAnswer,
    Opening,
    Read,
    Reader,
    Recovery,
    Request,
)
from emulator.rounds.bookkeeper.constants import (
    MAX_ENSEMBLE,
    NO_ENTRY,
    NO_FAULT,
    NO_LAC,
    OK,
    OPEN,
    WRITING,
)
from emulator.rounds.bookkeeper.records import Bookie, Fragment, Header, Ledger, Replacement, StoredRun
from emulator.rounds.packed import Packed, width_of
from emulator.rounds.records import Rows

LIST_RECORDS: dict[str, tuple[str, type | None]] = {
    "fragments": ("fragments", Fragment),
    "ensembles": ("fragments", None),
    "found": ("found", FoundFragment),
    "found_ensembles": ("found", None),
    "own": ("own", None),
    "recoveries": ("recoveries", Recovery),
    "openings": ("openings", Opening),
    "readers": ("readers", Reader),
    "reads": ("reads", Read),
    "closes": ("closes", None),
    "adds": ("adds", Add),
    "requests": ("requests", Request),
    "late_answers": ("late_answers", LateAnswer),
    "failures": ("failures", FailedBookie),
    "bookies": ("bookies", Bookie),
    "stored": ("stored", StoredRun),
    "headers": ("headers", Header),
    "replacements": ("replacements", Replacement),
}
"""Field of State and of Lists -> Ledger's list that it holds, and of what; None: rows of numbers, an ensemble or a close."""

WIDTHS = {
    name: width_of(record) if record is not None else 1 if name == "closes" else MAX_ENSEMBLE
    for name, (_, record) in LIST_RECORDS.items()
}
"""Words of an entry."""

ROOMS = {
    "fragments": 1, "found": 2, "own": 1, "recoveries": 1, "openings": 1, "readers": 1, "reads": 2, "closes": 1, "adds": 2,
    "requests": 8, "late_answers": 2, "failures": 2, "bookies": 2, "stored": 4, "headers": 2, "replacements": 2,
}  # fmt: skip
"""Ledger's lists: how long they are to one another."""


class State(NamedTuple):
    """Ledgers and their lists: list i of each is that of ledger i."""

    ledgers: Rows[Ledger]
    fragments: Packed
    ensembles: Packed
    found: Packed
    found_ensembles: Packed
    own: Packed
    recoveries: Packed
    openings: Packed
    readers: Packed
    reads: Packed
    closes: Packed
    adds: Packed
    requests: Packed
    late_answers: Packed
    failures: Packed
    bookies: Packed
    stored: Packed
    headers: Packed
    replacements: Packed


def start_ledgers(ledgers: Any) -> None:
    """Every ledger OPEN, its writer about to send entry 0."""
    ledgers.last_entry = ledgers.closed_by = NO_ENTRY
    ledgers.lac = ledgers.lac_told = ledgers.explicit_lac = NO_LAC
    ledgers.max_in_flight = 1
    ledgers.state, ledgers.writer, ledgers.error = OPEN, WRITING, OK
    ledgers.stop_cause = ledgers.close_cause = ledgers.impaired_cause = NO_FAULT
