"""The one look a round: the only window pass."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from emulator.expressions.columns import Step, built_once
from emulator.expressions.kafka.eligible_leaders import recovery_answer
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import local_start
from emulator.expressions.kafka.serve_consumers import own_progress, own_readers

_LOG = "'leo', leo, 'hw', hw, 'log', log, 'log_bytes', log_bytes, 'log_start_offset', log_start_offset"


def observe(state: DataFrame, rules: RunRules) -> DataFrame:
    """Bring to every row what the round needs of its partition, in one pass over a window with no exchange and no sort.

    `lead`: the client leader's row; `superseded`: running leaders that are not it (nearly always empty); `min_held` and
    `min_held_after`: least remote LEO of those that hold the high watermark back, before and after this round's shrinks;
    `joined` and `shrunk`: masks of who joins and who is to leave; `recovery_answers`: what replicas tell a controller that looks
    for a leader (KIP-966); `all_readers` and `followers`: who reads the partition, and what the leader knows of its followers
    (serve_consumers.py).
    """
    partition = Window.partitionBy("scenario_id", "partition_id")
    return state.withColumns(_own_view(rules)).withColumns({name: c.over(partition) for name, c in _aggregates(rules).items()})


@built_once
def _own_view(rules: RunRules) -> Step:
    log = _LOG + (f", 'local_start', {local_start(rules)}" if rules.segments else "")
    log += ", 'highest_remote', highest_remote" if rules.tiers else ""
    log += ", 'log_at_start', log_at_start, 'leo_at_start', leo_at_start" if rules.some("asks") else ""
    leader = f"named_struct({log}, 'lead_start', lead_start, 'epochs_fall', epochs_fall)"
    superseded = f"named_struct('slot', slot, 'epoch', believed_epoch, {log})"
    asked = {"recovery_answer": recovery_answer()} if rules.elr else {}
    readers = {"own_readers": own_readers(), "own_progress": own_progress()} if rules.consumers else {}
    return {
        **asked,
        **readers,
        "lead_view": f"CASE WHEN slot = client_leader THEN {leader} END",
        "superseded_view": (
            "CASE WHEN is_leader AND (world.running & own_bit) != 0 AND NOT (slot = client_leader AND believed_epoch ="
            f" client_epoch) THEN {superseded} END"
        ),
        "held_leo": "CASE WHEN holds THEN coalesce(remote_leo, 0L) END",
        "held_leo_after": "CASE WHEN holds_after THEN coalesce(remote_leo, 0L) END",
        "join_bit": "IF(joins, own_bit, 0)",
        "shrink_bit": "IF(shrinks, own_bit, 0)",
    }


def _aggregates(rules: RunRules) -> dict[str, Column]:
    readers = {"all_readers": "own_readers", "followers": "own_progress"} if rules.consumers else {}
    return {
        **{name: F.collect_list(own) for name, own in readers.items()},
        **({"recovery_answers": F.collect_list("recovery_answer")} if rules.elr else {}),
        "lead": F.first("lead_view", ignorenulls=True),
        "superseded": F.collect_list("superseded_view"),
        "min_held": F.min("held_leo"),
        "min_held_after": F.min("held_leo_after"),
        "joined": F.bit_or("join_bit"),
        "shrunk": F.bit_or("shrink_bit"),
    }
