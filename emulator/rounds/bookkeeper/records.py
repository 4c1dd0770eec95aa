"""The records of BookKeeper's round: a ledger, its bookies and clients, what its lists hold, what they read, what they tell.

`slot`: the place of a bookie among those that the ledger ever had to do with (Ledger.bookies); `place`: its place among the
scenario's bookies, by id. `index`: a place in an ensemble, and its bit in masks. `..._to` are exclusive ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.rounds.lists import List
from emulator.rounds.records import Record, Rows, compared, constant, counter, part_of, sample, scratch, total

MAX_ENSEMBLE = 12
"""Bookies of an ensemble at most: the width of an ensemble's row."""
NO_LAC = -1
"""Nothing is confirmed; also the last entry of an empty ledger."""
NO_ENTRY = -2
"""There is none: the last entry of a ledger that isn't closed, what is null in a table."""
NOBODY = -1
"""No bookie, no index, no client."""
NOWHERE = -1
"""No place in a list."""
NEVER = -1
"""A round before the run."""
FOREVER = 1 << 40
"""A round, or an entry, behind everything."""
NO_LIMIT = -1
"""Of a setting: there is no such limit, or it never happens."""

# What the faults say of a bookie in a round: bits of `status`
DEAD, PAUSED, SILENT, UNREGISTERED, DECOMMISSIONED, RESTARTED = (1 << bit for bit in range(6))
CRASHED, POWER_LOST, DISK_LOST, CLEAN_STOP = (1 << bit for bit in range(6, 10))
UNHEARD = DEAD | SILENT
NOT_RUNNING = DEAD | PAUSED
HAPPENS = RESTARTED | CRASHED | POWER_LOST | DISK_LOST | CLEAN_STOP
"""What is of one round only."""

OPEN, IN_RECOVERY, CLOSED = range(3)
STATES = ("OPEN", "IN_RECOVERY", "CLOSED")
"""Of the metadata, by number."""

WRITING, CLOSING, SHUT, FENCED_OFF, WRITER_CRASHED = range(5)
WRITER_STATES = ("writing", "closing", "shut", "fenced off", "crashed")
"""Of the writer. Closing: it wants to close the ledger; shut: it has, or found it closed; fenced off: it knows of a recovery."""

MARK, FENCE, READ, WRITE, CLOSE, DONE, FAILED = range(7)
PHASES = ("mark", "fence", "read", "write", "close", "done", "failed")
"""Of a recovery."""

PENDING = -1
"""The error of what has no answer yet."""
ERRORS = (
    "OK", "LedgerFencedException", "LedgerClosedException", "BKNotEnoughBookiesException", "BKMetadataVersionException",
    "ReadException", "UnexpectedConditionException",
)  # fmt: skip
OK, LEDGER_FENCED, LEDGER_CLOSED, NOT_ENOUGH_BOOKIES, METADATA_VERSION, READ_EXCEPTION, UNEXPECTED_CONDITION = range(7)

WRITER = -1
"""The writer's number among the clients; recoveries count from 0."""
BY_COMMAND, BY_WORKER = -1, -2
"""Who started a recovery, if not a bookie (its slot), or an owner of a topic (OWNERS - its number)."""
OWNERS = -3

NO_ANSWER, TAKEN, REFUSED = range(3)
"""What a bookie answered to an add."""
FOUND, NO, UNKNOWN = range(3)
"""What a bookie says of an entry; `no`: it hasn't got it."""
RECOVERED, END, AGAIN = range(3)
"""What a recovery concludes from a write set's answers."""

NOW, CHANGING, LATER = range(3)
"""When a failed bookie is replaced: an answer of this round says so, an ensemble change is under way, with the next add."""

OF_THE_WRITER = -2
"""Whose header an entry has: the writer's (Ledger.headers), else the LAC itself, which is -1 or more."""

CLOSE_LEDGER, RECOVER_LEDGER, OPEN_NO_RECOVERY, CHECK_LEDGER, TAKE_OVER = range(5)
COMMAND_KINDS = ("close_ledger", "recover_ledger", "open_no_recovery", "check_ledger", "take_over")
"""Kinds of commands."""

