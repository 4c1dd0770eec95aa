"""What numbers mean in the records of Kafka's round: nobody, never, what faults say of a broker, answers, kinds."""

from __future__ import annotations

from emulator.rounds.kafka.event_kinds import EVENT_KINDS

NOBODY = -1
"""No leader, no slot."""
NO_EPOCH = -1
UNKNOWN = -1
"""A remote LEO that was not heard in this epoch; an offset that is not there."""
NEVER = -(1 << 40)
"""A round long before the run."""
FOREVER = 1 << 40
"""A round long after it."""
BEYOND_RUNS = 1 << 34
"""Likewise, and its ms are still a number."""
BEFORE_THE_RUN = -1
"""The round of what was there at the start."""

# What the faults say of a broker in a round (docs/kafka_rounds.md): bits of `status`.
OFFLINE, PAUSED, ISOLATED, WAKING, FENCED, RETURNING, RESTARTED, UNCLEAN_RESTART = (1 << bit for bit in range(8))
CLEAN_STOP, POWER_LOSS, DISK_LOSS, CLIENTS_CUT, STALE, STALE_BEFORE, CONTROLLER_DOWN = (1 << bit for bit in range(8, 15))
WITH_RACK = 1 << 15
"""It is isolated by rack_isolation alone, running or not: it reaches the others of its rack of which that is so."""
NOT_RUNNING = OFFLINE | PAUSED
OUT_OF_TOUCH = OFFLINE | PAUSED | ISOLATED
DEAF = OUT_OF_TOUCH | STALE
UNTOLD = DEAF | WAKING | STALE_BEFORE
CHANGES_LOG = RESTARTED | CLEAN_STOP | POWER_LOSS | DISK_LOSS
NOT_COVERED, NO_NEWS = -2, -1
"""In the table of stale_metadata: the fault is not about the partition; it lets nothing through. Else: lag in rounds."""

# Answers to a fetch
NO_ANSWER, DATA, DIVERGING, BELOW_LOG_START, ABOVE_LEO, EPOCH_END, OUT_OF_ORDER, NO_END, MOVED, GONE = range(10)
FETCH_STATES = (
    "", "unanswered", "asked", "out_of_order", "truncated", "fetched", "out_of_range", "empty",
    "moved_to_tiered_storage", "building_remote_log_aux", "aux_state_built",
)  # fmt: skip
(
    NOT_SENT, UNANSWERED, ASKED, UNORDERED, TRUNCATED, FETCHED, OUT_OF_RANGE, EMPTY,
    MOVED_AWAY, BUILDING, BUILT,
) = range(len(FETCH_STATES))  # fmt: skip
"""What became of a fetch: `fetch_state` of the trace, a place in FETCH_STATES."""

# Kinds of events
(
    ELECTION, UNCLEAN_ELECTION, LEADER_LOST, ISR_SHRINK, ISR_EXPAND, TRUNCATE, REFUSED, SEGMENT_ROLL,
    RECORDS_DELETED, LOG_DAMAGED, REASSIGNMENT_COMPLETED, ACKED_LOST, COMMITTED_LOST, LOCAL_DELETE,
    COPY_STARTED_EVENT, COPY_FINISHED_EVENT, COPY_FAILED_EVENT, REMOTE_DELETE, AUX_STATE_BUILT, TOPIC_DELETED,
    UNACKNOWLEDGED_LOST,
) = range(len(EVENT_KINDS))  # fmt: skip
NO_STRATEGY, BALANCED, AGGRESSIVE = range(3)
"""unclean.recovery.strategy"""
ACKS_ALL, ACKS_LEADER, ACKS_NONE = range(3)
"""acks of a workload row: all, 1 and 0."""
PREFERRED_ELECTION, REASSIGN, DELETE_RECORDS, DELETE_TOPIC = range(4)
"""Kinds of commands."""
