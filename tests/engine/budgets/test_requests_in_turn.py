"""Remote requests of two partitions of one broker, dealt out in turn, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.scenario import load_run
from tests.engine.budgets.test_reads_against_reference import played_in_turn
from tests.rounds.kafka.compared import consumer_groups_of

LOG = """
[[initial.replicas]]
topic = "t"
partition = PART
broker = 1
leo = 120
local_log_start_offset = 100
record_bytes = 100
"""
SEGMENT = """
[[initial.remote_segments]]
topic = "t"
partition = PART
base_offset = BASE
end_offset = END
bytes = BYTES
"""
SCENARIO = (
    """
protocol = "kafka"
rounds = 6
round_ms = 500
[cluster]
brokers = 1
fetches_per_round = 3
config = { "remote.log.storage.system.enable" = true, CONFIG }
[remote_storage]
read_ms = READ_MS
[[topics]]
name = "t"
partitions = 2
replication_factor = 1
config = { "remote.storage.enable" = true }
[[consumers]]
group = "g"
topic = "t"
start = 0
members = MEMBERS
config = { "max.partition.fetch.bytes" = FETCH }
"""
    + LOG.replace("PART", "0")
    + LOG.replace("PART", "1")
)
ANY = '"remote.log.reader.threads" = 10'
QUOTA = '"remote.log.manager.fetch.max.bytes.per.second" = 400'
THREAD = '"remote.log.reader.threads" = 1'


@pytest.mark.parametrize(
    ("config", "read_ms", "members", "positions", "throttled", "waited"),
    [
        # Three fetches of a record. Both partitions want three: who had two of them has one in the next round.
        (ANY, 0, 1, [[2, 1], [3, 3], [5, 4], [6, 6]], [0, 0], [0, 0]),
        # A thread that makes five requests, for partitions that want three each: who has two of them is first in the next round.
        (THREAD, 100, 2, [[3, 2], [5, 5], [8, 7], [10, 10]], [0, 0], [0, 0]),
        # One that makes two: the member's third fetch, for the first partition, finds no thread.
        (THREAD, 250, 1, [[1, 1], [2, 2], [3, 3]], [0, 0], [0, 0]),
        # One that makes one.
        (THREAD, 500, 1, [[1, 0], [1, 1], [2, 1]], [0, 0], [1, 2]),
        # Two fetches and one, then one and two, of which the quota leaves a record each.
        (QUOTA, 0, 1, [[1, 1], [2, 2], [3, 3]], [2, 1], [0, 0]),
    ],
    ids=["a member's fetches", "a thread", "both", "one request", "quota"],
)
@pytest.mark.parametrize("short", [False, True])
def test_requests_of_two_partitions(
    tmp_path: Path,
    short: bool,
    config: str,
    read_ms: int,
    members: int,
    positions: list[list[int]],
    throttled: list[int],
    waited: list[int],
) -> None:
    """`short`: a fetch brings a record because its segment has no more."""
    text = SCENARIO.replace("CONFIG", config).replace("READ_MS", str(read_ms)).replace("MEMBERS", str(members))
    text = text.replace("FETCH", "1000" if short else "100")
    for base, end in [(at, at) for at in range(12)] if short else [(0, 99)]:
        segment = SEGMENT.replace("BASE", str(base)).replace("END", str(end)).replace("BYTES", str(100 * (end - base + 1)))
        text += segment.replace("PART", "0") + segment.replace("PART", "1")
    (tmp_path / "s.toml").write_text(text)
    [scenario] = load_run(str(tmp_path / "s.toml")).scenarios
    rows = []
    for rounds in range(2, len(positions) + 2):
        game = played_in_turn(scenario, 2, rounds)
        rows = [consumer_groups_of(game, place)["g"] for place in range(2)]
        assert [row["position"] for row in rows] == positions[rounds - 2], rounds
        assert [row["remote_requests"] for row in rows] == positions[rounds - 2], rounds
    assert [row["throttled_rounds"] for row in rows] == throttled
    assert [sum(row["waited_rounds"].values()) for row in rows] == waited
