"""A topic's part of a round, after its ledgers': what their rows tell each other, and what its owners make of it.

The only look at other rows that ledgers have.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import CLOSED, CLOSING, CRASHED, FENCED_OFF, SHUT, WRITING
from emulator.expressions.bookkeeper.texts import ENTRIES_READ, event_if, is_tick, ledger_step, where_busy
from emulator.expressions.bookkeeper.topics import offload
from emulator.expressions.bookkeeper.topics.columns import (
    AGE,
    CLOSE,
    CREATE,
    ENTRIES,
    FAILURE,
    LISTED,
    PLAYED,
    SIZE,
    STOPPED,
    WAIT,
)
from emulator.expressions.bookkeeper.topics.retention import deleted_slots
from emulator.expressions.bookkeeper.topics.serve_list import of_owner
from emulator.expressions.bookkeeper.window import NO_ADDS, pending
from emulator.expressions.columns import Step, let, struct
from emulator.state_schema import added

_OUTPUTS = (
    *("list_version", "owners", "messages", "topic_unacked", "topic_unacked_rounds", "topic_unwritable_rounds"),
    *("closed_round", "deleted_round", "rolled_over", "writer_state", "adds", "changing", "close_asked", "events"),
)
_OF_REPAIR = ("replacements", "filling", "missed")
_ROLLS = "get(owners, owner).part = slot"
"""Whether an owner writes the row's ledger."""


