"""The records of reading: what groups want of a partition, what each reader did, and what brokers have in memory of it.

A *reader* is what one group reads of one partition (docs/consumer_rounds.md, Words). A partition has them while it is played in
scratch arrays: `ReaderLists.whole` one ReadPartition, `ReaderLists.replicas` a ReadReplica by slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.rounds.lists import List
from emulator.rounds.records import Record, Rows, apart, compared, constant, counter, part_of, scratch, tally

EARLIEST, LATEST, NO_POLICY = -2, -1, -3
"""Where to start or to be reset to, beside an offset; the first two are those of ListOffsets."""
NO_RACK = -1
NO_CAUSE = -1
NO_POSITION = -1

CAUSES = (
    "leaderless", "offset_unavailable", "not_committed", "open_transaction", "follower_behind", "follower_away",
    "follower_epoch", "follower_out_of_range", "store_away", "segment_gone", "other_partition", "reader_threads", "store_slow",
    "below_log_start", "above_log_end", "segment_unknown", "epoch_unknown", "truncated", "no_position", "topic_deleted",
)  # fmt: skip
"""Why nothing could be read, a position was reset, or a reader stopped."""
(
    LEADERLESS, OFFSET_UNAVAILABLE, NOT_COMMITTED, OPEN_TRANSACTION, FOLLOWER_BEHIND, FOLLOWER_AWAY,
    FOLLOWER_EPOCH, FOLLOWER_OUT_OF_RANGE, STORE_AWAY, SEGMENT_GONE, OTHER_PARTITION, READER_THREADS, STORE_SLOW,
    BELOW_START, ABOVE_END, SEGMENT_UNKNOWN, EPOCH_UNKNOWN, TRUNCATED_LOG, NO_START, TOPIC_GONE,
) = range(len(CAUSES))  # fmt: skip

UNREAD_KINDS = ("stretch", "skip", "loss")
STRETCH, SKIP, LOSS = range(len(UNREAD_KINDS))

ALONE, IS_MADE, WAITS_FOR_FETCH, WAITS_FOR_THREAD, IS_REFUSED = range(5)
"""`turn` of a reader."""

PAGE_CACHE, DISK, REMOTE = range(3)
"""Where records come from."""


class Want(Record):
    """What a group wants of a partition from a round on. A reader's last one is at FOREVER."""

    from_round: int = constant("its first round")
    group: int = constant("number of the group among those of the scenario")
    in_force: int = constant("1: it reads")
    begins_at: int = constant("where a reader starts that has no position: an offset, EARLIEST or LATEST")
    reset: int = constant("auto.offset.reset: EARLIEST, LATEST or NO_POLICY")
    reads_committed: int = constant("1: isolation.level is read_committed")
    records_per_round: int = constant("records that it takes in a round at the most; UNKNOWN: any number")
    round_bytes: int = constant("bytes of local logs likewise, but for a larger first record")
    fetches: int = constant("fetches of local logs that a round holds")
    request_bytes: int = constant("what one of them brings")
    remote_fetches: int = constant("remote fetches that a round holds, each of request_bytes")
    remote_bytes: int = constant("bytes of a round's remote read at the most, but for a larger first record")
    max_age_rounds: int = constant("metadata.max.age.ms in rounds")
    rack: int = constant("number of its rack, as brokers'; NO_RACK")


class Reader(Record):
    """One group's reading of the partition."""

    number: int = constant("its place among the partition's readers")
    want: int = compared("place of the want in force")
    position: int = counter("the next offset that it wants, NO_POSITION: it has not started")
    epoch: int = compared("epoch of the last record it read, -1: none since it started or was reset")
    leader: int = compared("slot of T that its position was checked against, NOBODY")
    leader_epoch: int = compared("T's epoch then")
    replica: int = compared("slot that it asks, NOBODY: T, which may name a follower")
    replica_until: int = compared("first round in which it asks T again")
    reset_cause: int = compared("why its position has to be reset, NO_CAUSE: it has not")
    stopped: int = compared("why it stopped, NO_CAUSE: it did not")
    remote_round: int = counter("round of its last remote read, -1: none")
    dealt_round: int = tally("last round in which it was dealt remote requests, -1: none")
    dealt_place: int = tally("place there of its last one among all that its broker dealt out, 0: nobody came short of any")
    fetched_slot: int = compared("slot that its last remote request went to")
    fetched_to: int = tally("end of what that brought; what lies from the position up to there is in hand")
    max_lag: int = counter("largest lag at the end of a round in force")
    # The stretch of rounds in which it gets nothing by one cause
    stretch_cause: int = compared("cause, NO_CAUSE: there is none")
    stretch_slot: int = compared("slot that it asked, NOBODY: none")
    stretch_from: int = compared("first round")
    stretch_last: int = counter("last round so far")
    stretch_offset: int = compared("first offset that it does not get")
    stretch_end: int = counter("end of those")
    # What is counted
    records: int = counter("records read")
    page_cache_bytes: int = counter("bytes read from page caches")
    disk_bytes: int = counter("from disks")
    remote_bytes: int = counter("from remote storage")
    page_cache_requests: int = counter("reads of these")
    disk_requests: int = counter("")
    remote_requests: int = tally("fetches from remote storage")
    remote_errors: int = counter("remote reads that were refused")
    throttled_rounds: int = counter("rounds in which a quota cut a remote read")
    index_hits: int = tally("of these, those whose indexes were in the broker's cache")
    index_misses: int = counter("others")
    index_bytes: int = counter("bytes of indexes fetched")
    follower_bytes: int = counter("bytes read from followers")
    cross_rack_bytes: int = counter("bytes read from brokers outside of its rack")
    empty_fetches: int = counter("fetches that brought nothing")
    resets: int = counter("resets of the position")
    truncations: int = counter("checks that found the log cut below the position")
    skipped: int = counter("records that it will never read")
    read_again: int = counter("records that a reset makes it read again")
    read_lost: int = counter("records that it read, and that are gone from T's log")
    # Invariants
    accounted_to: int = counter("all from where it started up to here was read or skipped")
    goes_on: int = compared("1: it read the record before its position, of its epoch")
    misled: int = compared("1: the check against T passed, though T has not the position's epoch")
    # Reading in turn
    asked: int = compared("slot that it asked in the last round, NOBODY: there was none")
    turn: int = compared("where remote reads take turns: what is settled for its read of this round, ALONE: nothing")
    turn_requests: int = compared("requests that it is dealt then; UNKNOWN: all that it needs")
    turn_place: int = compared("their dealt_place")
    turn_bytes: int = compared("bytes that it gets then; UNKNOWN: all that it wants")
    most_requests: int = scratch("remote requests that it needed in a round, the most since it was looked at last")
    # Its brokers' network
    quota_bytes: int = compared("bytes of local logs a round that it leaves until the next quota edge, UNKNOWN: any")
    credit_bytes: int = compared("of that, what is left from the round before")
    # Of one round
    broken: int = scratch("mask of invariants that its read breaks")


