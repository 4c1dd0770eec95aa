"""Looks at a busy ledger's invariants at the end of a round; each violation is noted when it begins."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.bookkeeper.bookies import edges, has
from emulator.expressions.bookkeeper.invariants import EVERY_ROUND, OF_TOPICS, LedgerInvariant
from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import CLOSED, RECOVERY_FIELDS, VIOLATION
from emulator.expressions.bookkeeper.texts import QA, WRITE_PLACES, ledger_step, where_busy
from emulator.expressions.columns import Step, struct, with_changes

_OUTPUTS = ("recoveries", "broken", "violations")


def check_invariants(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """Compare with the round before: `violations` gets what is broken now and was not then."""
    return state.withColumns(_decide(rules)).withColumns(_apply())


@ledger_step
def _decide(rules: LedgerRules) -> Step:
    steps = [_written(rules), _suspects(), _entries(rules), _broken(rules), _note(rules)]
    return where_busy("checked", "busy", steps, *_OUTPUTS)[0]


@ledger_step
def _apply() -> Step:
    return where_busy("checked", "busy", [], *_OUTPUTS)[1]


def _holders(entry: str, rules: LedgerRules) -> str:
    """How many bookies of an entry's write set, as the metadata has it, have it."""
    ensemble = f"array_max(filter(fragments, p_ -> p_.first_entry <= {entry})).ensemble"
    bookie = f"get({ensemble}, CAST(pmod({entry} + k_, feed.ensemble_size) AS INT))"
    return f"size(filter({WRITE_PLACES}, k_ -> {has(bookie, entry, rules.repairs)}))"


def _written(rules: LedgerRules) -> Step:
    """How far Qa bookies have the entries when a recovery is done fencing."""
    end = "greatest(next_entry, coalesce(array_max(transform(stored, o_ -> o_.entry)), -1L) + 1, r_.base_lac + 1)"
    few = f"filter(sequence(r_.base_lac + 1, {end}), x_ -> {_holders('x_', rules)} < {QA})"
    fenced = with_changes("r_", RECOVERY_FIELDS, written=f"array_min({few}) - 1")
    any_fenced = "exists(recoveries, r_ -> r_.fenced_round = round)"
    return {
        "recoveries": f"IF({any_fenced}, transform(recoveries, r_ -> IF(r_.fenced_round = round, {fenced}, r_)), recoveries)",
    }


def _suspects() -> Step:
    """The first entry that this round may have made unreadable: acknowledged in it, or from a fragment on that changed in it."""
    changed = "coalesce(array_min(transform(array_except(fragments, fragments_at_start), p_ -> p_.first_entry)), lac_before + 1)"
    return {
        "suspects_from": f"greatest(least({changed}, lac_before + 1), 0L)",
        "ends_otherwise": f"ledger_state = {CLOSED} AND (ledger_state_at_start != {CLOSED} OR fragments != fragments_at_start)",
    }


def _entries(rules: LedgerRules) -> Step:
    def suspects(last: str) -> str:
        """Of a fragment with another ensemble there may be millions: those around each edge stand for all."""
        few = f"sequence(x_, least(x_ + feed.ensemble_size - 1, {last}))"
        near = f"transform({edges('suspects_from', f'({last} + 1)')}, x_ -> {few})"
        return f"flatten({near})" if rules.repairs else f"sequence(suspects_from, {last})"

    def first_without_holder(last: str) -> str:
        return f"array_min(filter({suspects(last)}, x_ -> {_holders('x_', rules)} = 0))"

    return {
        "unreadable": f"IF(lac >= suspects_from, {first_without_holder('lac')}, null)",
        "missing": f"IF(ends_otherwise AND last_entry >= suspects_from, {first_without_holder('last_entry')}, null)",
    }


def _looked_at(rules: LedgerRules) -> tuple[LedgerInvariant, ...]:
    return EVERY_ROUND + OF_TOPICS if rules.topics else EVERY_ROUND


def _broken(rules: LedgerRules) -> Step:
    flags = (f"IF({one.violated}, {1 << number}, 0)" for number, one in enumerate(_looked_at(rules)))
    return {"broken_now": " | ".join(flags)}


def _note(rules: LedgerRules) -> Step:
    fields = {"round": "round", "invariant": "i_", "entry": "coalesce(unreadable, missing, -1L)"}
    fields |= {name: name for name in ("lac", "last_entry", "ensemble", "fragments")}
    one = f"CAST({struct(fields)} AS {VIOLATION})"
    new = f"filter(sequence(0, {len(_looked_at(rules)) - 1}), i_ -> (broken_now & ~broken & shiftleft(1, i_)) != 0)"
    return {
        "violations": f"IF((broken_now & ~broken) = 0, violations, concat(violations, transform({new}, i_ -> {one})))",
        "broken": "broken_now",
    }
