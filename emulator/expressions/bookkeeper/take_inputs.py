"""Step 1 of a ledger's round: faults, settings, workload and commands of this round take effect; damage; who is busy."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.bookkeeper.damage import damage_steps
from emulator.expressions.bookkeeper.repair.commit_copies import to_be_committed
from emulator.expressions.bookkeeper.repair.returned import fill_asked, return_damaged
from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import (
    BY_COMMAND,
    CLOSING,
    CRASHED,
    DONE,
    FENCED_OFF,
    LEDGER_CLOSED,
    NOT_CLOSED,
    OPEN,
    OPENING,
    PENDING,
    WRITING,
)
from emulator.expressions.bookkeeper.texts import OPEN_RUN, event_if, is_heard, is_tick, ledger_step, new_recovery, where_busy
from emulator.expressions.bookkeeper.topics.columns import PLAYED
from emulator.expressions.bookkeeper.topics.serve_list import serve_list
from emulator.expressions.bookkeeper.window import NO_ADDS
from emulator.expressions.columns import Step, struct


def take_inputs(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """Bring `world` and `feed` up to this round; `busy` tells whether the ledger needs the steps of its clients one by one.

    Topics serve their lists in between.

    An ordinary ledger's adds of this round are stored, answered and acknowledged in it, by everybody they go to, or nothing is
    sent at all; `extend` (finish.py) does that at once. Everything else goes through the steps.
    """
    state = serve_list(state.withColumns(_in_force()), rules)
    state = state.withColumns(_queue()).withColumns(_busy(rules))
    return state.withColumns(_decide(rules)).withColumns(_apply(rules))


@ledger_step
def _in_force() -> Step:
    step = {}
    for kind in ("world", "feed"):
        change = f"get({kind}_changes, {kind}_next)"
        begins = f"coalesce({change}.from_round = round, false)"
        step[kind] = f"IF({begins}, coalesce({change}.value, {kind}), {kind})"
        step[f"{kind}_next"] = f"IF({begins}, {kind}_next + 1, {kind}_next)"
    return step


@ledger_step
def _queue() -> Step:
    return {
        "queued": "queued + feed.records",
        "window_size": "coalesce(feed.in_flight, window_size)",
        "lac_before": "lac",
        "fragments_at_start": "fragments",
        "ledger_state_at_start": "ledger_state",
    }


@ledger_step
def _busy(rules: LedgerRules) -> Step:
    nothing_open = (
        "size(network) = 0 AND size(adds) = 0 AND changing IS NULL AND size(failed_later) = 0 AND close_asked = 0"
        f" AND NOT exists(recoveries, r_ -> r_.phase < {DONE}) AND NOT exists(openings, o_ -> o_.error = {PENDING})"
    )
    no_trouble = (
        f"ledger_state = {OPEN} AND NOT exists(ensemble, b_ -> NOT ({is_heard('b_')}) OR array_contains(fenced, b_))"
        " AND size(feed.drops) = 0 AND size(feed.holds) = 0"
    )
    explicit = is_tick("feed.explicit_lac_rounds")
    told = f"NOT ({explicit} AND queued = 0 AND lac > lac_told)"
    crashes = f"{_is_gone(rules)} AND writer_state != {CRASHED}"
    flushes = is_tick("feed.flush_rounds")
    writes = f"IF(writer_state = {WRITING}, (queued = 0 OR ({no_trouble})) AND {told}, writer_state != {CLOSING})"
    commits = f" OR {to_be_committed()}" if rules.repairs else ""
    busy = f"NOT ({nothing_open} AND NOT (feed.marks OR world.marks OR {crashes} OR {flushes}{commits}) AND {writes})"
    return {"busy": f"{PLAYED} AND ({busy} OR dropped_round IS NOT NULL)" if rules.topics else busy}


def _is_gone(rules: LedgerRules) -> str:
    """Whether the writer's client has crashed; who serves a topic may have done so before the ledger was created."""
    since = " OR coalesce(feed.managed.crash_round > created_round, false)" if rules.topics else ""
    return f"(feed.crashed{since})"


