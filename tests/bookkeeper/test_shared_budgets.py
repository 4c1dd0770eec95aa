"""Ledgers that share bookies' networks and disks: by hand, and against the reference that plays them round by round. No Spark."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.engine.budgets import share_bookies
from emulator.engine.budgets.share_bookies import Part, Shares, play_together
from emulator.engine.ledger_engine import LedgerEngine
from emulator.errors import InputError
from emulator.inputs.ledger_arrays import read_ledgers, read_topics
from emulator.rounds.bookkeeper.constants import FOREVER
from emulator.scenario import Scenario, load_run
from tests.bookkeeper.by_reference import _value, of_reference
from tests.reference.bookkeeper.schedules import paced_schedule, repair_schedule, schedule
from tests.reference.bookkeeper.shared_budgets import simulate_together
from tests.rounds.bookkeeper.compared import Played, differences, of_rounds

Case = dict[str, Any]


def to_toml(cases: Sequence[Case], budgets: str) -> str:
    """Cases with the same bookies, faults and config as the ledgers of one scenario."""
    first = cases[0]
    lines = ['protocol = "bookkeeper"', f"rounds = {first['rounds']}", f"round_ms = {first['round_ms']}", "[cluster]"]
    lines += [budgets] if "brokers_file" in budgets else [f"brokers = {len(first['brokers'])}", budgets]
    lines.append(f"config = {_value(first.get('config', {}))}")
    lines.append(f"session_timeout_rounds = {first.get('session_timeout_rounds', 18)}")
    for number, case in enumerate(cases):
        name = json.dumps(f"ledger{number}")
        lines += ["[[topics]]", f"name = {name}", 'placement = "lowest_free_id"', f"assignment = [{_value(case['replicas'])}]"]
        lines.append(f"config = {_value(case['topic_config'])}")
        for row in case["workload"]:
            lines += ["[[workload]]", f"topic = {name}", *(f"{key} = {_value(value)}" for key, value in row.items())]
        for row in case.get("commands", []):
            if "broker" not in row or number == 0:
                place = {} if "broker" in row else {"topic": f"ledger{number}", "partition": 0}
                lines += ["[[commands]]", *(f"{key} = {_value(value)}" for key, value in {**row, **place}.items())]
    for row in first.get("faults", []):
        lines += ["[[faults]]", *(f"{key} = {_value(value)}" for key, value in row.items())]
    return "\n".join(lines) + "\n"


def scenario_of(cases: Sequence[Case], budgets: str, folder: Path) -> Scenario:
    """The cases as a scenario; `budgets`: lines of [cluster]."""
    path = folder / "shared.toml"
    path.write_text(to_toml(cases, budgets))
    return load_run(str(path)).scenarios[0]


def played(scenario: Scenario, leaps: bool = False) -> tuple[Played, Shares]:
    """All ledgers, played together; and who was short when."""
    flags = {scenario.scenario_id: np.ones(sum(topic.partitions for topic in scenario.topics), bool)}
    block = read_ledgers([scenario], flags, leaps)
    part = Part(block.state, block.inputs)
    shares = play_together([part])
    return Played(block, part.state, part.told()), shares


def ledger(entries: int, **more: Any) -> Case:
    """So many entries of 1000 bytes a round for 20 rounds to bookies 1, 2 and 3, as many in flight as there are."""
    return {
        "rounds": 40,
        "round_ms": 500,
        "brokers": [1, 2, 3, 4],
        "replicas": [1, 2, 3],
        "topic_config": {"ensembleSize": 3, "writeQuorumSize": 3, "ackQuorumSize": 2},
        "workload": [{"from_round": 0, "to_round": 20, "records_per_round": entries, "max_in_flight": 1000}],
        **more,
    }


FIVE = "disk_bytes_per_second = 10_000"
"""Five entries a round."""


def tables_of(scenario: Scenario, leaps: bool = True) -> dict[str, list[dict[str, Any]]]:
    """The rows that a block tells, with every round's."""
    flags = {scenario.scenario_id: np.ones(sum(topic.partitions for topic in scenario.topics), bool)}
    tables = LedgerEngine([scenario], flags, leaps, bucket_rounds=10).play_all()
    return {name: table.to_pylist() for name, table in tables.items() if name != "blocks"}


