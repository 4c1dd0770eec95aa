"""Topics that are lists of ledgers: compiled rounds against the plain-Python reference on random schedules. No Spark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import InputError
from emulator.rounds.bookkeeper.constants import BY_AGE, BY_ENTRIES, BY_FAILURE, BY_SIZE, NEVER, NOT_YET
from emulator.rounds.bookkeeper.invariants import NAMES
from emulator.rounds.bookkeeper.topics.records import Part
from emulator.rounds.packed import entries_of
from emulator.scenario import load_run
from tests.bookkeeper.by_reference import first_few, run_of_cases
from tests.bookkeeper.topics_by_reference import as_engine_takes_it, of_played
from tests.reference.bookkeeper.given_list_schedules import given_list_schedule
from tests.reference.bookkeeper.placed_schedules import placed_topic_schedule
from tests.reference.bookkeeper.rules import MUTANTS, OF_TOPICS
from tests.reference.bookkeeper.schedules import topic_schedule, uneven
from tests.reference.bookkeeper.slow_schedules import slow_topic_schedule
from tests.reference.bookkeeper.topics import play_topic
from tests.rounds.bookkeeper.compared import differences
from tests.rounds.bookkeeper.topics_compared import PlayedTopics, of_rounds_of_topic, played_topics


def assert_equal(
    cases: Mapping[str, Any], folder: Path, protocols: Mapping[str, str] | None = None, room: int | None = None
) -> PlayedTopics:
    """The rounds end every case as the reference does, with the same violations."""
    played = {name: play_topic(case) for name, case in cases.items()}
    taken = {name: as_engine_takes_it(case, played[name]) for name, case in cases.items()}
    game = played_topics(run_of_cases(taken, folder, protocols).scenarios, room=room)
    differing = {}
    for place, name in enumerate(cases):
        expected = of_played(played[name])
        found = differences(expected, of_rounds_of_topic(game, place))
        if found:
            differing[name] = found
    assert not differing, f"{len(differing)} of {len(cases)} differ: {first_few(differing.items())}"
    return game


@pytest.mark.parametrize("seeds", [range(80), range(80, 160)])
def test_topics_equal_the_reference(tmp_path: Path, seeds: range) -> None:
    game = assert_equal({f"s{seed}": topic_schedule(seed) for seed in seeds}, tmp_path)
    parts: Any = entries_of(Part, game.state.parts)
    assert set(parts.rolled_over) == {NOT_YET, BY_ENTRIES, BY_SIZE, BY_AGE, BY_FAILURE}
    for happened in ("deleted_round", "offloaded_round", "freed_round"):
        assert (parts[happened] != NEVER).any()


def test_drawn_ensembles_and_slow_bookies(tmp_path: Path) -> None:
    cases = {f"placed{seed}": placed_topic_schedule(seed) for seed in range(40)}
    assert_equal(cases | {f"slow{seed}": slow_topic_schedule(seed) for seed in range(40)}, tmp_path)


def test_who_finds_its_ledger_closed_goes_on_with_the_next_one(tmp_path: Path) -> None:
    """Bookie 3 is back without its disk in round 12 and recovers the ledger, which is closed in round 16.

    The owner's next message comes in round 16 or later, when all bookies refuse it: it closes in the next round, as the store
    says, goes on with another ledger in the one after it, and acknowledges all fourteen messages.
    """
    keep = {"defaultRetentionTimeInMinutes": -1, "defaultRetentionSizeInMB": -1}
    cases = {
        f"in_{at}": {
            "rounds": 60,
            "round_ms": 500,
            "brokers": [1, 2, 3],
            "config": keep | {"dataIntegrityCheckingEnabled": True, "managedLedgerMinLedgerRolloverTimeMinutes": 60},
            "topic_config": {"ensembleSize": 3, "writeQuorumSize": 3, "ackQuorumSize": 2},
            "workload": [
                {"from_round": begin, "to_round": end, "records_per_round": 1, "max_in_flight": 1}
                for begin, end in ((0, 3), (at, at + 1), (40, 50))
            ],
            "faults": [{"kind": "disk_loss", "broker": 3, "from_round": 10, "to_round": 12}],
            "commands": [],
        }
        for at in (16, 17, 25)
    }
    game = assert_equal(cases, tmp_path)
    parts: Any = entries_of(Part, game.state.parts)
    assert parts.closed_round.tolist() == [16, NEVER] * 3
    assert parts.created_round.tolist() == [0, 18, 0, 19, 0, 27]
    assert [int(topic.unacked) for topic in game.state.topics] == [0, 0, 0]


def test_periods_that_rounds_do_not_divide(tmp_path: Path) -> None:
    assert_equal({f"s{seed}": uneven(seed, topic_schedule(seed)) for seed in range(80)}, tmp_path)


def test_lists_that_are_given(tmp_path: Path) -> None:
    assert_equal({f"s{seed}": given_list_schedule(seed) for seed in range(60)}, tmp_path)


OF_THREE = "fragments = [{ first_entry = 0, ensemble = [1, 2, 3] }]"
IMPOSSIBLE = {
    "1 stands where 0 should follow": ["ledger = 1"],
    "ledger: is missing": ["topic = 't'"],
    "fragments: is missing": ["ledger = 0"],
    "offloaded: a ledger that is OPEN": ["ledger = 0, offloaded = true"],
    "ledger 0 before it is OPEN": [f"ledger = 0, {OF_THREE}", f"ledger = 1, {OF_THREE}"],
    "one is no list of ledgers": ["topic = 'one', ledger = 1"],
}


@pytest.mark.parametrize("said", IMPOSSIBLE)
def test_lists_that_can_not_be(tmp_path: Path, said: str) -> None:
    own = [one if one.startswith("topic") else f"topic = 't', {one}" for one in IMPOSSIBLE[said]]
    given = ", ".join(f"{{ {one}, partition = 0, last_entry = 3 }}" for one in own)
    (tmp_path / "s.toml").write_text(
        f'protocol = "bookkeeper"\nrounds = 5\ncluster = {{ brokers = 3 }}\ninitial = {{ ledgers = [{given}] }}\n'
        'topics = [{ name = "t", partitions = 1, config = { managedLedger = true } }, { name = "one", partitions = 1 }]\n'
    )
    with pytest.raises(InputError, match=said):
        load_run(str(tmp_path / "s.toml"))


def test_rooms_that_start_tiny(tmp_path: Path) -> None:
    assert_equal({f"s{seed}": topic_schedule(seed) for seed in range(20)}, tmp_path, room=2)


def test_mutants_of_topics_equal_the_reference(tmp_path: Path) -> None:
    """The old owner finds its ledger closed, and writes the list that it knows over the one with the new owner's ledger."""
    keep = {"defaultRetentionTimeInMinutes": -1, "defaultRetentionSizeInMB": -1}
    lost = [{"kind": "drop_adds", "broker": b, "from_round": 0, "to_round": 8, "from_offset": 5} for b in (2, 3)]
    case = {
        "rounds": 60,
        "round_ms": 500,
        "brokers": list(range(1, 8)),
        "config": keep,
        "topic_config": {"ensembleSize": 3, "writeQuorumSize": 3, "ackQuorumSize": 2},
        "workload": [{"from_round": 0, "to_round": 20, "records_per_round": 1, "max_in_flight": 1}],
        "faults": lost,
        "commands": [{"kind": "take_over", "round": 9}],
    }
    cases = {"real": case} | {mutant: {**case, "rules": MUTANTS[mutant]} for mutant in OF_TOPICS}
    protocols = {mutant: f"bookkeeper-mutant-{mutant}" for mutant in OF_TOPICS}
    game = assert_equal(cases, tmp_path, protocols)
    names = list(cases)
    assert {names[violation.ledger] for violation in game.told.violations} == set(OF_TOPICS)
    assert "AckedMessagesAreListed" in {NAMES[violation.invariant] for violation in game.told.violations}
