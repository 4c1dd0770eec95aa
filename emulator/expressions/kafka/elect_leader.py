"""The controller fences, elects and completes reassignments; the new leader takes its epoch into its cache."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, applied, built_once, decided, unchanged
from emulator.expressions.kafka import eligible_leaders
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import NO_SEGMENTS, local_start
from emulator.expressions.kafka.served import served_by
from emulator.expressions.kafka.tier.local_leaders import may_replace, preferred
from emulator.expressions.log import assign_epoch
from emulator.expressions.slots import ORDER_BITS, bit, first_in_order, has, mask_of_order

NEVER = -1_000_000_000  # a round before every round: "not caught up", "no fetch noted"


def elect_leader(state: DataFrame, rules: RunRules) -> DataFrame:
    """Fence, elect and reassign as the controller would; every row of a partition computes the same from the same facts.

    Fenced brokers leave the ISR, the leader last, without a new epoch; the last member stays (docs/kafka_rounds.md
    step 2). A leader is the first of the ISR in replica order, else, unclean, the first unfenced replica. The epoch
    rises with every change of leader. Sources: KIP-631, PartitionChangeBuilder, ReplicationControlManager.
    """
    return state.withColumns(_decide(rules)).withColumns(_apply(rules))


_OUTPUTS = {
    **unchanged(
        "isr",
        "elr",
        "last_known_elr",
        "leader_news",
        "leader",
        "leader_epoch",
        "assigned",
        "replica_order",
        "target_order",
        "adding",
    ),
    **unchanged(
        "client_leader", "client_epoch", "leader_ready", "leader_isr", "pending_join", "pending_shrink", "committed_before"
    ),
    **unchanged("remote_leo", "verified", "caught_up_round", "fetched_round", "fetched_leader_leo"),
    **unchanged("leaderships", "leadership_ends", "lead_start", "lead_hw", "acked_from", "acked_to", "acked_ranges"),
    **unchanged(
        "is_leader", "believed_leader", "believed_epoch", "truncating", "log", "leo", "hw", "log_start_offset", "log_bytes"
    ),
    **unchanged("hw_checkpoint", "flushed_offset", "segment_base_offset", "segment_bytes", "credit_bytes"),
    **unchanged("served", "served_bytes"),
}

_FACTS = (
    "elected_now",
    "elected_1",
    "elected_2",
    "elected_3",
    "epoch_1",
    "epoch_2",
    "epoch_at_start",
    "leader_at_start",
    "unclean_elected",
    "leader_lost",
    "leader_dropped",
    "reassigned",
    "fenced_out",
    "old_leader_cause",
    "start_leo",
)
"""What `election` tells the later phases; the struct is null in rounds without an election."""

_UNFENCED = "(world.unfenced & ~world.returning)"
"""Brokers that are not fenced when the round's fencing is done: a returning one is fenced first."""


@built_once
def _decide(rules: RunRules) -> Step:
    slots = rules.slots
    eligible, empties = (f" | {eligible_leaders.candidates()}", " OR feed.elr") if rules.elr else ("", "")
    candidates = f"((isr | IF(feed.unclean_election, assigned, 0){eligible}) & assigned & world.unfenced)"
    leaves_isr = f"((isr & {_UNFENCED}) != isr AND ((isr & {_UNFENCED}) != 0 OR bit_count(isr) > 1{empties}))"
    needs_leader = f"(NOT {has(f'({_UNFENCED} & assigned)', 'leader')} AND (leader >= 0 OR {candidates} != 0))"
    # A reassignment goes on once all that it adds are in the ISR (_completion); without an election nobody joins it here.
    completes = "(target_order != 0 AND (adding & ~isr) = 0)"
    # Who leads is the preferred leader already, or that one can't: most such commands change nothing.
    returns = f"((feed.preferred_election OR {_rebalances()}) AND {_may_return()})"
    commands = f"({returns} OR feed.reassign_order != 0 OR {completes})"
    news = f"(leader_isr != isr OR (leader_ready AND {has('world.offline', 'client_leader')}))"
    guard = f"(world.controller_up AND ({leaves_isr} OR {needs_leader} OR {commands})) OR {news}"
    if rules.elr:
        guard += " OR (feed.elr AND (feed.clears_elr OR (world.unclean_restart & elr) != 0))"
    steps = [
        _fence(rules),
        *(eligible_leaders.fence_and_register(rules) if rules.elr else []),
        _first_stage(rules),
        *([eligible_leaders.remember_last_leader()] if rules.elr else []),
        _second_stage(rules),
        _commands(rules),
        _target(slots),
        _completion(rules),
        _reassignment(rules),
        _new_leader(rules),
        _new_leadership(rules),
    ]
    return decided("election", guard, steps, _outputs(rules) | unchanged(*_FACTS))


