"""What went in and out of bookies, and what they have, at the ends of time buckets: rows that `broker_rounds` sums up."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at
from emulator.rounds.bookkeeper.constants import NO_RACK, NOBODY
from emulator.rounds.bookkeeper.fragments import index_in
from emulator.rounds.bookkeeper.held import bytes_held, entries_held
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.sizes import bytes_of_entry
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.leaps import next_multiple
from emulator.rounds.lists import append, last


@compiled_into_callers
def is_bucket_end(inputs: Inputs, scenario: int, now: int) -> bool:
    """Whether a time bucket ends before a round."""
    row = inputs.scenarios[scenario]
    return row.bucket_rounds > 0 and (now % row.bucket_rounds == 0 or now == row.rounds)


@compiled_into_callers
def next_bucket_end(inputs: Inputs, scenario: int, now: int, then: int) -> int:
    """Where a leap from a round to another one looks first: the first end of a time bucket, which nothing else changes at."""
    bucket = inputs.scenarios[scenario].bucket_rounds
    return then if bucket == 0 else min(then, next_multiple(bucket, now + 1))


@compiled
def note_taken(lists: Lists, inputs: Inputs, ledger: Ledger, slot: int) -> None:
    """What a bookie has more than when it was looked at last went in. It is looked at before it loses something, too."""
    bookie = bookie_at(lists, ledger, slot)
    now = bytes_held(lists, inputs, ledger, slot)
    bookie.bytes_taken += max(0, now - bookie.known_bytes)
    bookie.known_bytes = now


@compiled
def know_what_is_there(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """Of a ledger that starts with entries: these didn't go in during the run."""
    for slot in range(ledger.bookies.count):
        bookie_at(lists, ledger, slot).known_bytes = bytes_held(lists, inputs, ledger, slot)


@compiled
def note_read(lists: Lists, inputs: Inputs, ledger: Ledger, source: int, entry: int) -> None:
    """A bookie sent an entry to a client, which stands in no rack."""
    bookie_at(lists, ledger, source).bytes_out += bytes_of_entry(inputs, ledger, entry)


@compiled
def note_sent(lists: Lists, ledger: Ledger, source: int, target: int, size_bytes: int) -> None:
    """A bookie sent so many bytes of copies to another one."""
    bookie, rack = bookie_at(lists, ledger, source), bookie_at(lists, ledger, target).rack
    bookie.bytes_out += size_bytes
    if rack != bookie.rack and rack != NO_RACK:
        bookie.cross_rack_bytes_out += size_bytes


@compiled
def tell_traffic(lists: Lists, inputs: Inputs, ledger: Ledger, now: int, is_kept: bool) -> None:
    """A row for each bookie with something to tell of the bucket that ends before round `now`; `is_kept`: by bookies, still."""
    settings = inputs.settings[ledger.settings]
    for slot in range(ledger.bookies.count):
        note_taken(lists, inputs, ledger, slot)
        bookie = bookie_at(lists, ledger, slot)
        is_member = index_in(lists.ensembles, last(ledger.fragments), settings.ensemble_size, slot) != NOBODY
        has_something = is_kept and (is_member or bookie.known_bytes > 0)
        if not has_something and bookie.bytes_taken == 0 and bookie.bytes_out == 0:
            continue
        row = lists.traffic[append(lists.filled[0].traffic)]
        row.ledger = ledger.place
        row.place = bookie.place
        row.bucket = (now - 1) // inputs.scenarios[ledger.scenario].bucket_rounds
        row.bytes_produced = max(0, bookie.bytes_taken - bookie.bytes_in)
        row.bytes_in = bookie.bytes_in
        row.bytes_out = bookie.bytes_out
        row.cross_rack_bytes_out = bookie.cross_rack_bytes_out
        row.follower_count = 1 if is_kept and is_member else 0
        row.local_bytes = bookie.known_bytes if is_kept else 0
        row.entries = entries_held(lists, settings, ledger, slot) if is_kept else 0
        bookie.bytes_taken = 0
        bookie.bytes_in = 0
        bookie.bytes_out = 0
        bookie.cross_rack_bytes_out = 0
