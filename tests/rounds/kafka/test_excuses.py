"""What checks pass over, and what they do not: lost records, gaps between tiers, states of remote segments. No Spark."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.rounds.kafka.compare_logs import judge_impaired
from emulator.rounds.kafka.constants import NOT_RUNNING, UNKNOWN
from emulator.rounds.kafka.invariants import (
    NO_COMMITTED_RECORD_LOST,
    NO_GAP_BETWEEN_TIERS,
    NO_LOCAL_DELETE_BEFORE_COPY,
    REMOTE_STATE_MACHINE,
    SUSPECTED,
)
from emulator.rounds.kafka.list_records import EpochEntry
from emulator.rounds.kafka.lost_everywhere import follow_losses
from emulator.rounds.kafka.play_block import Scratch
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tier.check_tiers import broken_by_retention, broken_states, gap_of, serves_other_record
from emulator.rounds.kafka.tier.records import COPY_FINISHED, COPY_STARTED, DELETE_FINISHED, DELETE_STARTED
from emulator.rounds.records import rows
from tests.rounds.kafka.leadership_histories import Log
from tests.rounds.kafka.leaderships_played import Leaderships, inputs_of_one

ROOM = 16


@pytest.fixture
def scratch() -> Scratch:
    made = Scratch(inputs_of_one(), room=ROOM, rows_told=100)
    made.has_tiers = True
    made.make()
    return made


# Committed records: the leader's log, any log


def elected_with_less(scratch: Scratch) -> Leaderships:
    """0 committed five records, and 1 is elected with three of them; 2 has four."""
    logs = [Log(0, [0] * 5, 5), Log(0, [0] * 3, 3), Log(0, [0] * 4, 3)]
    played = Leaderships(inputs_of_one(), scratch, 3, seed=4)
    played.start(logs, 0, 0, 5)
    played.elect(logs, 1, 7, 1, None, is_clean=True, knows=True, runs=True)
    return played


def looked_at(played: Leaderships) -> list[tuple[Any, ...]]:
    """Look for lost records at the end of a round; what is told, without its cause."""
    found = follow_losses(played.lists, played.part, played.replicas)
    played.replicas[0].broken = found
    return [told[:7] for told in played.told()[1]]


def test_a_record_is_lost_once_no_replica_has_it(scratch: Scratch) -> None:
    """LeaderCompleteness is told of at once, NoCommittedRecordLost when the last copy goes, and once."""
    played = elected_with_less(scratch)
    assert [told[:7] for told in played.told()[1]] == [
        (7, "LeaderCompleteness", 1, 1, 0, 3, 5), (7, "NoAckedRecordLost", 1, 1, 0, 3, 5),
    ]  # fmt: skip
    played.part.now = 8
    assert looked_at(played) == [] and played.replicas[0].broken == 0
    played.load(0, Log(0, [0] * 3, 3))
    played.part.now = 9
    assert looked_at(played) == [(9, "NoCommittedRecordLost", 1, 1, 0, 4, 5)]
    assert looked_at(played) == [] and played.replicas[0].broken == 1 << NO_COMMITTED_RECORD_LOST
    played.load(2, Log(0, [0] * 3, 3))
    assert looked_at(played) == [], "told once a leadership"


def test_what_an_unclean_election_gave_up_is_not_missed_later(scratch: Scratch) -> None:
    """A clean election after it is held against what the leader between committed."""
    logs = [Log(0, [0] * 5, 5), Log(0, [0] * 3, 3), Log(0, [0] * 3, 3)]
    played = Leaderships(inputs_of_one(), scratch, 3, seed=4)
    played.start(logs, 0, 0, 5)
    played.elect(logs, 1, 7, 1, None, is_clean=False, knows=True, runs=True)
    assert (played.part.unclean_epoch, played.told()[1]) == (1, [])
    played.append(3, 6, acks="all")
    played.advance(5)
    logs[1], logs[2] = Log(0, [0] * 3 + [1] * 3, 5), Log(0, [0] * 2, 2)
    played.elect(logs, 2, 9, 2, None, is_clean=True, knows=True, runs=True)
    missing = {(told[1], *told[4:7]) for told in played.told()[1]}
    assert missing == {
        ("LeaderCompleteness", 0, 2, 3), ("LeaderCompleteness", 1, 3, 5), ("NoAckedRecordLost", 0, 2, 3),
        ("NoAckedRecordLost", 1, 3, 5),
    }, "not 3 and 4 of epoch 0"  # fmt: skip


@pytest.mark.parametrize(("elected", "kinds"), [(0, set()), (1, {True})], ids=["who lost them", "another"])
def test_lost_to_a_fault(scratch: Scratch, elected: int, kinds: set[bool]) -> None:
    """The replica that lost records to a fault gives them up as it is elected; that another lacks them is suspect."""
    logs = [Log(0, [0] * 2, 2), Log(0, [0] * 3, 3)]
    played = Leaderships(inputs_of_one(), scratch, 2, seed=4)
    played.start([Log(0, [0] * 5, 5), logs[1]], 0, 0, 5)
    played.part.now = 3
    played.damage(0)
    played.elect(logs, elected, 7, 1, None, is_clean=True, knows=True, runs=True)
    assert {told[-1] for told in played.told()[1]} == kinds
    assert (played.part.lossy_epoch == 1) == (elected == 0)
    assert played.part.violations == 0


def test_a_damaged_replica_counts_once_it_is_registered() -> None:
    part, replicas = rows(Partition, 1)[0], rows(Replica, 2)
    part.isr = part.assigned = 0b11
    part.leader_hw, replica = 5, replicas[1]
    replica.unlike_from, replica.leo = UNKNOWN, 2
    for status, controller_down, expected in ((NOT_RUNNING, 0, 1), (0, 1, 1), (0, 0, 0)):
        replica.impaired, replica.status, part.controller_down = 1, status, controller_down
        judge_impaired(part, replicas, 1)
        assert replica.impaired == expected


# Tiers


class Tiers:
    """A leader, slot 0, whose log starts at 0 and is local from 10 on, epochs 0 and 2; remote segments of five records."""

    def __init__(self, scratch: Scratch) -> None:
        self.lists: Lists = scratch.lists
        self.tiers: TierLists = scratch.tiers
        self.part, self.replicas = rows(Partition, 1)[0], rows(Replica, 2)
        self.part.slots, self.part.now = 2, 20
        self.leader = self.replicas[0]
        self.leader.local_start, self.leader.leo, self.leader.hw = 10, 15, 15
        self._list(self.leader.epochs, 0)
        for at, (epoch, start) in enumerate(((0, 0), (2, 5))):
            self._entry(self.lists.epochs[at], epoch, start)
        self.leader.epochs.count = 2
        whole = self.tiers.whole[0]
        for entries in (whole.segments, whole.epochs, whole.events):
            self._list(entries, 0)
        whole.first_segment = 0
        self._list(self.tiers.replicas[0].known, 0)
        self.add(0, 0, 4)
        self.add(2, 5, 9)

    def _list(self, entries: Any, start: int) -> None:
        entries.start, entries.count, entries.limit = start, 0, start + ROOM - 1

    def _entry(self, entry: EpochEntry, epoch: int, start: int) -> None:
        entry.epoch, entry.start_offset = epoch, start

    def add(self, epoch: int, base: int, end: int) -> None:
        """A copied segment of one epoch, which the leader knows."""
        whole, number = self.tiers.whole[0], self.tiers.whole[0].segments.count
        segment = self.tiers.remote[number]
        segment.base_offset, segment.end_offset = base, end
        segment.first_epoch, segment.epochs = number, 1
        segment.state, segment.was_finished, segment.stored_bytes, segment.size_bytes = COPY_FINISHED, 1, 5, 5
        segment.deleted_epoch, segment.was_unreferenced = UNKNOWN, 0
        self._entry(self.tiers.remote_epochs[number], epoch, base)
        whole.segments.count = whole.epochs.count = number + 1
        for state, round_ in ((COPY_STARTED, 3), (COPY_FINISHED, 4)):
            self.happens(number, state, round_)
        known = self.tiers.known[number]
        known.epoch, known.base_offset, known.served, known.segment = epoch, base, 1, number
        known.start_offset, known.end_offset = base, end
        self.tiers.replicas[0].known.count = number + 1

    def happens(self, number: int, state: int, round_: int) -> None:
        events = self.tiers.whole[0].events
        event = self.tiers.remote_events[events.count]
        event.segment, event.state, event.at_round = number, state, round_
        events.count += 1

    def delete(self, number: int, epoch: int) -> None:
        """A leader of an epoch deletes a segment."""
        segment = self.tiers.remote[number]
        segment.state, segment.stored_bytes, segment.deleted_epoch = DELETE_FINISHED, 0, epoch

    def gap(self) -> int:
        return int(gap_of(self.lists, self.tiers, self.part, self.leader, 0))


VIOLATION, SUSPECT = 1 << NO_GAP_BETWEEN_TIERS, 1 << (NO_GAP_BETWEEN_TIERS + SUSPECTED)


@pytest.mark.parametrize(
    ("deleted_epoch", "unclean_epoch", "was_unreferenced", "expected"),
    [
        (1, 1, 1, 0),  # H
        (1, 1, 0, SUSPECT),  # S4
        (1, 0, 1, VIOLATION),  # no unclean election
        (2, 1, 1, VIOLATION),  # a leader of the lineage deleted it
    ],
)
def test_gaps_that_another_leader_leaves(
    scratch: Scratch, deleted_epoch: int, unclean_epoch: int, was_unreferenced: int, expected: int
) -> None:
    tiers = Tiers(scratch)
    assert tiers.gap() == 0
    tiers.delete(0, deleted_epoch)
    tiers.part.unclean_epoch = unclean_epoch
    tiers.tiers.remote[0].was_unreferenced = was_unreferenced
    assert tiers.gap() == expected


@pytest.mark.parametrize(("lead_round", "expected"), [(8, 0), (7, 0), (6, SUSPECT)], ids=["T, later", "T", "S3"])
def test_gaps_of_remote_storage_that_was_turned_off(scratch: Scratch, lead_round: int, expected: int) -> None:
    """In round 7. Who is elected since has a follower's log start; who led then has raised it."""
    tiers = Tiers(scratch)
    whole = tiers.tiers.whole[0]
    whole.first_segment, whole.removed_round, tiers.part.lead_round = 2, 7, lead_round
    for number in range(2):
        tiers.delete(number, UNKNOWN)
    assert tiers.gap() == expected


