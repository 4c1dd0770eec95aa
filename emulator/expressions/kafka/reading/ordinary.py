"""The ordinary round of a reader: it asks a leader that it knows, and gets records of the last run from memory, or nothing.

SQL texts over the reader `r` and what its group wants `w`; short, so that they can stand in front of `consume.consumed`.
"""

from __future__ import annotations

from emulator.expressions.columns import let
from emulator.expressions.kafka.reading import local
from emulator.expressions.kafka.reading.decide import knows
from emulator.expressions.kafka.reading.step import changed_reader
from emulator.expressions.kafka.reading.types import Asked
from emulator.expressions.log import bytes_within, last_run


def after_ordinary(readers: str, wants: str, row: Asked) -> str:
    """The readers after the round if it is an ordinary one for all of them, else null."""
    each = f"IF(w IS NULL, IF(r.stretch IS NULL AND r.replica IS NULL, r, null), {_after(row)})"
    all_after = f"transform({readers}, (r, i_) -> {let('w', f'get({wants}, i_)', each)})"
    return let("after_", all_after, "IF(exists(after_, x -> x IS NULL), null, after_)")


def _after(row: Asked) -> str:
    end = f"IF(w.reads_committed, {row.last_stable_offset}, {row.hw})"
    body = f"CASE WHEN r.position = end_ AND end_ = {row.leo} THEN {_idle()} WHEN {_has_records(row)} THEN {_read(row)} END"
    at_last_run = let("end_", end, let("l_", last_run(row.log), body))
    return f"IF({_asks_leader(row)}, {at_last_run}, null)"


def _asks_leader(row: Asked) -> str:
    """It goes on with a leader that serves; nothing has to be said before."""
    settled = "r.stopped IS NULL AND r.stretch IS NULL AND r.reset_cause IS NULL AND r.position IS NOT NULL AND r.replica IS NULL"
    serves = f"{row.is_lead} AND {row.serves} AND NOT {row.is_deleted} AND {knows(row.client_leader, row.client_epoch)}"
    names_nobody = f"(w.serves_rack = 0 OR w.serves_rack & shiftleft(1, {row.slot}) != 0)"
    return f"{settled} AND {serves} AND {names_nobody}"


def _has_records(row: Asked) -> str:
    """There are committed records of the last run, in memory."""
    from_there = f"greatest(l_.start_offset, {row.log_start}, {row.local_log_start}, coalesce({row.cold_below}, 0L))"
    is_even = "l_.pattern IS NULL AND l_.batch_records > 0"
    fits = f"coalesce({row.log_bytes} - {bytes_within('l_', 'r.position')} <= {row.page_cache_bytes}, true)"
    return f"{is_even} AND r.position >= {from_there} AND r.position < end_ AND {fits}"


def _idle() -> str:
    return changed_reader({"empty_fetches": "r.empty_fetches + 1"})


def _read(row: Asked) -> str:
    is_outside = f"coalesce(w.in_rack & shiftleft(1, {row.slot}), 1) = 0"
    new = {
        "position": "e_",
        "epoch": "l_.epoch",
        "records": "r.records + e_ - r.position",
        "page_cache_bytes": "r.page_cache_bytes + b_",
        "page_cache_requests": "r.page_cache_requests + 1",
        "cross_rack_bytes": f"r.cross_rack_bytes + IF({is_outside}, b_, 0L)",
        "max_lag": f"greatest(r.max_lag, {row.leader_hw} - e_)",
    }
    last = local.records_below("l_", f"({bytes_within('l_', 'r.position')} + w.fetch_bytes)")
    end = f"greatest(r.position + 1, least(end_, r.position + w.records_per_round, {last}))"
    size = f"({bytes_within('l_', 'e_')} - {bytes_within('l_', 'r.position')})"
    return let("e_", end, let("b_", size, changed_reader(new)))
