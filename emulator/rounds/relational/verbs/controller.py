"""Step 2: the controller fences and elects, while it is up. Every step is a look at all replicas of a partition: a window."""

from __future__ import annotations

from emulator.rounds.relational.tables import Round, is_due, over
from emulator.rounds.relational.verbs.elr import best_answer, fence_one_by_one, leave_unclean, remember_last_leader

PLACES_HELD = {"position": "was_at", "target_position": "was_to_be_at"}
LEADERSHIP_BEGINS = "(leader >= 0 AND leader_epoch != epoch_at_start)"


def fence(now: Round) -> Round:
    """Take fenced members out of the ISR, returning ones too; the last stays: the leader if a member, else the first."""
    held = {"was_in_isr": "in_isr", "was_at": "position", "was_to_be_at": "target_position"}
    now = now.with_columns(blocked="fenced OR returning", **held).with_columns(
        members_left=over("count_if(in_isr AND NOT blocked)"),
        leader_is_member=over("bool_or(in_isr AND broker = leader)"),
        first_member=over("min_by(broker, IF(in_isr, position, null))"),
    )
    stays = (
        "CASE WHEN NOT controller_up OR NOT blocked THEN true WHEN elr OR members_left > 0 THEN false"
        " ELSE broker = IF(leader_is_member, leader, first_member) END"
    )
    now = now.with_columns(fenced_out=f"in_isr AND NOT ({stays})")
    if now.inputs.has_elr:
        now = fence_one_by_one(now)
    now = now.with_columns(in_isr="in_isr AND NOT fenced_out", isr_shrinks=f"isr_shrinks + {over('count_if(fenced_out)')}")
    return leave_unclean(now) if now.inputs.has_elr else now


def elect(now: Round) -> Round:
    """Elect where the leader is gone: with returning brokers as fenced, and where that gives none as unfenced."""
    now = _elect_unless(now, "fenced OR returning", "controller_up")
    any_returns = over("bool_or(returning AND position IS NOT NULL)")
    return _elect_unless(now, "fenced", f"controller_up AND leader = -1 AND {any_returns}")


def _elect_unless(now: Round, blocked: str, when: str) -> Round:
    """Replace a leader that is blocked, or none.

    By the first of the ISR, else of the ELR, else, uncleanly, by the first replica or who recovery finds, else by none.
    """
    now = now.with_columns(alive=f"position IS NOT NULL AND NOT ({blocked})").with_columns(
        elects=f"({when}) AND NOT {over('bool_or(alive AND broker = leader)')}",
        clean=over("min_by(broker, IF(alive AND in_isr, position, null))"),
        eligible="CAST(null AS INT)",
        unclean=f"IF(unclean_election, {over('min_by(broker, IF(alive, position, null))')}, null)",
    )
    if now.inputs.has_elr:
        now = best_answer(now)
    now = now.with_columns(elected="IF(elects, coalesce(clean, eligible, unclean, -1), leader)").with_columns(
        changes="elected != leader", uncleanly="elects AND elected >= 0 AND clean IS NULL AND eligible IS NULL"
    )
    if now.inputs.has_elr:
        now = remember_last_leader(now)
    return now.with_columns(
        leader="elected",
        leader_epoch="leader_epoch + IF(changes, 1, 0)",
        in_isr="CASE WHEN changes AND elected >= 0 AND clean IS NULL THEN broker = elected ELSE in_isr END",
        elections="elections + IF(changes AND elected >= 0, 1, 0)",
        unclean_elections="unclean_elections + IF(changes AND uncleanly, 1, 0)",
        is_elected="is_elected OR (changes AND broker = elected)",
        is_unclean="is_unclean OR (changes AND uncleanly AND broker = elected)",
        election_epoch="IF(changes AND elected >= 0, leader_epoch + 1, election_epoch)",
        is_lost="is_lost OR (changes AND elected = -1 AND broker = leader)",
        lost_epoch="IF(changes AND elected = -1, leader_epoch + 1, lost_epoch)",
    )


def take_commands(now: Round) -> Round:
    """Which partitions are asked for an election of their preferred leader in this round."""
    if now.inputs.elections is None:
        return now
    asked = now.inputs.elections.renamed(command_round="round").with_columns(is_asked="true")
    replicas = now.replicas.join(asked.broadcast(), ["pid", "round"], "left")
    return now.with_replicas(replicas).with_columns(asked_to_elect="coalesce(is_asked, false)")


