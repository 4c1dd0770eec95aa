"""Step 7 of a ledger's round, the replication worker: one batch of copies for one bookie that is to be replaced."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.bookkeeper.bookies import has
from emulator.expressions.bookkeeper.placement import replaced
from emulator.expressions.bookkeeper.repair.copies import entry_at, entry_numbered, header, number, with_copies
from emulator.expressions.bookkeeper.repair.sources import fragment_end, is_sourced, may_grow
from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import AT_INDEX, BY_WORKER, DONE, REPLACEMENT_FIELDS
from emulator.expressions.bookkeeper.texts import event, is_heard, ledger_step, new_recovery, where_busy
from emulator.expressions.columns import Step, let, struct, with_changes

_OUTPUTS = ("replacements", "copies", "recoveries", "events", "entries_copied")
_GUARD = "size(replacements) > 0"
_WORK = {"tasks": "", "recovers": "BOOLEAN", "worked": "BOOLEAN", "target": "INT", "index": "INT", "entries": "ARRAY<BIGINT>"}


def replace_lost(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """The first replacement, in the order of publication, that can be worked on gets a batch; the last one ends it."""
    return state.withColumns(_decide(rules)).withColumns(_apply()) if rules.repairs else state


@ledger_step
def _decide(rules: LedgerRules) -> Step:
    return where_busy("worked", _GUARD, [_work(rules), _lacking(), _take()], *_OUTPUTS)[0]


@ledger_step
def _apply() -> Step:
    return where_busy("worked", _GUARD, [], *_OUTPUTS)[1]


def fragment_of(task: str) -> str:
    """The fragment that a replacement is about."""
    return f"get(filter(fragments, y_ -> y_.first_entry = {task}.first_entry), 0)"


def is_open_for(task: str, fragment: str) -> str:
    """Whether there is something left to copy, for a bookie that still is in the fragment."""
    return f"coalesce({task}.copied_to IS NULL AND get({fragment}.ensemble, {task}.index) = {task}.lost, false)"


def is_no_target(target: str, fragment: str) -> str:
    """Whether another target has to be chosen."""
    return f"({target} IS NULL OR array_contains(world.unregistered, {target}) OR array_contains({fragment}.ensemble, {target}))"


def next_number(task: str) -> str:
    """The number of the entry that is copied next."""
    return f"({number(f'{task}.index', f'{task}.first_entry')} + {task}.entries)"


def _with_target(rules: LedgerRules) -> str:
    """`task_`, with another target if it needs one: by the policy, nobody who comes into the fragment anyway."""
    others = "filter(work_.tasks, (v_, m_) -> m_ != k_ AND v_.first_entry = task_.first_entry AND v_.target IS NOT NULL)"
    failed = f"CAST(array({struct({'index': 'task_.index', 'bookie': 'task_.lost'})}) AS ARRAY<{AT_INDEX}>)"
    chosen = f"get({replaced('of_.ensemble', failed, rules, f'transform({others}, v_ -> v_.target)')}, task_.index)"
    another = with_changes("task_", REPLACEMENT_FIELDS, target="IF(chosen_ = task_.lost, null, chosen_)", entries="0")
    return f"IF({is_no_target('task_.target', 'of_')}, {let('chosen_', chosen, another)}, task_)"


def _work(rules: LedgerRules) -> Step:
    """`work`: the replacements after it, whether the worker wants a recovery, and which entries whom it brings."""

    def after(**changes: str) -> str:
        return struct({name: changes.get(name, f"work_.{name}") for name in _WORK})

    def with_task(task: str, **changes: str) -> str:
        return after(tasks=f"transform(work_.tasks, (v_, m_) -> IF(m_ = k_, {task}, v_))", **changes)

    numbers = f"sequence({next_number('new_')}, {next_number('new_')} + feed.batch - 1)"
    batch = f"filter(transform({numbers}, v_ -> {entry_numbered('new_.index', 'v_')}), v_ -> v_ < end_)"
    found = f"transform(batch_, v_ -> {is_sourced('of_.ensemble', 'v_', 'new_.target')})"
    count = "IF(array_contains(found_, false), CAST(array_position(found_, false) AS INT) - 1, size(batch_))"
    ends = "(count_ = size(batch_) AND (count_ < feed.batch OR get(batch_, count_ - 1) + 1 >= end_))"
    moved = with_changes(
        "new_",
        REPLACEMENT_FIELDS,
        entries="new_.entries + count_",
        copied_to=f"IF({ends}, greatest(end_, new_.first_entry), null)",
    )
    copied = with_task(
        moved, worked=f"count_ > 0 OR {ends}", target="new_.target", index="new_.index", entries="slice(batch_, 1, count_)"
    )
    body = let("batch_", batch, let("found_", found, let("count_", count, copied)))
    choosing = let(
        "new_",
        _with_target(rules),
        let(
            "end_",
            fragment_end("of_"),
            f"IF(new_.target IS NULL OR NOT ({is_heard('new_.target')}), {with_task('new_')}, {body})",
        ),
    )
    waited = "round - task_.published_round >= feed.grace_rounds"
    one = let(
        "task_",
        "get(work_.tasks, k_)",
        let(
            "of_",
            fragment_of("task_"),
            f"CASE WHEN NOT {is_open_for('task_', 'of_')} THEN work_"
            f" WHEN {may_grow('of_')} THEN {after(recovers=f'work_.recovers OR {waited}')} ELSE {choosing} END",
        ),
    )
    start = {"tasks": "replacements"} | {name: f"CAST(null AS {kind})" for name, kind in _WORK.items() if kind}
    start |= {"recovers": "false", "worked": "false", "entries": "CAST(array() AS ARRAY<BIGINT>)"}
    return {
        "work": f"aggregate(sequence(0, size(replacements) - 1), {struct(start)}, (work_, k_) -> IF(work_.worked, work_, {one}))"
    }


def _lacking() -> Step:
    """What the target has already it keeps."""
    lacks = f"filter(work.entries, e_ -> NOT {has('work.target', 'e_', True)})"
    return {"lacking": f"transform({lacks}, e_ -> {entry_at('work.target', 'work.index', 'e_')})", "header_lac": header()}


def _take() -> Step:
    recovery = new_recovery("size(recoveries)", str(BY_WORKER))
    about_it = f"exists(recoveries, r_ -> r_.origin = {BY_WORKER} AND r_.phase < {DONE})"
    done = "filter(work.tasks, (t_, k_) -> t_.copied_to IS NOT NULL AND get(replacements, k_).copied_to IS NULL)"
    told = event("copied", "t_.target", "t_.first_entry", "t_.copied_to")
    return {
        "replacements": "work.tasks",
        "copies": f"IF(size(lacking) = 0, copies, {with_copies('lacking', 'header_lac')})",
        "recoveries": f"IF(work.recovers AND NOT {about_it}, concat(recoveries, array({recovery})), recoveries)",
        "events": f"concat(events, transform({done}, t_ -> {told}))",
        "entries_copied": "entries_copied + size(work.entries)",
    }
