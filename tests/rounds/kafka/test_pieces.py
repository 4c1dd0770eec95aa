"""Remote reads that go on in the next segment, in pieces, by hand. No Spark, no reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.inputs.arrays import prepare, read_block
from emulator.rounds.kafka.play_block import play
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.tier.records import RemoteSegment
from emulator.rounds.packed import entries_of
from emulator.scenario import load_run
from tests.rounds.kafka.compared import Played, consumer_groups_of, played
from tests.rounds.kafka.test_reader_leaps import unlike_by_leaps

RECORD_BYTES = 100
INDEX_BYTES = 20
"""Bytes of the indexes of a small segment."""

BASE = """
rounds = ROUNDS
round_ms = 500
[cluster]
brokers = 1
fetches_per_round = FETCHES
config = { "remote.log.storage.system.enable" = true, CONFIG }
[remote_storage]
read_ms = READ_MS
[[topics]]
name = "t"
partitions = 1
replication_factor = 1
config = { "remote.storage.enable" = true }
[[initial.partitions]]
topic = "t"
partition = 0
leader = 1
leader_epoch = 2
[[initial.replicas]]
topic = "t"
partition = 0
broker = 1
leo = 120
local_log_start_offset = LOCAL
record_bytes = 100
epochs = EPOCHS
"""


def segment(base: int, end: int, record_bytes: int = RECORD_BYTES, **more: Any) -> str:
    given = {"base_offset": base, "end_offset": end, "bytes": (end - base + 1) * record_bytes, **more}
    rows = [f"{key} = {value}" for key, value in {"topic": '"t"', "partition": 0, **given}.items()]
    return "\n".join(["[[initial.remote_segments]]", *rows, ""])


def tens(*but: int) -> list[str]:
    """Segments of ten records up to 100, without those with these bases."""
    return [segment(base, base + 9) for base in range(0, 100, 10) if base not in but]


def group(name: str = "g", fetch: int = 2500, **more: Any) -> str:
    given = {"topic": '"t"', "group": f'"{name}"', "start": 0, **more}
    config = f'config = {{ "max.partition.fetch.bytes" = {fetch}, "auto.offset.reset" = "none" }}'
    return "\n".join(["[[consumers]]", *(f"{key} = {value}" for key, value in given.items()), config, ""])


def text_of(segments: Sequence[str], groups: Sequence[str], reads: int, **given: Any) -> str:
    """A scenario with so many rounds of reads: the first round finds where to start."""
    values = {"FETCHES": 5, "CONFIG": '"remote.log.reader.threads" = 10', "READ_MS": 0, "LOCAL": 100, "EPOCHS": [[0, 0]]}
    values |= {"ROUNDS": reads + 1, **given}
    text = BASE
    for name, value in values.items():
        text = text.replace(name, str(value))
    return text + "".join(segments) + "".join(groups)


def rows_after(folder: Path, *given: Any, **more: Any) -> list[dict[str, Any]]:
    """The groups' rows after so many rounds of reads."""
    (folder / "s.toml").write_text(text_of(*given, **more))
    game = played(load_run(str(folder / "s.toml")).scenarios, traced=False)
    return [row for _, row in sorted(consumer_groups_of(game, 0).items())]


def seen(folder: Path, segments: Sequence[str], a_group: str, reads: int, *names: str, **given: Any) -> list[tuple[Any, ...]]:
    """These columns of one group after 1, 2, ... rounds of reads."""
    rows = [rows_after(folder, segments, [a_group], one, **given)[0] for one in range(1, reads + 1)]
    return [tuple(row[name] for name in ("position", *names)) for row in rows]


def test_several_short_segments_in_a_round(tmp_path: Path) -> None:
    """A fetch brings a segment, and a round three of them; each needs its own index. The local log is for the next round."""
    found = seen(tmp_path, tens(), group(), 5, "remote_requests", "index_misses", FETCHES=3)
    assert found == [(30, 3, 3), (60, 6, 6), (90, 9, 9), (100, 10, 10), (120, 10, 10)]
    assert rows_after(tmp_path, tens(), [group()], 5, FETCHES=3)[0]["remote_bytes"] == 100 * RECORD_BYTES


