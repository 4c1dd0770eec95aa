"""Step 1: damage, clean stops and restarts."""

from __future__ import annotations

from emulator.rounds.relational.tables import REPLICA, Round, over
from emulator.rounds.relational.verbs.cutting import cut_columns, lost_by_cuts, write_down_cuts
from emulator.rounds.relational.verbs.elr import forget_elr
from emulator.rounds.relational.verbs.truncating import cut_followers


def take_inputs(now: Round) -> Round:
    """Power loss takes what was not flushed, disk loss everything; a clean stop writes down; who restarts follows."""
    now = forget_elr(now) if now.inputs.has_elr else now
    now = now.with_columns(cut_to="CAST(null AS BIGINT)", damaged_to="CAST(null AS BIGINT)")
    now = now.with_columns(damaged_from="leo")
    if now.inputs.damages:
        now = lose_records(now)
    now = now.with_columns(
        hw_checkpoint="IF(clean_stop, hw, hw_checkpoint)",
        flushed="IF(clean_stop, leo, flushed)",
        restarts="restarted AND position IS NOT NULL",
    )
    now = now.with_columns(
        hw="IF(restarts, greatest(least(hw_checkpoint, leo), log_start), hw)",
        leads="leads AND NOT restarts",
        believed_leader="IF(restarts, leader, believed_leader)",
        believed_epoch="IF(restarts, leader_epoch, believed_epoch)",
        truncating="truncating OR restarts",
    )
    if now.inputs.restarts:
        # KIP-903: who restarts is another broker to the controller than the one that asked to join.
        now = now.with_columns(asked_in_vain=f"asked_in_vain OR {over('bool_or(join_pends AND restarts)')}")
    if now.inputs.cuts_to_hw and now.inputs.number:
        now = cut_followers(now, "restarts", "restart").with_columns(cut_to="least(cut_to, restart_cut_to)")
    return now.with_columns(hw_at_start="hw", leo_at_start="leo", log_start_at_start="log_start")


def lose_records(now: Round) -> Round:
    """Cut logs at what was flushed, or at all; what T loses by it still counts as held, until the next election."""
    cut = "CASE WHEN disk_loss THEN 0L WHEN power_loss THEN greatest(least(leo, flushed), log_start) END"
    now = now.with_columns(cut_to=f"IF(position IS NOT NULL, least({cut}, cut_to), null)")
    now = now.with_replicas(now.replicas.settled())
    now = write_down_cuts(now, now.replicas.where("cut_to < leo").renamed(cut_to="cut_now"))
    cuts = now.replicas.select(*REPLICA, "cut_to AS cut_now", "log_start", "leo")
    sizes = lost_by_cuts(now, cuts)
    now = now.with_replicas(now.replicas.join(sizes, REPLICA, "left"))
    lost = now.with_columns(
        damaged_to="IF(cut_to < leo, cut_to, null)",
        hw="least(hw, cut_to)",
        **cut_columns(now, "cut_to"),
    ).with_columns(truncated="truncated - IF(cut_to IS NULL, 0L, cut_records)")  # damage is not truncation
    nothing = {name: f"IF(disk_loss, 0L, {name})" for name in ("log_start", "hw_checkpoint", "flushed", "segment_base")}
    lost = lost.with_replicas(lost.replicas.drop(*sizes.columns[2:]))
    return lost.with_columns(
        **nothing,
        segment_size="IF(disk_loss, 0L, segment_size)",
        segment_newest="IF(disk_loss, null, segment_newest)",
        credit_bytes="IF(disk_loss, 0L, credit_bytes)",
    )
