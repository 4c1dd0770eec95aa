"""A topic's part of a round, before its ledgers': who serves it, new ledgers, and the messages that are handed over to them."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import DONE, EVENT, FRAGMENT, OPEN, WRITING
from emulator.expressions.bookkeeper.texts import empty, event, event_if, ledger_step, new_recovery, where_busy
from emulator.expressions.bookkeeper.topics.columns import (
    BY_OWNER,
    CREATE,
    ON_BOOKIES,
    OWNER,
    OWNER_FIELDS,
    RECOVER,
    STOPPED,
    WAIT,
    WRITE,
)
from emulator.expressions.bookkeeper.window import pending
from emulator.expressions.columns import Step, let, struct, with_changes

_OUTPUTS = (
    *("list_version", "parts", "tail", "owners", "list_full", "owner", "first_message", "created_round", "dropped_round"),
    *("ledger_state", "fragments", "ensemble", "writer_state", "recoveries", "events"),
)
_SPAN = "STRUCT<from_slot: INT, to_slot: INT>"
_CREATED = "STRUCT<slot: INT, owner: INT, first_message: BIGINT, ensemble: ARRAY<INT>>"


def serve_list(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """Takeovers; what the owners want of the list, in their order, while the store is up; then messages go to ledgers.

    Needs the inputs of the round to be in force. `due`: the messages due up to this round.
    """
    if not rules.topics:
        return state
    return state.withColumns(_due()).withColumns(_decide(rules)).withColumns(_apply()).withColumns(_hand_over())


@ledger_step
def _due() -> Step:
    return {
        "due": "messages + feed.managed.messages",
        "failed_adds_before": "failed_adds",
        "refused_fenced_before": "refused_fenced",
    }


@ledger_step
def _decide(rules: LedgerRules) -> Step:
    wants = f"exists(owners, o_ -> o_.phase IN ({RECOVER}, {CREATE}) OR (o_.phase = {WAIT} AND o_.ready))"
    now = "feed.managed.take_overs > 0 OR feed.managed.crash_round = round"
    guard = f"feed.managed IS NOT NULL AND ({now} OR (world.store_up AND {wants}))"
    steps = [_take_over(), _crash(), _use_list(rules), _take(), _create(), _recover(), _tell()]
    return where_busy("listed", guard, steps, *_OUTPUTS)[0]


@ledger_step
def _apply() -> Step:
    return where_busy("listed", "busy", [], *_OUTPUTS)[1]


def of_owner(**changes: str) -> str:
    """The owner `o_` with some fields changed."""
    return with_changes("o_", OWNER_FIELDS, **changes)


def _take_over() -> Step:
    """Another broker serves the topic: it gets the messages from now on, those due before stay with who served it."""
    so_far = "(due - feed.managed.messages)"
    until_now = f"transform(owners, o_ -> {of_owner(to_message=f'coalesce(o_.to_message, {so_far})')})"
    new = dict.fromkeys(("tail", "waits_for"), "array()") | {
        "phase": str(RECOVER),
        "version": "0",
        "known_parts": "0",
        "part": "-1",
        "from_message": so_far,
        "to_message": f"IF(i_ < feed.managed.take_overs, {so_far}, null)",
        "ready": "false",
    }
    one = struct({name: f"CAST({new[name]} AS {kind})" for name, kind in OWNER_FIELDS.items()})
    more = f"transform(sequence(1, feed.managed.take_overs), i_ -> {one})"
    return {"owners": f"IF(feed.managed.take_overs = 0, owners, concat({until_now}, {more}))"}


def _crash() -> Step:
    """Who serves the topic and writes no ledger crashes here; the writer of one does with its ledger."""
    gone = "feed.managed.crash_round = round AND element_at(owners, -1).part < 0 AND i_ = size(owners) - 1"
    return {"owners": f"transform(owners, (o_, i_) -> IF({gone}, {of_owner(phase=str(STOPPED))}, o_))"}


def _use_list(rules: LedgerRules) -> Step:
    """One owner after the other, each a compare-and-set on the list as it is by then."""
    fields = ("version", "parts", "tail", "lacks_row", "created", "dropped")

    def after(owner: str, **changes: str) -> str:
        return struct(
            {name: changes.get(name, f"acc_.{name}") for name in fields} | {"done": f"concat(acc_.done, array({owner}))"}
        )

    known = {"version": "acc_.version", "known_parts": "acc_.parts", "tail": "acc_.tail"}
    reads = of_owner(**known, phase=str(WAIT), waits_for="acc_.tail", ready="false")
    is_last = "size(acc_.done) = size(owners) - 1"
    gives_up = of_owner(phase=f"IF({is_last}, {RECOVER}, {STOPPED})", ready="false")
    with_new = "IF(size(o_.tail) = 0, array(acc_.parts), array(element_at(o_.tail, -1), acc_.parts))"
    creates = of_owner(
        phase=str(WRITE),
        version="acc_.version + 1",
        known_parts="acc_.parts + 1",
        tail=with_new,
        part="acc_.parts",
        ready="false",
    )
    new = {"slot": "acc_.parts", "owner": "size(acc_.done)", "first_message": "o_.from_message", "ensemble": "ensemble_"}
    dropped = struct({"from_slot": "o_.known_parts", "to_slot": "acc_.parts"})
    created = after(
        creates,
        version="acc_.version + 1",
        parts="acc_.parts + 1",
        tail=with_new,
        created=f"concat(acc_.created, array(CAST({struct(new)} AS {_CREATED})))",
        dropped=f"concat(acc_.dropped, array(CAST({dropped} AS {_SPAN})))",
    )
    waits = of_owner(phase=str(CREATE), ready="false")
    stale = f"({rules.holds('list_is_checked')} AND o_.version != acc_.version)"
    has_row = "acc_.parts < feed.managed.max_ledgers"
    ensemble = "get(feed.managed.ensembles, (place + acc_.parts) % greatest(size(feed.managed.ensembles), 1))"
    may = f"IF({has_row}, {created}, {after(waits, lacks_row='true')})"
    one = (
        f"CASE WHEN o_.phase = {RECOVER} THEN {after(reads)}"
        f" WHEN o_.phase != {CREATE} AND NOT (o_.phase = {WAIT} AND o_.ready) THEN {after('o_')}"
        f" WHEN {stale} THEN {after(gives_up)}"
        f" ELSE {let('ensemble_', ensemble, f'IF(ensemble_ IS NULL, {after(waits)}, {may})')} END"
    )
    start = {"version": "list_version", "parts": "parts", "tail": "tail", "lacks_row": "list_full"}
    start |= {"created": empty(_CREATED), "dropped": empty(_SPAN), "done": empty(OWNER)}
    unchanged = struct({**start, "done": "owners"})
    return {"used": f"IF(world.store_up, aggregate(owners, {struct(start)}, (acc_, o_) -> {one}), {unchanged})"}


def _take() -> Step:
    return {
        "owners_before": "owners",
        "owners": "used.done",
        "list_version": "used.version",
        "parts": "used.parts",
        "tail": "used.tail",
        "list_full": "used.lacks_row",
        "made": "get(filter(used.created, c_ -> c_.slot = slot), 0)",
    }


def _create() -> Step:
    """The row's ledger comes to be: it takes adds from this round on."""
    fragments = f"CAST(array({struct({'first_entry': '0L', 'ensemble': 'made.ensemble'})}) AS ARRAY<{FRAGMENT}>)"
    dropped = "exists(used.dropped, d_ -> d_.from_slot <= slot AND slot < d_.to_slot)"
    return {
        "created_round": "IF(made IS NULL, created_round, round)",
        "owner": "IF(made IS NULL, owner, made.owner)",
        "first_message": "IF(made IS NULL, first_message, made.first_message)",
        "ledger_state": f"IF(made IS NULL, ledger_state, {OPEN})",
        "fragments": f"IF(made IS NULL, fragments, {fragments})",
        "ensemble": "IF(made IS NULL, ensemble, made.ensemble)",
        "writer_state": f"IF(made IS NULL, writer_state, {WRITING})",
        "dropped_round": f"IF(dropped_round IS NULL AND deleted_round IS NULL AND {dropped}, round, dropped_round)",
    }


