"""Leaps of topics that are lists of ledgers give what plain rounds give; hours take a handful of rounds a ledger. No Spark."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from emulator.rounds.bookkeeper.play_block import Told
from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.bookkeeper.state import LIST_RECORDS
from emulator.rounds.packed import entries_of
from emulator.rounds.records import SCRATCH, fields_of, words_of
from emulator.scenario import load_run
from tests.bookkeeper.by_reference import run_of_cases
from tests.bookkeeper.test_topics_leaps import LONG, SHORT
from tests.reference.bookkeeper.given_list_schedules import given_list_schedule
from tests.reference.bookkeeper.placed_schedules import placed_topic_schedule
from tests.reference.bookkeeper.schedules import topic_schedule, uneven
from tests.reference.bookkeeper.slow_schedules import paced_topic_schedule, reading_topic_schedule, slow_topic_schedule
from tests.rounds.bookkeeper.topics_compared import PlayedTopics, played_topics


def long_schedule(seed: int, make: Callable[[int], dict[str, Any]] = topic_schedule) -> Mapping[str, Any]:
    """A schedule with all times stretched, and ledgers for as many more entries."""
    rng = random.Random(f"topics' leaps/{seed}")
    case, stretch = make(seed), rng.choice((8, 20))
    config = {**case["config"], "managedLedgerMaxEntriesPerLedger": rng.choice((20, 60, 200, 1000))}
    rows = {table: [_stretched(row, stretch) for row in case[table]] for table in ("workload", "faults", "commands")}
    return {
        **case,
        **rows,
        "rounds": 84 * stretch,
        "config": config,
        "topic_config": {**case["topic_config"], "managedLedger": True},
    }


def _stretched(row: Mapping[str, Any], stretch: int) -> dict[str, Any]:
    times = ("from_round", "to_round", "round", "from_offset", "to_offset")
    return {key: value * stretch if key in times and value is not None else value for key, value in row.items()}


def assert_same(leapt: PlayedTopics, plain: PlayedTopics) -> None:
    """The same records, lists and outputs, but for how many rounds of ledgers were played."""
    for name in Told._fields:
        left, right = getattr(leapt.told, name), getattr(plain.told, name)
        assert (left == right).all() if name == "witness_ensembles" else (words_of(left) == words_of(right)).all(), name
    assert (words_of(leapt.state.topics) == words_of(plain.state.topics)).all()
    for name in ("parts", "owners"):
        assert (getattr(leapt.state, name).words == getattr(plain.state, name).words).all(), name
    for name in LIST_RECORDS:
        left, right = getattr(leapt.state.lists, name), getattr(plain.state.lists, name)
        assert (left.offsets == right.offsets).all(), name
        assert (left.words == right.words).all(), name
    mine, others = (entries_of(Ledger, game.state.ledgers) for game in (leapt, plain))
    for name, field in fields_of(Ledger).items():
        if field.kind != SCRATCH and field.type is np.int64:
            assert (mine[name] == others[name]).all(), name


def played_rounds(game: PlayedTopics) -> int:
    """Rounds of ledgers that were played."""
    return int(entries_of(Ledger, game.state.ledgers)["played"].sum())


def test_leaps_of_topics_give_what_plain_rounds_give(tmp_path: Path) -> None:
    run = run_of_cases({f"s{seed}": long_schedule(seed) for seed in range(60)}, tmp_path)
    leapt, plain = played_topics(run.scenarios, leaps=True), played_topics(run.scenarios)
    assert_same(leapt, plain)
    assert played_rounds(leapt) < played_rounds(plain)  # how many a quiet topic takes: test_hours_of_rollovers


def test_leaps_where_rounds_divide_no_period(tmp_path: Path) -> None:
    """In the first a former owner, who has not heard of it, finds its ledger too old while the last one writes another."""
    run = run_of_cases({f"s{seed}": uneven(seed, long_schedule(seed)) for seed in (72, *range(80, 120))}, tmp_path)
    assert_same(played_topics(run.scenarios, leaps=True), played_topics(run.scenarios))


def test_leaps_of_lists_that_are_given_placed_slow_or_read(tmp_path: Path) -> None:
    makers = (given_list_schedule, placed_topic_schedule, slow_topic_schedule, paced_topic_schedule, reading_topic_schedule)
    run = run_of_cases({f"s{seed}": long_schedule(seed, makers[seed % len(makers)]) for seed in range(25)}, tmp_path)
    leapt, plain = (played_topics(run.scenarios, leaps=leaps, bucket_rounds=17) for leaps in (True, False))
    assert_same(leapt, plain)


def test_a_long_run(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    run = load_run(str(tmp_path / "long.toml"))
    assert_same(played_topics(run.scenarios, leaps=True), played_topics(run.scenarios))


def test_hours_of_rollovers(tmp_path: Path) -> None:
    (tmp_path / "hours.toml").write_text(SHORT.format(rounds=2 * 7200, more=""))
    game = played_topics(load_run(str(tmp_path / "hours.toml")).scenarios, leaps=True)
    assert int(game.state.topics[0].messages) == 4 * 7200
    assert len(game.state.ledgers.words) == 12
    assert played_rounds(game) < 12 * 40
