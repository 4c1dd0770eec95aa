"""Step 6 of a ledger's round: what the writer makes of the answers."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import (
    AT_INDEX,
    CLOSING,
    LEDGER_FENCED,
    OK,
    WRITER,
    WRITING,
)
from emulator.expressions.bookkeeper.texts import (
    empty,
    event_if,
    ledger_step,
    merged,
    where_busy,
)
from emulator.expressions.bookkeeper.window import (
    NO_ADDS,
    acknowledged,
    fenced_later,
    first_open,
    is_fenced_off,
    last_acknowledged,
    replaced_later,
    replaced_now,
    with_answers,
    without_failed,
)
from emulator.expressions.columns import Step

_OF_WRITER = ("adds", "changing", "failed_later", "writer_state", "lac", "failed_adds", "error", "events")


def take_writers_answers(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """Failures first, then the fence, then what was stored: completed adds are acknowledged in order."""
    return state.withColumns(_decide_writer()).withColumns(_apply_writer())


@ledger_step
def _decide_writer() -> Step:
    steps = [_own_answers(), _failures(), _want_replaced(), _fence_or_ack(), _acknowledge()]
    return where_busy("written", f"busy AND writer_state = {WRITING} AND size(adds) > 0", steps, *_OF_WRITER)[0]


@ledger_step
def _apply_writer() -> Step:
    return where_busy("written", "busy", [], *_OF_WRITER)[1]


def _own_answers() -> Step:
    return {"own": f"filter(handled.answers, n_ -> n_.client = {WRITER})"}


def _failures() -> Step:
    return {
        "failing": replaced_now("adds", "ensemble"),
        "failed_later": merged("failed_later", replaced_later("adds", "ensemble")),
        "adds": without_failed("adds", "ensemble"),
    }


def _want_replaced() -> Step:
    """Who failed is replaced now, together with who failed before; after the change under way if there is one."""
    none = empty(AT_INDEX)
    return {
        "changing": f"IF(size(failing) > 0 AND changing IS NULL, {merged('failed_later', 'failing')}, changing)",
        "failed_later": (
            f"CASE WHEN size(failing) = 0 THEN failed_later WHEN changing IS NULL THEN {none}"
            f" ELSE {merged('failed_later', 'failing')} END"
        ),
    }


def _fence_or_ack() -> Step:
    return {
        "fenced_off": is_fenced_off("adds", "ensemble", "own"),
        "failed_later": merged("failed_later", fenced_later("adds", "ensemble", "own")),
        "adds": with_answers("adds", "ensemble", "own"),
    }


def _acknowledge() -> Step:
    may = "(NOT fenced_off AND changing IS NULL)"
    acks = f"{may} AND {first_open('adds')} > lac + 1 AND size(adds) > 0"
    return {
        "lac": f"IF({may}, {last_acknowledged('adds', first_open('adds'), 'lac')}, lac)",
        "adds": f"CASE WHEN fenced_off THEN {NO_ADDS} WHEN {may} THEN {acknowledged('adds', first_open('adds'))} ELSE adds END",
        "changing": "IF(fenced_off, null, changing)",
        "writer_state": f"IF(fenced_off, {CLOSING}, writer_state)",
        "failed_adds": "IF(fenced_off, failed_adds + next_entry - lac - 1, failed_adds)",
        "error": f"CASE WHEN fenced_off THEN {LEDGER_FENCED} WHEN {acks} THEN {OK} ELSE error END",
        "events": f"concat(events, {event_if('fenced_off', 'add_failed', from_offset='lac + 1', to_offset='next_entry')})",
    }
