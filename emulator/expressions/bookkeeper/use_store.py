"""Step 2 of a ledger's round: what clients want of the metadata store, one after the other, each a compare-and-set."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.bookkeeper.placement import replaced, stays, still_there
from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import (
    AT_INDEX,
    CLOSE,
    CLOSED,
    CLOSING,
    DONE,
    FAILED,
    FENCE,
    FENCED_OFF,
    IN_RECOVERY,
    LEDGER_CLOSED,
    LEDGER_FENCED,
    MARK,
    METADATA_VERSION,
    NO_LAC,
    NOT_ENOUGH_BOOKIES,
    OK,
    OPEN,
    RECOVERY,
    RECOVERY_FIELDS,
    SHUT,
    UNEXPECTED_CONDITION,
    WRITER,
    WRITING,
)
from emulator.expressions.bookkeeper.texts import empty, event, event_if, last_of, ledger_step, put_ensemble, where_busy
from emulator.expressions.bookkeeper.window import NO_ADDS, NO_MESSAGES, messages_to_new, on_the_way, with_ensemble
from emulator.expressions.columns import Step, struct, with_changes

_OUTPUTS = (
    *("ledger_state", "fragments", "last_entry", "closed_by", "writer_state", "ensemble", "adds", "changing", "failed_later"),
    *("close_asked", "closes", "error", "failed_adds", "recoveries", "network", "ensemble_changes", "adds_resent", "events"),
)


def use_store(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """The writer's ensemble change and close, then recoveries in the order of their start, while the store is up."""
    return state.withColumns(_decide(rules)).withColumns(_apply())


@ledger_step
def _decide(rules: LedgerRules) -> Step:
    steps = [_wanted(), _replaced(rules), _verdict(), _change(), _close(), _answer_closes(), _recover(rules), _done(), _tell()]
    return where_busy("used", "busy AND world.store_up", steps, *_OUTPUTS)[0]


@ledger_step
def _apply() -> Step:
    return where_busy("used", "busy", [], *_OUTPUTS)[1]


def _wanted() -> Step:
    current = f"{last_of('fragments')}.ensemble"
    wants = f"(writer_state = {WRITING} AND changing IS NOT NULL)"
    return {
        "state_before": "ledger_state",
        "fragments_before": "fragments",
        "wants": wants,
        "current": current,
        "replacing": f"IF({wants} AND ledger_state = {OPEN}, {still_there(current, 'changing')}, {empty(AT_INDEX)})",
    }


def _replaced(rules: LedgerRules) -> Step:
    return {"target": f"IF(size(replacing) = 0, current, {replaced('current', 'replacing', rules)})"}


def _verdict() -> Step:
    stops = f"(wants AND (ledger_state != {OPEN} OR {stays('target', 'replacing')}))"
    return {
        "stops": stops,
        "waits": f"wants AND NOT {stops} AND size(failed_later) > 0",
        "changes": f"wants AND NOT {stops} AND size(failed_later) = 0",
        "fragments": f"IF(target = current, fragments, {put_ensemble('fragments', 'lac + 1', 'target')})",
    }


def _change() -> Step:
    """The change is done, goes on with who failed meanwhile, or ends the writer."""
    to_new = f"IF(changes, {messages_to_new('adds', 'ensemble', 'target', str(WRITER), '0')}, {NO_MESSAGES})"
    by_state = f"WHEN {CLOSED} THEN {LEDGER_CLOSED} WHEN {IN_RECOVERY} THEN {LEDGER_FENCED}"
    why = f"CASE ledger_state {by_state} ELSE {NOT_ENOUGH_BOOKIES} END"
    failed = event_if("stops AND next_entry > lac + 1", "add_failed", from_offset="lac + 1", to_offset="next_entry")
    return {
        "network": f"concat(network, {on_the_way(to_new)})",
        "adds_resent": f"adds_resent + size({to_new})",
        "adds": f"CASE WHEN stops THEN {NO_ADDS} WHEN changes THEN {with_ensemble('adds', 'ensemble', 'target')} ELSE adds END",
        "ensemble": "IF(changes, target, ensemble)",
        "changing": "CASE WHEN stops OR changes THEN null WHEN waits THEN failed_later ELSE changing END",
        "failed_later": f"IF(waits, {empty(AT_INDEX)}, failed_later)",
        "writer_state": f"IF(stops, IF(ledger_state = {IN_RECOVERY}, {FENCED_OFF}, {CLOSING}), writer_state)",
        "failed_adds": "IF(stops, failed_adds + next_entry - lac - 1, failed_adds)",
        "error": f"IF(stops AND next_entry > lac + 1, {why}, error)",
        "events": f"concat(events, {failed})",
    }


