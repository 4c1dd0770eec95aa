"""The client leader appends this round's batches, rolls segments and notes what it acknowledged."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, applied, built_once, decided, unchanged, where
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import ACTIVE_NEWEST, closed
from emulator.expressions.log import last_run, run, truncate_from_start
from emulator.expressions.slots import has

_SERVES = f"({has('world.running', 'client_leader')} AND leader_ready AND NOT {has('world.clients_cut', 'client_leader')})"
_RANGE = "named_struct('from_offset', {0}, 'to_offset', {1})"


def append(state: DataFrame, rules: RunRules) -> DataFrame:
    """Append the accepted batches to the client leader's log; every row learns by how much that log grew.

    acks=all is refused while the ISR is smaller than min.insync.replicas (NOT_ENOUGH_REPLICAS); acks 0 and 1 are
    acknowledged here, acks=all when the high watermark passes. delete_records moves the leader's log start
    (docs/kafka_rounds.md step 3).
    """
    return state.withColumns(_accept()).withColumns(_decide(rules)).withColumns(_grow(rules))


@built_once
def _accept() -> Step:
    serves = _SERVES
    enough = "(bit_count(leader_isr) >= feed.min_insync_replicas)"

    def accepted(field: str, none: str) -> str:
        return f"IF({serves}, IF({enough}, feed.{field}, feed.unconditional_{field}), {none})"

    return {
        "leader_runs": f"{has('world.running', 'client_leader')} AND leader_ready",
        "leads": f"slot = client_leader AND {serves}",
        "accepted_records": accepted("records", "0"),
        "accepted_bytes": accepted("bytes", "0L"),
        "acked_on_append": f"IF({serves}, feed.unconditional_records, 0)",
        "refused_records": f"IF({serves} AND NOT {enough}, feed.records - feed.unconditional_records, 0)",
    }


_OUTPUTS = {
    **unchanged("log", "log_start_offset", "segment_base_offset", "segment_round", "flushed_offset"),
    "segment_bytes": "segment_bytes + IF(leads, accepted_bytes, 0L)",
    **unchanged("acked_from", "acked_ranges"),
    "acked_to": "IF(leads AND acked_on_append > 0, acked_to + acked_on_append, acked_to)",
}

_FACTS = ("rolled_at", "deleted_to")
"""What `appending` tells the later phases: where segments began, where the log start went."""


def _outputs(rules: RunRules) -> Step:
    return _OUTPUTS | (unchanged("segments") if rules.segments else {})


def _continues(last: str, rules: RunRules) -> str:
    """Whether the last run had a cycle in every round so far, so that one more of this round keeps its dates right."""
    dated = f"({last}.round >= 0 AND {last}.round + (leo - {last}.start_offset) DIV accepted_records = round)"
    return f" AND (segments IS NULL OR {dated})" if rules.segments else ""


@built_once
def _decide(rules: RunRules) -> Step:
    """Steady appends only add; a new run, a roll, a flush, mixed acks or deleted records take the steps below."""
    last = last_run("log")
    same_run = (
        f"({last}.epoch = believed_epoch AND {last}.batch_records = accepted_records AND {last}.batch_bytes ="
        f" accepted_bytes AND feed.batches IS NULL AND {last}.start_offset < leo"
        f" AND (leo - {last}.start_offset) % accepted_records = 0{_continues(last, rules)})"
    )
    rolls = (
        "(segment_bytes = 0 OR segment_bytes + accepted_bytes > feed.segment_bytes"
        " OR round - segment_round >= feed.segment_rounds)"
    )
    acks = "(acked_on_append != 0 AND (acked_on_append != accepted_records OR acked_to != leo))"
    special = f"(accepted_records > 0 AND (NOT coalesce({same_run}, false) OR {rolls} OR {acks} OR feed.flush_messages > 0))"
    steps = [_delete(), _batches(), _batch_by_batch(rules), _runs(rules), _acknowledge()]
    outputs = _outputs(rules) | unchanged(*_FACTS)
    return decided("appending", f"leads AND ({special} OR feed.delete_before IS NOT NULL)", steps, outputs)


@built_once
def _grow(rules: RunRules) -> Step:
    mine = "IF(leads, {0}, {1})".format
    return {
        **applied("appending", _outputs(rules)),
        "leo": "leo + " + mine("accepted_records", "0"),
        "log_bytes": "log_bytes + " + mine("accepted_bytes", "0L"),
        "leader_leo": "leader_leo + accepted_records",
        "leader_log_start": _deleted_for_all(),
        "appended": "appended + " + mine("accepted_records", "0"),
        "produced_bytes": "produced_bytes + " + mine("accepted_bytes", "0L"),
        **where("refused_records > 0 AND slot = client_leader", {"refused": "refused + refused_records"}),
    }


def _deleted_for_all() -> str:
    wanted = _delete_before("leader_hw")
    return (
        f"IF(feed.delete_before IS NOT NULL AND {_SERVES} AND NOT coalesce(election.elected_now, false),"
        f" greatest({wanted}, leader_log_start), leader_log_start)"
    )


def _delete() -> Step:
    wanted = _delete_before("hw")
    return {"deleted_to": f"IF(coalesce({wanted} > log_start_offset, false), {wanted}, null)"}


def _delete_before(hw: str) -> str:
    """Where several orders of one round leave the log start: the last that the high watermark allows; else null."""
    return f"array_max(filter(transform(feed.delete_before, o -> IF(o = -1, {hw}, o)), o -> o <= {hw}))"


def _batches() -> Step:
    """The accepted batches in order; the feed lists them only where there are several."""
    one = "named_struct('records', accepted_records, 'bytes', accepted_bytes, 'acked_on_append', acked_on_append > 0)"
    chosen = "IF(accepted_records = feed.records, feed.batches, filter(feed.batches, b -> b.acked_on_append))"
    return {
        "batches": f"CASE WHEN accepted_records = 0 THEN filter(array({one}), b -> false)"
        f" WHEN feed.batches IS NULL THEN array({one}) ELSE {chosen} END"
    }


def _batch_by_batch(rules: RunRules) -> Step:
    """Every batch may roll the segment first, and flush after."""
    kept = ("", "")
    if rules.segments:
        rolled = f"concat(a.segments, array({closed('a.base', 'a.bytes', 'a.round', 'a.newest')}))"
        kept = (
            f" 'segments', segments, 'newest', {ACTIVE_NEWEST},",
            f" 'segments', IF(rolls_, {rolled}, a.segments), 'newest', round,",
        )
    rolls = "(a.bytes > 0 AND (a.bytes + b.bytes > feed.segment_bytes OR round - a.round >= feed.segment_rounds))"
    flushed = f"IF({rolls}, greatest(a.flushed, a.at), a.flushed)"
    after = "(a.at + b.records)"
    due = f"(feed.flush_messages > 0 AND {after} - {flushed} >= feed.flush_messages)"
    return {
        "walked": (
            "aggregate(batches, named_struct('bytes', segment_bytes,"
            " 'base', segment_base_offset, 'at', leo, 'round', segment_round, 'flushed', flushed_offset,"
            f" 'bases', filter(array(0L), x -> false),{kept[0]}"
            f" 'acked', filter(array({_RANGE.format('0L', '0L')}), x -> false)), (a, b) -> named_struct("
            f"'bytes', IF({rolls}, b.bytes, a.bytes + b.bytes), 'base', IF({rolls}, a.at, a.base), 'at', {after},"
            f" 'round', IF({rolls} OR a.bytes = 0, round, a.round), 'flushed', IF({due}, {after}, {flushed}),"
            f" 'bases', IF({rolls}, concat(a.bases, array(a.at)), a.bases),{kept[1].replace('rolls_', rolls)}"
            f" 'acked', IF(b.acked_on_append, concat(a.acked, array({_RANGE.format('a.at', after)})), a.acked)))"
        ),
    }


def _runs(rules: RunRules) -> Step:
    last = last_run("log")
    pattern = "IF(size(batches) > 1, transform(batches, b -> named_struct('records', b.records, 'bytes', b.bytes)), null)"
    new_run = run("leo", "believed_epoch", "log_bytes", "accepted_records", "accepted_bytes", pattern, "round")
    same = (
        f"({last}.epoch = believed_epoch AND {last}.batch_records = accepted_records AND {last}.batch_bytes ="
        f" accepted_bytes AND {last}.pattern <=> {pattern}"
        f" AND (leo - {last}.start_offset) % accepted_records = 0{_continues(last, rules)})"
    )
    empty = f"coalesce({last}.start_offset = leo, false)"
    appended = (
        f"CASE WHEN accepted_records = 0 THEN log WHEN {empty} THEN concat(slice(log, 1, size(log) - 1), array({new_run}))"
        f" WHEN coalesce({same}, false) THEN log ELSE concat(log, array({new_run})) END"
    )
    return {
        "log": appended,
        "log_start_offset": "coalesce(deleted_to, log_start_offset)",
        "segment_base_offset": "walked.base",
        "segment_bytes": "walked.bytes",
        "segment_round": "walked.round",
        "flushed_offset": "walked.flushed",
        "rolled_at": "walked.bases",
        **({"segments": "walked.segments"} if rules.segments else {}),
    }


def _acknowledge() -> Step:
    """What acks 0 and 1 acknowledge: one growing range, older ranges above the high watermark kept beside it."""
    closed = f"IF(acked_to > acked_from, array({_RANGE.format('acked_from', 'acked_to')}), array())"
    kept = f"filter(concat(acked_ranges, {closed}), x -> x.to_offset > hw)"
    grows = "(acked_on_append = accepted_records AND acked_to = leo AND acked_to > acked_from)"
    mixed = "(acked_on_append != accepted_records)"
    return {
        "log": f"IF(deleted_to IS NULL, log, {truncate_from_start('log', 'deleted_to')})",
        "acked_ranges": (
            f"CASE WHEN acked_on_append = 0 OR {grows} THEN acked_ranges WHEN {mixed} THEN concat({kept}, walked.acked)"
            f" ELSE {kept} END"
        ),
        "acked_from": f"CASE WHEN acked_on_append = 0 OR {grows} THEN acked_from WHEN {mixed} THEN 0L ELSE leo END",
        "acked_to": (f"CASE WHEN acked_on_append = 0 THEN acked_to WHEN {mixed} THEN 0L ELSE leo + accepted_records END"),
    }
