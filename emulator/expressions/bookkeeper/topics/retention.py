"""Which ledgers of a topic's list retention deletes, and in which round it may next, as SQL."""

from __future__ import annotations

from emulator.expressions.bookkeeper.texts import is_tick
from emulator.expressions.columns import let, struct


def deleted_slots() -> str:
    """From the front, never the last: closed ledgers that are too old, or without which enough is left.

    Reads `facts` of all that are listed.
    """
    expired = "(feed.managed.retention_rounds >= 0 AND round - f_.closed_round > feed.managed.retention_rounds)"
    left = "acc_.left_bytes - f_.bytes"
    too_much = f"(feed.managed.retention_bytes >= 0 AND {left} >= feed.managed.retention_bytes)"
    goes = f"acc_.going AND f_.closed_round IS NOT NULL AND ({expired} OR {too_much})"
    gone = struct({"going": "true", "left_bytes": left, "slots": "concat(acc_.slots, array(f_.slot))"})
    stays = struct({"going": "false", "left_bytes": "acc_.left_bytes", "slots": "acc_.slots"})
    start = struct({"going": "true", "left_bytes": "listed_bytes", "slots": "CAST(array() AS ARRAY<INT>)"})
    closed = "slice(list_, 1, size(list_) - 1)"
    body = f"aggregate({closed}, {start}, (acc_, f_) -> IF({goes}, {gone}, {stays})).slots"
    found = let("list_", "array_sort(filter(facts, f_ -> f_.is_listed))", body)
    return f"IF({is_tick('feed.managed.check_rounds')} AND listed_ledgers > 1, {found}, CAST(array() AS ARRAY<INT>))"


def next_deletion() -> str:
    """The round in which the ledger at the front may go, null if it stays as long as nothing else happens.

    Bytes grow by what was acknowledged in this round.
    """
    from_round = "greatest(round, front.closed_round + feed.managed.retention_rounds + 1)"
    behind = "(listed_bytes - front.bytes)"
    growth = "(acked_now * feed.managed.entry_bytes)"
    lacking = f"(feed.managed.retention_bytes - {behind})"
    by_size = f"IF({growth} > 0, round + ({lacking} + {growth} - 1) DIV {growth} - 1, null)"
    by_size = f"IF({lacking} <= 0, round, {by_size})"
    return (
        "IF(feed.managed IS NOT NULL AND listed_ledgers > 1 AND front.closed_round IS NOT NULL,"
        f" least(IF(feed.managed.retention_rounds >= 0, {_tick(from_round)}, null),"
        f" IF(feed.managed.retention_bytes >= 0, {_tick(by_size)}, null)), null)"
    )


def _tick(at: str) -> str:
    """The first round of the period at or after one."""
    period = "greatest(feed.managed.check_rounds, 1)"
    return f"(CAST({at} AS BIGINT) + {period} - 1) DIV {period} * {period}"
