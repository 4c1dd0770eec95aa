"""SQL texts that several phases of a ledger's round use."""

from __future__ import annotations

from functools import partial

from emulator.expressions.bookkeeper.state import (
    CLOSED,
    ENTRY_RUN,
    EVENT,
    EVENT_KINDS,
    LEDGER_STATE,
    MARK,
    NO_LAC,
    PENDING,
    RECOVERY_FIELDS,
)
from emulator.expressions.columns import Step, applied, built_once, decided, struct, unchanged

ledger_step = partial(built_once, schema=LEDGER_STATE)
"""Turns a function that returns a step into one that returns columns, parsed once."""

QW, QA = "feed.write_quorum", "feed.ack_quorum"
INDICES = "sequence(0, feed.ensemble_size - 1)"
WRITE_PLACES = "sequence(0, feed.write_quorum - 1)"

ENTRIES_READ = f"(IF(ledger_state = {CLOSED}, last_entry, lac) + 1)"
"""Entries that a reader of the ledger gets."""


def where_busy(name: str, guard: str, steps: list[Step], *outputs: str) -> tuple[Step, Step]:
    """Two steps that run `steps` where the guard holds: the struct `name` of outputs, and each output taken from it."""
    changed = unchanged(*outputs)
    return decided(name, guard, steps, changed, LEDGER_STATE), applied(name, changed, LEDGER_STATE)


def empty(kind: str) -> str:
    """An empty array of a type."""
    return f"CAST(array() AS ARRAY<{kind}>)"


OPEN_RUN = (
    "CAST("
    + struct({"from_entry": "run_from", "to_entry": "run_to", "lac": "run_lac", "step": "run_step", "ensemble": "ensemble"})
    + f" AS {ENTRY_RUN})"
)
"""The run that an ordinary ledger goes on with, as one of `runs`."""


def is_tick(period: str) -> str:
    """Whether the round is one of a period; 0: none is."""
    return f"{period} > 0 AND round % greatest({period}, 1) = 0"


def bit(index: str) -> str:
    """The mask of one index."""
    return f"shiftleft(1, {index})"


def mask_of(indices: str, index: str = "b_") -> str:
    """The mask of an array's indices; `index`: SQL of the index of the element `b_`."""
    return f"aggregate({indices}, 0, (m_, b_) -> m_ | {bit(index)})"


def is_dead(bookie: str) -> str:
    """Whether connections to the bookie break."""
    return f"array_contains(world.dead, {bookie})"


def is_heard(bookie: str) -> str:
    """Whether it gets what clients send, and they get its answers."""
    return f"NOT ({is_dead(bookie)} OR array_contains(world.silent, {bookie}))"


def write_set_index(place: str, entry: str) -> str:
    """The index at a place of an entry's write set."""
    return f"CAST(pmod({entry} + {place}, feed.ensemble_size) AS INT)"


def holds(index: str, entry: str) -> str:
    """Whether the bookie at an index gets the entry."""
    return f"pmod({index} - {entry}, feed.ensemble_size) < {QW}"


def last_of(fragments: str) -> str:
    """The fragment added last."""
    return f"element_at({fragments}, -1)"


def put_ensemble(fragments: str, first_entry: str, ensemble: str) -> str:
    """The fragments with this ensemble from an entry on: one more, or another ensemble of the one that starts there."""
    new = struct({"first_entry": first_entry, "ensemble": ensemble})
    return (
        f"IF(exists({fragments}, p_ -> p_.first_entry = {first_entry}),"
        f" transform({fragments}, p_ -> IF(p_.first_entry = {first_entry}, {new}, p_)), concat({fragments}, array({new})))"
    )


def new_recovery(number: str, origin: str, retry: str = "true") -> str:
    """A recovery that is started now; it marks the ledger in the next step 2."""
    fields = dict.fromkeys(RECOVERY_FIELDS, "0") | {
        "number": number,
        "origin": origin,
        "retry": retry,
        "started_round": "round",
        "phase": str(MARK),
        **dict.fromkeys(("fragments", "changes", "ensemble", "adds", "failed_later"), "array()"),
        "error": str(PENDING),
        **dict.fromkeys(("base_lac", "lac", "written"), str(NO_LAC)),
        **dict.fromkeys(("fenced_round", "closed_round"), "-1"),
    }
    return struct({name: f"CAST({fields[name]} AS {kind})" for name, kind in RECOVERY_FIELDS.items()})


def covered(mask: str, needed: str) -> str:
    """Whether `needed` of every Qw neighbours are in the mask."""
    heard = f"size(filter({WRITE_PLACES}, i_ -> ({mask} & {bit(write_set_index('i_', 'e_'))}) != 0))"
    return f"NOT exists({INDICES}, e_ -> {heard} < {needed})"


def merged(later: str, more: str) -> str:
    """Bookies by index, those of `more` in place of those that had the same index."""
    return f"concat(filter({later}, x_ -> NOT exists({more}, y_ -> y_.index = x_.index)), array_distinct({more}))"


def event(kind: str, bookie: str = "null", from_offset: str = "null", to_offset: str = "null") -> str:
    """An event of this round."""
    fields = {
        "round": "round",
        "kind": str(EVENT_KINDS.index(kind)),
        "bookie": f"CAST({bookie} AS INT)",
        "from_offset": f"CAST({from_offset} AS BIGINT)",
        "to_offset": f"CAST({to_offset} AS BIGINT)",
    }
    return struct(fields)


def event_if(condition: str, kind: str, **fields: str) -> str:
    """An array of one event, or of none."""
    return f"IF({condition}, array({event(kind, **fields)}), {empty(EVENT)})"
