"""What Kafka's rounds tell: events, the trace, violations, traffic.

Offsets count records, `leo`, `hw` and `..._to` are exclusive ends.
"""

from __future__ import annotations

from emulator.rounds.records import Record, constant, counter


class Event(Record):
    """A row of `events`."""

    partition: int = constant("place of the partition in the block")
    at_round: int = constant("round")
    kind: int = constant("place in EVENT_KINDS")
    broker: int = constant("broker id, -1: none")
    leader_epoch: int = constant("UNKNOWN: null")
    from_offset: int = constant("UNKNOWN: null")
    to_offset: int = constant("UNKNOWN: null")
    cause: int = constant("fault_id, -1: null")
    records: int = constant("records concerned; UNKNOWN: null")


class TraceRow(Record):
    """A row of `trace`: a replica at the end of a round."""

    partition: int = constant("place of the partition in the block")
    at_round: int = constant("round")
    broker: int = constant("broker id")
    role: int = constant("0: follower, 1: leader, 2: offline")
    leader_epoch: int = constant("believed in")
    log_start: int = constant("offset")
    leo: int = constant("offset")
    hw: int = constant("offset")
    remote_leo: int = constant("UNKNOWN: null")
    in_isr: int = constant("0 or 1")
    fetch_state: int = constant("place in FETCH_STATES, 0: null")
    epochs: int = constant("entries of its epoch cache, in Told.trace_epochs")
    local_start: int = constant("offset")
    local_bytes: int = constant("bytes on its disk; UNKNOWN: segments are not kept")
    highest_remote: int = constant("the last offset that it knows to be tiered")
    tiered: int = constant("1: remote storage is on")
    newest_offset: int = constant("of a leader: the first record on its disk of the newest round; UNKNOWN: there is none")
    segments: int = constant("segments on its disk, in Told.trace_segments; 0: they are not kept")


class PartitionTraceRow(Record):
    """A row of `trace_partitions`."""

    partition: int = constant("place of the partition in the block")
    at_round: int = constant("round")
    leader: int = constant("slot")
    leader_epoch: int = constant("")
    isr: int = constant("mask")
    elr: int = constant("mask")
    last_known_elr: int = constant("mask")


class Violation(Record):
    """An invariant that broke: a witness."""

    partition: int = constant("place of the partition in the block")
    at_round: int = constant("round")
    invariant: int = constant("place in invariants.NAMES")
    cause: int = constant("fault_id, -1: null")
    broker: int = constant("broker id of the witness")
    leader: int = constant("broker id of the leader it is held against, -1: none")
    leader_epoch: int = constant("")
    leader_leo: int = constant("")
    leader_hw: int = constant("")
    leo: int = constant("")
    hw: int = constant("")
    agreed_to: int = constant("both logs are alike below it")
    from_offset: int = constant("of elections: records that are lacking")
    to_offset: int = constant("")
    records_epoch: int = constant("their epoch")
    heard_round: int = constant("at the end: round of its last fetch")
    epochs: int = constant("entries of its epoch cache, in Told.witness_epochs")
    leader_epochs: int = constant("entries of the leader's, behind those")
    group: int = constant("of reads: number of the group among the scenario's, -1 of others")
    is_suspect: int = constant("1: something excuses it for which no rule of the real system is known")


class Traffic(Record):
    """What a broker carried in a time bucket, and how it stood at its end."""

    bytes_in: int = counter("bytes fetched by it")
    bytes_produced: int = counter("bytes produced to it")
    bytes_out: int = counter("bytes fetched from it")
    cross_rack_bytes_out: int = counter("of these, by brokers of other racks")
    bytes_consumed: int = counter("bytes sent to consumers")
    disk_bytes_read: int = counter("of these, bytes read from its disk")
    bytes_uploaded: int = counter("bytes copied to remote storage")
    bytes_downloaded: int = counter("bytes read from remote storage, for consumers")
    bytes_waiting: int = counter("bytes that producers could not send it yet, at the end")
    bytes_expired: int = counter("bytes that they gave up")
    leader_count: int = counter("partitions that it leads at the end")
    follower_count: int = counter("partitions that it follows at the end")
    local_bytes: int = counter("bytes of its logs at the end")
