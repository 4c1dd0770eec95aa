"""What runs are held against: the rows of the table `invariants`.

Rounds look at them in code, and tell where one is broken: emulator/rounds/kafka/check_invariants.py, tier/check_tiers.py,
leaderships.py (elections), finish.py (the end), reading/check_reads.py; emulator/rounds/bookkeeper/check_invariants.py. The
predicates say in SQL what is looked for: of what a round knows of a replica or ledger, of an election, or of a read. What excuses
a row, and what makes it one of kind suspect, is in docs/invariants.md.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from emulator.schema import OUTPUT_TABLES


class Invariant(NamedTuple):
    """A row: `says` what must hold, `predicate` finds where it does not, `looked_at`: when, `source`: who says so."""

    invariant: str
    says: str
    predicate: str
    looked_at: str
    source: str


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
            " AND (fetched_round < quiet_from OR (leo >= leader_hw AND leo >= leader_epoch_start))"
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

OF_LEDGERS: tuple[Invariant, ...] = (
    Invariant(
        "AllAckedEntriesAreReadable",
        "every acknowledged entry is within the ledger and on a bookie of its write set, whether or not that one is up",
        "(ledger_state = 2 AND lac > last_entry) OR (NOT impaired AND unreadable IS NOT NULL)",
        "every round",
        "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol: AllAckedEntriesAreReadable; shared protocol rules, section 6",
    ),
    Invariant(
        "OnlyValidFragments",
        "fragments start at 0 and then ever higher, at most one above the last entry; an ensemble has E bookies",
        (
            "get(fragments, 0).first_entry != 0 OR (size(fragments) > 1 AND NOT aggregate(sequence(1, size(fragments)"
            " - 1), true, (ok_, i_) -> ok_ AND get(fragments, i_).first_entry > get(fragments, i_ - 1).first_entry))"
            " OR (ledger_state = 2 AND element_at(fragments, -1).first_entry > last_entry + 1) OR exists(fragments,"
            " p_ -> size(array_distinct(p_.ensemble)) != feed.ensemble_size)"
        ),
        "every round",
        "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol: OnlyValidFragments",
    ),
    Invariant(
        "NoOutOfOrderEntries",
        "a closed ledger has no gap, and nothing that was not written",
        "ledger_state = 2 AND ((NOT impaired AND missing IS NOT NULL) OR last_entry >= next_entry)",
        "every round",
        "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol: NoOutOfOrderEntries",
    ),
    Invariant(
        "NoDivergenceBetweenClientAndMetaData",
        "no client thinks otherwise of the ledger than the metadata: neither of its end nor of the ensemble that it writes to",
        (
            "(ledger_state = 2 AND lac > last_entry) OR (ledger_state = 0 AND writer_state = 0 AND changing IS NULL"
            " AND ensemble != element_at(fragments, -1).ensemble) OR exists(recoveries, r_ -> r_.closed_round = round"
            " AND r_.ensemble != element_at(fragments, -1).ensemble) OR exists(recoveries, r_ -> r_.phase = 5 AND"
            " r_.lac != last_entry)"
        ),
        "every round",
        "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol: NoDivergenceBetweenClientAndMetaData",
    ),
    Invariant(
        "RecoveredLacCoversAcked",
        "a ledger that a recovery closed has what was acknowledged, and what Qa bookies had when it was done fencing",
        "ledger_state = 2 AND closed_by >= 0 AND greatest(lac, coalesce(get(recoveries, closed_by).written, -1L)) > last_entry",
        "every round",
        "shared protocol rules, section 6",
    ),
    Invariant(
        "AckedMessagesAreListed",
        "a topic's acknowledged messages stand in ledgers of its list, until retention deletes these",
        "coalesce(dropped_round IS NOT NULL AND deleted_round IS NULL AND lac >= 0, false)",
        "every round",
        "Pulsar, ManagedLedgerImpl: the list of ledgers is written by compare-and-set; shared notes on logs from ledgers",
    ),
    Invariant(
        "RecoveryEnds",
        "a ledger that is to be recovered is closed, if nothing happened for long enough",
        (
            "NOT ledger_state = 2 AND greatest(quiet_from, coalesce(array_max(transform(recoveries, r_ ->"
            " r_.started_round)), 0)) + feed.add_timeout + feed.read_timeout + 8 + 2 * greatest(next_entry,"
            " coalesce(array_max(transform(recoveries, r_ -> r_.lac + 1)), 0L)) < round AND exists(recoveries, r_ ->"
            " r_.retry AND r_.phase NOT IN (5, 6))"
        ),
        "end",
        "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol: liveness",
    ),
)
"""BookKeeper's."""


