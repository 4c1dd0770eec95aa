"""The records of BookKeeper's round: a ledger, its fragments and bookies, what these have; all lists of rounds.

`slot`: the place of a bookie among those that the ledger ever had to do with (Ledger.bookies); `place`: its place among the
scenario's bookies, by id. `index`: a place in an ensemble, and its bit in masks. `..._to` are exclusive ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.rounds.bookkeeper.client_records import (
    Add,
    FailedBookie,
    FoundFragment,
    LateAnswer,
    Opening,
    Read,
    Reader,
    Recovery,
    Request,
)
from emulator.rounds.bookkeeper.told_records import Asked, Event, Spans, Traffic, Violation
from emulator.rounds.lists import List
from emulator.rounds.records import Record, Rows, aside, compared, constant, counter, part_of, sample, scratch, total


class Fragment(Record):
    """From its first entry on, until the next fragment's, entries go to the ensemble in the same row of `ensembles`."""

    first_entry: int = constant("entry")


class Bookie(Record):
    """What a bookie has of the ledger beside entries, and how it stands."""

    place: int = constant("its place among the scenario's bookies")
    broker: int = constant("its id")
    rack: int = constant("number of its rack, -1 without one")
    span: int = compared("place in Inputs.bookie_spans of what is in force; changes with its status")
    status: int = compared("bits")
    cause: int = compared("fault behind what happens to it, as of BookieSpan")
    lag: int = compared("rounds by which its answers come late")
    lag_cause: int = compared("fault for which they do")
    fenced: int = compared("1: it refuses adds but of recoveries")
    flushed_fence: int = compared("1: so it does after it lost what wasn't flushed")
    explicit_lac: int = compared("LAC that it was told beside adds")
    limbo: int = compared("1: it doesn't know what it lost (BP-46)")
    filling: int = compared("1: it gets what it lacks")
    damaged: int = compared("1: it lost something since it was last up")
    may_take: int = compared("bytes of adds that it may still take in this round, NO_LIMIT: any number")
    holds_up: int = compared("1: adds wait for it to take them, as its link or disk is slow")
    most_asked_bytes: int = scratch("bytes of adds that it was to take in a round at most, since this was looked at last")
    damage_cause: int = compared("fault by which it was damaged last")
    filling_cause: int = compared("fault for which it gets what it lacks")
    is_missed: int = compared("whether it is not registered, and has been in an ensemble while it was not")
    open_run: int = compared("number of the run that its next entry goes on with, NOWHERE: none")
    has_to: int = counter("end of that run: it has its share of all entries below")
    flushed_to: int = sample("those of that run below it are on disk")
    entries_beside: int = constant("copies that it got of entries which no index that it had gets")
    bytes_beside: int = constant("bytes of these")
    known_bytes: int = constant("bytes of all that it has when it was looked at last")
    bytes_taken: int = constant("bytes that it took since the last time bucket ended, up to then")
    bytes_in: int = constant("bytes of copies that it got since the last time bucket ended")
    bytes_out: int = constant("bytes that it sent since the last time bucket ended")
    cross_rack_bytes_out: int = constant("of these, to bookies of other racks")
    # At the run's end
    last_entry: int = scratch("its largest entry, NO_ENTRY: it has none")
    lac: int = scratch("what it knows to be confirmed")
    entries: int = scratch("entries that it has")
    entry_bytes: int = scratch("bytes of these")


class StoredRun(Record):
    """Entries that a bookie has: of [from_entry, to_entry) all that an index of an ensemble gets, or of copies what was lacking.

    The end of a bookie's open run, and what of it is on disk, stand in Bookie: these move in steady rounds. Copies go to runs of
    their own, whose ends move likewise (copy_on.py).
    """

    bookie: int = constant("slot")
    index: int = constant("index in the ensemble")
    residues: int = constant("mask of the entries mod E that are in it: all that the index gets, but of copies perhaps fewer")
    header: int = constant("LAC in their headers, or OF_THE_WRITER")
    from_entry: int = constant("first")
    to_entry: int = aside("end")
    flushed_to: int = constant("those below it are on disk")


