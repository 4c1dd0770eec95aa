"""The invariants that a run is held against, by name; what they say is in check_invariants.py, leaderships.py and the docs."""

from __future__ import annotations

EVERY_ROUND = (
    "StrongIsr", "WeakIsr", "LeaderCandidateCompleteness", "LogMatching", "OffsetsInOrder", "EpochsIncrease",
    "IsrWithinReplicas", "LeaderInIsr", "ValidIsrAndElr", "ElectionSafety", "CommittedOnMinIsr", "ReplicationQuorumSuperset",
)  # fmt: skip
AT_ELECTIONS = ("LeaderCompleteness", "NoCommittedRecordLost", "NoAckedRecordLost", "ConsistentRead")
AT_THE_END = ("EventuallyLed", "EventuallyInSync")

NAMES = EVERY_ROUND + AT_ELECTIONS + AT_THE_END
"""By the numbers that Violation.invariant has."""

(
    STRONG_ISR, WEAK_ISR, LEADER_CANDIDATE_COMPLETENESS, LOG_MATCHING, OFFSETS_IN_ORDER, EPOCHS_INCREASE,
    ISR_WITHIN_REPLICAS, LEADER_IN_ISR, VALID_ISR_AND_ELR, ELECTION_SAFETY, COMMITTED_ON_MIN_ISR, REPLICATION_QUORUM_SUPERSET,
    LEADER_COMPLETENESS, NO_COMMITTED_RECORD_LOST, NO_ACKED_RECORD_LOST, CONSISTENT_READ,
    EVENTUALLY_LED, EVENTUALLY_IN_SYNC,
) = range(len(NAMES))  # fmt: skip
