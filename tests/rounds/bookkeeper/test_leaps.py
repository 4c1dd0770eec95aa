"""Leaps give what plain rounds give, for ledgers under trouble that comes and goes; a day takes a handful of rounds. No Spark."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.rounds.bookkeeper.constants import EVENT_KINDS
from emulator.rounds.bookkeeper.play_block import Told
from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.bookkeeper.state import LIST_RECORDS
from emulator.rounds.records import SCRATCH, fields_of, words_of
from emulator.scenario import load_run
from tests.bookkeeper.by_reference import run_of_cases
from tests.bookkeeper.test_ledgers_leaps import LONG
from tests.reference.bookkeeper import given
from tests.reference.bookkeeper.further_schedules import further_schedule
from tests.reference.bookkeeper.placed_schedules import placed_schedule
from tests.reference.bookkeeper.schedules import loss_schedule, paced_schedule, repair_schedule, schedule, uneven
from tests.reference.bookkeeper.slow_schedules import reading_schedule, slow_schedule
from tests.rounds.bookkeeper.compared import Played, list_of, of_rounds, played

COPY = """
protocol = "bookkeeper"
rounds = 5000
[cluster]
brokers = 6
config = { autoRecoveryDaemonEnabled = true }
[[topics]]
name = "t"
assignment = [[1, 2, 3, 4, 5]]
config = { ensembleSize = 5, writeQuorumSize = 3, ackQuorumSize = 2 }
[[workload]]
topic = "t"
records_per_round = 5
max_in_flight = 10
to_round = 3000
[[commands]]
kind = "close_ledger"
topic = "t"
round = 3020
[[faults]]
kind = "disk_loss"
broker = 1
from_round = 3050
"""

FIELDS = [name for name, field in fields_of(Ledger).items() if field.kind != SCRATCH and field.type is np.int64]


Makers = tuple[Callable[[int], dict[str, Any]], ...]


def long_schedule(seed: int, makers: Makers = (schedule, repair_schedule)) -> Mapping[str, Any]:
    """A schedule with all times stretched, so that quiet rounds lie between the troubles."""
    rng = random.Random(f"leaps/{seed}")
    case = makers[seed % len(makers)](seed)
    stretch = rng.choice((7, 20, 45))
    faults = [_stretched(fault, stretch, rng) for fault in case["faults"]]
    commands = [{**command, "round": command["round"] * stretch} for command in case["commands"]]
    workload = [_stretched(row, stretch, rng) for row in case["workload"]]
    config = {**case["config"], "journalSyncData": rng.random() < 0.5, "flushInterval": rng.choice((1500, 5000, 60_000))}
    return {**case, "rounds": 84 * stretch, "faults": faults, "commands": commands, "workload": workload, "config": config}


def _stretched(row: Mapping[str, Any], stretch: int, rng: random.Random) -> dict[str, Any]:
    begin = row["from_round"] * stretch + rng.randint(0, stretch)
    more = {key: row[key] * stretch for key in ("from_offset", "to_offset") if key in row}
    if row.get("to_round") is None:
        return {**row, "from_round": begin, **more}
    return {**row, "from_round": begin, "to_round": begin + (row["to_round"] - row["from_round"]) * stretch, **more}


def assert_same(leapt: Played, plain: Played) -> None:
    """The same records, lists and outputs, but for how many rounds were played."""
    for name in Told._fields:
        left, right = getattr(leapt.told, name), getattr(plain.told, name)
        assert (left == right).all() if name == "witness_ensembles" else (words_of(left) == words_of(right)).all(), name
    for name in LIST_RECORDS:
        left, right = getattr(leapt.state, name), getattr(plain.state, name)
        assert (left.offsets == right.offsets).all(), name
        assert (left.words == right.words).all(), name
    left, right = leapt.state.ledgers, plain.state.ledgers
    for name in FIELDS:
        assert (getattr(left, name) == getattr(right, name)).all(), name


@pytest.mark.parametrize("seeds", [range(60), range(60, 120)])
def test_leaps_give_what_plain_rounds_give(tmp_path: Path, seeds: range) -> None:
    run = run_of_cases({f"s{seed}": long_schedule(seed) for seed in seeds}, tmp_path)
    leapt, plain = played(run.scenarios, leaps=True), played(run.scenarios)
    assert_same(leapt, plain)
    rounds = sum(int(ledger.end) for ledger in plain.state.ledgers)
    assert sum(int(ledger.played) for ledger in leapt.state.ledgers) < 0.7 * rounds


def test_leaps_where_rounds_divide_no_period(tmp_path: Path) -> None:
    """Some write an entry a round, and are told of it in every round but some (note_explicit_lac)."""
    cases = {f"s{seed}": uneven(seed, long_schedule(seed)) for seed in range(60)}
    for seed, (name, case) in enumerate(cases.items()):
        steady = [{**row, "records_per_round": 1} for row in case["workload"]]
        own = {"explicitLacInterval": case["round_ms"] * (9, 11, 14, 23)[seed % 4] // 10}
        cases[name] = {**case, "workload": steady, "config": {**case["config"], **own}} if seed % 3 else case
    run = run_of_cases(cases, tmp_path)
    assert_same(played(run.scenarios, leaps=True), played(run.scenarios))


def test_leaps_with_slow_bookies_and_drawn_ones(tmp_path: Path) -> None:
    cases = {f"s{seed}": long_schedule(seed, (slow_schedule, placed_schedule, paced_schedule)) for seed in range(60)}
    run = run_of_cases(cases, tmp_path)
    assert_same(played(run.scenarios, leaps=True), played(run.scenarios))


def test_leaps_with_readers_and_losses(tmp_path: Path) -> None:
    cases = {f"s{seed}": long_schedule(seed, (reading_schedule, loss_schedule, further_schedule)) for seed in range(60)}
    run = run_of_cases(cases, tmp_path)
    leapt, plain = (played(run.scenarios, leaps=leaps, bucket_rounds=17) for leaps in (True, False))
    assert_same(leapt, plain)


def test_leaps_over_copies(tmp_path: Path) -> None:
    """Ledgers with many entries, so that replication workers copy for long: traffic in buckets is the same, too."""
    cases = {}
    for seed in range(50):
        case, rng = long_schedule(seed, (repair_schedule,)), random.Random(f"copies/{seed}")
        workload = [{**row, "records_per_round": rng.choice((3, 20, 90)), "max_in_flight": 200} for row in case["workload"]]
        config = {
            "autoRecoveryDaemonEnabled": True,
            "rereplicationEntryBatchSize": rng.choice((1, 3, 10)),
            "flushInterval": rng.choice((1500, 5000, 60_000, 600_000)),
        }
        cases[f"s{seed}"] = {**case, "workload": workload, "config": {**case["config"], **config}}
    run = run_of_cases(cases, tmp_path)
    leapt, plain = (played(run.scenarios, leaps=leaps, bucket_rounds=17) for leaps in (True, False))
    assert_same(leapt, plain)
    copied = sum(int(ledger.entries_copied) for ledger in plain.state.ledgers)
    rounds = [sum(int(ledger.played) for ledger in game.state.ledgers) for game in (leapt, plain)]
    assert copied > 20_000
    assert rounds[0] < 0.4 * rounds[1]


def test_a_long_copy_takes_a_handful_of_rounds(tmp_path: Path) -> None:
    """Bookie 1 is lost with 3 of 5 of 15,000 entries, closed at 14,999: from round 3,050 on ten ids a round are copied.

    Ten begin and end with ids of its share, 0, 3 and 4 mod 5, so that the two of five between are copied, too.
    """
    (tmp_path / "copy.toml").write_text(COPY)
    run = load_run(str(tmp_path / "copy.toml"))
    leapt, plain = played(run.scenarios, leaps=True, bucket_rounds=100), played(run.scenarios, bucket_rounds=100)
    assert_same(leapt, plain)
    ledger = leapt.state.ledgers[0]
    assert int(ledger.entries_copied) == 15_000
    told = [(int(row.at_round), int(row.to_entry)) for row in leapt.told.events if EVENT_KINDS[row.kind] == "copied"]
    assert told == [(3050 + 15_000 // 10 - 1, 15_000)]
    assert int(ledger.played) < 60


def test_who_joins_takes_the_place_of_a_lost_one_at_once(tmp_path: Path) -> None:
    """Bookie 1 is lost in round 20 with entries 0 to 9, and nobody may take its place; one entry a round is copied to bookie 4.

    It joins in some round, also in that in which a leap may begin: as many after the last input as there is to be seen of E.
    """
    auto = {"autoRecoveryDaemonEnabled": True, "rereplicationEntryBatchSize": 1}
    joins = range(22, 40)
    cases = {
        f"j{joined}": given.case(
            (3, 3, 2),
            bookies=4,
            config=auto,
            workload=[given.adds(0, 10)],
            commands=[given.command("close_ledger", 12), given.command("add_bookie", joined, broker=4)],
            faults=[given.crash(1, 20)],
        )
        for joined in joins
    }
    leapt = played(run_of_cases(cases, tmp_path).scenarios, leaps=True)
    told = [int(row.at_round) for row in leapt.told.events if EVENT_KINDS[row.kind] == "copied"]
    assert told == [joined + 10 - 1 for joined in joins]


def test_copies_to_bookies_that_have_a_part_already(tmp_path: Path) -> None:
    """Six bookies for ensembles of five, away one after the other for less than a copy takes: the only target has other shares.

    What it lacks of one is a run, not one for each entry; as many are copied as in plain rounds.
    """
    outages = "".join(
        f'[[faults]]\nkind = "broker_crash"\nbroker = {1 + number * 7 % 6}\nfrom_round = {begin}\nto_round = {begin + 250}\n'
        for number, begin in enumerate(range(900, 6000, 300))
    )
    text = COPY.replace("assignment = [[1, 2, 3, 4, 5]]", 'partitions = 6\nplacement = "DefaultEnsemblePlacementPolicy"')
    head, _, _ = text.replace("rounds = 5000", "rounds = 6000").partition("[[commands]]")
    (tmp_path / "few.toml").write_text(head.replace("to_round = 3000\n", "") + outages)
    run = load_run(str(tmp_path / "few.toml"))
    leapt, plain = played(run.scenarios, leaps=True, bucket_rounds=100), played(run.scenarios, bucket_rounds=100)
    assert_same(leapt, plain)
    ledgers, parts = leapt.state.ledgers, 0
    for place, ledger in enumerate(ledgers):
        runs = list_of(leapt, "stored", place)
        parts += sum(int(run.residues).bit_count() < 3 for run in runs)
        assert len(runs) < 150
        assert int(ledger.entries_copied) > 5000
    assert parts > 10
    assert sum(int(ledger.played) for ledger in ledgers) < 0.4 * 6 * 6000


def test_leaps_of_a_long_run(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    run = load_run(str(tmp_path / "long.toml"))
    leapt, plain = played(run.scenarios, leaps=True), played(run.scenarios)
    assert_same(leapt, plain)
    assert [of_rounds(leapt, place) for place in range(16)] == [of_rounds(plain, place) for place in range(16)]


def test_a_day_of_a_steady_ledger(tmp_path: Path) -> None:
    (tmp_path / "steady.toml").write_text(
        'protocol = "bookkeeper"\nrounds = 172800\n[cluster]\nbrokers = 5\n[[topics]]\nname = "ledger"\npartitions = 3\n'
        '[[workload]]\ntopic = "ledger"\nrecords_per_round = 2\nmax_in_flight = 2\n'
    )
    game = played(load_run(str(tmp_path / "steady.toml")).scenarios, leaps=True)
    assert [int(ledger.lac) for ledger in game.state.ledgers] == [2 * 172800 - 1] * 3
    assert max(int(ledger.played) for ledger in game.state.ledgers) <= 12
    assert {int(bookie.has_to) for place in range(3) for bookie in list_of(game, "bookies", place)} == {2 * 172800}
