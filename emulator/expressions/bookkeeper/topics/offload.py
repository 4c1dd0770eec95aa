"""Closed ledgers of a topic go to a remote store, one after the other, and then from the bookies, as SQL of take_results.py."""

from __future__ import annotations

from emulator.expressions.bookkeeper.texts import ENTRIES_READ, INDICES, WRITE_PLACES, event_if, is_heard, is_tick
from emulator.expressions.bookkeeper.topics.columns import LISTED
from emulator.expressions.columns import Step, let

OUTPUTS = ("offloading", "copied_bytes", "offload_started_round", "offloaded_round", "freed_round", "events")
ON = "feed.managed.offloads"


def look() -> Step:
    """Of the row's ledger: bytes copied after this round, and whether it is closed, has entries, and isn't copied yet."""
    place = "get(p_.ensemble, CAST(pmod(i_ + k_, feed.ensemble_size) AS INT))"
    unheard = f"NOT exists({WRITE_PLACES}, k_ -> {is_heard(place)})"
    readable = f"NOT exists(fragments, p_ -> exists({INDICES}, i_ -> {unheard}))"
    size = "ledger_entries * feed.managed.entry_bytes"
    more = f"least({size}, copied_bytes + coalesce(feed.managed.copy_bytes, {size}))"
    copied = f"CASE WHEN NOT feed.managed.remote_up THEN 0L WHEN {readable} THEN {more} ELSE copied_bytes END"
    return {
        "copied_now": f"IF({ON} AND offloading = slot, {copied}, copied_bytes)",
        "to_be_copied": f"coalesce({ON} AND {LISTED} AND ledger_entries > 0 AND offloaded_round IS NULL, false)",
    }


def offload_steps() -> list[Step]:
    """The copy under way, the one to begin, and what bookies may delete. `gone`: the slots that retention just deleted."""
    return [_copy(), _choose(), _free(), _tell()]


def _copy() -> Step:
    """`copied`: what the copy under way has come to."""
    return {
        "copied": "get(filter(facts, f_ -> f_.slot = offloading), 0)",
        "is_gone": "array_contains(gone, offloading)",
    }


def _choose() -> Step:
    whole = "(NOT is_gone AND feed.managed.remote_up AND coalesce(copied.copied_bytes = copied.bytes, false))"
    goes_on = f"offloading >= 0 AND NOT is_gone AND feed.managed.remote_up AND NOT {whole}"
    waiting = "f_.to_be_copied AND f_.closed_round IS NOT NULL AND NOT array_contains(gone, f_.slot)"
    waiting = f"array_sort(filter(facts, f_ -> {waiting} AND NOT ({whole} AND f_.slot = offloading)))"
    closed = "aggregate(slice(waiting_, i_ + 1, size(waiting_)), 0L, (b_, f_) -> b_ + f_.bytes)"
    by_size = f"feed.managed.offload_bytes >= 0 AND {closed} > feed.managed.offload_bytes"
    by_time = "feed.managed.offload_rounds >= 0 AND round - w_.closed_round >= feed.managed.offload_rounds"
    first = f"coalesce(get(filter(waiting_, (w_, i_) -> ({by_size}) OR ({by_time})), 0).slot, -1)"
    chosen = f"IF({ON} AND feed.managed.remote_up, {let('waiting_', waiting, first)}, -1)"
    return {"whole": whole, "before": "offloading", "offloading": f"IF({goes_on}, offloading, {chosen})"}


def _free() -> Step:
    late = "offloaded_round IS NOT NULL AND round - offloaded_round > feed.managed.lag_rounds"
    frees = f"{is_tick('feed.managed.check_rounds')} AND {LISTED} AND freed_round IS NULL AND {late}"
    return {
        "starts": "offloading = slot AND offloading != before",
        "ends": "before = slot AND whole",
        "fails": "before = slot AND NOT whole AND offloading != before AND NOT is_gone",
        "frees": f"coalesce({frees}, false)",
    }


def _tell() -> Step:
    told = ("offload_started", "starts"), ("offload_failed", "fails"), ("offloaded", "ends"), ("bookies_freed", "frees")
    return {
        "copied_bytes": "IF(before = slot AND is_gone, 0L, copied_now)",
        "offload_started_round": "IF(starts, round, offload_started_round)",
        "offloaded_round": "IF(ends, round, offloaded_round)",
        "freed_round": "IF(frees, round, freed_round)",
        "events": f"concat(events, {', '.join(event_if(when, kind) for kind, when in told)})",
    }


def offload_horizons() -> tuple[str, ...]:
    """SQL texts: rounds that have to be run; null for none."""
    size = f"({ENTRIES_READ} * feed.managed.entry_bytes)"
    whole = f"round + ({size} - copied_bytes + drift.copied_bytes - 1) DIV drift.copied_bytes - 1"
    due = "(closed_round + feed.managed.offload_rounds)"
    period = "greatest(feed.managed.check_rounds, 1)"
    late = f"(greatest(round, offloaded_round + feed.managed.lag_rounds + 1) + {period} - 1) DIV {period} * {period}"
    return (
        f"IF({ON} AND drift.copied_bytes > 0, {whole}, null)",
        f"IF({ON} AND {LISTED} AND offloaded_round IS NULL AND feed.managed.offload_rounds >= 0 AND {due} >= round, {due}, null)",
        f"IF({ON} AND {LISTED} AND freed_round IS NULL AND offloaded_round IS NOT NULL, {late}, null)",
    )
