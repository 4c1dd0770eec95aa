"""Readers of ledgers, who ask one bookie after the other, and wait for slow and silent ones. No Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.outcomes.compiled_ledgers import ledger_block_tables, ledger_names
from tests.bookkeeper.by_reference import run_of_cases
from tests.reference.bookkeeper.simulate import simulate
from tests.rounds.bookkeeper.compared import Played, list_of, of_rounds, played
from tests.rounds.bookkeeper.traffic_compared import by_bucket

ROUNDS, BEGIN = 60, 30
SLOW, AWAY = "slow_bookie", "broker_pause"
NOT_THERE, NO_ENTRY = "BookieHandleNotAvailableException", "NoSuchEntryException"


def case(*faults: tuple[str, int, int, int], lag: int = 3, **config: int) -> dict[str, Any]:
    """Twelve entries of 100 bytes, each on all three bookies of a closed ledger, are read in round 30; 500 ms a round.

    Entry e is asked of bookie e mod 3 + 1 first. `faults`: (kind, bookie, from_round, to_round).
    """
    rows = [{"kind": kind, "broker": bookie, "from_round": begin, "to_round": end} for kind, bookie, begin, end in faults]
    return {
        "rounds": ROUNDS,
        "round_ms": 500,
        "brokers": [1, 2, 3],
        "replicas": [1, 2, 3],
        "config": config,
        "topic_config": {"ensembleSize": 3, "writeQuorumSize": 3, "ackQuorumSize": 2},
        "workload": [{"from_round": 0, "to_round": 6, "records_per_round": 2, "record_bytes": 100, "max_in_flight": 8}],
        "faults": [{**row, "lag_rounds": lag} if row["kind"] == SLOW else row for row in rows],
        "commands": [{"kind": "close_ledger", "round": 15}, {"kind": "read_ledger", "round": BEGIN}],
    }


def read(folder: Path, given: dict[str, Any]) -> tuple[Any, list[int]]:
    """(the reader's row by the rounds, which is the reference's; bytes that each bookie sent)."""
    game = played(run_of_cases({"case": given}, folder).scenarios, bucket_rounds=ROUNDS)
    (reader,) = of_rounds(game, 0)["readers"]
    (expected,) = simulate(given).ledger.readers
    assert reader == expected.row
    return reader, [int(by_bucket(game)[0, bookie, 0].bytes_out) for bookie in (1, 2, 3)]


def test_a_slow_bookie_is_waited_for(tmp_path: Path) -> None:
    """1.5 s, which is less than firstSpeculativeReadTimeout: its four entries come three rounds later."""
    reader, sent = read(tmp_path, case((SLOW, 1, 20, 60)))
    assert reader == (30, 33, 12, 12, 0, 1200, 0, 0, None, None)
    assert sent == [400, 400, 400]


def test_one_that_is_too_slow_is_not_the_only_one_asked(tmp_path: Path) -> None:
    """After 2 s the next one gives the four entries; the slow one has sent them all the same."""
    reader, sent = read(tmp_path, case((SLOW, 1, 20, 60), lag=6))
    assert reader == (30, 34, 12, 12, 0, 1200, 0, 4, None, None)
    assert sent == [400, 800, 400]


def test_speculation_is_off_or_comes_earlier(tmp_path: Path) -> None:
    off = case((SLOW, 1, 20, 60), lag=6, firstSpeculativeReadTimeout=0)
    assert read(tmp_path / "off", off)[0] == (30, 36, 12, 12, 0, 1200, 0, 0, None, None)
    early = case((SLOW, 1, 20, 60), lag=6, firstSpeculativeReadTimeout=500)
    assert read(tmp_path / "early", early)[0] == (30, 31, 12, 12, 0, 1200, 0, 4, None, None)


@pytest.mark.parametrize(("most", "done"), [(5000, 42), (2000, 38)])
def test_the_next_pause_is_twice_as_long_but_for_the_most(tmp_path: Path, most: int, done: int) -> None:
    """Bookies 1 and 2 take ten seconds: entries of bookie 1 are asked of 2 after 2 s, and of 3 after another 4 s, or 2 s."""
    given = case((SLOW, 1, 20, 60), (SLOW, 2, 20, 60), lag=20, maxSpeculativeReadTimeout=most)
    reader, sent = read(tmp_path, given)
    assert reader == (30, done, 12, 12, 0, 1200, 0, 4 + 8, None, None)
    assert sent == [400, 800, 1200]


def test_a_silent_bookie_looks_when_it_is_heard_again(tmp_path: Path) -> None:
    reader, sent = read(tmp_path, case((AWAY, 1, 25, 32)))
    assert reader == (30, 32, 12, 12, 0, 1200, 0, 0, None, None)
    assert sent == [400, 400, 400]


def test_nobody_answers(tmp_path: Path) -> None:
    """Asked in rounds 30, 34 (2 s) and 42 (4 s); the last question is given up after readEntryTimeoutSec, ten rounds."""
    reader, sent = read(tmp_path, case(*((AWAY, bookie, 25, 60) for bookie in (1, 2, 3))))
    assert reader == (30, 52, 12, 0, 12, 0, 0, 24, 0, "TimeoutException")
    assert sent == [0, 0, 0]


def test_a_question_that_waits_too_long_goes_to_the_next(tmp_path: Path) -> None:
    given = case((AWAY, 1, 25, 60), firstSpeculativeReadTimeout=0, readEntryTimeoutSec=3)
    assert read(tmp_path, given)[0] == (30, 36, 12, 12, 0, 1200, 0, 0, None, None)


def test_who_lost_its_disk_says_no(tmp_path: Path) -> None:
    """The next one is asked in the same round; where none has an entry, that is the error, but for one that isn't there."""
    lost = [("disk_loss", bookie, 20, 22) for bookie in (1, 2, 3)]
    one_left, sent = read(tmp_path / "one", case(*lost[:2]))
    assert (one_left, sent) == ((30, 30, 12, 12, 0, 1200, 0, 0, None, None), [0, 0, 1200])
    assert read(tmp_path / "none", case(*lost))[0] == (30, 30, 12, 0, 12, 0, 0, 0, 0, NO_ENTRY)
    assert read(tmp_path / "gone", case(("broker_crash", 1, 20, 60), *lost[1:]))[0][-2:] == (0, NOT_THERE)