def _recover() -> Step:
    """Who has read the list recovers its last ledgers."""
    reads = f"get(owners_before, i_).phase = {RECOVER} AND get(owners, i_).phase = {WAIT}"
    about_it = f"exists(recoveries, r_ -> r_.origin = {BY_OWNER} - i_ AND r_.phase < {DONE})"
    concerned = f"{reads} AND array_contains(get(owners, i_).waits_for, slot) AND NOT {about_it}"
    starting = f"filter(sequence(0, size(owners) - 1), i_ -> {concerned})"
    started = f"transform(starting, (i_, k_) -> {new_recovery('size(recoveries) + k_', f'{BY_OWNER} - i_')})"
    recovers = f"size(starting) > 0 AND {ON_BOOKIES}"
    return {"recoveries": let("starting", starting, f"IF({recovers}, concat(recoveries, {started}), recoveries)")}


def _tell() -> Step:
    each = f"array_repeat({event('take_over')}, feed.managed.take_overs)"
    taken = f"IF(slot = 0 AND feed.managed.take_overs > 0, {each}, {empty(EVENT)})"
    created = event_if("made IS NOT NULL", "ledger_created", from_offset="first_message")
    return {"events": f"concat(events, {taken}, {created})"}


@ledger_step
def _hand_over() -> Step:
    """Messages go to the ledger that their owner writes; those that can't be sent yet stay with the owner."""
    own = "get(owners, owner)"
    writes = f"{own}.part = slot AND {own}.phase = {WRITE} AND writer_state = {WRITING} AND deleted_round IS NULL"
    waiting = f"coalesce({own}.to_message, due) - first_message - next_entry"
    room = f"CAST(coalesce(feed.in_flight, 1) - size({pending('adds')}) AS BIGINT)"
    return {"queued": f"IF({writes}, greatest(least({waiting}, {room}), 0L), queued)"}
