"""Count what users ask for, and write down what happened."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, built_once, where
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.tier.share import EVENTS
from emulator.expressions.slots import has
from emulator.state_schema import added

EVENT_KINDS = (
    "election",
    "unclean_election",
    "leader_lost",
    "isr_shrink",
    "isr_expand",
    "truncate",
    "refused",
    "segment_roll",
    "records_deleted",
    "log_damaged",
    "reassignment_completed",
    "local_delete",
    "copy_started",
    "copy_finished",
    "copy_failed",
    "remote_delete",
    "aux_state_built",
    "topic_deleted",
    "remote_delete",
)
OF_NOBODY = (EVENT_KINDS.index("topic_deleted"), len(EVENT_KINDS) - 1)
"""Kinds of no broker: the removal of a topic, and of what it has in remote storage."""


def count_outcomes(state: DataFrame, rules: RunRules) -> DataFrame:
    """Add this round to the partition's counters and append its events; then the round is over.

    Partition counters are equal on every row of a partition. Events: array<struct<round, kind, leader_epoch,
    from_offset, to_offset, cause>>, kind an index into EVENT_KINDS, cause a fault_id (-1: none), the broker is the row's.
    """
    return state.withColumns(_count(rules))


def _event(kind: str, condition: str, epoch: str, from_offset: str, to_offset: str, cause: str) -> str:
    code = EVENT_KINDS.index(kind)
    return (
        f"CASE WHEN {condition} THEN named_struct('round', round, 'kind', {code}, 'leader_epoch', CAST({epoch} AS INT),"
        f" 'from_offset', CAST({from_offset} AS BIGINT), 'to_offset', CAST({to_offset} AS BIGINT),"
        f" 'cause', CAST({cause} AS INT)) END"
    )


_CHANGED = {name: f"({name} & own_bit) != 0" for name in ("election.fenced_out", "lagged_out", "joined_in")}
# What the replica has when it leaves or joins the ISR, at the end of the round: what it took to bring it back.
_LOG_THEN = ("log_start_offset", "leo")
_ELECTED_FIRST, _PREFERRED, _MOVED = "slot = election.elected_1", "slot = election.elected_2", "slot = election.elected_3"
_LOST = "(election.leader_lost OR election.leader_dropped) AND slot = election.leader_at_start"
_REFUSED_NOW = "IF(slot = client_leader, refused_records, 0)"
# Noted when the number of records changes, also to none, so that a leader that refuses for hours gives one event
# (outcomes/assemble.py adds it up).
_REFUSES = f"{_REFUSED_NOW} != refusing"
_CUT = "response.cut_from IS NOT NULL"
_DAMAGED = "damage.damaged_to IS NOT NULL"
_ROLLS = "(response.rolled_chunk_at IS NOT NULL OR appending.rolled_at IS NOT NULL)"


_DELETED = ("retention.deleted_log_start", "retention.deleted_size", "retention.deleted_age")
_RETENTION_ROLLS = "retention.retention_rolled_at IS NOT NULL"
_BUILT = "coalesce(building.is_built, false)"
_TOPIC_GOES = "coalesce(tier_inputs.goes_away, false) AND slot = 0"


def _cut_structs(rules: RunRules) -> list[str]:
    """Where cuts to the high watermark are told of, in protocols that make them (before KIP-101)."""
    return ["damage", "news"] if rules.some("cuts_to_high_watermark") else []


def _new_events(rules: RunRules) -> str:
    cause = "get(world.cause, slot)"
    old = "election.old_leader_cause"
    events = [
        _event("log_damaged", _DAMAGED, "believed_epoch", "damage.damaged_to", "damage.damaged_from", cause),
        _event("isr_shrink", _CHANGED["election.fenced_out"], "election.epoch_at_start", *_LOG_THEN, cause),
        _event(
            "leader_lost",
            _LOST,
            "IF(election.leader_lost, election.epoch_at_start + 1, leader_epoch)",
            "null",
            "null",
            cause,
        ),
        _event(
            "election",
            f"{_ELECTED_FIRST} AND NOT election.unclean_elected",
            "election.epoch_1",
            "election.start_leo",
            "null",
            old,
        ),
        _event(
            "unclean_election",
            f"{_ELECTED_FIRST} AND election.unclean_elected",
            "election.epoch_1",
            "election.start_leo",
            "null",
            old,
        ),
        _event("election", _PREFERRED, "election.epoch_2", "election.start_leo", "null", "null"),
        _event("election", _MOVED, "leader_epoch", "election.start_leo", "null", "null"),
        _event("reassignment_completed", "election.reassigned AND slot = leader", "leader_epoch", "null", "null", "null"),
        _event("records_deleted", "appending.deleted_to IS NOT NULL", "client_epoch", "null", "appending.deleted_to", "null"),
        _event("refused", _REFUSES, "client_epoch", "leo", f"leo + {_REFUSED_NOW}", "null"),
        _event("isr_expand", _CHANGED["joined_in"], "leader_epoch", *_LOG_THEN, cause),
        _event("isr_shrink", _CHANGED["lagged_out"], "leader_epoch", *_LOG_THEN, cause),
        _event("truncate", _CUT, "fetch_epoch", "response.cut_from", "response.cut_to", cause),
        *(
            _event("truncate", f"{s}.cut_from IS NOT NULL", f"{s}.cut_epoch", f"{s}.cut_from", f"{s}.cut_to", cause)
            for s in _cut_structs(rules)
        ),
        _event("segment_roll", "response.rolled_chunk_at IS NOT NULL", "fetch_epoch", "response.rolled_chunk_at", "null", "null"),
    ]
    if rules.segments:
        events += [
            *(
                _event("local_delete", f"{d} IS NOT NULL", "believed_epoch", f"{d}.from_offset", f"{d}.to_offset", "null")
                for d in _DELETED
            ),
            _event("segment_roll", _RETENTION_ROLLS, "believed_epoch", "retention.retention_rolled_at", "null", "null"),
        ]
    if rules.tiers:
        events += [
            _event("aux_state_built", _BUILT, "building.epoch", "building.from_offset", "building.to_offset", "null"),
            _event("topic_deleted", _TOPIC_GOES, "leader_epoch", "null", "null", "null"),
        ]
    rolls = (
        "transform(coalesce(appending.rolled_at, array()), x -> named_struct('round', round, 'kind',"
        f" {EVENT_KINDS.index('segment_roll')}, 'leader_epoch', client_epoch, 'from_offset', x, 'to_offset',"
        " CAST(null AS BIGINT), 'cause', CAST(null AS INT)))"
    )
    told = f", {_of_remote_segments()}" if rules.tiers else ""
    return f"concat(events, filter(array({', '.join(events)}), x -> x IS NOT NULL), {rolls}{told})"


def _of_remote_segments() -> str:
    """Events of remote segments: those of the row's broker, and of those that were removed as a whole."""
    fields = "'leader_epoch', x.leader_epoch, 'from_offset', {0}, 'to_offset', {1}, 'cause', CAST(null AS INT)".format
    told = f"transform(shared.told, x -> named_struct('round', round, 'kind', x.kind + {EVENT_KINDS.index(EVENTS[0])}, "
    told += f"{fields('x.from_offset', 'x.to_offset')}))"
    removed = f"transform(shared.removed, x -> named_struct('round', round, 'kind', {OF_NOBODY[-1]}, "
    removed += f"{fields('x.base_offset', 'x.end_offset + 1')}))"
    return f"coalesce({told}, filter(events, x -> false)), coalesce({removed}, filter(events, x -> false))"


