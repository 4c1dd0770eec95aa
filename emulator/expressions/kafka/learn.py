"""At the end of the round every replica that can hear the controller learns what it decided."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, applied, built_once, decided, unchanged
from emulator.expressions.kafka.late_response import keep_response
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.served import served_by
from emulator.expressions.kafka.truncation import CUT_FACTS, cut_to_high_watermark
from emulator.expressions.log import assign_epoch
from emulator.expressions.slots import has, mine


def learn(state: DataFrame, rules: RunRules) -> DataFrame:
    """Believe in the controller's leader and epoch unless deaf; a leader elected unawares takes its epoch into its cache.

    `leader_log` keeps the client leader's log for followers whose first fetch in this epoch is still to come
    (docs/kafka_rounds.md step 8).
    """
    return state.withColumns(_decide(rules)).withColumns(_apply(rules))


_OUTPUTS = {
    **unchanged("lead_start", "log", "is_leader", "believed_leader", "believed_epoch", "truncating", "served", "served_bytes"),
    **unchanged("leader_isr", "leader_ready", "leader_epoch_start", "leader_log"),
}

_OF_A_CUT = {
    **unchanged("leo", "hw", "log_bytes", "log_start_offset", "segment_base_offset", "segment_bytes", "flushed_offset"),
}


def _outputs(rules: RunRules) -> Step:
    if not rules.some("cuts_to_high_watermark"):
        return _OUTPUTS
    return _OUTPUTS | _OF_A_CUT | (unchanged("segments", "segment_round") if rules.segments else {})


@built_once
def _decide(rules: RunRules) -> Step:
    leader_hears = f"NOT {has('world.deaf', 'client_leader')}"
    current = "(leader = client_leader AND leader_epoch = client_epoch)"
    news = (
        f"(NOT {mine('world.deaf')} AND (assigned & own_bit) != 0 AND (believed_leader != leader"
        " OR believed_epoch != leader_epoch OR is_leader != (slot = leader)))"
    )
    stash = (
        "(IF(verified OR slot = client_leader OR (assigned & own_bit) = 0, leader_log IS NOT NULL,"
        " NOT (leader_log <=> lead.log)))"
    )
    for_leader = f"({leader_hears} AND (leader_isr != isr OR {current} != leader_ready))"
    if rules.late_news:
        of_leader = f"{_old_news('client_leader')}.epoch"
        for_leader += f" OR coalesce({_old_news('slot')}.epoch > believed_epoch, false)"
        for_leader += f" OR coalesce(IF(leader_ready, {of_leader} > client_epoch, {of_leader} = client_epoch), false)"
    steps, outputs = [_news(rules), _hear(), _believe(rules)], _outputs(rules) | unchanged("late")
    if rules.some_lack("response_in_leader_epoch"):
        steps[1:1] = keep_response(rules)
        outputs |= unchanged("late_response")
    if rules.some("cuts_to_high_watermark"):
        steps[-1:-1] = cut_to_high_watermark(
            f"({rules.holds('cuts_to_high_watermark')} AND begins_to_follow)", "told_epoch", rules
        )
        outputs |= unchanged(*CUT_FACTS)
    return decided("news", f"{news} OR {stash} OR {for_leader}", steps, outputs)


@built_once
def _apply(rules: RunRules) -> Step:
    return {
        **applied("news", _outputs(rules)),
        "lead_hw": "IF(slot = client_leader AND (leader_runs OR coalesce(news.late, false)), hw, lead_hw)",
    }


def _old_news(slot: str) -> str:
    """What the controller held when the news that reach a replica late were made; null where none come."""
    lag = f"get(world.news_lag, {slot})"
    return f"IF({lag} IS NULL, null, array_max(filter(leader_news, n -> n.round <= greatest(round - {lag}, -1))))"


def _news(rules: RunRules) -> Step:
    """Who is told of which leader and epoch: what the controller holds, or held when late news were made."""
    hears = f"(NOT {mine('world.deaf')} AND (assigned & own_bit) != 0)"
    leader_hears = f"(client_leader >= 0 AND NOT {has('world.deaf', 'client_leader')})"
    if not rules.late_news:
        told = {"is_told": hears, "told_leader": "leader", "told_epoch": "leader_epoch"}
        return {**told, "leader_hears": leader_hears, "leader_told": leader_hears, "leader_stops": "false"}
    late = f"((assigned & own_bit) != 0 AND coalesce({_old_news('slot')}.epoch > believed_epoch, false))"
    return {
        "is_told": f"{hears} OR {late}",
        "told_leader": f"IF({hears}, leader, {_old_news('slot')}.leader)",
        "told_epoch": f"IF({hears}, leader_epoch, {_old_news('slot')}.epoch)",
        "leader_hears": leader_hears,
        "leader_told": f"{leader_hears} OR coalesce({_old_news('client_leader')}.epoch = client_epoch, false)",
        "leader_stops": f"coalesce({_old_news('client_leader')}.epoch > client_epoch, false)",
    }


def _hear() -> Step:
    current = "(leader = client_leader AND leader_epoch = client_epoch)"
    return {
        "begins_to_follow": (
            "is_told AND slot != told_leader AND (believed_leader != told_leader OR believed_epoch != told_epoch)"
        ),
        "late": f"{current} AND NOT leader_ready AND leader_told",
        "leader_isr": "IF(leader_hears, isr, leader_isr)",
        "leader_ready": f"({current} AND leader_told) OR (leader_ready AND NOT leader_hears AND NOT leader_stops)",
    }


def _believe(rules: RunRules) -> Step:
    leads_late = "(late AND slot = leader)"
    leads_old = "(is_told AND told_leader = slot AND told_epoch > believed_epoch)"
    leads_old = f"({leads_late} OR {leads_old})" if rules.late_news else leads_late
    entered = assign_epoch("log", "told_epoch", "leo", "log_bytes")
    noted = assign_epoch("lead.log", "leader_epoch", "lead.leo", "lead.log_bytes", "lead.log_start_offset")
    return {
        "lead_start": f"IF({leads_late}, leo, lead_start)",
        "truncating": f"(truncating AND NOT {leads_old}) OR (begins_to_follow AND {rules.holds('asks')})",
        "log": f"IF({leads_old} AND {rules.holds('entry_at_election')}, {entered}, log)",
        "is_leader": f"IF(is_told, slot = told_leader AND (is_leader OR late OR {leads_old}), is_leader)",
        "leader_epoch_start": "IF(late, leader_leo, leader_epoch_start)",
        **served_by("told_leader", "is_told"),
        "believed_leader": "IF(is_told, told_leader, believed_leader)",
        "believed_epoch": "IF(is_told, told_epoch, believed_epoch)",
        "leader_log": (
            "CASE WHEN verified OR slot = client_leader OR (assigned & own_bit) = 0 THEN null"
            f" WHEN late THEN {noted} ELSE lead.log END"
        ),
    }
