"""One ledger with everybody who has to do with it: the state that a round of docs/bookkeeper_rounds.md moves on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .auditor import lost_by_round
from .bookie import NO_LAC, OK, Bookie
from .causes import causes_of_bookie, numbered
from .drawn_placement import draw_of
from .metadata import CLOSED, OPEN, Fragment, Metadata
from .operations import Operations
from .placement import LOWEST_FREE_ID, Placement
from .questions import Question
from .readers import Reader
from .recovery import Recovery
from .repair import Repair
from .rules import REAL, Rules
from .settings import settings_of
from .slow import LateAdd, lag_of
from .slow_rates import Slowness, sizes_of
from .status import BookieRound, bookie_rounds, store_outages
from .window import Message, Window
from .writer import CRASHED, SHUT, WRITING, Writer

Case = Mapping[str, Any]

NOT_THERE = BookieRound(
    dead=True, paused=False, silent=False, registered=False, restarted=False, crashed=False, power_lost=False, disk_lost=False,
    clean_stop=False,
)  # fmt: skip
"""A bookie that hasn't joined yet."""


@dataclass
class Opening:
    """A client that opens the ledger without recovery, and the LAC that it finds (None while it waits for the store)."""

    round: int
    asked_round: int | None = None
    told: dict[int, int] = field(default_factory=dict)
    """By index the LACs that it was told."""
    awaited: dict[int, Question] = field(default_factory=dict)
    lac: int | None = None
    error: str | None = None