def test_a_fetch_is_of_one_segment(tmp_path: Path) -> None:
    """Four records a fetch: 4, 4, the 2 that are left of a segment, and 4 of the next one; then 4 and 2, and 4 and 4."""
    found = seen(tmp_path, tens(), group(fetch=400), 2, "remote_requests", "index_misses", "index_hits", FETCHES=4)
    assert found == [(14, 4, 2, 2), (28, 8, 3, 5)]


def test_a_limit_within_a_later_piece_leaves_the_fetch_in_hand(tmp_path: Path) -> None:
    """8 records a fetch, 14 a round: to 8, 10 and 18, of which 4 are in hand; to 20 and 28; to 30, 38, 40, 48."""
    for limit in ({"records_per_round": 14}, {"bytes_per_round": 14 * RECORD_BYTES + 99}):
        found = seen(tmp_path, tens(), group(fetch=800, **limit), 4, "remote_requests")
        assert found == [(14, 3), (28, 5), (42, 9), (56, 11)]


def test_bytes_of_a_later_piece_are_of_whole_records(tmp_path: Path) -> None:
    """Ten records of 100 bytes and ten of 300: a later piece has none that does not fit, the first one has one at least."""
    segments = [segment(0, 9), segment(10, 19, 300), *tens(0, 10)]
    assert seen(tmp_path, segments, group(bytes_per_round=1700), 2, "remote_bytes") == [(12, 1600), (17, 3100)]
    assert seen(tmp_path, segments, group(bytes_per_round=1250), 2, "remote_bytes") == [(10, 1000), (14, 2200)]
    found = seen(tmp_path, segments, group(start=9, bytes_per_round=100), 3, "remote_bytes")
    assert found == [(10, 100), (11, 400), (12, 700)]


def test_a_quota_cuts_a_later_piece(tmp_path: Path) -> None:
    """It leaves 15 records of 30: two fetches, of which 5 records are in hand; then these, one fetch, and none is in hand."""
    quota = f'"remote.log.manager.fetch.max.bytes.per.second" = {2 * 15 * RECORD_BYTES}'
    found = seen(tmp_path, tens(), group(), 2, "remote_requests", "throttled_rounds", FETCHES=3, CONFIG=quota)
    assert found == [(15, 2, 1), (30, 3, 2)]


def test_a_store_that_is_slow_limits_all_pieces_together(tmp_path: Path) -> None:
    text = text_of(tens(), [group()], 2).replace("read_ms = 0", "read_bytes_per_second = 2400")
    (tmp_path / "s.toml").write_text(text)
    [row] = consumer_groups_of(played(load_run(str(tmp_path / "s.toml")).scenarios, traced=False), 0).values()
    assert (row["position"], row["remote_requests"]) == (24, 3)


def test_a_segment_that_is_not_known_is_left_to_the_next_round(tmp_path: Path) -> None:
    """Which then finds it unknown, as the first round would have."""
    [row] = rows_after(tmp_path, tens(20), [group()], 1)
    assert (row["position"], row["stopped"]) == (20, None)
    [row] = rows_after(tmp_path, tens(20), [group()], 2)
    assert (row["position"], row["stopped"]) == (20, "segment_unknown")


def played_from(text: str, folder: Path, change: Callable[[State], None]) -> Played:
    """Played from a state that was changed before."""
    (folder / "s.toml").write_text(text)
    scenarios = load_run(str(folder / "s.toml")).scenarios
    prepared = prepare(scenarios, {0: np.zeros(1, bool)}, False, 10)
    block = read_block(prepared.block(np.arange(1)))
    change(block.state)
    return Played(block, *play(block.state, block.inputs, block.traffic))


def test_a_segment_whose_data_is_gone_is_left_to_the_next_round(tmp_path: Path) -> None:
    def delete(state: State) -> None:
        entries_of(RemoteSegment, state.remote)["stored_bytes"][2] = 0

    found = []
    for reads in (1, 2):
        [row] = consumer_groups_of(played_from(text_of(tens(), [group()], reads), tmp_path, delete), 0).values()
        found.append((row["position"], row["remote_requests"], row["remote_errors"], row["waited_rounds"]))
    assert found == [(20, 2, 0, {}), (20, 2, 1, {"segment_gone": 1})]