@built_once
def _apply(rules: RunRules) -> Step:
    return applied("election", _outputs(rules))


def _outputs(rules: RunRules) -> Step:
    return _OUTPUTS | (unchanged("segments") if rules.segments else {})


def _rebalances() -> str:
    off_preferred = f"leader != {_at_first()}"
    return f"(feed.rebalance_rounds > 0 AND round > 0 AND {off_preferred} AND round % feed.rebalance_rounds = 0)"


def returns_to_preferred() -> str:
    """Whether the next check of auto.leader.rebalance.enable would elect the preferred leader."""
    return f"(feed.rebalance_rounds > 0 AND {_may_return()})"


def _may_return() -> str:
    """Whether another one leads than the preferred leader, and that one can."""
    able = has("(isr & world.unfenced & assigned)", f"({_at_first()})")
    return f"(leader != {_at_first()} AND {able})"


def _fence(rules: RunRules) -> Step:
    kept = f"(isr & {_UNFENCED})"
    empties = " OR feed.elr" if rules.elr else ""
    return {
        "unfenced_first": _UNFENCED,
        "isr_at_start": "isr",
        "assigned_at_start": "assigned",
        "leader_at_start": "leader",
        "start_leo": "leo",
        "epoch_at_start": "leader_epoch",
        "isr": (
            f"CASE WHEN NOT world.controller_up OR isr = 0 OR {kept} = isr THEN isr WHEN {kept} != 0{empties} THEN {kept}"
            f" WHEN {has('isr', 'leader')} THEN {bit('leader')}"
            f" ELSE {bit(first_in_order('replica_order', 'isr', rules.slots))} END"
        ),
        "needs_leader": f"world.controller_up AND NOT {has(f'({_UNFENCED} & assigned)', 'leader')}",
    }


def _candidate(unfenced: str, rules: RunRules) -> str:
    slots = rules.slots
    clean = first_in_order("replica_order", preferred(f"(isr & assigned & {unfenced})", rules), slots)
    unclean = first_in_order("replica_order", f"(assigned & {unfenced})", slots)
    return (
        f"CASE WHEN (isr & assigned & {unfenced}) != 0 THEN named_struct('slot', {clean}, 'unclean', false)"
        + (eligible_leaders.elect(unfenced, rules) if rules.elr else "")
        + f" WHEN feed.unclean_election THEN named_struct('slot', {unclean}, 'unclean', true)"
        " ELSE named_struct('slot', -1, 'unclean', false) END"
    )


def _first_stage(rules: RunRules) -> Step:
    return {"stage_1": f"CASE WHEN needs_leader THEN {_candidate('unfenced_first', rules)} END"}


def _second_stage(rules: RunRules) -> Step:
    again = "needs_leader AND stage_1.slot < 0 AND (world.returning & assigned) != 0"
    return {
        "stage_2": f"CASE WHEN {again} THEN {_candidate('world.unfenced', rules)} WHEN needs_leader THEN stage_1 END",
        "fenced_out": "isr_at_start & ~isr",
        "leader_lost": "needs_leader AND stage_1.slot < 0 AND leader >= 0",
    }


def _commands(rules: RunRules) -> Step:
    elected = "coalesce(stage_2.slot, leader)"
    first = f"({_at_first()})"
    alone = "stage_2.unclean OR isr = 0" if rules.elr else "stage_2.unclean"
    isr = f"IF(coalesce(stage_2.slot >= 0 AND ({alone}), false), {bit('stage_2.slot')}, isr)"
    rebalance = _rebalances()
    return {
        "elected_1": "IF(stage_2.slot >= 0, stage_2.slot, -1)",
        "unclean_elected": "coalesce(stage_2.unclean, false) AND stage_2.slot >= 0",
        "isr": isr,
        **(eligible_leaders.after_election(isr) if rules.elr else {}),
        "leader": (
            f"CASE WHEN world.controller_up AND (feed.preferred_election OR {rebalance}) AND {elected} >= 0"
            f" AND {has(f'({isr} & world.unfenced & assigned)', first)} AND {may_replace(first, elected, rules)}"
            f" THEN {first} ELSE {elected} END"
        ),
        "leader_before_commands": elected,
        "epoch_1": "leader_epoch + IF(leader_lost, 1, 0) + IF(stage_2.slot >= 0, 1, 0)",
        "target_order": "IF(world.controller_up AND feed.reassign_order != 0, feed.reassign_order, target_order)",
        "reassigns": "world.controller_up AND feed.reassign_order != 0",
    }


