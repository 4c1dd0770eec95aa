"""Consumer groups on compiled rounds against the plain-Python reference, without Spark: what they read, what not, violations."""

from __future__ import annotations

import importlib
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.errors import InputError
from emulator.inputs.arrays import Block, prepare, read_block
from emulator.inputs.arrays.storage import ever_tiered
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.rounds.kafka.play_block import play
from emulator.rounds.kafka.reading.records import Reader, ReadPartition, ReadReplica
from emulator.rounds.packed import entries_of
from emulator.rounds.records import CONSTANT, SCRATCH, fields_of, words_of
from emulator.scenario import Run, Scenario, load_run
from tests.reference.consumers.cases import fenced_follower
from tests.reference.consumers.more_schedules import with_more
from tests.reference.consumers.rules import MUTANTS
from tests.reference.consumers.scenario_file import write_scenario
from tests.reference.consumers.simulate import Result, simulate
from tests.reference.scenario_toml import FETCHING as FETCHING_KEYS
from tests.reference.tiered.simulate import result_of
from tests.rounds.kafka.compared import (
    Played,
    consumer_groups_of,
    events_of,
    played,
    read_violations_of,
    unread_of,
)
from tests.rounds.kafka.compared import differences as that_differ
from tests.rounds.kafka.test_tiers import KINDS, segments_that_differ
from tests.test_consumers_differential import OF_UNREAD, case_of, untiered

Case = Mapping[str, Any]
Differences = list[tuple[Any, ...]]


MUTANT_FLAGS = {
    "remote-read-to-segment-end": "reads_within_lineage",
    "no-epoch-check": "checks_position",
    "read-to-log-end": "reads_committed_only",
    "reset-by-follower": "follower_keeps_position",
}
"""Mutant of the reference -> the rule that it lacks."""


REFUSALS = (" is above ", "start: is missing", "is not a value of")
"""What scenarios are refused for that the reference plays: retention that Kafka refuses, no place to start at, no such class."""


def first_breaks(expected: Result) -> set[tuple[int, str, str]]:
    """(round, invariant, group) when each invariant first breaks for each group; readers may differ after an election that gives
    records up, uncleanly or of a replica that lost them (docs/invariants.md, C, D).
    """
    events = expected.partition.ledger.events
    given_up = min((e.round for e in events if e.kind in ("unclean_election", "committed_lost")), default=1 << 40)
    told = [(at, name, text.split()[0]) for at, name, text in expected.violations]
    return firsts((at, name, group) for at, name, group in told if name != "ConsistentRead" or at < given_up)


def firsts(rows: Iterable[tuple[int, str, str]]) -> set[tuple[int, str, str]]:
    """The first round of each invariant and group."""
    found: dict[tuple[str, str], int] = {}
    for at, name, group in rows:
        found[name, group] = min(at, found.get((name, group), at))
    return {(at, *key) for key, at in found.items()}


def differences(expected: Result, game: Played, scenario: Scenario, place: int = 0) -> Differences:
    """What differs: of `consumer_groups` cells, of `unread` rows, first breaks of invariants, and what became of the partition.

    Segments of what is not tiered are cut otherwise (tiered/segments.py).
    """
    end = result_of(expected.partition, [], [], [])
    nothing: dict[int, list[Any]] = {place: []}
    known = {"trace": nothing, "partitions": nothing, "events": events_of(game)}
    kinds = KINDS if ever_tiered(scenario, TopicPlaces(scenario)).any() else ()
    found: Differences = that_differ(end, game, place, known, kinds_too=kinds) + segments_that_differ(end, game, place)
    seen = consumer_groups_of(game, place)
    for row in expected.consumer_groups:
        own = seen.get(row["group"], {})
        found += [(row["group"], name, value, own.get(name)) for name, value in row.items() if own.get(name) != value]
    left = Counter(tuple(getattr(row, name) for name in OF_UNREAD) for row in expected.unread)
    right = Counter(tuple(row[name] for name in OF_UNREAD) for row in unread_of(game, place))
    found += [("unread of the reference", row) for row in left - right]
    found += [("unread of the rounds", row) for row in right - left]
    broken, seen_broken = first_breaks(expected), firsts(read_violations_of(game, place))
    found += [("violation of the reference", *row) for row in sorted(broken - seen_broken)]
    return [*found, *(("violation of the rounds", *row) for row in sorted(seen_broken - broken))]