@pytest.mark.parametrize(("local", "positions"), [(35, [40, 120]), (40, [40, 120]), (41, [50, 120])])
def test_no_piece_begins_in_the_local_log(tmp_path: Path, local: int, positions: list[int]) -> None:
    """A segment that reaches into it is read to its end."""
    assert [row[0] for row in seen(tmp_path, tens(), group(), 2, LOCAL=local)] == positions


def test_a_piece_ends_where_epochs_differ(tmp_path: Path) -> None:
    """The first segment has records of epoch 1 from 12 on, which the log lacks: the next one has epoch 2 there."""
    segments = [segment(0, 19, epochs=[[0, 0], [1, 12]]), segment(12, 29, epochs=[[2, 12]]), segment(30, 99, epochs=[[2, 30]])]
    given = {"EPOCHS": [[0, 0], [2, 12]]}
    assert seen(tmp_path, segments, group(), 2, "remote_requests", "epoch", FETCHES=2, **given) == [(30, 2, 2), (80, 4, 2)]
    (tmp_path / "s.toml").write_text(text_of(segments, [group()], 4, **given))
    game = played(load_run(str(tmp_path / "s.toml")).scenarios, traced=False)
    assert len(game.told.violations) == 0


def test_who_is_dealt_fewer_requests_reads_to_the_end_of_the_last(tmp_path: Path) -> None:
    """Three a round, of one thread: 4, 4 and 2 records of each segment; or 6, 4, 6 of two, then 4, 6, 4."""
    thread = {"CONFIG": '"remote.log.reader.threads" = 1', "READ_MS": 166}
    assert seen(tmp_path, tens(), group(fetch=400), 2, "remote_requests", **thread) == [(10, 3), (20, 6)]
    assert seen(tmp_path, tens(), group(fetch=600), 3, "remote_requests", **thread) == [(16, 3), (30, 6), (46, 9)]
    two = rows_after(tmp_path, tens(), [group("a"), group("b")], 1, **thread)
    assert [(row["position"], row["remote_requests"]) for row in two] == [(20, 2), (10, 1)]


def test_indexes_piece_by_piece(tmp_path: Path) -> None:
    """Two groups read three segments each, one after the other: the second finds three indexes, or none of two."""
    for room, of_second in ((3, (3, 0)), (2, (0, 3))):
        config = f'"remote.log.index.file.cache.total.size.bytes" = {room * INDEX_BYTES}'
        first, second = rows_after(tmp_path, tens(), [group("a"), group("b")], 1, FETCHES=3, CONFIG=config)
        assert (first["index_hits"], first["index_misses"]) == (0, 3)
        assert (second["index_hits"], second["index_misses"]) == of_second


def test_more_pieces_than_there_is_room_for(tmp_path: Path) -> None:
    """A list that is full is played again with more room."""
    segments = [segment(at, at) for at in range(100)]
    (tmp_path / "s.toml").write_text(text_of(segments, [group("a"), group("b")], 1, FETCHES=90))
    game = played(load_run(str(tmp_path / "s.toml")).scenarios, traced=False, room=2)
    assert [row["position"] for row in consumer_groups_of(game, 0).values()] == [90, 90]


def test_a_leap_ends_where_a_segment_does(tmp_path: Path) -> None:
    """Segments of 1000 records, of which a round reads 35, or 13: most rounds are leapt over, and nothing is otherwise."""
    text = text_of([], [group(fetch=799), group("h", 1000, records_per_round=13)], 400, LOCAL=20_000).replace("120", "22000")
    text += "".join(segment(base, base + 999) for base in range(0, 20_000, 1000))
    (tmp_path / "s.toml").write_text(text)
    scenarios = load_run(str(tmp_path / "s.toml")).scenarios
    found, plain, leapt = unlike_by_leaps(scenarios)
    assert not found
    assert leapt[0] < plain[0] * 0.6
    fast, slow = (row for _, row in sorted(consumer_groups_of(played(scenarios, traced=False, leaps=True), 0).items()))
    assert fast["position"] > 13_000
    assert slow["position"] == 400 * 13