def test_a_local_delete_of_what_another_leader_deleted(scratch: Scratch) -> None:
    tiers = Tiers(scratch)
    part, replica = tiers.part, tiers.tiers.replicas[0]
    part.unclean_epoch, replica.start_before = 1, 0

    def broken() -> int:
        return int(broken_by_retention(tiers.lists, tiers.tiers, part, tiers.replicas, 0))

    assert broken() == 0
    tiers.delete(0, 1)
    tiers.tiers.remote[0].was_finished = 0
    assert broken() == 1 << (NO_LOCAL_DELETE_BEFORE_COPY + SUSPECTED)
    tiers.tiers.remote[0].was_unreferenced = 1
    assert broken() == 0
    tiers.tiers.remote[0].deleted_epoch = UNKNOWN
    assert broken() == 1 << NO_LOCAL_DELETE_BEFORE_COPY


def test_states_are_looked_at_when_something_is_said(scratch: Scratch) -> None:
    tiers = Tiers(scratch)

    def broken() -> int:
        return int(broken_states(tiers.tiers, tiers.part))

    tiers.happens(0, DELETE_STARTED, 19)
    tiers.happens(0, DELETE_FINISHED, 20)
    assert broken() == 1 << REMOTE_STATE_MACHINE, "it is COPY_FINISHED still"
    tiers.tiers.remote[0].state = DELETE_FINISHED
    assert broken() == 0
    tiers.happens(1, DELETE_FINISHED, 20)
    assert broken() == 0, "not allowed after COPY_FINISHED, and so it is COPY_FINISHED"
    tiers.tiers.remote[1].state = DELETE_FINISHED
    assert broken() == 1 << REMOTE_STATE_MACHINE
    tiers.part.now = 21
    assert broken() == 0, "of rounds before it was told"


def test_lookups_by_epoch_find_the_record(scratch: Scratch) -> None:
    tiers = Tiers(scratch)

    def is_other() -> bool:
        return bool(serves_other_record(tiers.lists, tiers.tiers, tiers.leader, 0, 0))

    assert not is_other()
    tiers.tiers.remote_epochs[1].epoch = 1
    assert is_other(), "the segment has epoch 1 where a lookup of epoch 2 finds it"
    tiers.tiers.known[1].served = 0
    assert not is_other()
    tiers.tiers.known[1].served, tiers.tiers.remote_epochs[1].epoch = 1, 2
    tiers.tiers.known[1].end_offset, tiers.leader.local_start = 10, 12
    assert is_other(), "it ends before"