class Waited(Record):
    """Rounds in which a reader got nothing by one cause; by reader and cause."""

    waited_rounds: int = counter("rounds")


class ReadRange(Record):
    """Offsets that somebody read, all of one epoch; by offset, disjoint."""

    epoch: int = compared("leader epoch of the records")
    from_offset: int = compared("first")
    to_offset: int = counter("end, exclusive")


class CachedIndex(Record):
    """A remote segment whose indexes a broker keeps, least recently used first."""

    segment: int = constant("number of the segment")
    size_bytes: int = constant("bytes of its indexes")


class Piece(Record):
    """What a remote read may take of one segment; the pieces of a read follow each other."""

    segment: int = scratch("number of the segment")
    begin: int = scratch("where it begins")
    limit: int = scratch("where it ends however much is wanted: the end of the segment, or of what the replica gives of it")


class RemoteRead(Record):
    """A remote read that a reader would make in this round."""

    reader: int = scratch("place of the reader")
    slot: int = scratch("whom it asks")
    begin: int = scratch("where it begins")
    first_piece: int = scratch("place of its first piece")
    pieces: int = scratch("how many it has")
    end: int = scratch("where it ends at the latest")
    limit_bytes: int = scratch("bytes that it may have, by the reader and the store")
    needs: int = scratch("requests that it needs within that limit")
    dealt: int = scratch("of these, those that it is dealt")
    place: int = scratch("dealt_place of the last one")
    turn: int = scratch("`turn` of its reader, or what comes of it among the partition's own")
    wanted_end: int = scratch("where it ends within that limit, by the requests that it is dealt")
    wanted_bytes: int = scratch("bytes up to there")
    granted_bytes: int = scratch("what the quota leaves it")
    waits: int = scratch("1: it is not made")
    is_placed: int = scratch("1: its share of the quota is known")


class Unread(Record):
    """A row of `unread`."""

    partition: int = constant("place of the partition in the block")
    group: int = constant("number of the group among those of the scenario")
    kind: int = constant("STRETCH, SKIP or LOSS")
    from_round: int = constant("first round")
    to_round: int = constant("first round after it")
    from_offset: int = constant("first offset concerned")
    to_offset: int = constant("end, exclusive")
    cause: int = constant("place in CAUSES")
    broker: int = constant("broker id that was asked, -1: none")


class ReadPartition(Record):
    """Who reads a partition, and what was read."""

    readers: List = part_of(List, "its readers")
    waits: List = part_of(List, "their rounds without records: of reader 0 by cause, of reader 1, ...")
    ranges: List = part_of(List, "what anybody read")


class ReadReplica(Record):
    """What a replica's broker has in memory for readers."""

    share_bytes: int = constant("its share of the broker's page cache, UNKNOWN: all that it likes")
    cold_below: int = compared("the LEO it had when its broker's memory went")
    log_start_before: int = apart("log start at the end of the round before")
    sent_bytes: int = counter("bytes that it sent to readers")
    disk_bytes: int = counter("of these, from its disk")
    downloaded_bytes: int = counter("bytes that it read from remote storage for them, indexes included")
    booked_sent_bytes: int = scratch("of each, what is in time buckets that have ended")
    booked_disk_bytes: int = scratch("")
    booked_downloaded_bytes: int = scratch("")
    before_sent_bytes: int = scratch("sent and read before this round")
    before_downloaded_bytes: int = scratch("")
    most_sent_bytes: int = scratch("sent and read in a round, the most since it was looked at last")
    most_downloaded_bytes: int = scratch("")
    cached: List = part_of(List, "segments whose indexes the broker keeps")


class ReadWords(NamedTuple):
    """Scratch arrays of readers as words, which leaps compare and multiply."""

    whole: np.ndarray
    served: np.ndarray
    readers: np.ndarray
    waits: np.ndarray
    read_ranges: np.ndarray


class ReaderLists(NamedTuple):
    """Scratch arrays of what readers of one partition have, and the rows of `unread` that a block tells.

    `words`: the arrays that leaps look at; `before`, `drift`: as many, of the round before, and how much it moved them.
    """

    whole: Rows[ReadPartition]
    served: Rows[ReadReplica]
    readers: Rows[Reader]
    waits: Rows[Waited]
    read_ranges: Rows[ReadRange]
    cached: Rows[CachedIndex]
    reads: Rows[RemoteRead]
    pieces: Rows[Piece]
    unread: Rows[Unread]
    words: ReadWords
    before: ReadWords
    drift: ReadWords