_RAFT = "Raft (Ongaro, Ousterhout 2014), figure 3"
_PACIFICA = "PacificA (Lin, Yang, Zhang, Zhou 2008), section 2"
_KRAFT = "apache/kafka, RaftEventSimulationTest"
_ZAB = "apache/zookeeper, zookeeper-specifications: Zab.tla"
OF_GROUPS: tuple[Invariant, ...] = (
    Invariant(
        "ElectionSafety",
        "at most one leader is elected in a term",
        "EXISTS (SELECT 1 FROM leaderships l WHERE l.term = elected.term)",
        "elections",
        _RAFT,
    ),
    Invariant(
        "LeaderAppendOnly",
        "a leader never cuts its log in the term that it leads",
        "truncated AND role = 2 AND leader_term <= term",
        "every round",
        _RAFT,
    ),
    Invariant(
        "LogMatching",
        "two logs that have an entry of one number and term are the same up to there",
        "first_other_entry < last_shared_term",
        "every round",
        _RAFT,
    ),
    Invariant(
        "LeaderCompleteness",
        "a new leader has every entry that was committed before",
        "EXISTS (SELECT 1 FROM committed c WHERE NOT array_contains(elected.log, c.entry))",
        "elections",
        _RAFT,
    ),
    Invariant(
        "StateMachineSafety",
        "what a server knows to be committed is so, and no other entry with its number ever was",
        "entry < commit AND (NOT committed OR EXISTS (SELECT 1 FROM committed c WHERE c.number = number AND c.entry != entry))",
        "every round",
        _RAFT,
    ),
    Invariant(
        "PrimaryInvariant",
        "no server is a primary unless the configuration manager has it as the primary",
        "role = 2 AND runs AND slot != manager.primary",
        "every round",
        _PACIFICA,
    ),
    Invariant(
        "CommitInvariant",
        "a replica has prepared what the primary of its configuration has committed, and has committed no more than it",
        "is_member AND (first_unlike < primary.commit OR commit > primary.commit)",
        "every round",
        _PACIFICA,
    ),
    Invariant(
        "ReconfigurationInvariant",
        "a new primary has every entry that was committed before",
        "EXISTS (SELECT 1 FROM committed c WHERE NOT array_contains(elected.log, c.entry))",
        "elections",
        _PACIFICA,
    ),
    Invariant(
        "Leadership2",
        "at most one leader is established in an epoch",
        "EXISTS (SELECT 1 FROM leaderships l WHERE l.term = established.term)",
        "elections",
        _ZAB,
    ),
    Invariant(
        "PrimaryIntegrity",
        "an established leader has every transaction that was delivered before",
        "EXISTS (SELECT 1 FROM committed c WHERE NOT array_contains(established.log, c.entry))",
        "elections",
        "Zab (Junqueira, Reed, Serafini 2011), section III",
    ),
    Invariant(
        "PrefixConsistency",
        "what a server delivers was committed, and no other transaction with its number ever was",
        "entry < commit AND (NOT committed OR EXISTS (SELECT 1 FROM committed c WHERE c.number = number AND c.entry != entry))",
        "every round",
        _ZAB,
    ),
    Invariant(
        "GlobalPrimaryOrder",
        "no history has a transaction behind one of a newer epoch",
        "term < max(term) OVER (ORDER BY entry)",
        "every round",
        "Zab (Junqueira, Reed, Serafini 2011), section III",
    ),
    Invariant(
        "SingleLeader",
        "at most one leader is elected in an epoch",
        "EXISTS (SELECT 1 FROM leaderships l WHERE l.term = elected.term)",
        "elections",
        _KRAFT,
    ),
    Invariant(
        "ConsistentCommittedData",
        "what a voter knows to be committed is so, and no other entry with its offset ever was",
        "entry < commit AND (NOT committed OR EXISTS (SELECT 1 FROM committed c WHERE c.number = number AND c.entry != entry))",
        "every round",
        _KRAFT,
    ),
    Invariant(
        "MonotonicHighWatermark",
        "no leader's high watermark is below one that a leader had before",
        "commit < group.high_watermark",
        "every round",
        _KRAFT,
    ),
    Invariant(
        "MajorityReachedHighWatermark",
        "where a high watermark rises a majority's logs are as long",
        "count_if(end >= commit) < copies div 2 + 1",
        "every round",
        _KRAFT,
    ),
    Invariant(
        "NoLogDivergence",
        "what a replica knows to be committed is so, and no other operation with its number ever was",
        "entry < commit AND (NOT committed OR EXISTS (SELECT 1 FROM committed c WHERE c.number = number AND c.entry != entry))",
        "every round",
        "Vanlightly/vsr-tlaplus, vsr-revisited: NoLogDivergence",
    ),
)
"""Of groups that commit by quorums; until a disk lost something, for stable storage is what they are promised on."""


def invariant_table(*groups: tuple[Invariant, ...]) -> pa.Table:
    """The table `invariants` of these groups."""
    columns = [pa.array(column, pa.string()) for column in zip(*(row for group in groups for row in group), strict=True)]
    return pa.table(columns, OUTPUT_TABLES["invariants"].names)
