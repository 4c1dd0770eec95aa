"""Step 3 of a ledger's round: clients send; what the writer sends may be dropped on the way."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.bookkeeper.placement import replaced, stays
from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import (
    AT_INDEX,
    CRASHED,
    FAILED,
    FENCED_OFF,
    LEDGER_CLOSED,
    LEDGER_FENCED,
    MARK,
    NOT_ENOUGH_BOOKIES,
    RECOVERY_FIELDS,
    WRITE,
    WRITER,
    WRITING,
)
from emulator.expressions.bookkeeper.texts import empty, is_heard, is_tick, ledger_step, put_ensemble, where_busy
from emulator.expressions.bookkeeper.window import (
    NO_ADDS,
    NO_MESSAGES,
    message,
    messages_of_new,
    new_add,
    on_the_way,
    pending,
    with_ensemble,
)
from emulator.expressions.columns import Step, let, struct, with_changes

_OUTPUTS = (
    *("changing", "failed_later", "adds", "next_entry", "queued", "lac_told", "network", "recoveries", "told"),
    *("refused_fenced", "refused_closed", "error"),
)
_FACTS = ("had_to_write",)


def send(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """The writer's new adds and explicit LAC, and the entries that recoveries write back."""
    return state.withColumns(_decide(rules)).withColumns(_apply())


@ledger_step
def _decide(rules: LedgerRules) -> Step:
    steps = [_room(), _put_in_flight(), _on_the_way(), _tell_lac(), _write_back(rules), _written_back()]
    return where_busy("sent", "busy", steps, *_OUTPUTS, *_FACTS)[0]


@ledger_step
def _apply() -> Step:
    return where_busy("sent", "busy", [], *_OUTPUTS)[1]


def _room() -> Step:
    writes = f"writer_state = {WRITING}"
    room = f"window_size - size({pending('adds')})"
    return {
        "had_to_write": f"{writes} AND (queued > 0 OR size({pending('adds')}) > 0)",
        "sends": f"IF({writes}, CAST(greatest(least(queued, {room}), 0) AS INT), 0)",
        "refuses": f"writer_state != {WRITING} AND queued > 0",
    }


def _put_in_flight() -> Step:
    """New entries with the LAC of now; who failed before is replaced with the first of them."""
    wants = "sends > 0 AND size(failed_later) > 0 AND changing IS NULL"
    new = f"transform(sequence(0, sends - 1), k_ -> {new_add('(next_entry + k_)', 'lac')})"
    fenced = f"refuses AND writer_state = {FENCED_OFF}"
    closed = f"refuses AND writer_state NOT IN ({FENCED_OFF}, {CRASHED})"
    return {
        "changing": f"IF({wants}, failed_later, changing)",
        "failed_later": f"IF({wants}, {empty(AT_INDEX)}, failed_later)",
        "new_adds": f"IF(sends > 0, {new}, {NO_ADDS})",
        "next_entry": "next_entry + sends",
        "queued": "IF(refuses, 0L, queued - sends)",
        "lac_told": "IF(sends > 0, lac, lac_told)",
        "refused_fenced": f"refused_fenced + IF({fenced}, queued, 0L)",
        "refused_closed": f"refused_closed + IF({closed}, queued, 0L)",
        "error": f"CASE WHEN {closed} THEN {LEDGER_CLOSED} WHEN {fenced} THEN {LEDGER_FENCED} ELSE error END",
    }


def _on_the_way() -> Step:
    messages = on_the_way(messages_of_new("new_adds", "ensemble", str(WRITER), "0"))
    return {
        "adds": "IF(sends > 0, concat(adds, new_adds), adds)",
        "network": f"IF(sends > 0, concat(network, {messages}), network)",
    }


def _tell_lac() -> Step:
    tick = is_tick("feed.explicit_lac_rounds")
    tells = f"({tick} AND writer_state = {WRITING} AND lac > lac_told)"
    heard = f"filter(ensemble, b_ -> {is_heard('b_')})"
    new = f"transform({heard}, b_ -> {struct({'bookie': 'b_', 'lac': 'lac'})})"
    return {
        "told": f"IF({tells}, concat(filter(told, h_ -> NOT array_contains({heard}, h_.bookie)), {new}), told)",
        "lac_told": f"IF({tells}, lac, lac_told)",
    }


def _writes(recovery: str) -> str:
    return f"({recovery}.phase = {WRITE} AND size({pending(f'{recovery}.adds')}) = 0)"


def _write_back(rules: LedgerRules) -> Step:
    """A recovery sends the entry that it found; bookies that failed an entry before are replaced first."""
    failed = with_changes(
        "r_", RECOVERY_FIELDS, phase=f"IF(r_.retry, {MARK}, {FAILED})", error=str(NOT_ENOUGH_BOOKIES), adds="array()"
    )
    add = new_add("(r_.lac + 1)", "r_.base_lac")
    sent = with_changes(
        "r_",
        RECOVERY_FIELDS,
        changes=f"IF(target_ = r_.ensemble, r_.changes, {put_ensemble('r_.changes', 'r_.lac + 1', 'target_')})",
        ensemble="target_",
        failed_later="array()",
        adds=f"concat({with_ensemble('r_.adds', 'r_.ensemble', 'target_')}, array({add}))",
    )
    target = f"IF(size(r_.failed_later) = 0, r_.ensemble, {replaced('r_.ensemble', 'r_.failed_later', rules)})"
    short = stays("target_", "r_.failed_later")
    body = let("target_", target, f"IF({short}, {failed}, {sent})")
    return {"written_back": f"transform(recoveries, r_ -> IF({_writes('r_')}, {body}, r_))"}


def _written_back() -> Step:
    newest = "element_at(r_.adds, -1)"
    to_one = message(newest, "w_.index", "r_.ensemble", "r_.number", "r_.attempt")
    sent = f"{_writes('get(recoveries, r_.number)')} AND r_.phase = {WRITE}"
    messages = f"flatten(transform(written_back, r_ -> IF({sent}, transform({newest}.waiting, w_ -> {to_one}), {NO_MESSAGES})))"
    return {
        "network": f"IF(size(recoveries) = 0, network, concat(network, {on_the_way(messages)}))",
        "recoveries": "written_back",
    }
