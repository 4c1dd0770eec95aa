"""The records that BookKeeper's rounds tell: events, violations with their witnesses, traffic."""

from __future__ import annotations

from emulator.rounds.lists import List
from emulator.rounds.records import Record, constant, part_of


class Event(Record):
    """A row of `events`; NO_ENTRY is null."""

    ledger: int = constant("place of the ledger, or topic, in the block")
    in_list: int = constant("number of the ledger in its topic's list, NOBODY: it is about the topic")
    at_round: int = constant("round")
    kind: int = constant("place in EVENT_KINDS")
    broker: int = constant("bookie id, NOBODY: null")
    from_entry: int = constant("entry")
    to_entry: int = constant("entry")
    entries: int = constant("so many of these it is about, ALL_BETWEEN: all, or it names none")
    cause: int = constant("fault_id of the fault behind it, NO_FAULT")


class Violation(Record):
    """An invariant that broke: a witness. The fragments then follow in `witness_fragments`, each with its ensemble."""

    ledger: int = constant("place of the ledger, or topic, in the block")
    in_list: int = constant("number of the ledger in its topic's list")
    at_round: int = constant("round")
    invariant: int = constant("place in invariants.NAMES")
    entry: int = constant("one that no bookie of its write set has, NO_ENTRY: it is about none")
    lac: int = constant("acknowledged up to there")
    last_entry: int = constant("end of the ledger, NO_ENTRY")
    fragments: int = constant("fragments, behind the ensemble that the writer writes to")


class Traffic(Record):
    """What went in and out of a bookie for a ledger in a time bucket, and what it has of it at its end."""

    ledger: int = constant("place of the ledger, or topic, in the block")
    place: int = constant("the bookie's place among the scenario's")
    bucket: int = constant("number of the time bucket")
    bytes_produced: int = constant("bytes of adds that it took")
    bytes_in: int = constant("bytes of copies that it got")
    bytes_out: int = constant("bytes that recoveries, workers, readers and offloading read from it")
    cross_rack_bytes_out: int = constant("of these, to bookies of other racks")
    follower_count: int = constant("1: it is in the ledger's last ensemble")
    local_bytes: int = constant("bytes of its entries")
    entries: int = constant("so many")


class Asked(Record):
    """What a ledger asks of a bookie that has a budget, in one round."""

    bookie: int = constant("its place in Inputs.bookies")
    sent_round: int = constant("round in which adds were sent")
    asked_bytes: int = constant("bytes of these, without what the bookie was given before and didn't use")


class Spans(Record):
    """How far the arrays of outputs are filled."""

    events: List = part_of(List, "rows of events")
    violations: List = part_of(List, "rows of violations")
    witness: List = part_of(List, "rows of witness_fragments")
    traffic: List = part_of(List, "rows of traffic")
    asked: List = part_of(List, "rows of asked")
