"""Step 3: clients send."""

from __future__ import annotations

from emulator.rounds.bookkeeper.adds import pending, send_add
from emulator.rounds.bookkeeper.bookies import bookie_at, is_heard
from emulator.rounds.bookkeeper.constants import FENCED_OFF, LATER, LEDGER_CLOSED, LEDGER_FENCED, WRITER, WRITER_CRASHED, WRITING
from emulator.rounds.bookkeeper.failures import has_failures, want_replaced
from emulator.rounds.bookkeeper.fragments import own_ensemble
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.quorums import write_index
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.recover import send_of_recoveries
from emulator.rounds.bookkeeper.stored import note_header
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.leaps import is_due


@compiled_into_callers
def send(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """The writer's new entries, then those that recoveries write back, then explicit LACs."""
    if ledger.writer == WRITING:
        send_entries(lists, inputs, ledger)
    else:
        refuse_queued(ledger)
    send_of_recoveries(lists, inputs, ledger)
    tell_lac(lists, inputs.settings[ledger.settings], ledger)


@compiled_into_callers
def send_entries(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """As many as there is room for, each with the LAC of now; bookies that failed an acknowledged add are replaced with them."""
    unacknowledged = pending(lists, ledger, WRITER)
    if ledger.queued or unacknowledged:
        ledger.had_to_write = 1
    count = min(ledger.queued, ledger.max_in_flight - unacknowledged)
    if count <= 0:
        return
    if has_failures(lists, ledger, WRITER, LATER) and not ledger.changing:
        want_replaced(lists, ledger)
    note_header(lists, ledger, ledger.lac, count)
    for _ in range(count):
        send_add(lists, inputs, ledger, WRITER, ledger.next_entry, ledger.lac)
        ledger.next_entry += 1
    ledger.lac_told = ledger.lac
    ledger.queued -= count


@compiled
def refuse_queued(ledger: Ledger) -> None:
    """A writer that stopped answers queued adds at once; nobody answers for one that crashed."""
    if ledger.queued == 0:
        return
    ledger.had_to_write = 1
    if ledger.writer == FENCED_OFF:
        ledger.refused_fenced += ledger.queued
        ledger.error = LEDGER_FENCED
        ledger.told_fenced = 1
    elif ledger.writer != WRITER_CRASHED:
        ledger.refused_closed += ledger.queued
        ledger.error = LEDGER_CLOSED
    ledger.queued = 0


@compiled_into_callers
def next_explicit_lac(before: int, lac: int) -> int:
    """What the writer notes when it looks: with more than one entry since then adds carried a newer one, and it waits again."""
    return lac if before >= lac - 1 else lac - 1


@compiled_into_callers
def tell_lac(lists: Lists, settings: Settings, ledger: Ledger) -> None:
    """Explicit LAC: the write set of one that no add carried learns of it, in rounds in which that is due."""
    if settings.explicit_lac_ms == 0 or ledger.writer != WRITING:
        return
    if not is_due(ledger.now, settings.round_ms, settings.explicit_lac_ms):
        return
    waits = ledger.explicit_lac < ledger.lac - 1
    ledger.explicit_lac = next_explicit_lac(ledger.explicit_lac, ledger.lac)
    if waits or ledger.lac <= ledger.lac_told:
        return
    ledger.lac_told = ledger.lac
    row = own_ensemble(ledger, WRITER)
    for place in range(settings.write_quorum):
        slot = lists.own[row, write_index(settings, ledger.lac, place)]
        if is_heard(lists, ledger, slot):
            bookie = bookie_at(lists, ledger, slot)
            bookie.explicit_lac = max(bookie.explicit_lac, ledger.lac)
