"""What runs of Kafka's partitions are held against, and what groups read of them."""

from __future__ import annotations

from emulator.outcomes.invariants.invariant import Invariant

OF_PARTITIONS: tuple[Invariant, ...] = (
    Invariant(
        "StrongIsr",
        "what lies below the high watermark of a leader is on every member of the controller's ISR",
        (
            "((isr & own_bit) != 0) AND ((leader_leads AND slot != client_leader AND client_leader >= 0 AND agreed_to"
            " < leader_hw AND NOT impaired) OR (compared.misled IS NOT NULL AND NOT impaired AND compared.misled.epoch"
            " >= greatest(unclean_epoch, lossy_epoch)))"
        ),
        "every round",
        "hachikuji/kafka-specification, KafkaReplication.tla: StrongIsr",
    ),
    Invariant(
        "WeakIsr",
        "what lies below the high watermark of a leader is on every member of the ISR that it knows",
        (
            "leader_leads AND ((leader_isr & own_bit) != 0) AND ((assigned & own_bit) != 0) AND slot != client_leader"
            " AND client_leader >= 0 AND agreed_to < leader_hw AND NOT impaired"
        ),
        "every round",
        "hachikuji/kafka-specification, KafkaReplication.tla: WeakIsr",
    ),
    Invariant(
        "LeaderCandidateCompleteness",
        "whoever may be elected cleanly has all that was committed, by the last leader or those before",
        (
            "(((isr | elr) & own_bit) != 0) AND slot != client_leader AND client_leader >= 0 AND NOT impaired AND"
            " agreed_to < IF(committed_before <= least(leader_epoch_start, lead.leo), greatest(leader_hw,"
            " committed_before), leader_hw)"
        ),
        "every round",
        "Vanlightly/kafka-tlaplus, kip-966: LeaderCandidateCompleteness",
    ),
    Invariant(
        "LogMatching",
        "two logs that agree at an offset below both high watermarks agree on all before",
        "slot != client_leader AND client_leader >= 0 AND alike_again < least(hw, leader_hw)",
        "every round",
        "Raft (Ongaro, Ousterhout 2014), figure 3; Vanlightly/kafka-tlaplus, kip-966: LogMatching",
    ),
    Invariant(
        "OffsetsInOrder",
        "log start <= high watermark <= LEO",
        "NOT (0 <= log_start_offset AND log_start_offset <= hw AND hw <= leo)",
        "every round",
        "KIP-405; UnifiedLog",
    ),
    Invariant(
        "EpochsIncrease",
        "the leader epochs of a log never fall",
        "epochs_fall",
        "every round",
        "KIP-101; LeaderEpochFileCache",
    ),
    Invariant(
        "IsrWithinReplicas",
        "the ISR is a subset of the replicas",
        "slot = 0 AND (isr & ~assigned) != 0",
        "every round",
        "hachikuji/kafka-specification, KafkaReplication.tla: TypeOk",
    ),
    Invariant(
        "LeaderInIsr",
        "the controller's leader is in the ISR",
        "slot = 0 AND leader >= 0 AND NOT ((isr & shiftleft(1, leader)) != 0)",
        "every round",
        "hachikuji/kafka-specification, KafkaReplication.tla: LeaderInIsr",
    ),
    Invariant(
        "ValidIsrAndElr",
        "ISR and ELR are disjoint, the ELR within the replicas, and empty while the ISR has min.insync.replicas members",
        (
            "slot = 0 AND ((isr & elr) != 0 OR (elr & ~assigned) != 0 OR (elr != 0 AND bit_count(isr) >="
            " least(feed.min_insync_replicas, bit_count(assigned))))"
        ),
        "every round",
        "KIP-966; Vanlightly/kafka-tlaplus, kip-966: ValidControllerIsrAndElr",
    ),
    Invariant(
        "ElectionSafety",
        "one leader in an epoch",
        "slot = client_leader AND leader_leads AND exists(superseded, x -> x.epoch = client_epoch AND x.slot != client_leader)",
        "every round",
        "Raft (Ongaro, Ousterhout 2014), figure 3: Election Safety",
    ),
    Invariant(
        "CommittedOnMinIsr",
        "the high watermark rises only while |ISR| >= min.insync.replicas",
        (
            "slot = client_leader AND leader_leads AND leader_hw > lead.hw AND size_shrunk < feed.min_insync_replicas"
            " AND (size_joined < feed.min_insync_replicas OR leader_hw > least(coalesce(min_held, lead.leo),"
            " lead.leo))"
        ),
        "every round",
        "KIP-966, rule of the high watermark",
    ),
    Invariant(
        "ReplicationQuorumSuperset",
        "the maximal ISR of a leader with enough members holds the controller's ISR and ELR",
        (
            "slot = client_leader AND leader_leads AND leader = client_leader AND bit_count(leader_isr) >="
            " feed.min_insync_replicas AND ((isr | elr) & ~(leader_isr | pending_join)) != 0"
        ),
        "every round",
        "Vanlightly/kafka-tlaplus, kip-966: ReplicationQuorumSuperset",
    ),
    Invariant(
        "LocalLogInOrder",
        "log start <= local log start <= high watermark",
        (
            "segments IS NOT NULL AND NOT (log_start_offset <= IF(segments IS NULL, log_start_offset,"
            " greatest(log_start_offset, coalesce(get(segments, 0).base_offset, segment_base_offset))) AND"
            " IF(segments IS NULL, log_start_offset, greatest(log_start_offset, coalesce(get(segments,"
            " 0).base_offset, segment_base_offset))) <= hw)"
        ),
        "every round",
        "KIP-405; UnifiedLog",
    ),
    Invariant(
        "NoGapBetweenTiers",
        "what a leader has not itself, from its log start on, is found by its epochs in a copied segment that is in the store",
        "coalesce(tier_broken & 1, 0) != 0",
        "every round",
        "KIP-405; shared protocol rules, section 2",
    ),
    Invariant(
        "RemoteBelowLastStable",
        "what a copy begins with is committed, and lies below every open transaction",
        "coalesce(tier_broken & 2, 0) != 0",
        "every round",
        "KIP-405; RemoteLogManager: RLMCopyTask",
    ),
    Invariant(
        "NoLocalDeleteBeforeCopy",
        "what retention takes from a disk was copied once, or expired, or is not of the leader's lineage",
        "coalesce(tier_broken & 4, 0) != 0",
        "every round",
        "KIP-405; UnifiedLog.deletableSegments",
    ),
    Invariant(
        "CopyWaitsForItsLag",
        "what a copy begins with was old enough, or had enough behind it on the copier's disk",
        "coalesce(tier_broken & 8, 0) != 0",
        "every round",
        "KIP-1241; RemoteLogManager: RLMCopyTask",
    ),
    Invariant(
        "RemoteServesLineage",
        "what a leader's epochs find in remote storage has the record that they say",
        "coalesce(tier_broken & 16, 0) != 0",
        "every round",
        "KIP-405; RemoteLogLeaderEpochState",
    ),
    Invariant(
        "RemoteStateMachine",
        "the states of a remote segment follow each other as they may",
        "coalesce(tier_broken & 32, 0) != 0",
        "every round",
        "KIP-405; RemoteLogSegmentState",
    ),
    Invariant(
        "LocalLogIsWhole",
        "a replica has on its disk all from its local log start to its log end",
        "coalesce(tier_broken & 64, 0) != 0",
        "every round",
        "KIP-405; TierStateMachine, UnifiedLog.truncateFullyAndStartAt",
    ),
    Invariant(
        "LeaderCompleteness",
        "a leader elected from the ISR or ELR has every committed record, but what an earlier election gave up",
        "kind = 'committed_missing' AND NOT unclean AND NOT lossy AND NOT given_up",
        "elections",
        "Raft (Ongaro, Ousterhout 2014), figure 3; Vanlightly/kafka-tlaplus, kip-966: LeaderCompleteness",
    ),
    Invariant(
        "NoCommittedRecordLost",
        "a committed record that a leader lacks is in some replica's log, but what an election gave up",
        "kind = 'committed_missing' AND NOT unclean AND NOT lossy AND NOT given_up AND holders = 0",
        "every round",
        "Vanlightly/kafka-tlaplus, kip-966: NoCommittedRecordLostGlobally",
    ),
    Invariant(
        "NoAckedRecordLost",
        "no record acknowledged for acks=all is gone from a later leader's log, but what an election gave up",
        "kind = 'acked_missing' AND NOT unclean AND NOT lossy AND NOT given_up",
        "elections",
        "Kafka documentation, message delivery semantics; shared protocol rules, section 6",
    ),
    Invariant(
        "ConsistentRead",
        "no offset that consumers could read comes to hold another record, but what an election gave up",
        "kind = 'committed_missing' AND from_offset < reached_hw AND NOT unclean AND NOT lossy AND NOT given_up",
        "elections",
        "Vanlightly/kafka-tlaplus, kip-966: ConsistentRead",
    ),
    Invariant(
        "EventuallyLed",
        "after the last fault every partition has a leader within a bound",
        "settled AND slot = 0 AND (leader < 0 OR NOT leader_ready)",
        "end",
        "Vanlightly/kafka-tlaplus, kip-966: liveness",
    ),
    Invariant(
        "EventuallyInSync",
        "after the last fault every replica is heard, and in the ISR if it is caught up, within a bound",
        (
            "settled AND leader >= 0 AND leader_ready AND ((assigned & own_bit) != 0) AND NOT ((isr & own_bit) != 0)"
            " AND ((fetched_round < quiet_from AND NOT sent_away)"
            " OR (least(leo, remote_leo) >= greatest(leader_hw, leader_epoch_start)"
            " AND (remote_leo >= lead.leo OR round - caught_up_round <= lag_rounds)))"
        ),
        "end",
        "Vanlightly/kafka-tlaplus, kip-966: liveness",
    ),
)
"""Kafka's."""