class Header(Record):
    """LACs in the headers of what the writer sent, up to the next one's first entry: lac + (e - from) div step * step."""

    from_entry: int = constant("first entry")
    lac: int = constant("LAC in its header")
    step: int = constant("entries a round")


class Replacement(Record):
    """A bookie of a fragment that is to be replaced, in the order of publication."""

    first_entry: int = constant("first entry of the fragment")
    index: int = constant("index in its ensemble")
    lost: int = constant("slot of who is to be replaced")
    published_round: int = constant("round")
    target: int = constant("slot of who replaces it, NOBODY: not chosen yet")
    next_entry: int = aside("the next stretch of ids begins with it; what the index gets of those below is copied")
    copied: int = constant("1: all are")
    cause: int = constant("fault for which the lost one is missed")


class Ledger(Record):
    """A ledger: its metadata, its writer, outcomes."""

    number: int = constant("partition_id within its scenario")
    place: int = constant("its place in the block, or its topic's")
    in_list: int = constant("its number in the topic's list; 0: of a ledger by itself")
    scenario: int = constant("place of its scenario")
    settings: int = constant("place of its settings")
    traced: int = constant("1: its entries are a table")
    first_own_entry: int = constant("entries below it were there before the run")
    first_on_the_way: int = constant("place of what first happens to adds on their way")
    on_the_way: int = constant("so many")
    crash_round: int = constant("round in which the writer crashes, FOREVER")
    crash_fault: int = constant("fault_id of that crash")
    first_message: int = constant("message of its topic that is the first entry which it gets in the run")
    first_size: int = constant("place of the sizes of what it is given")
    size_count: int = constant("so many")
    given_bytes: int = constant("bytes of the entries that were there before the run")
    end: int = constant("round at which to stop")
    # What is in force
    now: int = counter("round")
    next_change: int = compared("the next round in which an input changes")
    workload: int = compared("place of the workload in force")
    command: int = compared("place of the first command still to come")
    slowed: int = compared("1: a slow link or disk is in force on one of its bookies")
    store_span: int = compared("place of what is in force of the metadata store")
    store_up: int = compared("1: the metadata store answers")
    # The metadata
    state: int = compared("OPEN, IN_RECOVERY or CLOSED")
    last_entry: int = compared("last entry once closed, else NO_ENTRY")
    closed_by: int = compared("number of the client that closed it in the run, else NO_ENTRY")
    close_cause: int = compared("fault behind its close")
    offloaded: int = compared("1: a remote store has all of it")
    fragments: List = part_of(List, "in the order in which they were added")
    # The writer
    writer: int = compared("of WRITER_STATES")
    lac: int = counter("last entry that it acknowledged")
    lac_told: int = counter("LAC that an add carried last, or that bookies were told")
    explicit_lac: int = sample("LAC that it noted when it last looked whether bookies have to be told of one")
    next_entry: int = counter("entry to be sent next")
    queued: int = counter("entries that wait to be sent")
    max_in_flight: int = compared("adds that may be unacknowledged")
    changing: int = compared("1: it wants an ensemble change")
    close_asked: int = compared("closes that the application waits for")
    closes: List = part_of(List, "what was answered to closes")
    error: int = compared("what the last operation came to")
    stop_cause: int = compared("fault for which the writer stopped")
    # Clients
    own: List = part_of(List, "ensembles that clients write to, the writer's first, then of each recovery")
    recoveries: List = part_of(List, "in the order of their start")
    found: List = part_of(List, "fragments as recoveries found them, and their own changes")
    openings: List = part_of(List, "clients that open without recovery")
    readers: List = part_of(List, "clients that read all of it")
    reads: List = part_of(List, "entries that these wait for")
    reads_begun: int = compared("so many of these there were")
    adds: List = part_of(List, "adds in flight, and acknowledged ones with answers to come")
    requests: List = part_of(List, "adds on their way, and answers that are awaited")
    late_answers: List = part_of(List, "other answers of slow bookies that are on their way")
    failures: List = part_of(List, "bookies that clients want replaced")
    # Bookies
    bookies: List = part_of(List, "bookies that the ledger ever had to do with")
    stored: List = part_of(List, "entries that they have")
    headers: List = part_of(List, "LACs in the headers of what the writer sent")
    # Repair
    replacements: List = part_of(List, "bookies of fragments that are to be replaced")
    is_copying: int = compared("1: replication workers copied something in the last round")
    entries_copied: int = aside("entries that they copied")
    # Outcomes
    refused_fenced: int = counter("adds answered LedgerFenced without being sent")
    refused_closed: int = counter("adds answered LedgerClosed without being sent")
    failed_adds: int = compared("adds in flight that failed")
    unwritable_rounds: int = counter("rounds with something to write in which nothing was acknowledged")
    unacked: int = counter("entries that wait to be sent or acknowledged")
    unacked_rounds: int = total("sum of `unacked` at the ends of all rounds")
    ensemble_changes: int = compared("changes of the ensemble")
    adds_resent: int = compared("adds in flight that went to bookies which came into the ensemble")
    impaired: int = compared("1: a bookie lost entries of it, or its fence, to a fault")
    impaired_cause: int = compared("the last such fault")
    offload_read_bytes: int = constant("bytes that its copies to a remote store read from bookies")
    reader_bytes: int = constant("bytes that readers read from bookies")
    reader_remote_bytes: int = constant("bytes that they read from a remote store")
    broken: int = compared("mask of invariants that did not hold at the end of the last round")
    played: int = scratch("rounds that were not leapt over")
    # Of one round
    lac_before: int = scratch("the writer's LAC at its start")
    told_fenced: int = scratch("1: an add was answered LedgerFenced")
    new_readers: int = scratch("readers that begin")
    had_to_write: int = scratch("1: something was in the queue or in flight, or was refused")
    suspects_from: int = scratch("first entry that this round may have made unreadable")
    ends_otherwise: int = scratch("1: it was closed, or a fragment of a closed ledger changed")
    # At the run's end
    read_bytes: int = scratch("bytes of the entries that a reader gets")
    acked_lost: int = scratch("acknowledged entries behind its end, or that no bookie has")
    acked_unreadable: int = scratch("others that no bookie of their write set has which is heard")
    acked_under_replicated: int = scratch("others that fewer than Qw bookies of their write set have which are heard")


class Lists(NamedTuple):
    """Scratch arrays that hold one ledger's lists, and the arrays that a block writes to.

    `ensembles`, `found_ensembles`, `own` and `witness_ensembles` have a row of slots (of broker ids: the last) by index.
    `shares`: what regions get of a new ensemble, while one is drawn.
    """

    fragments: Rows[Fragment]
    ensembles: np.ndarray
    found: Rows[FoundFragment]
    found_ensembles: np.ndarray
    own: np.ndarray
    recoveries: Rows[Recovery]
    openings: Rows[Opening]
    readers: Rows[Reader]
    reads: Rows[Read]
    closes: np.ndarray
    adds: Rows[Add]
    requests: Rows[Request]
    late_answers: Rows[LateAnswer]
    failures: Rows[FailedBookie]
    bookies: Rows[Bookie]
    stored: Rows[StoredRun]
    headers: Rows[Header]
    replacements: Rows[Replacement]
    events: Rows[Event]
    violations: Rows[Violation]
    witness: Rows[Fragment]
    witness_ensembles: np.ndarray
    traffic: Rows[Traffic]
    asked: Rows[Asked]
    filled: Rows[Spans]
    shares: np.ndarray
