"""Steps 8 and 9: replicas learn what the controller holds, or held; checkpoints and flushes."""

from __future__ import annotations

from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import PARTITION, Round, is_due, of_leader, over
from emulator.rounds.relational.verbs.controller import tell


def learn(now: Round) -> Round:
    """Who hears the controller believes it; one that late news reaches believes what was so then, if that is newer.

    A leader elected unawares is told now; T learns the ISR.
    """
    now = now.with_columns(told_leader="IF(deaf, null, leader)", told_epoch="IF(deaf, null, leader_epoch)")
    if now.inputs.news is not None:
        now = _hear_late_news(now, now.inputs.news)
    now = now.with_columns(
        hears="position IS NOT NULL AND told_leader IS NOT NULL",
        knows_isr=f"NOT coalesce({over('max(IF(broker = client_leader, deaf, null))')}, true)",
        hw_of_leader=of_leader("IF(client_works, hw, null)"),
    )
    now = now.with_columns(
        is_told=(
            "hears AND told_leader = broker AND client_leader = broker AND client_epoch = told_epoch"
            " AND NOT (leads AND believed_epoch = client_epoch)"
        ),
        leads_late="hears AND told_leader = broker AND NOT (client_leader = broker AND client_epoch = told_epoch)",
        steps_down="hears AND told_leader != broker",
        hears_new="hears AND (told_leader != believed_leader OR told_epoch != believed_epoch)",
    ).with_columns(
        leads="(leads AND NOT steps_down) OR leads_late",
        truncating="(truncating OR (steps_down AND hears_new)) AND NOT leads_late",
        believed_leader="IF(hears, told_leader, believed_leader)",
        believed_epoch="IF(hears, told_epoch, believed_epoch)",
        known_in_isr="IF(knows_isr, in_isr, known_in_isr)",
        lead_hw="coalesce(hw_of_leader, lead_hw)",
    )
    return tell(now).with_columns(
        new_epoch="IF(is_told OR leads_late, believed_epoch, null)", new_start="leo", told_late="is_told"
    )


def _hear_late_news(now: Round, news: Query) -> Round:
    """Late news comes to who runs and is not isolated. Nothing from before the last that added replicas."""
    now = now.with_columns(
        news_round="IF(deaf AND running AND NOT isolated, greatest(round + 1 - news_lag, 0), null)",
    )
    held = news.renamed(leader="held_leader", leader_epoch="held_epoch")
    replicas = now.replicas.join(held, [*PARTITION, "news_round"], "left")
    now = now.with_replicas(replicas).with_columns(
        held_leader="IF(news_lag = 0, leader, held_leader)", held_epoch="IF(news_lag = 0, leader_epoch, held_epoch)"
    )
    newer = "news_round >= oldest_news AND held_epoch > believed_epoch"
    return now.with_columns(
        told_leader=f"IF(deaf, IF({newer}, held_leader, null), told_leader)",
        told_epoch=f"IF(deaf, IF({newer}, held_epoch, null), told_epoch)",
    )


def write_checkpoints(now: Round) -> Round:
    """Running replicas write their high watermark down, and flush, in rounds in which that is due."""
    return now.with_columns(
        hw_checkpoint=f"IF(running AND {is_due('checkpoint_ms')}, hw, hw_checkpoint)",
        flushed=f"IF(running AND coalesce({is_due('flush_ms')}, false), leo, flushed)",
    )


def news_of(frame: Query, number: str) -> Query:
    """What controllers hold: pid, news_round (0: before round 0), leader, leader_epoch."""
    return frame.select("pid", f"CAST({number} AS INT) AS news_round", "leader", "leader_epoch")
