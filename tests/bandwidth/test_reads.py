"""A group comes back after an outage of its consumers: how fast brokers' remote fetch quotas and reader threads let it catch up.

Broker 1 leads four partitions, broker 2 one; each takes 10 records of 100 bytes a round. Segments have 200 records, and 100 or
more stay local. The group is away in rounds 21 to 59, and then has 200 records of each partition to read from remote storage.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from emulator.inputs.arrays.shared import shares_budgets
from emulator.inputs.arrays.shared_reads import QUOTA, THREADS, limits_reading, read_limits
from emulator.scenario import Scenario, load_run
from tests.bandwidth.both_modes import Tables, assert_the_same, run_in_both_modes
from tests.engine_helpers import Row, of_scenario

MEMBERS = 2
WINDOW, BACK, END, FETCH_BYTES, RECORD_BYTES = 5, 60, 110, 4_000, 100
STOP = BACK + WINDOW
"""Where the group stops again, in scenarios of their own."""

LIMITS = {
    "quota": (f'cluster = {{ config = {{ "{QUOTA}" = 12000 }} }}', 12_000),
    "fetches": (f"members = {MEMBERS}", MEMBERS * FETCH_BYTES),
    "threads": (f'remote_storage = {{ read_ms = 600 }}\ncluster = {{ config = {{ "{THREADS}" = 3 }} }}', 3 * FETCH_BYTES),
}
"""Limit -> (what makes it, bytes a round of broker 1). Each of two members fetches two of its partitions, one at a time."""

SCENARIO = f"""
protocol = "kafka"
rounds = {END}
round_ms = 1000
[cluster]
brokers = 2
fetches_per_round = 1
quota_window_rounds = {WINDOW}
[cluster.config]
"remote.log.storage.system.enable" = true
"log.retention.check.interval.ms" = 1000
"remote.log.manager.task.interval.ms" = 1000
[[topics]]
name = "t"
assignment = [[1], [1], [1], [1], [2]]
[topics.config]
"remote.storage.enable" = true
"segment.bytes" = 20000
"local.retention.bytes" = 10000
"retention.ms" = -1
[[workload]]
topic = "t"
records_per_round = 10
record_bytes = {RECORD_BYTES}
[[consumers]]
name = "first"
group = "g"
topic = "t"
start = 0
to_round = 21
[[consumers]]
name = "again"
group = "g"
topic = "t"
from_round = {BACK}
to_round = TO_ROUND
config = {{ "max.partition.fetch.bytes" = {FETCH_BYTES} }}
"""


def name_of(limit: str, stop: int) -> str:
    return f"{limit}_{stop}"


def variant(name: str, stop: int, limit: str) -> str:
    members = f", {limit}" if limit.startswith("members") else ""
    rows = f'{{ name = "first"{members} }}, {{ name = "again", to_round = {stop}{members} }}'
    return f'[[variants]]\nname = "{name}"\nconsumers = [{rows}]\n' + ("" if members else f"{limit}\n")


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tables]:
    """The tables by mode; of each limit and stop a scenario."""
    variants = [
        variant(name_of(limit, stop), stop, text)
        for limit, text in {"none": "", **{limit: text for limit, (text, _) in LIMITS.items()}}.items()
        for stop in (STOP, END)
    ]
    text = SCENARIO.replace("TO_ROUND", str(END)) + "".join(variants)
    return run_in_both_modes(spark, text, tmp_path_factory.mktemp("reads"))


def readers(tables: Tables, limit: str, stop: int) -> list[Row]:
    return sorted(of_scenario(tables, name_of(limit, stop))["consumer_groups"], key=lambda row: row["partition"])


def read_remotely(tables: Tables, limit: str, stop: int) -> int:
    """Bytes that broker 1 has read from remote storage until then."""
    return sum(row["remote_bytes"] for row in readers(tables, limit, stop)[:4])


def test_leaps_give_the_same(run: dict[str, Tables]) -> None:
    assert_the_same(run)


@pytest.mark.parametrize("limit", LIMITS)
def test_the_first_window_brings_what_the_limit_lets_through(run: dict[str, Tables], limit: str) -> None:
    _, bytes_a_round = LIMITS[limit]
    most = bytes_a_round * WINDOW
    assert 0.9 * most <= read_remotely(run["plain"], limit, STOP) <= most
    assert read_remotely(run["plain"], "none", STOP) > 1.2 * most


def test_of_a_quota_partitions_that_are_alike_get_the_same(run: dict[str, Tables]) -> None:
    rows = readers(run["plain"], "quota", STOP)[:4]
    assert len({row["position"] for row in rows}) == 1
    # In the others the end of a segment cuts the read.
    assert all(row["throttled_rounds"] >= WINDOW - 2 for row in rows)


@pytest.mark.parametrize(("limit", "cause"), [("fetches", "other_partition"), ("threads", "reader_threads")])
def test_whole_reads_take_turns(run: dict[str, Tables], limit: str, cause: str) -> None:
    """Nobody is more than two reads behind the others, and nobody's read is cut."""
    rows = readers(run["plain"], limit, STOP)[:4]
    positions = [row["position"] for row in rows]
    assert max(positions) - min(positions) <= 3 * FETCH_BYTES // RECORD_BYTES
    assert all(row["throttled_rounds"] == 0 for row in rows) and any(cause in str(row["waited_rounds"]) for row in rows)