def _at_first() -> str:
    return "CAST(replica_order & 31 AS INT) - 1"


def _target(slots: int) -> Step:
    target = mask_of_order("target_order", slots)
    return {"target": target, "adding": f"IF(reassigns, {target} & ~(assigned & ~adding), adding)"}


def _completion(rules: RunRules) -> Step:
    heirs = preferred("(isr & world.unfenced & target)", rules)
    return {
        "reassigned": "world.controller_up AND target_order != 0 AND (adding & ~isr) = 0 AND (isr & target) != 0",
        "leader_kept": has("target", "leader"),
        "drops": "(assigned & ~target) != 0",
        "leader_moved": first_in_order("target_order", heirs, rules.slots),
        "preferred_elected": "leader != leader_before_commands",
    }


def _reassignment(rules: RunRules) -> Step:
    kept = "isr & target"
    elr = eligible_leaders.elr_after("isr", kept, "elr", "target")
    last_known = eligible_leaders.last_known_after(kept, "last_known_elr", "target")
    eligible = {"elr": f"IF(reassigned, {elr}, elr)", "last_known_elr": f"IF(reassigned, {last_known}, last_known_elr)"}
    new_leader = "IF(leader_kept, leader, leader_moved)"
    # A reassignment that drops no replica leaves the leader and its epoch alone (PartitionChangeBuilder).
    new_epoch = "(reassigned AND (drops OR NOT leader_kept))"
    return {
        "leader": f"IF(reassigned, {new_leader}, leader)",
        "leader_epoch": f"epoch_1 + IF(preferred_elected, 1, 0) + IF({new_epoch}, 1, 0)",
        "epoch_2": "epoch_1 + IF(preferred_elected, 1, 0)",
        "elected_2": "IF(preferred_elected, leader, -1)",
        "elected_3": f"IF({new_epoch}, {new_leader}, -1)",
        "leader_dropped": f"reassigned AND NOT leader_kept AND {new_leader} < 0 AND leader >= 0",
        "isr": f"IF(reassigned, {kept}, isr)",
        **(eligible if rules.elr else {}),
        "assigned": "CASE WHEN reassigned THEN target WHEN reassigns THEN assigned | target ELSE assigned END",
        "replica_order": (
            f"CASE WHEN reassigned THEN target_order WHEN reassigns THEN {_target_then_rest()} ELSE replica_order END"
        ),
        "adding": "IF(reassigned, 0, adding)",
        "target_order": "IF(reassigned, 0L, target_order)",
    }


def _target_then_rest() -> str:
    target, before = eligible_leaders.slots_of("target_order"), eligible_leaders.slots_of("replica_order")
    joined = f"concat({target}, array_except({before}, {target}))"
    return (
        f"aggregate({joined}, named_struct('order', 0L, 'at', 0), (a, s) -> named_struct('order',"
        f" a.order | shiftleft(CAST(s + 1 AS BIGINT), a.at * {ORDER_BITS}), 'at', a.at + 1), a -> a.order)"
    )


def _new_leader(rules: RunRules) -> Step:
    elected = "(leader >= 0 AND leader_epoch != epoch_at_start)"
    told = f"({has('world.running', 'leader')} AND NOT {has('world.untold', 'leader')})"
    dropped = "((assigned & own_bit) = 0 AND (assigned_at_start & own_bit) != 0)"
    forgotten = f"({dropped} OR ({elected} AND ({rules.holds('forget_followers')} OR slot = leader)))"
    return {
        "elected_now": elected,
        **(_announced() if rules.late_news else {}),
        "old_leader_cause": "get(world.cause, client_leader)",
        "leader_ready": (
            f"IF({elected}, {told}, leader_ready AND {has('assigned', 'client_leader')}"
            f" AND NOT {has('world.offline', 'client_leader')})"
        ),
        "client_leader": f"IF({elected}, leader, client_leader)",
        "client_epoch": f"IF({elected}, leader_epoch, client_epoch)",
        "leader_isr": (f"IF({elected} OR NOT {has('world.untold', 'client_leader')}, isr, leader_isr)"),
        "committed_before": (
            f"CASE WHEN NOT {elected} THEN committed_before WHEN unclean_elected THEN 0L"
            " ELSE greatest(committed_before, leader_hw) END"
        ),
        "pending_join": f"IF({elected}, 0, pending_join & assigned)",
        "pending_shrink": f"IF({elected}, 0, pending_shrink & assigned)",
        "opens": f"{elected} AND slot = leader",
        "leads_now": f"{elected} AND slot = leader AND {told}",
        "remote_leo": f"IF({forgotten}, CAST(null AS BIGINT), remote_leo)",
        "verified": f"verified AND NOT {forgotten}",
        "caught_up_round": (
            f"CASE WHEN {dropped} THEN {NEVER} WHEN NOT {elected} THEN caught_up_round"
            f" WHEN (isr & own_bit) != 0 THEN round ELSE {NEVER} END"
        ),
        "fetched_round": f"IF({elected} OR {dropped}, {NEVER}, fetched_round)",
        "fetched_leader_leo": f"IF({elected} OR {dropped}, -1L, fetched_leader_leo)",
        "is_dropped": dropped,
    }


