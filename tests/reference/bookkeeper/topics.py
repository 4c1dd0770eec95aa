"""A Pulsar topic as a list of ledgers (docs/bookkeeper_rounds.md, "Topics"): rolled over, deleted whole, taken over.

    play_topic(case) -> Topic

A case is that of a ledger (simulate.py; `workload` brings messages), with Pulsar's config keys in `config` or `topic_config`,
`record_bytes` in the workload rows, `copy_bytes_per_second` of the remote store, and the commands take_over: another broker
serves the topic from that round on, and read_topic. check_ledger is of all its ledgers; `replicas`, `initial` and what else
clients are told to do with a ledger mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.reference.broker_status import covers

from .auditor import lost_by_round
from .bookie import NO_LAC
from .causes import numbered
from .invariants import Violation, Watch
from .ledger import Ledger, statuses_of
from .losses import losses
from .metadata import CLOSED
from .offload import DEFAULTS as OFFLOAD_DEFAULTS
from .offload import in_outage, offload
from .old_ledgers import FAILURE, delete_old, looks_at_retention, roll_over, why_full
from .placement import NotEnoughBookies
from .readers import begin_reading_list, go_on_reading
from .rules import REAL, Rules
from .simulate import play_round
from .slow_rates import sizes_of
from .status import store_outages
from .writer import CRASHED, FENCED_OFF, LEDGER_FENCED, OK, SHUT, WRITING

DEFAULTS: dict[str, Any] = {
    "managedLedgerMaxEntriesPerLedger": 50_000,
    "managedLedgerMaxSizePerLedgerMbytes": 2048,
    "managedLedgerMinLedgerRolloverTimeMinutes": 10,
    "managedLedgerMaxLedgerRolloverTimeMinutes": 240,
    "defaultRetentionTimeInMinutes": 0,
    "defaultRetentionSizeInMB": 0,
    "retentionCheckIntervalInSeconds": 120,
    **OFFLOAD_DEFAULTS,
}
FENCE_LAST = 2

RECOVER, WAIT, CREATE, WRITE, CLOSE, STOPPED = "recover", "wait", "create", "write", "close", "stopped"
PASSED_ON = ("check_ledger", "decommission_bookie", "add_bookie")
"""Commands that every ledger of the list obeys."""


@dataclass
class Part:
    """One ledger of the list: `messages` are its entries' in order, as far as its owner handed them over.

    `dropped_round`: when somebody wrote a list without it over the one that had it (a mutant does).
    """

    ledger: Ledger
    watch: Watch
    number: int
    owner: int
    created_round: int
    messages: list[int] = field(default_factory=list)
    results_seen: int = 0
    closed_round: int | None = None
    deleted_round: int | None = None
    dropped_round: int | None = None
    copied_bytes: int = 0
    copy_errors: int = 0
    given_up_bytes: int = 0
    offloaded_round: int | None = None
    freed_round: int | None = None
    rolled_over: str | None = None

    @property
    def entries(self) -> int:
        """So many it has, acknowledged or recovered."""
        last = self.ledger.metadata.last_entry
        return (self.ledger.writer.lac if last is None else last) + 1


@dataclass
class Owner:
    """A broker that serves, or served, the topic. `known` is the list as it knows it, with its `version`."""

    number: int
    phase: str
    version: int = 0
    known: list[Part] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)
    part: Part | None = None
    waits_for: list[Part] = field(default_factory=list)
    cause: int | None = None
    """The fault for which it adds its next ledger."""

    @property
    def name(self) -> str:
        """What its recoveries are called."""
        return f"owner-{self.number}"

    @property
    def unacked(self) -> int:
        """Messages that it was given and hasn't acknowledged."""
        in_flight = 0 if self.part is None else len(self.part.messages) - self.part.ledger.writer.lac - 1
        return len(self.queue) + in_flight


def losses_of(part: Part) -> tuple[int, int, int]:
    """Acknowledged entries of a ledger of the list that are lost, unreadable and under-replicated at the end."""
    lac, last = part.ledger.writer.lac, part.ledger.metadata.last_entry
    if part.dropped_round is not None:
        return lac + 1, 0, 0
    if part.deleted_round is not None:
        return 0 if last is None else max(0, lac - last), 0, 0
    return losses(part.ledger)


