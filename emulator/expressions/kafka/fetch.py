"""Followers take the response: they truncate on a diverging epoch or append, and move their high watermark."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, applied, built_once, decided, inlined, unchanged, where
from emulator.expressions.kafka.response import MAX_BYTES, NO_LATE_RESPONSE, NO_WAIT, comes_late, response_steps
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import local_start
from emulator.expressions.log import last_run, same_batches

# Logs of one length may count their bytes differently: one that was emptied knows nothing of the records before.
_LACKED = "IF(lead.leo = leo, 0L, lead.log_bytes - log_bytes)"

_LAST = last_run("lead.log")
_BATCHES = f"greatest({MAX_BYTES} DIV greatest({_LAST}.batch_bytes, 1L), 1)"
"""How many batches of the leader's last run a fetch takes that can't take all: one at least."""


def fetch(state: DataFrame, rules: RunRules) -> DataFrame:
    """Apply the response of the leader fetched from: the client leader, or a superseded one that nobody told.

    Diverging epoch: truncate to min(leader's end, own end offset for the epoch) (KIP-320, KIP-595). Data: whole batches
    within replica.fetch.max.bytes, at least one; less over slow links and disks and by quotas. High watermark: the leader's of
    the round's start if data came or waiting is off, else, for a parked fetch, after the advance; never above the LEO
    (docs/kafka_rounds.md step 7). A response that simply takes the follower on within the leader's last run, to its LEO or by
    batches that are alike, is taken on the spot, everything else through `response.response_steps`.
    """
    return state.withColumns(_decide(rules)).withColumns(_apply(rules))


def _taken_on() -> Step:
    """What a simple response brings, and where the follower's log ends then."""
    fits = f"{_LACKED} <= {MAX_BYTES}"
    return {
        "taken_bytes": f"IF({fits}, {_LACKED}, least({_BATCHES} * {_LAST}.batch_bytes, {_LACKED}))",
        "taken_to": f"IF({fits}, lead.leo, least(leo + {_BATCHES} * {_LAST}.batch_records, lead.leo))",
    }


def _kind(rules: RunRules) -> Step:
    own = last_run("log")
    same_run = f"(lead.leo = leo OR coalesce({same_batches(own, _LAST)} AND {own}.start_bytes = {_LAST}.start_bytes, false))"
    alike = f"coalesce({_LAST}.pattern IS NULL AND (leo - {_LAST}.start_offset) % nullif({_LAST}.batch_records, 0) = 0, false)"
    stays = (
        "(lead.leo = leo OR (segment_bytes > 0 AND segment_bytes + taken_bytes <= feed.segment_bytes"
        " AND round - segment_round < feed.segment_rounds AND feed.flush_messages = 0))"
    )
    within = " AND coalesce(taken_bytes <= quota_bytes, true)" if rules.budgets else ""
    kind = {
        "simple": (
            f"noted AND hears AND {same_run} AND {stays} AND ({_LACKED} <= {MAX_BYTES} OR {alike}) AND world.slow IS NULL"
            f" AND world.disk IS NULL AND credit_bytes = 0 AND lead.log_start_offset <= log_start_offset{within}"
        ),
        "answered": "sends AND hears AND (primary OR size(superseded) > 0)",
    }
    return _with_late_responses(kind) if rules.some_lack("response_in_leader_epoch") else kind


def _with_late_responses(kind: Step) -> Step:
    late = comes_late()
    return {"simple": f"{kind['simple']} AND NOT {late}", "answered": f"({kind['answered']}) OR {late}"}


_OUTPUTS = {
    **unchanged("leo", "hw", "log", "log_bytes", "log_start_offset", "flushed_offset", "segment_base_offset"),
    **unchanged("segment_bytes", "segment_round", "credit_bytes", "truncating"),
}


def _outputs(rules: RunRules) -> Step:
    tier = unchanged("aux_state", "tier_counts") if rules.tiers else {}
    return _OUTPUTS | (unchanged("segments") if rules.segments else {}) | tier


_FACTS = ("outcome", "chunk_bytes", "cut_records", "cut_from", "cut_to", "rolled_chunk_at")
"""What `response` tells the later phases; the struct is null where no response came or a simple one."""


@built_once
def _decide(rules: RunRules) -> Step:
    outputs = _outputs(rules) | unchanged(*_FACTS)
    if rules.some_lack("response_in_leader_epoch"):
        outputs |= unchanged("late_response")
    return inlined(_taken_on(), _kind(rules), decided("response", "answered AND NOT simple", response_steps(rules), outputs))


@built_once
def _apply(rules: RunRules) -> Step:
    told = f"IF(taken_bytes > 0 OR {NO_WAIT}, lead.hw, leader_hw)"
    chunk_bytes = "IF(simple, taken_bytes, coalesce(response.chunk_bytes, 0L))"
    simple = {
        "leo": "IF(simple, taken_to, leo)",
        "log_bytes": "IF(simple, IF(lead.leo = leo, lead.log_bytes, log_bytes + taken_bytes), log_bytes)",
        "segment_bytes": "segment_bytes + IF(simple, taken_bytes, 0L)",
    }
    step = applied("response", _outputs(rules) | simple)
    step["hw"] = (
        "CASE WHEN slot = client_leader AND leader_runs THEN leader_hw"
        f" WHEN simple THEN greatest(least({told}, taken_to), {local_start(rules)})"
        " WHEN response IS NULL THEN hw ELSE response.hw END"
    )
    step["replicated_bytes"] = f"replicated_bytes + {chunk_bytes}"
    step["served_bytes"] = f"served_bytes + {chunk_bytes}"
    step["chunk_bytes"] = chunk_bytes
    if rules.some_lack("response_in_leader_epoch"):
        forgotten = where("late_response IS NOT NULL", {"late_response": NO_LATE_RESPONSE})["belief"]
        step["belief"] = f"IF(response IS NULL, {forgotten}, response.belief)"
    return step | where("response.cut_records > 0", {"truncated": "truncated + response.cut_records"})
