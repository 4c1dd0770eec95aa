"""Remote segments at the start of a run, as the state holds them: every one went through all states before, known to all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from emulator.expressions.kafka.tier.types import BEFORE_THE_RUN, COPY_FINISHED, COPY_STARTED, DELETE_FINISHED, STATE_NAMES

Epochs = Sequence[tuple[int, int]]


def initial_remote_segments(rows: Sequence[Mapping[str, Any]], leader: int, leader_cache: Epochs) -> list[dict[str, Any]]:
    """Values of types.REMOTE_SEGMENT for one partition's rows of `initial.remote_segments`, by base offset.

    `leader`: slot of the first leader, who copied them; `leader_cache`: its epochs, which those have that give none themselves.
    """
    segments = []
    for number, row in enumerate(sorted(rows, key=lambda row: int(row["base_offset"]))):
        base, end, state = row["base_offset"], row["end_offset"], STATE_NAMES.index(row["state"])
        whole = [(e["epoch"], e["start_offset"]) for e in row["epochs"] or ()] or list(leader_cache)
        checkpoint = [entry for entry in whole if entry[1] <= end]
        before = [entry for entry in checkpoint if entry[1] <= base][-1:]
        inside = [(epoch, base) for epoch, _ in before] + [entry for entry in checkpoint if entry[1] > base]
        segments.append(
            {
                **{"id": number, "base_offset": base, "end_offset": end},
                **{"epochs": _entries(inside), "checkpoint": _entries(checkpoint), "bytes": row["bytes"], "newest_round": 0},
                **{"slot": leader, "leader_epoch": inside[-1][0] if inside else 0, "state": state},
                "was_finished": state >= COPY_FINISHED,
                "stored_bytes": 0 if state in (COPY_STARTED, DELETE_FINISHED) else row["bytes"],
                "moved_bytes": 0,
                "started_round": None,
                "copied_round": BEFORE_THE_RUN if state >= COPY_FINISHED else None,
                "deleted_round": BEFORE_THE_RUN if state == DELETE_FINISHED else None,
            }
        )
    return segments


def initial_remote_events(segments: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Values of types.REMOTE_EVENT: how the segments came to their states."""
    return [
        {"round": BEFORE_THE_RUN, "segment": segment["id"], "state": state, "slot": segment["slot"]}
        for segment in segments
        for state in range(segment["state"] + 1)
    ]


def _entries(epochs: Epochs) -> list[dict[str, int]]:
    return [{"epoch": epoch, "start_offset": start} for epoch, start in epochs]