class Topic:
    """The list of ledgers, who owns it and who did, and which messages were acknowledged."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        self.case = case
        self.given = {**DEFAULTS, **case.get("config", {}), **case.get("topic_config", {})}
        self.now = 0
        self.version = 0
        self.parts: list[Part] = []
        self.rules: Rules = case.get("rules", REAL)
        self.owners = [Owner(0, CREATE)]
        self.messages = 0
        self.sizes = sizes_of(case)
        self.acked: list[int] = []
        self.offloading: Part | None = None
        self.due: list[Part] = []
        self.looks_for_due = False
        self.unwritable_rounds = 0
        self.unacked_rounds = 0
        self.violations: list[Violation] = []
        self.faults = numbered(case.get("faults", []))
        self.statuses = statuses_of(case)
        """Of all its ledgers: they are of the same bookies."""
        self.lost = lost_by_round(case, self.statuses)
        self.store_outages = store_outages(self.faults, case["rounds"])
        self.list_went_on_round: int | None = None
        """The last round in which its last owner put a new ledger behind others."""
        self.crash_cause: int | None = None
        """The client_crash that took who serves the topic."""
        if "given_list" in case:
            self.parts = given_parts(self, case["given_list"])
            newest = self.parts[-1]
            state = newest.ledger.metadata.state
            phase = {"OPEN": WRITE, "CLOSED": CREATE}.get(state, RECOVER)
            self.version = len(self.parts)
            own = newest if phase == WRITE else None
            self.owners = [Owner(0, phase, version=self.version, known=list(self.parts), part=own)]
        self.events: list[tuple[int, str, int | None, int | None]] = []
        """(round, kind, number of the ledger, cause)."""

    @property
    def store_up(self) -> bool:
        """The metadata store answers."""
        return self.now not in self.store_outages

    @property
    def alive(self) -> list[Part]:
        """The ledgers that aren't deleted."""
        return [part for part in self.parts if part.deleted_round is None]

    @property
    def listed(self) -> list[Part]:
        """The ledgers of the list."""
        return [part for part in self.alive if part.dropped_round is None]

    def event(self, kind: str, part: Part | None = None, cause: int | None = None) -> None:
        """Note what happened."""
        self.events.append((self.now, kind, None if part is None else part.number, cause))

    @property
    def readable(self) -> list[int]:
        """The messages that a reader gets from the ledgers of the list, in order."""
        return [message for part in self.listed for message in part.messages[: part.entries]]

    def bytes_of(self, part: Part) -> int:
        """Bytes of a ledger's entries, as rollover and retention count them."""
        sizes = [row.get("record_bytes", 1000) for row in self.case.get("workload", [])]
        return part.entries * max(sizes, default=0)

    def rounds(self, key: str, unit_ms: int) -> float:
        """A time of the config in rounds."""
        return float(self.given[key] * unit_ms / self.case["round_ms"])


