"""The state of one partition with tiered storage: what the plain one has, and its two tiers.

Choices where docs/tiered_rounds.md is silent:

* What a broker knows of its own tier tasks (`Tier`) is forgotten when it restarts; what it read of the metadata is not.
* A replica that a reassignment drops and adds again begins anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..log import Log, Record
from ..partition import DEFAULT_RECORD_BYTES, NO_LEADER, Leadership, Partition, Replica
from . import election, following
from .lineage import epochs_in_range
from .metadata import (
    COPY_FINISHED,
    COPY_STARTED,
    DELETE_FINISHED,
    DELETE_STARTED,
    MARKED,
    MetadataLog,
    RemoteSegment,
    SegmentIndex,
)
from .rules import REAL, TierRules
from .segments import TieredLog, tiered_initial_log
from .settings import Store, TieredSettings
from .store import CopyBudget, known_before, store_is_up

LEADER, FOLLOWER = "leader", "follower"
BEFORE_THE_RUN = -1


@dataclass
class Task:
    """A task of the remote log manager: it runs in the first round that is not over before `due_ms`."""

    due_ms: int
    round_ms: int
    failures: int = 0

    @property
    def next_round(self) -> int:
        """The first round in which it may run."""
        return -(-self.due_ms // self.round_ms)

    def done(self, now: int, interval_ms: int) -> None:
        """It ended well; its next run comes an interval after this one's end."""
        self._wait(now, max(interval_ms, self.round_ms))
        self.failures = 0

    def failed(self, now: int, settings: TieredSettings) -> None:
        """It failed and is tried again after a while that grows."""
        self.failures += 1
        self._wait(now, settings.retry_rounds(self.failures) * self.round_ms)

    def _wait(self, now: int, wait_ms: int) -> None:
        """A run in the round in which it was due took no time; any other is over with its round."""
        ended_ms = self.due_ms if now == self.next_round else now * self.round_ms
        self.due_ms = ended_ms + wait_ms


@dataclass
class Copy:
    """A copy under way: its segment, and the bytes still to move. `orphaned`: its leader lost the leadership."""

    segment: RemoteSegment
    left_bytes: int
    orphaned: bool = False


@dataclass
class Tier:
    """What one replica does and knows of remote storage; `duty` is LEADER (in `epoch`), FOLLOWER, or None.

    `highest_remote` is the last offset that it knows to be tiered; `copied` is where its copy task stands, None: not yet
    looked up. `pending_log_start` is a mutant's.
    """

    duty: str | None = None
    epoch: int | None = None
    highest_remote: int = -1
    copied: int | None = None
    knows_log_start: bool = False
    copy_task: Task = field(default_factory=lambda: Task(0, 1))
    expiry_task: Task = field(default_factory=lambda: Task(0, 1))
    follower_task: Task = field(default_factory=lambda: Task(0, 1))
    copy: Copy | None = None
    aux: following.AuxState | None = None
    pending_log_start: int | None = None

    def take_duty(self, duty: str | None, epoch: int | None, now: int, round_ms: int) -> None:
        """Begin as leader or follower: all tasks are due at once."""
        self.duty, self.epoch = duty, epoch
        self.copied, self.knows_log_start = None, False
        self.copy_task, self.expiry_task, self.follower_task = (Task(now * round_ms, round_ms) for _ in range(3))


@dataclass
class Leaving:
    """What is left of a partition's remote data after its topic was deleted, or remote storage turned off."""

    metadata: MetadataLog
    task: Task
    state: str = MARKED


@dataclass(frozen=True)
class Deletion:
    """Records that went from a replica's disk in this round."""

    broker: int
    records: list[Record]
    log_start: int


