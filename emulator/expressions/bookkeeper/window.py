"""The adds that a client has in flight, of the writer and of a recovery alike, as SQL: requests, answers, failed bookies.

An add is *completed* with Qa answers; it is *acknowledged* when every earlier one is and no ensemble change is under way.
Acknowledged adds stay while they await answers: who fails one is replaced with the next add.
"""

from __future__ import annotations

from emulator.expressions.bookkeeper.state import ADD, ADD_FIELDS, AT_INDEX, MESSAGE
from emulator.expressions.bookkeeper.texts import (
    INDICES,
    QA,
    QW,
    WRITE_PLACES,
    bit,
    empty,
    holds,
    is_dead,
    mask_of,
    write_set_index,
)
from emulator.expressions.columns import struct, with_changes

BEYOND = str(2**62) + "L"
"""An entry above all others."""


def new_add(entry: str, lac: str, acknowledged: str = "false") -> str:
    """An add that is sent in this round."""
    waiting = f"transform({WRITE_PLACES}, i_ -> {struct({'index': write_set_index('i_', entry), 'round': 'round'})})"
    values = {"entry": entry, "lac": lac, "waiting": waiting, "acked": "0", "failed": "0", "completed": "false"}
    return struct(values | {"acknowledged": acknowledged})


def message(add: str, index: str, ensemble: str, client: str, attempt: str, sent_round: str = "round") -> str:
    """An add on its way to the bookie at an index; `client` -1 is the writer."""
    values = {
        "recovery": f"{client} >= 0",
        "sent_round": sent_round,
        "entry": f"{add}.entry",
        "index": index,
        "bookie": f"get({ensemble}, {index})",
        "lac": f"{add}.lac",
        "client": client,
        "attempt": attempt,
    }
    return struct(values)


def messages_of_new(adds: str, ensemble: str, client: str, attempt: str) -> str:
    """Adds that are sent now, to their write sets."""
    to_one = message("d_", "w_.index", ensemble, client, attempt)
    return f"flatten(transform({adds}, d_ -> transform(d_.waiting, w_ -> {to_one})))"


def on_the_way(messages: str) -> str:
    """What of the messages isn't lost at once: a dead bookie gets none, and the faults may drop the writer's."""
    dropped = "exists(feed.drops, f_ -> f_.bookie = m_.bookie AND f_.from_entry <= m_.entry AND m_.entry < f_.to_entry)"
    return f"filter({messages}, m_ -> NOT {is_dead('m_.bookie')} AND (m_.recovery OR NOT {dropped}))"


def pending(adds: str) -> str:
    """Those that are not acknowledged."""
    return f"filter({adds}, d_ -> NOT d_.acknowledged)"


# Failures -----------------------------------------------------------------------------------------------------------------


def _failing(add: str, ensemble: str) -> str:
    """The requests of an add that fail now."""
    fails = f"{is_dead(f'get({ensemble}, w_.index)')} OR round - w_.round >= feed.add_timeout"
    return f"filter({add}.waiting, w_ -> {fails})"


def _failed(add: str, ensemble: str) -> str:
    """The mask of all that failed an add, this round's included."""
    return f"({add}.failed | {mask_of(_failing(add, ensemble), 'b_.index')})"


def _at_indices(indices: str, index: str, ensemble: str) -> str:
    return f"transform({indices}, v_ -> {struct({'index': index, 'bookie': f'get({ensemble}, {index})'})})"


def replaced_now(adds: str, ensemble: str) -> str:
    """Whom the failures of this round want replaced now: those of adds that aren't completed."""
    failing = _failing("d_", ensemble)
    all_failed = f"filter({INDICES}, i_ -> ({_failed('d_', ensemble)} & {bit('i_')}) != 0)"
    too_many = f"size({failing}) > 0 AND bit_count({_failed('d_', ensemble)}) > {QW} - {QA}"
    none = empty(AT_INDEX)
    wanted = (
        f"CASE WHEN d_.completed THEN {none} WHEN NOT feed.delay_change THEN {_at_indices(failing, 'v_.index', ensemble)}"
        f" WHEN {too_many} THEN {_at_indices(all_failed, 'v_', ensemble)} ELSE {none} END"
    )
    return f"array_distinct(flatten(transform({adds}, d_ -> {wanted})))"


def replaced_later(adds: str, ensemble: str) -> str:
    """Whom they want replaced with the next add: those of completed ones."""
    completed = f"filter({adds}, d_ -> d_.completed AND NOT feed.delay_change)"
    return f"array_distinct(flatten(transform({completed}, d_ -> {_at_indices(_failing('d_', ensemble), 'v_.index', ensemble)})))"


def without_failed(adds: str, ensemble: str) -> str:
    """The adds without the requests that failed."""
    stays = f"NOT ({is_dead(f'get({ensemble}, w_.index)')}) AND round - w_.round < feed.add_timeout"
    failed = f"IF(feed.delay_change AND NOT d_.completed, {_failed('d_', ensemble)}, d_.failed)"
    changed = with_changes("d_", ADD_FIELDS, waiting=f"filter(d_.waiting, w_ -> {stays})", failed=failed)
    return _without_answered(f"transform({adds}, d_ -> {changed})")


