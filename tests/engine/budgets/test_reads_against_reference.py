"""Remote reads that compete for a quota, threads or a fetch: compiled rounds against the reference, read by read."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from emulator.engine import stretches
from emulator.engine.budgets.play_shared import play_together
from emulator.engine.budgets.shared_block import SharedBlock, block_payloads
from emulator.errors import InputError
from emulator.inputs.arrays import prepare
from emulator.inputs.arrays.shared_reads import limits_reading
from emulator.outcomes.compiled import Names, replica_state_rows
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.state import State
from emulator.scenario import Scenario, load_run
from tests.engine.budgets.test_copies_against_reference import text_of, with_own_faults
from tests.reference.consumers.more_schedules import INDEX_CACHE, reading_altered, with_larger_fetches
from tests.reference.consumers.schedules import FETCHING, in_short_fetches, schedule
from tests.reference.consumers.settings import BROKER_DEFAULTS
from tests.reference.consumers.simulate import Result, simulate_together
from tests.reference.scenario_toml import table
from tests.reference.tiered.schedules import RECORD_BYTES, uneven
from tests.rounds.kafka.compared import Played, consumer_groups_of, unread_of
from tests.rounds.kafka.test_readers import OF_UNREAD, REFUSALS

PARTITIONS = 5
EVERY = 6
"""A run shows the state after each so many rounds."""
GIVEN_FETCHES = [given for given in FETCHING if "fetches_per_round" in given]
"""By time moments of crashes are drawn, too, by the number of the partition, of which the reference plays each as the first."""
OF_CACHES = {"index_hits", "index_misses", "index_bytes"}
"""A partition has its brokers' whole index caches here (docs/consumer_rounds.md); in the reference partitions share them."""


def cases_of(seed: int, partitions: int = PARTITIONS) -> list[dict[str, Any]]:
    """Partitions on the same three brokers, read by the same groups, in one random schedule."""
    rng = random.Random(f"reads/{seed}")
    base = schedule(seed, by_local_log=False)
    config = base["config"] | {"remote.log.index.file.cache.total.size.bytes": 10**6}
    config["remote.log.manager.fetch.max.bytes.per.second"] = rng.choice((None, 300, 1000))
    store = {**base["remote_storage"], "copy_bytes_per_second": None, "read_ms": rng.choice((0, 130, 500))}
    members = rng.choice((None, 1, 2, 2, 3))
    consumers = [{**row, "members": members, "start": "earliest"} for row in base["consumers"]]
    if rng.random() < 0.7:  # several fetches a round, with as many records to read of each partition, and room for some of them
        base, consumers = {**base, **rng.choice(GIVEN_FETCHES)}, in_short_fetches(rng, consumers)
        config["remote.log.manager.fetch.max.bytes.per.second"] = rng.choice((None, None, 3000))
        config["remote.log.reader.threads"] = rng.choice((1, 2, 5))
    topic_config = base["topic_config"] | {"retention.ms": -1, "local.retention.bytes": base["topic_config"]["segment.bytes"]}
    commands = [command for command in base["commands"] if command["kind"] not in ("reassign", "delete_topic")]
    cases = []
    for _ in range(partitions):
        rows = [{**row, "records_per_round": rng.randint(1, 3)} for row in base["workload"]]
        more = {"replicas": rng.sample((1, 2, 3), rng.choice((2, 3))), "workload": rows, "consumers": consumers}
        more |= {"config": config, "remote_storage": store, "topic_config": topic_config, "commands": commands}
        cases.append({**base, **more, "page_cache_bytes": None})
    return cases


