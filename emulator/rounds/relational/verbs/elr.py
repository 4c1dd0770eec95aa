"""Eligible leader replicas (KIP-966): members that left an ISR below the minimum may still lead."""

from __future__ import annotations

from emulator.rounds.relational.tables import REPLICA, Round, over
from emulator.rounds.relational.verbs.logs import last_epochs

MINIMUM = f"least(min_insync_replicas, {over('count_if(position IS NOT NULL)')})"
ASKS_REPLICAS = "recovery IN ('balanced', 'aggressive')"


def forget_elr(now: Round) -> Round:
    """Step 1: with another min.insync.replicas nobody is eligible any more."""
    return now.with_columns(in_elr="in_elr AND NOT clears_elr", in_last_known_elr="in_last_known_elr AND NOT clears_elr")


def change_isr(now: Round, members: str, when: str) -> Round:
    """The ISR becomes `members` (SQL) at once: who leaves is eligible while the ISR is below the minimum.

    `when`: SQL, the same for all replicas of a partition. The ISR itself changes in any case.
    """
    now = now.with_columns(is_member=f"IF({when}, ({members}), in_isr)", changes_elr=f"elr AND ({when})").with_columns(
        isr_size=over("count_if(is_member)"), isr_minimum=MINIMUM
    )
    return now.with_columns(enough="isr_size >= isr_minimum", was_eligible="in_elr OR in_isr").with_columns(
        in_isr="is_member",
        in_elr=(
            "CASE WHEN NOT changes_elr THEN in_elr WHEN enough THEN false"
            " ELSE was_eligible AND NOT is_member AND position IS NOT NULL END"
        ),
        in_last_known_elr=(
            "CASE WHEN NOT changes_elr THEN in_last_known_elr WHEN enough OR position IS NULL THEN false"
            f" WHEN {ASKS_REPLICAS} THEN in_last_known_elr AND NOT is_member AND NOT was_eligible"
            " ELSE in_last_known_elr END"
        ),
    )


def fence_one_by_one(now: Round) -> Round:
    """Fenced members leave in replica order, the leader last, each a change of its own.

    While the ISR that is left is large enough nobody is eligible. From the first that leaves it too small on all are.
    """
    in_order = "ORDER BY IF(broker = leader, 1, 0), position ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    now = now.with_columns(
        isr_size=over("count_if(in_isr)"),
        leaving=over("count_if(fenced_out)"),
        leaves_as=f"count_if(fenced_out) OVER (PARTITION BY pid {in_order})",
        isr_minimum=MINIMUM,
    ).with_columns(
        changes_elr="elr AND leaving > 0",
        enough="isr_size - leaving >= isr_minimum",
        first_too_few="greatest(1, isr_size - isr_minimum + 1)",
    )
    return now.with_columns(
        in_elr=(
            "CASE WHEN NOT changes_elr THEN in_elr WHEN enough THEN false"
            " ELSE (in_elr AND first_too_few = 1) OR (fenced_out AND leaves_as >= first_too_few) END"
        ),
        in_last_known_elr=(
            "CASE WHEN NOT changes_elr THEN in_last_known_elr WHEN enough OR first_too_few > 1 THEN false"
            f" WHEN {ASKS_REPLICAS} THEN in_last_known_elr AND NOT in_elr AND NOT in_isr ELSE in_last_known_elr END"
        ),
    )


def leave_unclean(now: Round) -> Round:
    """Who comes back after an unclean stop may have lost records: it is eligible no more."""
    return now.with_columns(leaves="elr AND controller_up AND in_elr AND unclean_restart").with_columns(
        in_elr="in_elr AND NOT leaves",
        in_last_known_elr=f"in_last_known_elr OR (leaves AND {ASKS_REPLICAS})",
    )


def best_answer(now: Round) -> Round:
    """Who else may lead an empty ISR: the first of the ELR; uncleanly the last known leader, or the best answer."""
    now = now.with_columns(
        isr_size=over("count_if(in_isr)"),
        elr_size=over("count_if(in_elr)"),
        first_eligible=over("min_by(broker, IF(alive AND in_elr, position, null))"),
        last_leader=over("min_by(broker, IF(alive AND in_last_known_elr, position, null))"),
        answers="alive AND answer_leo IS NOT NULL",
    ).with_columns(
        waits_on=over("count_if(in_isr OR in_elr OR (in_last_known_elr AND NOT answers))"),
        may_win="answers AND (recovery = 'aggressive' OR in_last_known_elr)",
    )
    best = over("max_by(broker, IF(may_win, struct(answer_epoch, answer_leo, -position), null))")
    return now.with_columns(
        eligible="IF(elr AND isr_size = 0, first_eligible, null)",
        unclean=(
            f"CASE WHEN elr AND {ASKS_REPLICAS} THEN IF(recovery = 'balanced' AND waits_on > 0, null, {best})"
            " WHEN elr AND isr_size = 0 AND elr_size = 0 THEN coalesce(last_leader, unclean) ELSE unclean END"
        ),
    )


def remember_last_leader(now: Round) -> Round:
    """What an election means for ELR and LastKnownELR; without a strategy the latter holds the last leader only."""
    return now.with_columns(ends_elr="changes AND uncleanly", holds_leader="changes AND elr AND recovery = 'none'").with_columns(
        in_elr="in_elr AND NOT ends_elr AND NOT (changes AND broker = elected AND clean IS NULL)",
        in_last_known_elr=(
            "CASE WHEN ends_elr OR (holds_leader AND elected >= 0) THEN false"
            " WHEN holds_leader AND isr_size = 0 THEN broker = leader AND position IS NOT NULL ELSE in_last_known_elr END"
        ),
    )


def ask_for_recovery(now: Round) -> Round:
    """Without a leader, and with a strategy for that, the controller asks who has how much.

    Who runs and is unfenced answers with its last epoch and its LEO; the answers hold for the next round.
    """
    if not now.inputs.has_elr:
        return now
    last = last_epochs(now.leader_epochs).renamed(last_epoch="epoch_told")
    now = now.with_replicas(now.replicas.drop("epoch_told").join(last, REPLICA, "left"))
    now = now.with_columns(isr_size=over("count_if(in_isr)"), elr_size=over("count_if(in_elr)")).with_columns(
        answers=(
            "elr AND leader = -1 AND controller_up AND position IS NOT NULL AND running AND NOT fenced"
            " AND (recovery = 'aggressive' OR (recovery = 'balanced' AND isr_size = 0 AND elr_size = 0 AND in_last_known_elr))"
        )
    )
    return now.with_columns(answer_epoch="IF(answers, coalesce(epoch_told, -1), null)", answer_leo="IF(answers, leo, null)")
