"""What must hold at the end of every round of a tiered partition (docs/tiered_rounds.md), beside the plain ones.

The lookups of `served_by` are those that a read makes; `RemoteServesLineage` therefore is what ConsistentRead needs of the
remote tier. What any leader expired, a superseded one too, may be gone before T's log start is behind it: that is excused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .. import invariants as plain
from ..invariants import Violation
from ..partition import Replica
from .lineage import is_in_lineage
from .metadata import COPY_FINISHED, COPY_STARTED, DELETE_FINISHED, DELETE_STARTED, TRANSITIONS, Event, RemoteSegment
from .partition import TieredPartition

Served = tuple[int, int | None, RemoteSegment | None]
"""An offset, the epoch that T's log gives it, and the segment that a read of it gets."""


class Watch:
    """Looks at one partition at the end of every round, and remembers what it needs of the rounds before."""

    def __init__(self, partition: TieredPartition) -> None:
        self.partition = partition
        self.plain = plain.Watch(partition)
        self.committed = {(record.epoch, record.offset) for record in self.plain.committed} | partition.ledger.committed
        self.states: dict[int, str | None] = {one.id: one.state for one in partition.segments}
        self.expired_up_to = 0
        self.logs = [partition.metadata]
        self.new_events: list[Event] = []
        self.deleted_in: dict[int, int] = {}  # segments, and the leader epoch in which somebody began to delete them
        self.unreferenced: set[int] = set()  # those of them that had only epochs older than the first of that leader's log
        self.removed_round = -1  # in which remote storage was turned off last
        self.served: list[Served] = []
        self._served_key: object = None

    def look(self) -> list[Violation]:
        """Violations at the end of this round, for each invariant the first that is found."""
        self._remember()
        self._look_up_served()
        found = self.plain.look()
        for name, witnesses in INVARIANTS.items():
            witness = next(witnesses(self), None)
            if witness is not None:
                found.append(Violation(self.partition.now, name, witness))
        for name, witnesses in SUSPECTS.items():
            witness = next(witnesses(self), None)
            if witness is not None and not any(one.invariant == name for one in found):
                found.append(Violation(self.partition.now, name, witness, "suspect"))
        return found

    @property
    def leader(self) -> Replica | None:
        """T, if it runs and is ready."""
        working = self.partition.working_leader()
        return None if working is None else working[1]

    def _look_up_served(self) -> None:
        """Look up what T has not itself; anew only when its log or what is known of the remote segments has changed."""
        leader, partition = self.leader, self.partition
        if leader is None or not partition.settings.is_tiered:
            self.served, self._served_key = [], None
            return
        log = leader.log
        offsets = range(max(log.log_start, self.expired_up_to), log.local_log_start)
        key = (id(partition.metadata), len(partition.metadata.events), tuple(log.cache.entries), offsets)
        if key == self._served_key:
            return
        self.served, self._served_key = [], key
        for offset in offsets:
            epoch = log.cache.epoch_of(offset)
            self.served.append((offset, epoch, None if epoch is None else served_by(partition, epoch, offset)))

    def _remember(self) -> None:
        partition = self.partition
        if partition.metadata not in self.logs:
            self.logs.append(partition.metadata)
            self.removed_round = partition.now
        self.new_events = [event for log in self.logs for event in log.events if event.round == partition.now]
        for event in self.new_events:
            deleter = partition.replicas.get(event.broker)
            is_new = event.segment.id not in self.deleted_in
            if event.state == DELETE_STARTED and deleter is not None and deleter.leading_epoch is not None and is_new:
                self.deleted_in[event.segment.id] = deleter.leading_epoch
                known = deleter.log.cache.entries
                if known and max(epoch for epoch, _ in event.segment.epochs) < known[0][0]:
                    self.unreferenced.add(event.segment.id)
        log_start = max((leader.log.log_start for leader in self.plain.leaders), default=0)
        if log_start > self.expired_up_to:
            self.expired_up_to = log_start
            for records in (self.plain.committed, self.plain.acked):
                records[:] = [record for record in records if record.offset >= log_start]


