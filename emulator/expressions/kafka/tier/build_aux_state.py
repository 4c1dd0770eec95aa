"""A follower whose next record its leader has only in remote storage builds its auxiliary state, and starts behind it."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, applied, built_once, decided, unchanged
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import NO_SEGMENTS, local_start, with_closed
from emulator.expressions.kafka.tier.following import asked_leader, built_by_leader, built_from_store, where_to_start
from emulator.expressions.kafka.tier.take_tier_inputs import RUNS, USABLE
from emulator.expressions.kafka.tier.writes import counted
from emulator.expressions.log import bytes_at, epoch_cache, run, truncate_from_start
from emulator.expressions.slots import bit


def build_aux_state(state: DataFrame, rules: RunRules) -> DataFrame:
    """Ask the leader where to start, and the remote store, or the leader again, for the epochs before (TierStateMachine).

    The question passes and is answered as a fetch would be, in the leader's epoch only; until it knows all, the follower keeps
    its log and asks again (docs/tiered_rounds.md, Followers).
    """
    if not rules.tiers:
        return state
    return state.withColumns(_seen()).withColumns(_decide(rules)).withColumns(_apply(rules))


_OUTPUTS = {
    **unchanged("log", "leo", "hw", "log_bytes", "log_start_offset", "flushed_offset", "segment_base_offset", "segment_bytes"),
    **unchanged("segments", "aux_state", "tier_counts", "verified", "truncated"),
}
_FACTS = ("is_built", "epoch", "from_offset", "to_offset")
"""What `building` tells: whether the follower has its state, in which epoch, from its log start to where it starts."""


@built_once
def _seen() -> Step:
    """Who builds in this round, whether it may ask or not."""
    moved = "coalesce(response.outcome = 'moved', false)"
    return {"builds": f"coalesce(aux_state IS NOT NULL AND {RUNS} AND NOT {moved} AND NOT is_leader, false)"}


@built_once
def _decide(rules: RunRules) -> Step:
    fields = ("leo", "log", "log_start_offset", "local_start", "highest_remote")

    def told(source: str) -> str:
        return "named_struct(" + ", ".join(f"'{name}', {source}.{name}" for name in fields) + ")"

    passes = (
        f"(leader != slot AND believed_leader >= 0 AND believed_leader != slot AND (world.drop IS NULL"
        f" OR ((get(world.drop, slot) & {bit('believed_leader')}) = 0 AND (get(world.drop, believed_leader) & own_bit) = 0)))"
    )
    of_clients = "(believed_leader = client_leader AND believed_epoch = client_epoch AND leader_runs)"
    other = "filter(superseded, x -> x.slot = believed_leader AND x.epoch = believed_epoch)"
    of_others = f"get(transform({other}, x -> {told('x')}), 0)"
    source = f"CASE WHEN NOT {passes} THEN null WHEN {of_clients} THEN {told('lead')} ELSE {of_others} END"
    own_start = local_start(rules)
    kept = f"IF(segment_bytes > 0, {with_closed()}, segments)"  # a mutant's: all that it had, before a hole
    at_pending = f"(coalesce(get(world.at_pending_upload, slot), feed.storage.at_pending_upload) AND leo = {own_start})"
    its = ("source.log_start_offset", "source.local_start", "source.highest_remote", "its_epochs")
    guards = (rules.holds("build_epochs"), rules.holds("lookup_by_epoch"))
    store = built_from_store("start", "metadata_index", "remote_segments", "usable", "feed.storage.store_up", *guards)
    asked = asked_leader("aux_state.asked", "start", "its_epochs", "source.leo", "source.log_start_offset")
    of_runs = epoch_cache("its_runs", "built.log_start")
    own_runs = "filter(source.log, x -> x.start_offset < built.start_offset)"
    empty_run = run("e.start_offset", "e.epoch", "its_bytes", "0", "0L", "null", "-1")
    steps: list[Step] = [
        {"source": source, "usable": USABLE},
        {
            "its_epochs": f"IF(source IS NULL, null, {epoch_cache('source.log', 'source.log_start_offset')})",
            "at_pending": at_pending,
        },
        {"start": f"IF(source IS NULL, null, {where_to_start(*its, 'at_pending')})"},
        {"asked": f"IF(source IS NULL OR NOT feed.storage.from_leader, aux_state.asked, {asked})"},
        {
            "built": (
                f"CASE WHEN source IS NULL THEN null WHEN NOT feed.storage.from_leader THEN {store}"
                f" WHEN asked IS NULL THEN null ELSE {built_by_leader('asked', 'source.log_start_offset')} END"
            )
        },
        {
            "is_built": "built IS NOT NULL",
            **{"epoch": "believed_epoch", "from_offset": "built.log_start", "to_offset": "built.start_offset"},
            "its_bytes": f"IF(built IS NULL, 0L, {bytes_at('source.log', 'built.start_offset')})",
            "its_runs": f"IF(built IS NULL, log, {own_runs})",
        },
        {"its_runs": f"IF(built IS NULL, log, {truncate_from_start('its_runs', 'built.log_start')})"},
        {
            # A log of the leader's lineage has the leader's runs below its start, so that both go on alike.
            "log": (
                f"CASE WHEN built IS NULL THEN log WHEN {of_runs} <=> built.epochs THEN its_runs"
                f" ELSE transform(built.epochs, e -> {empty_run}) END"
            ),
            "truncated": f"truncated + IF(is_built, leo - {own_start}, 0L)",
            "log_bytes": "IF(is_built, its_bytes, log_bytes)",
            "leo": "IF(is_built, built.start_offset, leo)",
            "hw": "IF(is_built, built.start_offset, hw)",
            "log_start_offset": "IF(is_built, built.log_start, log_start_offset)",
            "flushed_offset": "IF(is_built, built.start_offset, flushed_offset)",
            "segment_base_offset": "IF(is_built, built.start_offset, segment_base_offset)",
            "segment_bytes": "IF(is_built, 0L, segment_bytes)",
            "segments": f"IF(is_built, {rules.choose('drop_log', NO_SEGMENTS, kept)}, segments)",
            "verified": "verified AND NOT is_built",
            "aux_state": (
                "IF(is_built, null, named_struct('leader', aux_state.leader, 'epoch', aux_state.epoch, 'next', round +"
                " IF(source IS NOT NULL AND feed.storage.from_leader AND asked IS NOT NULL, 1, feed.storage.backoff_rounds),"
                " 'asked', asked))"
            ),
            "tier_counts": counted(
                "tier_counts",
                {
                    "aux_state_requests": "IF(source IS NULL, 0, 1)",
                    "aux_state_errors": "IF(source IS NULL OR is_built OR feed.storage.from_leader, 0, 1)",
                    "aux_state_downloads": (
                        "IF(is_built AND NOT feed.storage.from_leader AND start.start_offset > start.log_start, 1, 0)"
                    ),
                },
            ),
        },
    ]
    return decided("building", "builds AND round >= aux_state.next", steps, _OUTPUTS | unchanged(*_FACTS))


@built_once
def _apply(rules: RunRules) -> Step:
    return applied("building", _OUTPUTS)