def with_more(seed: int, cases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The cases in rounds that divide no period, with faults of single partitions, and with what brokers read with altered."""
    rng, found = random.Random(f"reads/more/{seed}"), []
    altered = [command for command in reading_altered(rng) if INDEX_CACHE not in command["config"]]
    consumers = with_larger_fetches(rng, cases[0]["consumers"])
    for case in with_own_faults(seed, [uneven(seed, case) for case in cases]):
        commands = [*case["commands"], *altered]
        if rng.random() < 0.3:
            commands.append({"round": rng.randint(8, 40), "kind": "delete_records", "offset": rng.choice((-1, 5, 12, 20))})
        if rng.random() < 0.2:
            commands.append({"round": rng.randint(8, 36), "kind": "reassign", "replicas": rng.sample((1, 2, 3), 2)})
        workload = [{**row, "record_bytes": rng.choice((RECORD_BYTES, RECORD_BYTES, 60, 130))} for row in case["workload"]]
        found.append({**case, "commands": commands, "workload": workload, "consumers": consumers})
    return found


def scenario_of(cases: Sequence[Mapping[str, Any]], folder: Path) -> Scenario | None:
    """The cases as a scenario; None where it is refused."""
    first = cases[0]
    config = {key: given for key, given in first["config"].items() if key not in BROKER_DEFAULTS or given is not None}
    text = text_of([{**case, "config": config} for case in cases], 5)
    racks = [f"{broker},{first['racks'].get(broker, '')}" for broker in first["brokers"]]
    (folder / "brokers.csv").write_text("\n".join(["broker,rack", *racks]) + "\n")
    text = text.replace(f"brokers = {max(first['brokers'])}\n", 'brokers_file = "brokers.csv"\n', 1)
    for row in first["consumers"]:
        given = {key: value for key, value in row.items() if value is not None}
        text += "\n".join(table("consumers", {"topic": "*", **given})) + "\n"
    (folder / "s.toml").write_text(text)
    try:
        return load_run(str(folder / "s.toml")).scenarios[0]
    except InputError as refusal:
        assert any(reason in str(refusal) for reason in REFUSALS), refusal
        return None


def played_in_turn(scenario: Scenario, partitions: int, rounds: int | None = None, state_at: Sequence[int] = ()) -> Played:
    """What becomes of a scenario's partitions in one task, with leaps; `rounds`: so many of them only.

    `state_at`: rounds after which it shows its state (`replica_state_rows`) and goes on.
    """
    prepared = prepare([scenario], {scenario.scenario_id: np.zeros(partitions, bool)}, True, 10)
    block = SharedBlock(block_payloads(prepared, 0, [np.arange(partitions)])[0], state_at)
    assert block.shared.reads is not None
    if rounds is not None:
        block.shared = replace(block.shared, rounds=rounds)
    play_together([block])
    return Played(block.block, block.stretches.state, block.stretches.told)


def differences(expected: Result, game: Played, place: int) -> list[tuple[Any, ...]]:
    """Cells of `consumer_groups` and rows of `unread` that differ."""
    seen, found = consumer_groups_of(game, place), []
    for row in expected.consumer_groups:
        own = seen.get(row["group"], {})
        found += [
            (row["group"], name, value, own.get(name))
            for name, value in row.items()
            if name not in OF_CACHES and own.get(name) != value
        ]
    left = sorted(str(tuple(getattr(row, name) for name in OF_UNREAD)) for row in expected.unread)
    right = sorted(str(tuple(row[name] for name in OF_UNREAD)) for row in unread_of(game, place))
    return found + ([] if left == right else [("unread", left, right)])


def differing(
    seeds: Iterable[int], folder: Path, partitions: int = PARTITIONS, has_more: bool = False
) -> tuple[dict[str, Any], int, set[str]]:
    """(what differs, schedules played, why reads waited)."""
    found, count, causes = {}, 0, set()
    for seed in seeds:
        cases = cases_of(seed, partitions)
        cases = with_more(seed, cases) if has_more else cases
        scenario = scenario_of(cases, folder)
        if scenario is None or not limits_reading(scenario):
            continue
        count += 1
        game = played_in_turn(scenario, partitions)
        for place, expected in enumerate(simulate_together(cases)):
            for group in expected.consumer_groups:
                causes |= {*group["waited_rounds"]} | ({"throttled"} if group["throttled_rounds"] else set())
            if differs := differences(expected, game, place):
                found[f"s{seed}-t{place}"] = differs[:6]
    return found, count, causes


@pytest.mark.parametrize(("seeds", "has_more"), [(range(25), False), (range(100, 125), True)], ids=["first", "more"])
def test_schedules(tmp_path: Path, seeds: Iterable[int], has_more: bool) -> None:
    found, count, causes = differing(seeds, tmp_path, has_more=has_more)
    assert not found, f"{len(found)} differ: {dict(list(found.items())[:3])}"
    assert count >= 8 and causes >= {"throttled", "other_partition", "reader_threads"}, (count, causes)


def test_fifty_partitions(tmp_path: Path) -> None:
    found, count, causes = differing((3, 7, 11), tmp_path, 50)
    assert not found, f"{len(found)} differ: {dict(list(found.items())[:3])}"
    assert count and causes & {"throttled", "other_partition", "reader_threads"}


def test_positions_of_fifty_partitions_round_by_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each remote read moves its reader's position in its round: so all are made in the rounds of the reference.

    A run shows the state after every sixth round, and may leap in between; six runs, each a round later, show all.
    """

    def noted(names: Names, inputs: Inputs, state: State, at_round: int) -> pa.Table:
        states[at_round] = state
        return replica_state_rows(names, inputs, state, at_round)

    monkeypatch.setattr(stretches, "replica_state_rows", noted)
    cases = cases_of(7, 50)
    scenario = scenario_of(cases, tmp_path)
    assert scenario is not None
    results = simulate_together(cases)
    expected = {(place, r["round"], r["group"]): r["position"] for place, one in enumerate(results) for r in one.trace}
    states: dict[int, State] = {}
    found = {}
    for first in range(EVERY):
        states.clear()
        game = played_in_turn(scenario, 50, state_at=range(first, scenario.rounds, EVERY))
        for at_round, state in states.items():
            shown = Played(game.block, state, game.told)
            for place in range(50):
                found |= {(place, at_round, group): row["position"] for group, row in consumer_groups_of(shown, place).items()}
    assert {key: found[key] for key in expected} == expected
    assert sum(row["remote_requests"] for one in results for row in one.consumer_groups) > 50
