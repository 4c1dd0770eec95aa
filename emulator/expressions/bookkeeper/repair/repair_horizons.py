"""Where a leap over quiet rounds of repair has to stop: delays that end, and copies up to where they would go on otherwise."""

from __future__ import annotations

from emulator.expressions.bookkeeper.bookies import edges, has
from emulator.expressions.bookkeeper.repair.audit import due_round
from emulator.expressions.bookkeeper.repair.copies import end_number, entry_numbered, number
from emulator.expressions.bookkeeper.repair.fill_bookies import first_lacking
from emulator.expressions.bookkeeper.repair.replace_lost import fragment_of, is_no_target, is_open_for, next_number
from emulator.expressions.bookkeeper.repair.sources import fragment_end, is_sourced, may_grow
from emulator.expressions.bookkeeper.texts import holds, is_heard
from emulator.expressions.columns import let


def repair_horizons() -> tuple[str, ...]:
    """SQL: rounds that have to be run, null where there is none."""
    due = f"array_min(filter(transform(missed, m_ -> {due_round('m_')}), at_ -> at_ >= round))"
    grace = "t_.published_round + feed.grace_rounds"
    waiting = f"filter(replacements, t_ -> {may_grow('t_')} AND {grace} >= round)"
    return (
        f"IF(feed.autorecovery, {due}, null)",
        f"array_min(transform({waiting}, t_ -> {grace}))",
        f"IF(size(replacements) = 0, null, {_replacing()})",
        f"IF(size(filling) = 0, null, {_filling()})",
    )


def _steady_until(index: str, ensemble: str, bookie: str, next_entry: str, end: str) -> str:
    """The round in which a batch for a bookie may first be another one than a range of entries of the index that it lacks.

    Up to the next edge every batch is one, if all that the bookie should have of the next E entries is lacked (or none is) and
    can be had; else the next round has to be run. Others that are being filled neither count as sources nor have edges.
    """
    fills = "array_contains(filling, {0})"
    others = fills.format("src_")
    concerns = f"({{0}} = {bookie} OR (array_contains({ensemble}, {{0}}) AND NOT {fills}))"
    later = f"filter({edges(next_entry, end, concerns.format)}, y_ -> y_ > {next_entry})"
    few = f"filter(sequence({next_entry}, least({next_entry} + feed.ensemble_size, to_) - 1), e_ -> {holds(index, 'e_')})"
    lacked = f"size(filter(few_, e_ -> NOT {has(bookie, 'e_', True)}))"
    can_be_had = f"NOT exists(few_, e_ -> NOT {is_sourced(ensemble, 'e_', bookie, others)})"
    rounds = f"({number(index, 'to_')} - {number(index, next_entry)} - 1) DIV feed.batch"
    steady = f"({lacked} IN (0, size(few_)) AND {can_be_had})"
    return let("to_", f"coalesce(array_min({later}), {end})", let("few_", few, f"round + IF({steady}, {rounds}, 0)"))


def _replacing() -> str:
    """Of the replacement that is worked on next, if this round moved it by a whole batch (`drift`: emulator/leaps.py)."""
    entry = entry_numbered("t_.index", next_number("t_"))
    target = f"NOT {is_no_target('t_.target', 'of_')} AND {is_heard('t_.target')}"
    at_end = f"{entry} >= {fragment_end('of_')}"
    goes_on = f"({at_end} OR {is_sourced('of_.ensemble', entry, 't_.target')})"
    works = f"{is_open_for('t_', 'of_')} AND NOT {may_grow('of_')} AND {target} AND {goes_on}"
    working = let("t_", "get(replacements, place_)", let("of_", fragment_of("t_"), works))
    first = f"array_min(filter(sequence(0, size(replacements) - 1), place_ -> {working}))"
    until = _steady_until("t_.index", "of_.ensemble", "t_.target", "entry_", "end_")
    steady = let("entry_", entry, let("end_", fragment_end("of_"), f"IF({at_end}, round, {until})"))
    steady = let("t_", "get(replacements, first_)", let("of_", fragment_of("t_"), steady))
    body = (
        "CASE WHEN first_ IS NULL AND NOT exists(drift.replacements, d_ -> d_ != 0) THEN null"
        f" WHEN get(drift.replacements, first_) = feed.batch THEN CAST({steady} AS BIGINT) ELSE CAST(round AS BIGINT) END"
    )
    return let("first_", first, body)


def _filling() -> str:
    """Of the bookie that has to stop first: the next round is like this one only where it goes on where this one ended."""
    fragment = "array_max(filter(fragments, y_ -> y_.first_entry <= first_.entry))"
    until = _steady_until("first_.index", "of_.ensemble", "f_", "first_.entry", "end_")
    steady = let("of_", fragment, let("end_", fragment_end("of_"), until))
    moved = "filter(copies, (c_, i_) -> c_.bookie = f_ AND get(drift.copies, i_) != 0)"
    joined = f"c_.index = first_.index AND {end_number('c_')} = {number('first_.index', 'first_.entry')}"
    goes_on = f"filter(copies, (c_, i_) -> c_.bookie = f_ AND get(drift.copies, i_) = feed.batch AND {joined})"
    body = (
        f"CASE WHEN first_ IS NULL AND size({moved}) = 0 THEN null"
        f" WHEN size({goes_on}) > 0 THEN CAST({steady} AS BIGINT) ELSE CAST(round AS BIGINT) END"
    )
    heard = f"filter(filling, f_ -> {is_heard('f_')})"
    return f"array_min(transform({heard}, f_ -> {let('first_', 'get(' + first_lacking('f_', '1') + '.found, 0)', body)}))"
