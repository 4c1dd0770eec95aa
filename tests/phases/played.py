"""Plays a round of a partition up to the end of one of its phases, and says what is to be seen then.

The round is emulator/rounds/kafka/play_round.py itself, in ordinary Python. A phase is over when the first function behind it
that every round calls is about to be called. The phases before it are played too: what a fixture states is the round's start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from emulator.rounds.kafka import join_and_shrink, play_round, respond
from emulator.rounds.kafka.advance_high_watermark import advance_high_watermark
from emulator.rounds.kafka.constants import NEVER, NO_EPOCH, UNKNOWN
from emulator.rounds.kafka.event_kinds import EVENT_KINDS
from emulator.rounds.kafka.fence_and_elect import is_ready
from emulator.rounds.kafka.tell import end_refusals
from emulator.rounds.lists import every
from emulator.rounds.slots import MAX_SLOTS, has, slot_at
from tests.phases.partitions import Loaded

OVER_BEFORE = {
    "take_inputs": "note_high_watermarks",
    "fence_and_elect": "is_ready",
    "append": "fetch",
    "fetch": "mark_superseded",
    "join_and_shrink": "respond",
    "advance_high_watermark": "respond",
    "respond": "learn",
    "learn": "delete_segments",
    "checkpoint_and_flush": "check_invariants",
    "count_outcomes": "end_round",
}
"""Phase, a function of play_round.py and a file of fixtures -> the function there before whose call it is over.

fence_and_elect is over with know_isr, append with ask_for_recovery. advance_high_watermark is called by join_and_shrink, twice,
so that both are over at once.
"""

Seen = dict[str, Any]


class PhaseOverError(Exception):
    """The round is played as far as it is to be."""


@dataclass
class Watched:
    """What functions within a round hand over to each other: masks of slots, and records that each slot cut off."""

    joins: int = 0
    shrinks: int = 0
    holds: int = 0
    truncated: dict[int, int] = field(default_factory=dict)


def play_until_over(phase: str, loaded: Loaded) -> Watched:
    """Play the round to the end of a phase."""
    watched = Watched()
    whole: Callable[..., None] = getattr(play_round.play_round, "py_func", play_round.play_round)
    with _watching(watched), mock.patch.object(play_round, OVER_BEFORE[phase], side_effect=PhaseOverError):
        try:
            whole(loaded.lists, None, None, loaded.inputs, loaded.part, loaded.replicas)
        except PhaseOverError:
            return watched
    raise AssertionError(f"{OVER_BEFORE[phase]} is not called in this round")


@contextmanager
def _watching(watched: Watched) -> Iterator[None]:
    """Note what the functions that judge the ISR find, and what answers cut."""
    joiners_of, laggards_of = join_and_shrink.joiners_of, join_and_shrink.laggards_of
    take_answer = respond.take_answer

    def find_joiners(*given: Any) -> int:
        watched.joins = joiners_of(*given)
        return watched.joins

    def find_laggards(*given: Any) -> int:
        watched.shrinks = laggards_of(*given)
        return watched.shrinks

    def advance_over(part: Any, replicas: Any, settings: Any, rules: Any, isr_joined: int, held: int, *rest: Any) -> None:
        watched.holds = held
        advance_high_watermark(part, replicas, settings, rules, isr_joined, held, *rest)

    def take(lists: Any, inputs: Any, part: Any, replicas: Any, slot: int, rules: Any) -> None:
        before = int(part.truncated)
        take_answer(lists, inputs, part, replicas, slot, rules)
        watched.truncated[slot] = int(part.truncated) - before

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(join_and_shrink, "joiners_of", find_joiners))
        stack.enter_context(mock.patch.object(join_and_shrink, "laggards_of", find_laggards))
        stack.enter_context(mock.patch.object(join_and_shrink, "advance_high_watermark", advance_over))
        stack.enter_context(mock.patch.object(respond, "take_answer", take))
        yield


def seen_of_partition(loaded: Loaded) -> Seen:
    """What a fixture may state of a partition; its counters were 0 before the round."""
    part: Any = loaded.part
    masks = ("isr", "elr", "last_known_elr", "known_isr", "pending_joins", "pending_shrinks")
    counters = (
        "leader_hw", "elections", "unclean_elections", "isr_shrinks", "isr_expands",
        "leaderless_rounds", "under_min_isr_rounds", "under_replicated_rounds",
    )  # fmt: skip
    return {
        "leader": int(part.leader),
        "leader_epoch": int(part.epoch),
        "client_leader": int(part.client_leader),
        "client_epoch": int(part.client_epoch),
        "ready": bool(is_ready(part, loaded.replicas)),
        "unclean": bool(part.unclean_elections),
        **{name: [slot for slot in range(part.slots) if has(part[name], slot)] for name in masks},
        "replicas": [slot for place in range(MAX_SLOTS) if (slot := slot_at(part.order, place)) >= 0],
        "answers": [
            {"slot": slot, "epoch": int(replica.recovery_epoch), "leo": int(replica.recovery_leo)}
            for slot in range(part.slots)
            if (replica := loaded.replicas[slot]).recovery_leo != UNKNOWN
        ],
        **{name: int(part[name]) for name in counters},
    }


def seen_of_replica(loaded: Loaded, watched: Watched, slot: int) -> Seen:
    """What a fixture may state of a replica. T alone appends and refuses, so that these are its partition's."""
    part: Any = loaded.part
    replica: Any = loaded.replicas[slot]
    is_t = slot == part.client_leader
    epochs = [loaded.lists.epochs[at] for at in every(replica.epochs)]
    return {
        "leads": bool(replica.leading_epoch != NO_EPOCH),
        "believed_leader": int(replica.believed_leader),
        "believed_epoch": int(replica.believed_epoch),
        **{name: int(replica[name]) for name in ("log_start", "leo", "hw", "checkpoint", "flushed")},
        "epochs": [{"epoch": int(entry.epoch), "start_offset": int(entry.start_offset)} for entry in epochs],
        "segment_base": int(replica.active_base),
        "segment_bytes": int(replica.active_bytes),
        "remote_leo": _known(replica.remote_leo, UNKNOWN),
        "caught_up": _known(replica.caught_up, NEVER),
        "previous_round": _known(replica.noted_round, NEVER),
        "previous_leader_leo": _known(replica.noted_leader_leo, UNKNOWN),
        "noted": bool(has(part.noted, slot)),
        "joins": bool(has(watched.joins, slot)),
        "shrinks": bool(has(watched.shrinks, slot)),
        "holds": bool(has(watched.holds, slot)),
        "appended": int(part.appended) if is_t else 0,
        "refused": int(part.refused) if is_t else 0,
        "truncated": watched.truncated.get(slot, 0),
        "events": _events_of(loaded, int(replica.broker)),
    }


def _events_of(loaded: Loaded, broker: int) -> list[str]:
    """The kinds of events told of a broker; refusals are told when they end (tell.py), as they do where the run does."""
    end_refusals(loaded.lists, loaded.part, loaded.replicas)
    events = loaded.lists.events
    return [EVENT_KINDS[events[at].kind] for at in every(loaded.lists.filled[0].events) if events[at].broker == broker]


def _known(value: int, unknown: int) -> int | None:
    return None if value == unknown else int(value)
