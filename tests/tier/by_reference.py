"""A situation as a row of texts.INPUTS, and what the reference says about it."""

from __future__ import annotations

import copy
from typing import Any

from emulator.expressions.kafka.tier import types
from emulator.inputs.storage_settings import retry_rounds
from tests.reference.tiered import copying, expiry, following, lineage
from tests.reference.tiered.invariants import served_by
from tests.reference.tiered.metadata import Event, MetadataLog, RemoteSegment, SegmentIndex
from tests.reference.tiered.partition import Copy
from tests.reference.tiered.segments import TieredLog

from .random_tiers import FOLLOWING, LEADING, NOW, ROUND_MS, STATES, Situation
from .texts import INPUTS


def as_said(name: str, seen: Any) -> Any:
    """An answer as the reference says it."""
    if name.endswith("index"):
        return _seen_index(seen)
    if name in ("without_empty_epochs", "epochs_in_range"):
        return _pairs(seen)
    if name == "told" and seen is not None and seen["is_built"]:
        return None
    return seen


def _epochs(epochs: Any) -> list[dict[str, int]]:
    return [{"epoch": epoch, "start_offset": start} for epoch, start in epochs]


def _pairs(epochs: Any) -> list[tuple[int, int]]:
    return [(entry["epoch"], entry["start_offset"]) for entry in epochs]


def _segment(one: RemoteSegment) -> dict[str, Any]:
    return {
        "id": one.id,
        "base_offset": one.base_offset,
        "end_offset": one.end_offset,
        "epochs": _epochs(one.epochs),
        "checkpoint": _epochs(one.checkpoint),
        "bytes": one.size_bytes,
        "newest_round": one.last_round,
        "slot": one.broker,
        "leader_epoch": one.leader_epoch,
        "state": None if one.state is None else STATES.index(one.state),
        "was_finished": one.was_finished,
        "stored_bytes": one.stored_bytes,
        "moved_bytes": one.moved_bytes,
        "started_round": one.started_round,
        "copied_round": one.copied_round,
        "deleted_round": one.deleted_round,
    }


def _event(event: Event) -> dict[str, int]:
    return {"round": event.round, "segment": event.segment.id, "state": STATES.index(event.state), "slot": event.broker}


def _index(index: SegmentIndex) -> dict[str, Any]:
    """An index without what does not matter: per epoch what is served and what is not, in order; states of what is there."""
    listed = {epoch: [one.id for one in of.listed()] for epoch, of in index.epochs.items() if of.listed()}
    served = {epoch: {start: one.id for start, one in of.served.items()} for epoch, of in index.epochs.items() if of.served}
    highest = {epoch: of.highest_offset for epoch, of in index.epochs.items() if of.highest_offset is not None}
    return {"listed": listed, "served": served, "highest": highest, "states": {id: index.states[id] for id in index.segments}}


def _seen_index(index: dict[str, Any]) -> dict[str, Any]:
    listed: dict[int, list[tuple[Any, ...]]] = {}
    served: dict[int, dict[int, int]] = {}
    for place, entry in enumerate(index["entries"]):
        epoch, start, status = entry["epoch"], entry["start_offset"], entry["status"]
        if status == types.SERVED:
            served.setdefault(epoch, {})[start] = entry["segment"]
        if status != types.FORGOTTEN:
            rank = (entry["base_offset"], status, place if status else start, entry["segment"])
            listed.setdefault(epoch, []).append(rank)
    return {
        "listed": {epoch: [rank[-1] for rank in sorted(ranks)] for epoch, ranks in listed.items()},
        "served": served,
        "highest": {entry["epoch"]: entry["end_offset"] for entry in index["highest"]},
        "states": {entry["segment"]: STATES[entry["state"]] for entry in index["entries"]},
    }


