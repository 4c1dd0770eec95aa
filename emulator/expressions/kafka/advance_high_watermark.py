"""ISR changes are confirmed or stay pending; the client leader's high watermark advances."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, built_once, where
from emulator.expressions.kafka.eligible_leaders import elr_after, last_known_after
from emulator.expressions.kafka.rules import RunRules


def advance_high_watermark(state: DataFrame, rules: RunRules) -> DataFrame:
    """Take the high watermark over the maximal ISR, then again without the shrunk; every row computes the same.

    Not while |ISR| < min.insync.replicas, counted with this round's confirmed joins first and after the shrink then
    (KIP-966 rule 1; Partition.maybeIncrementLeaderHW; docs/kafka_rounds.md steps 5 and 6).
    """
    return state.withColumns(_isr_changes(rules)).withColumns(_high_watermark(rules))


@built_once
def _isr_changes(rules: RunRules) -> Step:
    pending = "(pending_join & ~world.restarted)"  # KIP-903: it is another broker now
    joined = f"(isr | (({pending} | joined) & world.unfenced & assigned))"
    after = f"({joined} & ~(pending_shrink | shrunk))"
    changes = "(joined | shrunk | pending_join | pending_shrink) != 0"
    step = {
        "isr": f"IF(confirms, {after}, isr)",
        "pending_join": f"IF(confirms, 0, {pending} | joined)",
        "pending_shrink": "IF(confirms, 0, pending_shrink | shrunk)",
    }
    if rules.elr:
        elr = f"IF({joined} = isr, elr, {elr_after('isr', joined, 'elr')})"
        elr = f"IF({after} = {joined}, {elr}, {elr_after(joined, after, elr)})"
        known = f"IF(({after} | {joined}) = isr, last_known_elr, {last_known_after(joined, 'last_known_elr')})"
        step |= {"elr": f"IF(confirms, {elr}, elr)", "last_known_elr": f"IF(confirms, {known}, last_known_elr)"}
    return {
        "joined_in": f"IF(confirms, {joined} & ~isr, 0)",
        "lagged_out": f"IF(confirms, {joined} & ~{after}, 0)",
        "size_joined": f"bit_count(IF(confirms, {joined}, leader_isr))",
        "size_shrunk": f"bit_count(IF(confirms, {after}, leader_isr))",
        **where(changes, step),
    }


@built_once
def _high_watermark(rules: RunRules) -> Step:
    def advanced(size: str, hw: str, held: str) -> str:
        enough = rules.choose("hold_below_min_isr", f"{size} >= feed.min_insync_replicas", "true")
        return f"IF({enough}, greatest({hw}, least({held}, lead.leo)), {hw})"

    first = advanced("size_joined", "lead.hw", "coalesce(min_held, lead.leo)")
    after = "IF(confirms, coalesce(min_held_after, lead.leo), coalesce(min_held, lead.leo))"
    second = advanced("size_shrunk", first, after)
    return {
        # A partition that never had a leader keeps what it has.
        "leader_hw": f"coalesce(IF(leader_runs, {second}, lead.hw), leader_hw)",
        "leader_leo": "coalesce(lead.leo, leader_leo)",
        "leader_log_start": "coalesce(lead.log_start_offset, leader_log_start)",
        "leader_epoch_start": "coalesce(lead.lead_start, 0L)",
    }
