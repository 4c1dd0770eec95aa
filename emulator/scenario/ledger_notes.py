"""What is said of ledgers' scenarios before they start: what has less of an effect than a reader may think."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import listing, some
from emulator.faults.bookies import AWAY_KINDS
from emulator.scenario.durations import rounds_of
from emulator.scenario.ledger_configs import effective, is_managed
from emulator.scenario.ledger_ensembles import RACK_AWARE
from emulator.scenario.ledgers import BUDGETS, DECOMMISSION, DRAWN
from emulator.scenario.model import Scenario, Topic

AUTORECOVERY, LOST_AFTER = "autoRecoveryDaemonEnabled", "lostBookieRecoveryDelay"
COPYING = (AUTORECOVERY, "dataIntegrityCheckingEnabled")
OFFLOADING = ("managedLedgerOffloadAutoTriggerSizeThresholdBytes", "managedLedgerOffloadThresholdInSeconds")
RETENTION_TIME, RETENTION_SIZE = "defaultRetentionTimeInMinutes", "defaultRetentionSizeInMB"
BY_RACKS = (RACK_AWARE, *DRAWN[1:])
"""Policies that look at racks: of those that draw all but the first."""


def notes_of_ledgers(scenario: Scenario) -> Iterator[str]:
    """All of them."""
    yield from beside_budgets(scenario)
    yield from _keep_nothing(scenario)
    yield from _no_racks(scenario)
    if effective(scenario.config, {}, AUTORECOVERY):
        yield from _no_spare(scenario)
        yield from _back_too_early(scenario)


def _keep_nothing(scenario: Scenario) -> Iterator[str]:
    """Lists of ledgers that keep nothing, though a limit is given or they are to be offloaded (ManagedLedgerImpl, retention)."""
    idle: dict[str, list[str]] = {}
    for topic in scenario.topics:
        if not is_managed(scenario.config, topic.config):
            continue
        time, size = (int(effective(scenario.config, topic.config, key)) for key in (RETENTION_TIME, RETENTION_SIZE))
        if time and not size:
            told = f"{RETENTION_TIME} = {time} keeps nothing where {RETENTION_SIZE} is 0 (-1: no limit)"
        elif size and not time:
            told = f"{RETENTION_SIZE} = {size} keeps nothing where {RETENTION_TIME} is 0 (-1: no limit)"
        elif not size and _offloads(scenario, topic):
            told = f"ledgers to be offloaded are deleted when they are closed: {RETENTION_TIME} is 0"
        else:
            continue
        idle.setdefault(told, []).append(topic.name)
    yield from (f"{told}: {some('topic', topics)}" for told, topics in idle.items())


def _no_racks(scenario: Scenario) -> Iterator[str]:
    """Placement by racks of bookies that are in none."""
    topics = [topic.name for topic in scenario.topics if topic.policy in BY_RACKS]
    if topics and all(broker.rack is None for broker in scenario.brokers):
        yield f"placement by racks has no effect, as no bookie is in one: {some('topic', topics)}"


def _no_spare(scenario: Scenario) -> Iterator[str]:
    """Ensembles of all bookies: whoever is lost, no other one is left to be sent copies."""
    most = len(scenario.brokers)
    sizes = {topic.name: int(effective(scenario.config, topic.config, "ensembleSize")) for topic in scenario.topics}
    topics = [name for name, size in sizes.items() if size >= most]
    is_anybody_lost = _taking_bookies(scenario).num_rows or any(one.kind == DECOMMISSION for one in scenario.commands)
    if topics and is_anybody_lost:
        yield f"autorecovery has no bookie to copy to, as ensembles are of all {most}: {some('topic', topics)}"


def _back_too_early(scenario: Scenario) -> Iterator[str]:
    """Lost disks that nobody fills again: the bookie is back before the auditor, who waits for one alone, takes it for lost."""
    if effective(scenario.config, {}, "dataIntegrityCheckingEnabled"):
        return
    delay = int(effective(scenario.config, {}, LOST_AFTER))
    delay_rounds = rounds_of(delay * 1000, scenario.round_ms)
    taking = _taking_bookies(scenario)
    begins, ends = (np.sort(taking.column(name).to_numpy()) for name in ("from_round", "to_round"))
    bookies = set()
    for fault in taking.filter(pc.equal(taking.column("kind"), "disk_loss")).to_pylist():
        begin, end = fault["from_round"], fault["to_round"]
        meanwhile = np.searchsorted(begins, end) - np.searchsorted(ends, begin, "right")  # itself among them
        if end < scenario.rounds and end - begin <= delay_rounds and meanwhile == 1:
            bookies.add(fault["broker"])
    if bookies:
        told = f"what a disk_loss takes is not copied again where the bookie is back within {LOST_AFTER} = {delay} s"
        yield f"{told}: {some('bookie', list(map(str, sorted(bookies))))}"


def _taking_bookies(scenario: Scenario) -> pa.Table:
    """The faults of a run that take bookies away."""
    faults = scenario.faults
    is_one = pc.is_in(faults.column("kind"), value_set=pa.array(AWAY_KINDS))
    return faults.filter(pc.and_(is_one, pc.less(faults.column("from_round"), scenario.rounds)))


def beside_budgets(scenario: Scenario) -> Iterator[str]:
    """Copies and reads of a scenario whose bookies have budgets: only adds draw on these (docs/bookkeeper_rounds.md)."""
    if not any(getattr(broker, budget) for broker in scenario.brokers for budget in BUDGETS):
        return
    kinds = {command.kind for command in scenario.commands}
    passing = []
    if "check_ledger" in kinds or any(effective(scenario.config, {}, key) for key in COPYING):
        batch = effective(scenario.config, {}, "rereplicationEntryBatchSize")
        passing.append(f"copies (up to {batch} entries a round of each ledger)")
    if kinds & {"read_ledger", "read_topic"}:
        passing.append("readers")
    if any(_offloads(scenario, topic) for topic in scenario.topics):
        passing.append("offloading")
    if passing:
        yield f"bookies' budgets are about adds alone, not about {listing(passing)}"


def _offloads(scenario: Scenario, topic: Topic) -> bool:
    """Whether a topic is a list of ledgers that go to a remote store."""
    is_list = is_managed(scenario.config, topic.config)
    return is_list and any(int(effective(scenario.config, topic.config, key)) >= 0 for key in OFFLOADING)
