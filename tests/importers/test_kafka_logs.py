"""Logs out of segments, checkpoints and assumptions: one test a rule."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from kafka_files import (
    batch,
    describe_lines,
    replica_rows,
    table_rows,
    write_checkpoint,
    write_data_dir,
    write_segment,
)

from emulator.importers.kafka import ImportSummary, import_kafka
from emulator.importers.kafka.segments import read_segments, segment_base_offsets

ONE_PARTITION = "1|1,2,3|1,2,3"


def imported(
    folder: Path, describe: str, data_dirs: dict[int, str], log_dirs: dict[str, Any] | None = None
) -> tuple[dict[tuple[str, int, int], dict[str, Any]], ImportSummary]:
    (folder / "describe.txt").write_text(describe)
    if log_dirs is not None:
        (folder / "log_dirs.json").write_text(json.dumps(log_dirs))
    log_dirs_path = None if log_dirs is None else str(folder / "log_dirs.json")
    summary = import_kafka(str(folder / "describe.txt"), log_dirs_path, data_dirs, str(folder / "out"))
    return replica_rows(folder / "out"), summary


def offsets(row: dict[str, Any]) -> tuple[int, int, int, int]:
    return row["log_start_offset"], row["leo"], row["hw"], row["flushed_offset"]


def lag_report(broker: int, lag: int) -> dict[str, Any]:
    replica = {"partition": "t-0", "size": 77, "offsetLag": lag, "isFuture": False}
    return {"brokers": [{"broker": broker, "logDirs": [{"logDir": "/d", "error": None, "partitions": [replica]}]}]}


def test_segments_give_ends_starts_and_sizes(tmp_path: Path) -> None:
    data_dir = write_data_dir(tmp_path / "d1", 1, "t 0 14")
    folder = tmp_path / "d1" / "t-0"
    write_segment(folder, 4, batch(4, 6))
    active = write_segment(folder, 10, batch(10, 3), batch(15, 5))
    rows, _ = imported(tmp_path, describe_lines("1|1|1"), {1: data_dir})
    row = rows["t", 0, 1]
    # the offsets 13 and 14 were compacted away; what is before the active segment was flushed when it was rolled
    assert offsets(row) == (4, 20, 14, 10)
    assert row["log_bytes"] == active.stat().st_size + (folder / f"{4:020d}.log").stat().st_size
    assert row["epochs"] == [(0, 4)]


def test_torn_tail_ends_at_the_last_whole_batch(tmp_path: Path) -> None:
    whole = batch(0, 5)
    for number, tail in enumerate((batch(5, 2)[:-1], batch(5, 2)[:20], bytes(500), batch(3, 9), batch(5, 1, magic=7))):
        folder = tmp_path / str(number)
        write_segment(folder, 0, whole, tail)
        log = read_segments(str(folder), [0])
        assert (log.leo, log.trailing_bytes) == (5, len(tail))


def test_torn_tail_is_noted_and_caps_hw_and_epochs(tmp_path: Path) -> None:
    data_dir = write_data_dir(tmp_path / "d1", 1, "t 0 9")
    write_segment(tmp_path / "d1" / "t-0", 0, batch(0, 5), b"torn")
    write_checkpoint(tmp_path / "d1" / "t-0" / "leader-epoch-checkpoint", "0 0", "1 5", "2 7")
    rows, summary = imported(tmp_path, describe_lines("1|1|1"), {1: data_dir})
    assert offsets(rows["t", 0, 1]) == (0, 5, 5, 0)
    assert rows["t", 0, 1]["epochs"] == [(0, 0), (1, 5)]
    assert any("1 active segments go on after their last whole batch" in note for note in summary.notes)


def test_empty_active_segment_ends_at_its_base(tmp_path: Path) -> None:
    write_segment(tmp_path, 0, batch(0, 8))
    write_segment(tmp_path, 8)
    assert read_segments(str(tmp_path), [0, 8]).leo == 8


def test_offset_index_is_used_only_when_it_is_right(tmp_path: Path) -> None:
    batches = [batch(100 + 10 * number, 10) for number in range(6)]
    entry, unused = struct.Struct(">ii"), bytes(80)
    position = len(batches[0])
    right = entry.pack(19, position) + entry.pack(49, 4 * position) + unused
    # the first three batches are overwritten: with a right index nobody looks at them
    damaged = [b"\xff" * position] * 3
    wrong = (entry.pack(19, position + 1) + unused, entry.pack(90, position), b"", bytes(8))
    for number, (index, content, leo) in enumerate(
        [(right, damaged + batches[3:], 160), (right, damaged, 100), *((index, batches, 160) for index in wrong)]
    ):
        folder = tmp_path / str(number)
        write_segment(folder, 100, *content, index=index)
        assert read_segments(str(folder), [100]).leo == leo


def test_only_segment_files_count() -> None:
    names = [f"{7:020d}.log", f"{3:020d}.log", f"{9:020d}.log.deleted", f"{9:020d}.index", "x.log", "00.log"]
    assert segment_base_offsets(names) == [3, 7]


def test_without_segments_leo_is_the_largest_known_offset(tmp_path: Path) -> None:
    data_dir = write_data_dir(tmp_path / "d1", 1, "t 0 10", "t 1 10", "t 2 10")
    write_checkpoint(tmp_path / "d1" / "recovery-point-offset-checkpoint", "t 1 12")
    write_checkpoint(tmp_path / "d1" / "t-2" / "leader-epoch-checkpoint", "3 4", "5 15")
    write_checkpoint(tmp_path / "d1" / "log-start-offset-checkpoint", "t 1 11", "t 2 6")
    rows, _ = imported(tmp_path, describe_lines("1|1|1", "1|1|1", "1|1|1"), {1: data_dir})
    assert offsets(rows["t", 0, 1]) == (0, 10, 10, 0)
    assert offsets(rows["t", 1, 1]) == (11, 12, 11, 12)
    assert offsets(rows["t", 2, 1]) == (6, 15, 10, 6)
    epochs = [row["leader_epoch"] for row in table_rows(tmp_path / "out", "partitions")]
    assert epochs == [0, 0, 5]


def test_log_start_is_where_the_first_epoch_starts_when_nothing_else_says(tmp_path: Path) -> None:
    data_dir = write_data_dir(tmp_path / "d1", 1, "t 0 130")
    write_checkpoint(tmp_path / "d1" / "t-0" / "leader-epoch-checkpoint", "1 95", "2 120")
    rows, _ = imported(tmp_path, describe_lines("1|1|1"), {1: data_dir})
    assert offsets(rows["t", 0, 1]) == (95, 130, 130, 95)


def test_no_data_directory_copies_the_leader(tmp_path: Path) -> None:
    data_dirs = {broker: write_data_dir(tmp_path / f"d{broker}", broker, f"t 0 {9 + broker}") for broker in (1, 2)}
    for broker, entries in ((1, ("0 0", "2 4")), (2, ("0 0", "1 3", "2 4", "3 8"))):
        write_checkpoint(tmp_path / f"d{broker}" / "t-0" / "leader-epoch-checkpoint", *entries)
    rows, summary = imported(tmp_path, describe_lines("2|1,2,3|2,3"), data_dirs)
    assert offsets(rows["t", 0, 3]) == (0, 11, 11, 0)
    assert rows["t", 0, 3]["epochs"] == [(0, 0), (1, 3), (2, 4), (3, 8)]
    assert rows["t", 0, 1]["epochs"] == [(0, 0), (2, 4)]
    assert table_rows(tmp_path / "out", "partitions")[0]["leader_epoch"] == 3
    assert any(note.startswith("1 replicas have no data directory") for note in summary.notes)


def test_offset_lag_lowers_a_copied_log_and_its_epochs(tmp_path: Path) -> None:
    data_dir = write_data_dir(tmp_path / "d1", 1, "t 0 20")
    write_checkpoint(tmp_path / "d1" / "t-0" / "leader-epoch-checkpoint", "0 0", "4 15")
    rows, _ = imported(tmp_path, describe_lines(ONE_PARTITION), {1: data_dir}, lag_report(2, 6))
    assert (offsets(rows["t", 0, 2]), rows["t", 0, 2]["epochs"]) == ((0, 14, 14, 0), [(0, 0)])
    assert rows["t", 0, 2]["log_bytes"] == 77
    assert (rows["t", 0, 3]["leo"], rows["t", 0, 3]["epochs"]) == (20, [(0, 0), (4, 15)])


def test_own_files_count_more_than_offset_lag(tmp_path: Path) -> None:
    data_dirs = {broker: write_data_dir(tmp_path / f"d{broker}", broker, "t 0 20") for broker in (1, 2)}
    rows, _ = imported(tmp_path, describe_lines(ONE_PARTITION), data_dirs, lag_report(2, 6))
    assert rows["t", 0, 2]["leo"] == 20


def test_epochs_of_another_replica_are_cut_to_the_log(tmp_path: Path) -> None:
    data_dirs = {broker: write_data_dir(tmp_path / f"d{broker}", broker, "t 0 9") for broker in (1, 2)}
    write_checkpoint(tmp_path / "d1" / "t-0" / "leader-epoch-checkpoint", "0 0", "1 3", "2 6", "7 9")
    write_checkpoint(tmp_path / "d2" / "log-start-offset-checkpoint", "t 0 4")
    rows, _ = imported(tmp_path, describe_lines("1|1,2|1,2"), data_dirs)
    # the log begins inside epoch 1; epoch 7 has no record yet, so only its leader knows it
    assert rows["t", 0, 2]["epochs"] == [(1, 4), (2, 6)]
    assert rows["t", 0, 1]["epochs"][-1] == (7, 9)


def test_no_data_directory_at_all_is_an_empty_log(tmp_path: Path) -> None:
    rows, summary = imported(tmp_path, describe_lines(ONE_PARTITION), {}, lag_report(2, 6))
    assert all(offsets(row) == (0, 0, 0, 0) for row in rows.values())
    assert [row["epochs"] for row in rows.values()] == [[(0, 0)], [], []]
    assert sum("empty logs" in note for note in summary.notes) == 1


def test_replica_that_its_data_directory_does_not_know_is_empty(tmp_path: Path) -> None:
    data_dirs = {1: write_data_dir(tmp_path / "d1", 1, "t 0 9"), 2: write_data_dir(tmp_path / "d2", 2)}
    rows, summary = imported(tmp_path, describe_lines(ONE_PARTITION), data_dirs)
    assert [rows["t", 0, broker]["leo"] for broker in (1, 2, 3)] == [9, 0, 9]
    assert "1 replicas are not in their broker's data directory: empty logs" in summary.notes
    assert "1 ISR members end below their leader's HW: files of different moments, taken as they are" in summary.notes


def test_several_log_dirs_of_one_broker(tmp_path: Path) -> None:
    paths = [write_data_dir(tmp_path / "d1", 1, "t 0 5"), write_data_dir(tmp_path / "d2", 1, "t 1 6")]
    rows, _ = imported(tmp_path, describe_lines("1|1|1", "1|1|1"), {1: ",".join(paths)})
    assert [rows["t", number, 1]["leo"] for number in (0, 1)] == [5, 6]


def test_meta_properties_of_version_0_and_none(tmp_path: Path) -> None:
    data_dir = write_data_dir(tmp_path / "d1", 1, "t 0 5")
    (tmp_path / "d1" / "meta.properties").write_text("#Sat\nversion=0\nbroker.id=1\ncluster.id=c\n")
    assert imported(tmp_path, describe_lines("1|1|1"), {1: data_dir})[0]["t", 0, 1]["leo"] == 5
    (tmp_path / "d1" / "meta.properties").unlink()
    _, summary = imported(tmp_path, describe_lines("1|1|1"), {1: data_dir})
    assert any(note.startswith("3 files are missing") and "meta.properties" in note for note in summary.notes)


def test_partitions_left_out_are_noted_and_brokers_of_all_sources_kept(tmp_path: Path) -> None:
    data_dir = write_data_dir(tmp_path / "d9", 9, "other 0 5")
    _, summary = imported(tmp_path, describe_lines("1|1|1"), {9: data_dir}, lag_report(8, 0))
    assert [row["broker"] for row in table_rows(tmp_path / "out", "brokers")] == [1, 8, 9]
    assert "1 partitions are not in the description, left out: other-0, ..." in summary.notes
