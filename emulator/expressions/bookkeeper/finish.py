"""The end of a ledger's round: what an ordinary ledger does at once, flushes, counts."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import (
    COPIES_FIELDS,
    FENCED_OFF,
    LEDGER_CLOSED,
    LEDGER_FENCED,
    SHUT,
    STORED_FIELDS,
    WRITING,
)
from emulator.expressions.bookkeeper.texts import OPEN_RUN, is_tick, ledger_step, where_busy
from emulator.expressions.bookkeeper.topics.columns import PLAYED
from emulator.expressions.columns import Step, struct, with_changes
from emulator.state_schema import added


def extend(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """An ordinary ledger: adds are sent, stored by their write sets and acknowledged in the round: the open run goes on."""
    return state.withColumns(_count()).withColumns(_extend())


@ledger_step
def _count() -> Step:
    count = f"IF(NOT busy AND writer_state = {WRITING}, least(queued, CAST(window_size AS BIGINT)), 0L)"
    goes_on = f"run_to = next_entry AND run_step = {count} AND run_to > run_from AND lac - run_lac = run_to - run_from"
    return {"taken_adds": count, "opens_run": f"{count} > 0 AND NOT ({goes_on} AND (run_to - run_from) % {count} = 0)"}


@ledger_step
def _extend() -> Step:
    stopped = f"NOT busy AND writer_state != {WRITING}"
    refused = f"{stopped} AND queued > 0"
    return {
        "runs": f"IF(opens_run AND run_to > run_from, concat(runs, array({OPEN_RUN})), runs)",
        "run_from": "IF(opens_run, next_entry, run_from)",
        "run_to": "IF(opens_run, next_entry, run_to) + taken_adds",
        "run_lac": "IF(opens_run, lac, run_lac)",
        "run_step": "IF(opens_run, CAST(taken_adds AS INT), run_step)",
        "next_entry": "next_entry + taken_adds",
        "lac_told": "IF(taken_adds > 0, lac, lac_told)",
        "lac": "IF(taken_adds > 0, next_entry + taken_adds - 1, lac)",
        "queued": f"IF({stopped}, 0L, queued - taken_adds)",
        "refused_fenced": f"refused_fenced + IF({refused} AND writer_state = {FENCED_OFF}, queued, 0L)",
        "refused_closed": f"refused_closed + IF({refused} AND writer_state = {SHUT}, queued, 0L)",
        "error": (
            f"CASE WHEN taken_adds > 0 THEN 0 WHEN {refused} AND writer_state = {FENCED_OFF} THEN {LEDGER_FENCED}"
            f" WHEN {refused} AND writer_state = {SHUT} THEN {LEDGER_CLOSED} ELSE error END"
        ),
    }


def finish(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """Flush, in rounds divisible by the period; count; then the round is over."""
    return state.withColumns(_flush(rules)).withColumns(_flushed(rules)).withColumns(_end())


def _outputs(rules: LedgerRules) -> tuple[str, ...]:
    return ("stored", "flushes", "copies") if rules.repairs else ("stored", "flushes")


@ledger_step
def _flush(rules: LedgerRules) -> Step:
    """Running bookies flush; who stops cleanly did so as well."""
    tick = is_tick("feed.flush_rounds")
    runs = "NOT (array_contains(world.dead, {0}) OR array_contains(world.paused, {0}))"
    flushing = f"(array_contains(world.stopped, {{0}}) OR ({tick} AND {runs}))"
    of_stored = with_changes("o_", STORED_FIELDS, flushed=f"o_.flushed OR {flushing.format('o_.bookie')}")
    members = "flatten(transform(fragments, p_ -> p_.ensemble)), flatten(transform(runs, u_ -> u_.ensemble))"
    known = f"array_distinct(concat(fenced, {members}, transform(flushes, h_ -> h_.bookie)))"
    new = struct({"bookie": "b_", "to_entry": "next_entry", "fenced": "array_contains(fenced, b_)"})
    kept = f"filter(flushes, h_ -> NOT {flushing.format('h_.bookie')})"
    steps = [
        {
            "stored": f"transform(stored, o_ -> {of_stored})",
            "flushes": f"concat({kept}, transform(filter({known}, b_ -> {flushing.format('b_')}), b_ -> {new}))",
        }
    ]
    if rules.repairs:
        on_disk = with_changes("w_", COPIES_FIELDS, flushed=f"IF({flushing.format('w_.bookie')}, w_.entries, w_.flushed)")
        steps[0]["copies"] = f"transform(copies, w_ -> {on_disk})"
    guard = f"feed.flush_rounds > 0 AND (({tick}) OR size(world.stopped) > 0){f' AND {PLAYED}' if rules.topics else ''}"
    return where_busy("flushed", guard, steps, *_outputs(rules))[0]


@ledger_step
def _flushed(rules: LedgerRules) -> Step:
    return where_busy("flushed", "busy", [], *_outputs(rules))[1]


@ledger_step
def _end() -> Step:
    refused = f"(writer_state != {WRITING} AND feed.records > 0)"
    waits = f"(coalesce(sent.had_to_write, false) OR {refused}) AND lac = lac_before"
    unacked = f"IF(writer_state = {WRITING}, queued + next_entry - 1 - lac, 0L)"
    return {
        "unwritable_rounds": f"unwritable_rounds + IF({waits}, 1L, 0L)",
        "unacked": unacked,
        "unacked_rounds": added("unacked_rounds", unacked),
        "round": "round + 1",
    }