OF_READS: tuple[Invariant, ...] = (
    Invariant(
        "ReadCommitted",
        "what a group reads was committed, and the replica that it reads from knows it",
        "to_offset > hw OR NOT committed",
        "reads",
        "docs/consumer_rounds.md; FetchIsolation",
    ),
    Invariant(
        "ReadsLineage",
        "what a group reads is what the epochs of the replica that it reads from say of the offset",
        "epoch_in_cache != epoch",
        "reads",
        "docs/consumer_rounds.md; KIP-405",
    ),
    Invariant(
        "ReadsOneLog",
        "the record before the position is the one that the group read there, unless Kafka's check of the position misses that",
        "goes_on AND NOT misled AND epoch_in_cache_before_position != epoch",
        "reads",
        "docs/consumer_rounds.md; KIP-320",
    ),
    Invariant(
        "ReadAccounted",
        "what lies before the position was read, or is skipped in the table unread",
        "position > accounted_to",
        "reads",
        "docs/consumer_rounds.md",
    ),
    Invariant(
        "ResetOnlyIfGone",
        "a position that is reset as below the log start or above the log end is not in the leader's log",
        "log_start_offset <= position AND position <= leo",
        "reads",
        "docs/consumer_rounds.md; KIP-392",
    ),
)
"""Of runs in which groups read, beside the others; ConsistentRead, which reads may break as elections may, is there already."""
