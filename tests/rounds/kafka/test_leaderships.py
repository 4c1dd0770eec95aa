"""What was acknowledged, committed and lost, by the rules and by plain sets of records. No Spark."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Batch
from emulator.rounds.kafka.list_records import RecordRange
from emulator.rounds.kafka.play_block import Scratch
from emulator.rounds.kafka.record_ranges import add_range, add_without, count_lacking
from emulator.rounds.kafka.unacknowledged import alike_from, keep_latest_sent, note_unacknowledged, sent_in_range
from emulator.rounds.lists import List, every
from emulator.rounds.records import Rows, rows
from tests.rounds.kafka.leadership_histories import History, Log, Records, contiguous
from tests.rounds.kafka.leaderships_played import Leaderships, inputs_of_one

HISTORIES = 600
ROOM = 64


@pytest.fixture(scope="module")
def scratch() -> Scratch:
    return Scratch(inputs_of_one(), room=ROOM, rows_told=400)


def test_random_histories_agree_with_sets_of_records(scratch: Scratch) -> None:
    seen: Counter[str] = Counter()
    for seed in range(HISTORIES):
        history = History(seed)
        played = Leaderships(inputs_of_one(), scratch, len(history.replicas), seed)
        for name, arguments in history.steps:
            getattr(played, name)(*arguments)
        part, outcomes = played.part, history.outcomes()
        assert {name: getattr(part, name) for name in outcomes} == outcomes, f"history {seed}"
        assert played.records_in(part.acked) == history.acked, f"history {seed}"
        assert played.records_in(part.committed) == history.committed, f"history {seed}"
        assert played.records_in(part.acked_for_all) == history.acked_for_all, f"history {seed}"
        losses, violations = played.told()
        assert sorted(losses, key=str) == sorted(history.losses, key=str), f"history {seed}"
        assert sorted(violations, key=str) == sorted(history.violations, key=str), f"history {seed}"
        assert part.violations == sum(not is_suspect for *_, is_suspect in violations)
        seen.update([*(loss[1] for loss in losses), *(violation[1] for violation in violations)])
        seen["suspects"] += sum(is_suspect for *_, is_suspect in violations)
        seen["histories with losses"] += outcomes["acked_lost"] > 0
    assert seen["histories with losses"] > HISTORIES // 10
    assert seen["acked_lost"] + seen["committed_lost"] > HISTORIES // 2
    assert seen["unacknowledged_lost"] > HISTORIES // 10
    assert (
        min(seen[name] for name in ("LeaderCompleteness", "NoAckedRecordLost", "ConsistentRead", "suspects")) > HISTORIES // 20
    ), seen


@pytest.mark.parametrize(("acked_before", "acked_lost"), [(10, 8), (5, 3)], ids=["acks=1", "acks=all"])
def test_last_member_elected_unclean(scratch: Scratch, acked_before: int, acked_lost: int) -> None:
    """Replicas with LEO 10, 5 and 2, the last elected: 8 records lost with acks=1, 3 with acks=all and min ISR 2."""
    logs = [Log(0, [0] * 10, 5), Log(0, [0] * 5, 5), Log(0, [0] * 2, 2)]
    played = Leaderships(inputs_of_one(), scratch, 3)
    played.start(logs, 0, 0, acked_before)
    played.elect(logs, 2, 18, 2, 1, is_clean=False, knows=True, runs=True)
    played.end(logs, has_leader=True)
    assert (played.part.acked_lost, played.part.committed_lost, played.part.acked_total) == (acked_lost, 3, 0)
    losses, violations = played.told()
    assert losses == [(18, "acked_lost", 2, 0, 2, 2 + acked_lost, 1, None), (18, "committed_lost", 2, 0, 2, 5, 1, None)]
    assert violations == []


@pytest.mark.parametrize(("leo", "lost"), [(9, (0, 0)), (4, (5, 3))], ids=["whole", "cut"])
def test_one_leadership_loses_records_only_when_its_log_is_cut(scratch: Scratch, leo: int, lost: tuple[int, int]) -> None:
    """Two records of the start; seven appended, five of them below the high watermark, the last three acknowledged at once."""
    played = Leaderships(inputs_of_one(), scratch, 1)
    played.start([Log(0, [0, 0], 2)], 0, 0, 2)
    played.append(2, 6, "all")
    played.append(6, 9, "1")
    played.advance(7)
    played.end([Log(0, [0] * leo, min(leo, 7))], has_leader=True)
    assert played.part.acked_total == 7
    assert (played.part.acked_lost, played.part.committed_lost) == lost
    assert played.told() == ([], [])


def test_a_partition_that_never_had_a_leader(scratch: Scratch) -> None:
    played = Leaderships(inputs_of_one(), scratch, 1)
    played.part.client_leader = -1
    played.end([Log(0, [0, 0], 2)], has_leader=False)
    assert (played.part.acked_total, played.part.acked_lost, played.part.committed_lost) == (0, 0, 0)


def test_ranges_acknowledged_on_append_are_few(scratch: Scratch) -> None:
    """Those that touch are one, and who adds one keeps of the earlier ones what is above the high watermark."""
    draw = Random("appends")
    for _ in range(100):
        played = Leaderships(inputs_of_one(), scratch, 1)
        played.start([Log()], 0, 0, 0)
        part, leader, acked = played.part, played.replicas[0], set[tuple[int, int]]()
        for _ in range(20):
            first, is_acked, changes = int(leader.leo), draw.random() < 0.5, part.acked_ranges.changes
            played.append(first, first + draw.randint(1, 3), "1" if is_acked else "all")
            acked |= {(0, offset) for offset in range(first, leader.leo) if is_acked}
            earlier = [tuple(played.lists.ranges[at])[1:] for at in every(part.acked_ranges)]
            if part.acked_ranges.changes > changes:
                assert all(end > leader.hw for _, end in earlier)
            kept = [(0, *known) for known in [*earlier, (part.acked_from, part.acked_to)] if known[1] > max(leader.hw, known[0])]
            assert kept == [known for known in contiguous(acked) if known[2] > leader.hw]
            if draw.random() < 0.3:
                played.advance(draw.randint(leader.hw, leader.leo))


def test_what_a_pattern_has_of_acks_0() -> None:
    """Stretches of whole rounds, counted and told apart record by record."""
    draw = Random("sent")
    for _ in range(100):
        inputs = inputs_of_one()._replace(batches=rows(Batch, 5))
        pattern, owns = inputs.patterns[0], list[bool]()
        for batch in inputs.batches:
            owns += [draw.random() < 0.5] * draw.randint(1, 3)
            batch.end, batch.unacknowledged = len(owns), owns[-1]
        pattern.records, pattern.batch_count, pattern.unacknowledged_records = len(owns), 5, sum(owns)
        played = Leaderships(inputs, Scratch(inputs, room=ROOM), 1)
        lists, part, sent = played.lists, played.part, set[tuple[int, int]]()
        leo = draw.randint(0, 5)
        for epoch in (0, 0, 0, 2, 2, 5):
            part.client_epoch = epoch
            kind, begin = draw.choice((0, UNKNOWN)), leo
            for _ in range(draw.randint(1, 3)):
                count = len(owns) if kind == 0 else draw.randint(1, 4)
                note_unacknowledged(lists, part, leo, leo + count, kind)
                leo += count
            is_of = {at: kind == UNKNOWN or owns[(at - begin) % len(owns)] for at in range(begin, leo)}
            sent |= {(epoch, offset) for offset, is_sent in is_of.items() if is_sent}
            leo += draw.randint(0, 3)
            keep_latest_sent(lists, part)
        assert part.sent.count == 6
        known = rows(RecordRange, 1)[0]
        for known.epoch in (0, 1, 2, 5, 6):
            known.from_offset, known.to_offset = sorted((draw.randint(0, leo + 3), draw.randint(0, leo + 3)))
            wanted = [(int(known.epoch), offset) in sent for offset in range(known.from_offset, known.to_offset)]
            assert sent_in_range(lists, inputs, part, known) == sum(wanted)
            at, found = int(known.from_offset), list[bool]()
            while at < known.to_offset:
                is_sent, end = alike_from(lists, inputs, part, known.epoch, at, known.to_offset)
                assert at < end <= known.to_offset
                found += [bool(is_sent)] * (end - at)
                at = end
            assert found == wanted


def a_set(start: int) -> List:
    entries = rows(List, 1)[0]
    entries.start, entries.limit = start, start + ROOM
    return entries


def test_ranges_are_sets_of_records() -> None:
    """Sets, their differences above an offset, and what a log lacks, with 300 random ones of each."""
    draw = Random("ranges")
    for _ in range(300):
        ranges, known, log, missing = rows(RecordRange, 3 * (ROOM + 1)), a_set(0), a_set(ROOM + 1), a_set(2 * ROOM + 2)
        expected: dict[int, Records] = {}
        for entries in (known, log):
            added: Records = set()
            for _ in range(draw.randrange(6)):
                epoch, start = draw.randrange(3), draw.randrange(12)
                end = start + draw.randint(0, 5)
                add_range(ranges, entries, epoch, start, end)
                added |= {(epoch, offset) for offset in range(start, end)}
            expected[entries.start] = added
            assert listed(ranges, entries) == contiguous(added)
        least = draw.randrange(14)
        for at in every(known):
            add_without(ranges, ranges[at], log, least, ranges, missing)
        gone = {record for record in expected[known.start] - expected[log.start] if record[1] >= least}
        assert listed(ranges, missing) == contiguous(gone)


def test_what_a_log_lacks(scratch: Scratch) -> None:
    """Also where some of the log is only in remote storage, and the cache says whose it is."""
    draw, ranges = Random("logs"), rows(RecordRange, ROOM + 1)
    for seed in range(300):
        log = Log(draw.choice([0, 3]), sorted(draw.randrange(3) for _ in range(draw.randrange(9))))
        played, known = Leaderships(inputs_of_one(), scratch, 1, seed), a_set(0)
        played.load(0, log)
        records: Records = {(draw.randrange(3), draw.randrange(14)) for _ in range(draw.randrange(20))}
        for epoch, offset in sorted(records, key=lambda _: draw.random()):
            add_range(ranges, known, epoch, offset, offset + 1)
        lacking = {record for record in records - log.records() if record[1] >= log.log_start}
        replica = played.replicas[0]
        assert count_lacking(ranges, known, played.lists.runs, played.lists.epochs, replica) == len(lacking)


def listed(ranges: Rows[RecordRange], entries: List) -> list[tuple[int, int, int]]:
    return [(int(ranges[at].epoch), int(ranges[at].from_offset), int(ranges[at].to_offset)) for at in every(entries)]
