"""What a replica does that begins to follow a leader: the older generations cut its log first."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.batches import start_of_batch
from emulator.rounds.kafka.input_records import Inputs, Rules
from emulator.rounds.kafka.log import cut_log
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.tell import tell_of_cut


@compiled
def begin_to_follow(lists: Lists, inputs: Inputs, part: Partition, replica: Replica, rules: Rules) -> None:
    """By generation: cut to the own high watermark (before KIP-101), ask where to cut (KIP-101, KIP-279), or just fetch."""
    if rules.cuts_to_high_watermark:
        cut_to_high_watermark(lists, inputs, part, replica, replica.believed_epoch)
    if rules.asks:
        replica.truncating = 1


@compiled
def cut_to_high_watermark(lists: Lists, inputs: Inputs, part: Partition, replica: Replica, epoch: int) -> None:
    """Cut the log to its high watermark, whole batches, and tell of it."""
    cut_and_tell(lists, inputs, part, replica, start_of_batch(lists.runs, inputs, replica, min(replica.leo, replica.hw)), epoch)


@compiled
def cut_and_tell(lists: Lists, inputs: Inputs, part: Partition, replica: Replica, offset: int, epoch: int) -> None:
    """Truncate to an offset, count the records and write an event if the log end fell."""
    leo = replica.leo
    part.truncated += cut_log(lists, inputs, part, replica, offset)
    replica.compares = 1
    tell_of_cut(lists, part, replica, epoch, leo)
