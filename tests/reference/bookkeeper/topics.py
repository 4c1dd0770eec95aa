"""A Pulsar topic as a list of ledgers (docs/bookkeeper_rounds.md, "Topics"): rolled over, deleted whole, taken over.

    play_topic(case) -> Topic

A case is that of a ledger (simulate.py; `workload` brings messages), with Pulsar's config keys in `config` or `topic_config`,
`record_bytes` in the workload rows, and the command take_over: another broker serves the topic from that round on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .invariants import Violation, Watch
from .ledger import Ledger
from .metadata import CLOSED
from .placement import NotEnoughBookies
from .simulate import play_round
from .status import covers, store_is_up
from .writer import CRASHED, FENCED_OFF, LEDGER_FENCED, OK, SHUT, WRITING

DEFAULTS: dict[str, Any] = {
    "managedLedgerMaxEntriesPerLedger": 50_000,
    "managedLedgerMaxSizePerLedgerMbytes": 2048,
    "managedLedgerMinLedgerRolloverTimeMinutes": 10,
    "managedLedgerMaxLedgerRolloverTimeMinutes": 240,
    "defaultRetentionTimeInMinutes": 0,
    "defaultRetentionSizeInMB": 0,
    "retentionCheckIntervalInSeconds": 120,
}
MINUTE_MS, MEGABYTE = 60_000, 1024 * 1024
FENCE_LAST = 2

RECOVER, WAIT, CREATE, WRITE, CLOSE, STOPPED = "recover", "wait", "create", "write", "close", "stopped"


@dataclass
class Part:
    """One ledger of the list: `messages` are its entries' in order, as far as its owner handed them over."""

    ledger: Ledger
    watch: Watch
    created_round: int
    messages: list[int] = field(default_factory=list)
    results_seen: int = 0
    closed_round: int | None = None
    deleted_round: int | None = None

    @property
    def entries(self) -> int:
        """So many it has, acknowledged or recovered."""
        last = self.ledger.metadata.last_entry
        return (self.ledger.writer.lac if last is None else last) + 1


@dataclass
class Owner:
    """A broker that serves, or served, the topic. `version` is that of the list that it knows."""

    name: str
    phase: str
    version: int = 0
    queue: list[int] = field(default_factory=list)
    part: Part | None = None
    waits_for: list[Part] = field(default_factory=list)


class Topic:
    """The list of ledgers, who owns it and who did, and which messages were acknowledged."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        self.case = case
        self.given = {**DEFAULTS, **case.get("config", {}), **case.get("topic_config", {})}
        self.now = 0
        self.version = 0
        self.parts: list[Part] = []
        self.owners = [Owner("owner-0", CREATE)]
        self.messages = 0
        self.acked: list[int] = []
        self.violations: list[Violation] = []

    @property
    def listed(self) -> list[Part]:
        """The ledgers that aren't deleted."""
        return [part for part in self.parts if part.deleted_round is None]

    @property
    def readable(self) -> list[int]:
        """The messages that a reader gets from the ledgers of the list, in order."""
        return [message for part in self.listed for message in part.messages[: part.entries]]

    def rounds(self, key: str, unit_ms: int) -> float:
        """A time of the config in rounds."""
        return float(self.given[key] * unit_ms / self.case["round_ms"])


def play_topic(case: Mapping[str, Any]) -> Topic:
    """Play all rounds."""
    topic = Topic(case)
    for now in range(case["rounds"]):
        topic.now = now
        _take_inputs(topic)
        if store_is_up(case.get("faults", []), now):
            for owner in topic.owners:
                _use_list(topic, owner)
        for owner in topic.owners:
            _hand_over(owner)
        for part in topic.listed:
            part.ledger.now = now
            play_round(part.ledger)
            topic.violations += part.watch.look()
            if part.ledger.metadata.state == CLOSED and part.closed_round is None:
                part.closed_round = now
        for owner in topic.owners:
            _take_results(topic, owner)
        if now % max(1, int(topic.rounds("retentionCheckIntervalInSeconds", 1000))) == 0:
            _delete_old(topic)
    return topic


def _take_inputs(topic: Topic) -> None:
    for command in topic.case.get("commands", []):
        if command["kind"] == "take_over" and command["round"] == topic.now:
            topic.owners.append(Owner(f"owner-{len(topic.owners)}", RECOVER))
    for fault in topic.case.get("faults", []):
        if fault["kind"] == "client_crash" and fault["from_round"] == topic.now and topic.owners[-1].part is None:
            topic.owners[-1].phase = STOPPED
    for row in topic.case.get("workload", []):
        if covers(row, topic.now):
            due = range(topic.messages, topic.messages + row["records_per_round"])
            topic.owners[-1].queue += due
            topic.messages += len(due)


