"""What runs with consumers are held against beside the other invariants: rows of the table `invariants`.

ConsistentRead, which reads may break as elections may, is there already.
"""

from __future__ import annotations

import pyarrow as pa

READ_INVARIANTS = (
    (
        "ReadCommitted",
        "what a group reads was committed, and the replica that it reads from knows it",
        "to_offset > hw OR NOT committed",
        "docs/consumer_rounds.md; FetchIsolation",
    ),
    (
        "ReadsLineage",
        "what a group reads is what the epochs of the replica that it reads from say of the offset",
        "epoch_in_cache != epoch",
        "docs/consumer_rounds.md; KIP-405",
    ),
    (
        "ReadsOneLog",
        "the record before the position is the one that the group read there, unless Kafka's check of the position misses that",
        "goes_on AND NOT misled AND epoch_in_cache_before_position != epoch",
        "docs/consumer_rounds.md; KIP-320",
    ),
    (
        "ReadAccounted",
        "what lies before the position was read, or is skipped in the table unread",
        "position > accounted_to",
        "docs/consumer_rounds.md",
    ),
    (
        "ResetOnlyIfGone",
        "a position that is reset as below the log start or above the log end is not in the leader's log",
        "log_start_offset <= position AND position <= leo",
        "docs/consumer_rounds.md; KIP-392",
    ),
)
"""name, says, predicate, source; the predicates are those of emulator/rounds/kafka/reading/check_reads.py in short."""

_LOOKED_AT = "reads"


def with_reads(invariants: pa.Table) -> pa.Table:
    """The table `invariants` and those of reads."""
    rows = [(name, says, predicate, _LOOKED_AT, source) for name, says, predicate, source in READ_INVARIANTS]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return pa.concat_tables([invariants, pa.table(columns, schema=invariants.schema)])
