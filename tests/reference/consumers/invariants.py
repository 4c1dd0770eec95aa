"""What must hold of everything that groups read (docs/consumer_rounds.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .reader import REMOTE, Reader, Taken
from .site import Site


class Watch:
    """Looks at the readers of a partition at the end of every round, and remembers what was read."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.read: dict[int, tuple[int, str]] = {}
        self.covered: dict[str, set[int]] = {group: set() for group in site.readers}
        self.last: dict[str, tuple[int, int]] = {}
        self.losses: dict[str, int] = dict.fromkeys(site.readers, 0)
        self.given = _given_remotely(site)
        self.violations: list[tuple[int, str, str]] = []

    def look(self) -> None:
        """Find violations at the end of this round."""
        for reader in self.site.readers.values():
            self._forget_lost(reader)
            self._look_at_reset(reader)
            if reader.epoch is None:
                self.last.pop(reader.group, None)
            taken = reader.taken[-1] if reader.taken and reader.taken[-1].round == self.site.now else None
            if taken is None:
                continue
            for name, witnesses in INVARIANTS.items():
                witness = next(witnesses(self, reader, taken), None)
                if witness is not None:
                    self.violations.append((self.site.now, name, witness))
            for epoch, offset in taken.records:
                self.read[offset] = (epoch, reader.group)
            self.last[reader.group] = taken.records[-1]
            self.covered[reader.group].update(offset for _, offset in taken.records)

    def _look_at_reset(self, reader: Reader) -> None:
        """A position is reset only if the leader has it not."""
        leader = self.site.partition.client_leader
        if reader.refused is None or reader.refused[0] != self.site.now or leader is None:
            return
        _, cause, old = reader.refused
        log = leader.log
        in_range = (log.log_start if self.site.partition.settings.is_tiered else log.local_log_start) <= old <= log.leo
        if cause in ("below_log_start", "above_log_end") and in_range:
            self.violations.append((self.site.now, RESET, f"{reader.group} was reset from {old}, which {leader.broker} has"))

    def _forget_lost(self, reader: Reader) -> None:
        """A reader was told that what it read from somewhere on is gone: others may read something else there."""
        rows = reader.unread[self.losses[reader.group] :]
        self.losses[reader.group] = len(reader.unread)
        for row in rows:
            if row.kind == "skip":
                self.covered[reader.group].update(range(row.from_offset, row.to_offset))
            if row.kind == "loss":
                self.last.pop(row.group, None)
                self.read = {offset: what for offset, what in self.read.items() if offset < row.from_offset}


def _given_remotely(site: Site) -> set[tuple[int, int]]:
    """What is committed at the start though the leader has it in remote storage only; a follower may have it itself."""
    leader = site.partition.client_leader
    if leader is None:
        return set()
    log = leader.log
    offsets = range(log.log_start, log.local_log_start)
    return {(epoch, offset) for offset in offsets if (epoch := log.cache.epoch_of(offset)) is not None}


def _consistent_read(watch: Watch, reader: Reader, taken: Taken) -> Iterator[str]:
    """What is read at an offset is what was read there before, by whomever."""
    for epoch, offset in taken.records:
        before = watch.read.get(offset)
        if before is not None and before[0] != epoch:
            yield f"{reader.group} read {offset} of epoch {epoch}, {before[1]} read it of epoch {before[0]}"


def _read_committed(watch: Watch, reader: Reader, taken: Taken) -> Iterator[str]:
    """What is read was committed, and the replica that serves it knows."""
    partition = watch.site.partition
    hw = partition.replicas[taken.broker].hw
    for epoch, offset in taken.records:
        known = taken.source == REMOTE or any((epoch, offset) in of for of in (partition.ledger.committed, watch.given))
        if offset >= hw or not known:
            yield f"{reader.group} read {offset} of epoch {epoch} from {taken.broker}, whose HW is {hw}"


def _reads_lineage(watch: Watch, reader: Reader, taken: Taken) -> Iterator[str]:
    """What is read is what the serving replica's epochs say of the offset."""
    cache = watch.site.partition.replicas[taken.broker].log.cache
    for epoch, offset in taken.records:
        if cache.epoch_of(offset) != epoch:
            yield f"{reader.group} read {offset} of epoch {epoch} from {taken.broker}, which has {cache.entries}"


def _read_accounted(watch: Watch, reader: Reader, taken: Taken) -> Iterator[str]:
    """Everything from the first position to what is read now was read, or is known to be skipped."""
    covered, first = watch.covered[reader.group], reader.first_position
    assert first is not None
    for offset in range(first, taken.records[0][1]):
        if offset not in covered:
            yield f"{reader.group} passed over {offset}"


def _reads_one_log(watch: Watch, reader: Reader, taken: Taken) -> Iterator[str]:
    """What is read follows, in the log that it is read from, what the reader read before."""
    last = watch.last.get(reader.group)
    log = watch.site.partition.replicas[taken.broker].log
    offset = taken.records[0][1] - 1
    if last is None or last[1] != offset or offset < log.log_start or reader.misled:
        return
    if log.cache.epoch_of(offset) != last[0]:
        yield f"{reader.group} read {offset} of epoch {last[0]}, and goes on in a log with {log.cache.entries}"


RESET = "ResetOnlyIfGone"
INVARIANTS: dict[str, Callable[[Watch, Reader, Taken], Iterator[str]]] = {
    "ConsistentRead": _consistent_read,
    "ReadCommitted": _read_committed,
    "ReadsLineage": _reads_lineage,
    "ReadAccounted": _read_accounted,
    "ReadsOneLog": _reads_one_log,
}
