"""The guards of BookKeeper's protocol and of its mutants, as records."""

from __future__ import annotations

from typing import Any

from emulator.rounds.bookkeeper.inputs import Rules
from emulator.rounds.records import fields_of, rows

_MUTANT = "bookkeeper-mutant-"

LACKS: dict[str, str | None] = {
    "bookkeeper": None,
    _MUTANT + "recovery-reads-do-not-fence": "recovery_reads_fence",
    _MUTANT + "no-such-entry-as-unknown": "no_is_an_answer",
    _MUTANT + "unknown-as-no-such-entry": "unknown_is_no_answer",
    _MUTANT + "no-lac-floor": "lac_floor",
    _MUTANT + "close-at-lac": "recover_tail",
    _MUTANT + "ack-quorum-as-fence-quorum": "enough_missing",
    _MUTANT + "limbo-says-no": "limbo_is_unknown",
    _MUTANT + "damaged-not-fenced": "damaged_are_fenced",
    _MUTANT + "list-not-checked": "list_is_checked",
}
"""Protocol -> the guard that it lacks; none of BookKeeper itself."""

RULES_PLACES = {name: place for place, name in enumerate(LACKS)}
"""Protocol -> place of its rules in `rules_records`."""


def rules_records() -> Any:
    """The rules of all protocols, in the order of LACKS."""
    records = rows(Rules, len(LACKS))
    for place, lacking in enumerate(LACKS.values()):
        for name in fields_of(Rules):
            records[name][place] = 0 if name == lacking else 1
    return records
