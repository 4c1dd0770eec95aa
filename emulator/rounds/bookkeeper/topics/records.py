"""The records of a topic that is a list of ledgers: itself, what it knows of each ledger, its owners."""

from __future__ import annotations

from typing import NamedTuple

from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.lists import List
from emulator.rounds.records import Record, Rows, compared, constant, counter, part_of, total


class Part(Record):
    """What a topic knows of a ledger of its list; rounds are NEVER until it happens."""

    owner: int = constant("owner that created it")
    first_message: int = constant("message that is its entry 0; below 0: it was there before the run")
    created_round: int = constant("round in which it was created")
    closed_round: int = compared("round at whose end it was CLOSED first")
    rolled_over: int = compared("of ROLLED_OVER_BY, NOT_YET")
    deleted_round: int = compared("round in which retention deleted it")
    dropped_round: int = compared("round in which a list without it was written over the one that had it")
    copied_bytes: int = counter("what of it the remote store has")
    is_to_be_copied: int = compared("1: it was found due, and is copied when those before it are done")
    copy_errors: int = compared("copies of it that failed since the remote store was away")
    given_up_bytes: int = compared("bytes that copies of it had moved when they were given up")
    offload_started_round: int = compared("round in which its copy was begun last")
    offloaded_round: int = compared("round in which the remote store had all of it")
    freed_round: int = compared("round in which bookies deleted it, since the remote store has it")
    unlisted: int = compared("1: acknowledged messages of it are in no ledger of the list, which was told")


class Owner(Record):
    """A broker that serves the topic, the last one, or did. Its place in the list is its number."""

    phase: int = compared("CREATE, ...")
    version: int = compared("version of the list that it knows")
    known_parts: int = compared("that list has no ledger from this number on")
    part: int = compared("number of the ledger that it writes, NOBODY: none")
    from_message: int = counter("message that it hands over next")
    to_message: int = compared("end of its messages, FOREVER: it gets those to come")
    waits_for: int = compared("number of a ledger that it waits for, NOBODY")
    waits_for_too: int = compared("number of another one, NOBODY")
    cause: int = compared("fault for which it adds its next ledger")


class Topic(Record):
    """A topic that is a list of ledgers."""

    number: int = constant("partition_id within its scenario")
    place: int = constant("its place in the block")
    scenario: int = constant("place of its scenario")
    settings: int = constant("place of its ledgers' settings")
    topic_settings: int = constant("place of its own settings")
    first_bookie: int = constant("number of the registered bookie from which on its first ledger takes its ensemble")
    max_in_flight: int = constant("adds of a ledger that may be unacknowledged")
    no_workload: int = constant("place of a workload without entries: ledgers get theirs from owners")
    first_size: int = constant("place of the sizes of its messages")
    size_count: int = constant("so many")
    first_on_the_way: int = constant("place of what first happens to adds on their way")
    on_the_way: int = constant("so many")
    first_command: int = constant("place of its first command")
    end: int = constant("round at which to stop")
    now: int = counter("round")
    workload: int = compared("place of the workload in force")
    command: int = compared("place of the first command still to come")
    crash: int = compared("place of the first crash still to come")
    store_span: int = compared("place of what is in force of the metadata store")
    remote_span: int = compared("place of what is in force of the remote store")
    version: int = compared("how often the list was written")
    messages: int = counter("messages that were due so far")
    readers: int = compared("readers that read all of the list in this round")
    crash_cause: int = compared("client_crash that took the last owner, NO_FAULT: none did")
    offloading: int = compared("number of the ledger that is copied to the remote store, NOBODY")
    looks_for_due: int = compared("1: a writer closed its ledger, and what is due to be copied was not looked for since")
    ledgers: List = part_of(List, "all ledgers that it ever had, in the order of their creation")
    owners: List = part_of(List, "who serves the topic, the last one, and who did")
    unwritable_rounds: int = counter("rounds at whose end messages wait, and in which none was acknowledged")
    unacked: int = counter("messages that wait for whoever serves the topic, or are in flight")
    unacked_rounds: int = total("sum of `unacked` at the ends of all rounds")


class TopicLists(NamedTuple):
    """Scratch arrays of one topic: its ledgers, what it knows of each (in the same place), its owners."""

    ledgers: Rows[Ledger]
    parts: Rows[Part]
    owners: Rows[Owner]