def _close() -> Step:
    """Close at the LAC: this overrides a recovery that isn't done."""
    closes = f"(writer_state = {CLOSING} AND ledger_state != {CLOSED})"
    return {
        "last_entry": f"IF({closes}, lac, last_entry)",
        "closed_by": f"IF({closes}, {WRITER}, closed_by)",
        "ledger_state": f"IF({closes}, {CLOSED}, ledger_state)",
        "writer_state": f"IF(writer_state = {CLOSING}, {SHUT}, writer_state)",
    }


def _answer_closes() -> Step:
    answered = f"writer_state = {SHUT} AND close_asked > 0"
    answer = f"IF(last_entry = lac, {OK}, {METADATA_VERSION})"
    return {
        "closes": f"IF({answered}, concat(closes, array_repeat({answer}, close_asked)), closes)",
        "error": f"IF({answered}, {answer}, error)",
        "close_asked": f"IF({answered}, 0, close_asked)",
    }


def _recover(rules: LedgerRules) -> Step:
    """Recoveries mark the ledger, or close it: `recovered` has the metadata and the recoveries after all of them."""
    metadata = ("ledger_state", "fragments", "last_entry", "closed_by")

    def after(**changes: str) -> str:
        fields = {name: changes.get(name, f"acc_.{name}") for name in metadata}
        return struct(fields | {"done": f"concat(acc_.done, array({changes['recovery']}))"})

    def of_r(**changes: str) -> str:
        return with_changes("r_", RECOVERY_FIELDS, **changes)

    none = "array()"
    done = of_r(phase=str(DONE), lac="acc_.last_entry", error=str(OK))
    marked = of_r(
        phase=str(FENCE),
        attempt="r_.attempt + 1",
        fragments="acc_.fragments",
        changes=none,
        ensemble=f"{last_of('acc_.fragments')}.ensemble",
        adds=none,
        failed_later=none,
        heard="0",
        since_round="round",
        base_lac=str(NO_LAC),
        lac=str(NO_LAC),
    )
    behind = f"exists(r_.changes, c_ -> c_.first_entry < {last_of('acc_.fragments')}.first_entry)"
    unexpected = f"{rules.holds('lac_floor')} AND {behind}"
    failed = of_r(phase=f"IF(r_.retry, {MARK}, {FAILED})", error=str(UNEXPECTED_CONDITION), adds=none)
    changed = f"aggregate(r_.changes, acc_.fragments, (q_, c_) -> {put_ensemble('q_', 'c_.first_entry', 'c_.ensemble')})"
    closed = of_r(phase=str(DONE), error=str(OK), closed_round="round")
    step = (
        f"CASE WHEN r_.phase = {MARK} AND acc_.ledger_state != {CLOSED}"
        f" THEN {after(ledger_state=str(IN_RECOVERY), recovery=marked)}"
        f" WHEN r_.phase = {MARK} OR (r_.phase = {CLOSE} AND acc_.ledger_state = {CLOSED}) THEN {after(recovery=done)}"
        f" WHEN r_.phase = {CLOSE} AND {unexpected} THEN {after(recovery=failed)}"
        f" WHEN r_.phase = {CLOSE} THEN "
        + after(ledger_state=str(CLOSED), fragments=changed, last_entry="r_.lac", closed_by="r_.number", recovery=closed)
        + f" ELSE {after(recovery='r_')} END"
    )
    start = struct({name: name for name in metadata} | {"done": empty(RECOVERY)})
    waiting = f"exists(recoveries, r_ -> r_.phase IN ({MARK}, {CLOSE}))"
    unchanged = struct({name: name for name in metadata} | {"done": "recoveries"})
    return {"recovered": f"IF({waiting}, aggregate(recoveries, {start}, (acc_, r_) -> {step}), {unchanged})"}


def _done() -> Step:
    ended = f"filter(recovered.done, r_ -> r_.phase IN ({DONE}, {FAILED}) AND get(recoveries, r_.number).phase < {DONE})"
    fields = ("ledger_state", "fragments", "last_entry", "closed_by")
    return {name: f"recovered.{name}" for name in fields} | {
        "recoveries": "recovered.done",
        "error": f"coalesce(element_at(concat(array(error), transform({ended}, r_ -> r_.error)), -1), error)",
    }


def _tell() -> Step:
    """Events of the metadata; a recovery that found the ledger OPEN and closed it at once started, too."""
    changed = "filter(fragments, p_ -> NOT array_contains(fragments_before, p_))"
    changes = f"transform({changed}, p_ -> {event('ensemble_change', from_offset='p_.first_entry')})"
    other = f"ledger_state != state_before AND ledger_state = {CLOSED}"
    closed = event_if(other, "ledger_closed", to_offset="last_entry")
    started = (
        f"ledger_state != state_before AND (ledger_state = {IN_RECOVERY} OR (state_before = {OPEN} AND closed_by != {WRITER}))"
    )
    return {
        "ensemble_changes": f"ensemble_changes + size({changed})",
        "events": (
            f"IF(ledger_state = state_before AND fragments = fragments_before, events, concat(events, {changes}, {closed},"
            f" {event_if(started, 'recovery_started')}))"
        ),
    }
