"""Step 2, reassignments: new replicas start empty and join the ISR, then the old ones go (PartitionReassignmentReplicas)."""

from __future__ import annotations

from emulator.rounds.relational.tables import REPLICA, Round, over
from emulator.rounds.relational.verbs.elr import change_isr

EMPTY_REPLICA = {
    "leads": "false", "believed_leader": "-1", "believed_epoch": "-1", "truncating": "false",
    **dict.fromkeys(("log_start", "leo", "hw", "hw_checkpoint", "flushed", "segment_base", "segment_size"), "0L"),
    "segment_round": "0", "segment_newest": "null", "credit_bytes": "0L",
    "known_in_isr": "false", "join_pends": "false", "shrink_pends": "false",
    "remote_leo": "null", "caught_up_round": "null", "previous_round": "null", "previous_leader_leo": "null",
}  # fmt: skip


def start_reassignment(now: Round) -> Round:
    """On command the replica list becomes the target, then those of now that it lacks, by broker; new ones are added empty.

    If nobody is to go those go who were to go before; if nobody is to come or to go at all, the order holds at once.
    """
    if not now.inputs.moves_partitions:
        return now
    if now.inputs.reassignments is None:
        return now.with_columns(reorders="false")
    asked = now.inputs.reassignments.renamed(command_round="round")
    replicas = now.replicas.join(asked, [*REPLICA, "round"], "left")
    now = (
        now.with_replicas(replicas)
        .with_columns(
            comes="place IS NOT NULL AND position IS NULL",
            goes="place IS NULL AND position IS NOT NULL",
            was_to_go="moves AND position IS NOT NULL AND target_position IS NULL",
        )
        .with_columns(
            starts=f"controller_up AND {over('bool_or(place IS NOT NULL)')}",
            targets=over("count(place)"),
            some_come=over("bool_or(comes)"),
            some_go=over("bool_or(goes)"),
        )
    )
    behind = "targets + count_if(goes) OVER (PARTITION BY pid ORDER BY broker ROWS UNBOUNDED PRECEDING) - 1"
    position = f"CASE WHEN NOT starts THEN position WHEN place IS NOT NULL THEN place WHEN position IS NOT NULL THEN {behind} END"
    return now.with_columns(
        new_position=f"CAST({position} AS INT)",
        target_position="IF(starts, IF(was_to_go AND NOT some_go, null, place), target_position)",
        reorders="starts AND NOT (moves OR some_come OR some_go)",
        moves="moves OR starts AND (some_come OR some_go)",
        oldest_news="IF(starts AND some_come, round + 1, oldest_news)",
    ).with_columns(position="new_position")


def complete_reassignment(now: Round) -> Round:
    """Once all who stay are in the ISR the others go, with their logs.

    The leader stays if it is of the target, else the first of it leads that may; a new epoch, but if nothing was dropped.
    """
    if not now.inputs.moves_partitions:
        return now
    ready = f"controller_up AND (reorders OR moves AND NOT {over('bool_or(target_position IS NOT NULL AND NOT in_isr)')})"
    place = "count(target_position) OVER (PARTITION BY pid ORDER BY target_position ROWS UNBOUNDED PRECEDING) - 1"
    place = f"CAST(IF(target_position IS NULL, null, {place}) AS INT)"
    now = now.with_columns(completes=ready, new_place=place).with_columns(
        is_dropped="completes AND position IS NOT NULL AND target_position IS NULL",
        position="IF(completes, new_place, position)",
    )
    members = "in_isr AND target_position IS NOT NULL"
    if now.inputs.has_elr:
        now = change_isr(now, members, "completes")
    else:
        now = now.with_columns(in_isr=f"IF(completes, {members}, in_isr)")
    now = now.with_columns(
        drops=over("bool_or(is_dropped)"),
        leader_stays=over("bool_or(broker = leader AND target_position IS NOT NULL)"),
        heir=over("min_by(broker, IF(in_isr AND NOT fenced, position, null))"),
    ).with_columns(
        heir="IF(leader_stays, leader, coalesce(heir, -1))",
        new_epoch="completes AND NOT reorders AND (drops OR NOT leader_stays)",
    )
    if now.inputs.has_elr:
        holds_leader = "new_epoch AND elr AND recovery = 'none'"
        now = now.with_columns(isr_size=over("count_if(in_isr)")).with_columns(
            in_last_known_elr=(
                f"CASE WHEN {holds_leader} AND heir >= 0 THEN false WHEN {holds_leader} AND leader >= 0 AND isr_size = 0"
                " THEN broker = leader AND position IS NOT NULL ELSE in_last_known_elr END"
            )
        )
    reset = {name: f"IF(is_dropped, {text}, {name})" for name, text in EMPTY_REPLICA.items()}
    return now.with_columns(
        **reset,
        is_moved="new_epoch AND heir >= 0 AND broker = heir",
        is_lost_to_move="new_epoch AND heir = -1 AND broker = leader",
        leader="IF(new_epoch, heir, leader)",
        leader_epoch="leader_epoch + IF(new_epoch, 1, 0)",
        elections="elections + IF(new_epoch AND heir >= 0, 1, 0)",
        moves="moves AND NOT completes",
        target_position="IF(completes, null, target_position)",
    )
