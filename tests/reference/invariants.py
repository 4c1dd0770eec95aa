"""What must hold at the end of every round, looked at on the records themselves.

`check` asserts what holds in `kafka` after any input, lost disks and unclean elections included. `Watch` tells instead
which invariants of docs/invariants.md are broken, in `kafka`, its variants and its mutants alike; what damage and
unclean elections excuse is for the caller to know, but for this: a broker that lost its disk or its power lacks records
and is not blamed for it until it runs again and the controller counts it in the ISR or in ELR. A record is what one
append made: logs agree only where they hold the same record, whatever its offset and epoch say.

A replica *thinks it leads* when its process is not down and it leads in some epoch, zombies included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import NamedTuple

from .log import Log, Record
from .partition import NO_LEADER, Partition, Replica


class Violation(NamedTuple):
    """An invariant that does not hold at the end of a round, and where one sees it."""

    round: int
    invariant: str
    witness: str
    kind: str = "violation"
    """"suspect": something excuses it for which no rule of the real system is known."""


class Watch:
    """Looks at one partition at the end of every round, and remembers what it needs of the rounds before."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.committed = _drained(partition.ledger.newly_committed)
        self.acked: list[Record] = []
        self.new: list[Record] = []
        self.leader_of: dict[int, int] = {}
        self.isr_of: dict[tuple[int, int], set[int]] = {}
        self.controller_before = (partition.controller.leader, partition.controller.epoch)
        self.events_seen = 0
        self.damaged: set[int] = set()

    def look(self) -> list[Violation]:
        """Violations at the end of this round, for each invariant the first that is found."""
        self._remember()
        found = []
        for name, witnesses in INVARIANTS.items():
            witness = next(witnesses(self), None)
            if witness is not None:
                found.append(Violation(self.partition.now, name, witness))
        controller = self.partition.controller
        self.controller_before = (controller.leader, controller.epoch)
        self.events_seen = len(self.partition.ledger.events)
        return found

    @property
    def leaders(self) -> list[Replica]:
        """The replicas that think that they lead."""
        partition = self.partition
        return [
            replica
            for replica in partition.replicas.values()
            if replica.leading_epoch is not None and not partition.status(replica.broker).offline
        ]

    @property
    def elected(self) -> str | None:
        """How this round's last leader was elected, or None without an election."""
        kinds = [event.kind for event in self.partition.ledger.events[self.events_seen :]]
        elections = [kind for kind in kinds if kind in ("election", "unclean_election", "leader_lost")]
        return elections[-1] if elections else None

    def _remember(self) -> None:
        partition, leadership = self.partition, self.partition.leadership
        for broker in partition.replicas:
            status = partition.status(broker)
            if status.power_loss or status.disk_loss:
                self.damaged.add(broker)
            elif not status.offline and broker in partition.controller.isr | partition.controller.elr:
                self.damaged.discard(broker)
        self.new = _drained(partition.ledger.newly_committed)
        self.committed += self.new
        if leadership is None:
            return
        owes_from = leadership.start_offset if leadership.owes_from is None else leadership.owes_from
        self.acked += [record for record in self.new if record.offset >= owes_from and self._wants_all(record)]
        self.isr_of[leadership.broker, leadership.epoch] = set(leadership.known_isr)

    def _wants_all(self, record: Record) -> bool:
        round_, _, row = record.batch
        return round_ >= 0 and str(self.partition.case["workload"][row]["acks"]) == "all"


def _drained(records: list[Record]) -> list[Record]:
    taken = list(records)
    records.clear()
    return taken


def _isr_within_replicas(watch: Watch) -> Iterator[str]:
    """The controller's ISR is a subset of the replicas."""
    controller = watch.partition.controller
    for broker in sorted(controller.isr - set(controller.replicas)):
        yield f"{broker} is in the ISR and no replica"


