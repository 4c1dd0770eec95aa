"""What clients and bookies know at the end of a round, beside the snapshot of simulate.py; as docs/tables.md has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .ledger import Ledger
from .window import PendingAdd, Window


def state_of_round(ledger: Ledger) -> dict[str, Any]:
    """The writer, the recoveries under way, and every bookie that the ledger may have to do with."""
    writer = ledger.writer
    window = writer.window
    return {
        "writer": writer.state.replace("_", " "),
        "last_add_pushed": writer.next_entry - 1,
        "queued": writer.queued,
        "ensemble": list(window.ensemble),
        "replacing": sorted(failure.bookie for failure in (writer.changing or {}).values()),
        "in_flight": [_add(window, add) for add in window.pending],
        "recoveries": [
            (at, one.phase, one.lac, sorted(question.bookie for question in one.awaited.values()))
            for at, one in enumerate(ledger.recoveries)
            if one.running
        ],
        "underreplicated": len(ledger.repair.replacements),
        "readers": [
            {
                "number": number,
                "entries_read": one.read,
                "entries_missing": len(one.missing),
                "awaited_from": sorted({question.bookie for entry in one.wanted for question in entry.awaited}),
            }
            for number, one in enumerate(ledger.readers)
            if one.done_round is None
        ],
        "of_bookies": {broker: _bookie(ledger, broker) for broker in ledger.bookies},
    }


def _add(window: Window, add: PendingAdd) -> Mapping[str, Any]:
    taken, awaited = ([window.ensemble[index] for index in sorted(indices)] for indices in (add.acked, add.waiting))
    return {"entry": add.entry, "acked_by": taken, "awaited_from": awaited}


def _bookie(ledger: Ledger, broker: int) -> Mapping[str, Any]:
    bookie, status = ledger.bookies[broker], ledger.status(broker)
    return {
        "status": "dead" if status.dead else "heard" if status.heard else "silent",
        "registered": broker in ledger.registered,
        "in_ensemble": broker in ledger.writer.window.ensemble,
        "fenced": bookie.fenced,
        "limbo": bookie.limbo,
        "last_entry": bookie.last_entry,
        "lac": bookie.lac,
        "entries": len(bookie.entries),
    }
