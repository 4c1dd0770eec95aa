"""Who is to be filled: the bookies of a ledger that is checked, and those that are back after damage (step 1, Limbo)."""

from __future__ import annotations

from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import CLOSED, DONE
from emulator.expressions.bookkeeper.texts import event, new_recovery
from emulator.expressions.columns import Step


def fill_asked(rules: LedgerRules) -> Step:
    """check_ledger: every bookie of the ledger. Also `back`: the bookies of it that are back after damage.

    A ledger that is created in the very round had nothing to lose.
    """
    members = "array_distinct(flatten(transform(fragments, p_ -> p_.ensemble)))"
    is_new = " AND NOT coalesce(created_round = round, false)" if rules.topics else ""
    return {
        "filling": f"IF(feed.checked, array_sort(array_union(filling, {members})), filling)",
        "back": f"filter(world.returned, b_ -> exists(fragments, p_ -> array_contains(p_.ensemble, b_)){is_new})",
    }


def return_damaged(rules: LedgerRules) -> Step:
    """They are fenced and to be filled; in limbo, and about to recover the ledger, unless it is closed."""
    fences, in_limbo = rules.holds("damaged_are_fenced"), f"{rules.holds('limbo_is_unknown')} AND ledger_state != {CLOSED}"
    about_it = f"exists(recoveries, r_ -> r_.origin = b_ AND r_.phase < {DONE})"
    starting = f"filter(back, b_ -> ledger_state != {CLOSED} AND NOT {about_it})"
    recoveries = f"transform({starting}, (b_, i_) -> {new_recovery('size(recoveries) + i_', 'b_')})"
    newly_fenced = f"filter(array_except(back, fenced), b_ -> {fences})"
    newly_in_limbo = f"filter(array_except(back, limbo), b_ -> {in_limbo})"
    told = (
        f"concat(events, transform({newly_fenced}, b_ -> {event('fence', 'b_')}),"
        f" transform({newly_in_limbo}, b_ -> {event('limbo_entered', 'b_')}))"
    )

    def if_back(column: str, text: str) -> str:
        return f"IF(size(back) = 0, {column}, {text})"

    return {
        "filling": if_back("filling", "array_sort(array_union(filling, back))"),
        "fenced": if_back("fenced", f"concat(fenced, {newly_fenced})"),
        "limbo": if_back("limbo", f"concat(limbo, {newly_in_limbo})"),
        "recoveries": if_back("recoveries", f"concat(recoveries, {recoveries})"),
        "events": if_back("events", told),
    }
