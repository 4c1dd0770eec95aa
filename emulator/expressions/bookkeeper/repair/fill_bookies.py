"""Step 7 of a ledger's round: bookies of it that may lack something get a batch of what they lack."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.bookkeeper.bookies import edges, has
from emulator.expressions.bookkeeper.repair.copies import header, with_copies
from emulator.expressions.bookkeeper.repair.sources import fragment_end, is_sourced, may_grow
from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import CLOSED
from emulator.expressions.bookkeeper.texts import empty, event, holds, is_heard, ledger_step, where_busy
from emulator.expressions.columns import Step, let, struct

_OUTPUTS = ("filling", "limbo", "copies", "events", "entries_copied")
_GUARD = "size(filling) > 0"
_ENTRY_AT = "STRUCT<bookie: INT, index: INT, entry: BIGINT>"


def fill_bookies(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """The first entries that are lacked and can be had; who has all of a closed ledger is filled, and out of limbo."""
    return state.withColumns(_decide()).withColumns(_apply()) if rules.repairs else state


@ledger_step
def _decide() -> Step:
    return where_busy("filled", _GUARD, [_find(), _take(), _leave()], *_OUTPUTS)[0]


@ledger_step
def _apply() -> Step:
    return where_busy("filled", _GUARD, [], *_OUTPUTS)[1]


def spans(bookie: str) -> str:
    """What a bookie should have, between edges: (index, ensemble, from_entry, to_entry) in the order of fragments and entries."""
    fields = {
        "index": f"CAST(array_position(of_.ensemble, {bookie}) AS INT) - 1",
        "ensemble": "of_.ensemble",
        "from_entry": "x_",
        "to_entry": "coalesce(get(edges_, i_ + 1), end_)",
    }
    parted = let("edges_", edges("of_.first_entry", "end_"), f"transform(edges_, (x_, i_) -> {struct(fields)})")
    own = f"filter(fragments, of_ -> array_contains(of_.ensemble, {bookie}) AND NOT {may_grow('of_')})"
    return f"flatten(transform({own}, of_ -> {let('end_', fragment_end('of_'), parted)}))"


def first_lacking(bookie: str, batch: str) -> str:
    """(found, left): the first entries, a batch at most, that a bookie lacks and another one has; whether it lacks more.

    Between edges the first E entries show which of every E are lacked, and which of these can be had.
    """
    first_few = "sequence(span_.from_entry, least(span_.from_entry + feed.ensemble_size, span_.to_entry) - 1)"
    lacking = f"filter({first_few}, e_ -> {holds('span_.index', 'e_')} AND NOT {has(bookie, 'e_', True)})"
    sourced = f"filter(lacking_, e_ -> {is_sourced('span_.ensemble', 'e_', bookie)})"
    room = f"({batch} - size(acc_.found))"
    up_to = f"least(span_.from_entry + feed.ensemble_size * ({room} + 1), span_.to_entry) - 1"
    alike = "exists(sourced_, s_ -> pmod(e_ - s_, feed.ensemble_size) = 0)"
    more = f"IF(size(sourced_) = 0, sourced_, slice(filter(sequence(span_.from_entry, {up_to}), e_ -> {alike}), 1, {room} + 1))"
    taken = struct({"bookie": bookie, "index": "span_.index", "entry": "e_"})
    after = struct(
        {
            "found": f"concat(acc_.found, transform(slice(more_, 1, {room}), e_ -> CAST({taken} AS {_ENTRY_AT})))",
            "left": f"acc_.left OR size(sourced_) < size(lacking_) OR size(more_) > {room}",
        }
    )
    step = let("lacking_", lacking, f"IF(size(lacking_) = 0, acc_, {let('sourced_', sourced, let('more_', more, after))})")
    start = struct({"found": empty(_ENTRY_AT), "left": "false"})
    enough = f"acc_.left AND {room} <= 0"
    return f"aggregate({spans(bookie)}, {start}, (acc_, span_) -> IF({enough}, acc_, {step}))"


def _find() -> Step:
    heard = f"filter(filling, f_ -> {is_heard('f_')})"
    one = let(
        "first_", first_lacking("f_", "feed.batch"), struct({"bookie": "f_", "found": "first_.found", "left": "first_.left"})
    )
    return {"searched": f"transform({heard}, f_ -> {one})"}


def _take() -> Step:
    complete = f"ledger_state = {CLOSED} AND NOT f_.left"
    return {
        "brought": "flatten(transform(searched, f_ -> f_.found))",
        "complete": f"transform(filter(searched, f_ -> {complete}), f_ -> f_.bookie)",
        "header_lac": header(),
    }


def _leave() -> Step:
    filled = f"transform(complete, b_ -> {event('filled', 'b_')})"
    left_limbo = f"transform(array_intersect(complete, limbo), b_ -> {event('limbo_left', 'b_')})"
    return {
        "filling": "array_except(filling, complete)",
        "limbo": "array_except(limbo, complete)",
        "copies": f"IF(size(brought) = 0, copies, {with_copies('brought', 'header_lac')})",
        "events": f"IF(size(complete) = 0, events, concat(events, {filled}, {left_limbo}))",
        "entries_copied": "entries_copied + size(brought)",
    }