CREATE, RECOVER, WAIT, WRITE_LEDGER, CLOSE_LEDGER_FIRST, STOPPED = range(6)
"""What an owner is about: it adds a ledger, reads the list and recovers its end, waits for that, writes, closes, is gone."""
NOT_YET, BY_ENTRIES, BY_SIZE, BY_AGE, BY_FAILURE = range(5)
ROLLED_OVER_BY = ("entries", "size", "age", "failure")
"""Why a ledger was rolled over, numbered from 1."""

DROP_ADDS, DELAY_ADDS = range(2)
"""What happens to adds on the way."""

EVENT_KINDS = (
    "ensemble_change", "recovery_started", "ledger_closed", "fence", "entries_lost", "add_failed", "underreplicated", "copied",
    "rereplicated", "filled", "limbo_entered", "limbo_left", "ledger_created", "ledger_rolled_over", "ledger_deleted",
    "take_over", "offload_started", "offload_failed", "offloaded", "bookies_freed",
)  # fmt: skip
(
    ENSEMBLE_CHANGE, RECOVERY_STARTED, LEDGER_CLOSED_EVENT, FENCE_EVENT, ENTRIES_LOST, ADD_FAILED, UNDERREPLICATED, COPIED,
    REREPLICATED, FILLED, LIMBO_ENTERED, LIMBO_LEFT, LEDGER_CREATED, LEDGER_ROLLED_OVER, LEDGER_DELETED,
    TAKE_OVER_EVENT, OFFLOAD_STARTED, OFFLOAD_FAILED, OFFLOADED, BOOKIES_FREED,
) = range(len(EVENT_KINDS))  # fmt: skip


class Rules(Record):
    """The guards that mutants lack; the numbers are the steps of a round."""

    recovery_reads_fence: int = constant("6: a bookie that a recovery asks for an entry is fenced by the question")
    no_is_an_answer: int = constant("6: NoSuchEntry counts towards the end of the log, else as unknown")
    unknown_is_no_answer: int = constant("6: an error or silence counts for nothing, else as NoSuchEntry")
    lac_floor: int = constant("2, 6: a recovery starts no lower than the last fragment does, else at the LAC that it heard")
    recover_tail: int = constant("6: entries above the LAC are looked for, else the ledger is closed at the LAC")
    enough_missing: int = constant("6: Qf answers of every write set end fencing, Qf explicit no's end the log, else Qa")
    limbo_is_unknown: int = constant("1: a damaged bookie that is back doesn't say no of what it may have lost (BP-46)")
    damaged_are_fenced: int = constant("1: a damaged bookie that is back is fenced, for it may have lost a fence (BP-46)")
    list_is_checked: int = constant("Topics: a ledger is added only to the list that its owner knows")


class ScenarioRow(Record):
    """What all ledgers of a scenario have in common."""

    rules: int = constant("place of its protocol's rules")
    rounds: int = constant("rounds of the run")
    leaps: int = constant("1: quiet rounds are leapt over; the result is the same")
    first_bookie: int = constant("place of its first bookie in Inputs.bookies")
    bookies: int = constant("bookies of the cluster")
    first_store_span: int = constant("place of the metadata store's first span")
    quiet_from: int = constant("last round in which a fault ends or a command is given")


class BookieRow(Record):
    """A bookie of the cluster."""

    broker: int = constant("its id")
    rack: int = constant("number of its rack, -1 without one")
    first_span: int = constant("place of its first span")
    spans: int = constant("spans, without the one at FOREVER")


class BookieSpan(Record):
    """What the faults say of a bookie from a round on. A bookie's last one is at FOREVER."""

    from_round: int = constant("its first round")
    status: int = constant("bits")


class StoreSpan(Record):
    """The metadata store from a round on. The last one is at FOREVER."""

    from_round: int = constant("its first round")
    up: int = constant("1: it answers")