@pytest.mark.parametrize("limit", LIMITS)
def test_everybody_catches_up(run: dict[str, Tables], limit: str) -> None:
    assert [row["lag"] for row in readers(run["plain"], limit, END)] == [0] * 5
    # Who reads more slowly finds more in remote storage.
    assert read_remotely(run["plain"], limit, END) > read_remotely(run["plain"], "none", END)


def test_other_brokers_are_untouched(run: dict[str, Tables]) -> None:
    for stop in (STOP, END):
        rows = [
            {k: v for k, v in readers(run["plain"], limit, stop)[4].items() if k != "scenario_id"} for limit in ("none", *LIMITS)
        ]
        assert rows[1:] == rows[:1] * len(LIMITS)


def scenario(folder: Path, *changes: tuple[str, str]) -> Scenario:
    text = SCENARIO.replace("TO_ROUND", str(END))
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "scenario.toml").write_text(text)
    return load_run(str(folder / "scenario.toml")).scenarios[0]


def of_cluster(text: str) -> tuple[str, str]:
    return "[cluster.config]", f"[cluster.config]\n{text}"


SLOW = ("[cluster]", "[remote_storage]\nread_ms = 600\n[cluster]")
QUOTA_SET = of_cluster(f'"{QUOTA}" = 8000')
BY_TIME = ("fetches_per_round = 1\n", "")
TWICE = [SLOW, of_cluster(f'"{THREADS}" = 7'), ("fetches_per_round = 1", "fetches_per_round = 2")]

OFTEN = [SLOW, of_cluster(f'"{THREADS}" = 20'), ("fetches_per_round = 1", "fetches_per_round = 20")]


def of_groups(text: str) -> tuple[str, str]:
    return "[[consumers]]", f"[[consumers]]\n{text}"


@pytest.mark.parametrize(
    ("changes", "limits"),
    [
        ([], False),
        ([QUOTA_SET], True),
        ([("[[consumers]]", "[[consumers]]\nmembers = 4")], True),
        ([("[[consumers]]", "[[consumers]]\nmembers = 5")], False),
        ([BY_TIME, of_groups("members = 4")], True),
        ([BY_TIME, of_groups("members = 4\nrecords_per_round = 1")], False),  # two of a round's fetches
        ([QUOTA_SET, ("[[1], [1], [1], [1], [2]]", "[[1], [2]]")], False),  # nobody to compete with
        ([QUOTA_SET, ('"remote.storage.enable" = true', "")], False),  # nothing is remote
        ([SLOW], False),  # ten threads, four readers
        ([SLOW, of_cluster(f'"{THREADS}" = 4')], False),
        ([SLOW, of_cluster(f'"{THREADS}" = 3')], True),
        ([("[cluster]", "[remote_storage]\nread_ms = 400\n[cluster]"), of_cluster(f'"{THREADS}" = 3')], False),  # two reads each
        ([of_cluster(f'"{THREADS}" = 1')], False),  # reads take no time
        ([of_cluster(f'"{THREADS}" = 1'), BY_TIME], False),
        ([SLOW, of_cluster(f'"{THREADS}" = 4'), BY_TIME], False),  # one fetch of 601 ms
        (TWICE, True),  # eight requests
        ([*TWICE, of_groups("records_per_round = 1")], False),  # four
        ([*TWICE, of_groups(f"bytes_per_round = {FETCH_BYTES}")], True),  # which may be of two segments
        ([*TWICE, of_groups("records_per_round = 2")], True),
        ([*OFTEN, of_groups(f"bytes_per_round = {FETCH_BYTES}")], False),  # five each, of three segments at the most
        ([*OFTEN, of_groups(f"bytes_per_round = {FETCH_BYTES + 1}")], True),
    ],
)
def test_who_competes(tmp_path: Path, changes: list[tuple[str, str]], limits: bool) -> None:
    found = scenario(tmp_path, *changes)
    assert limits_reading(found) == limits
    assert shares_budgets(found) == limits
    assert (read_limits(found) is not None) == limits


def test_limits_over_time(tmp_path: Path) -> None:
    """What a broker has of its own from a command on; reads that take time are so many for each thread."""
    alter = f'[[commands]]\nkind = "alter_config"\nround = 10\nbroker = 1\nconfig = {{ "{QUOTA}" = 4000, "{THREADS}" = 1 }}\n'
    slow = ("[cluster]", "[remote_storage]\nread_ms = 400\n[cluster]")
    limits = read_limits(
        scenario(tmp_path, slow, QUOTA_SET, of_cluster(f'"{THREADS}" = 3'), ("[[topics]]", f"{alter}[[topics]]"))
    )
    assert limits is not None and not limits.fetches
    assert [part.tolist() for part in limits.at(9)] == [[8_000, 8_000], [6, 6]]
    assert [part.tolist() for part in limits.at(10)] == [[4_000, 8_000], [2, 6]]


def test_fetches_of_members(tmp_path: Path) -> None:
    """The i-th partition is read by member i mod members."""
    limits = read_limits(scenario(tmp_path, ("[[consumers]]", "[[consumers]]\nmembers = 2")))
    assert limits is not None and limits.at(0)[0].tolist() == limits.at(0)[1].tolist() == [float("inf")] * 2
    (fetches,) = limits.fetches.values()
    assert fetches.tolist() == [0, 1, 0, 1, 0]
    assert limits.of(np.array([1, 4])).fetches[0].tolist() == [1, 0]
