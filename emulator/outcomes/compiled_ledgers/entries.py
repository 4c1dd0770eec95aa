"""Who has which entry of a traced ledger."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.columns import lists_of, table_of
from emulator.outcomes.compiled_ledgers.view import LedgerView
from emulator.rounds.bookkeeper.constants import OF_THE_WRITER
from emulator.table_columns.arrow_columns import arrow_schema


def entry_rows(view: LedgerView) -> pa.Table:
    """A row for each entry of a traced ledger that some bookie has."""
    owners = view.owners("stored")
    wanted = np.flatnonzero(view.traced[owners] & view.kept[owners])
    parts = [_share(view, int(run), int(owners[run])) for run in wanted]
    columns = [np.concatenate([np.zeros(0, np.int64), *(part[at] for part in parts)]) for at in range(4)]
    order = np.lexsort((columns[2], columns[1], columns[0]))
    ledger, entry, broker, lac = (column[order] for column in columns)
    is_first = np.ones(len(ledger), bool)
    is_first[1:] = (np.diff(ledger) != 0) | (np.diff(entry) != 0)
    first = np.flatnonzero(is_first)
    counts = np.diff(np.append(first, len(ledger)))
    schema = arrow_schema("entries")
    rows = view.named(ledger[first]) | {
        "entry": entry[first],
        "bookies": lists_of(counts, broker, schema.field("bookies").type),
        "lac_stored": lists_of(counts, lac, schema.field("lac_stored").type),
    }
    return table_of("entries", len(first), rows)


def _share(view: LedgerView, at: int, ledger: int) -> tuple[np.ndarray, ...]:
    """(ledger, entry, broker, LAC in its header) of each entry of a run."""
    run, settings = view.records("stored")[at], view.settings[ledger]
    number = at - int(view.lists.stored.offsets[ledger])
    bookie = view.records("bookies")[int(view.lists.bookies.offsets[ledger]) + int(run.bookie)]
    end = int(bookie.has_to if bookie.open_run == number else run.to_entry)
    entries = np.arange(int(run.from_entry), end)
    entries = entries[int(run.residues) >> entries % int(settings.ensemble_size) & 1 == 1]
    lacs = np.full(len(entries), int(run.header))
    if run.header == OF_THE_WRITER:
        first, last = (int(view.lists.headers.offsets[ledger + more]) for more in (0, 1))
        headers = view.records("headers")[first:last]
        own = headers[np.searchsorted(headers.from_entry, entries, "right") - 1]
        lacs = own.lac + (entries - own.from_entry) // own.step * own.step
    return np.full(len(entries), ledger), entries, np.full(len(entries), int(bookie.broker)), lacs