def run_of(case: Case, folder: Path) -> Run:
    """The case as a scenario of its own."""
    path = folder / "case.toml"
    write_scenario(case, path)
    return load_run(str(path))


def differing(cases: Mapping[str, Case], folder: Path, mutant: str | None = None) -> dict[str, Differences]:
    """What differs, by name of the case; cases that Kafka would refuse, for their retention, are none. All are of one block."""
    lacking = {} if mutant is None else {MUTANT_FLAGS[mutant]: 0}
    guards = {} if mutant is None else {"read_rules": MUTANTS[mutant]}
    scenarios: dict[str, Scenario] = {}
    for name, case in cases.items():
        try:
            scenarios[name] = replace(run_of(case, folder).scenarios[0], scenario_id=len(scenarios))
        except InputError as refusal:
            assert any(reason in str(refusal) for reason in REFUSALS), refusal
    if not scenarios:
        return {}
    game, found = played(list(scenarios.values()), traced=False, rules=lacking), {}
    for place, (name, scenario) in enumerate(scenarios.items()):
        if differs := differences(simulate({**cases[name], **guards}, watch=True), game, scenario, place):
            found[name] = differs[:6]
    return found


def assert_equal(cases: Mapping[str, Case], folder: Path, mutant: str | None = None) -> None:
    """All cases, of rounds that lack the guard that the mutant lacks."""
    found = differing(cases, folder, mutant)
    assert not found, f"{len(found)} of {len(cases)} cases differ: {dict(list(found.items())[:3])}"


def cases_of_reference_tests() -> dict[str, Case]:
    """The cases that the reference's own tests of consumers are about, by name of the test; of single partitions."""
    found: dict[str, Case] = {}
    for name in ("catch_up", "followers", "in_hand", "positions", "remote_fetches", "sources", "truncation"):
        module = importlib.import_module(f"tests.reference.consumers.test_{name}")
        for test, function in vars(module).items():
            if test.startswith("test_") and not inspect.signature(function).parameters:
                seen: list[Case] = []
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(module, "simulate", partial(noted, seen))
                    function()
                found |= {f"{name}: {test} {at}": case for at, case in enumerate(seen) if case.get("consumers")}
    return found


def noted(seen: list[Case], case: Case, watch: bool = False) -> Result:
    """As `simulate`; the case is added to `seen`."""
    seen.append(case)
    return simulate(case, watch)


FETCHING: tuple[Case, ...] = (
    {"fetches_per_round": 2},
    {"fetches_per_round": 5},
    {"fetch_round_trip_ms": 150.5},
    {"fetch_round_trip_ms": 40},
)
"""What schedules say of the fetches of a round."""


@pytest.mark.parametrize("kind", [case_of, untiered])
def test_several_fetches_a_round(tmp_path: Path, kind: Callable[[int], Case]) -> None:
    """Of followers and of readers."""
    nothing = dict.fromkeys(FETCHING_KEYS)
    cases = {f"{seed}": {**kind(seed), **nothing, **FETCHING[seed % len(FETCHING)]} for seed in range(200, 240)}
    assert_equal(cases, tmp_path)
    once = {**nothing, "fetches_per_round": 1}
    assert any(local_requests(case) != local_requests({**case, **once}) for case in cases.values())


def local_requests(case: Case) -> int:
    """How many fetches of local logs the readers of a case made."""
    return sum(row["page_cache_requests"] + row["disk_requests"] for row in simulate(case).consumer_groups)


@pytest.mark.parametrize(("seeds", "has_more"), [(range(60), False), (range(60, 120), True)], ids=["first", "more"])
@pytest.mark.parametrize("kind", [case_of, untiered])
def test_schedules(tmp_path: Path, kind: Callable[[int], Case], seeds: Iterable[int], has_more: bool) -> None:
    """Tiered and not, with unclean elections: the same is read and not read, and no invariant breaks."""
    cases = {seed: kind(seed) for seed in seeds}
    assert_equal({f"{seed}": with_more(seed, case) if has_more else case for seed, case in cases.items()}, tmp_path)