class Ledger:
    """A ledger from its creation on; `case` as in simulate.py.

    `first_bookie`: which of the registered ones an ensemble that the policy chooses is taken from on. `statuses`: what the faults
    say of bookies, and `lost`: whom the auditor takes for lost in each round, where that is known.
    """

    def __init__(
        self,
        case: Case,
        now: int = 0,
        first_bookie: int = 0,
        decommissioned: Iterable[int] = (),
        statuses: Mapping[int, Sequence[BookieRound]] | None = None,
        lost: Sequence[frozenset[int]] | None = None,
    ) -> None:
        self.case = case
        self.now = now
        self.started = False
        self.settings = settings_of(case)
        self.quorums = self.settings.quorums
        self.rules: Rules = case.get("rules", REAL)
        self.faults = numbered(case.get("faults", []))
        self.store_outages = store_outages(self.faults, case["rounds"])
        self.statuses = statuses_of(case) if statuses is None else statuses
        self.lost = lost_by_round(case, self.statuses) if lost is None else lost
        self._causes: dict[int, list[int | None]] = {}
        self.decommissioned = set(decommissioned)
        self.damaged: set[int] = set()
        self.lost_to_faults = False  # some bookie lost an entry of it, or its fence
        self.damage_causes: dict[int, int | None] = {}
        self.last_damage: int | None = None
        """The fault that took an entry or a fence last."""
        self.offloaded = False
        self.served: Counter[int] = Counter()
        """Bytes that readers and offloading read, by bookie."""
        self.reader_bytes = self.reader_remote_bytes = self.offload_read_bytes = 0
        self.bookies = {broker: Bookie(broker) for broker in case["brokers"]}
        self.placement = Placement(
            policy=case.get("placement", LOWEST_FREE_ID),
            quorums=self.quorums,
            racks=case.get("racks", {}),
            min_racks=self.settings.min_racks,
            enforce_min_racks=self.settings.enforce_min_racks,
            draw=lambda index, bookie: draw_of(case.get("seed", 0), 0, first_bookie, self.now, index, bookie),
        )
        chosen = case["replicas"] if "replicas" in case else self.placement.new_ensemble(self.registered, first_bookie)
        ensemble = list(chosen)
        self.metadata = Metadata([Fragment(0, ensemble)])
        self.writer = Writer(
            window=Window(
                client="writer",
                quorums=self.quorums,
                ensemble=list(ensemble),
                recovery=False,
                timeout_rounds=self.settings.add_timeout_rounds,
                delay_ensemble_change=self.settings.delay_ensemble_change,
            ),
            metadata=self.metadata,
            placement=self.placement,
        )
        self.recoveries: list[Recovery] = []
        self.openings: list[Opening] = []
        self.readers: list[Reader] = []
        self.new_readers = 0
        """Readers of its list that begin in this round."""
        self.repair = Repair()
        self.operations = Operations()
        self.network: list[Message] = []
        self.late_adds: list[LateAdd] = []
        self.slowness = Slowness(sizes_of(case))
        self.acked_in_round: dict[int, int] = {}
        self.events: list[dict[str, Any]] = []
        self.asked: dict[int, list[str]] = {broker: [] for broker in case["brokers"]}
        """What each bookie was asked by recoveries, and its answers, in the words of the real runs' traces."""
        self.coverage: Counter[str] = Counter()

        self._start_from(case.get("initial", {}))

    def _start_from(self, initial: Mapping[str, Any]) -> None:
        """Start from what is there: fragments, entries with their headers, what the writer acknowledged."""
        fragments = initial.get("fragments")
        if fragments:
            self.metadata.fragments[:] = [Fragment(first, list(ensemble)) for first, ensemble in sorted(fragments.items())]
            self.writer.window.ensemble = list(self.metadata.last.ensemble)
        for broker, entries in initial.get("entries", {}).items():
            self.bookies[broker].entries = dict(entries)
            self.bookies[broker].flush()
        self.writer.lac = initial.get("lac", NO_LAC)
        self.writer.explicit_lac = max(self.writer.lac - 1, NO_LAC)
        self.writer.results = [(entry, OK) for entry in range(self.writer.lac + 1)]
        stored = [entry for bookie in self.bookies.values() for entry in bookie.entries]
        self.writer.next_entry = max([self.writer.lac, *stored]) + 1
        if "state" in initial:
            self._be_given(initial["state"], initial["bytes"])

    def _be_given(self, state: str, size_bytes: int) -> None:
        """A scenario's ledger that is there before round 0: its writer goes on, is shut, or is gone in the midst of it."""
        end = self.writer.next_entry
        self.slowness.sizes[:0] = [size_bytes // max(1, end)] * end
        self.metadata.state = state
        self.writer.state = {OPEN: WRITING, CLOSED: SHUT}.get(state, CRASHED)
        self.metadata.last_entry = end - 1 if state == CLOSED else None

    def status(self, broker: int) -> BookieRound:
        """What the faults say of a bookie in this round."""
        return self.statuses[broker][self.now]

    def is_dead(self, broker: int) -> bool:
        """Connections to the bookie break."""
        return self.status(broker).dead

    def is_heard(self, broker: int) -> bool:
        """The bookie gets what clients send, and they get its answers."""
        return self.status(broker).heard

    @property
    def store_up(self) -> bool:
        """The metadata store answers."""
        return self.now not in self.store_outages

    @property
    def registered(self) -> list[int]:
        """The bookies that an ensemble may take: as the store said last, since it tells nobody anything while it is away."""
        told = next((then for then in range(self.now, 0, -1) if then not in self.store_outages), 0)
        gone = self.decommissioned
        return [one for one, rounds in self.statuses.items() if rounds[told].registered and one not in gone]

    def cause_of(self, broker: int) -> int | None:
        """The fault behind what happens to a bookie in this round."""
        if broker not in self._causes:
            rack = self.case.get("racks", {}).get(broker)
            self._causes[broker] = causes_of_bookie(broker, rack, self.faults, self.case["rounds"])
        return self._causes[broker][self.now]

    def lag_of(self, broker: int) -> tuple[int, int | None]:
        """(rounds by which a bookie answers late, the fault behind it)."""
        return lag_of(self.faults, broker, self.now)

    @property
    def newest_cause(self) -> int | None:
        """The fault behind the newest recovery."""
        return self.recoveries[-1].cause if self.recoveries else None

    def start_recovery(self, name: str, retry: bool = True, cause: int | None = None) -> None:
        """Let another client open the ledger with recovery, unless it is about it."""
        if any(one.name == name and one.running for one in self.recoveries):
            return
        recovery = Recovery(name, self.metadata, self.quorums, self.settings, self.placement, self.rules, retry, cause)
        recovery.started_round = self.now
        self.recoveries.append(recovery)
        self.coverage["recovery"] += 1

    def event(
        self,
        kind: str,
        broker: int | None = None,
        from_offset: int | None = None,
        to_offset: int | None = None,
        *,
        cause: int | None,
        records: int | None = None,
    ) -> None:
        """Note what happened; `cause`: the fault behind it, `records`: how many entries it is about, if not all of these."""
        own = {"kind": kind, "broker": broker, "from_offset": from_offset, "to_offset": to_offset}
        self.events.append({"round": self.now, **own, "cause": cause, "records": records})

    def reader_lac(self) -> int | None:
        """What a client without recovery takes for the LAC: the largest of the answers, None if too few answer."""
        if self.metadata.last_entry is not None:
            return self.metadata.last_entry
        ensemble = self.metadata.last.ensemble
        heard = [index for index, one in enumerate(ensemble) if self.is_heard(one) and not self.bookies[one].limbo]
        if not self.quorums.covered(heard):
            return None
        return max((self.bookies[ensemble[index]].lac for index in heard), default=NO_LAC)


def statuses_of(case: Case) -> dict[int, list[BookieRound]]:
    """What the faults say of every bookie, by round; who joins comes back from nowhere in the round of its command."""
    racks, timeout = case.get("racks", {}), case.get("session_timeout_rounds", 18)
    joins = {c["broker"]: c["round"] for c in case.get("commands", []) if c["kind"] == "add_bookie"}
    found = {}
    for broker in case["brokers"]:
        rounds = bookie_rounds(broker, racks.get(broker), case.get("faults", []), case["rounds"], timeout)
        joined = min(joins.get(broker, 0), len(rounds))
        rounds[:joined] = [NOT_THERE] * joined
        rounds[joined : joined + 1] = [replace(one, restarted=False) for one in rounds[joined : joined + 1]]
        found[broker] = rounds
    return found
