"""Step 7 of a ledger's round, the auditor: who is missed for long enough is to be replaced wherever it is."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import REPLACEMENT
from emulator.expressions.bookkeeper.texts import INDICES, event, ledger_step, where_busy
from emulator.expressions.bookkeeper.topics.columns import PLAYED
from emulator.expressions.columns import Step, struct

_OUTPUTS = ("missed", "replacements", "events")
_MEMBERS = "array_distinct(flatten(transform(fragments, p_ -> p_.ensemble)))"
_GUARD = (
    "feed.autorecovery AND (size(missed) > 0 OR size(replacements) > 0"
    " OR exists(fragments, p_ -> arrays_overlap(p_.ensemble, world.unregistered)))"
)


def audit(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """Who is registered again is not replaced; who is not, is after the delay, or at once if decommissioned."""
    return state.withColumns(_decide(rules)).withColumns(_apply()) if rules.repairs else state


def due_round(missed: str) -> str:
    """From which round on a missed bookie is to be replaced."""
    return f"({missed}.since + IF(array_contains(world.decommissioned, {missed}.bookie), 0, feed.lost_rounds))"


@ledger_step
def _decide(rules: LedgerRules) -> Step:
    guard = f"{PLAYED} AND {_GUARD}" if rules.topics else _GUARD
    return where_busy("audited", guard, [_miss(), _publish(), _tell()], *_OUTPUTS)[0]


@ledger_step
def _apply() -> Step:
    return where_busy("audited", _GUARD, [], *_OUTPUTS)[1]


def _miss() -> Step:
    still = "filter(missed, m_ -> array_contains(world.unregistered, m_.bookie))"
    away = f"filter({_MEMBERS}, b_ -> array_contains(world.unregistered, b_) AND NOT exists(missed, m_ -> m_.bookie = b_))"
    new = struct({"bookie": "b_", "since": "round"})
    return {
        "missed": f"array_sort(concat({still}, transform({away}, b_ -> {new})))",
        "replacements": "filter(replacements, t_ -> array_contains(world.unregistered, t_.lost))",
    }


def _publish() -> Step:
    """In the order of bookies, fragments and indices."""
    fields = {
        "first_entry": "p_.first_entry",
        "index": "i_",
        "lost": "m_.bookie",
        "published_round": "round",
        "target": "null",
        "entries": "0",
        "copied_to": "null",
    }
    known = "exists(replacements, t_ -> t_.first_entry = p_.first_entry AND t_.index = i_ AND t_.lost = m_.bookie)"
    places = f"filter({INDICES}, i_ -> get(p_.ensemble, i_) = m_.bookie AND NOT {known})"
    of_one = f"transform(fragments, p_ -> transform({places}, i_ -> CAST({struct(fields)} AS {REPLACEMENT})))"
    due = f"filter(missed, m_ -> world.store_up AND round >= {due_round('m_')})"
    return {"published": f"flatten(transform({due}, m_ -> flatten({of_one})))"}


def _tell() -> Step:
    told = event("underreplicated", "t_.lost", "t_.first_entry")
    return {
        "replacements": "concat(replacements, published)",
        "events": f"concat(events, transform(published, t_ -> {told}))",
    }
