"""The state of one partition: its replicas, what its leader knows of them, and what the controller holds.

Choices where docs/kafka_rounds.md is silent:

* A replica that a reassignment adds believes in nobody, (-1, -1), until it learns at the end of a round.
* A leader that learns that the controller has none (-1) stops to lead; it is not ready any more, even when it is
  still T.
* `role` is leader for whoever believes that it leads, zombies included. A replica elected while it cannot be told
  keeps the role and the believed epoch it had.
* Late news reaches a broker that runs and is not isolated. A replica that a reassignment added takes also what is older
  than that. A lag of 0 rounds is news of this round, which still is late: T does not learn of its ISR, and stays untold.
* T that late news makes ready knows the ISR that it was elected with.
* A superseded leader that late news makes one takes its epoch into its cache only where leaders do so at once (not before
  KIP-279); nothing of it is committed by that.
* Without the feature of eligible leader replicas an initial ELR is left aside, and an initial ISR that is empty means all.
* Initial records without `record_bytes` are 1000 bytes each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .accounting import Ledger
from .broker_status import BrokerRound, broker_rounds, link_is_cut, news_lag, rounds_without_controller, stale_rounds
from .causes import causes_of
from .log import Log, Record, initial_log
from .rules import REAL, Rules
from .settings import Settings, fetching_of

NO_LEADER = -1
DEFAULT_RECORD_BYTES = 1000


@dataclass(frozen=True)
class LateResponse:
    """Data that a leader sent before its follower learned of another one (`Rules.response_in_leader_epoch`)."""

    leader: int
    offset: int
    chunk: list[Record]
    hw: int


@dataclass
class Replica:
    """One replica. It leads, or thinks so, in `leading_epoch`; everybody believes in a (leader, epoch)."""

    broker: int
    log: Log = field(default_factory=Log)
    hw: int = 0
    checkpoint: int = 0
    believed_leader: int = NO_LEADER
    believed_epoch: int = -1
    leading_epoch: int | None = None
    credit_bytes: int = 0
    truncating: bool = False
    late_response: LateResponse | None = None

    def lower_hw(self, hw: int) -> None:
        """Take a high watermark that may be below the old one; it stays within (local) log start and LEO."""
        self.hw = max(self.log.local_log_start, min(self.log.leo, hw))


@dataclass
class Progress:
    """What the leader knows of one follower; None is unknown, or never. `in_line`: a fetch of it was noted."""

    remote_leo: int | None = None
    caught_up_round: int | None = None
    previous_round: int | None = None
    previous_leader_leo: int | None = None
    in_line: bool = False


@dataclass
class Leadership:
    """T, the client leader, in one epoch, and what it knows. It is ready when its replica leads in this epoch.

    `asked_in_vain`: what is pending was asked of a controller that knows better by now. `owes_from`: where the log ended
    when its broker began to lead; what it appended since then has producers that wait, in whichever epoch; None: it was
    not told yet.
    """

    broker: int
    epoch: int
    start_offset: int
    known_isr: set[int]
    progress: dict[int, Progress]
    pending_joins: set[int] = field(default_factory=set)
    pending_shrinks: set[int] = field(default_factory=set)
    asked_in_vain: bool = False
    owes_from: int | None = None


@dataclass
class Controller:
    """What the controller holds of the partition; an unfinished reassignment has `adding` or `removing`.

    `recovery_answers` are (last epoch, LEO) of the replicas that it asked in the round before (elr.py).
    """

    replicas: list[int]
    isr: set[int]
    leader: int
    epoch: int
    adding: set[int] = field(default_factory=set)
    removing: set[int] = field(default_factory=set)
    elr: set[int] = field(default_factory=set)
    last_known_elr: set[int] = field(default_factory=set)
    recovery_answers: dict[int, tuple[int, int]] = field(default_factory=dict)


class Clients(Protocol):
    """Producers that send no more than they may."""

    def sent(self, now: int) -> list[tuple[int, int, int]]:
        """Of what is due, and of what waits: (round in which it was due, place of its row, records), the oldest first."""


class Partition:
    """Everything of one partition in one round; `now` is the round.

    Tiered storage is a subclass (tiered/partition.py); what it does otherwise are methods and attributes here.
    """

    settings_type = Settings

    def __init__(self, case: Mapping[str, Any]) -> None:
        self.case = case
        self.protocol: str = case.get("protocol", "kafka")
        self.rules: Rules = case.get("rules", REAL)
        self.has_elr = int((case.get("features") or {}).get("eligible.leader.replicas.version", 0)) == 1
        self.now = 0
        self.faults: Sequence[Mapping[str, Any]] = case.get("faults", [])
        self.link_cuts = self._faults_of("link_cut")
        self.stale = self._faults_of("stale_metadata")
        self.slow = self._faults_of("slow_link", "slow_disk")
        self.rounds_without_controller = rounds_without_controller(self.faults, case["rounds"])
        self.fetching = fetching_of(case)
        self.settings = self.settings_type(case["round_ms"], case.get("config", {}), case.get("topic_config", {}))
        self.history = {
            broker: broker_rounds(broker, case["racks"].get(broker), self.faults, case["rounds"], case["session_timeout_rounds"])
            for broker in case["brokers"]
        }
        self.stale_rounds = stale_rounds(self.faults, case["rounds"])
        self.deaf_rounds = self.stale_rounds | {
            (broker, round_)
            for broker, history in self.history.items()
            for round_, status in enumerate(history)
            if status.offline or status.paused or status.isolated
        }
        """(broker, round) wherever news of the round does not reach the broker even at its end."""
        every_fault = case.get("all_faults", self.faults)
        self.causes = {
            broker: causes_of(broker, case["racks"].get(broker), every_fault, case["rounds"]) for broker in case["brokers"]
        }
        self.ledger = Ledger()
        self.coverage: Counter[str] = Counter()
        self.refusing: tuple[int, int] | None = None  # (broker, records) of the last round
        self.unacked = 0  # records of T that waited for an acknowledgement at the end of the last round
        self.appended_before = 0  # records appended in earlier rounds
        self.taken_on_append = 0  # records with acks 0 or 1 that T appended in this round
        self.noted: dict[int, int] = {}
        self.fetch_states: dict[int, str] = {}
        self.quotas: dict[int, int] = {}
        """By follower: bytes a round that shared budgets leave it (bandwidth/); who is not in it has no quota."""
        self.clients: Clients | None = None
        """What producers may send, where budgets hold them back (bandwidth/)."""
        self.carried: list[tuple[int, int, int, int]] = []
        """(round, leader, follower, bytes) of each fetch that brought something."""
        self.produced: list[tuple[int, int, int]] = []
        """(round, leader, bytes) of what was appended for clients."""
        self.damaged: list[tuple[int, int, int]] = []
        """(broker, LEO before, LEO after) of those that lost records to a fault in this round."""
        self._start()
        # What the controller held at the start, and at the end of every round so far.
        self.announced = [(self.controller.leader, self.controller.epoch)]
        # What was held before the last reassign command that adds replicas reaches nobody late.
        self.oldest_news = 0

    def _faults_of(self, *kinds: str) -> list[Mapping[str, Any]]:
        return [fault for fault in self.faults if fault["kind"] in kinds]

    def empty_log(self) -> Log:
        """The log of a replica that has nothing."""
        return Log()

    def given_log(self, given: Mapping[str, Any]) -> Log:
        """The log of a replica as `initial` gives it."""
        return initial_log(
            given.get("log_start_offset", 0),
            given["leo"],
            given["epochs"],
            given.get("flushed_offset"),
            given.get("record_bytes", DEFAULT_RECORD_BYTES),
        )

    def may_fetch(self, follower: Replica) -> bool:
        """Whether the follower fetches in this round, if it can: always, unless it has to do something else first."""
        return True

    def preferred_first(self, brokers: Sequence[int]) -> list[int]:
        """Brokers that an election may choose from, in replica order, in the order in which it takes them: the same."""
        return list(brokers)

    def start_again(self, follower: Replica, leader: Replica) -> str:
        """What a follower does about an offset that its leader does not have itself. Returns its fetch state."""
        self.ledger.counts["truncated"] += follower.log.restart_at(leader.log.log_start)
        follower.hw = follower.log.leo
        return "out_of_range"

    def status(self, broker: int) -> BrokerRound:
        """The broker in this round."""
        return self.history[broker][self.now]

    def cause_of(self, broker: int) -> int | None:
        """The fault behind what happens to the broker in this round."""
        return self.causes[broker][self.now]

    @property
    def min_insync_replicas(self) -> int:
        """Members that the ISR needs: of a partition with fewer replicas all of them."""
        return min(self.settings.min_insync_replicas, len(self.controller.replicas))

    @property
    def controller_up(self) -> bool:
        """Whether the controller runs in this round."""
        return self.now not in self.rounds_without_controller

    def is_untold(self, broker: int) -> bool:
        """Whether news of this round does not reach the broker while the round lasts."""
        return self.is_deaf(broker) or self.status(broker).waking or (broker, self.now - 1) in self.stale_rounds

    def is_deaf(self, broker: int) -> bool:
        """Whether news of this round does not reach the broker even at its end."""
        return (broker, self.now) in self.deaf_rounds

    def news_for(self, replica: Replica) -> tuple[int, int] | None:
        """The (leader, epoch) that the replica learns at the end of this round, or None."""
        if not self.is_deaf(replica.broker):
            return self.announced[-1]
        lag = news_lag(replica.broker, self.stale, self.now)
        status = self.status(replica.broker)
        if lag is None or not status.running or status.isolated:
            return None
        at = max(self.now + 1 - lag, 0)
        if at < self.oldest_news:
            return None
        late = self.announced[at]
        return late if late[1] > replica.believed_epoch else None

    def message_passes(self, sender: int, receiver: int) -> bool:
        """Whether a message arrives: neither end is isolated, but with the other one, and the link is not cut."""
        is_isolated = self.status(sender).isolated or self.status(receiver).isolated
        if is_isolated and not self.are_rack_mates(sender, receiver, self.now):
            return False
        return not link_is_cut(sender, receiver, self.link_cuts, self.now)

    def are_rack_mates(self, one: int, other: int, round_: int) -> bool:
        """Whether two brokers are cut off together, with their rack and by nothing else."""
        rack, rack_of_other = (self.case["racks"].get(broker) for broker in (one, other))
        both = all(self.history[broker][round_].cut_off_with_rack for broker in (one, other))
        return both and rack == rack_of_other

    @property
    def client_leader(self) -> Replica | None:
        """T's replica, or None when there was no leader yet or its replica was dropped."""
        return None if self.leadership is None else self.replicas.get(self.leadership.broker)

    def working_leader(self) -> tuple[Leadership, Replica] | None:
        """T, if it runs and is ready."""
        replica = self.client_leader
        if self.leadership is None or replica is None or not self.status(replica.broker).running:
            return None
        return (self.leadership, replica) if replica.leading_epoch == self.leadership.epoch else None

    def isr_known_to(self, leadership: Leadership) -> set[int]:
        """The ISR as T knows it: the controller's, unless nobody could tell T."""
        return leadership.known_isr if self.is_untold(leadership.broker) else self.controller.isr

    def is_unfenced(self, broker: int) -> bool:
        """Whether the controller counts the broker as alive, at the end of its registrations of this round."""
        return not self.status(broker).fenced

    def tell_leadership(self, replica: Replica, leadership: Leadership) -> None:
        """T learns that it leads."""
        if leadership.owes_from is None or replica.leading_epoch is None:
            leadership.owes_from = replica.log.leo
        self.take_lead(replica, leadership.epoch)
        leadership.start_offset = replica.log.leo
        self.ledger.commit(replica.log, replica.hw)

    def take_lead(self, replica: Replica, epoch: int) -> None:
        """Who leads puts the epoch into its cache at its LEO, before KIP-279 only with its first append."""
        if self.protocol in ("kafka", "kafka-kip279"):
            replica.log.cache.assign(epoch, replica.log.leo)
        replica.truncating = False
        replica.leading_epoch = replica.believed_epoch = epoch
        replica.believed_leader = replica.broker

    def _start(self) -> None:
        initial = self.case.get("initial") or {}
        given: Mapping[int, Mapping[str, Any]] = initial.get("replicas") or {}
        order = list(self.case["replicas"])
        leader = initial.get("leader", order[0])
        epoch = initial.get("leader_epoch")
        if epoch is None:
            epoch = max((entry[0] for one in given.values() for entry in one.get("epochs", ())), default=0)
        isr, elr = set(initial.get("isr") or order), set()
        if self.has_elr:
            isr, elr = set(initial.get("isr", order)), set(initial.get("elr") or ())
        self.controller = Controller(order, isr, leader, epoch, elr=elr)
        self.replicas = {broker: self._initial_replica(broker, given.get(broker)) for broker in order}
        for replica in self.replicas.values():
            replica.believed_leader, replica.believed_epoch = leader, epoch
        self.leadership: Leadership | None = None
        if leader != NO_LEADER:
            self._start_leadership(self.replicas[leader], epoch, leader in given)

    def _start_leadership(self, replica: Replica, epoch: int, cache_given: bool) -> None:
        if not cache_given:
            replica.log.cache.assign(0, 0)
        replica.leading_epoch = epoch
        starts = [start for known, start in replica.log.cache.entries if known == epoch]
        start_offset = starts[0] if starts else replica.log.leo
        self.leadership = Leadership(
            broker=replica.broker,
            epoch=epoch,
            start_offset=start_offset,
            owes_from=start_offset,
            known_isr=set(self.controller.isr),
            progress={
                other.broker: Progress(None if other.log.leo else 0, 0, -1, 0)
                for other in self.replicas.values()
                if other is not replica
            },
        )
        workload = self.case.get("workload") or []
        self.ledger.start(replica.log, replica.hw, str(workload[0]["acks"]) if workload else "all")

    def _initial_replica(self, broker: int, given: Mapping[str, Any] | None) -> Replica:
        if given is None:
            return Replica(broker, self.empty_log())
        return Replica(broker, self.given_log(given), given["hw"], given["hw"])