def ask(given: Situation) -> dict[str, Any]:
    """The questions: everything random that is not part of the situation."""
    rng, log, rules = given.rng, given.log, given.partition.tier_rules
    known = [one for one in given.partition.segments if one.id in given.partition.index_of(LEADING).segments]
    asked = rng.choice((*given.partition.segments, None))
    return {
        "failures": rng.randint(1, 8),
        "copied": rng.randint(-1, log.leo),
        "stable": rng.randint(log.log_start, given.leader.hw),
        "asked_epoch": asked.epochs[0][0] if asked else rng.randint(0, 8),
        "asked_offset": rng.randint(asked.base_offset, asked.end_offset + 1) if asked else rng.randint(0, log.leo + 3),
        "from_offset": rng.randint(-1, log.leo + 2),
        "to_offset": rng.randint(0, log.leo + 3),
        "reads_before": rng.randint(given.read_before[LEADING], NOW),
        "writes": (rng.choice(known), rng.choice(STATES[1 : 3 + rules.check_transitions])) if known else None,
        "questions": rng.randint(0, 3),
        "lower": rng.choice((0, 0, 2, 10)),
    }


def row_of(seed: int, given: Situation, asked: dict[str, Any]) -> dict[str, Any]:
    """The situation as a row of INPUTS."""
    partition, log, settings = given.partition, given.log, given.partition.settings
    tier, segments, rules = partition.tier_of(LEADING), partition.segments, partition.tier_rules
    written = asked["writes"]
    own = (
        None if written is None else {"round": NOW, "segment": written[0].id, "state": STATES.index(written[1]), "slot": LEADING}
    )
    local = [
        {"base_offset": one.base_offset, "bytes": one.size_bytes, "first_round": 0, "newest_round": one.last_round}
        for one in log.segments
    ]
    questions = ("failures", "copied", "stable", "asked_epoch", "asked_offset", "from_offset", "to_offset", "reads_before")
    return {
        "seed": seed,
        "segments": [_segment(one) for one in segments],
        "events": [_event(event) for event in partition.metadata.events],
        "read_before": given.read_before[LEADING],
        "follower_read_before": given.read_before[FOLLOWING],
        "own_event": own,
        "epochs": _epochs(log.cache.entries),
        "odd_epochs": _epochs(given.odd_epochs),
        "leo": log.leo,
        "log_start": log.log_start,
        "local_log_start": log.local_log_start,
        "closed": local[:-1],
        "active_base": local[-1]["base_offset"],
        "active_bytes": local[-1]["bytes"],
        "highest_remote": tier.highest_remote,
        "hw": given.leader.hw,
        "pending_log_start": tier.pending_log_start,
        "copying": None if tier.copy is None else tier.copy.segment.id,
        "retention_ms": settings.retention_ms,
        "retention_bytes": settings.retention_bytes,
        "retry_rounds": retry_rounds(partition.case["config"].__getitem__, ROUND_MS),
        "at_pending_upload": settings.starts_at_pending_upload(FOLLOWING) and following.is_empty(given.follower.log),
        "store_up": partition.store_up,
        **{name: asked[name] for name in questions},
        **{name: getattr(rules, name) for name in list(INPUTS)[-8:]},
    }


def expected(given: Situation, asked: dict[str, Any]) -> dict[str, Any]:
    """What the reference says; the situation is used up by that."""
    partition, log, leader, follower = given.partition, given.log, given.leader, given.follower
    tier, segments, index = partition.tier_of(LEADING), partition.segments, partition.index_of(LEADING)
    says: dict[str, Any] = {"index": _index(index)}
    says["states"] = [None if one.state is None else STATES.index(one.state) for one in segments]
    says["without_empty_epochs"] = lineage.without_empty_epochs(given.odd_epochs)
    says["epochs_in_range"] = lineage.epochs_in_range(log.cache.entries, asked["from_offset"], asked["to_offset"])
    for name, epochs in (("in_lineage", log.cache.entries), ("in_odd_lineage", given.odd_epochs)):
        says[name] = [lineage.is_in_lineage(one.epochs, one.end_offset, epochs, log.leo) for one in segments]
    says["remote_log_start"] = lineage.remote_log_start(log.cache.entries, index.first_offset, log.local_log_start)
    served = served_by(partition, asked["asked_epoch"], asked["asked_offset"])
    says["lookup"] = None if served is None else served.id
    partition.pins[0] = asked["stable"]
    chosen = copying.candidate_segments(partition, leader, max(asked["copied"] + 1, log.log_start))
    ends = [log.end_of(log.segments.index(one)) for one in chosen]
    says["candidates"] = [{"base_offset": one.base_offset, "end_offset": end} for one, end in zip(chosen, ends, strict=True)]
    says["started"] = None
    if chosen:
        base, end, entries = chosen[0].base_offset, ends[0], log.cache.entries
        epochs, checkpoint = lineage.epochs_in_range(entries, base, end), lineage.epochs_in_range(entries, -1, end)
        assert chosen[0].last_round is not None
        one = RemoteSegment(
            9, base, end - 1, epochs, checkpoint, chosen[0].size_bytes, chosen[0].last_round, 1, 7, started_round=NOW
        )
        says["started"] = _segment(one)
    says["copied_before"] = [_is_copied_again(partition, one) for one in segments]
    says["retry_round"] = NOW + partition.settings.retry_rounds(asked["failures"])
    says["is_moved"] = log.log_start <= asked["asked_offset"] < log.local_log_start
    says["pending_upload"] = following.earliest_pending_upload(partition, leader)
    says.update(_follow(partition, follower, leader, asked))
    found = copy.copy(tier)
    says["highest_remote"] = copying.learn_highest_remote(partition, leader, found)
    looks = tier.highest_remote < 0 and partition.tier_rules.know_remote_first
    known = found.highest_remote if looks else tier.highest_remote
    says["after_truncation"] = min(known, log.leo - 1) if partition.tier_rules.forget_on_truncation else known
    says.update(_read_and_write(partition, asked))
    says.update(_expire(partition, log))
    return says


