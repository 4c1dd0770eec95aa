"""The table of violated invariants of ledgers, with what shows them in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.columns import table_of
from emulator.outcomes.compiled_ledgers.view import LedgerView
from emulator.rounds.bookkeeper.constants import NO_ENTRY
from emulator.rounds.bookkeeper.invariants import NAMES, RECOVERY_ENDS


def violation_rows(view: LedgerView, of_lists: bool) -> pa.Table:
    """A row for each violation; `of_lists`: ledgers are of topics' lists, and are told by number."""
    told: Any = view.told.violations
    recoveries = np.diff(view.lists.recoveries.offsets)
    ledger = {(int(unit), int(n)): at for at, (unit, n) in enumerate(zip(view.unit, view.ledgers.in_list, strict=True))}
    size = view.settings.ensemble_size
    witnesses = []
    first = 0
    for row in told:
        at = ledger[int(row.ledger), int(row.in_list)]
        fragments = range(first, first + int(row.fragments) + 1)
        ensembles = [", ".join(map(str, view.told.witness_ensembles[n][: size[at]])) for n in fragments]
        starts = [int(view.told.witness[n].first_entry) for n in fragments]
        first += int(row.fragments) + 1
        if row.invariant == RECOVERY_ENDS:
            witnesses.append(f"{recoveries[at]} recoveries, acknowledged up to {row.lac}")
            continue
        last = "no entry yet" if row.last_entry == NO_ENTRY else row.last_entry
        missing = "" if row.entry == NO_ENTRY else f"entry {row.entry} is on no bookie of its write set; "
        listed = ", ".join(f"{start}: [{ensemble}]" for start, ensemble in zip(starts[1:], ensembles[1:], strict=True))
        witnesses.append(
            f"{f'ledger {row.in_list}: ' if of_lists else ''}{missing}acknowledged up to {row.lac}, the ledger ends at {last},"
            f" the writer writes to [{ensembles[0]}], fragments {listed}"
        )
    columns = view.names.at(np.asarray(told.ledger)) | {
        "round": told.at_round,
        "invariant": pa.array([NAMES[number] for number in told.invariant], pa.string()),
        "witness": pa.array(witnesses, pa.string()),
        "kind": pa.array(["violation"] * len(told), pa.string()),
    }
    return table_of("violations", len(told), columns)