def _announced() -> Step:
    """What the controller held, for those who learn of it late; a reassignment that adds replicas makes all before old."""
    now = "array(named_struct('round', round, 'leader', leader, 'epoch', leader_epoch))"
    last = "get(leader_news, size(leader_news) - 1)"
    return {
        "leader_news": (
            f"CASE WHEN reassigns AND adding != 0 THEN {now} WHEN {last}.epoch != leader_epoch OR {last}.leader != leader"
            f" THEN concat(leader_news, {now}) ELSE leader_news END"
        )
    }


def _new_leadership(rules: RunRules) -> Step:
    snapshot = (
        "named_struct('epoch', leader_epoch, 'round', round, 'unclean', unclean_elected,"
        f" 'runs', {has('world.running', 'slot')}, 'cause', old_leader_cause,"
        f" 'leo', leo, 'log_start_offset', log_start_offset, 'local_start', {local_start(rules)}, 'acked_before', 0L,"
        " 'entries', transform(log, x -> named_struct('epoch', x.epoch, 'start_offset', x.start_offset)))"
    )
    end = "named_struct('start_offset', lead_start, 'hw', lead_hw, 'acked', IF(acked_to > acked_from, concat(acked_ranges,"
    end += " array(named_struct('from_offset', acked_from, 'to_offset', acked_to))), acked_ranges))"
    return {
        "leaderships": f"IF(opens, concat(leaderships, array({snapshot})), leaderships)",
        "leadership_ends": f"IF(opens AND size(leaderships) > 0, concat(leadership_ends, array({end})), leadership_ends)",
        "lead_start": "CASE WHEN leads_now THEN leo WHEN opens THEN null ELSE lead_start END",
        "lead_hw": "IF(opens, IF(leads_now, hw, 0L), lead_hw)",
        "acked_from": "IF(opens, 0L, acked_from)",
        "acked_to": "IF(opens, 0L, acked_to)",
        "acked_ranges": "IF(opens, filter(acked_ranges, x -> false), acked_ranges)",
        "is_leader": "(is_leader AND NOT is_dropped) OR leads_now",
        **served_by("IF(leads_now, leader, -1)", "(leads_now OR is_dropped)"),
        "believed_leader": "CASE WHEN leads_now THEN leader WHEN is_dropped THEN -1 ELSE believed_leader END",
        "truncating": "truncating AND NOT leads_now AND NOT is_dropped",
        "believed_epoch": "CASE WHEN leads_now THEN leader_epoch WHEN is_dropped THEN -1 ELSE believed_epoch END",
        "log": (
            "CASE WHEN is_dropped THEN filter(log, x -> false)"
            f" WHEN leads_now AND {rules.holds('entry_at_election')} THEN {assign_epoch('log', 'leader_epoch', 'leo')}"
            " ELSE log END"
        ),
        "leo": "IF(is_dropped, 0L, leo)",
        "hw": "IF(is_dropped, 0L, hw)",
        "log_start_offset": "IF(is_dropped, 0L, log_start_offset)",
        "log_bytes": "IF(is_dropped, 0L, log_bytes)",
        "hw_checkpoint": "IF(is_dropped, 0L, hw_checkpoint)",
        "flushed_offset": "IF(is_dropped, 0L, flushed_offset)",
        "segment_base_offset": "IF(is_dropped, 0L, segment_base_offset)",
        "segment_bytes": "IF(is_dropped, 0L, segment_bytes)",
        "credit_bytes": "IF(is_dropped, 0L, credit_bytes)",
        **({"segments": f"IF(is_dropped, {NO_SEGMENTS}, segments)"} if rules.segments else {}),
    }