_OUTPUTS = (
    *("runs", "run_from", "run_to", "run_step", "stored", "lost", "fenced", "told", "flushes", "network"),
    *(
        "writer_state",
        "changing",
        "queued",
        "adds",
        "close_asked",
        "error",
        "failed_adds",
        "recoveries",
        "openings",
        "events",
        "impaired",
    ),
)


@ledger_step
def _decide(rules: LedgerRules) -> Step:
    steps = [_close_run(), *damage_steps(rules), _crash(rules), _obey()]
    steps += [fill_asked(rules), return_damaged(rules)] if rules.repairs else []
    return where_busy("taken", "busy", steps, *_outputs(rules))[0]


@ledger_step
def _apply(rules: LedgerRules) -> Step:
    return where_busy("taken", "busy", [], *_outputs(rules))[1]


def _outputs(rules: LedgerRules) -> tuple[str, ...]:
    return (*_OUTPUTS, "copies", "filling", "limbo") if rules.repairs else _OUTPUTS


def _close_run() -> Step:
    """The open run joins the others, at the last one's end if it goes on like it."""
    last = "element_at(runs, -1)"
    goes_on = (
        f"size(runs) > 0 AND {last}.to_entry = run_from AND {last}.step = run_step AND {last}.ensemble = ensemble"
        f" AND (run_from - {last}.from_entry) % run_step = 0 AND run_lac - {last}.lac = run_from - {last}.from_entry"
    )
    longer = struct({name: f"{last}.{name}" for name in ("from_entry",)} | {"to_entry": "run_to"} | {
        name: f"{last}.{name}" for name in ("lac", "step", "ensemble")
    })  # fmt: skip
    return {
        "runs": (
            f"CASE WHEN run_to = run_from THEN runs WHEN {goes_on} THEN concat(slice(runs, 1, size(runs) - 1), array({longer}))"
            f" ELSE concat(runs, array({OPEN_RUN})) END"
        ),
        "run_from": "next_entry",
        "run_to": "next_entry",
        "run_step": "0",
    }


def _crash(rules: LedgerRules) -> Step:
    crashes = f"{_is_gone(rules)} AND writer_state != {CRASHED}"
    return {
        "adds": f"IF({crashes}, {NO_ADDS}, adds)",
        "changing": f"IF({crashes}, null, changing)",
        "writer_state": f"IF({crashes}, {CRASHED}, writer_state)",
    }


def _obey() -> Step:
    """Commands: the application's close, recoveries and openings of other clients."""
    closes = f"feed.closes > 0 AND writer_state != {CRASHED}"
    fails = f"feed.closes > 0 AND writer_state = {WRITING}"
    adds_fail = event_if(f"{fails} AND next_entry > lac + 1", "add_failed", from_offset="lac + 1", to_offset="next_entry")
    started = f"transform(feed.recoveries, (retry_, i_) -> {new_recovery('size(recoveries) + i_', str(BY_COMMAND), 'retry_')})"
    opening = f"CAST({struct({'round': 'round', 'lac': str(NOT_CLOSED), 'error': str(PENDING)})} AS {OPENING})"
    return {
        "close_asked": f"IF({closes}, close_asked + feed.closes, close_asked)",
        "failed_adds": f"IF({fails}, failed_adds + next_entry - lac - 1, failed_adds)",
        "events": f"concat(events, {adds_fail})",
        "error": f"IF({fails} AND next_entry > lac + 1, {LEDGER_CLOSED}, error)",
        "adds": f"IF({fails}, {NO_ADDS}, adds)",
        "changing": f"IF({fails}, null, changing)",
        "writer_state": f"IF({closes} AND writer_state IN ({WRITING}, {FENCED_OFF}), {CLOSING}, writer_state)",
        "recoveries": f"IF(size(feed.recoveries) = 0, recoveries, concat(recoveries, {started}))",
        "openings": f"IF(feed.openings = 0, openings, concat(openings, array_repeat({opening}, feed.openings)))",
    }