def elect_preferred(now: Round) -> Round:
    """On command, or by auto rebalance: the first replica leads if it is in the ISR and unfenced."""
    asked = f"coalesce(round > 0 AND {is_due('rebalance_ms')}, false)"
    if now.inputs.elections is not None:
        asked = f"({asked} OR asked_to_elect)"
    may_lead = "position = 0 AND in_isr AND NOT fenced"
    now = now.with_columns(preferred=f"max(IF({may_lead}, broker, null)) OVER (PARTITION BY pid)").with_columns(
        prefers=f"controller_up AND {asked} AND leader >= 0 AND coalesce(preferred != leader, false)"
    )
    if now.inputs.has_elr:
        now = now.with_columns(in_last_known_elr="in_last_known_elr AND NOT (prefers AND elr AND recovery = 'none')")
    return now.with_columns(
        leader="IF(prefers, preferred, leader)",
        leader_epoch="leader_epoch + IF(prefers, 1, 0)",
        elections="elections + IF(prefers, 1, 0)",
        preferred_epoch="leader_epoch + 1",
        is_preferred="prefers AND broker = preferred",
    )


def begin_leadership(now: Round) -> Round:
    """Make the elected one T: it knows nothing of the others yet, members of the ISR count as caught up.

    One that led before and still does goes on with what it knows of their logs, and owes the answers that it has not given.
    It is told, if that can be: its epoch enters its cache at its LEO.
    """
    changed = " OR ".join(
        ("in_isr != was_in_isr", *(f"coalesce({now_}, -1) != coalesce({then}, -1)" for now_, then in PLACES_HELD.items()))
    )
    asked = over(f"bool_or({changed})") + " AND " + over("bool_or(join_pends OR shrink_pends)")
    still_leads = over("bool_or(leads AND broker = leader)")
    now = now.with_columns(
        begins=LEADERSHIP_BEGINS,
        goes_on=f"{LEADERSHIP_BEGINS} AND leader = leader_at_start AND {still_leads}",
        hw_then=over("max(IF(broker = leader, hw, null))"),
        old_cause=over("max(IF(broker = client_leader, cause, null))"),
    )
    return now.with_columns(
        ended_start="lead_start",
        ended_hw="lead_hw",
        ended_owes_from="owes_from",
        owes_from="IF(begins, IF(goes_on AND owes_from IS NOT NULL, greatest(owes_from, hw_then), null), owes_from)",
        client_leader="IF(begins, leader, client_leader)",
        client_epoch="IF(begins, leader_epoch, client_epoch)",
        lead_start="IF(begins, null, lead_start)",
        lead_hw="IF(begins, 0L, lead_hw)",
        known_in_isr="IF(begins, in_isr, known_in_isr)",
        asked_in_vain=f"NOT begins AND (asked_in_vain OR {asked})",
        join_pends="join_pends AND NOT begins",
        shrink_pends="shrink_pends AND NOT begins",
        remote_leo="IF(begins AND NOT goes_on, null, remote_leo)",
        caught_up_round="CASE WHEN NOT begins THEN caught_up_round WHEN in_isr AND broker != leader THEN round END",
        previous_round="IF(begins, null, previous_round)",
        previous_leader_leo="IF(begins, null, previous_leader_leo)",
        is_told="begins AND broker = leader AND running AND NOT untold",
    )


def tell(now: Round) -> Round:
    """Who `is_told` that it leads, leads from its LEO on, and has committed what is below its high watermark."""
    starts_anew = "is_told AND NOT (leads AND owes_from IS NOT NULL)"
    return now.with_columns(
        owes_from=f"coalesce({over(f'max(IF({starts_anew}, leo, null))')}, owes_from)",
        leads="leads OR is_told",
        truncating="truncating AND NOT is_told",
        believed_leader="IF(is_told, broker, believed_leader)",
        believed_epoch="IF(is_told, client_epoch, believed_epoch)",
        lead_start=f"coalesce({over('max(IF(is_told, leo, null))')}, lead_start)",
        lead_hw=f"coalesce({over('max(IF(is_told, hw, null))')}, lead_hw)",
    )
