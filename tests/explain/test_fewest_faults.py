"""Which faults suffice for what befell a partition, found by playing it again. Each set is known by hand."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from emulator.explain.fewest_faults import fewest
from emulator.run import run_emulation
from emulator.scenario import load_run

SCENARIO = """
rounds = 60
[cluster]
brokers = 4
session_timeout_rounds = 3
[[topics]]
name = "t"
assignment = [[1, 2], [3], [4]]
[[workload]]
topic = "t"
partitions = "0-1"
records_per_round = 5
[[fault_generators]]
kind = "independent_crashes"
brokers = [4]
mtbf_rounds = 5
mean_duration_rounds = 1
[[faults]]
kind = "broker_pause"
broker = 2
from_round = 4
to_round = 6
[[faults]]
kind = "power_loss"
broker = 1
from_round = 20
to_round = 30
[[faults]]
kind = "power_loss"
broker = 2
from_round = 20
to_round = 30
[[faults]]
kind = "broker_crash"
broker = 3
from_round = 40
to_round = 50
[[variants]]
name = "groups"
protocol = "raft"
[[variants]]
name = "narrow"
cluster = { network_bytes_per_second = 800000 }
"""


@pytest.mark.parametrize("needed", [[], [0], [11], [3, 4], [0, 6, 11], list(range(12))])
def test_what_is_needed_is_found(needed: list[int]) -> None:
    tried: list[list[int]] = []

    def happens(some: list[int]) -> bool:
        tried.append(some)
        return {*needed} <= {*some}

    assert fewest(12, happens) == needed
    assert len(tried) < 60


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("fewest") / "s.toml"
    path.write_text(SCENARIO)
    run_emulation(load_run(str(path)), str(path.parent / "run"), spark)
    return str(path.parent / "run")


def explained(folder: str, arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["explain", folder, "--topic", "t", "--fewest-faults", *arguments.split()])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_few_and_their_story(folder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Both replicas' power at once loses records, one alone does not; who has one replica is without a leader by one crash."""
    monkeypatch.setenv("COLUMNS", "120")
    code, out, err = explained(folder, "--partition 0", capsys)
    first, story = out.split("\n", 1)
    assert (code, err) == (0, "")
    assert first.startswith("2 of the scenario's ")
    assert first.endswith(" faults suffice for this: acknowledged records lost. The story with no others:")
    assert "1: power_loss of 1, round 20 to round 29" in story
    assert "2: power_loss of 2, round 20 to round 29" in story
    assert "broker_pause" not in story
    _, out, _ = explained(folder, "--partition 1", capsys)
    assert out.startswith("1 of the scenario's ")
    assert "suffice for this: time without a leader" in out
    assert "3: broker_crash of 3, round 40 to round 49" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--partition 0 --scenario groups", "--fewest-faults: protocol raft; allowed: partitions of Kafka's protocols"),
        ("--partition 0 --scenario narrow", "--fewest-faults: partitions share what their brokers have"),
        ("--partition 7", "--partition: 7 is not a partition of t; allowed: 0 to 2"),
    ],
)
def test_where_it_cannot(folder: str, arguments: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = explained(folder, arguments, capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert told in err
