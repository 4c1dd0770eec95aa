"""Copies that compete for threads or quotas: compiled rounds against the reference, cell by cell, round by round."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
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
from tests.reference.scenario_toml import fetching, table, value
from tests.reference.tiered.scenario_file import racks
from tests.reference.tiered.schedules import BROKERS, RECORD_BYTES, schedule, uneven
from tests.reference.tiered.simulate import Result, simulate_together
from tests.rounds.kafka.compared import Played, all_known, differences, remote_segments_of, scenarios_of
from tests.rounds.kafka.test_tiers import COLUMNS, KINDS, segments_that_differ

PARTITIONS = 6


def cases_of(seed: int, partitions: int = PARTITIONS) -> tuple[list[dict[str, Any]], int]:
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
    for _ in range(partitions):
        replicas = rng.sample(BROKERS, rng.choice((2, 3)))
        own = list(commands)
        if rng.random() < 0.2:
            own.append({"round": rng.randint(8, 36), "kind": "reassign", "replicas": rng.sample(BROKERS, 2)})
        rows = [{**row, "records_per_round": rng.randint(1, 3)} for row in base["workload"]]
        cases.append({**base, "config": config, "remote_storage": store, "replicas": replicas, "commands": own, "workload": rows})
    return cases, rng.choice((3, 5, 8))


def with_own_faults(seed: int, cases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The cases, most with faults of the store, or open transactions, of their topic or partition alone; text_of names topics."""
    rng, found = random.Random(f"own faults/{seed}"), []
    kinds = ("remote_storage_outage", "open_transaction", "slow_remote_storage", "slow_remote_storage")
    for number, case in enumerate(cases):
        faults = list(case["faults"])
        for _ in range(rng.choice((0, 1, 1, 2))):
            begin = rng.randint(2, 36)
            fault = {"kind": rng.choice(kinds), "topic": f"t{number:02}", "from_round": begin}
            fault["to_round"] = begin + rng.choice((1, 3, 6, 12))
            if rng.random() < 0.6:
                fault["partition"] = 0
            if fault["kind"] == "slow_remote_storage":
                fault["bytes_per_second"] = rng.choice((0, 1, 3, 6)) * RECORD_BYTES
            faults.append(fault)
        found.append({**case, "faults": faults})
    return found


def text_of(cases: Sequence[Mapping[str, Any]], window_rounds: int) -> str:
    """The cases as one scenario, each a topic."""
    first = cases[0]
    store = {key: given for key, given in first["remote_storage"].items() if given is not None}
    lines = [
        *(f"{name} = {first[name]}" for name in ("rounds", "round_ms")),
        "[cluster]",
        f"brokers = {max(first['brokers'])}",
        *racks(first),
        f"session_timeout_rounds = {first['session_timeout_rounds']}",
        f"quota_window_rounds = {window_rounds}",
        *fetching(first),
        f"config = {value(first['config'])}",
        "[remote_storage]",
        *(f"{key} = {value(given)}" for key, given in store.items()),
    ]
    of_all = [fault for fault in first["faults"] if "topic" not in fault]
    for fault in [*of_all, *(fault for case in cases for fault in case["faults"] if "topic" in fault)]:
        lines += table("faults", {key: given for key, given in fault.items() if given is not None})
    for number, case in enumerate(cases):
        topic = {"topic": f"t{number:02}"}
        lines += table("topics", {"name": f"t{number:02}", "assignment": [case["replicas"]], "config": case["topic_config"]})
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


def block_of(scenario: Scenario, partitions: int, leaps: bool = False) -> SharedBlock:
    """All partitions of a scenario, before round 0."""
    prepared = prepare([scenario], {scenario.scenario_id: np.full(partitions, not leaps)}, leaps, 10)
    return SharedBlock(block_payloads(prepared, 0, [np.arange(partitions)])[0], ())


def played_in_turn(scenario: Scenario, partitions: int, leaps: bool = False) -> Played:
    """What becomes of a scenario's partitions in one task."""
    block = block_of(scenario, partitions, leaps)
    play_together([block])
    return Played(block.block, block.stretches.state, block.stretches.told)


