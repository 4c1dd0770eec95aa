"""What runs of groups that commit by quorums are held against, by the names of their papers."""

from __future__ import annotations

from emulator.outcomes.invariants.invariant import Invariant

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
    Invariant(
        "FinalizedSegments",
        "a segment that a journal node finalized is never synchronized with another content",
        "finalized AND array(entries) != array(entries of what it is synchronized with)",
        "recoveries and starts of segments",
        "apache/hadoop, class Journal: an assertion of acceptRecovery",
    ),
)
"""Of groups that commit by quorums; until a disk lost something, for stable storage is what they are promised on."""
