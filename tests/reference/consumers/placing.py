"""Where a reader is, and whom it asks: start, reset, the check against a new leader (KIP-320), followers (KIP-392)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..log import UNDEFINED
from ..partition import Leadership, Replica
from .reader import Reader
from .settings import Row
from .site import Site, serving_leader


def is_placed(site: Site, reader: Reader, row: Row, leadership: Leadership, leader: Replica) -> bool:
    """Start, reset and check a position. Returns whether this was the round's answer."""
    known = (leadership.broker, leadership.epoch)
    is_new = reader.leader != known
    if is_new:
        reader.leader, reader.replica, reader.in_hand = known, None, None
    if reader.position is None or reader.reset_cause is not None:
        _find_position(site, reader, row, leadership, leader)
        return True
    if not is_new or reader.epoch is None or not site.rules.check_epoch:
        return False
    end = leader.log.cache.end_offset_for(reader.epoch, leader.log.leo)
    if end == UNDEFINED:
        _reset(site, reader, row, leadership, leader, "epoch_unknown")
        return True
    if end[1] >= reader.position:
        reader.misled = reader.misled or end[0] != reader.epoch
        return False
    reader.end_stretch()
    reader.counts["truncations"] += 1
    reader.lose(end[1], site.now, "truncated")
    reader.answer = "truncated"
    if row.reset == "none":
        reader.stopped = "truncated"
    else:
        reader.position, reader.epoch = end[1], end[0]
    return True


def _reset(site: Site, reader: Reader, row: Row, leadership: Leadership, leader: Replica, cause: str) -> None:
    """The position can't be read: find another one, or give up."""
    reader.reset_cause, reader.answer = cause, cause
    reader.refused = (site.now, cause, reader.position or 0)
    if row.reset == "none":
        reader.end_stretch()
        reader.stopped = cause
    else:
        _find_position(site, reader, row, leadership, leader)


def _find_position(site: Site, reader: Reader, row: Row, leadership: Leadership, leader: Replica) -> None:
    """Ask T for its log start or its end; right after its election it may not know the end yet."""
    starts_at = row.starts_at if reader.position is None else row.reset
    if starts_at == "none":
        reader.stopped = reader.answer = "no_position"
        return
    if starts_at == "latest":
        if leader.hw < leadership.start_offset:
            reader.wait("offset_unavailable", None, site.now, site.committed_end())
            return
        found = site.end_of(leader, row)
    else:
        found = leader.log.log_start if starts_at == "earliest" else int(starts_at)
    if reader.position != found:
        reader.end_stretch()
    if reader.position is None:
        reader.start_at(found)
        return
    old, cause = reader.position, reader.reset_cause
    reader.reset_to(found, leader.log.leo, site.now)
    if found == old and cause is not None:
        reader.wait(cause, leader.broker, site.now, site.committed_end())


def whom_to_ask(site: Site, reader: Reader, row: Row, serving: tuple[Leadership, Replica] | None) -> Replica | None:
    """B, or None if there is no answer with records in this round."""
    partition, now = site.partition, site.now
    assert reader.leader is not None and reader.position is not None
    if reader.replica in (None, reader.leader[0]):
        if serving is None:
            reader.wait("leaderless", None, now, site.committed_end())
            return None
        if reader.replica is None and names_follower(site, reader, row, *serving):
            return None
        return serving[1]
    follower = partition.replicas.get(reader.replica) if reader.replica is not None else None
    if follower is None or not partition.status(follower.broker).running or partition.status(follower.broker).clients_cut:
        leave_follower(site, reader, row, "follower_away")
        return None
    if follower.believed_epoch != reader.leader[1]:
        leave_follower(site, reader, row, "follower_epoch")
        return None
    return follower


def _max_age_rounds(site: Site, row: Row) -> int:
    return max(1, int(row.setting("metadata.max.age.ms")) // site.partition.settings.round_ms)


def leave_follower(site: Site, reader: Reader, row: Row, cause: str) -> None:
    """Ask the leader from the next round on, and nobody else for a while."""
    assert reader.leader is not None
    reader.wait(cause, reader.replica, site.now, site.committed_end())
    reader.replica, reader.replica_until = reader.leader[0], site.now + _max_age_rounds(site, row)


def names_follower(site: Site, reader: Reader, row: Row, leadership: Leadership, leader: Replica) -> bool:
    """Whether T's answer is the name of a follower, which the reader asks from now on."""
    partition = site.partition
    if row.rack is None or not partition.settings.followers_serve:
        return False
    racks: Mapping[int, Any] = partition.case["racks"]
    if racks.get(leader.broker) == row.rack:
        return False
    assert reader.position is not None
    in_rack = []
    for broker in partition.isr_known_to(leadership) - {leader.broker}:
        progress = leadership.progress[broker]
        has_it = (progress.remote_leo or 0) >= reader.position >= site.log_starts.get(broker, 0)
        if racks.get(broker) == row.rack and has_it:
            caught_up = -1 if progress.caught_up_round is None else progress.caught_up_round
            in_rack.append((progress.remote_leo or 0, caught_up, broker))
    if not in_rack:
        return False
    reader.end_stretch()
    reader.replica, reader.replica_until = max(in_rack)[2], site.now + 1 + _max_age_rounds(site, row)
    reader.answer = "replica_named"
    return True


def out_of_range(site: Site, reader: Reader, row: Row, replica: Replica, cause: str) -> None:
    assert reader.leader is not None
    serving = serving_leader(site.partition)
    if replica.broker == reader.leader[0] or not site.rules.follower_keeps_position:
        if serving is not None:
            _reset(site, reader, row, *serving, cause)
    else:
        leave_follower(site, reader, row, "follower_out_of_range")
