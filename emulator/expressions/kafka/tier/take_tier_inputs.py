"""Step 1 of remote storage: it is turned off, processes forget their tasks, metadata is read, a topic is deleted."""

from __future__ import annotations

from typing import cast

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from emulator.expressions.columns import Step, applied, built_once, decided, unchanged
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import FIRST_BASE
from emulator.expressions.kafka.state import KAFKA_STATE, WORLD
from emulator.expressions.kafka.tier.metadata import learned
from emulator.expressions.kafka.tier.types import DELETE_FINISHED, empty_index
from emulator.expressions.kafka.tier.writes import AT_INPUTS, GAVE_UP, NO_WRITES, left_bytes, task, write
from emulator.expressions.log import truncate_from_start
from emulator.expressions.slots import mine

USABLE = f"IF(feed.storage.by_list, feed.storage.store_up, NOT {mine('world.isolated')})"
"""Whether the broker can write metadata, and ask for it: the store's own only while it is up."""

RUNS = mine("world.running & assigned")


def take_tier_inputs(state: DataFrame, rules: RunRules) -> DataFrame:
    """Take what faults, settings and commands say of remote storage (docs/tiered_rounds.md, "The order of a round", 1).

    A broker whose process ended, or that is no replica any more, knows nothing of its tasks, and nobody goes on with its copy.
    Running brokers read the metadata that others wrote in the rounds before, as far as it got to them.
    """
    if not rules.tiers:
        return state
    return state.withColumns(_decide(rules)).withColumns(_apply(rules))


_OUTPUTS = {
    **unchanged("was_tiered", "is_deleted", "remote_events", "remote_from", "leaving", "highest_remote", "duty", "duty_epoch"),
    **unchanged("copied", "knows_log_start", "copy_task", "expiry_task", "follower_task", "copy_under_way", "aux_state"),
    **unchanged("metadata_read", "metadata_index", "segments", "log", "log_start_offset", "hw", "flushed_offset"),
    **unchanged(
        "segment_base_offset", "segment_bytes", "is_leader", "leader", "isr", "elr", "assigned", "target_order", "adding"
    ),
    **unchanged("world"),
}
_FACTS = ("writes", "goes_away")
"""What `tier_inputs` tells the later phases: its writes, and that the topic was deleted."""

_LAG = "coalesce(get(world.metadata_lag, slot), 0)"
READS_BEFORE = (
    f"IF({RUNS} AND {USABLE}, CASE WHEN feed.storage.by_list THEN round WHEN {_LAG} < 0 THEN null"
    f" ELSE round - greatest(feed.storage.metadata_lag, {_LAG}) END, null)"
)
_FORGETS = f"(NOT {mine('assigned')} OR {mine('world.offline')})"
_KNOWS_SOMETHING = "(duty != 0 OR highest_remote >= 0 OR copy_under_way IS NOT NULL OR aux_state IS NOT NULL)"


@built_once
def _decide(rules: RunRules) -> Step:
    reads = f"exists(remote_events, e -> e.slot != slot AND e.round >= metadata_read AND e.round < {READS_BEFORE})"
    guard = (
        f"segments IS NOT NULL AND NOT is_deleted AND (feed.storage.tiered != was_tiered OR ({_FORGETS} AND {_KNOWS_SOMETHING})"
        f" OR feed.storage.deletes_topic OR coalesce({reads}, false))"
    )
    steps = [_facts(), _mark(), _raise_log_start(), _forget(), _read(rules), _delete()]
    return decided("tier_inputs", f"coalesce({guard}, false)", steps, _OUTPUTS | unchanged(*_FACTS))


@built_once
def _apply(rules: RunRules) -> Step:
    return applied("tier_inputs", _OUTPUTS)


def _facts() -> Step:
    return {
        "turned_off": "was_tiered AND NOT feed.storage.tiered",
        "was_tiered": "feed.storage.tiered",
        "goes_away": "feed.storage.deletes_topic",
        "reads_before": READS_BEFORE,
        "forgets": _FORGETS,
    }


