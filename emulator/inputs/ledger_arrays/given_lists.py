"""Topics' lists of ledgers before round 0 that are given: closed ledgers, offloaded ones, the one that is written to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from emulator.inputs.ledger_arrays.start import lists_of, set_start
from emulator.rounds.bookkeeper.constants import (
    CLOSED,
    CREATE,
    FOREVER,
    NEVER,
    NO_FAULT,
    NOBODY,
    NOT_YET,
    OPEN,
    RECOVER,
    STATES,
    WRITE_LEDGER,
)
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.bookkeeper.state import LIST_RECORDS, WIDTHS, start_ledgers
from emulator.rounds.bookkeeper.topics.records import Owner, Part
from emulator.rounds.records import rows

Given = Mapping[str, Any]


class GivenList(NamedTuple):
    """Records of a list's ledgers, what the topic knows of each, its owner; `lists`: by list's name one array a ledger."""

    ledgers: Any
    parts: Any
    owners: Any
    lists: dict[str, list[np.ndarray]]


def given_list(topic: Any, given: Sequence[Given], inputs: Inputs) -> GivenList:
    """The list of a topic (a record) that starts with these ledgers, in order; without any its owner creates the first.

    A ledger's fragments name bookies by place; `stand_ins`: bookies in place of an ensemble of one that bookies deleted.
    """
    count = len(given)
    ledgers, parts, owners = rows(Ledger, count), rows(Part, count), rows(Owner, 1)
    start_ledgers(ledgers)
    lists: dict[str, list[np.ndarray]] = {name: [] for name in LIST_RECORDS}
    first_bookie = int(inputs.scenarios[topic.scenario].first_bookie)
    first_message = -sum(one["last_entry"] + 1 for one in given)
    for number, one in enumerate(given):
        _set_of_topic(ledgers[number], topic, inputs, number)
        set_start(ledgers[number], one)
        ledgers[number].first_message = first_message + ledgers[number].first_own_entry
        ledgers[number].offloaded = ledgers[number].impaired = int(bool(one["offloaded"]))
        is_freed = not one["fragments"]
        fragments = one["fragments"] or [{"first_entry": 0, "places": one["stand_ins"]}]
        own = lists_of({**one, "fragments": fragments}, first_bookie, inputs, int(topic.settings))
        if is_freed:
            own["stored"] = own["stored"][:0]
        for name in LIST_RECORDS:
            lists[name].append(own.get(name, np.zeros((0, WIDTHS[name]), np.int64)))
        _set_part(parts[number], one, first_message, is_freed)
        first_message += one["last_entry"] + 1
    topic.version = count
    _set_owner(owners[0], given)
    return GivenList(ledgers, parts, owners, lists)


def _set_of_topic(ledger: Any, topic: Any, inputs: Inputs, number: int) -> None:
    """What a ledger has of its topic, as one that is created in the run (serve_list.set_of_topic)."""
    for name in ("number", "place", "scenario", "settings", "first_on_the_way", "on_the_way", "first_size", "size_count", "end"):
        ledger[name] = topic[name]
    ledger.in_list = number
    ledger.workload, ledger.command, ledger.store_span = topic.no_workload, topic.first_command, topic.store_span
    ledger.max_in_flight = topic.max_in_flight
    ledger.crash_round = inputs.crashes[topic.crash].at_round
    ledger.crash_fault = inputs.crashes[topic.crash].fault


def _set_part(part: Any, given: Given, first_message: int, is_freed: bool) -> None:
    """Ages begin at round 0: a ledger was created then, and one that is closed, offloaded or deleted from bookies was so, too."""
    part.first_message = first_message
    part.closed_round = 0 if given["state"] == STATES[CLOSED] else NEVER
    part.rolled_over = NOT_YET
    part.deleted_round = part.dropped_round = NEVER
    part.copied_bytes = given["bytes"] if given["offloaded"] else 0
    part.offload_started_round = part.offloaded_round = 0 if given["offloaded"] else NEVER
    part.freed_round = 0 if is_freed else NEVER


def _set_owner(owner: Any, given: Sequence[Given]) -> None:
    """Who serves the topic knows the list, and writes its last ledger if that is open; one in recovery it recovers first."""
    owner.part, owner.to_message = NOBODY, FOREVER
    owner.waits_for = owner.waits_for_too = NOBODY
    owner.cause = NO_FAULT
    owner.version = owner.known_parts = len(given)
    newest = given[-1]["state"] if given else STATES[CLOSED]
    owner.phase = {STATES[OPEN]: WRITE_LEDGER, STATES[CLOSED]: CREATE}.get(newest, RECOVER)
    if owner.phase == WRITE_LEDGER:
        owner.part = len(given) - 1
