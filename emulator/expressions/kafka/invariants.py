"""Kafka's invariants as data: name, SQL predicate that finds a violation, what it says, source.

`EVERY_ROUND` are looked at while a run goes on (check_invariants.py), on every replica at the end of every round; their
predicates are over the engine's state (state.py) with what the round's look brought (observe.py). `agreed_to`: up to
there the own log is the client leader's; `alike_again`: the first offset above it where both epochs agree all the same;
`leader_leads`: the client leader runs and knows that it leads; `compared.misled`: a superseded leader that still thinks it
leads, and has committed what the own log lacks. `AT_ELECTIONS` and `AT_THE_END` are looked at in what a run leaves
(outcomes/violations.py), over the columns named there.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.expressions.kafka.eligible_leaders import min_isr
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import local_start
from emulator.expressions.kafka.tier.check_tiers import (
    ABOVE_LAST_STABLE,
    GAP,
    HOLE,
    NEVER_COPIED,
    OTHER_RECORD,
    WITHOUT_LAG,
    WRONG_STATE,
)
from emulator.expressions.slots import has, mine


@dataclass(frozen=True)
class Invariant:
    """One invariant. `violated`: SQL, true where it is broken; `says`: what must hold; `source`: who says so."""

    name: str
    says: str
    violated: str
    source: str


_FOLLOWS = "slot != client_leader AND client_leader >= 0"
_LACKS = f"{_FOLLOWS} AND agreed_to < leader_hw AND NOT impaired"
# A new leader's high watermark may be below what was committed before it (KIP-966: lagging high watermark).
_TRUE_HW = "IF(committed_before <= least(leader_epoch_start, lead.leo), greatest(leader_hw, committed_before), leader_hw)"
_NEVER_UNCLEAN = "unclean_elections = 0 AND NOT coalesce(election.unclean_elected, false)"  # those of before, and of this round
_ONCE = "slot = 0"
_LOCAL_START = local_start(RunRules(1, segments=True))
_OF_LEADER = "slot = client_leader AND leader_leads"

EVERY_ROUND: tuple[Invariant, ...] = (
    Invariant(
        "StrongIsr",
        "what lies below the high watermark of a leader is on every member of the controller's ISR",
        f"{mine('isr')} AND ((leader_leads AND {_LACKS}) OR (compared.misled IS NOT NULL AND NOT impaired AND {_NEVER_UNCLEAN}))",
        "hachikuji/kafka-specification, KafkaReplication.tla: StrongIsr",
    ),
    Invariant(
        "WeakIsr",
        "what lies below the high watermark of a leader is on every member of the ISR that it knows",
        f"leader_leads AND {mine('leader_isr')} AND {mine('assigned')} AND {_LACKS}",
        "hachikuji/kafka-specification, KafkaReplication.tla: WeakIsr",
    ),
    Invariant(
        "LeaderCandidateCompleteness",
        "whoever may be elected cleanly has all that was committed, by the last leader or those before",
        f"{mine('(isr | elr)')} AND {_FOLLOWS} AND NOT impaired AND agreed_to < {_TRUE_HW}",
        "Vanlightly/kafka-tlaplus, kip-966: LeaderCandidateCompleteness",
    ),
    Invariant(
        "LogMatching",
        "two logs that agree at an offset below both high watermarks agree on all before",
        f"{_FOLLOWS} AND alike_again < least(hw, leader_hw)",
        "Raft (Ongaro, Ousterhout 2014), figure 3; Vanlightly/kafka-tlaplus, kip-966: LogMatching",
    ),
    Invariant(
        "OffsetsInOrder",
        "log start <= high watermark <= LEO",
        "NOT (0 <= log_start_offset AND log_start_offset <= hw AND hw <= leo)",
        "KIP-405; UnifiedLog",
    ),
    Invariant(
        "EpochsIncrease",
        "the leader epochs of a log never fall",
        "epochs_fall",
        "KIP-101; LeaderEpochFileCache",
    ),
    Invariant(
        "IsrWithinReplicas",
        "the ISR is a subset of the replicas",
        f"{_ONCE} AND (isr & ~assigned) != 0",
        "hachikuji/kafka-specification, KafkaReplication.tla: TypeOk",
    ),
    Invariant(
        "LeaderInIsr",
        "the controller's leader is in the ISR",
        f"{_ONCE} AND leader >= 0 AND NOT {has('isr', 'leader')}",
        "hachikuji/kafka-specification, KafkaReplication.tla: LeaderInIsr",
    ),
    Invariant(
        "ValidIsrAndElr",
        "ISR and ELR are disjoint, the ELR within the replicas, and empty while the ISR has min.insync.replicas members",
        f"{_ONCE} AND ((isr & elr) != 0 OR (elr & ~assigned) != 0 OR (elr != 0 AND bit_count(isr) >= {min_isr()}))",
        "KIP-966; Vanlightly/kafka-tlaplus, kip-966: ValidControllerIsrAndElr",
    ),
    Invariant(
        "ElectionSafety",
        "one leader in an epoch",
        f"{_OF_LEADER} AND exists(superseded, x -> x.epoch = client_epoch AND x.slot != client_leader)",
        "Raft (Ongaro, Ousterhout 2014), figure 3: Election Safety",
    ),
    Invariant(
        "CommittedOnMinIsr",
        "the high watermark rises only while |ISR| >= min.insync.replicas",
        f"{_OF_LEADER} AND leader_hw > lead.hw AND size_shrunk < feed.min_insync_replicas"
        " AND (size_joined < feed.min_insync_replicas OR leader_hw > least(coalesce(min_held, lead.leo), lead.leo))",
        "KIP-966, rule of the high watermark",
    ),
    Invariant(
        "ReplicationQuorumSuperset",
        "the maximal ISR of a leader with enough members holds the controller's ISR and ELR",
        f"{_OF_LEADER} AND leader = client_leader AND bit_count(leader_isr) >= feed.min_insync_replicas"
        " AND ((isr | elr) & ~(leader_isr | pending_join)) != 0",
        "Vanlightly/kafka-tlaplus, kip-966: ReplicationQuorumSuperset",
    ),
)

OF_TIERS: tuple[Invariant, ...] = (
    Invariant(
        "LocalLogInOrder",
        "log start <= local log start <= high watermark",
        f"segments IS NOT NULL AND NOT (log_start_offset <= {_LOCAL_START} AND {_LOCAL_START} <= hw)",
        "KIP-405; UnifiedLog",
    ),
    Invariant(
        "NoGapBetweenTiers",
        "what a leader has not itself, from its log start on, is found by its epochs in a copied segment that is in the store",
        f"coalesce(tier_broken & {GAP}, 0) != 0",
        "KIP-405; shared protocol rules, section 2",
    ),
    Invariant(
        "RemoteBelowLastStable",
        "what a copy begins with is committed, and lies below every open transaction",
        f"coalesce(tier_broken & {ABOVE_LAST_STABLE}, 0) != 0",
        "KIP-405; RemoteLogManager: RLMCopyTask",
    ),
    Invariant(
        "NoLocalDeleteBeforeCopy",
        "what retention takes from a disk was copied once, or expired, or is not of the leader's lineage",
        f"coalesce(tier_broken & {NEVER_COPIED}, 0) != 0",
        "KIP-405; UnifiedLog.deletableSegments",
    ),
    Invariant(
        "CopyWaitsForItsLag",
        "what a copy begins with was old enough, or had enough behind it on the copier's disk",
        f"coalesce(tier_broken & {WITHOUT_LAG}, 0) != 0",
        "KIP-1241; RemoteLogManager: RLMCopyTask",
    ),
    Invariant(
        "RemoteServesLineage",
        "what a leader's epochs find in remote storage has the record that they say",
        f"coalesce(tier_broken & {OTHER_RECORD}, 0) != 0",
        "KIP-405; RemoteLogLeaderEpochState",
    ),
    Invariant(
        "RemoteStateMachine",
        "the states of a remote segment follow each other as they may",
        f"coalesce(tier_broken & {WRONG_STATE}, 0) != 0",
        "KIP-405; RemoteLogSegmentState",
    ),
    Invariant(
        "LocalLogIsWhole",
        "a replica has on its disk all from its local log start to its log end",
        f"coalesce(tier_broken & {HOLE}, 0) != 0",
        "KIP-405; TierStateMachine, UnifiedLog.truncateFullyAndStartAt",
    ),
)
"""Looked at in every round of runs with remote storage, beside EVERY_ROUND."""

_CLEAN = "NOT unclean_before AND damaged_replicas < tolerated_damages"

AT_ELECTIONS: tuple[Invariant, ...] = (
    Invariant(
        "LeaderCompleteness",
        "a leader elected from the ISR or ELR has every committed record",
        "kind = 'committed_missing' AND NOT unclean AND " + _CLEAN,
        "Raft (Ongaro, Ousterhout 2014), figure 3; Vanlightly/kafka-tlaplus, kip-966: LeaderCompleteness",
    ),
    Invariant(
        "NoCommittedRecordLost",
        "no record once below a leader's high watermark is gone from a later leader's log, as long as elections are clean",
        "kind = 'committed_missing' AND NOT unclean AND " + _CLEAN,
        "Vanlightly/kafka-tlaplus, kip-966: NoCommittedRecordLostGlobally",
    ),
    Invariant(
        "NoAckedRecordLost",
        "no record acknowledged for acks=all is gone from a later leader's log, as long as elections are clean",
        "kind = 'acked_missing' AND NOT unclean AND " + _CLEAN,
        "Kafka documentation, message delivery semantics; shared protocol rules, section 6",
    ),
    Invariant(
        "ConsistentRead",
        "no offset that consumers could read comes to hold another record, as long as elections are clean",
        "kind = 'committed_missing' AND from_offset < reached_hw AND NOT unclean AND " + _CLEAN,
        "Vanlightly/kafka-tlaplus, kip-966: ConsistentRead",
    ),
)

AT_THE_END: tuple[Invariant, ...] = (
    Invariant(
        "EventuallyLed",
        "after the last fault every partition has a leader within a bound",
        "settled AND slot = 0 AND (leader < 0 OR NOT leader_ready)",
        "Vanlightly/kafka-tlaplus, kip-966: liveness",
    ),
    Invariant(
        "EventuallyInSync",
        "after the last fault every replica is heard, and in the ISR if it is caught up, within a bound",
        f"settled AND leader >= 0 AND leader_ready AND {mine('assigned')} AND NOT {mine('isr')}"
        " AND (fetched_round < quiet_from OR (leo >= leader_hw AND leo >= leader_epoch_start))",
        "Vanlightly/kafka-tlaplus, kip-966: liveness",
    ),
)

INVARIANTS: tuple[Invariant, ...] = EVERY_ROUND + OF_TIERS + AT_ELECTIONS + AT_THE_END
