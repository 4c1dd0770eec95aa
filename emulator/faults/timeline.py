"""What the faults of a scenario say of each broker, round by round, as few segments.

Definitions: docs/kafka_rounds.md, "What the faults say of a broker". What is said changes only where a fault or the
controller comes or goes, one round later, and where a session ends; the cost is that of those rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from emulator.faults.broker_state import broker_states
from emulator.faults.kinds import read_fault_rows
from emulator.faults.steps import Steps, one_round_later, sweep, walk
from emulator.faults.touching import UNTOUCHED, Cause, StalePartition, Touching, grouped_faults

NO_FAULT = -1


@dataclass(frozen=True, slots=True)
class BrokerSegment:
    """What the faults say of one broker in the rounds [from_round, to_round).

    Markers (waking, fence_now, unfence_now, returning, restarted, unclean_restart, clean_stop, power_loss, disk_loss)
    are true only in segments of one round. `stopped_cleanly`: offline after a controlled shutdown that nothing spoilt.
    `fenced` is the state after this round's fencing and unfencing. `island`: the rack with which it is cut off, down or
    not, if no other isolation holds on it: two of one island reach each other. `drop_to`: sorted brokers that this broker's
    messages do not reach as a link is cut. `slow_to`: (peer, bytes per second) for messages to the peer, sorted by peer;
    `far_to`: likewise (peer, microseconds of a fetch's round trip). `stale` and `stale_before`: what stale_metadata covers in
    this round and in the one before, sorted. `moment`: of an offline broker that a fault killed, when in its first offline
    round it stopped (FaultRow.moment); else None. `cause`: fault_id of the strongest fault in force, else of the last that
    was, -1 before the first.
    """

    from_round: int
    to_round: int
    offline: bool
    paused: bool
    isolated: bool
    waking: bool
    fenced: bool
    fence_now: bool
    unfence_now: bool
    returning: bool
    restarted: bool
    unclean_restart: bool
    stopped_cleanly: bool
    clean_stop: bool
    power_loss: bool
    disk_loss: bool
    clients_cut: bool
    island: str | None
    moment: int | None
    controller_up: bool
    drop_to: tuple[int, ...]
    slow_to: tuple[tuple[int, int], ...]
    far_to: tuple[tuple[int, int], ...]
    disk_bytes_per_second: int | None
    stale: tuple[StalePartition, ...]
    stale_before: tuple[StalePartition, ...]
    cause: int

    @property
    def is_with_rack(self) -> bool:
        """Whether it is on the island of its rack."""
        return self.island is not None


def broker_timelines(
    faults: pa.Table,
    brokers: Sequence[tuple[int, str | None]],
    rounds: int,
    session_timeout_rounds: int,
) -> dict[int, list[BrokerSegment]]:
    """Cuts [0, rounds) of every broker into segments in which what the faults say of it does not change.

    `faults`: one scenario's rows (kinds.FAULT_SCHEMA), row index = fault_id; `brokers`: (id, rack). Returns broker
    -> segments that cover [0, rounds) without gap or overlap, none if rounds is 0. Neighbours differ, unless the
    same marker is set in two rounds running (two disk losses). Raises ValueError for what read_fault_rows refuses, for
    an unknown broker or peer, and for session_timeout_rounds < 1.

    An isolation does not show in the `drop_to` of all other brokers, so that the cost is that of the faults alone: what an
    `isolated` broker sends or is sent is dropped by who reads this, but for messages within an `island`. A slow_link without
    a peer touches every broker.

    Choices where the definitions leave one:
    * A controlled shutdown is overridden by a stronger fault that starts in the same round: no clean stop, no fence.
      A pause or isolation that starts in the same round is weaker and prevents neither; one that held in the round
      before prevents the fence, not the clean stop.
    * A broker that was fenced before it died, or since, restarts as soon as no fault holds and the controller is up.
      A broker that is heard again while the controller is down stays as it was, fenced or not.
    * `isolated` and `drop_to` leave out offline brokers; `clients_cut` follows its faults alone.
    * Of several faults that kill a broker in one round the earliest moment is when it stops; one without is before all others.
    * link_cut and slow_link are causes at both of their ends, isolation at its own brokers only, controller_loss at
      every broker. slow_link and slow_disk tie. Remote-storage kinds and open_transaction say nothing of a broker.
    * stale_metadata without a broker covers every broker. Faults of a rack without brokers touch none. slow_link
      without a peer slows all links of its broker. A link of a broker to itself is none.
    """
    if session_timeout_rounds < 1:
        raise ValueError(f"session_timeout_rounds must be at least 1, not {session_timeout_rounds}")
    if rounds <= 0:
        return {broker: [] for broker, _ in brokers}
    grouped = grouped_faults(read_fault_rows(faults, rounds), brokers)
    controller_loss = sweep(grouped.controller_loss, _first_row)
    controller_up = sweep(grouped.controller_loss, lambda rows: not rows)
    stale_everywhere = sweep(grouped.everywhere.stale, _distinct)
    of_nobody = broker_states((), controller_up, rounds, session_timeout_rounds)

    def timeline(touching: Touching) -> list[BrokerSegment]:
        own = touching.own
        state = broker_states(own, controller_up, rounds, session_timeout_rounds) if own else of_nobody
        stale = stale_everywhere
        if touching.stale:
            stale = sweep(touching.stale + grouped.everywhere.stale, _distinct)
        functions: list[Steps[Any]] = [
            state,
            controller_loss,
            sweep(touching.cuts, lambda peers: tuple(sorted(set(peers)))),
            sweep(touching.slow, lambda links: _by_peer(links, min)),
            sweep(touching.far, lambda links: _by_peer(links, max)),
            sweep(touching.disk, lambda rates: min(rates, default=None)),
            stale,
            one_round_later(stale, ()),
            sweep(touching.causes + grouped.everywhere.causes, _strongest),
        ]
        return _segments(functions, rounds)

    # Brokers that no fault names have one list in common.
    return dict.fromkeys((broker for broker, _ in brokers), timeline(UNTOUCHED)) | {
        broker: timeline(touching) for broker, touching in grouped.of_broker.items()
    }


def _first_row(rows: Collection[int]) -> int:
    return min(rows, default=NO_FAULT)


def _strongest(causes: Collection[Cause]) -> int:
    return min(causes)[1] if causes else NO_FAULT


def _distinct(covered: Collection[StalePartition]) -> tuple[StalePartition, ...]:
    return tuple(sorted(set(covered), key=lambda of: (of[0] or "", *(-1 if n is None else n for n in of[1:]))))


def _by_peer(links: Collection[tuple[int, int]], worse: Callable[[int, int], int]) -> tuple[tuple[int, int], ...]:
    worst: dict[int, tuple[int, int]] = {}
    for link in links:
        peer, number = link
        if peer not in worst or worse(number, worst[peer][1]) != worst[peer][1]:
            worst[peer] = link
    return tuple(sorted(worst.values()))


def _segments(functions: Sequence[Steps[Any]], rounds: int) -> list[BrokerSegment]:
    segments: list[BrokerSegment] = []
    facts: tuple[Any, ...] = ()
    begun = 0
    cause = NO_FAULT
    for round_, values in walk(functions, rounds):
        state, controller_loss, drop_to, slow, far, disk, stale, stale_before, strongest = values
        if strongest != NO_FAULT:
            cause = strongest
        elif controller_loss != NO_FAULT:
            cause = controller_loss
        facts_now = (*state, controller_loss == NO_FAULT, drop_to, slow, far, disk, stale, stale_before, cause)
        if facts_now != facts or state.has_marker:
            if facts:
                segments.append(BrokerSegment(begun, round_, *facts))
            facts, begun = facts_now, round_
    segments.append(BrokerSegment(begun, rounds, *facts))
    return segments
