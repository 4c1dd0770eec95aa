"""What was acknowledged, committed, lost and counted: sets of records, not arithmetic.

Choices where docs/kafka_rounds.md is silent:

* A record is committed once it lies below the HW of T while T leads: at the start, when T becomes ready, and whenever
  its HW rises.
* `acked_lost` and `committed_lost` at the end leave out records below the final leader's log start; the events of an
  election leave out those below the new leader's.
* The count `acked` is of records appended in the run; the losses count acknowledged records of the initial log too.
* Records with acks=0 are acknowledged to nobody, whatever becomes of them: neither when they are appended nor below a HW. They
  are a set of their own, with the same two columns and the same event.
* What damage took from T counts as held until the next election, also when that elects T again.
* Events of elections give the new leader's LEO as the first offset.
* Elections of one round count one by one, but what they lost is told once, for the leader that comes out.
* Events without offsets carry None; the `refused` event counts from T's LEO after the appends of its first round, and has all
  that is refused until the number changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from .log import Log, Record, key_of

COUNTERS = (
    "appended", "elections", "unclean_elections", "leaderless_rounds", "under_min_isr_rounds",
    "under_replicated_rounds", "isr_shrinks", "isr_expands", "replicated_bytes", "refused", "truncated",
    "unwritable_rounds", "unacked_rounds",
)  # fmt: skip


class Event(NamedTuple):
    """One thing that happened; offsets as the kind needs them, else None; `cause`: place of a fault, None: no fault.

    `records`: how many it is about, if not all between its offsets.
    """

    round: int
    kind: str
    broker: int
    leader_epoch: int | None
    from_offset: int | None
    to_offset: int | None
    cause: int | None = None
    records: int | None = None


class Ledger:
    """Counters, events, and the records that were acknowledged and committed."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.events: list[Event] = []
        self.acked: set[tuple[int, int]] = set()
        self.unacknowledged: set[tuple[int, int]] = set()
        self.committed: set[tuple[int, int]] = set()
        self.newly_committed: list[Record] = []
        self.initial: set[tuple[int, int]] = set()
        self.damaged: list[Record] = []

    def start(self, log: Log, hw: int, acks: str) -> None:
        """Take the first leader's initial log: acknowledged below its HW, with acks=1 all of it, with acks=0 nothing.

        What of it is in remote storage only is as committed as the rest.
        """
        whole = log.whole()
        below = [record for record in whole if record.offset < hw]
        self.committed.update(map(key_of, below))
        if acks == "0":
            self.send(whole)
        self.acknowledge(whole if acks == "1" else below)
        self.initial = set(map(key_of, whole))

    def acknowledge(self, records: Iterable[Record]) -> None:
        """Note records whose producers were told that they are safe: of those that are, producers with acks=0 are not."""
        self.acked |= set(map(key_of, records)) - self.unacknowledged

    def send(self, records: Iterable[Record]) -> None:
        """Note records with acks=0."""
        self.unacknowledged.update(map(key_of, records))

    def commit(self, log: Log, hw: int, before: int = 0) -> None:
        """Note the records below a leader's high watermark; `before`: where it was, while it led."""
        new = [record for record in log.slice(max(log.log_start, before), hw) if key_of(record) not in self.committed]
        self.committed.update(map(key_of, new))
        self.newly_committed += new

    def event(
        self,
        round_: int,
        kind: str,
        broker: int,
        leader_epoch: int | None,
        from_offset: int | None = None,
        to_offset: int | None = None,
        cause: int | None = None,
        records: int | None = None,
    ) -> None:
        """Write an event."""
        self.events.append(Event(round_, kind, broker, leader_epoch, from_offset, to_offset, cause, records))

    def refuse_on(self, broker: int, records: int) -> None:
        """Add the records of one more round to the broker's last `refused` event."""
        at = max(i for i, event in enumerate(self.events) if event.kind == "refused" and event.broker == broker)
        self.events[at] = self.events[at]._replace(to_offset=(self.events[at].to_offset or 0) + records)

    def lost_by_election(self, round_: int, broker: int, before: Log, after: Log, cause: int | None) -> None:
        """Write what the leader before held and the new one does not, one event per range of an epoch.

        Of a range of records that were acknowledged or sent with acks=0 both have theirs, from their first to their last record.
        """
        held, self.damaged = before.whole() + self.damaged, []
        gone = [record for record in held if record.offset >= after.log_start and not after.holds(record)]
        sent = self.acked | self.unacknowledged if gone else set()
        for epoch, first, end in contiguous(record for record in gone if record.key in sent):
            for kind, kept in (("acked_lost", self.acked), ("unacknowledged_lost", self.unacknowledged)):
                offsets = [offset for offset in range(first, end) if (epoch, offset) in kept]
                if offsets:
                    low, high = offsets[0], offsets[-1] + 1
                    some = None if len(offsets) == high - low else len(offsets)
                    self.event(round_, kind, broker, epoch, low, high, cause, some)
        for epoch, first, end in contiguous(record for record in gone if record.key in self.committed):
            self.event(round_, "committed_lost", broker, epoch, first, end, cause)

    def outcomes(self, final: Log) -> dict[str, int]:
        """The counts of the run, with what `final`, the last leader's log, lacks."""
        held = set(map(key_of, final.records))

        def lacking(keys: set[tuple[int, int]]) -> int:
            missing = [key for key in keys - held if key[1] >= final.log_start]
            return sum(1 for key in missing if not final.is_tiered_or_expired(*key))

        return {
            **{name: self.counts[name] for name in COUNTERS},
            "acked": len(self.acked - self.initial),
            "acked_lost": lacking(self.acked),
            "sent_unacknowledged": len(self.unacknowledged - self.initial),
            "unacknowledged_lost": lacking(self.unacknowledged),
            "committed_lost": lacking(self.committed),
        }


def contiguous(records: Iterable[Record]) -> list[tuple[int, int, int]]:
    """Ranges (epoch, first offset, end offset) of records in offset order."""
    ranges: list[tuple[int, int, int]] = []
    for record in records:
        if ranges and ranges[-1][0] == record.epoch and ranges[-1][2] == record.offset:
            ranges[-1] = (record.epoch, ranges[-1][1], record.offset + 1)
        else:
            ranges.append((record.epoch, record.offset, record.offset + 1))
    return ranges