def _without_answered(adds: str) -> str:
    return f"filter({adds}, g_ -> NOT g_.acknowledged OR size(g_.waiting) > 0)"


# Answers ------------------------------------------------------------------------------------------------------------------


def _answered(answers: str, ensemble: str, fenced: str) -> str:
    """Whether the request `w_` of the add `d_` has an answer; `fenced`: a condition on it."""
    same = f"n_.entry = d_.entry AND n_.index = w_.index AND n_.bookie = get({ensemble}, w_.index)"
    return f"exists({answers}, n_ -> {same} AND {fenced})"


def is_fenced_off(adds: str, ensemble: str, answers: str) -> str:
    """Whether an answer to an add that isn't completed says that the ledger is fenced."""
    refused = _answered(answers, ensemble, "n_.fenced")
    return f"exists({adds}, d_ -> NOT d_.completed AND exists(d_.waiting, w_ -> {refused}))"


def fenced_later(adds: str, ensemble: str, answers: str) -> str:
    """Whom such answers to completed adds want replaced with the next add."""
    completed = f"filter({adds}, d_ -> d_.completed AND NOT feed.delay_change)"
    refusing = f"filter(d_.waiting, w_ -> {_answered(answers, ensemble, 'n_.fenced')})"
    return f"array_distinct(flatten(transform({completed}, d_ -> {_at_indices(refusing, 'v_.index', ensemble)})))"


def with_answers(adds: str, ensemble: str, answers: str) -> str:
    """The adds with what was answered, completed where Qa are enough."""
    acked = (
        f"(d_.acked | {mask_of('filter(d_.waiting, w_ -> ' + _answered(answers, ensemble, 'NOT n_.fenced') + ')', 'b_.index')})"
    )
    waiting = f"filter(d_.waiting, w_ -> NOT {_answered(answers, ensemble, 'true')})"
    completed = f"d_.completed OR bit_count({acked}) >= {QA}"
    return f"transform({adds}, d_ -> {with_changes('d_', ADD_FIELDS, waiting=waiting, acked=acked, completed=completed)})"


def first_open(adds: str) -> str:
    """The first entry that isn't completed."""
    return f"coalesce(array_min(transform(filter({adds}, d_ -> NOT d_.completed), d_ -> d_.entry)), {BEYOND})"


def last_acknowledged(adds: str, below: str, lac: str) -> str:
    """The last entry below one, else what was acknowledged before."""
    return f"greatest({lac}, coalesce(array_max(transform(filter({adds}, d_ -> d_.entry < {below}), d_ -> d_.entry)), {lac}))"


def acknowledged(adds: str, below: str) -> str:
    """The adds, those below an entry acknowledged; forgotten when nothing is awaited of them."""
    changed = with_changes("d_", ADD_FIELDS, acknowledged=f"d_.acknowledged OR d_.entry < {below}")
    return _without_answered(f"transform({adds}, d_ -> {changed})")


# Another ensemble ---------------------------------------------------------------------------------------------------------


def _hit(add: str, old: str, new: str) -> str:
    """The indices that an add goes to again."""
    return f"filter({INDICES}, i_ -> get({old}, i_) != get({new}, i_) AND {holds('i_', f'{add}.entry')})"


def with_ensemble(adds: str, old: str, new: str, sent_round: str = "round") -> str:
    """The adds as they are sent to the new bookies: these have answered nothing yet."""
    keeps = f"filter(d_.waiting, w_ -> get({old}, w_.index) = get({new}, w_.index))"
    hit = _hit("d_", old, new)
    again = f"transform({hit}, v_ -> {struct({'index': 'v_', 'round': f'CAST({sent_round} AS INT)'})})"
    acked = f"(d_.acked & ~{mask_of(hit)})"
    resent = with_changes(
        "d_",
        ADD_FIELDS,
        waiting=f"concat({keeps}, {again})",
        acked=acked,
        failed=f"d_.failed & ~{mask_of(hit)}",
        completed=f"d_.completed AND (size({hit}) = 0 OR bit_count({acked}) >= {QA})",
    )
    return f"transform({adds}, d_ -> IF(d_.acknowledged, {with_changes('d_', ADD_FIELDS, waiting=keeps)}, {resent}))"


def messages_to_new(adds: str, old: str, new: str, client: str, attempt: str, sent_round: str = "round") -> str:
    """What goes to the new bookies."""
    to_one = message("d_", "v_", new, client, attempt, f"CAST({sent_round} AS INT)")
    return f"flatten(transform({pending(adds)}, d_ -> transform({_hit('d_', old, new)}, v_ -> {to_one})))"


NO_ADDS, NO_MESSAGES = empty(ADD), empty(MESSAGE)
