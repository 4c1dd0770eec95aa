"""What goes in and out of bookies by time bucket (`broker_rounds`), against the reference's entries round by round. No Spark."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.outcomes.compiled.traffic import BrokersOf, broker_round_rows
from emulator.outcomes.compiled_ledgers import ledger_names
from emulator.outcomes.compiled_ledgers.traffic import SUMS, traffic_sums
from emulator.rounds.bookkeeper.constants import DEAD
from emulator.rounds.records import words_of
from tests.bookkeeper.by_reference import run_of_cases
from tests.bookkeeper.topics_by_reference import as_engine_takes_it
from tests.reference.bookkeeper.given_list_schedules import given_list_schedule
from tests.reference.bookkeeper.schedules import lossy_schedule, paced_schedule, repair_schedule, topic_schedule
from tests.reference.bookkeeper.simulate import simulate, snapshot
from tests.reference.bookkeeper.topics import play_topic
from tests.rounds.bookkeeper.compared import played
from tests.rounds.bookkeeper.topics_compared import played_topics
from tests.rounds.bookkeeper.traffic_compared import BUCKET, asked_for, by_bucket, in_one_size, traffic_differences

SCHEDULES = {"lossy": lambda seed: lossy_schedule(seed, integrity_check=True), "repair": repair_schedule, "paced": paced_schedule}


@pytest.mark.parametrize("kind", SCHEDULES)
def test_traffic_is_that_of_the_reference(tmp_path: Path, kind: str) -> None:
    cases = {f"s{seed}": in_one_size(SCHEDULES[kind](seed)) for seed in range(40)}
    game = played(run_of_cases(cases, tmp_path).scenarios, bucket_rounds=BUCKET)
    rows = by_bucket(game)
    copies = reads = 0
    for place, case in enumerate(cases.values()):
        result = simulate(case)
        assert not traffic_differences(rows, place, case, result)
        copies, reads = copies + result.ledger.repair.copied_entries, reads + asked_for(result)
    assert reads > 0 and (copies > 0 or kind == "paced")


def test_leaps_tell_the_same(tmp_path: Path) -> None:
    cases = {f"s{seed}": {**repair_schedule(seed), "rounds": 400} for seed in range(30)}
    for case in cases.values():
        case["workload"] = [{**row, "to_round": 350} for row in case["workload"]]
    scenarios = run_of_cases(cases, tmp_path).scenarios
    plain, leapt = (played(scenarios, leaps, bucket_rounds=25) for leaps in (False, True))
    assert (words_of(plain.told.traffic) == words_of(leapt.told.traffic)).all()
    assert leapt.state.ledgers.played.sum() < 0.8 * plain.state.ledgers.played.sum()


def test_rows_of_broker_rounds(tmp_path: Path) -> None:
    """Two ledgers of four entries of 100 bytes a round; bookie 3 is away for ten rounds, and replaced by 4."""
    case = {
        "rounds": 60,
        "round_ms": 500,
        "brokers": [1, 2, 3, 4],
        "replicas": [1, 2, 3],
        "topic_config": {"ensembleSize": 3, "writeQuorumSize": 3, "ackQuorumSize": 2},
        "workload": [{"from_round": 0, "to_round": 50, "records_per_round": 4, "record_bytes": 100, "max_in_flight": 8}],
        "faults": [{"kind": "broker_crash", "broker": 3, "from_round": 20, "to_round": 30}],
    }
    scenarios = run_of_cases({"case": case}, tmp_path).scenarios
    game = played(scenarios, bucket_rounds=25)
    names = ledger_names(scenarios, np.zeros(1, np.int64), np.zeros(1, np.int64))
    sums = traffic_sums(names, game.told.traffic)
    inputs: Any = game.block.inputs
    given = BrokersOf(0, 60, np.array([1, 2, 3, 4]), inputs.bookie_spans, {})
    rows = broker_round_rows([given], 25, sums, down=DEAD, names=SUMS).to_pylist()
    seen = {
        (row["broker"], row["from_round"]): tuple(
            row[name] for name in ("bytes_produced", "bytes_out", "local_bytes", "entries", "follower_count", "up", "up_rounds")
        )
        for row in rows
    }
    assert seen[1, 0] == (10_000, 0, 10_000, 100, 1, True, 25)
    assert seen[1, 25] == (10_000, 0, 20_000, 200, 1, True, 25)
    assert seen[3, 0] == (8_000, 0, 8_000, 80, 0, False, 20)
    assert seen[3, 25] == (0, 0, 8_000, 80, 0, True, 20)
    assert seen[4, 50] == (0, 0, seen[4, 25][2], seen[4, 25][3], 1, True, 10)
    idle = ("leader_count", "cross_rack_bytes_out", "disk_saturated_rounds", "network_in_saturated_rounds", "throttled_rounds")
    assert [row["to_round"] for row in rows[::4]] == [25, 50, 60]
    assert not any(row[name] for row in rows for name in idle)


def test_topics_have_what_the_reference_has(tmp_path: Path) -> None:
    """At the end, in ledgers that are on bookies; and rounds leapt over tell the same."""
    schedules = {
        **{f"s{seed}": topic_schedule(seed) for seed in range(30)},
        **{f"g{n}": given_list_schedule(n) for n in range(30)},
    }
    expected, cases = {}, {}
    for place, (name, case) in enumerate(schedules.items()):
        topic = play_topic(case)
        cases[name] = as_engine_takes_it(case, topic)
        kept = [part for part in topic.parts if part.deleted_round is None and part.freed_round is None]
        counts = Counter(b for part in kept for holders in snapshot(part.ledger)["entries"].values() for b in holders)
        expected |= {(place, broker): count for broker, count in counts.items()}
    scenarios = run_of_cases(cases, tmp_path).scenarios
    plain, leapt = (played_topics(scenarios, leaps, bucket_rounds=BUCKET).told.traffic for leaps in (False, True))
    assert (words_of(plain) == words_of(leapt)).all()
    found: Counter[tuple[int, int]] = Counter()
    ids = [sorted(case["brokers"]) for case in cases.values()]
    for row in plain:
        if row.bucket == (scenarios[row.ledger].rounds - 1) // BUCKET:
            found[int(row.ledger), ids[row.ledger][row.place]] += int(row.entries)
    assert {key: count for key, count in found.items() if count} == expected


def test_what_a_list_starts_with_did_not_go_in(tmp_path: Path) -> None:
    """Five entries of 100 bytes are there on three bookies; ten more come in rounds 0-9."""
    case = {
        "rounds": 50,
        "round_ms": 500,
        "brokers": [1, 2, 3],
        "topic_config": {"ensembleSize": 3, "writeQuorumSize": 3, "ackQuorumSize": 2, "managedLedger": True},
        "given_list": [{"state": "OPEN", "last_entry": 4, "fragments": {0: [1, 2, 3]}, "bytes": 500}],
        "workload": [{"from_round": 0, "to_round": 10, "records_per_round": 1, "record_bytes": 100, "max_in_flight": 8}],
    }
    rows = played_topics(run_of_cases({"case": case}, tmp_path).scenarios, bucket_rounds=25).told.traffic
    assert sorted((int(r.bucket), int(r.bytes_produced), int(r.local_bytes), int(r.entries)) for r in rows) == [
        *[(0, 1000, 1500, 15)] * 3,
        *[(1, 0, 1500, 15)] * 3,
    ]


@pytest.mark.parametrize(("away", "read"), [((), [400, 400, 400]), ((1,), [0, 800, 400]), ((1, 2), [400, 400, 800])])
def test_a_reader_gets_each_entry_from_the_first_that_has_it(tmp_path: Path, away: tuple[int, ...], read: list[int]) -> None:
    """Twelve entries of 100 bytes, on all three bookies, are read twice after the writer has closed the ledger.

    Both silent ones are heard again in round 40, and send what they were asked for; bookie 3 would be asked for it in round 42.
    """
    case = {
        "rounds": 50,
        "round_ms": 500,
        "brokers": [1, 2, 3],
        "replicas": [1, 2, 3],
        "topic_config": {"ensembleSize": 3, "writeQuorumSize": 3, "ackQuorumSize": 2},
        "workload": [{"from_round": 0, "to_round": 6, "records_per_round": 2, "record_bytes": 100, "max_in_flight": 8}],
        "faults": [{"kind": "broker_pause", "broker": one, "from_round": 20, "to_round": 40} for one in away],
        "commands": [{"kind": "close_ledger", "round": 15}, *[{"kind": "read_ledger", "round": 30}] * 2],
    }
    game = played(run_of_cases({"case": case}, tmp_path).scenarios, bucket_rounds=25)
    ledger: Any = game.state.ledgers[0]
    assert ledger.reader_bytes == 2400
    assert simulate(case).ledger.reader_bytes == 2400
    rows = by_bucket(game)
    assert [int(rows[0, broker, 1].bytes_out) for broker in (1, 2, 3)] == [2 * one for one in read]
    assert not any(row.bytes_out for (_, _, bucket), row in rows.items() if bucket == 0)
