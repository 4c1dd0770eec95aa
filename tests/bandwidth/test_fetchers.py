"""Fetchers: which one a partition has, and what one brings in a round, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from emulator.bandwidth.fetchers import Fetchers, fetchers_of_partitions, fetchers_of_scenario, java_hash
from emulator.scenario import Scenario, load_run

MIB = 1 << 20
DEFAULT = Fetchers(500_000, 1000, 200_000_000, 10 * MIB)


def scenario_of(folder: Path, cluster: str, topics: str = "", commands: str = "") -> Scenario:
    orders = '[[topics]]\nname = "orders"\npartitions = 6\nreplication_factor = 1'
    text = f"rounds = 20\n[cluster]\nbrokers = 3\n{cluster}\n{orders}\n{topics}\n{commands}"
    (folder / "scenario.toml").write_text(text)
    return load_run(str(folder / "scenario.toml")).scenarios[0]


@pytest.mark.parametrize(
    ("text", "found"), [("", 0), ("a", 97), ("hello", 99162322), ("polygenelubricants", -(1 << 31)), ("€", 0x20AC)]
)
def test_hashes_are_javas(text: str, found: int) -> None:
    assert java_hash(text) == found


def test_partitions_have_fetchers(tmp_path: Path) -> None:
    """31 * -1008770331 is -1207109197 as an int, and so on by one from partition to partition."""
    first = 1207109197
    found = fetchers_of_partitions(scenario_of(tmp_path, 'config = { "num.replica.fetchers" = 4 }'))
    assert found.tolist() == [(first - partition) % 4 for partition in range(6)]
    assert fetchers_of_partitions(scenario_of(tmp_path, "")).tolist() == [0] * 6


def test_the_lowest_int_has_the_first_fetcher(tmp_path: Path) -> None:
    """31 * -2**31 is -2**31 again, of which Utils.abs is 0; the next one's is 2**31 - 1."""
    topics = '[[topics]]\nname = "polygenelubricants"\npartitions = 2\nreplication_factor = 1'
    found = fetchers_of_partitions(scenario_of(tmp_path, 'config = { "num.replica.fetchers" = 3 }', topics))
    assert found[6:].tolist() == [0, (2**31 - 1) % 3]


def test_what_a_fetcher_brings_of_one_partition_and_of_more() -> None:
    """A fetch of 1 MiB takes 1 ms and 5.243; of four, 1 and 20.97: 22.76 of them in a round, 190.9 MB/s, in a real run 184."""
    sizes = np.array([MIB, 4 * MIB, 300 * MIB])
    one, four, many = DEFAULT.most_bytes(sizes // MIB, sizes, sizes) / 500_000
    assert one == pytest.approx(MIB / 6242.88)
    assert four == pytest.approx(4 * MIB / 21971.52)
    assert many == pytest.approx(10 * MIB / 53428.8)  # replica.fetch.response.max.bytes
    assert four == pytest.approx(184, rel=0.04)


def test_what_is_cut_off_takes_its_time() -> None:
    """Of 1 MiB 1 MB is in whole batches of that: the rest is sent in vain."""
    four = np.array([4])
    whole, cut_off = (DEFAULT.most_bytes(four, four * MIB, four * size)[0] for size in (MIB, 1_000_000))
    assert cut_off == pytest.approx(whole * 1_000_000 / MIB)


def test_a_fetch_that_takes_longer_than_a_round() -> None:
    """One of 4 MiB takes 4.2 s at 1 MB/s, 42 rounds, and comes whole if it is for one follower alone."""
    slow, four = Fetchers(100_000, 1000, 1_000_000, 10 * MIB), np.array([4 * MIB])
    assert slow.most_bytes(np.array([1]), four, four).tolist() == [4 * MIB]
    assert slow.most_bytes(np.array([2]), four, four)[0] == pytest.approx(100_000, rel=1e-3)


def test_the_least_response_of_any_broker_counts(tmp_path: Path) -> None:
    narrow = '[[commands]]\nkind = "alter_config"\nround = 5\nbroker = 2\nconfig = { "replica.fetch.response.max.bytes" = 5000 }'
    found = fetchers_of_scenario(scenario_of(tmp_path, "fetch_round_trip_ms = 2", commands=narrow))
    assert found == Fetchers(500_000, 2000, 200_000_000, 5000)
    assert fetchers_of_scenario(scenario_of(tmp_path, "fetches_per_round = 3")) is None
