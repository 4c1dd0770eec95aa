"""Every round of traced ledgers against the plain-Python reference, and of traced topics against shorter runs. No Spark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.engine.trace_ledgers import ledger_rounds, topic_rounds
from emulator.outcomes.compiled_ledgers import ledger_names, topic_block_tables
from emulator.rounds.bookkeeper.constants import NO_ENTRY
from emulator.rounds.bookkeeper.records import Bookie
from emulator.rounds.packed import entries_of
from emulator.scenario import Scenario
from tests.bookkeeper.by_reference import first_few, run_of_cases
from tests.bookkeeper.topics_by_reference import as_engine_takes_it
from tests.reference.bookkeeper.given_list_schedules import given_list_schedule
from tests.reference.bookkeeper.schedules import topic_schedule
from tests.reference.bookkeeper.simulate import simulate
from tests.reference.bookkeeper.topics import play_topic
from tests.rounds.bookkeeper.compared import played
from tests.rounds.bookkeeper.test_against_reference import SCHEDULES
from tests.rounds.bookkeeper.topics_compared import played_topics

Row = dict[str, Any]
SEEDS = range(30)

OF_LEDGERS = (
    *("state", "last_entry", "writer", "writer_lac", "last_add_pushed", "queued", "ensemble", "replacing", "in_flight"),
    *("underreplicated", "readers"),
)
"""Columns of ledger_rounds that the reference has by the same name."""

OF_BOOKIES = ("status", "registered", "in_ensemble", "fenced", "limbo", "last_entry", "lac", "entries")
"""Likewise of bookie_rounds."""


def by_ledger_and_round(rows: list[Row]) -> dict[tuple[int, int], list[Row]]:
    """Rows by scenario and round."""
    found: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        found.setdefault((row["scenario_id"], row["round"]), []).append(row)
    return found


def rows_of(scenarios: tuple[Scenario, ...]) -> tuple[dict[tuple[int, int], list[Row]], ...]:
    """Rows of ledger_rounds and bookie_rounds of scenarios with one ledger each."""
    block = played(scenarios).block
    names = ledger_names(scenarios, np.asarray(block.state.ledgers.scenario), np.asarray(block.state.ledgers.number))
    tables = ledger_rounds(names, block)
    return tuple(by_ledger_and_round(tables[name].to_pylist()) for name in ("ledger_rounds", "bookie_rounds"))


def wrong(expected: Mapping[str, Any], ledger: Row, bookies: list[Row], quorums: tuple[int, int]) -> Row:
    """What a round's rows have otherwise than the reference: name -> (of the reference, of the rows)."""
    pairs = {name: (expected[name], ledger[name]) for name in OF_LEDGERS}
    fragments = {one["first_entry"]: one["ensemble"] for one in ledger["fragments"]}
    pairs["fragments"] = expected["fragments"], fragments
    recoveries = [tuple(one[name] for name in ("number", "phase", "lac", "awaited_from")) for one in ledger["recoveries"]]
    pairs["recoveries"] = expected["recoveries"], recoveries
    for row in bookies:
        own = expected["of_bookies"][row["broker"]]
        pairs |= {f"{name} of {row['broker']}": (own[name], row[name]) for name in OF_BOOKIES}
        has = [entry for entry, holders in expected["entries"].items() if row["broker"] in holders]
        pairs[f"held by {row['broker']}"] = has, held(row, *quorums)
    known = {broker for broker, row in expected["of_bookies"].items() if row["entries"] or row["fenced"] or row["in_ensemble"]}
    pairs["bookies that are not told of"] = set(), known - {row["broker"] for row in bookies}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def held(row: Row, size: int, quorum: int) -> list[int]:
    """The entries that a row of bookie_rounds says a bookie has."""
    runs = [(one["ensemble_index"], one["from_entry"], one["to_entry"]) for one in row["held"]]
    return sorted(entry for index, begin, end in runs for entry in range(begin, end) if (index - entry) % size < quorum)


@pytest.mark.parametrize("kind", SCHEDULES)
def test_rounds_of_ledgers_are_those_of_the_reference(tmp_path: Path, kind: str) -> None:
    cases = {f"s{seed}": SCHEDULES[kind](seed) for seed in SEEDS}
    ledgers, bookies = rows_of(run_of_cases(cases, tmp_path).scenarios)
    differing: Row = {}
    compared = 0
    for place, (name, case) in enumerate(cases.items()):
        result = simulate(case)
        quorums = result.ledger.quorums.ensemble, result.ledger.quorums.write
        for expected in result.rounds:
            (own,) = ledgers[place, expected["round"]]
            assert (own["topic"], own["partition"], own["ledger"]) == ("ledger", 0, 0)
            found = wrong(expected, own, bookies[place, expected["round"]], quorums)
            compared += 1
            if found:
                differing[f"{name} round {expected['round']}"] = found
                break
    assert len(ledgers) == compared == sum(case["rounds"] for case in cases.values()) or differing
    assert not differing, f"{len(differing)} of {len(cases)} differ: {first_few(differing.items())}"