class Settings(Record):
    """Settings of a ledger."""

    ensemble_size: int = constant("E, bookies of an ensemble")
    write_quorum: int = constant("Qw, bookies that get an entry")
    ack_quorum: int = constant("Qa, answers that acknowledge it")
    add_timeout_rounds: int = constant("addEntryTimeoutSec")
    read_timeout_rounds: int = constant("readEntryTimeoutSec")
    delay_ensemble_change: int = constant("delayEnsembleChange")
    explicit_lac_rounds: int = constant("explicitLacInterval; 0: off")
    rack_aware: int = constant("1: the policy is rack_aware, else lowest_free_id")
    min_racks: int = constant("minNumRacksPerWriteQuorum")
    enforce_min_racks: int = constant("enforceMinNumRacksPerWriteQuorum")
    journal: int = constant("journalWriteData: a crash loses nothing")
    synced: int = constant("journalSyncData with it: a power loss loses nothing")
    flush_rounds: int = constant("flushInterval; 0: what is flushed doesn't matter")
    integrity_check: int = constant("dataIntegrityCheckingEnabled (BP-46)")
    autorecovery: int = constant("autoRecoveryDaemonEnabled")
    lost_rounds: int = constant("lostBookieRecoveryDelay")
    grace_rounds: int = constant("openLedgerRereplicationGracePeriod")
    batch_entries: int = constant("rereplicationEntryBatchSize, entries a round")


class WorkloadSpan(Record):
    """What the application hands over in each round from one on. A ledger's last one is at FOREVER."""

    from_round: int = constant("its first round")
    entries: int = constant("entries a round")
    max_in_flight: int = constant("adds that may be unacknowledged; NO_LIMIT: as before")


class Command(Record):
    """What an administrator does at the start of a round. A ledger's last one is at FOREVER."""

    at_round: int = constant("round")
    kind: int = constant("CLOSE_LEDGER, ...")
    retry: int = constant("recover_ledger: 1: a failed attempt begins anew")


class OnTheWay(Record):
    """What happens to adds of the writer to a bookie in [from_round, to_round)."""

    kind: int = constant("DROP_ADDS or DELAY_ADDS")
    place: int = constant("the bookie's among the scenario's")
    from_round: int = constant("first round")
    to_round: int = constant("end")
    from_entry: int = constant("first entry")
    to_entry: int = constant("end")


class EntrySize(Record):
    """Entries of which each is as large: [from_entry, to_entry), in rounds of so many records and bytes."""

    from_entry: int = constant("first")
    to_entry: int = constant("end")
    records: int = constant("entries of a round")
    size_bytes: int = constant("bytes of a round")


class TopicSettings(Record):
    """Settings of a topic that is a list of ledgers; NO_LIMIT: never."""

    entry_bytes: int = constant("bytes of an entry, as rollover and retention count them")
    max_entries: int = constant("managedLedgerMaxEntriesPerLedger")
    max_bytes: int = constant("managedLedgerMaxSizePerLedgerMbytes")
    min_age_rounds: int = constant("managedLedgerMinLedgerRolloverTimeMinutes")
    max_age_rounds: int = constant("managedLedgerMaxLedgerRolloverTimeMinutes")
    check_rounds: int = constant("retentionCheckIntervalInSeconds")
    retention_rounds: int = constant("defaultRetentionTimeInMinutes: a ledger goes when it was closed longer ago")
    retention_bytes: int = constant("defaultRetentionSizeInMB")
    offload_bytes: int = constant("managedLedgerOffloadAutoTriggerSizeThresholdBytes")
    offload_rounds: int = constant("managedLedgerOffloadThresholdInSeconds")
    lag_rounds: int = constant("managedLedgerOffloadDeletionLagMs")


class RemoteSpan(Record):
    """The remote store from a round on. The last one is at FOREVER."""

    from_round: int = constant("its first round")
    up: int = constant("1: it is there")
    copy_bytes: int = constant("bytes that it takes of a copy in a round; NO_LIMIT: any number")