def _valid_isr_and_elr(watch: Watch) -> Iterator[str]:
    """ISR and ELR are subsets of the replicas and have nobody in common; ELR is empty while the ISR is big enough."""
    controller = watch.partition.controller
    least = min(watch.partition.settings.min_insync_replicas, len(controller.replicas))
    for broker in sorted((controller.isr | controller.elr) - set(controller.replicas)):
        yield f"{broker} is in the ISR or in ELR and no replica"
    for broker in sorted(controller.isr & controller.elr):
        yield f"{broker} is in the ISR and in ELR"
    if controller.elr and len(controller.isr) >= least:
        yield f"ISR {sorted(controller.isr)} has the {least} that it needs, ELR is {sorted(controller.elr)}"


def _leader_in_isr(watch: Watch) -> Iterator[str]:
    """The controller's leader is in the ISR, or there is none."""
    controller = watch.partition.controller
    if controller.leader != NO_LEADER and controller.leader not in controller.isr:
        yield f"{controller.leader} leads, the ISR is {sorted(controller.isr)}"


def _offsets_in_order(watch: Watch) -> Iterator[str]:
    """0 <= log start <= local log start <= HW <= LEO."""
    for replica in watch.partition.replicas.values():
        log = replica.log
        if not 0 <= log.log_start <= log.local_log_start <= replica.hw <= log.leo:
            starts = f"log start {log.log_start}, local {log.local_log_start}"
            yield f"{replica.broker}: {starts}, HW {replica.hw}, LEO {log.leo}"


def _epochs_increase(watch: Watch) -> Iterator[str]:
    """The controller's epoch rises with every change of leader and never falls; so do the epochs and starts of a cache."""
    controller = watch.partition.controller
    leader, epoch = watch.controller_before
    if controller.epoch < epoch or (controller.leader != leader and controller.epoch == epoch):
        yield f"leader {leader} in epoch {epoch}, then {controller.leader} in {controller.epoch}"
    for replica in watch.partition.replicas.values():
        entries = replica.log.cache.entries
        if not all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(entries)):
            yield f"{replica.broker}: epochs {entries}"


def _election_safety(watch: Watch) -> Iterator[str]:
    """An epoch has one leader, in the whole run."""
    for replica in watch.leaders:
        assert replica.leading_epoch is not None
        first = watch.leader_of.setdefault(replica.leading_epoch, replica.broker)
        if first != replica.broker:
            yield f"epoch {replica.leading_epoch} is led by {first} and {replica.broker}"


def _log_matching(watch: Watch) -> Iterator[str]:
    """Where two logs have the same offset and epoch below the smaller HW, they are the same up to there."""
    for one, other in combinations(watch.partition.replicas.values(), 2):
        yield from _mismatch(one, other, min(one.hw, other.hw))


def _log_matching_whole(watch: Watch) -> Iterator[str]:
    """Where two logs have the same offset and epoch anywhere, they are the same up to there."""
    for one, other in combinations(watch.partition.replicas.values(), 2):
        yield from _mismatch(one, other, min(one.log.leo, other.log.leo))


def _mismatch(one: Replica, other: Replica, end: int) -> Iterator[str]:
    """Below `end`, a record that differs before or at an offset where the epochs agree."""
    first = max(one.log.local_log_start, other.log.local_log_start)
    mine, theirs = one.log.slice(first, end), other.log.slice(first, end)
    if mine == theirs:
        return
    agreeing = [at for at, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a.epoch == b.epoch]
    differing = next(at for at, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b)
    if agreeing and agreeing[-1] >= differing:
        a, b, later = mine[differing], theirs[differing], mine[agreeing[-1]]
        yield f"{one.broker} has {_told(a)}, {other.broker} has {_told(b)}, and both {_told(later)}"


def _weak_isr(watch: Watch) -> Iterator[str]:
    """What lies below the HW of a replica that thinks it leads is the same on all of its own ISR."""
    for leader in watch.leaders:
        assert leader.leading_epoch is not None
        yield from _lacking(watch, leader, watch.isr_of.get((leader.broker, leader.leading_epoch), set()))


def _strong_isr(watch: Watch) -> Iterator[str]:
    """What lies below the HW of a replica that thinks it leads is the same on all of the controller's ISR."""
    for leader in watch.leaders:
        yield from _lacking(watch, leader, watch.partition.controller.isr)