def what_differs(results: Sequence[Result], game: Played, seed: int) -> dict[str, Any]:
    """By seed and partition."""
    found, known = {}, all_known(game)
    for place, expected in enumerate(results):
        differs = differences(expected, game, place, known, COLUMNS, KINDS)
        if expected.coverage["two_copiers"]:  # which of two brokers copied first in a round is a choice of the reference's
            differs = [one for one in differs if one[0] != "remote_copied_again_bytes"]
            rows, others = in_any_order(expected.remote_segments), in_any_order(remote_segments_of(game, place))
            differs += [("segment", 0, (), one, other) for one, other in zip_longest(rows, others) if one != other]
        else:
            differs += segments_that_differ(expected, game, place)
        if differs:
            found[f"s{seed}-t{place}"] = differs[:6]
    return found


def in_any_order(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Remote segments without their numbers, by when and where they began."""
    found = [{name: value for name, value in row.items() if name != "segment"} for row in rows]
    return sorted(found, key=lambda row: (row["started_round"] or 0, row["broker"], row["base_offset"]))


def scenario_of(cases: Sequence[Mapping[str, Any]], window_rounds: int, folder: Path) -> Scenario | None:
    """The cases as a scenario; None where it is refused: a delay is longer than local retention."""
    try:
        return scenarios_of(text_of(cases, window_rounds), folder).scenarios[0]
    except InputError as refusal:
        assert " is above " in str(refusal)
        return None


LETTING_GO = (216, 227, 260, 299, 309, 334, 362, 392, 467, 663, 9225)
"""Copies that stand still, or whose partition leaves the broker, or is deleted by another leader, while others wait; in the last
one remote storage is turned off, and a follower lacks what its leader has not any more.
"""


@pytest.mark.parametrize(
    ("seeds", "is_uneven"),
    [(range(30), False), (range(100, 130), True), (LETTING_GO, False)],
    ids=["first", "uneven", "letting_go"],
)
def test_in_turn(tmp_path: Path, seeds: Sequence[int], is_uneven: bool) -> None:
    """`is_uneven`: rounds that divide no period, and partitions with faults of the store that others have not."""
    found, count, queued, throttled = {}, 0, 0, 0
    for seed in seeds:
        cases, window_rounds = cases_of(seed)
        if is_uneven:
            cases = with_own_faults(seed, [uneven(seed, case) for case in cases])
        scenario = scenario_of(cases, window_rounds, tmp_path)
        if scenario is None:
            continue
        results = simulate_together(cases)
        found |= what_differs(results, played_in_turn(scenario, PARTITIONS), seed)
        count += 1
        queued += any(result.coverage["copy_queued"] for result in results)
        throttled += any(result.coverage["copy_throttled"] for result in results)
    assert not found, f"{len(found)} differ: {dict(list(found.items())[:3])}"
    assert count >= len(seeds) * 2 // 3 and queued >= count // 2 and (throttled >= 3 or seeds is LETTING_GO)


def copies_of(rows: Iterable[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Which copies began when, and when they were done."""
    names = ("segment", "broker", "base_offset", "bytes", "started_round", "copied_round", "state")
    return [tuple(row[name] for name in names) for row in rows]


@pytest.mark.parametrize("seed", [4, 9, 14, 9014])
def test_fifty_partitions(tmp_path: Path, seed: int) -> None:
    """With leaps: copies and the rounds in which they begin are those of the reference, none is missing.

    In the last one elections take partitions with a copy under way from their leaders, while others wait for the threads.
    """
    cases, window_rounds = cases_of(seed, 50)
    scenario = scenario_of(cases, window_rounds, tmp_path)
    assert scenario is not None
    results = simulate_together(cases, trace=False)
    game = played_in_turn(scenario, 50, leaps=True)
    expected = [copies_of(result.remote_segments) for result in results]
    assert [copies_of(remote_segments_of(game, place)) for place in range(50)] == expected
    waited = sum(result.coverage["copy_queued"] + result.coverage["copy_throttled"] for result in results)
    assert sum(map(len, expected)) > 50 and waited > 100