class Crash(Record):
    """A crash of the broker that serves a topic. A topic's last one is at FOREVER."""

    at_round: int = constant("round")


class Inputs(NamedTuple):
    """What rounds read of a block's scenarios. The last three are of topics that are lists of ledgers."""

    scenarios: Rows[ScenarioRow]
    rules: Rows[Rules]
    bookies: Rows[BookieRow]
    bookie_spans: Rows[BookieSpan]
    store_spans: Rows[StoreSpan]
    settings: Rows[Settings]
    workload: Rows[WorkloadSpan]
    commands: Rows[Command]
    on_the_way: Rows[OnTheWay]
    sizes: Rows[EntrySize]
    topics: Rows[TopicSettings]
    remote_spans: Rows[RemoteSpan]
    crashes: Rows[Crash]


class Fragment(Record):
    """From its first entry on, until the next fragment's, entries go to the ensemble in the same row of `ensembles`."""

    first_entry: int = constant("entry")


class FoundFragment(Record):
    """A fragment as a recovery found it, or a change of its own on top; its ensemble is in `found_ensembles`."""

    client: int = constant("the recovery")
    is_change: int = constant("1: an ensemble change of its own")
    first_entry: int = constant("entry")


class Bookie(Record):
    """What a bookie has of the ledger beside entries, and how it stands."""

    place: int = constant("its place among the scenario's bookies")
    broker: int = constant("its id")
    rack: int = constant("number of its rack, -1 without one")
    span: int = compared("place in Inputs.bookie_spans of what is in force; changes with its status")
    status: int = compared("bits")
    fenced: int = compared("1: it refuses adds but of recoveries")
    flushed_fence: int = compared("1: so it does after it lost what wasn't flushed")
    explicit_lac: int = compared("LAC that it was told beside adds")
    limbo: int = compared("1: it doesn't know what it lost (BP-46)")
    filling: int = compared("1: it gets what it lacks")
    damaged: int = compared("1: it lost something since it was last up")
    missed_since: int = compared("round from which on the auditor misses it, NEVER: it doesn't")
    open_run: int = compared("number of the run that its next entry goes on with, NOWHERE: none")
    has_to: int = counter("end of that run: it has its share of all entries below")
    flushed_to: int = sample("those of that run below it are on disk")
    # At the run's end
    last_entry: int = scratch("its largest entry, NO_ENTRY: it has none")
    lac: int = scratch("what it knows to be confirmed")
    entries: int = scratch("entries that it has")
    entry_bytes: int = scratch("bytes of these")


class StoredRun(Record):
    """Entries that a bookie has: all of [from_entry, to_entry) that an index of an ensemble gets.

    The end of a bookie's open run, and what of it is on disk, stand in Bookie: these move in steady rounds.
    """

    bookie: int = constant("slot")
    index: int = constant("index in the ensemble")
    header: int = constant("LAC in their headers, or OF_THE_WRITER")
    from_entry: int = constant("first")
    to_entry: int = constant("end")
    flushed_to: int = constant("those below it are on disk")


class Header(Record):
    """LACs in the headers of what the writer sent, up to the next one's first entry: lac + (e - from) div step * step."""

    from_entry: int = constant("first entry")
    lac: int = constant("LAC in its header")
    step: int = constant("entries a round")


class Add(Record):
    """An add of a client, until every answer is there or given up."""

    client: int = constant("who sent it")
    entry: int = constant("entry")
    lac: int = constant("LAC in its header")
    acked: int = constant("mask of indices that stored it")
    failed: int = constant("mask of indices that failed it")
    completed: int = constant("1: it has Qa answers")
    acknowledged: int = constant("1: it is acknowledged; answers are awaited")


class Request(Record):
    """An add on its way to one bookie; they stand in the order in which bookies take them."""

    client: int = constant("who sent it")
    entry: int = constant("entry")
    index: int = constant("index in the client's ensemble")
    bookie: int = constant("slot")
    lac: int = constant("LAC in its header")
    sent_round: int = constant("round of sending")
    on_the_way: int = constant("1: the bookie hasn't got it yet")
    awaited: int = constant("1: the client waits for its answer")
    answer: int = constant("NO_ANSWER, TAKEN or REFUSED; of this round")


