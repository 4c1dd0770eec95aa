"""Words of BookKeeper's round as numbers: states, phases, errors, events, answers."""

from __future__ import annotations

MAX_ENSEMBLE = 12
"""Bookies of an ensemble at most: the width of an ensemble's row."""
NO_LAC = -1
"""Nothing is confirmed; also the last entry of an empty ledger."""
NO_ENTRY = -2
"""There is none: the last entry of a ledger that isn't closed, what is null in a table."""
ALL_BETWEEN = -1
"""Of an event: it is about all entries that it names."""
NOBODY = -1
"""No bookie, no index, no client."""
NOWHERE = -1
"""No place in a list."""
NEVER = -1
"""A round before the run."""
FOREVER = 1 << 40
"""A round, or an entry, behind everything."""
NO_FAULT = -1
"""The cause of what no fault is behind: a command, a setting, the workload."""
NO_LIMIT = -1
"""Of a setting: there is no such limit, or it never happens."""

NOT_SHARED, USE_NOTED, ASKED_TOLD = range(3)
"""Of ScenarioRow.sharing: bookies have no budgets; the most that each was asked for is noted; that of a round is told, too."""

NO_RACK = NO_REGION = -1
"""The rack, and the region, of a bookie that has none."""
MAX_REGIONS = 64
"""Regions of a cluster at most."""

POLICIES = (
    "lowest_free_id", "rack_aware",
    "DefaultEnsemblePlacementPolicy", "RackawareEnsemblePlacementPolicy", "RegionAwareEnsemblePlacementPolicy",
)  # fmt: skip
"""Of placement; the last three are BookKeeper's own, which draw bookies at random."""
LOWEST_FREE_ID, RACK_AWARE, DEFAULT_POLICY, RACKAWARE_POLICY, REGION_AWARE_POLICY = range(len(POLICIES))

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
    "OK", "LedgerFencedException", "LedgerClosedException", "NotEnoughBookiesException", "MetadataVersionException",
    "ReadException", "UnexpectedConditionException", "LedgerRecoveryException", "NoSuchEntryException",
    "BookieHandleNotAvailableException", "TimeoutException", "DataUnknownException",
)  # fmt: skip
"""As BKException.Code names them."""
(
    OK, LEDGER_FENCED, LEDGER_CLOSED, NOT_ENOUGH_BOOKIES, METADATA_VERSION, READ_EXCEPTION, UNEXPECTED_CONDITION,
    LEDGER_RECOVERY, NO_SUCH_ENTRY, NOT_AVAILABLE, TIMEOUT, DATA_UNKNOWN,
) = range(len(ERRORS))  # fmt: skip

WRITER = -1
"""The writer's number among the clients; recoveries count from 0."""
GAVE_UP = -2
"""The client of what an attempt of a recovery sent that failed since: its next one hears nothing of the answers."""
BY_COMMAND, BY_WORKER = -1, -2
"""Who started a recovery, if not a bookie (its slot), or an owner of a topic (OWNERS - its number)."""
OWNERS = -3

NO_ANSWER, TAKEN, REFUSED = range(3)
"""What a bookie answered to an add."""
READERS = -2
"""The number of the first that opens without recovery among the clients that late answers go to; further ones are below it."""
FIRST_READ = -1_000_000_000
"""The number before that of the first read among them; reads are below it."""
FOUND, NO, UNKNOWN, NOT_ASKED_YET = range(4)
"""What a bookie says of an entry; `no`: it hasn't got it. Of a silent one: the question waits."""
ON_ITS_WAY, COME, LOST, TOO_LATE = range(4)
"""What became of a late answer: it has come; its bookie died; it has taken longer than readEntryTimeoutSec."""
RECOVERED, END, AGAIN = range(3)
"""What a recovery concludes from a write set's answers."""

NOW, CHANGING, LATER = range(3)
"""When a failed bookie is replaced: an answer of this round says so, an ensemble change is under way, with the next add."""

OF_THE_WRITER = -2
"""Whose header an entry has: the writer's (Ledger.headers), else the LAC itself, which is -1 or more."""

CLOSE_LEDGER, RECOVER_LEDGER, OPEN_NO_RECOVERY, CHECK_LEDGER, TAKE_OVER, READ_LEDGER, READ_TOPIC = range(7)
COMMAND_KINDS = (
    "close_ledger", "recover_ledger", "open_no_recovery", "check_ledger", "take_over", "read_ledger", "read_topic",
)  # fmt: skip
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
    "take_over", "offload_started", "offload_failed", "offloaded", "bookies_freed", "acked_lost",
)  # fmt: skip
(
    ENSEMBLE_CHANGE, RECOVERY_STARTED, LEDGER_CLOSED_EVENT, FENCE_EVENT, ENTRIES_LOST, ADD_FAILED, UNDERREPLICATED, COPIED,
    REREPLICATED, FILLED, LIMBO_ENTERED, LIMBO_LEFT, LEDGER_CREATED, LEDGER_ROLLED_OVER, LEDGER_DELETED,
    TAKE_OVER_EVENT, OFFLOAD_STARTED, OFFLOAD_FAILED, OFFLOADED, BOOKIES_FREED, ACKED_LOST,
) = range(len(EVENT_KINDS))  # fmt: skip
