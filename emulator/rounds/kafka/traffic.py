"""What brokers carry for a partition: bytes by slot and time bucket, and how its replicas stand at a bucket's end.

`Lists.traffic` has the sums of one partition, slot after slot; they are added to the block's when it has been played.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import NOBODY, NOT_RUNNING
from emulator.rounds.kafka.input_records import Inputs, ScenarioRow
from emulator.rounds.kafka.log import local_bytes
from emulator.rounds.kafka.produce_within import waiting_bytes
from emulator.rounds.kafka.reading.records import ReaderLists
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.told_records import Traffic
from emulator.rounds.leaps import next_multiple
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled
def bucket_of(scenario: ScenarioRow, slot: int, round_: int) -> int:
    """Where a slot has its sums of the time bucket that holds a round."""
    return slot * scenario.buckets + round_ // scenario.bucket_rounds


@compiled
def last_of_bucket(inputs: Inputs, part: Partition) -> int:
    """The last round of the time bucket that holds the round to come."""
    return next_multiple(inputs.scenarios[part.scenario].bucket_rounds, part.now + 1) - 1


@compiled
def settle_traffic(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, round_: int) -> None:
    """Book what a replica fetched so far, up to a round, to the leader that it believes in; before that changes, and at a
    bucket's end.
    """
    replica = replicas[slot]
    if replica.fetched_bytes == 0 or replica.believed_leader < 0:
        return
    scenario = inputs.scenarios[part.scenario]
    source = replicas[replica.believed_leader]
    served = lists.traffic[bucket_of(scenario, replica.believed_leader, round_)]
    served.bytes_out += replica.fetched_bytes
    if source.rack >= 0 and replica.rack >= 0 and source.rack != replica.rack:
        served.cross_rack_bytes_out += replica.fetched_bytes
    lists.traffic[bucket_of(scenario, slot, round_)].bytes_in += replica.fetched_bytes
    replica.fetched_bytes = 0


@compiled
def end_bucket(
    lists: Lists,
    tiers: TierLists | None,
    readers: ReaderLists | None,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    round_: int,
) -> None:
    """This round was the last of a time bucket, or of the run."""
    scenario = inputs.scenarios[part.scenario]
    for slot in range(part.slots):
        replica = replicas[slot]
        settle_traffic(lists, inputs, part, replicas, slot, round_)
        sums = lists.traffic[bucket_of(scenario, slot, round_)]
        sums.bytes_produced += replica.produced_bytes
        replica.produced_bytes = 0
        sums.local_bytes += local_bytes(lists, inputs, part, replica)
        if replica.status & NOT_RUNNING:
            continue
        if slot == part.leader:
            sums.leader_count += 1
        elif has(part.assigned, slot):
            sums.follower_count += 1
    if part.client_leader != NOBODY:
        sums = lists.traffic[bucket_of(scenario, part.client_leader, round_)]
        sums.bytes_waiting += waiting_bytes(inputs, part, round_)
        sums.bytes_expired += part.expired_bytes
        part.expired_bytes = 0
    if tiers is not None:
        settle_uploads(lists, tiers, inputs, part, round_)
    if readers is not None and readers.whole[0].readers.count > 0:
        settle_reads(lists, readers, inputs, part, round_)


@compiled
def settle_uploads(lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, round_: int) -> None:
    """Book what brokers copied since the last time bucket ended."""
    for slot in range(part.slots):
        tier = tiers.replicas[slot]
        lists.traffic[bucket_of(inputs.scenarios[part.scenario], slot, round_)].bytes_uploaded += (
            tier.uploaded_bytes - tier.booked_bytes
        )
        tier.booked_bytes = tier.uploaded_bytes


@compiled
def settle_reads(lists: Lists, readers: ReaderLists, inputs: Inputs, part: Partition, round_: int) -> None:
    """Likewise what they gave consumers."""
    for slot in range(part.slots):
        served = readers.served[slot]
        sums = lists.traffic[bucket_of(inputs.scenarios[part.scenario], slot, round_)]
        sums.bytes_consumed += served.sent_bytes - served.booked_sent_bytes
        sums.disk_bytes_read += served.disk_bytes - served.booked_disk_bytes
        sums.bytes_downloaded += served.downloaded_bytes - served.booked_downloaded_bytes
        served.booked_sent_bytes = served.sent_bytes
        served.booked_disk_bytes = served.disk_bytes
        served.booked_downloaded_bytes = served.downloaded_bytes


@compiled
def forget_traffic(inputs: Inputs, part: Partition, sums: Rows[Traffic]) -> None:
    """Nothing is booked yet."""
    for at in range(part.slots * inputs.scenarios[part.scenario].buckets):
        row = sums[at]
        row.bytes_in = 0
        row.bytes_produced = 0
        row.bytes_out = 0
        row.cross_rack_bytes_out = 0
        row.bytes_consumed = 0
        row.disk_bytes_read = 0
        row.bytes_uploaded = 0
        row.bytes_downloaded = 0
        row.bytes_waiting = 0
        row.bytes_expired = 0
        row.leader_count = 0
        row.follower_count = 0
        row.local_bytes = 0


@compiled
def book_traffic(inputs: Inputs, part: Partition, replicas: Rows[Replica], sums: Rows[Traffic], total: Rows[Traffic]) -> None:
    """Add a partition's sums to those of its brokers."""
    scenario = inputs.scenarios[part.scenario]
    for slot in range(part.slots):
        first = scenario.first_bucket + replicas[slot].broker_place * scenario.buckets
        for bucket in range(scenario.buckets):
            own, whole = sums[slot * scenario.buckets + bucket], total[first + bucket]
            whole.bytes_in += own.bytes_in
            whole.bytes_produced += own.bytes_produced
            whole.bytes_out += own.bytes_out
            whole.cross_rack_bytes_out += own.cross_rack_bytes_out
            whole.bytes_consumed += own.bytes_consumed
            whole.disk_bytes_read += own.disk_bytes_read
            whole.bytes_uploaded += own.bytes_uploaded
            whole.bytes_downloaded += own.bytes_downloaded
            whole.bytes_waiting += own.bytes_waiting
            whole.bytes_expired += own.bytes_expired
            whole.leader_count += own.leader_count
            whole.follower_count += own.follower_count
            whole.local_bytes += own.local_bytes
