"""What copies of one broker's partitions leave each other, by hand, and which scenarios it concerns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from emulator.bandwidth.copy_budgets import QUOTA, THREADS, CopyBudgets, limits_copying
from emulator.bandwidth.quotas import has_edges
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
        ({"assignment": MANY}, False),  # 11 replicas, 10 threads, but nobody has set them
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
    assert has_edges(found) == limits


def test_reassigned_replicas_count(folder: Path) -> None:
    def moves(replicas: list[int]) -> str:
        return f'[[commands]]\nkind = "reassign"\ntopic = "t"\npartition = 0\nround = 10\nreplicas = {replicas}\n'

    assert not limits_copying(scenario(folder, ONE_EACH, QUOTA_SET, rest=moves([1])))
    assert limits_copying(scenario(folder, ONE_EACH, QUOTA_SET, rest=moves([2])))


def shared(budgets: CopyBudgets, flows: list[tuple[int, int | None, int, int]], round_: int = 0) -> list[float | None]:
    """The part of each flow (broker, the store's bytes a round, demand, copiers), None: it is not held back."""
    broker, store, demand, copiers = (np.array([f[i] or 0 for f in flows], np.int64) for i in range(4))
    takes_time = np.array([f[1] is not None for f in flows])
    part, held_back = budgets.shared(round_, broker, takes_time, demand, copiers, store)
    return [round(float(p), 6) if held else None for p, held in zip(part, held_back, strict=True)]


def test_threads(folder: Path) -> None:
    budgets = CopyBudgets(scenario(folder, MANY, TWO_THREADS, rest=command(f'"{THREADS}" = 4', broker=2)))
    assert shared(budgets, [(1, 18_000, 72_000, 6), (2, 18_000, 36_000, 6)]) == [0.5, None]
    assert shared(budgets, [(1, 18_000, 72_000, 6), (2, 18_000, 144_000, 8)]) == [0.5, 0.25]
    assert shared(budgets, [(1, 18_000, 72_000, 6), (2, 18_000, 144_000, 8)], 10) == [0.5, 0.5]
    assert shared(budgets, [(1, None, 10**9, 6)]) == [None]  # a copy that takes no time needs no thread
    assert shared(budgets, [(1, 18_000, 72_000, 6), (1, None, 10**9, 6)]) == [0.5, None]


def test_quota(folder: Path) -> None:
    budgets = CopyBudgets(scenario(folder, MANY, QUOTA_SET, rest=command('"' + QUOTA + '" = 5000', broker=1)))
    assert shared(budgets, [(1, 18_000, 30_000, 3), (2, 18_000, 40_000, 3)]) == [None, 0.75]
    assert shared(budgets, [(1, 18_000, 30_000, 3), (2, 18_000, 40_000, 3)], 10) == [0.333333, 0.75]
    assert shared(budgets, [(1, 18_000, 20_000, 3), (1, None, 40_000, 3)]) == [0.5, 0.5]
    assert shared(budgets, [(1, None, 10**9, 1)]) == [None]  # alone: its own check at the start of each segment is enough
    assert shared(budgets, [(1, None, 60_000, 3), (1, 18_000, 0, 0)]) == [0.5, 1.0]  # who may come to lead is held back as well