class FailedBookie(Record):
    """A bookie that a client wants replaced."""

    client: int = constant("which client")
    when: int = constant("NOW, CHANGING or LATER")
    index: int = constant("index in the ensemble")
    bookie: int = constant("slot of who was there")


class Recovery(Record):
    """A client that opens the ledger with recovery. Its place in the list is its number."""

    origin: int = compared("BY_COMMAND, BY_WORKER, the slot of a bookie, or an owner")
    retry: int = compared("1: a failed attempt begins anew")
    started_round: int = compared("round")
    phase: int = compared("MARK, ...")
    attempting: int = compared("1: an attempt is under way, so that answers to adds count")
    heard: int = compared("mask of indices that told their LAC in this attempt")
    said: int = compared("mask of indices that answered the fencing question in this round")
    marked_round: int = counter("round in which it marked the ledger")
    base_lac: int = compared("LAC that it starts from")
    lac: int = compared("last entry that it recovered")
    error: int = compared("of ERRORS, PENDING")
    fenced_round: int = compared("round in which it was done fencing, NEVER")
    closed_round: int = compared("round in which it closed the ledger, NEVER")
    written: int = compared("last entry that Qa bookies had, with all before it, when it was done fencing")


class Opening(Record):
    """A client that opens the ledger without recovery."""

    at_round: int = constant("round")
    lac: int = constant("LAC that it found, NO_ENTRY: none yet")
    error: int = constant("of ERRORS, PENDING")


class Replacement(Record):
    """A bookie of a fragment that is to be replaced, in the order of publication."""

    first_entry: int = constant("first entry of the fragment")
    index: int = constant("index in its ensemble")
    lost: int = constant("slot of who is to be replaced")
    published_round: int = constant("round")
    target: int = constant("slot of who replaces it, NOBODY: not chosen yet")
    next_entry: int = constant("entries below it are copied")
    copied: int = constant("1: all are")


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
    first_size: int = constant("place of the sizes of what it is given")
    size_count: int = constant("so many")
    given_bytes: int = constant("bytes of the entries that were there before the run")
    end: int = constant("round at which to stop")
    # What is in force
    now: int = counter("round")
    next_change: int = compared("the next round in which an input changes")
    workload: int = compared("place of the workload in force")
    command: int = compared("place of the first command still to come")
    store_span: int = compared("place of what is in force of the metadata store")
    store_up: int = compared("1: the metadata store answers")
    # The metadata
    state: int = compared("OPEN, IN_RECOVERY or CLOSED")
    last_entry: int = compared("last entry once closed, else NO_ENTRY")
    closed_by: int = compared("number of the client that closed it, else NO_ENTRY")
    fragments: List = part_of(List, "in the order in which they were added")
    # The writer
    writer: int = compared("of WRITER_STATES")
    lac: int = counter("last entry that it acknowledged")
    lac_told: int = counter("LAC that an add carried last, or that bookies were told")
    next_entry: int = counter("entry to be sent next")
    queued: int = counter("entries that wait to be sent")
    max_in_flight: int = compared("adds that may be unacknowledged")
    changing: int = compared("1: it wants an ensemble change")
    close_asked: int = compared("closes that the application waits for")
    closes: List = part_of(List, "what was answered to closes")
    error: int = compared("what the last operation came to")
    # Clients
    own: List = part_of(List, "ensembles that clients write to, the writer's first, then of each recovery")
    recoveries: List = part_of(List, "in the order of their start")
    found: List = part_of(List, "fragments as recoveries found them, and their own changes")
    openings: List = part_of(List, "clients that open without recovery")
    adds: List = part_of(List, "adds in flight, and acknowledged ones with answers to come")
    requests: List = part_of(List, "adds on their way, and answers that are awaited")
    failures: List = part_of(List, "bookies that clients want replaced")
    # Bookies
    bookies: List = part_of(List, "bookies that the ledger ever had to do with")
    stored: List = part_of(List, "entries that they have")
    headers: List = part_of(List, "LACs in the headers of what the writer sent")
    # Repair
    replacements: List = part_of(List, "bookies of fragments that are to be replaced")
    entries_copied: int = counter("entries that replication workers copied")
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
    broken: int = compared("mask of invariants that did not hold at the end of the last round")
    played: int = scratch("rounds that were not leapt over")
    # Of one round
    lac_before: int = scratch("the writer's LAC at its start")
    told_fenced: int = scratch("1: an add was answered LedgerFenced")
    had_to_write: int = scratch("1: something was in the queue or in flight, or was refused")
    suspects_from: int = scratch("first entry that this round may have made unreadable")
    ends_otherwise: int = scratch("1: it was closed, or a fragment of a closed ledger changed")
    # At the run's end
    read_bytes: int = scratch("bytes of the entries that a reader gets")