def _lacking(watch: Watch, leader: Replica, isr: set[int]) -> Iterator[str]:
    for broker in sorted((isr & watch.partition.replicas.keys()) - watch.damaged):
        log = watch.partition.replicas[broker].log
        first = max(log.local_log_start, leader.log.local_log_start)
        mine, theirs = leader.log.slice(first, leader.hw), log.slice(first, leader.hw)
        if mine != theirs:
            record = next(record for record in mine if record.offset >= log.leo or log.record_at(record.offset) != record)
            yield f"{leader.broker} leads with HW {leader.hw}, {broker} of the ISR lacks {_told(record)}"


def _leader_candidate_completeness(watch: Watch) -> Iterator[str]:
    """Every member of the controller's ISR and ELR has every committed record at or above its log start.

    Of Vanlightly's specification (LEO >= true HW); it sees what StrongIsr misses when whoever committed leads no more.
    """
    controller = watch.partition.controller
    for broker in sorted(((controller.isr | controller.elr) & watch.partition.replicas.keys()) - watch.damaged):
        yield from _lost(watch.partition.replicas[broker], watch.committed)


def _leader_completeness(watch: Watch) -> Iterator[str]:
    """A leader elected from the ISR or from ELR in this round has every committed record at or above its log start."""
    leader = watch.partition.client_leader
    if watch.elected == "election" and leader is not None and leader.broker not in watch.damaged:
        yield from _lost(leader, watch.committed)


def _no_committed_record_lost(watch: Watch) -> Iterator[str]:
    """A committed record at or above the last leader's log start is in some replica's log, whether or not its broker runs.

    Vanlightly's NoCommittedRecordLostGlobally: LeaderCompleteness tells of leaders only, this of what nobody can bring back.
    """
    leader = watch.partition.client_leader
    if leader is not None and leader.broker not in watch.damaged:
        logs = [one.log for one in watch.partition.replicas.values()]
        for record in _lacked(leader, watch.committed):
            if not any(log.record_at(record.offset) == record or log.is_tiered_or_expired(*record.key) for log in logs):
                yield f"no replica has {_told(record)}, nor has {leader.broker}, which leads"


def _no_acked_record_lost(watch: Watch) -> Iterator[str]:
    """As long as elections are clean, the last leader has every record acknowledged for acks=all.

    That is what the HW of the leader who appended it passed; that this takes min.insync.replicas is the protocol's part.
    """
    leader = watch.partition.client_leader
    forced = watch.partition.coverage["reassign_cancelled_uncleanly"]  # as an unclean election (PartitionReassignmentRevert)
    clean = watch.partition.ledger.counts["unclean_elections"] + forced == 0
    if leader is not None and clean and leader.broker not in watch.damaged:
        yield from _lost(leader, watch.acked)


def _lost(replica: Replica, records: list[Record]) -> Iterator[str]:
    for record in _lacked(replica, records):
        yield f"{replica.broker} lacks {_told(record)}"


def _lacked(replica: Replica, records: list[Record]) -> Iterator[Record]:
    """Those at or above its log start that a replica has neither itself nor in remote storage."""
    log = replica.log
    if records and log.slice(records[0].offset, records[-1].offset + 1) == records:
        return  # nearly always: it has them one after the other
    held, log_start, first, leo = log.records, log.log_start, log.local_log_start, log.leo
    for record in records:
        offset = record.offset
        if offset < log_start:
            continue
        if first <= offset < leo and (held[offset - first] is record or held[offset - first] == record):
            continue
        if not log.is_tiered_or_expired(*record.key):
            yield record


def _committed_on_min_isr(watch: Watch) -> Iterator[str]:
    """What was committed in this round is held by min.insync.replicas replicas (not of a specification: for acks=all).

    Who is damaged may have held it, as far as its leader can know.
    """
    least = watch.partition.min_insync_replicas
    for record in watch.new:
        holders = [
            one.broker
            for one in watch.partition.replicas.values()
            if one.log.record_at(record.offset) == record
            or one.log.is_tiered_or_expired(*record.key)
            or one.broker in watch.damaged
        ]
        if len(holders) < least:
            yield f"{_told(record)} was committed on {holders}, min.insync.replicas is {least}"


