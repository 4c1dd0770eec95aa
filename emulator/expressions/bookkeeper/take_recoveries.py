"""Step 6 of a ledger's round: what recoveries, and clients that open without one, make of the answers."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.bookkeeper.bookies import has, lac_of
from emulator.expressions.bookkeeper.placement import replaced, stays
from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import (
    CLOSE,
    CLOSED,
    FAILED,
    FENCE,
    MARK,
    NO_LAC,
    NOT_ENOUGH_BOOKIES,
    OK,
    PENDING,
    READ,
    READ_EXCEPTION,
    RECOVERY_FIELDS,
    WRITE,
)
from emulator.expressions.bookkeeper.texts import (
    INDICES,
    QA,
    QW,
    bit,
    covered,
    event,
    is_dead,
    is_heard,
    last_of,
    ledger_step,
    mask_of,
    merged,
    put_ensemble,
    where_busy,
)
from emulator.expressions.bookkeeper.window import (
    NO_MESSAGES,
    acknowledged,
    first_open,
    messages_to_new,
    on_the_way,
    replaced_later,
    replaced_now,
    with_answers,
    with_ensemble,
    without_failed,
)
from emulator.expressions.columns import Step, let, struct, with_changes

_OF_RECOVERIES = ("recoveries", "network", "fenced", "events", "openings")


def take_recoveries_answers(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """Adds written back, LACs, the reads of the next entry; and what clients find that open without recovery."""
    return state.withColumns(_decide_recoveries(rules)).withColumns(_apply_recoveries())


@ledger_step
def _decide_recoveries(rules: LedgerRules) -> Step:
    steps = [_before(), _replace(rules), _resend(), _stored(), read_verdicts(rules), _take(rules), _fenced(rules)]
    steps.append(_openings(rules))
    guard = f"busy AND (size(recoveries) > 0 OR exists(openings, o_ -> o_.error = {PENDING}))"
    return where_busy("recovering", guard, steps, *_OF_RECOVERIES)[0]


@ledger_step
def _apply_recoveries() -> Step:
    return where_busy("recovering", "busy", [], *_OF_RECOVERIES)[1]


def of_recovery(**changes: str) -> str:
    """The recovery `r_` with some fields changed."""
    return with_changes("r_", RECOVERY_FIELDS, **changes)


def _given_up(error: int) -> str:
    return of_recovery(phase=f"IF(r_.retry, {MARK}, {FAILED})", error=str(error), adds="array()", failed_later="array()")


def _before() -> Step:
    return {"before": "recoveries"}


def _replace(rules: LedgerRules) -> Step:
    """Who fails an entry being written back is replaced at once, and the entry sent to the new bookie in the next round."""
    adds, ensemble = "r_.adds", "r_.ensemble"
    left = without_failed(adds, ensemble)
    later = merged("r_.failed_later", replaced_later(adds, ensemble))
    changed = of_recovery(
        changes=f"IF(target_ = r_.ensemble, r_.changes, {put_ensemble('r_.changes', 'r_.lac + 1', 'target_')})",
        ensemble="target_",
        failed_later=later,
        adds=let("left_", left, with_ensemble("left_", ensemble, "target_", "round + 1")),
    )
    other = let(
        "target_",
        replaced(ensemble, "failing_", rules),
        f"IF({stays('target_', 'failing_')}, {_given_up(NOT_ENOUGH_BOOKIES)}, {changed})",
    )
    none = of_recovery(failed_later=later, adds=left)
    body = let("failing_", replaced_now(adds, ensemble), f"IF(size(failing_) > 0, {other}, {none})")
    return {"recoveries": f"transform(recoveries, r_ -> IF(r_.phase IN ({READ}, {WRITE}) AND size(r_.adds) > 0, {body}, r_))"}


def _resend() -> Step:
    old = "get(before, r_.number).ensemble"
    resent = messages_to_new("r_.adds", old, "r_.ensemble", "r_.number", "r_.attempt", "round + 1")
    changed = f"r_.phase IN ({READ}, {WRITE}) AND {old} != r_.ensemble"
    messages = f"flatten(transform(recoveries, r_ -> IF({changed}, {resent}, {NO_MESSAGES})))"
    return {"network": f"IF(recoveries = before, network, concat(network, {on_the_way(messages)}))"}


def _stored() -> Step:
    """Adds with Qa answers are written: the next entry is read."""
    own = "filter(handled.answers, n_ -> n_.client = r_.number AND n_.attempt = r_.attempt)"
    is_written = f"r_.phase = {WRITE} AND {first_open('answered_')} > r_.lac + 1"
    written = of_recovery(phase=str(READ), lac="r_.lac + 1", adds=acknowledged("answered_", first_open("answered_")))
    kept = of_recovery(adds="filter(answered_, d_ -> NOT d_.acknowledged OR size(d_.waiting) > 0)")
    body = let(
        "own_", own, let("answered_", with_answers("r_.adds", "r_.ensemble", "own_"), f"IF({is_written}, {written}, {kept})")
    )
    return {"recoveries": f"transform(recoveries, r_ -> IF(r_.phase IN ({READ}, {WRITE}) AND size(r_.adds) > 0, {body}, r_))"}


def _needed(rules: LedgerRules) -> str:
    return f"IF({rules.holds('enough_missing')}, {QW} - {QA} + 1, {QA})"


def read_verdicts(rules: LedgerRules) -> Step:
    """By recovery that reads: how many of the write set, in order, it asks until the answers are enough, and its verdict.

    An answer is 1 found, 0 no, -1 unknown.
    """
    entry = "(r_.lac + 1)"
    fragment = f"array_max(filter(r_.fragments, p_ -> p_.first_entry <= {entry}))"
    place = f"CAST(pmod({entry} + k_, feed.ensemble_size) AS INT)"
    order = f"transform(sequence(0, {QW} - 1), k_ -> get({fragment}.ensemble, {place}))"
    no = f"IF({rules.holds('no_is_an_answer')}, 0, -1)"
    unknown = f"IF({rules.holds('unknown_is_no_answer')}, -1, 0)"
    in_limbo = f" WHEN array_contains(limbo, b_) THEN {unknown}" if rules.repairs else ""
    stored = has("b_", entry, rules.repairs)
    answer = f"CASE WHEN NOT ({is_heard('b_')}) THEN {unknown} WHEN {stored} THEN 1{in_limbo} ELSE {no} END"
    found, ends = "n_ = 1", f"n_ = 0 AND acc_.missing + 1 >= {_needed(rules)}"
    counted = struct(
        {
            "asked": "IF(acc_.verdict < 0, acc_.asked + 1, acc_.asked)",
            "missing": "acc_.missing + IF(n_ = 0, 1, 0)",
            "verdict": f"CASE WHEN acc_.verdict >= 0 THEN acc_.verdict WHEN {found} THEN 1 WHEN {ends} THEN 0 ELSE -1 END",
        }
    )
    start = struct({"asked": "0", "missing": "0", "verdict": "-1"})
    taken = f"aggregate(transform(order_, b_ -> {answer}), {start}, (acc_, n_) -> {counted})"
    asked = "filter(slice(order_, 1, taken_.asked), b_ -> " + is_heard("b_") + ")"
    verdict = struct({"verdict": "taken_.verdict", "fenced": asked})
    body = let("order_", order, let("taken_", taken, verdict))
    none = struct({"verdict": "-1", "fenced": "filter(array(0), b_ -> false)"})
    return {"reads": f"transform(recoveries, r_ -> IF({_reads('r_.number')}, {body}, {none}))"}


def _reads(number: str) -> str:
    """Whether a recovery read in this round: it did so at its start, and was not given up."""
    return f"(get(before, {number}).phase = {READ} AND get(recoveries, {number}).phase = {READ})"


def _take(rules: LedgerRules) -> Step:
    asked_now = "get(handled.questions, r_.number)"
    said = f"filter({asked_now}, q_ -> NOT q_.unknown)" if rules.repairs else asked_now
    heard = f"(r_.heard | {mask_of(f'transform({said}, q_ -> q_.index)')})"
    base = f"greatest(r_.base_lac, coalesce(array_max(transform({said}, q_ -> q_.lac)), {NO_LAC}L))"
    floor = f"IF({rules.holds('lac_floor')}, {last_of('r_.fragments')}.first_entry - 1, {NO_LAC}L)"
    fenced = of_recovery(
        heard="heard_",
        base_lac=f"greatest({base}, {floor})",
        lac=f"greatest({base}, {floor})",
        phase=f"IF({rules.holds('recover_tail')}, {READ}, {CLOSE})",
        fenced_round="round",
    )
    asked = f"get({last_of('r_.fragments')}.ensemble, j_)"
    said_unknown = f" AND NOT exists({asked_now}, q_ -> q_.index = j_)" if rules.repairs else ""
    silent = f"exists({INDICES}, j_ -> (heard_ & {bit('j_')}) = 0 AND NOT {is_dead(asked)}{said_unknown})"
    over = f"NOT {silent} OR round - r_.since_round >= feed.read_timeout"
    waits = of_recovery(heard="heard_", base_lac=base)
    fencing = let(
        "heard_",
        heard,
        f"CASE WHEN {covered('heard_', _needed(rules))} THEN {fenced} WHEN {over} THEN {_given_up(READ_EXCEPTION)}"
        f" ELSE {waits} END",
    )
    verdict = "get(reads, r_.number).verdict"
    read = (
        f"CASE {verdict} WHEN 1 THEN {of_recovery(phase=str(WRITE))} WHEN 0 THEN {of_recovery(phase=str(CLOSE))}"
        f" ELSE {_given_up(READ_EXCEPTION)} END"
    )
    return {
        "recoveries": (
            f"transform(recoveries, r_ -> CASE WHEN r_.phase = {FENCE} THEN {fencing} WHEN {_reads('r_.number')} THEN {read}"
            " ELSE r_ END)"
        )
    }


def _fenced(rules: LedgerRules) -> Step:
    asked = "flatten(transform(reads, v_ -> v_.fenced))"
    fences = rules.holds("recovery_reads_fence")
    return {
        "fenced": f"IF({fences}, array_union(fenced, {asked}), fenced)",
        "events": f"IF({fences}, concat(events, transform(array_except({asked}, fenced), b_ -> {event('fence', 'b_')})), events)",
    }


def _openings(rules: LedgerRules) -> Step:
    ensemble = f"{last_of('fragments')}.ensemble"
    knows = f" AND NOT array_contains(limbo, get({ensemble}, i_))" if rules.repairs else ""
    heard = f"filter({INDICES}, i_ -> {is_heard(f'get({ensemble}, i_)')}{knows})"
    largest = f"coalesce(array_max(transform({heard}, i_ -> {lac_of(f'get({ensemble}, i_)', rules.repairs)})), {NO_LAC}L)"
    enough = covered(mask_of(heard), f"({QW} - {QA} + 1)")
    found = struct({"round": "o_.round", "lac": "last_entry", "error": str(OK)})
    seen = struct({"round": "o_.round", "lac": "largest_", "error": str(OK)})
    error = struct({"round": "o_.round", "lac": "o_.lac", "error": str(READ_EXCEPTION)})
    opened = (
        f"CASE WHEN ledger_state = {CLOSED} THEN {found} WHEN {enough} THEN {let('largest_', largest, seen)} ELSE {error} END"
    )
    return {"openings": f"IF(world.store_up, transform(openings, o_ -> IF(o_.error = {PENDING}, {opened}, o_)), openings)"}
