"""The invariants that a run is held against, by name; what they say: check_invariants.py, tier/check_tiers.py, leaderships.py."""

from __future__ import annotations

EVERY_ROUND = (
    "StrongIsr", "WeakIsr", "LeaderCandidateCompleteness", "LogMatching", "OffsetsInOrder", "EpochsIncrease",
    "IsrWithinReplicas", "LeaderInIsr", "ValidIsrAndElr", "ElectionSafety", "CommittedOnMinIsr", "ReplicationQuorumSuperset",
)  # fmt: skip
OF_TIERS = (
    "LocalLogInOrder", "NoGapBetweenTiers", "RemoteBelowLastStable", "NoLocalDeleteBeforeCopy", "CopyWaitsForItsLag",
    "RemoteServesLineage", "RemoteStateMachine", "LocalLogIsWhole",
)  # fmt: skip
"""In every round of topics with remote storage."""
AT_ELECTIONS = ("LeaderCompleteness", "NoCommittedRecordLost", "NoAckedRecordLost", "ConsistentRead")
AT_THE_END = ("EventuallyLed", "EventuallyInSync")
OF_READS = ("ConsistentRead", "ReadCommitted", "ReadsLineage", "ReadsOneLog", "ReadAccounted", "ResetOnlyIfGone")

NAMES = EVERY_ROUND + OF_TIERS + AT_ELECTIONS + AT_THE_END + OF_READS
"""By the numbers that Violation.invariant has."""

SUSPECTED = 32
"""In a mask of what is broken the bit of an invariant is its number, and from here on the same of what is suspect."""

(
    STRONG_ISR, WEAK_ISR, LEADER_CANDIDATE_COMPLETENESS, LOG_MATCHING, OFFSETS_IN_ORDER, EPOCHS_INCREASE,
    ISR_WITHIN_REPLICAS, LEADER_IN_ISR, VALID_ISR_AND_ELR, ELECTION_SAFETY, COMMITTED_ON_MIN_ISR, REPLICATION_QUORUM_SUPERSET,
    LOCAL_LOG_IN_ORDER, NO_GAP_BETWEEN_TIERS, REMOTE_BELOW_LAST_STABLE, NO_LOCAL_DELETE_BEFORE_COPY, COPY_WAITS_FOR_ITS_LAG,
    REMOTE_SERVES_LINEAGE, REMOTE_STATE_MACHINE, LOCAL_LOG_IS_WHOLE,
    LEADER_COMPLETENESS, NO_COMMITTED_RECORD_LOST, NO_ACKED_RECORD_LOST, CONSISTENT_READ,
    EVENTUALLY_LED, EVENTUALLY_IN_SYNC,
    READ_CONSISTENTLY, READ_COMMITTED, READS_LINEAGE, READS_ONE_LOG, READ_ACCOUNTED, RESET_ONLY_IF_GONE,
) = range(len(NAMES))  # fmt: skip
