"""Step 11: consumer groups read, each reader from the replica that it asks (docs/consumer_rounds.md)."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, applied, built_once, decided, let, unchanged
from emulator.expressions.kafka.reading import decide
from emulator.expressions.kafka.reading.consume import Broker, consumed
from emulator.expressions.kafka.reading.ordinary import after_ordinary
from emulator.expressions.kafka.reading.types import CACHED_INDEX, WANT, Asked
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import local_start
from emulator.expressions.kafka.tier.copying import LAST_STABLE_OFFSET
from emulator.expressions.kafka.tier.lineage import epoch_of
from emulator.expressions.kafka.tier.metadata import lookup
from emulator.expressions.kafka.tier.types import REMOTE_SEGMENT, segment_of
from emulator.expressions.log import epoch_cache
from emulator.expressions.slots import has, mine

IS_ASKED_FIRST = "slot = greatest(client_leader, 0)"
"""Whether readers ask this row unless they are told of another one: the client leader's, the first where there never was one."""

NO_INDEXES = f"CAST(array() AS ARRAY<{CACHED_INDEX}>)"


def serve_consumers(state: DataFrame, rules: RunRules) -> DataFrame:
    """Every row takes the readers that ask it, of all that the look of this round saw, and answers them.

    Who is asked follows from what all rows know (decide.asks), so no reader is lost, and none is doubled. In an ordinary round,
    in which all of a row's readers get committed records of the last run from memory or nothing (ordinary.py), nothing else is
    worked out.
    """
    if not rules.consumers:
        return state
    return state.withColumns(_decide(rules)).withColumns(_apply(rules))


def own_readers() -> str:
    """SQL text: the row's readers with the places of their groups, to be seen by all rows."""
    return "transform(readers, (r, i) -> named_struct('group', get(reader_groups, i), 'reader', r))"


def own_progress() -> str:
    """SQL text: what the leader knows of this follower (types.FOLLOWERS), its log start as of the round's start."""
    fields = {
        "slot": "slot",
        "broker": "site.broker",
        "remote_leo": "remote_leo",
        "caught_up_round": "caught_up_round",
        "log_start_offset": "log_start_before",
    }
    row = ", ".join(f"'{name}', {text}" for name, text in fields.items())
    return (
        f"CASE WHEN feed.consumers.followers_serve AND {mine('assigned')} AND slot != client_leader THEN named_struct({row}) END"
    )


_OUTPUTS = unchanged("readers", "reader_groups", "cold_below", "cached_indexes")


@built_once
def _decide(rules: RunRules) -> Step:
    """`serving`, null where no group ever reads the partition."""
    steps = [_who_asks(), _what_they_want(), _memory(), _facts(rules), _ordinary(rules), _others(rules), _taken()]
    return decided("serving", "readers IS NOT NULL", steps, _OUTPUTS)


@built_once
def _apply(rules: RunRules) -> Step:
    return applied("serving", _OUTPUTS)


def _who_asks() -> Step:
    asked = decide.asks("client_leader", "client_epoch", "round")
    is_asked = f"IF(client_leader < 0, slot = 0, {let('r', 'x.reader', asked)} = slot)"
    return {"asking": f"filter(array_sort(flatten(all_readers)), x -> {is_asked})"}


def _what_they_want() -> Step:
    """What the group wants, with its rack as a mask of the partition's slots (types.WANT)."""
    in_rack = "IF(w.rack IS NULL, null, get(site.rack_masks, w.rack))"
    fields = ("start", "reset", "reads_committed", "records_per_round", "fetch_bytes", "max_age_rounds")
    values = {
        **{name: f"w.{name}" for name in fields},
        "in_rack": in_rack,
        "serves_rack": f"IF(feed.consumers.followers_serve, coalesce({in_rack}, 0), 0)",
    }
    want = "CAST(named_struct(" + ", ".join(f"'{name}', {text}" for name, text in values.items()) + f") AS {WANT})"
    of_group = "get(feed.consumers.wants, x.group)"
    return {
        "asking": "transform(asking, x -> x.reader)",
        "groups": "transform(asking, x -> x.group)",
        "wants": f"transform(asking, x -> {let('w', of_group, f'IF(w IS NULL, null, {want})')})",
    }


