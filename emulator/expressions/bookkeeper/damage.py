"""What bookies lose of a ledger in the first round of a fault: what isn't on disk is gone, entries and fence."""

from __future__ import annotations

from emulator.expressions.bookkeeper.bookies import edges_from
from emulator.expressions.bookkeeper.repair.copies import kept_of, nth_entry
from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.texts import empty, event
from emulator.expressions.columns import Step, let, struct

NO_ENTRIES = empty("STRUCT<bookie: INT, entry: BIGINT>")


def damage_steps(rules: LedgerRules) -> list[Step]:
    """Who is damaged, from where on it loses runs and copies, and what is left."""
    return [_damaged(), _losing(), *([_losing_copies(), _damage(), _damage_copies()] if rules.repairs else [_damage()])]


def _damaged() -> Step:
    none = empty("INT")
    unjournaled = f"concat(IF(feed.journal, {none}, world.crashed), IF(feed.synced, {none}, world.power_lost))"
    return {"damaged": f"array_sort(array_distinct(concat({unjournaled}, world.disk_lost)))"}


def _losing() -> Step:
    flushed = "coalesce(array_max(transform(filter(flushes, h_ -> h_.bookie = b_), h_ -> h_.to_entry)), 0L)"
    kept_to = f"IF(array_contains(world.disk_lost, b_), 0L, {flushed})"
    return {
        "losing": f"transform(damaged, b_ -> {struct({'bookie': 'b_', 'from_entry': kept_to, 'to_entry': 'next_entry'})})",
        "gone": (
            "filter(stored, o_ -> array_contains(damaged, o_.bookie)"
            " AND NOT (o_.flushed AND NOT array_contains(world.disk_lost, o_.bookie)))"
        ),
        "gone_copies": NO_ENTRIES,
    }


_KEPT = (
    "CASE WHEN array_contains(world.disk_lost, w_.bookie) THEN 0L WHEN array_contains(damaged, w_.bookie) THEN w_.flushed"
    " ELSE w_.entries END"
)


def _losing_copies() -> Step:
    """Of copies the first and the last that is gone."""
    ends = f"array({nth_entry('w_', _KEPT)}, {nth_entry('w_', 'w_.entries - 1')})"
    of_one = f"transform({ends}, e_ -> {struct({'bookie': 'w_.bookie', 'entry': 'e_'})})"
    return {"gone_copies": f"flatten(transform(filter(copies, w_ -> {_KEPT} < w_.entries), w_ -> {of_one}))"}


def _damage_copies() -> Step:
    return {"copies": kept_of("copies", _KEPT)}


def _damage() -> Step:
    """Explicit LACs are never on disk."""
    was_fenced = "exists(flushes, h_ -> h_.bookie = b_ AND h_.fenced) AND NOT array_contains(world.disk_lost, b_)"
    single = "transform(filter(gone, o_ -> o_.bookie = d_.bookie), o_ -> o_.entry)"
    copied = "transform(filter(gone_copies, o_ -> o_.bookie = d_.bookie), o_ -> o_.entry)"
    entries = f"concat({single}, {copied}, {edges_from('d_.bookie', 'd_.from_entry')})"
    told = event("entries_lost", "d_.bookie", "array_min(gone_)", "array_max(gone_) + 1")
    events = f"transform(losing, d_ -> {let('gone_', entries, f'IF(size(gone_) = 0, null, {told})')})"

    def if_damaged(column: str, text: str) -> str:
        return f"IF(size(damaged) = 0, {column}, {text})"

    return {
        "stored": if_damaged("stored", "array_except(stored, gone)"),
        "lost": if_damaged("lost", "concat(lost, filter(losing, l_ -> l_.from_entry < l_.to_entry))"),
        "fenced": if_damaged("fenced", f"filter(fenced, b_ -> NOT array_contains(damaged, b_) OR ({was_fenced}))"),
        "told": if_damaged("told", "filter(told, h_ -> NOT array_contains(damaged, h_.bookie))"),
        "flushes": if_damaged("flushes", "filter(flushes, h_ -> NOT array_contains(world.disk_lost, h_.bookie))"),
        "impaired": "impaired OR size(gone) > 0 OR size(gone_copies) > 0 OR exists(damaged, b_ -> array_contains(fenced, b_))"
        f" OR exists(losing, d_ -> size({edges_from('d_.bookie', 'd_.from_entry')}) > 0)",
        "network": "filter(network, m_ -> NOT array_contains(world.dead, m_.bookie))",
        "events": if_damaged("events", f"concat(events, filter({events}, v_ -> v_ IS NOT NULL))"),
    }
