"""What the lists of a partition and its replicas hold: stretches of a log, its segments and epochs, sets of records, news."""

from __future__ import annotations

from emulator.rounds.records import Record, constant


class Run(Record):
    """Records of a log that repeat a pattern in one epoch; it ends where the next one starts, the last at the LEO."""

    start_offset: int = constant("its first offset")
    epoch: int = constant("leader epoch of its records")
    pattern: int = constant("place of its pattern")
    phase: int = constant("records of the pattern before its first one")
    start_bytes: int = constant("bytes of the log below it, from offset 0 on")
    first_round: int = constant("round in which its first record was appended; -1: before the run")


class Segment(Record):
    """A closed segment on a replica's disk; it ends where the next one starts, the last at the active one's base."""

    base_offset: int = constant("its first offset")
    size_bytes: int = constant("bytes in it, those of records below the log start included")
    first_round: int = constant("round of its first chunk")
    newest_round: int = constant("round in which its newest record was appended by a leader; UNKNOWN: it is empty")


class EpochEntry(Record):
    """An entry of a leader epoch cache (LeaderEpochFileCache); both fields rise strictly."""

    epoch: int = constant("leader epoch")
    start_offset: int = constant("its first offset")


class RecordRange(Record):
    """Records of one epoch."""

    epoch: int = constant("leader epoch")
    from_offset: int = constant("first")
    to_offset: int = constant("end, exclusive")


class Sent(Record):
    """Records with acks=0 that a leader appended one after the other, or with others between them that its pattern has."""

    epoch: int = constant("leader epoch")
    from_offset: int = constant("first")
    to_offset: int = constant("end, exclusive")
    pattern: int = constant("place of the pattern that they repeat from its first record on; UNKNOWN: all have acks=0")


class News(Record):
    """What the controller held at the end of a round, and until the next entry."""

    at_round: int = constant("round")
    leader: int = constant("slot")
    epoch: int = constant("leader epoch")
