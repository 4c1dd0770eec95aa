"""Words of quorums' rounds as numbers: roles, events, statuses."""

from __future__ import annotations

MAX_SERVERS = 12
"""Servers of a group at most, as replicas of a partition: places of masks."""
NOBODY = -1
"""No server, no broker."""
NEVER = -(1 << 40)
"""A round before the run."""
FOREVER = 1 << 40
"""A round behind everything."""
NO_FAULT = -1
"""The cause of what no fault is behind."""
NO_ISLAND = 0
"""The island of who is not isolated, or by itself."""
NO_ENTRY = -1
"""Of an event: it names no entry."""
NO_TERM = -1
"""Of an event: it names no term."""
NO_LIMIT = 1 << 40
"""Entries of an answer, if nothing limits them."""

# What the faults say of a server in a round: bits of `status`. The last two are of the first round of a fault only.
DOWN, PAUSED, ISOLATED, CLIENTS_CUT, NO_POWER, POWER_LOST, DISK_LOST = (1 << bit for bit in range(7))
NOT_RUNNING = DOWN | PAUSED
UNHEARD = DOWN | PAUSED | ISOLATED
UNSERVED = DOWN | PAUSED | CLIENTS_CUT
"""Clients don't reach it."""

FOLLOWER, CANDIDATE, LEADER, RECOVERING = range(4)
ROLES = ("follower", "candidate", "leader", "recovering")

OUT_OF_SYNC, IN_SYNC, WAITING = range(3)
"""What a journal node is for a writer."""

UNIFORM, GEOMETRIC = DISTRIBUTIONS = range(2)
"""Of what is drawn on top of a delay."""
EXACT_LATENCY = 64
"""Latencies below are counted by themselves, longer ones eight to a power of two."""

NEVER_FLUSHED = 0
"""Of Settings.flush_ms: nothing is ever flushed; 1 is every write."""

EVENT_KINDS = (
    "election", "leader_lost", "truncate", "log_damaged", "acked_lost", "committed_lost", "campaign", "step_down",
    "isr_shrink", "isr_expand", "configuration", "reassignment_completed",
)  # fmt: skip
(
    ELECTION, LEADER_LOST, TRUNCATE, LOG_DAMAGED, ACKED_LOST, COMMITTED_LOST, CAMPAIGN, STEP_DOWN,
    ISR_SHRINK, ISR_EXPAND, CONFIGURATION, REASSIGNMENT_COMPLETED,
) = range(len(EVENT_KINDS))  # fmt: skip

INVARIANTS = (
    "ElectionSafety", "LeaderAppendOnly", "LogMatching", "LeaderCompleteness", "StateMachineSafety",
    "PrimaryInvariant", "CommitInvariant", "ReconfigurationInvariant",
    "Leadership2", "PrimaryIntegrity", "PrefixConsistency", "GlobalPrimaryOrder",
    "SingleLeader", "ConsistentCommittedData", "MonotonicHighWatermark", "MajorityReachedHighWatermark",
    "NoLogDivergence", "FinalizedSegments",
)  # fmt: skip
"""Of the Raft paper's figure 3; then of PacificA, Zab, Kafka's tests of KRaft, Vanlightly's of VR, HDFS's class Journal."""
(
    ELECTION_SAFETY, LEADER_APPEND_ONLY, LOG_MATCHING, LEADER_COMPLETENESS, STATE_MACHINE_SAFETY,
    PRIMARY_INVARIANT, COMMIT_INVARIANT, RECONFIGURATION_INVARIANT,
    LEADERSHIP_2, PRIMARY_INTEGRITY, PREFIX_CONSISTENCY, GLOBAL_PRIMARY_ORDER,
    SINGLE_LEADER, CONSISTENT_COMMITTED_DATA, MONOTONIC_HIGH_WATERMARK, MAJORITY_REACHED_HIGH_WATERMARK,
    NO_LOG_DIVERGENCE, FINALIZED_SEGMENTS,
) = range(len(INVARIANTS))  # fmt: skip
