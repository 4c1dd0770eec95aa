"""A column, its types, and the columns that many tables have.

Ids, epochs and round numbers are int; offsets, bytes and counts are long. A nullable column says in its comment what null means.
"""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """A column; `kind` is its type as Spark's DDL writes it, elements and values of which are never null."""

    name: str
    kind: str
    comment: str
    nullable: bool = False


INT = "int"
LONG = "bigint"
TEXT = "string"
FLAG = "boolean"
BROKERS = "array<int>"
EPOCHS = "array<struct<epoch:int,start_offset:bigint>>"


def table(*columns: Column) -> tuple[Column, ...]:
    """The columns of a table."""
    return columns


SCENARIO = Column("scenario_id", INT, "scenario: 0 is base, variants from 1 in the order of the file")
TOPIC = Column("topic", TEXT, "topic name")
PARTITION = Column("partition", INT, "partition number within the topic")
PLACE = (SCENARIO, TOPIC, PARTITION)
"""Which partition, or ledger, a row is about."""
BROKER = Column("broker", INT, "broker id")
ROUND = Column("round", INT, "round number, from 0")
ROLE = Column("role", TEXT, "leader, follower or offline")
BELIEVED_EPOCH = Column("leader_epoch", INT, "leader epoch the replica believes in")
LOG_START = Column("log_start_offset", LONG, "offset: first of the whole log, remote part included")
LOCAL_LOG_START = Column("local_log_start_offset", LONG, "offset: first on the broker's own disk")
LEO = Column("leo", LONG, "offset: log end, exclusive")
HW = Column("hw", LONG, "offset: high watermark the replica knows, exclusive")
IN_ISR = Column("in_isr", FLAG, "whether the controller's ISR has the replica")
LEADER = Column("leader", INT, "broker id the controller has as leader, -1 without one")
CONTROLLER_EPOCH = Column("leader_epoch", INT, "leader epoch the controller has given")
ISR = Column("isr", BROKERS, "broker ids of the controller's ISR, sorted")


def of_ledgers(more: str = "", nullable: bool = False) -> tuple[Column, ...]:
    """What of acknowledged entries isn't lost, and isn't well."""
    return (
        Column("acked_unreadable", LONG, f"acknowledged entries whose bookies are all away at the end{more}", nullable),
        Column(
            "acked_under_replicated",
            LONG,
            f"acknowledged entries that fewer bookies than the write quorum have and can serve at the end{more}",
            nullable,
        ),
    )
