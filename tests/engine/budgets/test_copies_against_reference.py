"""Copies that compete for threads or quotas: compiled rounds against the reference, cell by cell, round by round."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.engine.budgets.play_shared import play_together
from emulator.engine.budgets.shared_block import SharedBlock, block_payloads
from emulator.errors import InputError
from emulator.inputs.arrays import prepare
from emulator.inputs.arrays.copy_budgets import QUOTA, THREADS
from emulator.scenario import Scenario
from tests.reference.scenario_toml import table, value
from tests.reference.tiered.schedules import BROKERS, RECORD_BYTES, schedule
from tests.reference.tiered.shared_copying import simulate_sharing
from tests.rounds.kafka.compared import Played, all_known, differences, scenarios_of
from tests.rounds.kafka.test_tiers import COLUMNS, KINDS, segments_that_differ

PARTITIONS = 6


def cases_of(seed: int) -> tuple[list[dict[str, Any]], int]:
    """(partitions on the same three brokers in one random schedule, quota_window_rounds)."""
    rng = random.Random(f"sharing/{seed}")
    base = schedule(seed, by_local_log=False)
    config = dict(base["config"])
    if rng.random() < 0.7:
        config[THREADS] = rng.choice((1, 1, 2))
    if THREADS not in config or rng.random() < 0.3:
        config[QUOTA] = rng.choice((3, 8, 16)) * RECORD_BYTES
    rate = rng.choice((2, 4, 10)) * RECORD_BYTES
    store = {**base["remote_storage"], "copy_bytes_per_second": None if THREADS not in config and rng.random() < 0.5 else rate}
    commands = [command for command in base["commands"] if command["kind"] != "reassign"]
    if rng.random() < 0.4:
        altered = {"config": {THREADS: rng.choice((1, 3))}, "broker": rng.choice(BROKERS)}
        commands.append({"round": rng.randint(10, 40), "kind": "alter_config", **altered})
    cases = []
    for _ in range(PARTITIONS):
        replicas = rng.sample(BROKERS, rng.choice((2, 3)))
        own = list(commands)
        if rng.random() < 0.2:
            own.append({"round": rng.randint(8, 36), "kind": "reassign", "replicas": rng.sample(BROKERS, 2)})
        rows = [{**row, "records_per_round": rng.randint(1, 3)} for row in base["workload"]]
        cases.append({**base, "config": config, "remote_storage": store, "replicas": replicas, "commands": own, "workload": rows})
    return cases, rng.choice((3, 5, 8))


def text_of(cases: Sequence[Mapping[str, Any]], window_rounds: int) -> str:
    """The cases as one scenario, each a topic."""
    first = cases[0]
    store = {key: given for key, given in first["remote_storage"].items() if given is not None}
    lines = [
        *(f"{name} = {first[name]}" for name in ("rounds", "round_ms")),
        "[cluster]",
        f"brokers = {max(first['brokers'])}",
        f"session_timeout_rounds = {first['session_timeout_rounds']}",
        f"quota_window_rounds = {window_rounds}",
        "fetches_per_round = 1",
        f"config = {value(first['config'])}",
        "[remote_storage]",
        *(f"{key} = {value(given)}" for key, given in store.items()),
    ]
    for fault in first["faults"]:
        lines += table("faults", {key: given for key, given in fault.items() if given is not None})
    for number, case in enumerate(cases):
        topic = {"topic": f"t{number}"}
        lines += table("topics", {"name": f"t{number}", "assignment": [case["replicas"]], "config": case["topic_config"]})
        for row in case["workload"]:
            lines += table("workload", {**topic, **row})
        for command in case["commands"]:
            if "broker" in command and number:
                continue  # it is the same for all
            place: dict[str, Any] = {} if "broker" in command else dict(topic)
            if command["kind"] in ("reassign", "delete_records"):
                place["partition"] = 0
            lines += table("commands", {**command, **place})
    return "\n".join(lines) + "\n"


def played_together(scenario: Scenario) -> tuple[Played, list[int]]:
    """(what became of a scenario's partitions, rounds in which its inputs change)."""
    prepared = prepare([scenario], {scenario.scenario_id: np.ones(PARTITIONS, bool)}, False, 10)
    block = SharedBlock(block_payloads(prepared, 0, [np.arange(PARTITIONS)])[0], ())
    play_together([block])
    return Played(block.block, block.stretches.state, block.stretches.told), block.shared.changes.tolist()


def differing(seeds: Iterable[int], folder: Path) -> tuple[dict[str, Any], int, int]:
    """(by seed and partition what differs, schedules that were played, edges at which something was used up)."""
    found, count, short = {}, 0, 0
    for seed in seeds:
        cases, window_rounds = cases_of(seed)
        try:
            scenario = scenarios_of(text_of(cases, window_rounds), folder).scenarios[0]
        except InputError as refusal:  # a delay that is longer than local retention
            assert " is above " in str(refusal)
            continue
        game, changes = played_together(scenario)
        results, short_edges = simulate_sharing(cases, window_rounds, changes)
        count, short = count + 1, short + len(short_edges)
        known = all_known(game)
        for place, expected in enumerate(results):
            differs = differences(expected, game, place, known, COLUMNS, KINDS) + segments_that_differ(expected, game, place)
            if differs:
                found[f"s{seed}-t{place}"] = differs[:6]
    return found, count, short


@pytest.mark.parametrize("seeds", [range(30), range(100, 130)], ids=["first", "more"])
def test_schedules(tmp_path: Path, seeds: Iterable[int]) -> None:
    found, count, short = differing(seeds, tmp_path)
    assert not found, f"{len(found)} differ: {dict(list(found.items())[:3])}"
    assert count >= 20 and short >= 3 * count