def served_by(partition: TieredPartition, epoch: int, offset: int) -> RemoteSegment | None:
    """The remote segment that a read of this offset gets, when the log has it in this epoch."""
    index = partition.metadata.complete
    if partition.tier_rules.lookup_by_epoch:
        return index.lookup(epoch, offset)
    copied = [one for one in index.listed() if index.state_of(one) == COPY_FINISHED]
    return next((one for one in copied if one.base_offset <= offset <= one.end_offset), None)


def _no_gap_between_tiers(watch: Watch) -> Iterator[str]:
    """What T has not itself, from its log start on, is in the remote tier: copied, and there."""
    for offset, epoch in _gaps(watch):
        if not _is_suspect(watch, epoch, offset):
            yield f"{offset} (epoch {epoch}) is neither local nor remote"


def _suspect_gaps(watch: Watch) -> Iterator[str]:
    """Gaps that come of remote storage being turned off, or of two lineages in it, by no rule that is known."""
    for offset, epoch in _gaps(watch):
        if _is_suspect(watch, epoch, offset):
            yield f"{offset} (epoch {epoch}) is neither local nor remote any more"


def _gaps(watch: Watch) -> Iterator[tuple[int, int]]:
    """What T has not itself, and the store has not either, but by a rule of Kafka."""
    for offset, epoch in _not_served(watch):
        is_excused = _was_given_up(watch, epoch, offset) or _was_removed(watch, epoch, offset)
        if not _stored(watch, epoch, offset) and not is_excused:
            yield offset, epoch


def _is_suspect(watch: Watch, epoch: int, offset: int) -> bool:
    """Tell whether a gap may come of what was done to the store, though no rule is known by which Kafka does it."""
    return _was_deleted_by_another(watch, epoch, offset) or _went_with_remote_storage(watch, epoch, offset)


def _nothing_remote_is_hidden(watch: Watch) -> Iterator[str]:
    """What T has not itself, and what is in the remote tier, is found there.

    What another leader copies may take its place, which is excused; and after two unclean
    elections a lineage that was given up may lead again.
    """
    for offset, epoch in _not_served(watch):
        hidden = _stored(watch, epoch, offset)
        if hidden and not any(_has_rival(watch, epoch, offset, one) for one in hidden):
            yield f"{offset} (epoch {epoch}) is remote, and no lookup finds it"


def _not_served(watch: Watch) -> Iterator[tuple[int, int]]:
    for offset, epoch, segment in watch.served:
        if segment is None or segment.stored_bytes < segment.size_bytes:
            yield offset, -1 if epoch is None else epoch


def _stored(watch: Watch, epoch: int, offset: int) -> list[RemoteSegment]:
    """The segments that are copied, whole, and have the record."""
    listed = [one for one in watch.partition.metadata.complete.listed() if one.covers(epoch, offset)]
    return [one for one in listed if one.state == COPY_FINISHED and one.stored_bytes == one.size_bytes]


def _has_rival(watch: Watch, epoch: int, offset: int, hidden: RemoteSegment) -> bool:
    """Tell whether a leader of another epoch copied a segment that a lookup of the record may come upon first."""
    others = [one for one in watch.partition.segments if one.was_finished and one.leader_epoch != hidden.leader_epoch]
    return any(epoch in one.spans and hidden.spans[epoch][0] <= one.spans[epoch][0] <= offset for one in others)


def _was_given_up(watch: Watch, epoch: int, offset: int) -> bool:
    """Tell whether such a leader deleted a copy of the record because it had no epoch of it.

    RemoteLogManager deletes what has only epochs older than its leader's first: what unclean elections leave behind.
    """
    return _was_deleted_by_another(watch, epoch, offset, only_unreferenced=True)