def entries_by_round(scenario: Scenario, topic: str, broker: int = 1) -> list[int]:
    """How many entries of a ledger a bookie has at the end of each round."""
    rows = [row for row in tables_of(scenario)["bookie_rounds"] if (row["topic"], row["broker"]) == (topic, broker)]
    return [row["entries"] for row in sorted(rows, key=lambda row: row["round"])]


def test_two_alike_have_half_each(tmp_path: Path) -> None:
    """2500 bytes each: two entries, 500 are kept. Round 1: the other two of round 0 cost 1500, of round 1's each gets 1000."""
    scenario = scenario_of([ledger(4), ledger(4)], FIVE, tmp_path)
    for name in ("ledger0", "ledger1"):
        assert entries_by_round(scenario, name)[:8] == [2, 5, 7, 10, 12, 15, 17, 20]


def test_who_writes_little_waits_behind_who_writes_much(tmp_path: Path) -> None:
    """Nine entries and one a round, for which there is room in two: what was sent in round r is all taken in round 2r + 1."""
    little = ledger(1, workload=[{"from_round": 0, "to_round": 4, "records_per_round": 1, "max_in_flight": 1000}])
    much = ledger(9, workload=[{"from_round": 0, "to_round": 4, "records_per_round": 9, "max_in_flight": 1000}])
    scenario = scenario_of([much, little], FIVE, tmp_path)
    assert entries_by_round(scenario, "ledger1")[:9] == [0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert entries_by_round(scenario, "ledger0")[:9] == [4, 9, 13, 18, 22, 27, 31, 36, 36]


def test_a_busy_bookie_is_replaced_when_adds_wait_too_long(tmp_path: Path) -> None:
    """Bookie 1 has a tenth of what it is asked for: an add waits for addEntryTimeoutSec, and no fault is the cause."""
    path = tmp_path / "brokers.csv"
    path.write_text("broker,disk_bytes_per_second\n1,2000\n2,\n3,\n4,\n")
    scenario = scenario_of([ledger(5), ledger(5)], f"brokers_file = {json.dumps(str(path))}", tmp_path)
    changes = [row for row in tables_of(scenario)["events"] if row["kind"] == "ensemble_change"]
    # Half an entry each a round: those of round 0 are taken in rounds 1, 3, 5, 7, 9; the first one of round 1 has waited ten
    # rounds in round 11. It fails there, is to be replaced with the adds of round 12, which the store says in round 13.
    assert [(row["topic"], row["round"], row["cause"]) for row in changes] == [("ledger0", 13, None), ("ledger1", 13, None)]


@pytest.mark.parametrize("budget", ["disk_bytes_per_second = 16_000", "network_bytes_per_second = 16_000"])
def test_enough_for_all_changes_nothing(tmp_path: Path, budget: str) -> None:
    cases = [ledger(4), ledger(4)]
    enough, short = tables_of(scenario_of(cases, budget, tmp_path)), tables_of(scenario_of(cases, FIVE, tmp_path))
    assert enough == tables_of(scenario_of(cases, "", tmp_path))
    assert not enough["saturated"] and short["saturated"] and enough["bookie_rounds"] != short["bookie_rounds"]


@pytest.mark.parametrize(("limits", "config", "seen"), [
    ("disk_bytes_per_second = 10_000\nnetwork_bytes_per_second = 12_000", {}, {"disk", "producers"}),
    ("disk_bytes_per_second = 12_000\nnetwork_bytes_per_second = 10_000", {}, {"network_in", "producers"}),
    ("disk_bytes_per_second = 10_000\nnetwork_bytes_per_second = 10_000", {}, {"disk", "producers"}),
    ("disk_bytes_per_second = 10_000", {"journalSyncData": False}, set()),
    ("disk_bytes_per_second = 10_000", {"journalWriteData": False}, set()),
])  # fmt: skip
def test_the_smaller_budget_holds(tmp_path: Path, limits: str, config: Case, seen: set[str]) -> None:
    """Where bookies are short all three time out; 4 comes for the first, 1 again for the second, and the third stays."""
    scenario = scenario_of([ledger(4, config=config), ledger(4, config=config)], limits, tmp_path)
    rows = tables_of(scenario)["saturated"]
    assert {share_bookies.PLACES[row["kind"]] for row in rows} == seen
    assert {row["broker_place"] for row in rows} == ({0, 1, 2, 3} if seen else set())


def test_a_bookie_that_joins_has_its_budget_in_that_round(tmp_path: Path) -> None:
    """Bookie 3 dies in round 0 with everything on its way: both ledgers' adds come to bookie 4 at once, ten are too many."""
    dead = {"kind": "broker_crash", "broker": 3, "from_round": 0, "to_round": 40}
    one = [{"from_round": 0, "to_round": 1, "records_per_round": 5, "max_in_flight": 5}]
    cases = [ledger(5, workload=one, faults=[dead]), ledger(5, workload=one, faults=[dead])]
    path = tmp_path / "brokers.csv"
    path.write_text("broker,disk_bytes_per_second\n1,\n2,\n3,\n4,6000\n")
    scenario = scenario_of(cases, f"brokers_file = {json.dumps(str(path))}", tmp_path)
    # The change is in round 1. Bookie 4 takes three entries a round: 1500 bytes each, then 1500 and 500 kept, ...
    assert entries_by_round(scenario, "ledger0", 4)[:4] == [1, 3, 4, 5]


def together(seed: int) -> tuple[list[Case], dict[int, int]]:
    """Two to four ledgers on the same bookies, some with less room than they ask for; with troubles of other schedules."""
    rng = random.Random(f"bookkeeper/shared/{seed}")
    make = rng.choice((schedule, paced_schedule, repair_schedule))
    base = make(seed)
    cases = []
    for number in range(rng.randint(2, 4)):
        own = base if number == 0 else schedule(10_000 + 7 * seed + number)
        shape = base["topic_config"]
        sizes = rng.choice((400, 1000, 3000))
        in_flight = rng.choice((1, 3, 8, 30))
        workload = [
            {**row, "record_bytes": sizes, "max_in_flight": in_flight, "records_per_round": rng.randint(1, 4)}
            for row in own["workload"]
        ]
        commands = [one for one in own["commands"] if "broker" not in one]
        replicas = rng.sample(base["brokers"], shape["ensembleSize"])
        cases.append({**base, "replicas": replicas, "workload": workload, "commands": commands})
    for bookie in [one for one in base["commands"] if "broker" in one]:
        for case in cases:
            case["commands"] = [*case["commands"], bookie]
    budgets = {one: rng.choice((1, 300, 1000, 2500, 6000, 20_000)) for one in base["brokers"] if rng.random() < 0.7}
    return cases, budgets


def budget_lines(budgets: dict[int, int], brokers: Sequence[int], folder: Path) -> str:
    """What a file of bookies says, in rounds of half a second."""
    path = folder / "brokers.csv"
    rows = [f"{one},{2 * budgets[one] if one in budgets else ''}" for one in brokers]
    path.write_text("\n".join(["broker,network_bytes_per_second", *rows]) + "\n")
    return f"brokers_file = {json.dumps(str(path))}"


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_ledgers_against_the_reference(tmp_path: Path, first: int) -> None:
    """Every entry, fragment, event and who was short when."""
    was_short = 0
    for seed in range(first, first + 10):
        cases, budgets = together(seed)
        results, short = simulate_together(cases, budgets)
        scenario = scenario_of(cases, budget_lines(budgets, cases[0]["brokers"], tmp_path), tmp_path)
        for leaps in (False, True):
            game, shares = played(scenario, leaps)
            seen = [
                (now, scenario.brokers[at].id)
                for now, of_round in shares.items()
                for at in np.flatnonzero(of_round.cut_round != FOREVER)
            ]
            assert sorted(seen) == sorted(short), seed
            for place, result in enumerate(results):
                expected = of_reference(result)
                own = of_rounds(game, place)
                left_out = {"violations": expected["violations"]}  # the reference looks for none here
                assert not differences(expected, own | left_out), (seed, place)
        was_short += bool(short)
    assert was_short >= 3


def test_stretches_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Round by round, or in stretches as long as may be: the same tables."""
    for seed in (1, 2, 3):
        cases, budgets = together(seed)
        scenario = scenario_of(cases, budget_lines(budgets, cases[0]["brokers"], tmp_path), tmp_path)
        whole = tables_of(scenario)
        with monkeypatch.context() as patch:
            patch.setattr(share_bookies, "FIRST_STRETCH", 1)
            assert tables_of(scenario) == whole
        assert tables_of(scenario, leaps=False) == whole


LIST = """
protocol = "bookkeeper"
rounds = 60
round_ms = 500
[cluster]
brokers = 3
disk_bytes_per_second = 10_000
[[topics]]
name = "list"
partitions = 1
config = { managedLedger = true, managedLedgerMaxEntriesPerLedger = 30, managedLedgerMinLedgerRolloverTimeMinutes = 0 }
[[topics]]
name = "ledger"
partitions = 1
[[workload]]
topic = "*"
from_round = 0
to_round = 20
records_per_round = 6
record_bytes = 1000
max_in_flight = 6
"""
"""E 3, Qw 2: 4 entries a round of either at each bookie, 8000 bytes where there is room for 5000."""


def test_lists_and_ledgers_share(tmp_path: Path) -> None:
    path = tmp_path / "list.toml"
    path.write_text(LIST)
    scenario = load_run(str(path)).scenarios[0]
    tables = tables_of(scenario)
    first = [row for row in tables["ledger_traffic"] if row["bucket"] == 0]
    assert [row["topic"] for row in tables["topics"]] == ["list"]
    assert {row["topic"] for row in tables["ledgers"]} == {"list", "ledger"}
    taken = {place: sum(row["bytes_produced"] for row in first if row["broker_place"] == place) for place in range(3)}
    # No bookie takes more than its budget, and each is short until the queues are empty.
    assert all(47_000 <= bytes_taken <= 50_000 for bytes_taken in taken.values())
    assert tables == tables_of(scenario, leaps=False)


def test_topics_played_alone_and_in_parts_are_the_same(tmp_path: Path) -> None:
    """Nobody is short: what is played together is as what is played by itself."""
    path = tmp_path / "list.toml"
    path.write_text(LIST.replace("10_000", "16_000"))
    scenario = load_run(str(path)).scenarios[0]
    path.write_text(LIST.replace("disk_bytes_per_second = 10_000", ""))
    free = load_run(str(path)).scenarios[0]
    assert tables_of(scenario) == tables_of(free)
    assert read_topics([scenario], {0: np.ones(2, bool)}, True).inputs.shares.budget_bytes.tolist() == [8000] * 3


@pytest.mark.parametrize(("topic", "told"), [
    ("partitions = 10_001", r"10001 ledgers would share bookies' budgets.*allowed: up to 10000 ledgers"),
    ("partitions = 101\nconfig = { managedLedger = true }", r"101 lists of ledgers would share.*up to 100 lists"),
])  # fmt: skip
def test_more_than_one_task_plays_are_refused(tmp_path: Path, topic: str, told: str) -> None:
    path = tmp_path / "many.toml"
    head = 'protocol = "bookkeeper"\nrounds = 10\n[cluster]\nbrokers = 3\nnetwork_bytes_per_second = 1\n[[topics]]\nname = "t"\n'
    path.write_text(f"{head}{topic}\n")
    with pytest.raises(InputError, match=told):
        load_run(str(path))
