"""Step 9: the remote log manager of each broker takes its duty, expires, copies, and looks how far it is tiered."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, applied, built_once, decided, unchanged
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import local_start
from emulator.expressions.kafka.tier.copy_task import COPY_DUE, COPY_RATE, copy_steps
from emulator.expressions.kafka.tier.copying import after_truncation
from emulator.expressions.kafka.tier.expiry_task import expiry_steps
from emulator.expressions.kafka.tier.lineage import highest_remote_offset
from emulator.expressions.kafka.tier.listing import count_listing
from emulator.expressions.kafka.tier.take_tier_inputs import RUNS, USABLE
from emulator.expressions.kafka.tier.writes import (
    GAVE_UP,
    NO_WRITES,
    OF_DUTIES,
    done,
    due,
    failed,
    left_bytes,
    task,
    write,
)
from emulator.expressions.log import epoch_cache
from emulator.expressions.slots import has, mine

TASKS = ("copy_task", "expiry_task", "follower_task")


def run_tier_tasks(state: DataFrame, rules: RunRules) -> DataFrame:
    """Run what is due, each replica by what it knew at the round's start and writes itself.

    What it does to remote segments is told by `writes` and `started` of the steps; share.py makes of all rows' writes what the
    partition has (docs/tiered_rounds.md, Remote log manager).
    """
    if not rules.tiers:
        return state
    for decide in (_decide_duties, _decide_expiry, _decide_copy, _decide_follower):
        step = decide(rules)
        state = state.withColumns(step).withColumns(_applied(next(iter(step))))
    return state.withColumns(_count_listing()) if rules.lists else state


_OF_DUTIES = unchanged(
    *("pins", "highest_remote", "duty", "duty_epoch", "copied", "knows_log_start", *TASKS, "copy_under_way", "aux_state"),
)
_OF_EXPIRY = unchanged("highest_remote", "expiry_task", "metadata_read", "metadata_index", "log", "log_start_offset")
_OF_FOLLOWER = unchanged("highest_remote", "follower_task")
_OF_COPY = unchanged(
    *("highest_remote", "copied", "knows_log_start", "copy_task", "copy_under_way", "copy_starts"),
    *("metadata_read", "metadata_index", "log", "log_start_offset"),
)

_OPEN = "feed.storage.transactions"
_DUTY = "CASE WHEN NOT feed.storage.tiered THEN 0 WHEN is_leader THEN 1 ELSE 2 END"
_DUTY_EPOCH = "IF(feed.storage.tiered AND is_leader, believed_epoch, null)"
_IS_STALE = "(aux_state IS NOT NULL AND (is_leader OR aux_state.leader != believed_leader OR aux_state.epoch != believed_epoch))"


_IS_KEPT = "segments IS NOT NULL AND NOT is_deleted"


@built_once
def _decide_duties(rules: RunRules) -> Step:
    changes_duty = f"({RUNS} AND NOT (duty = {_DUTY} AND duty_epoch <=> {_DUTY_EPOCH}))"
    missed = " OR ".join(f"({due(name)} AND {name}.period > 1)" for name in TASKS)
    pins = f"((size(pins) > 0 OR size({_OPEN}) > 0) AND NOT (transform(pins, p -> p.fault) <=> {_OPEN}))"
    guard = (
        f"{_IS_KEPT} AND ({_IS_STALE} OR {pins} OR ({mine('assigned')} AND highest_remote >= leo) OR {changes_duty}"
        f" OR (duty != 0 AND NOT {RUNS} AND ({missed})))"
    )
    steps = [_facts(rules), _duties(rules)]
    return decided("tier_duties", f"coalesce({guard}, false)", steps, _OF_DUTIES | unchanged("writes"))


@built_once
def _decide_expiry(rules: RunRules) -> Step:
    guard = f"{_IS_KEPT} AND duty = 1 AND {RUNS} AND {due('expiry_task')}"
    steps = [_known(rules), *expiry_steps(rules)]
    return decided("tier_expiry", f"coalesce({guard}, false)", steps, _OF_EXPIRY | unchanged("writes"))


@built_once
def _decide_copy(rules: RunRules) -> Step:
    is_due = f"(duty = 1 AND {RUNS} AND copy_under_way IS NULL AND {due('copy_task')})"
    guard = f"{_IS_KEPT} AND ({is_due} OR (copy_under_way IS NOT NULL AND {COPY_DUE}))"
    steps = [_known(rules), *copy_steps(rules)]
    return decided("tier_copy", f"coalesce({guard}, false)", steps, _OF_COPY | unchanged("writes", "started"))


@built_once
def _decide_follower(rules: RunRules) -> Step:
    guard = f"{_IS_KEPT} AND duty = 2 AND {RUNS} AND {due('follower_task')}"
    return decided("tier_follower", f"coalesce({guard}, false)", [_known(rules), _follow(rules)], _OF_FOLLOWER)


@built_once
def _count_listing() -> Step:
    return count_listing()


@built_once
def _applied(name: str) -> Step:
    outputs = {
        "tier_duties": _OF_DUTIES,
        "tier_expiry": _OF_EXPIRY,
        "tier_copy": _OF_COPY,
        "tier_follower": _OF_FOLLOWER,
    }
    return applied(name, outputs[name])


def _known(rules: RunRules) -> Step:
    return {
        "runs": RUNS,
        "usable": USABLE,
        "store_up": "feed.storage.store_up",
        "epochs": epoch_cache("log", "log_start_offset"),
        "local_from": local_start(rules),
        "copy_rate": COPY_RATE,
        "writes": NO_WRITES,
    }


def _facts(rules: RunRules) -> Step:
    """What was asked of another leader is of no use; transactions begin; a log that was cut is no further tiered than it goes."""
    known = "get(filter(pins, p -> p.fault = f), 0)"
    begins = "lead.leo - accepted_records"
    led = has("assigned", "client_leader")
    forgets = rules.holds("forget_on_truncation")
    pin = f"coalesce({known}, IF({led}, named_struct('fault', f, 'offset', CAST({begins} AS BIGINT)), null))"
    return {
        "aux_state": f"IF({_IS_STALE}, null, aux_state)",
        "pins": f"filter(transform({_OPEN}, f -> {pin}), p -> p IS NOT NULL)",
        "highest_remote": f"IF({mine('assigned')}, {after_truncation('highest_remote', 'leo', forgets)}, highest_remote)",
        "runs": RUNS,
        "usable": USABLE,
        "new_duty": _DUTY,
        "new_duty_epoch": _DUTY_EPOCH,
        "changes": f"{RUNS} AND duty != {_DUTY}",
    }


def _duties(rules: RunRules) -> Step:
    """Who leads copies and expires, who follows keeps an eye on how far it is tiered; a new duty begins at once."""
    copy = "copy_under_way"
    cancels = f"(changes AND {copy} IS NOT NULL AND NOT (feed.storage.finishes AND feed.storage.tiered))"
    moved = f"get(remote_segments, {copy}.segment).bytes - {left_bytes(copy)}"
    orphaned = (
        f"named_struct('segment', {copy}.segment, 'left_bytes', {copy}.left_bytes, 'as_of', {copy}.as_of, 'rate', {copy}.rate,"
        " 'orphaned', true)"
    )
    missed = task("round", "1", "{0}.failures")

    def of_task(name: str) -> str:
        now = task("round", "1", "0")
        return (
            f"CASE WHEN changes THEN {now} WHEN NOT runs AND duty != 0 AND {due(name)} THEN {missed.format(name)} ELSE {name} END"
        )

    return {
        "writes": f"IF({cancels}, array({write(OF_DUTIES, '0', GAVE_UP, f'{copy}.segment', moved)}), {NO_WRITES})",
        "copy_under_way": (f"CASE WHEN {cancels} THEN null WHEN changes AND {copy} IS NOT NULL THEN {orphaned} ELSE {copy} END"),
        "duty": "IF(runs, new_duty, duty)",
        "duty_epoch": "IF(runs, new_duty_epoch, duty_epoch)",
        "copied": "IF(changes, null, copied)",
        "knows_log_start": "knows_log_start AND NOT changes",
        **{name: of_task(name) for name in TASKS},
    }


def _follow(rules: RunRules) -> Step:
    """Followers look up how far their own log is tiered (RLMFollowerTask)."""
    found = highest_remote_offset("metadata_index", "epochs", "leo", rules.holds("within_lineage"))
    return {
        "highest_remote": f"IF(usable, greatest(highest_remote, {found}), highest_remote)",
        "follower_task": f"IF(usable, {done('follower_task')}, {failed('follower_task')})",
    }
