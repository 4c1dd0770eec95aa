"""Step 4 of a ledger's round: bookies take adds, the writer's first, then are fenced by those who ask for the LAC."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.bookkeeper.bookies import has, lac_of
from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import FENCE
from emulator.expressions.bookkeeper.texts import INDICES, bit, event, is_heard, last_of, ledger_step, where_busy
from emulator.expressions.columns import Step, struct

_OUTPUTS = ("network", "stored", "fenced", "events")
_FACTS = ("answers", "questions")
"""answers: (client, attempt, entry, index, bookie, fenced) of every add taken; questions: by recovery, (index, bookie,
lac, unknown) of who was asked for its LAC; unknown: it is in limbo, and that is its answer."""


def handle(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """Store, refuse or hold up what is on the way; answer the questions of recoveries that fence."""
    return state.withColumns(_decide(rules)).withColumns(_apply())


@ledger_step
def _decide(rules: LedgerRules) -> Step:
    steps = [_arrived(), _take_adds(rules), _answer_questions(rules), _fence()]
    return where_busy("handled", "busy", steps, *_OUTPUTS, *_FACTS)[0]


@ledger_step
def _apply() -> Step:
    return where_busy("handled", "busy", [], *_OUTPUTS)[1]


def _arrived() -> Step:
    held = "exists(feed.holds, f_ -> f_.bookie = m_.bookie AND f_.from_entry <= m_.entry AND m_.entry < f_.to_entry)"
    stays = f"(m_.sent_round > round OR NOT ({is_heard('m_.bookie')}) OR (NOT m_.recovery AND {held}))"
    return {
        "network": f"filter(network, m_ -> {stays})",
        "arrived": f"array_sort(filter(network, m_ -> NOT {stays}))",
    }


def _take_adds(rules: LedgerRules) -> Step:
    refused = "(NOT m_.recovery AND array_contains(fenced, m_.bookie))"
    answer = {name: f"m_.{name}" for name in ("client", "attempt", "entry", "index", "bookie")} | {"fenced": refused}
    new = struct({"bookie": "m_.bookie", "entry": "m_.entry", "lac": "m_.lac", "flushed": "false"})
    put = f"IF({has('m_.bookie', 'm_.entry', rules.repairs, 'acc_')}, acc_, concat(acc_, array({new})))"
    return {
        "answers": f"transform(arrived, m_ -> {struct(answer)})",
        "stored": f"aggregate(filter(arrived, m_ -> NOT {refused}), stored, (acc_, m_) -> {put})",
    }


def _answer_questions(rules: LedgerRules) -> Step:
    bookie = f"get({last_of('r_.fragments')}.ensemble, i_)"
    asked = f"filter({INDICES}, i_ -> (r_.heard & {bit('i_')}) = 0 AND {is_heard(bookie)})"
    unknown = f"array_contains(limbo, {bookie})" if rules.repairs else "false"
    answer = struct({"index": "i_", "bookie": bookie, "lac": lac_of(bookie, rules.repairs), "unknown": unknown})
    of_each = f"IF(r_.phase = {FENCE}, {asked}, filter({INDICES}, i_ -> false))"
    return {"questions": f"transform(recoveries, r_ -> transform({of_each}, i_ -> {answer}))"}


def _fence() -> Step:
    asked = "transform(flatten(questions), q_ -> q_.bookie)"
    return {
        "fenced": f"array_union(fenced, {asked})",
        "events": f"concat(events, transform(array_except({asked}, fenced), b_ -> {event('fence', 'b_')}))",
    }
