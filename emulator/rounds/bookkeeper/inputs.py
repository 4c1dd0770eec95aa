"""The records that BookKeeper's rounds read: rules, settings, bookies and the metadata store over time, workload, commands."""

from __future__ import annotations

from typing import NamedTuple

from emulator.rounds.records import Record, Rows, constant


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
    draw_key: int = constant("what its seed comes to as a key of draws")
    bucket_rounds: int = constant("rounds of a time bucket of traffic, 0: none is told")
    leaps: int = constant("1: quiet rounds are leapt over; the result is the same")
    first_bookie: int = constant("place of its first bookie in Inputs.bookies")
    bookies: int = constant("bookies of the cluster")
    quiet_from: int = constant("last round in which a fault ends or a command is given")
    sharing: int = constant("NOT_SHARED, USE_NOTED or ASKED_TOLD: what its ledgers tell of what they ask of bookies")


class BookieRow(Record):
    """A bookie of the cluster."""

    broker: int = constant("its id")
    rack: int = constant("number of its rack, NO_RACK")
    region: int = constant("number of its region, NO_REGION")
    first_span: int = constant("place of its first span")
    spans: int = constant("spans, without the one at FOREVER")


class BookieSpan(Record):
    """What the faults say of a bookie from a round on. A bookie's last one is at FOREVER."""

    from_round: int = constant("its first round")
    status: int = constant("bits")
    cause: int = constant("fault_id of the strongest fault in force on it, else of the last that was, NO_FAULT")
    lag: int = constant("rounds by which its answers come late")
    lag_cause: int = constant("fault_id of the slow_bookie that says so, NO_FAULT")
    link_bytes: int = constant("bytes of a ledger's adds that a slow link to it lets through in a round, NO_LIMIT")
    link_fault: int = constant("fault_id of that slow_link")
    disk_bytes: int = constant("bytes of a ledger's adds that its slow disk takes in a round, NO_LIMIT")
    disk_fault: int = constant("fault_id of that slow_disk")
    lost_round: int = constant("round from which on the auditor takes it for lost, if it is missing, FOREVER: it does not")


class BookieShare(Record):
    """What a bookie may take of all ledgers' adds in a round, and who waits in this one: who was sent last."""

    budget_bytes: int = constant("bytes of a round, NO_LIMIT: it has no budget")
    by_disk: int = constant("1: it is its disk's, 0: its network's")
    cut_round: int = constant("adds that were sent before it are taken; FOREVER: all are")
    left_bytes: int = constant("what is left for those of that round")
    asked_bytes: int = constant("what these come to; both in a coarser unit where they are huge")


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
    round_ms: int = constant("milliseconds of a round")
    speculate_ms: int = constant("firstSpeculativeReadTimeout; 0: off")
    speculate_most_ms: int = constant("maxSpeculativeReadTimeout")
    delay_ensemble_change: int = constant("delayEnsembleChange")
    explicit_lac_ms: int = constant("explicitLacInterval; 0: off")
    policy: int = constant("of POLICIES")
    min_racks: int = constant("minNumRacksPerWriteQuorum")
    enforce_min_racks: int = constant("enforceMinNumRacksPerWriteQuorum")
    journal: int = constant("journalWriteData: a crash loses nothing")
    synced: int = constant("journalSyncData with it: a power loss loses nothing")
    flush_ms: int = constant("flushInterval; 0: what is flushed doesn't matter")
    integrity_check: int = constant("dataIntegrityCheckingEnabled (BP-46)")
    autorecovery: int = constant("autoRecoveryDaemonEnabled")
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
    fault: int = constant("its fault_id")


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
    round_ms: int = constant("milliseconds of a round")
    check_ms: int = constant("retentionCheckIntervalInSeconds")
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
    outage: int = constant("fault_id of the outage in which it is away, NO_FAULT")


class Crash(Record):
    """A crash of the broker that serves a topic. A topic's last one is at FOREVER."""

    at_round: int = constant("round")
    fault: int = constant("its fault_id, NO_FAULT")


class Inputs(NamedTuple):
    """What rounds read of a block's scenarios. The last three are of topics that are lists of ledgers.

    `shares`: of each of `bookies`; who plays ledgers that share budgets sets them from round to round.
    """

    scenarios: Rows[ScenarioRow]
    rules: Rows[Rules]
    bookies: Rows[BookieRow]
    bookie_spans: Rows[BookieSpan]
    shares: Rows[BookieShare]
    store_spans: Rows[StoreSpan]
    settings: Rows[Settings]
    workload: Rows[WorkloadSpan]
    commands: Rows[Command]
    on_the_way: Rows[OnTheWay]
    sizes: Rows[EntrySize]
    topics: Rows[TopicSettings]
    remote_spans: Rows[RemoteSpan]
    crashes: Rows[Crash]