@built_once
def _count(rules: RunRules) -> Step:
    conditions = [_ELECTED_FIRST, _PREFERRED, _MOVED, _LOST, _REFUSES, _CUT, _DAMAGED, _ROLLS, *_CHANGED.values()]
    conditions += [f"{struct}.cut_from IS NOT NULL" for struct in _cut_structs(rules)]
    conditions += ["election.reassigned AND slot = leader", "appending.deleted_to IS NOT NULL"]
    conditions += [f"{d} IS NOT NULL" for d in _DELETED] + [_RETENTION_ROLLS] if rules.segments else []
    conditions += [_BUILT, _TOPIC_GOES, "shared IS NOT NULL"] if rules.tiers else []
    any_event = " OR ".join(f"({c})" for c in conditions)
    current = "(leader = client_leader OR leader < 0)"
    served = (
        f"({has('world.running', 'client_leader')} AND leader_ready AND"
        f" NOT {has('world.clients_cut', 'client_leader')} AND {current})"
    )
    elected = [f"IF(election.elected_{n} >= 0, 1, 0)" for n in (1, 2, 3)]
    happened = {
        "events": _new_events(rules),
        "truncated": " + ".join(["truncated", *(f"coalesce({s}.cut_records, 0L)" for s in _cut_structs(rules))]),
        "elections": f"elections + {' + '.join(elected)}",
        "unclean_elections": "unclean_elections + IF(election.unclean_elected, 1, 0)",
        "isr_shrinks": "isr_shrinks + coalesce(bit_count(election.fenced_out), 0) + bit_count(lagged_out)",
        "isr_expands": "isr_expands + bit_count(joined_in)",
        "refusing": _REFUSED_NOW,
    }
    # What is appended is acknowledged in the round after it at the earliest: that much is no trouble.
    waits = "(unacked > 0 OR feed.records > accepted_records)"
    acks = "(coalesce(leader_hw > lead.hw, false) OR acked_on_append > 0)"
    unacked = "IF(feed.unconditional_records > 0, 0L, greatest(leader_leo - leader_hw, 0L))"
    there = "1"
    if rules.tiers:
        there = "IF(coalesce(is_deleted, false), 0, 1)"
    return {
        **where(f"election IS NOT NULL OR (joined_in | lagged_out) != 0 OR {any_event}", happened),
        "leaderless_rounds": f"leaderless_rounds + IF({served}, 0, {there})",
        "under_min_isr_rounds": f"under_min_isr_rounds + IF(bit_count(isr) < feed.min_insync_replicas, {there}, 0)",
        "under_replicated_rounds": "under_replicated_rounds + IF(bit_count(isr) < bit_count(assigned), 1, 0)",
        "unwritable_rounds": f"unwritable_rounds + IF({waits} AND NOT {acks}, {there}, 0)",
        "unacked": unacked,
        "unacked_rounds": added("unacked_rounds", unacked),
        "round": "round + 1",
    }