def test_an_answer_is_lost_when_its_bookie_dies(tmp_path: Path) -> None:
    reader, sent = read(tmp_path, case((SLOW, 1, 20, 60), ("broker_crash", 1, 32, 40)))
    assert reader == (30, 32, 12, 12, 0, 1200, 0, 0, None, None)
    assert sent == [400, 800, 400]


def test_what_was_lost_in_part_is_asked_for_by_parts(tmp_path: Path) -> None:
    """Bookie 1 is slow; meanwhile bookie 2 loses what it hadn't flushed, some entries: of bookie 1's these come late."""
    given = case((SLOW, 1, 20, 60), ("broker_crash", 2, 31, 33), lag=7, journalWriteData=False, flushInterval=6500)
    given["workload"][0] |= {"from_round": 24, "to_round": 30}
    del given["commands"][0]
    reader, sent = read(tmp_path, given)
    assert reader == (30, 37, 12, 12, 0, 1200, 0, 4, None, None)
    lost = {entry for entry in range(12) if 2 not in simulate(given).rounds[-1]["entries"][entry]}
    assert lost and lost != set(range(12))
    of_first = [entry for entry in range(12) if entry % 3 == 0]
    assert sent[0] == sent[2] == 400
    assert sent[1] == 100 * (4 + len([entry for entry in of_first if entry not in lost]))


def table_of(game: Played, scenarios: Any) -> list[dict[str, Any]]:
    """The rows of ledger_readers."""
    names = ledger_names(scenarios, np.zeros(1, np.int64), np.zeros(1, np.int64))
    rows: list[dict[str, Any]] = ledger_block_tables(names, game.block.inputs, game.state, game.told)[
        "ledger_readers"
    ].to_pylist()
    return rows


def test_the_table_ledger_readers(tmp_path: Path) -> None:
    given = case((SLOW, 1, 20, 60), *((AWAY, bookie, 40, 60) for bookie in (1, 2, 3)), lag=6)
    given["commands"].append({"kind": "read_ledger", "round": 55})
    scenarios = run_of_cases({"case": given}, tmp_path).scenarios
    game = played(scenarios)
    first, second = table_of(game, scenarios)
    assert first == {
        **{"scenario_id": 0, "topic": "ledger", "partition": 0, "ledger": 0, "number": 0, "started_round": 30, "done_round": 34},
        **{"entries": 12, "entries_read": 12, "entries_missing": 0, "bytes_read": 1200, "remote_bytes": 0, "speculative": 4},
        **{"first_missing": None, "error": None},
    }
    assert (second["number"], second["started_round"], second["done_round"], second["entries_read"]) == (1, 55, None, 0)
    assert len(list_of(game, "reads", 0)) == 3