class Part(Record):
    """What a topic knows of a ledger of its list; rounds are NEVER until it happens."""

    owner: int = constant("owner that created it")
    first_message: int = constant("message that is its entry 0")
    created_round: int = constant("round in which it was created")
    closed_round: int = compared("round at whose end it was CLOSED first")
    rolled_over: int = compared("of ROLLED_OVER_BY, NOT_YET")
    deleted_round: int = compared("round in which retention deleted it")
    dropped_round: int = compared("round in which a list without it was written over the one that had it")
    copied_bytes: int = counter("what of it the remote store has")
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
    offloading: int = compared("number of the ledger that is copied to the remote store, NOBODY")
    ledgers: List = part_of(List, "all ledgers that it ever had, in the order of their creation")
    owners: List = part_of(List, "who serves the topic, the last one, and who did")
    unwritable_rounds: int = counter("rounds at whose end messages wait, and in which none was acknowledged")
    unacked: int = counter("messages that wait for whoever serves the topic, or are in flight")
    unacked_rounds: int = total("sum of `unacked` at the ends of all rounds")


class Event(Record):
    """A row of `events`; NO_ENTRY is null."""

    ledger: int = constant("place of the ledger, or topic, in the block")
    in_list: int = constant("number of the ledger in its topic's list, NOBODY: it is about the topic")
    at_round: int = constant("round")
    kind: int = constant("place in EVENT_KINDS")
    broker: int = constant("bookie id, NOBODY: null")
    from_entry: int = constant("entry")
    to_entry: int = constant("entry")


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


class Spans(Record):
    """How far the arrays of outputs are filled."""

    events: List = part_of(List, "rows of events")
    violations: List = part_of(List, "rows of violations")
    witness: List = part_of(List, "rows of witness_fragments")


class TopicLists(NamedTuple):
    """Scratch arrays of one topic: its ledgers, what it knows of each (in the same place), its owners."""

    ledgers: Rows[Ledger]
    parts: Rows[Part]
    owners: Rows[Owner]


class Lists(NamedTuple):
    """Scratch arrays that hold one ledger's lists, and the arrays that a block writes to.

    `ensembles`, `found_ensembles`, `own` and `witness_ensembles` have a row of slots (of broker ids: the last) by index.
    """

    fragments: Rows[Fragment]
    ensembles: np.ndarray
    found: Rows[FoundFragment]
    found_ensembles: np.ndarray
    own: np.ndarray
    recoveries: Rows[Recovery]
    openings: Rows[Opening]
    closes: np.ndarray
    adds: Rows[Add]
    requests: Rows[Request]
    failures: Rows[FailedBookie]
    bookies: Rows[Bookie]
    stored: Rows[StoredRun]
    headers: Rows[Header]
    replacements: Rows[Replacement]
    events: Rows[Event]
    violations: Rows[Violation]
    witness: Rows[Fragment]
    witness_ensembles: np.ndarray
    filled: Rows[Spans]