def _memory() -> Step:
    """What the broker loses: with its power what was in memory, with its disk the indexes; those of a partition that it drops."""
    drops = f"{mine('world.disk_loss')} OR NOT {mine('assigned')} OR coalesce(is_deleted OR NOT feed.storage.tiered, false)"
    return {
        "cold_below": f"IF({mine('(world.power_loss | world.disk_loss) & assigned')}, leo, cold_below)",
        "cached_indexes": f"IF({drops}, {NO_INDEXES}, cached_indexes)",
    }


def asked_row(rules: RunRules) -> Asked:
    """This row as the replica that is asked, at the end of a round; `epochs` and `last_stable_offset` are steps of it."""
    leader_serves = f"({has('world.running & assigned & ~world.clients_cut', 'client_leader')} AND leader_ready)"
    segment = f"CAST(null AS {REMOTE_SEGMENT})"
    if rules.tiers:
        found = let(
            "e_",
            epoch_of("epochs", "r.position"),
            let(
                "f_id_",
                lookup("metadata_index", "e_", "r.position", rules.holds("lookup_by_epoch")),
                segment_of("remote_segments", "f_id_"),
            ),
        )
        segment = f"IF(segments IS NULL OR r.position IS NULL, null, {found})"
    return Asked(
        round="round",
        slot="slot",
        is_lead=f"({IS_ASKED_FIRST})",
        serves=f"IF({IS_ASKED_FIRST}, {leader_serves}, {mine('world.running & assigned & ~world.clients_cut')})",
        client_leader="client_leader",
        client_epoch="client_epoch",
        leader_epoch_start="leader_epoch_start",
        leader_hw="leader_hw",
        believed_epoch="believed_epoch",
        leo="leo",
        hw="hw",
        last_stable_offset="last_stable_offset",
        log="log",
        log_bytes="log_bytes",
        epochs="epochs",
        log_start="log_start_offset",
        local_log_start="local_from",
        is_tiered="coalesce(feed.storage.tiered, false)",
        is_deleted="coalesce(is_deleted, false)",
        cold_below="cold_below",
        page_cache_bytes="site.page_cache_bytes",
        followers="followers",
        isr="leader_isr",
        segment=segment,
        store_up="coalesce(feed.storage.store_up, true)",
        lists_metadata="coalesce(feed.storage.by_list, false)",
        store_bytes="feed.consumers.store_bytes",
    )


def broker_of_row() -> Broker:
    """What the row's broker gives remote reads of this partition: to each what the broker's other ones leave it."""

    def own(setting: str, of_all: str) -> str:
        return f"coalesce(get(world.{setting}, slot), feed.consumers.{of_all})"

    return Broker(
        reads=f"({own('reader_threads', 'threads')} * CAST(feed.consumers.reads_per_thread AS BIGINT))",
        queue=own("reader_queue", "queue"),
        quota_bytes=own("read_quota", "quota_bytes"),
        share_bytes="get(read_shares, get(groups, i_))",
        cache="cached_indexes",
        cache_bytes=own("index_cache_bytes", "index_cache_bytes"),
        index_interval_bytes="feed.consumers.index_interval_bytes",
    )


def _facts(rules: RunRules) -> Step:
    stable = LAST_STABLE_OFFSET if rules.tiers else "hw"
    return {"local_from": local_start(rules), "last_stable_offset": stable}


def _ordinary(rules: RunRules) -> Step:
    """The round of the row's readers if it is an ordinary one for all of them."""
    return {"ordinary": f"IF(size(asking) = 0, asking, {after_ordinary('asking', 'wants', asked_row(rules))})"}


def _others(rules: RunRules) -> Step:
    """The round of the others."""
    row = replace(asked_row(rules), segment="get(segments_read, i_)")
    served = let(
        "segments_read", f"transform(asking, r -> {asked_row(rules).segment})", consumed("asking", "wants", row, broker_of_row())
    )
    return {"served_readers": f"IF(ordinary IS NULL, {let('epochs', epoch_cache('log', 'log_start_offset'), served)}, null)"}


def _taken() -> Step:
    return {
        "readers": "coalesce(ordinary, served_readers.readers)",
        "reader_groups": "groups",
        "cached_indexes": "coalesce(served_readers.cache, cached_indexes)",
    }