def test_bookies_of_a_given_ledger_without_an_entry_of_their_share(tmp_path: Path) -> None:
    """Of E 4 and Qw 2, entries 0, 1 and 2 are on bookies 1 and 2, 2 and 3, 3 and 4; entry 3, a fragment of its own, on 8 and 5.

    So bookies 6 and 7 have nothing, and know of no LAC.
    """
    fragments = {0: [1, 2, 3, 4], 3: [5, 6, 7, 8]}
    stored = {1: [0], 2: [0, 1], 3: [1, 2], 4: [2], 5: [3], 8: [3]}
    entries = {broker: {entry: entry - 1 for entry in own} for broker, own in stored.items()}
    case = {
        "rounds": 5,
        "round_ms": 500,
        "brokers": list(range(1, 9)),
        "replicas": [5, 6, 7, 8],
        "initial": {"state": "IN_RECOVERY", "fragments": fragments, "entries": entries, "lac": 3, "bytes": 4000},
        "topic_config": {"ensembleSize": 4, "writeQuorumSize": 2, "ackQuorumSize": 2},
        "workload": [{"from_round": 0, "to_round": 1, "records_per_round": 0, "max_in_flight": 1}],
        "faults": [{"kind": "broker_crash", "broker": one, "from_round": 0, "to_round": 5} for one in (5, 8)],
        "commands": [],
    }
    scenarios = run_of_cases({"given": case}, tmp_path).scenarios
    told = {row["broker"]: (row["last_entry"], row["lac"], row["entries"]) for row in rows_of(scenarios)[1][0, 0]}
    expected = {broker: (own[-1], own[-1] - 1, len(own)) for broker, own in stored.items()} | {6: (None, -1, 0), 7: (None, -1, 0)}
    assert told == expected
    ended = played(scenarios).state.bookies
    assert entries_of(Bookie, ended)["last_entry"].tolist() == [0, 1, 2, 2, 3, NO_ENTRY, NO_ENTRY, 3]


CUTS = (6, 17, 33, 60)


def test_rounds_of_topics_are_the_ends_of_shorter_runs(tmp_path: Path) -> None:
    """A run that ends there has the same topics and ledgers, and readers' bookies, as the round before has in the trace."""
    cases = {f"s{seed}": topic_schedule(seed) for seed in range(24)}
    cases |= {f"given{seed}": given_list_schedule(seed) for seed in range(12)}
    taken = {name: as_engine_takes_it(case, play_topic(case)) for name, case in cases.items()}
    scenarios = run_of_cases(taken, tmp_path).scenarios
    game = played_topics(scenarios)
    names = ledger_names(scenarios, np.asarray(game.state.topics.scenario), np.asarray(game.state.topics.number))
    traced = {name: table.to_pylist() for name, table in topic_rounds(names, game.block).items()}
    offloading = 0
    for cut in CUTS:
        short = run_of_cases({name: {**case, "rounds": cut} for name, case in taken.items()}, tmp_path / str(cut)).scenarios
        ended = played_topics(short)
        spare = [[0, 0, 0]] * len(short)
        rows = topic_block_tables(names, ended.block.inputs, ended.state, ended.told, spare, np.ones(len(short), bool))
        end = {name: rows[name].to_pylist() for name in ("topics", "ledgers", "fragments", "bookies", "entries")}
        last = {name: [row for row in traced[name] if row["round"] == cut - 1] for name in traced}
        listed = {
            row["scenario_id"]: [
                one["ledger"]
                for one in end["ledgers"]
                if one["scenario_id"] == row["scenario_id"] and one["deleted_round"] is None
            ]
            for row in end["topics"]
        }
        for of_end, of_trace in zip(end["topics"], last["topic_rounds"], strict=True):
            for name in ("messages", "acked", "unacked", "list_version"):
                assert of_end[name] == of_trace[name]
            assert of_end["take_overs"] == of_trace["owner"]
            assert set(of_trace["listed"]) <= set(listed[of_end["scenario_id"]])
            assert len(of_trace["listed"]) == of_end["ledgers_listed"]
            remote = {
                one["ledger"] for one in end["ledgers"] if one["scenario_id"] == of_end["scenario_id"] and one["remote_bytes"] > 0
            }
            assert remote <= set(of_trace["offloaded"])
            offloading += of_trace["offloading"] is not None
            assert of_trace["owner_phase"] in ("create", "recover", "wait", "write", "close", "stopped")
            assert of_trace["writes"] is None or of_trace["writes"] in listed[of_end["scenario_id"]]
        there = [one for one in end["ledgers"] if one["deleted_round"] is None and one["deleted_from_bookies_round"] is None]
        assert [same(row) for row in there] == [same(row) for row in last["ledger_rounds"]]
        assert fragments_of(end["fragments"]) == {
            key_of(row): [(one["first_entry"], one["ensemble"]) for one in row["fragments"]] for row in last["ledger_rounds"]
        }
        known = {(*key_of(row), row["broker"]): of_bookie(row) for row in end["bookies"]}
        told = {(*key_of(row), row["broker"]): of_bookie(row) for row in last["bookie_rounds"]}
        assert known == {key: told[key] for key in known}
        assert not any(row["entries"] or row["fenced"] for key, row in told.items() if key not in known)
    assert offloading > 0


def key_of(row: Row) -> tuple[int, int]:
    """Which ledger of which scenario."""
    return row["scenario_id"], row["ledger"]


def same(row: Row) -> Row:
    """What a row of `ledgers` and one of `ledger_rounds` both have."""
    pushed = row["next_entry"] - 1 if "next_entry" in row else row["last_add_pushed"]
    return {name: row[name] for name in ("scenario_id", "ledger", "state", "last_entry", "writer", "writer_lac")} | {
        "pushed": pushed,
        "underreplicated": row["underreplicated"],
    }


def of_bookie(row: Row) -> Row:
    """What a row of `bookies` and one of `bookie_rounds` both have."""
    return {name: row[name] for name in ("last_entry", "lac", "fenced", "entries", "limbo")}


def fragments_of(rows: list[Row]) -> dict[tuple[int, int], list[tuple[int, list[int]]]]:
    """The fragments of each ledger."""
    found: dict[tuple[int, int], list[tuple[int, list[int]]]] = {}
    for row in rows:
        found.setdefault(key_of(row), []).append((row["first_entry"], row["ensemble"]))
    return found