def _told(record: Record) -> str:
    round_, _, row = record.batch
    return f"(offset {record.offset}, epoch {record.epoch}, " + (f"round {round_} row {row})" if round_ >= 0 else "initial)")


INVARIANTS: dict[str, Callable[[Watch], Iterator[str]]] = {
    "IsrWithinReplicas": _isr_within_replicas,
    "ValidIsrAndElr": _valid_isr_and_elr,
    "LeaderInIsr": _leader_in_isr,
    "OffsetsInOrder": _offsets_in_order,
    "EpochsIncrease": _epochs_increase,
    "ElectionSafety": _election_safety,
    "LogMatching": _log_matching,
    "LogMatchingWhole": _log_matching_whole,
    "WeakIsr": _weak_isr,
    "StrongIsr": _strong_isr,
    "LeaderCandidateCompleteness": _leader_candidate_completeness,
    "LeaderCompleteness": _leader_completeness,
    "NoCommittedRecordLost": _no_committed_record_lost,
    "NoAckedRecordLost": _no_acked_record_lost,
    "CommittedOnMinIsr": _committed_on_min_isr,
}


def check(partition: Partition) -> None:
    """Raise AssertionError when an invariant of docs/invariants.md is broken."""
    controller = partition.controller
    assert controller.isr <= set(controller.replicas), "the ISR is a subset of the replicas"
    if partition.has_elr:
        _check_elr(partition)
    else:
        assert controller.isr, "without ELR the last member stays"
        assert not controller.elr and not controller.last_known_elr
    assert controller.leader == NO_LEADER or controller.leader in controller.isr, "LeaderInIsr"
    for replica in partition.replicas.values():
        _check_offsets(replica.log, replica.hw)
        _check_cache(replica.log)
    leaders = [one.leading_epoch for one in partition.replicas.values() if one.leading_epoch is not None]
    assert len(leaders) == len(set(leaders)), "ElectionSafety"
    for one, other in combinations(partition.replicas.values(), 2):
        _check_matching(one.log, other.log)


def _check_elr(partition: Partition) -> None:
    controller, replicas = partition.controller, set(partition.controller.replicas)
    assert controller.elr <= replicas and controller.last_known_elr <= replicas, "ELR and LK are subsets of the replicas"
    assert not controller.isr & controller.elr, "ISR and ELR are disjoint"
    enough = len(controller.isr) >= min(partition.settings.min_insync_replicas, len(replicas))
    assert not (enough and controller.elr), "ELR is empty while the ISR has the minimum"


def _check_offsets(log: Log, hw: int) -> None:
    assert 0 <= log.log_start <= hw <= log.leo, f"log start {log.log_start} <= HW {hw} <= LEO {log.leo}"
    assert log.flushed <= log.leo and log.segment_base <= log.leo
    assert len(log.records) == log.leo - log.log_start


def _check_cache(log: Log) -> None:
    entries = log.cache.entries
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(entries)), f"rising epochs {entries}"
    assert not entries or entries[-1][1] <= log.leo
    for record in log.records[:1] + log.records[-1:]:
        assert log.cache.epoch_of(record.offset) == record.epoch, "the cache tells the records' epochs"


def _check_matching(one: Log, other: Log) -> None:
    """LogMatching: the same (offset, epoch) in two logs means the same records up to there, also above the HW."""
    first, end = max(one.log_start, other.log_start), min(one.leo, other.leo)
    mine, theirs = one.slice(first, end), other.slice(first, end)
    if mine == theirs:
        return
    assert len(mine) == len(theirs)
    last = next((at for at in range(len(mine) - 1, -1, -1) if mine[at].epoch == theirs[at].epoch), None)
    if last is not None:
        assert mine[: last + 1] == theirs[: last + 1], "LogMatching"
