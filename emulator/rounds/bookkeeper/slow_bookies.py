"""Step 4: bookies behind a slow link, or with a slow disk, take only so many bytes of a ledger's adds in a round.

An add is answered when the journal has forced it to disk (org.apache.bookkeeper.bookie.Journal), and both the journal and a
connection go by the order of arrival.
"""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at
from emulator.rounds.bookkeeper.constants import NO_LIMIT, UNHEARD
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.records import Bookie, Ledger, Lists
from emulator.rounds.bookkeeper.share_bookies import take_share
from emulator.rounds.bookkeeper.sizes import bytes_of_entry
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every


@compiled
def disk_is_tighter(inputs: Inputs, settings: Settings, bookie: Bookie) -> bool:
    """Whether it is its disk that keeps a bookie from taking more: without a journal that is forced nobody waits for it."""
    span = inputs.bookie_spans[bookie.span]
    if not (settings.journal and settings.synced) or span.disk_bytes == NO_LIMIT:
        return False
    return span.link_bytes == NO_LIMIT or span.disk_bytes <= span.link_bytes


@compiled
def grant_bytes(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """What a round lets through; what the last one didn't use is kept where something waits."""
    settings = inputs.settings[ledger.settings]
    for at in every(ledger.bookies):
        bookie = lists.bookies[at]
        if bookie.status & UNHEARD:
            continue
        span = inputs.bookie_spans[bookie.span]
        limit = span.disk_bytes if disk_is_tighter(inputs, settings, bookie) else span.link_bytes
        unused = max(bookie.may_take, 0) if bookie.holds_up else 0
        bookie.may_take = NO_LIMIT if limit == NO_LIMIT else limit + unused
        bookie.holds_up = 0
        if inputs.scenarios[ledger.scenario].sharing:
            take_share(lists, inputs, ledger, at - ledger.bookies.start, unused)


@compiled
def lets_through(inputs: Inputs, ledger: Ledger, bookie: Bookie, entry: int) -> bool:
    """Whether a bookie takes an add in this round; else that and all adds behind it wait."""
    if bookie.may_take == NO_LIMIT:
        return True
    size = bytes_of_entry(inputs, ledger, entry)
    if bookie.holds_up or size > bookie.may_take:
        bookie.holds_up = 1
        return False
    bookie.may_take -= size
    return True


@compiled
def slow_fault(lists: Lists, inputs: Inputs, ledger: Ledger, slot: int) -> int:
    """The fault for which a bookie takes no more."""
    bookie = bookie_at(lists, ledger, slot)
    span = inputs.bookie_spans[bookie.span]
    return span.disk_fault if disk_is_tighter(inputs, inputs.settings[ledger.settings], bookie) else span.link_fault
