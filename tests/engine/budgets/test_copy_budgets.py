"""What copies of one broker's partitions share, by hand, and which scenarios it concerns."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.inputs.arrays.copy_budgets import QUOTA, THREADS, UNLIMITED, CopyBudgets, copy_budgets, limits_copying
from emulator.inputs.arrays.shared import shares_budgets
from emulator.scenario import Scenario, load_run

RATE = 9_000
TIERED = '"remote.storage.enable" = true'
SLOW = '[[faults]]\nkind = "slow_remote_storage"\nbytes_per_second = 5000\nfrom_round = 3\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def scenario(
    folder: Path,
    assignment: list[list[int]],
    config: str = "",
    store: str = f"copy_bytes_per_second = {RATE}",
    topic: str = TIERED,
    rest: str = "",
) -> Scenario:
    """Rounds of 2 s."""
    text = f"""
rounds = 50
round_ms = 2000
[cluster]
brokers = 3
config = {{ "remote.log.storage.system.enable" = true{", " if config else ""}{config} }}
[remote_storage]
{store}
[[topics]]
name = "t"
assignment = {assignment}
config = {{ {topic} }}
{rest}
"""
    (folder / "scenario.toml").write_text(text)
    return load_run(str(folder / "scenario.toml")).scenarios[0]


def command(config: str, **fields: int) -> str:
    """An alter_config in round 10."""
    lines = [f"{name} = {value}" for name, value in fields.items()]
    return "\n".join(["[[commands]]", 'kind = "alter_config"', "round = 10", *lines, f"config = {{ {config} }}", ""])


QUOTA_SET, TWO_THREADS, TEN_THREADS = f'"{QUOTA}" = 15000', f'"{THREADS}" = 2', f'"{THREADS}" = 10'
MANY, THREE, ONE_EACH = [[1, 2]] * 11, [[1, 2]] * 3, [[1], [2], [3]]


@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ({"assignment": MANY}, True),  # 11 replicas, 10 threads, though nobody has set them
        ({"assignment": MANY[1:]}, False),
        ({"assignment": MANY, "config": TEN_THREADS}, True),
        ({"assignment": THREE, "config": TEN_THREADS}, False),
        ({"assignment": THREE, "config": TWO_THREADS}, True),
        ({"assignment": THREE, "rest": command(TWO_THREADS, broker=2)}, True),
        ({"assignment": MANY, "store": "", "config": TEN_THREADS}, False),  # copies take no time
        ({"assignment": MANY, "store": "", "config": TEN_THREADS, "rest": SLOW}, True),
        ({"assignment": MANY, "store": "", "config": QUOTA_SET}, True),
        ({"assignment": THREE, "store": "", "rest": command(QUOTA_SET)}, True),
        ({"assignment": ONE_EACH, "config": f"{QUOTA_SET}, {TWO_THREADS}"}, False),
        ({"assignment": MANY, "config": QUOTA_SET, "topic": '"retention.ms" = 1000'}, False),
        ({"assignment": MANY, "config": QUOTA_SET, "topic": f'{TIERED}, "remote.log.copy.disable" = true'}, False),
        ({"assignment": MANY, "topic": "", "config": TEN_THREADS, "rest": command(TIERED)}, True),
    ],
)
def test_who_competes(folder: Path, given: dict[str, object], limits: bool) -> None:
    found = scenario(folder, **given)  # type: ignore[arg-type]
    assert limits_copying(found) == limits
    assert shares_budgets(found) == limits
    assert (copy_budgets(found) is not None) == limits


def test_reassigned_replicas_count(folder: Path) -> None:
    def moves(replicas: list[int]) -> str:
        return f'[[commands]]\nkind = "reassign"\ntopic = "t"\npartition = 0\nround = 10\nreplicas = {replicas}\n'

    assert not limits_copying(scenario(folder, ONE_EACH, QUOTA_SET, rest=moves([1])))
    assert limits_copying(scenario(folder, ONE_EACH, QUOTA_SET, rest=moves([2])))


def budgets_of(folder: Path, config: str, rest: str) -> CopyBudgets:
    found = copy_budgets(scenario(folder, MANY, config, rest=rest))
    assert found is not None
    return found


def test_threads(folder: Path) -> None:
    budgets = budgets_of(folder, TWO_THREADS, command(f'"{THREADS}" = 4', broker=2))
    assert budgets.threads_at(9)[:3] == [2, 2, 2]
    assert budgets.threads_at(10)[:3] == [2, 4, 2]
    assert set(budgets.window_bytes_at(10)) == {UNLIMITED}


def test_quota(folder: Path) -> None:
    """Of the quota's window: eleven samples of a second are five rounds of two."""
    budgets = budgets_of(folder, QUOTA_SET, command('"' + QUOTA + '" = 5000', broker=1))
    assert budgets.window_bytes_at(9) == [150_000, 150_000, 150_000]
    assert budgets.window_bytes_at(10) == [50_000, 150_000, 150_000]