def take_results(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """Owners go on to the next ledger when theirs is full or failed; retention deletes old ones."""
    if not rules.topics:
        return state
    state = state.withColumns(_look())
    state = state.withColumns(offload_look()) if rules.offloads else state
    state = state.withColumns(_tell(rules))
    partition = Window.partitionBy("scenario_id", "partition_id")
    return (
        state.withColumns({name: F.expr(text).over(partition) for name, text in _SEEN.items()})
        .withColumns(_decide(rules))
        .withColumns(_apply(rules))
    )


_SEEN = {
    "facts": "collect_list(fact)",
    "acked_now": "sum(acked_here)",
    "listed_bytes": "sum(IF(fact_listed, ledger_bytes, 0L))",
    "listed_ledgers": "count(IF(fact_listed, 1, null))",
    "front": "min(IF(fact_listed, front_fact, null))",
}
"""What every row sees of all rows of its topic. `facts`: of ledgers that an owner writes or waits for, and of all in rounds of
retention; the others are about the list as a whole, for the horizon."""


@ledger_step
def _look() -> Step:
    """Of the row's ledger: what it has, when it was closed, whether its writer heard in this round that it is fenced."""
    failed = f"failed_adds > failed_adds_before AND writer_state IN ({CLOSING}, {FENCED_OFF})"
    return {
        "fact_listed": f"coalesce(feed.managed IS NOT NULL AND {LISTED}, false)",
        "fact_closed_round": f"IF(ledger_state = {CLOSED}, coalesce(closed_round, round), null)",
        "ledger_entries": ENTRIES_READ,
        "hears_of_fence": f"({failed}) OR refused_fenced > refused_fenced_before",
        "acked_here": "IF(feed.managed IS NULL, 0L, lac - lac_before)",
    }


offload_look = ledger_step(offload.look)


@ledger_step
def _tell(rules: LedgerRules) -> Step:
    age = "(round + 1 - created_round)"
    full = (
        f"CASE WHEN writer_state != {WRITING} THEN 0 WHEN {age} >= feed.managed.max_age_rounds"
        f" THEN IF(ledger_entries > 0, {AGE}, 0) WHEN {age} < feed.managed.min_age_rounds THEN 0"
        f" WHEN ledger_entries >= feed.managed.max_entries THEN {ENTRIES}"
        f" WHEN ledger_entries >= feed.managed.size_entries THEN {SIZE} ELSE 0 END"
    )
    size = "ledger_entries * feed.managed.entry_bytes"
    fact = {
        "slot": "slot",
        "played": PLAYED,
        "is_listed": "fact_listed",
        "writer_state": "writer_state",
        "hears_of_fence": "hears_of_fence",
        "acked_end": "first_message + lac + 1",
        "why_full": full,
        "closed_round": "fact_closed_round",
        "bytes": size,
    }
    if rules.offloads:
        fact |= {"copied_bytes": "copied_now", "to_be_copied": "to_be_copied"}
    concerned = f"exists(owners, o_ -> o_.part = slot OR (o_.phase = {WAIT} AND array_contains(o_.waits_for, slot)))"
    told = f"feed.managed IS NOT NULL AND ({concerned} OR (fact_listed AND {is_tick('feed.managed.check_rounds')})"
    told += " OR slot = offloading OR to_be_copied)" if rules.offloads else ")"
    return {
        "fact": f"IF({told}, {struct(fact)}, null)",
        "ledger_bytes": size,
        "front_fact": struct({"slot": "slot", "closed_round": "fact_closed_round", "bytes": size}),
    }


def _outputs(rules: LedgerRules) -> tuple[str, ...]:
    return (*_OUTPUTS, *(offload.OUTPUTS if rules.offloads else ()), *(_OF_REPAIR if rules.repairs else ()))


@ledger_step
def _decide(rules: LedgerRules) -> Step:
    steps = [_own(), _go_on(), _delete(), _count()]
    steps += offload.offload_steps() if rules.offloads else []
    steps += [_stop_repair(rules)] if rules.repairs else []
    return where_busy("taken_over", "feed.managed IS NOT NULL", steps, *_outputs(rules))[0]


@ledger_step
def _apply(rules: LedgerRules) -> Step:
    return where_busy("taken_over", "busy", [], *_outputs(rules))[1]


def _own() -> Step:
    """What becomes of the row's ledger: it is rolled over, and closed once nothing is in flight."""
    own = f"(created_round IS NOT NULL AND deleted_round IS NULL AND {_ROLLS})"
    fact = "get(filter(facts, f_ -> f_.slot = slot), 0)"
    stops = f"(writer_state = {CRASHED} OR (owner < size(owners) - 1 AND hears_of_fence))"
    failed = f"writer_state IN ({SHUT}, {FENCED_OFF}) AND NOT {stops}"
    closes = f"{own} AND {fact}.why_full > 0 AND size({pending('adds')}) = 0"
    why = f"IF({fact}.why_full > 0, {fact}.why_full, IF({failed}, {FAILURE}, null))"
    return {
        "rolled_before": "rolled_over",
        "rolled_over": f"IF(rolled_over IS NULL AND {own}, {why}, rolled_over)",
        "closes_now": f"coalesce({closes}, false)",
    }


def _go_on() -> Step:
    """What the owners make of it."""
    closed = "exists(facts, f_ -> f_.slot = w_ AND f_.closed_round IS NOT NULL)"
    ready = of_owner(ready=f"NOT exists(o_.waits_for, w_ -> NOT {closed})")
    left = {"part": "-1", "from_message": "fact_.acked_end"}
    stops = f"fact_.writer_state = {CRASHED} OR (i_ < size(owners) - 1 AND fact_.hears_of_fence)"
    on_ledger = (
        f"CASE WHEN fact_ IS NULL THEN o_ WHEN {stops} THEN {of_owner(**left, phase=str(STOPPED))}"
        f" WHEN fact_.writer_state IN ({SHUT}, {FENCED_OFF}) THEN {of_owner(**left, phase=str(CREATE))}"
        f" WHEN fact_.why_full > 0 THEN {of_owner(phase=str(CLOSE))} ELSE o_ END"
    )
    fact = "get(filter(facts, f_ -> f_.slot = o_.part AND f_.played), 0)"
    one = f"CASE WHEN o_.phase = {WAIT} THEN {ready} WHEN o_.part < 0 THEN o_ ELSE {let('fact_', fact, on_ledger)} END"
    return {
        "writer_state": f"IF(closes_now, {CLOSING}, writer_state)",
        "close_asked": "IF(closes_now, close_asked + 1, close_asked)",
        "adds": f"IF(closes_now, {NO_ADDS}, adds)",
        "changing": "IF(closes_now, null, changing)",
        "owners": f"transform(owners, (o_, i_) -> {one})",
        "gone": deleted_slots(),
    }


def _delete() -> Step:
    """Deleted ledgers leave the list; owners who knew it know that, too."""
    in_step = of_owner(version="o_.version + size(gone)")
    return {
        "owners": f"IF(size(gone) = 0, owners, transform(owners, o_ -> IF(o_.version = list_version, {in_step}, o_)))",
        "list_version": "list_version + size(gone)",
        "deleted_round": "IF(array_contains(gone, slot), round, deleted_round)",
        "deletes": "array_contains(gone, slot)",
        "closed_round": f"IF({PLAYED}, fact_closed_round, closed_round)",
    }


def _count() -> Step:
    last = "element_at(owners, -1)"
    acked = f"coalesce(get(filter(facts, f_ -> f_.slot = {last}.part), 0).acked_end, {last}.from_message)"
    unacked = f"(due - {acked})"
    rolled = event_if("rolled_before IS NULL AND rolled_over IS NOT NULL", "ledger_rolled_over")
    return {
        "messages": "due",
        "topic_unacked": unacked,
        "topic_unacked_rounds": added("topic_unacked_rounds", unacked),
        "topic_unwritable_rounds": f"topic_unwritable_rounds + IF({unacked} > 0 AND acked_now = 0, 1L, 0L)",
        "events": f"concat(events, {rolled}, {event_if('deletes', 'ledger_deleted')})",
    }


def _stop_repair(rules: LedgerRules) -> Step:
    """Nobody repairs a ledger that is gone."""
    ends = "deletes OR frees" if rules.offloads else "deletes"
    return {name: f"IF({ends}, filter({name}, x_ -> false), {name})" for name in _OF_REPAIR}