def _use_list(topic: Topic, owner: Owner) -> None:
    """What an owner does with the list in the metadata store: read it and fence its end, or add a new ledger to it."""
    if owner.phase == RECOVER:
        owner.version = topic.version
        owner.waits_for = topic.listed[-FENCE_LAST:]
        for part in owner.waits_for:
            part.ledger.start_recovery(owner.name)
        owner.phase = WAIT
    elif owner.phase == WAIT and all(part.ledger.metadata.state == CLOSED for part in owner.waits_for):
        owner.phase = CREATE
    if owner.phase != CREATE:
        return
    if owner.version != topic.version:  # somebody else changed the list: the new owner looks again, an old one gives up
        owner.phase = RECOVER if owner is topic.owners[-1] else STOPPED
        return
    try:
        owner.part = _new_part(topic)
    except NotEnoughBookies:
        return
    topic.parts.append(owner.part)
    topic.version += 1
    owner.version = topic.version
    owner.phase = WRITE


def _new_part(topic: Topic) -> Part:
    own = {key: value for key, value in topic.case.items() if key not in ("replicas", "initial")}
    faults = [one for one in topic.case.get("faults", []) if one["kind"] != "client_crash" or one["from_round"] > topic.now]
    ledger = Ledger({**own, "workload": [], "commands": [], "faults": faults}, topic.now)
    windows = [row.get("max_in_flight", 1) for row in topic.case.get("workload", [])]
    ledger.writer.window_size = max(windows, default=1)
    return Part(ledger, Watch(ledger), topic.now)


def _hand_over(owner: Owner) -> None:
    """Messages go to the ledger that the owner writes; those that it can't send yet wait in its queue."""
    if owner.phase != WRITE or owner.part is None:
        return
    writer = owner.part.ledger.writer
    room = max(0, writer.window_size - len(writer.window.pending)) if writer.state == WRITING else 0
    taken, owner.queue = owner.queue[:room], owner.queue[room:]
    owner.part.messages += taken
    writer.queued += len(taken)


def _take_results(topic: Topic, owner: Owner) -> None:
    """Acknowledge messages; go on to the next ledger when this one is full or failed, with what wasn't acknowledged."""
    part = owner.part
    if part is None:
        return
    writer = part.ledger.writer
    new = writer.results[part.results_seen :]
    topic.acked += [part.messages[entry] for entry, result in new if result == OK]
    part.results_seen = len(writer.results)
    taken_over = owner is not topic.owners[-1] and any(result == LEDGER_FENCED for _, result in new)
    if writer.state == CRASHED or taken_over:  # who serves the topic goes on when it is fenced, an old owner doesn't
        owner.part, owner.phase = None, STOPPED
    elif writer.state in (SHUT, FENCED_OFF):
        owner.queue = part.messages[writer.lac + 1 :] + owner.queue
        owner.part, owner.phase = None, CREATE
    elif writer.state == WRITING and _is_full(topic, part):
        owner.phase = CLOSE  # nothing new; what is in flight gets done
        if not writer.window.pending:
            writer.ask_to_close()


def _is_full(topic: Topic, part: Part) -> bool:
    """By entries or bytes, but not before the least age; by the largest age, if it has any entry."""
    given, age = topic.given, topic.now + 1 - part.created_round
    if age >= topic.rounds("managedLedgerMaxLedgerRolloverTimeMinutes", MINUTE_MS):
        return part.entries > 0
    full = part.entries >= given["managedLedgerMaxEntriesPerLedger"]
    full = full or _bytes(topic, part) >= given["managedLedgerMaxSizePerLedgerMbytes"] * MEGABYTE
    return full and age >= topic.rounds("managedLedgerMinLedgerRolloverTimeMinutes", MINUTE_MS)


def _bytes(topic: Topic, part: Part) -> int:
    sizes = [row.get("record_bytes", 1000) for row in topic.case.get("workload", [])]
    return part.entries * max(sizes, default=0)


def _delete_old(topic: Topic) -> None:
    """Delete ledgers from the front, whole ones, never the last: too old, or more than there may be with what is behind."""
    minutes, megabytes = topic.given["defaultRetentionTimeInMinutes"], topic.given["defaultRetentionSizeInMB"]
    total = sum(_bytes(topic, part) for part in topic.listed)
    for part in topic.listed[:-1]:
        if part.closed_round is None:
            return
        age = topic.now - part.closed_round
        expired = minutes >= 0 and age > topic.rounds("defaultRetentionTimeInMinutes", MINUTE_MS)
        too_much = megabytes >= 0 and total - _bytes(topic, part) >= megabytes * MEGABYTE
        if not expired and not too_much:
            return
        part.deleted_round = topic.now
        topic.version += 1
        total -= _bytes(topic, part)
        for owner in topic.owners:
            owner.version += owner.version == topic.version - 1
