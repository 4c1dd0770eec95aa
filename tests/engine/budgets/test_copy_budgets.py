"""What copies of one broker's partitions leave each other, by hand, and which scenarios it concerns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from emulator.engine.budgets.copy_demands import NO_FLOW, CopyDemands, CopyFlows, copy_flows_of, flow_of, joined_copy_flows
from emulator.engine.budgets.copy_shares import CopyShares, bytes_of_copies, copy_shares_of
from emulator.inputs.arrays.copy_budgets import QUOTA, THREADS, CopyBudgets, copy_budgets, limits_copying
from emulator.inputs.arrays.shared import shares_budgets
from emulator.rounds.kafka.constants import UNKNOWN
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


def shared(budgets: CopyBudgets, flows: list[tuple[int, int | None, int, int]], round_: int = 0) -> list[float | None]:
    """The part of each flow (broker, the store's bytes a round, demand, copiers), None: it is not held back."""
    broker, store, demand, copiers = (np.array([f[i] or 0 for f in flows], np.int64) for i in range(4))
    number = flow_of(broker - 1, np.array([f[1] is not None for f in flows]))
    order = np.argsort(number)
    asked = CopyFlows(*(column[order] for column in (number, demand, copiers, store)))
    shares = copy_shares_of(asked, budgets, round_)
    assert shares.is_short == (len(shares.flow) > 0)
    part = dict(zip(shares.flow.tolist(), shares.part.tolist(), strict=True))
    return [round(part[n], 6) if n in part else None for n in number.tolist()]


def test_threads(folder: Path) -> None:
    budgets = budgets_of(folder, TWO_THREADS, command(f'"{THREADS}" = 4', broker=2))
    assert shared(budgets, [(1, 18_000, 72_000, 6), (2, 18_000, 36_000, 6)]) == [0.5, None]
    assert shared(budgets, [(1, 18_000, 72_000, 6), (2, 18_000, 144_000, 8)]) == [0.5, 0.25]
    assert shared(budgets, [(1, 18_000, 72_000, 6), (2, 18_000, 144_000, 8)], 10) == [0.5, 0.5]
    assert shared(budgets, [(1, None, 10**9, 6)]) == [None]  # a copy that takes no time needs no thread
    assert shared(budgets, [(1, 18_000, 72_000, 6), (1, None, 10**9, 6)]) == [0.5, None]


def test_quota(folder: Path) -> None:
    budgets = budgets_of(folder, QUOTA_SET, command('"' + QUOTA + '" = 5000', broker=1))
    assert shared(budgets, [(1, 18_000, 30_000, 3), (2, 18_000, 40_000, 3)]) == [None, 0.75]
    assert shared(budgets, [(1, 18_000, 30_000, 3), (2, 18_000, 40_000, 3)], 10) == [0.333333, 0.75]
    assert shared(budgets, [(1, 18_000, 20_000, 3), (1, None, 40_000, 3)]) == [0.5, 0.5]
    assert shared(budgets, [(1, None, 10**9, 1)]) == [None]  # alone: its own check at the start of each segment is enough
    assert shared(budgets, [(1, None, 60_000, 3), (1, 18_000, 0, 0)]) == [0.5, 1.0]  # who may come to lead is held back as well


def test_flows_and_what_copies_get() -> None:
    """Broker 0 has three copies, one of another rate, and one that will lead perhaps; broker 1 is not held back."""
    flow = flow_of(np.array([0, 0, 1, 0]), np.array([True, True, True, True]))
    one = CopyDemands(flow, np.array([300, 101, 7, 0]), np.array([1, 1, 1, 0]), np.array([400, 500, 400, 400]))
    two = CopyDemands(np.array([1, NO_FLOW]), np.array([9, 0]), np.array([1, 0]), np.array([400, 0]))
    flows = joined_copy_flows([copy_flows_of(one), copy_flows_of(two)])
    columns = [getattr(flows, name).tolist() for name in ("flow", "demand", "copiers", "store_bytes")]
    assert columns == [[1, 3], [410, 7], [3, 1], [500, 400]]
    held_back = CopyShares(np.array([1]), np.array([0.5]))
    assert bytes_of_copies(one, held_back).tolist() == [150, 50, UNKNOWN, 1]
    assert bytes_of_copies(two, held_back).tolist() == [4, UNKNOWN]
    nothing = CopyShares(np.zeros(0, np.int64), np.zeros(0))
    assert bytes_of_copies(one, nothing).tolist() == [UNKNOWN] * 4