def _mark() -> Step:
    """All of the partition's remote data has to go, and nobody knows of it any more."""
    marks = "(turned_off OR goes_away)"
    left = f"filter(remote_segments, s -> s.id >= remote_from AND s.state < {DELETE_FINISHED})"
    leaving = f"named_struct('segments', transform({left}, s -> s.id), 'next', round, 'failures', 0)"
    return {
        "leaving": f"IF({marks} AND exists(remote_segments, s -> s.state < {DELETE_FINISHED}), {leaving}, leaving)",
        "remote_from": f"IF({marks}, size(remote_segments), remote_from)",
        "remote_events": f"IF({marks}, filter(remote_events, e -> false), remote_events)",
        "metadata_index": f"IF({marks}, {empty_index()}, metadata_index)",
        "highest_remote": f"IF({marks}, -1L, highest_remote)",
        "copied": f"IF({marks}, null, copied)",
        "raised_to": (
            f"IF(turned_off AND is_leader AND {RUNS} AND {FIRST_BASE} > log_start_offset AND {FIRST_BASE} <= hw,"
            f" {FIRST_BASE}, null)"
        ),
    }


def _raise_log_start() -> Step:
    return {
        "log": f"IF(raised_to IS NULL, log, {truncate_from_start('log', 'raised_to')})",
        "log_start_offset": "coalesce(raised_to, log_start_offset)",
    }


def _forget() -> Step:
    copy = "copy_under_way"
    moved = f"get(remote_segments, {copy}.segment).bytes - {left_bytes(copy)}"
    again = task("0", "1", "0")
    return {
        "writes": (
            f"IF(forgets AND {copy} IS NOT NULL, array({write(AT_INPUTS, '0', GAVE_UP, f'{copy}.segment', moved)}), {NO_WRITES})"
        ),
        "highest_remote": "IF(forgets, -1L, highest_remote)",
        "duty": "IF(forgets, 0, duty)",
        "duty_epoch": "IF(forgets, null, duty_epoch)",
        "copied": "IF(forgets, null, copied)",
        "knows_log_start": "knows_log_start AND NOT forgets",
        **{name: f"IF(forgets, {again}, {name})" for name in ("copy_task", "expiry_task", "follower_task")},
        "copy_under_way": "IF(forgets, null, copy_under_way)",
        "aux_state": "IF(forgets, null, aux_state)",
    }


def _read(rules: RunRules) -> Step:
    names = ("metadata_index", "remote_events", "remote_segments", "slot", "metadata_read", "reads_before")
    return {
        "metadata_index": f"IF(reads_before IS NULL, metadata_index, {learned(*names, rules.holds('check_transitions'))})",
        "metadata_read": "greatest(metadata_read, reads_before)",
    }


def _delete() -> Step:
    """The topic goes: no log, no leader, no replica; nothing reaches the partition any more."""

    def gone(value: str, name: str) -> str:
        return f"IF(goes_away, {value}, {name})"

    kind = KAFKA_STATE.never_null(cast(StructType, StructType.fromDDL(WORLD)))
    quiet = {"intType": "0", "integer": "0", "boolean": "false"}
    fields = ", ".join(
        f"'{f.name}', " + (quiet[f.dataType.typeName()] if not f.nullable else f"CAST(null AS {f.dataType.simpleString()})")
        for f in kind.fields
    )
    return {
        "is_deleted": "is_deleted OR goes_away",
        "log": gone("filter(log, x -> false)", "log"),
        "log_start_offset": gone("leo", "log_start_offset"),
        "hw": gone("leo", "hw"),
        "flushed_offset": gone("leo", "flushed_offset"),
        "segments": gone("filter(segments, s -> false)", "segments"),
        "segment_base_offset": gone("leo", "segment_base_offset"),
        "segment_bytes": gone("0L", "segment_bytes"),
        "is_leader": "is_leader AND NOT goes_away",
        "leader": gone("-1", "leader"),
        "isr": gone("0", "isr"),
        "elr": gone("0", "elr"),
        "assigned": gone("0", "assigned"),
        "target_order": gone("0L", "target_order"),
        "adding": gone("0", "adding"),
        "world": gone(f"named_struct({fields})", "world"),
    }
