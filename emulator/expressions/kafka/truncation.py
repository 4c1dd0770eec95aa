"""Cutting a log: where the protocol generations say, and what a cut does to it. Steps for rare expressions."""

from __future__ import annotations

from emulator.expressions.columns import Step
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import cut_place, cut_segments, local_start
from emulator.expressions.log import (
    batch_start,
    bytes_at,
    end_offset_for_epoch,
    epoch_cache,
    floor_epoch,
    last_epoch,
    truncate_from_end,
)

CUT_FACTS = ("cut_from", "cut_to", "cut_records", "cut_epoch")
"""What a cut tells the later phases: old and new LEO (null: no cut), records cut, the epoch believed in then."""


def cut_to_high_watermark(guard: str, epoch: str, rules: RunRules) -> list[Step]:
    """Cut the log to the replica's own high watermark where the guard holds, whole batches, as before KIP-101.

    `epoch`: SQL text of the leader epoch that it follows from now on.
    """
    return [
        {"cut_wish": f"IF({guard}, least(leo, hw), null)"},
        {"cut_to": f"IF(cut_wish IS NULL, null, {batch_start('log', 'cut_wish')})"},
        *cut_log(epoch, rules),
    ]


def cut_log(epoch: str, rules: RunRules) -> list[Step]:
    """What a cut to `cut_to` (null: no cut) does to a log, its bytes, its segments and the high watermark."""
    place, log = {}, truncate_from_end("log", "cut_to")
    segment = {
        "segment_base_offset": "least(segment_base_offset, coalesce(cut_to, segment_base_offset))",
        "segment_bytes": (
            "CASE WHEN cut_to IS NULL THEN segment_bytes WHEN cut_to <= segment_base_offset THEN 0L"
            " ELSE greatest(segment_bytes - (log_bytes - cut_bytes), 0L) END"
        ),
    }
    log_start = "least(log_start_offset, coalesce(cut_to, log_start_offset))"
    if rules.segments:
        log_start = f"IF(coalesce(cut_place < 0, false), cut_to, {log_start})"
        place, segment = cut_place("cut_to", rules), cut_segments("cut_to", segment)
        log = f"IF(coalesce(cut_place < 0, false), filter(log, x -> false), {log})"
    return [
        {"cut_bytes": f"IF(cut_to < leo, {bytes_at('log', 'cut_to')}, log_bytes)", **place},
        {
            "cut_from": "IF(cut_to < leo, leo, null)",
            "cut_epoch": epoch,
            "cut_records": f"IF(cut_to < leo, leo - least(greatest(cut_to, {local_start(rules)}), leo), 0L)",
            "log": f"IF(cut_to IS NULL, log, {log})",
            "leo": "coalesce(cut_to, leo)",
            "hw": "least(hw, coalesce(cut_to, hw))",
            "log_bytes": "cut_bytes",
            "log_start_offset": log_start,
            **segment,
            "flushed_offset": "least(flushed_offset, coalesce(cut_to, flushed_offset))",
        },
    ]


def answered_question(rules: RunRules) -> list[Step]:
    """What a follower that asked for the end of its last epoch was answered, and where it cuts (`answer_cut`).

    KIP-101: the start of the leader's next higher epoch, or its LEO. KIP-279: also which epoch it is about; without that
    epoch in its own cache the follower cuts to the end of its largest smaller one and asks again (`asks_again`).
    Undefined, or an empty cache: its high watermark. Source: LeaderEpochFileCache.endOffsetFor, KIP-101, KIP-279.
    """
    end = f"greatest({end_offset_for_epoch('its_cache', 'source.leo_at_start', 'asked')}, source.log_start_offset)"
    own_end = f"greatest({end_offset_for_epoch('own_cache', 'leo', 'common')}, log_start_offset)"
    smaller = "IF(exists(own_cache, x -> x.epoch < common), own_end, log_start_offset)"
    kip279 = f"IF(exists(own_cache, x -> x.epoch = common), least(leo, end, own_end), {smaller})"
    return [
        {
            "own_cache": epoch_cache("log", "log_start_offset"),
            "its_cache": epoch_cache("source.log_at_start", "source.log_start_offset"),
        },
        {"asked": last_epoch("own_cache")},
        {
            "undefined": f"asked IS NULL OR size(its_cache) = 0 OR asked > {last_epoch('its_cache')}",
            "common": floor_epoch("its_cache", "asked"),
            "end": end,
        },
        {"own_end": own_end},
        {
            "answer_cut": f"IF(undefined, least(hw, leo), {rules.choose('answers_epoch', kip279, 'least(leo, end)')})",
            "asks_again": (
                f"{rules.holds('answers_epoch')} AND NOT undefined AND NOT exists(own_cache, x -> x.epoch = common)"
                f" AND {smaller} > log_start_offset"
            ),
        },
    ]