def _is_copied_again(partition: Any, segment: RemoteSegment) -> bool:
    """Whether bytes of the attempt would count as copied again; nothing else changes."""
    counts, moved = partition.ledger.counts, segment.moved_bytes
    before = counts["remote_copied_again_bytes"]
    copying._count_bytes(partition, Copy(segment, segment.size_bytes - 1))
    segment.moved_bytes = moved
    return bool(counts["remote_copied_again_bytes"] > before)


def _follow(partition: Any, follower: Any, leader: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """What becomes of a follower that asks; the row gets what it was told before (`so_far`)."""
    start = following.where_to_start(partition, follower, leader)
    says: dict[str, Any] = {"so_far": None, "start": None}
    if start is not None:
        says["start"] = {"start_offset": start.offset, "log_start": start.log_start, "epoch_before": start.epoch_before}
    aux, by_leader = partition.tier_of(FOLLOWING).aux, partition.store.aux_state == "leader"
    log, kept = partition.log_of(follower), copy.deepcopy(follower.log)
    for _ in range(asked["questions"] if by_leader else 0):
        before = copy.deepcopy(aux)
        following.build(partition)
        aux.next_round = 0
        if partition.tier_of(FOLLOWING).aux is None:
            # It is built with that; ask the last question again.
            partition.tiers[FOLLOWING].aux = aux = before
            follower.log = log = kept
            break
    told = partition.tier_of(FOLLOWING).aux
    if told.start is not None:
        told.start = max(told.start - asked["lower"], 0)  # as when the leader's log start has risen meanwhile
        says["so_far"] = {"start_offset": told.start, "epochs": _epochs(reversed(told.epochs)), "is_built": False}
    following.build(partition)
    is_built = partition.tier_of(FOLLOWING).aux is None
    built = {"start_offset": log.leo, "log_start": log.log_start, "epochs": _epochs(log.cache.entries)} if is_built else None
    says["built_by_leader" if by_leader else "built"] = built
    if by_leader:
        says["told"] = None
        if not is_built and told.start is not None:
            says["told"] = {"start_offset": told.start, "epochs": _epochs(reversed(told.epochs)), "is_built": False}
    return says


def _read_and_write(partition: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """The leader reads on, and then writes in the same round; the partition's own metadata stay as they are."""
    log = MetadataLog(partition.metadata.check_transitions)
    log.events = list(partition.metadata.events)
    log._learn(LEADING, partition.metadata._known.get(LEADING, []))
    log.read(LEADING, asked["reads_before"])
    says = {"read_index": _index(log.index_of(LEADING))}
    if asked["writes"] is not None:
        segment, state = asked["writes"]
        log.read(LEADING, NOW)
        log.index_of(LEADING).apply(segment, state)
        says["written_index"] = _index(log.index_of(LEADING))
    return says


def _expire(partition: Any, log: TieredLog) -> dict[str, Any]:
    """What a run of the expiry task deletes, and the log start then."""
    before = len(partition.metadata.events)
    expiry.run_expiry_tasks(partition)
    new = [_event(event) for event in partition.metadata.events[before:]]
    return {"expired": new, "log_start_after": log.log_start}