def _was_deleted_by_another(watch: Watch, epoch: int, offset: int, only_unreferenced: bool = False) -> bool:
    """Tell whether a leader whose log T's does not continue, for there were unclean elections, deleted a copy of the record.

    One is enough where the leader before had lost its disk, and so the lineage.
    """
    if watch.leader is None or not watch.partition.ledger.counts["unclean_elections"]:
        return False
    mine = {known for known, _ in watch.leader.log.cache.entries}
    copies = [one for one in watch.partition.segments if one.id in watch.deleted_in and one.covers(epoch, offset)]
    if only_unreferenced:
        copies = [one for one in copies if one.id in watch.unreferenced]
    return any(watch.deleted_in[one.id] > min(mine, default=-1) and watch.deleted_in[one.id] not in mine for one in copies)


def _was_removed(watch: Watch, epoch: int, offset: int) -> bool:
    """Tell whether the record's copies went with remote storage before T was elected.

    TopicConfigHandler raises the log start of who leads then; who follows and is elected before it hears of that keeps its own.
    """
    elected = [event.round for event in watch.partition.ledger.events if event.kind in ("election", "unclean_election")]
    return max(elected, default=-1) >= watch.removed_round and _went_with_remote_storage(watch, epoch, offset)


def _went_with_remote_storage(watch: Watch, epoch: int, offset: int) -> bool:
    """Tell whether the record's copies went when remote storage was turned off, and none was made since."""
    if len(watch.logs) == 1:
        return False
    current = {event.segment.id for event in watch.partition.metadata.events}
    copies = [one for one in watch.partition.segments if one.was_finished and one.covers(epoch, offset)]
    return bool(copies) and not any(one.id in current for one in copies)


def _remote_serves_lineage(watch: Watch) -> Iterator[str]:
    """What a read of T's log gets from the remote tier is the record that T's epochs say."""
    for offset, epoch, segment in watch.served:
        if segment is not None and (epoch is None or not segment.covers(epoch, offset)):
            yield f"{offset} of epoch {epoch} is read from a segment with epochs {segment.epochs}"


def _remote_below_last_stable(watch: Watch) -> Iterator[str]:
    """What a copy of this run begins with was committed, and lies below every open transaction."""
    pins = watch.partition.pins.values()
    for event in watch.new_events:
        if event.state != COPY_STARTED or event.segment.started_round is None:
            continue
        segment = event.segment
        for offset in range(segment.base_offset, segment.end_offset + 1):
            epoch = [known for known, start in segment.epochs if start <= offset][-1:]
            if epoch and (epoch[0], offset) not in watch.partition.ledger.committed:
                yield f"{offset} of epoch {epoch[0]} was copied and is not committed"
        if any(segment.end_offset >= pin for pin in pins):
            yield f"{segment.end_offset} was copied, a transaction is open from {min(pins)} on"


def _copy_waits_for_its_lag(watch: Watch) -> Iterator[str]:
    """What was copied in this round was old enough, or had enough records behind it on its copier's disk (KIP-1241)."""
    partition, settings = watch.partition, watch.partition.settings
    for event in watch.new_events:
        segment, copier = event.segment, partition.replicas.get(event.broker)
        if event.state != COPY_STARTED or copier is None or not settings.copies:
            continue
        deleted = [record for one in partition.deletions if one.broker == event.broker for record in one.records]
        behind_bytes = sum(one.size_bytes for one in [*copier.log.records, *deleted] if one.offset > segment.end_offset)
        age_ms = (partition.now - segment.last_round) * settings.round_ms
        if not settings.may_copy(age_ms, behind_bytes):
            yield f"{event.broker} copied up to {segment.end_offset} after {age_ms} ms, {behind_bytes} bytes behind it"


def _no_local_delete_before_copy(watch: Watch) -> Iterator[str]:
    """What retention takes from a disk of a tiered topic was copied before, unless it was expired already."""
    for key, witness in _never_copied(watch):
        if not _was_deleted_by_another(watch, *key):
            yield witness


def _suspect_local_deletes(watch: Watch) -> Iterator[str]:
    """Likewise, where another leader deleted what was copied, by no rule that is known."""
    for key, witness in _never_copied(watch):
        if _was_deleted_by_another(watch, *key):
            yield witness