class TieredPartition(Partition):
    """Everything of one partition in one round, its remote segments included."""

    settings: TieredSettings
    settings_type = TieredSettings

    def __init__(self, case: Mapping[str, Any], number: int = 0, budgets: dict[int, CopyBudget] | None = None) -> None:
        self.store = Store(**case.get("remote_storage", {}))
        self.tier_rules: TierRules = case.get("tier_rules", REAL)
        self.number = number
        self.budgets: dict[int, CopyBudget] = {} if budgets is None else budgets
        self.tiers: dict[int, Tier] = {}
        self.metadata = MetadataLog(self.tier_rules.check_transitions)
        self.segments: list[RemoteSegment] = []
        self.was_tiered = False
        self.leaving: Leaving | None = None
        self.deletions: list[Deletion] = []
        self.pins: dict[int, int] = {}
        self.deleted = False
        self.listing_rounds: Counter[int] = Counter()  # by broker
        self.has_enough: dict[int, bool] = {}  # by broker, as it reported last
        super().__init__(case)
        self.was_tiered = self.settings.is_tiered
        self._put_initial_segments()
        election.report(self, self.replicas)

    def empty_log(self) -> Log:
        """The log of a replica that has nothing."""
        return TieredLog()

    def given_log(self, given: Mapping[str, Any]) -> Log:
        """The log of a replica as `initial` gives it."""
        log_start = given.get("log_start_offset", 0)
        local_start = given.get("local_log_start_offset")
        return tiered_initial_log(
            log_start,
            log_start if local_start is None else local_start,
            given["leo"],
            given["epochs"],
            given.get("flushed_offset"),
            given.get("record_bytes", DEFAULT_RECORD_BYTES),
            given.get("segments"),
        )

    def may_fetch(self, follower: Replica) -> bool:
        """Whether the follower fetches: not while it builds its auxiliary state."""
        return self.tier_of(follower.broker).aux is None

    def preferred_first(self, brokers: Sequence[int]) -> list[int]:
        """The same, but who has enough of the log itself comes first (KIP-1303)."""
        return election.preferred_first(self, brokers)

    def start_again(self, follower: Replica, leader: Replica) -> str:
        """What a follower does about an offset that its leader does not have itself."""
        if following.has_to_build(self, follower, leader):
            return following.begin(self, follower)
        if leader.log.log_start <= follower.log.leo:
            return "out_of_range"  # remote storage is off: from where its log ends it asks again
        return super().start_again(follower, leader)

    def tell_leadership(self, replica: Replica, leadership: Leadership) -> None:
        """T learns that it leads; a state that it was building is of no use any more."""
        self.tier_of(replica.broker).aux = None
        super().tell_leadership(replica, leadership)

    def log_of(self, replica: Replica) -> TieredLog:
        """The replica's log, with its segments."""
        assert isinstance(replica.log, TieredLog)
        return replica.log

    def tier_of(self, broker: int) -> Tier:
        """What the broker does and knows of remote storage."""
        tier = self.tiers.get(broker)
        if tier is None:
            tier = self.tiers[broker] = Tier()
        return tier

    def budget_of(self, broker: int) -> CopyBudget:
        """What the broker's copy tasks share."""
        return self.budgets.setdefault(broker, CopyBudget())

    @property
    def store_up(self) -> bool:
        """Whether the remote store answers in this round."""
        return store_is_up(self.faults, self.now)

    def can_use_metadata(self, broker: int) -> bool:
        """Whether the broker can write metadata, and ask for it: the store's own only while it is up."""
        return self.store_up if self.store.metadata == "list" else not self.status(broker).isolated

    def index_of(self, broker: int) -> SegmentIndex:
        """What the broker knows of the remote segments."""
        return self.metadata.index_of(broker)

    def read_metadata(self) -> None:
        """Running brokers that can ask for it learn what was written in the rounds before, as far as it got to them."""
        for broker in self.replicas:
            before: int | None = self.now
            if self.store.metadata == "topic":
                before = known_before(self.store.metadata_lag_rounds, self.faults, broker, self.now)
            if before is not None and self.status(broker).running and self.can_use_metadata(broker):
                self.metadata.read(broker, before)

    def write_metadata(self, segment: RemoteSegment, state: str, broker: int) -> None:
        """The broker writes an event of the segment."""
        self.metadata.write(self.now, segment, state, broker)

    def last_stable_offset(self, replica: Replica) -> int:
        """What the replica takes for committed and decided: its HW, or where an open transaction begins."""
        return min([replica.hw, *self.pins.values()])

    def pin_transactions(self) -> None:
        """Open transactions begin at the LEO that T has when they open, before anything is appended."""
        for number, fault in enumerate(self.faults):
            if fault["kind"] != "open_transaction":
                continue
            opened = fault["from_round"] <= self.now and (fault.get("to_round") is None or self.now < fault["to_round"])
            if not opened:
                self.pins.pop(number, None)
            elif number not in self.pins and self.client_leader is not None:
                self.pins[number] = self.client_leader.log.leo

    def raise_log_start(self, replica: Replica, offset: int) -> bool:
        """Raise a replica's log start, never above its HW. Returns whether that was allowed."""
        if offset > replica.hw:
            return False
        if offset > replica.log.log_start:
            replica.log.raise_log_start(offset)
        return True

    def _put_initial_segments(self) -> None:
        initial = self.case.get("initial") or {}
        leader = self.replicas[self.leadership.broker] if self.leadership is not None else None
        unread: list[tuple[RemoteSegment, str]] = []
        for row in initial.get("remote_segments", ()):
            whole = [(epoch, start) for epoch, start in row.get("epochs") or (leader.log.cache.entries if leader else ())]
            base, end, broker = row["base_offset"], row["end_offset"], leader.broker if leader else -1
            checkpoint = [entry for entry in whole if entry[1] <= end]
            epochs = epochs_in_range(whole, base, end + 1)
            copier = row.get("copier", broker)
            segment = RemoteSegment(len(self.segments), base, end, epochs, checkpoint, row["bytes"], 0, copier, epochs[-1][0])
            self.segments.append(segment)
            state = row.get("state", COPY_FINISHED)
            way = [COPY_STARTED, COPY_FINISHED, DELETE_STARTED, DELETE_FINISHED]
            for entered in way[: way.index(state) + 1]:
                if row.get("unread"):
                    unread.append((segment, entered))
                else:
                    self.metadata.write(BEFORE_THE_RUN, segment, entered, broker)
            if row.get("moved_bytes") is not None:
                assert leader is not None and self.leadership is not None
                segment.moved_bytes = row["moved_bytes"]
                tier = self.tier_of(leader.broker)
                tier.take_duty(LEADER, self.leadership.epoch, 0, self.settings.round_ms)
                tier.copy = Copy(segment, segment.size_bytes - segment.moved_bytes)
            segment.stored_bytes = 0 if state in (COPY_STARTED, DELETE_FINISHED) else row["bytes"]
        for segment, entered in unread:  # as if of round 0, by nobody who is asked
            self.metadata.write(0, segment, entered, NO_LEADER)
            segment.copied_round = segment.deleted_round = None
            if entered == DELETE_FINISHED:
                segment.deleted_round = BEFORE_THE_RUN
        for replica in self.replicas.values():
            self.metadata.read(replica.broker, 0)
