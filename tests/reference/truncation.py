"""How a follower of the protocol variants cuts its log before it fetches (docs/kafka_rounds.md, "The protocol variants").

`kafka` finds divergence in fetches (fetching.py). Before it, a replica that begins to follow cuts first:

* kafka-high-watermark: to its own high watermark, at once;
* kafka-kip101: it asks for the end of its last epoch and cuts there;
* kafka-kip279: the answer names an epoch too; when the follower lacks it, it cuts and asks again.

Choices where the page is silent:

* A replica that learns that nobody leads (-1) has learned of another leader, and a restarted one cuts whoever leads,
  also when it is to be elected in that round: kafka-high-watermark loses what lies above its checkpoint.
* A replica becomes leader, and stops truncating, when it is told that it leads.
* The cut at the start of the run belongs to round 0; T knows the LEO that was given, as if nothing had been cut.
* Cuts in steps 1 and 8 count as `truncated` and write events like those of step 7, with the epoch just learned. They are
  not damage, but what T loses by them is told as lost at the next election likewise.
* Every cut of a variant takes whole batches, the one to the leader's LEO (OUT_OF_RANGE) included. Of a batch that
  begins below the log start, what the log still has counts as all of it.
* B's log of the round's start is what inputs (step 1) left, without the epoch that it takes in when it is elected.
* An answer to a question says nothing of high watermark and log start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .log import UNDEFINED, EpochCache, Log
from .partition import Partition, Replica

HIGH_WATERMARK, KIP101, KIP279 = "kafka-high-watermark", "kafka-kip101", "kafka-kip279"
VARIANTS = (HIGH_WATERMARK, KIP101, KIP279)


class LogEnds(NamedTuple):
    """What a leader answers questions from: its epochs and its LEO at the start of the round."""

    cache: EpochCache
    leo: int


def log_ends(partition: Partition) -> dict[int, LogEnds]:
    """The ends of all epochs on every replica as they are now, where followers ask for them."""
    if partition.protocol not in VARIANTS:
        return {}
    return {
        broker: LogEnds(EpochCache(replica.log.cache.entries), replica.log.leo) for broker, replica in partition.replicas.items()
    }


def start_truncating(partition: Partition) -> None:
    """At the start of the run all replicas but the leader begin to follow."""
    for replica in partition.replicas.values():
        if replica.leading_epoch is None:
            begin_to_follow(partition, replica)


def begin_to_follow(partition: Partition, replica: Replica) -> None:
    """A replica that follows somebody from now on has to cut its log first, by the rule of its protocol."""
    if partition.protocol == HIGH_WATERMARK:
        cut(partition, replica, min(replica.log.leo, replica.hw))
    elif partition.protocol in (KIP101, KIP279):
        replica.truncating = True


def answer_question(protocol: str, asked_epoch: int | None, leader: LogEnds) -> tuple[int, int]:
    """Where the leader's log ends for an epoch: (epoch, end offset), or UNDEFINED."""
    if asked_epoch is None:
        return UNDEFINED
    if protocol == KIP279:
        return leader.cache.end_offset_for(asked_epoch, leader.leo)
    if leader.cache.latest is None or asked_epoch > leader.cache.latest:
        return UNDEFINED
    later_starts = [start for epoch, start in leader.cache.entries if epoch > asked_epoch]
    return asked_epoch, later_starts[0] if later_starts else leader.leo


def take_answer(partition: Partition, follower: Replica, end: tuple[int, int]) -> None:
    """Cut as the answer says; afterwards the follower fetches, or asks once more."""
    log = follower.log
    follower.truncating = False
    if end == UNDEFINED:
        partition.coverage["question_undefined"] += 1
        cut(partition, follower, follower.hw)
    elif partition.protocol == KIP101:
        cut(partition, follower, min(log.leo, end[1]))
    else:
        follower.truncating = _cut_to_common_epoch(partition, follower, *end)


def _cut_to_common_epoch(partition: Partition, follower: Replica, epoch: int, end: int) -> bool:
    """KIP-279: cut to where both logs end the answered epoch. Returns whether the follower has to ask again."""
    log = follower.log
    own_ends = _own_ends(log)
    if epoch in own_ends:
        cut(partition, follower, min(log.leo, end, own_ends[epoch]))
        return False
    lower = [own_end for own_epoch, own_end in own_ends.items() if own_epoch < epoch]
    offset = lower[-1] if lower else log.log_start
    asks_again = offset > log.log_start
    partition.coverage["question_again"] += asks_again
    cut(partition, follower, offset)
    return asks_again


def _own_ends(log: Log) -> Mapping[int, int]:
    """Where each epoch of the log ends, oldest first."""
    epochs = [epoch for epoch, _ in log.cache.entries]
    ends = [start for _, start in log.cache.entries[1:]] + [log.leo]
    return dict(zip(epochs, ends, strict=False))


def cut(partition: Partition, replica: Replica, offset: int) -> None:
    """Truncate to an offset, in a variant to the start of the batch that it lies in, and tell of it."""
    old_leo, old_start = replica.log.leo, replica.log.log_start
    if partition.protocol in VARIANTS:
        batch_start = start_of_batch(replica.log, offset)
        partition.coverage["cut_whole_batch"] += batch_start < offset
        offset = batch_start
    if replica is partition.client_leader:
        partition.ledger.damaged[:0] = replica.log.whole(offset)
    partition.ledger.counts["truncated"] += replica.log.truncate_to(offset)
    replica.lower_hw(replica.hw)
    if replica.log.leo < old_leo:
        cause = partition.cause_of(replica.broker)
        partition.ledger.event(partition.now, "truncate", replica.broker, replica.believed_epoch, old_leo, replica.log.leo, cause)
        partition.coverage["truncate_to_0"] += replica.log.leo == 0
        partition.coverage["truncate_below_log_start"] += replica.log.leo < old_start
    else:
        partition.coverage["truncate_cache_only"] += 1


def start_of_batch(log: Log, offset: int) -> int:
    """First offset of the batch that goes on at `offset`; `offset` itself when no batch lies on both sides of it."""
    while is_inside_batch(log, offset):
        offset -= 1
    return offset


def is_inside_batch(log: Log, offset: int) -> bool:
    """Tell whether the records before and at `offset` are of one batch."""
    before, at = log.record_at(offset - 1), log.record_at(offset)
    return before is not None and at is not None and before.batch == at.batch