def given_parts(topic: Topic, given: Sequence[Mapping[str, Any]]) -> list[Part]:
    """The list that a topic starts with: {"state", "last_entry", "fragments": {first entry: ensemble}, "offloaded"}, by ledger.

    Messages from before the run are below 0. Ages begin in round 0. Without fragments bookies haven't got it any more.
    """
    parts: list[Part] = []
    next_message = -sum(one["last_entry"] + 1 for one in given)
    for number, one in enumerate(given):
        part = _new_part(topic, topic.owners[0], _start_of(topic, one))
        part.number = number
        ledger, end = part.ledger, one["last_entry"] + 1
        part.messages = list(range(next_message, next_message + end))
        part.results_seen = len(ledger.writer.results)
        ledger.slowness.sizes = [one["bytes"] // max(1, end)] * end
        next_message += end
        ledger.writer.lac, ledger.writer.next_entry = end - 1, end
        ledger.writer.explicit_lac = max(end - 2, NO_LAC)
        ledger.metadata.state = one["state"]
        ledger.writer.state = {"OPEN": WRITING, "CLOSED": SHUT}.get(one["state"], CRASHED)
        if one["state"] == CLOSED:
            ledger.metadata.last_entry, part.closed_round = end - 1, 0
        if one["offloaded"]:
            part.offloaded_round, ledger.offloaded = 0, True
        if not one["fragments"]:
            part.freed_round = 0
        part.watch = Watch(ledger)
        parts.append(part)
    return parts


def _start_of(topic: Topic, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a ledger starts with: every bookie of its fragments has its share, each header the entry before."""
    fragments, end = dict(given["fragments"]), given["last_entry"] + 1
    entries: dict[int, dict[int, int]] = {}
    write = {**topic.given}.get("writeQuorumSize", 2)
    for entry in range(end if fragments else 0):
        ensemble = fragments[max(first for first in fragments if first <= entry)]
        for step in range(write):
            entries.setdefault(ensemble[(entry + step) % len(ensemble)], {})[entry] = entry - 1
    return {"fragments": fragments, "entries": entries, "lac": end - 1}


def play_topic(case: Mapping[str, Any]) -> Topic:
    """Play all rounds."""
    topic = Topic(case)
    for now in range(case["rounds"]):
        topic.now = now
        _take_inputs(topic)
        if topic.store_up:
            for owner in topic.owners:
                _use_list(topic, owner)
        for owner in topic.owners:
            _hand_over(topic, owner)
        acked_before = len(topic.acked)
        begin_reading_list(topic, store_up=not in_outage(topic))
        for part in topic.parts:
            part.ledger.now = now
            if part.deleted_round is not None or part.freed_round is not None:
                go_on_reading(part.ledger)  # bookies have it until they collect garbage
                continue
            play_round(part.ledger)
            topic.violations += part.watch.look()
            if part.ledger.metadata.state == CLOSED and part.closed_round is None:
                part.closed_round = now
        for owner in topic.owners:
            _take_results(topic, owner)
        unacked = topic.owners[-1].unacked
        topic.unwritable_rounds += unacked > 0 and len(topic.acked) == acked_before
        topic.unacked_rounds += unacked
        for part in topic.alive:
            if part.dropped_round is not None and part.ledger.writer.lac >= 0:
                topic.violations.append(Violation(now, "AckedMessagesAreListed", f"ledger {part.number}"))
        retention_is_looked_at = looks_at_retention(topic)
        if retention_is_looked_at:
            delete_old(topic)
        offload(topic, retention_is_looked_at)
    return topic


def _take_inputs(topic: Topic) -> None:
    for command in topic.case.get("commands", []):
        if command["kind"] == "take_over" and command["round"] == topic.now:
            topic.owners.append(Owner(len(topic.owners), RECOVER, cause=topic.crash_cause))
            topic.crash_cause = None
            topic.event("take_over", cause=topic.owners[-1].cause)
    for fault in topic.faults:
        if fault["kind"] == "client_crash" and fault["from_round"] == topic.now:
            topic.crash_cause = fault["fault_id"]
            if topic.owners[-1].part is None:
                topic.owners[-1].phase = STOPPED
    for row in topic.case.get("workload", []):
        if covers(row, topic.now):
            due = range(topic.messages, topic.messages + row["records_per_round"])
            topic.owners[-1].queue += due
            topic.messages += len(due)


def _use_list(topic: Topic, owner: Owner) -> None:
    """What an owner does with the list in the metadata store: read it and fence its end, or add a new ledger to it."""
    if owner.phase == RECOVER:
        owner.version, owner.known = topic.version, topic.listed
        owner.waits_for = topic.listed[-FENCE_LAST:]
        for part in owner.waits_for:
            if part.freed_round is None:
                part.ledger.start_recovery(owner.name, cause=owner.cause)
        owner.phase = WAIT
    elif owner.phase == WAIT and all(part.ledger.metadata.state == CLOSED for part in owner.waits_for):
        owner.phase = CREATE
    if owner.phase != CREATE:
        return
    if topic.rules.list_is_checked and owner.version != topic.version:
        # Somebody else changed the list: the new owner looks again, an old one gives up.
        owner.phase = RECOVER if owner is topic.owners[-1] else STOPPED
        return
    try:
        owner.part = _new_part(topic, owner)
    except NotEnoughBookies:
        return
    if topic.listed and owner is topic.owners[-1]:
        topic.list_went_on_round = topic.now
    for part in topic.listed:
        if owner.version != topic.version and part not in owner.known:
            part.dropped_round = topic.now  # the list that is written doesn't have it
    topic.parts.append(owner.part)
    topic.event("ledger_created", owner.part, owner.cause)
    owner.cause = None
    topic.version += 1
    owner.version, owner.known = topic.version, topic.listed
    owner.phase = WRITE


def _new_part(topic: Topic, owner: Owner, start: Mapping[str, Any] | None = None) -> Part:
    """The n-th ledger takes its bookies from number n on, among those that are registered."""
    own = {key: value for key, value in topic.case.items() if key not in ("replicas", "initial")}
    faults = [one for one in topic.faults if one["kind"] != "client_crash" or one["from_round"] > topic.now]
    commands = [one for one in topic.case.get("commands", []) if one["kind"] in PASSED_ON]
    left = {one["broker"] for one in commands if one["kind"] == "decommission_bookie" and one["round"] <= topic.now}
    case = {**own, "workload": [], "commands": commands, "faults": faults}
    if start is not None:
        replicas = list(start["fragments"].values())[-1:] or [topic.case["brokers"][: topic.given.get("ensembleSize", 3)]]
        case |= {"initial": start, "replicas": replicas[0], "faults": topic.faults}
    ledger = Ledger(case, topic.now, first_bookie=len(topic.parts), decommissioned=left, statuses=topic.statuses, lost=topic.lost)
    windows = [row.get("max_in_flight", 1) for row in topic.case.get("workload", [])]
    ledger.writer.window_size = max(windows, default=1)
    return Part(ledger, Watch(ledger), len(topic.parts), owner.number, topic.now)


def _hand_over(topic: Topic, owner: Owner) -> None:
    """Messages go to the ledger that the owner writes; those that it can't send yet wait in its queue."""
    if owner.phase != WRITE or owner.part is None or owner.part.deleted_round is not None:
        return
    writer = owner.part.ledger.writer
    room = max(0, writer.window_size - len(writer.window.pending)) if writer.state == WRITING else 0
    taken, owner.queue = owner.queue[:room], owner.queue[room:]
    owner.part.messages += taken
    owner.part.ledger.slowness.sizes += [topic.sizes[message] for message in taken]
    writer.queued += len(taken)


def _take_results(topic: Topic, owner: Owner) -> None:
    """Acknowledge messages; go on to the next ledger when this one is full or failed, with what wasn't acknowledged."""
    part = owner.part
    if part is None or part.deleted_round is not None:
        return
    writer = part.ledger.writer
    new = writer.results[part.results_seen :]
    topic.acked += [part.messages[entry] for entry, result in new if result == OK]
    part.results_seen = len(writer.results)
    taken_over = owner is not topic.owners[-1] and any(result == LEDGER_FENCED for _, result in new)
    if writer.state == CRASHED or taken_over:  # who serves the topic goes on when it is fenced, an old owner doesn't
        owner.queue = part.messages[writer.lac + 1 :] + owner.queue
        owner.part, owner.phase = None, STOPPED
    elif writer.state in (SHUT, FENCED_OFF):
        owner.queue = part.messages[writer.lac + 1 :] + owner.queue
        roll_over(topic, part, FAILURE, writer.stop_cause)
        owner.part, owner.phase, owner.cause = None, CREATE, writer.stop_cause
    elif writer.state == WRITING:
        if owner.phase == WRITE and topic.store_up and (why := why_full(topic, part)) is not None:
            roll_over(topic, part, why)
            owner.phase = CLOSE  # nothing new; what is in flight gets done
        if owner.phase == CLOSE and not writer.window.pending:
            writer.ask_to_close()