def test_what_the_tests_of_the_reference_are_about(tmp_path: Path) -> None:
    """Remote segments of the start, followers, quotas, threads, and cases made for mutants, which break the same invariants."""
    cases = cases_of_reference_tests() | {"fenced follower": fenced_follower()}
    assert len(cases) > 50
    assert_equal({name: case for name, case in cases.items() if "read_rules" not in case}, tmp_path)
    for mutant, rules in MUTANTS.items():
        assert_equal({name: case for name, case in cases.items() if case.get("read_rules") == rules}, tmp_path, mutant)


MUTANTS_CAUGHT = {
    "no-epoch-check": ("ReadsOneLog", (9, 61, 107)),
    "read-to-log-end": ("ReadCommitted", (0, 3, 8)),
}
"""An invariant that the mutant breaks, and schedules that show it; the cases of the reference's tests show the others."""


@pytest.mark.parametrize("mutant", MUTANTS_CAUGHT)
def test_mutants_are_caught(tmp_path: Path, mutant: str) -> None:
    """In the run, when they are by the reference, which looks at every record."""
    invariant, seeds = MUTANTS_CAUGHT[mutant]
    for seed in seeds:
        game = played(run_of(case_of(seed), tmp_path).scenarios, traced=False, rules={MUTANT_FLAGS[mutant]: 0})
        assert invariant in {name for _, name, _ in read_violations_of(game, 0)}
    assert_equal({str(seed): case_of(seed) for seed in range(20)}, tmp_path, mutant)


def test_lists_of_readers_grow(tmp_path: Path) -> None:
    """Rooms that start tiny: what is played again tells nothing twice."""
    for seed in range(12):
        case = case_of(seed)
        try:
            [scenario] = run_of(case, tmp_path).scenarios
        except InputError:
            continue
        game = played([scenario], traced=False, room=2)
        assert differences(simulate(case, watch=True), game, scenario) == [], seed


def test_constants_stay_and_scratch_is_of_no_account(tmp_path: Path) -> None:
    """Rounds played one by one, rubbish in all scratch fields between them, are rounds played at once; no constant moves."""
    for seed in (0, 3, 8):
        block, whole = block_of(case_of(seed), tmp_path), block_of(case_of(seed), tmp_path)
        expected, told = play(whole.state, whole.inputs, whole.traffic)
        state, first, unread = block.state, block.state, []
        for at_round in range(int(np.asarray(block.state.partitions)["end"][0])):
            np.asarray(state.partitions)["end"] = at_round + 1
            state, of_round = play(state, block.inputs, block.traffic)
            unread += of_round.unread.tolist()
            readers = entries_of(Reader, state.readers)
            readers["broken"] = 1_234_567
            state = state._replace(readers=state.readers._replace(words=words_of(readers)))
        assert unread == told.unread.tolist()
        for name in ("reading", "served"):
            assert constants(getattr(state, name)) == constants(getattr(first, name))
        last, before = (entries_of(Reader, one.readers) for one in (expected, first))
        assert constants(entries_of(Reader, state.readers)) == constants(before) == constants(last)
        names = [name for name, field in fields_of(Reader).items() if field.kind != SCRATCH]
        assert entries_of(Reader, state.readers)[names].tolist() == last[names].tolist()


def block_of(case: Case, folder: Path) -> Block:
    """The case as a block of one partition, at its start."""
    return read_block(prepare(run_of(case, folder).scenarios, {}, False, 1000).block(np.arange(1)))


def constants(records: Any) -> list[Any]:
    """The numbers of a record array that rounds leave alone."""
    kind = {"number": Reader, "share_bytes": ReadReplica}
    of = next((record for field, record in kind.items() if field in records.dtype.names), ReadPartition)
    names = [name for name, field in fields_of(of).items() if field.kind == CONSTANT and field.type is np.int64]
    return list(records[names].tolist()) if names else []