def _never_copied(watch: Watch) -> Iterator[tuple[tuple[int, int], str]]:
    """Records that retention took and nobody copied, by (epoch, offset), in words.

    Records that are not of T's lineage, or the last one's, have to go anyway. A copy that a leader of another lineage deletes
    while it is made counts: its copier does not notice.
    """
    partition = watch.partition
    if not partition.settings.copies or partition.client_leader is None:
        return
    lineage = partition.client_leader.log
    copied = [one for one in partition.segments if one.was_finished] if partition.deletions else []
    for deletion in partition.deletions:
        for record in deletion.records:
            retained = record.offset >= max(deletion.log_start, watch.expired_up_to)
            shared = record.offset < lineage.leo and lineage.cache.epoch_of(record.offset) == record.epoch
            if not (retained and shared):
                continue
            is_copied = any(one.covers(*record.key) for one in copied)
            if not is_copied and not _was_given_up(watch, *record.key):
                yield record.key, f"{deletion.broker} deleted {record.offset} of epoch {record.epoch}, which was never copied"


def _state_machine(watch: Watch) -> Iterator[str]:
    """A remote segment's states follow each other as they may; events that say otherwise change nothing."""
    for event in watch.new_events:
        before = watch.states.get(event.segment.id)
        if event.state in TRANSITIONS[before]:
            watch.states[event.segment.id] = event.state
    for segment in watch.partition.segments:
        if segment.state != watch.states.get(segment.id):
            yield f"segment {segment.id} is in {segment.state}, not in {watch.states.get(segment.id)}"


def _retained_log_is_kept(watch: Watch) -> Iterator[str]:
    """Size retention leaves at least retention.bytes of the log: no record counts twice.

    Kafka breaks it in more ways than its mutant: what lies below the log start counts until it is deleted, and what another
    leader copied as well as what is local. So it is for chosen cases only, not for random ones (`ALWAYS`).
    """
    leader, partition = watch.leader, watch.partition
    settings = partition.settings
    if leader is None or not settings.is_tiered or settings.retention_bytes < 0:
        return
    expired = [event.segment for event in watch.new_events if event.state == DELETE_FINISHED and event.segment.was_finished]
    log = partition.log_of(leader)
    by_size = [one for one in expired if one.end_offset + 1 == log.log_start and one.last_round > _expired_round(partition)]
    if not by_size or not settings.copies:
        return
    kept_remote = {
        one.base_offset: one.size_bytes
        for one in partition.segments
        if one.state == COPY_FINISHED and is_in_lineage(one.epochs, one.end_offset, log.cache.entries, log.leo)
    }
    live = [one for at, one in enumerate(log.segments) if log.end_of(at) > log.log_start]
    local = sum(one.size_bytes for one in live if one.base_offset not in kept_remote)
    kept = local + sum(kept_remote.values())
    if kept < settings.retention_bytes:
        yield f"{kept} bytes are left of the log, retention.bytes is {settings.retention_bytes}"


def _expired_round(partition: TieredPartition) -> int:
    settings = partition.settings
    if settings.retention_ms < 0:
        return -1
    return partition.now - settings.retention_ms // settings.round_ms


INVARIANTS: dict[str, Callable[[Watch], Iterator[str]]] = {
    "NoGapBetweenTiers": _no_gap_between_tiers,
    "NothingRemoteIsHidden": _nothing_remote_is_hidden,
    "RemoteServesLineage": _remote_serves_lineage,
    "RemoteBelowLastStable": _remote_below_last_stable,
    "CopyWaitsForItsLag": _copy_waits_for_its_lag,
    "NoLocalDeleteBeforeCopy": _no_local_delete_before_copy,
    "RemoteStateMachine": _state_machine,
    "RetainedLogIsKept": _retained_log_is_kept,
}
SUSPECTS: dict[str, Callable[[Watch], Iterator[str]]] = {
    "NoGapBetweenTiers": _suspect_gaps,
    "NoLocalDeleteBeforeCopy": _suspect_local_deletes,
}
ALWAYS = tuple(name for name in INVARIANTS if name != "RetainedLogIsKept")
