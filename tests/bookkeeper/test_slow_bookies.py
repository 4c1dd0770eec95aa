"""Slow bookies: what they store at once and say late, so that the order of answers decides. No Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emulator.errors import InputError
from emulator.scenario import load_run
from tests.bookkeeper.by_reference import run_of_cases
from tests.reference.bookkeeper.simulate import simulate
from tests.rounds.bookkeeper.compared import of_rounds, played


def case(*slow: tuple[int, int, int, int], **more: Any) -> dict[str, Any]:
    """A ledger on three bookies of five; `slow`: (bookie, lag, from_round, to_round). One entry a round for six rounds."""
    faults = [
        {"kind": "slow_bookie", "broker": bookie, "lag_rounds": lag, "from_round": begin, "to_round": end}
        for bookie, lag, begin, end in slow
    ]
    return {
        "rounds": 30,
        "round_ms": 500,
        "brokers": [1, 2, 3, 4, 5],
        "replicas": [1, 2, 3],
        "config": {"addEntryTimeoutSec": 2, "readEntryTimeoutSec": 2},
        "topic_config": {"ensembleSize": 3, "writeQuorumSize": 3, "ackQuorumSize": 2},
        "workload": [{"from_round": 0, "to_round": 6, "records_per_round": 1, "max_in_flight": 1}],
        "commands": [],
        **more,
        "faults": faults + more.get("faults", []),
    }


def ends(folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """What the rounds end with."""
    return of_rounds(played(run_of_cases({"case": given}, folder).scenarios), 0)


def lacs(given: dict[str, Any]) -> list[int]:
    """The writer's LAC at the end of each round, by the reference."""
    return [row["writer_lac"] for row in simulate(given).rounds]


def test_one_slow_bookie_of_three_delays_no_ack(tmp_path: Path) -> None:
    given = case((3, 3, 0, 30))
    assert lacs(given)[:7] == [0, 1, 2, 3, 4, 5, 5]
    ended = ends(tmp_path, given)
    assert (ended["writer_lac"], ended["fragments"]) == (5, [(0, [1, 2, 3])])
    assert all(set(bookies) == {1, 2, 3} for bookies in ended["entries"].values())


def test_two_slow_ones_delay_every_ack_by_the_faster(tmp_path: Path) -> None:
    given = case((2, 2, 0, 30), (3, 3, 0, 30))
    assert lacs(given)[:7] == [-1, -1, 0, 0, 0, 1, 1]
    assert ends(tmp_path, given)["writer_lac"] == 5


def test_an_entry_is_stored_whose_ack_is_too_late(tmp_path: Path) -> None:
    """The writer replaces who answers after addEntryTimeoutSec, in spite of what it has; the slow_bookie is behind it."""
    ended = ends(tmp_path, case((3, 9, 0, 1), (2, 9, 0, 1)))
    assert ended["fragments"] == [(0, [1, 4, 2])]  # one failure after the other: 2 is no worse than another when 3 is replaced
    assert {2, 3} <= set(ended["entries"][0])
    assert {event[5] for event in ended["events"] if event[1] == "ensemble_change"} == {0, 1}


def recovered_after(bookie_two: int, **more: Any) -> dict[str, Any]:
    """Entry 0 is everywhere, entry 1 on bookie 3 alone, which is slow to say so; the order is 2, 3, 1."""
    lost = [{"kind": "drop_adds", "broker": b, "from_round": 1, "to_round": 30, "from_offset": 1} for b in (1, 2)]
    commands = [{"kind": "recover_ledger", "round": 4}]
    return case((3, 2, 3, 30), (2, bookie_two, 3, 30), faults=lost, commands=commands, **more)


@pytest.mark.parametrize(("lag", "last_entry"), [(1, 1), (3, 0)])
def test_the_order_of_answers_decides_where_a_ledger_ends(tmp_path: Path, lag: int, last_entry: int) -> None:
    """Bookie 2 is asked first, and says no after its lag; then 3, which has the entry, and says so after two rounds.

    Bookie 1 is asked too, and says no at once, when 2 s are over: two that haven't got the entry close the ledger below it.
    """
    ended = ends(tmp_path, recovered_after(lag))
    assert (ended["state"], ended["last_entry"]) == ("CLOSED", last_entry)


def test_a_recovery_waits_no_longer_than_the_time_out(tmp_path: Path) -> None:
    given = recovered_after(9) | {"commands": [{"kind": "recover_ledger", "round": 4, "retry": False}]}
    slow = [{**one, "lag_rounds": 9} if one.get("lag_rounds") else one for one in given["faults"]]
    ended = ends(tmp_path, {**given, "faults": slow})
    assert ended["attempts"] == ["TimeoutException"] and ended["state"] == "IN_RECOVERY"


def test_a_reader_waits_for_slow_bookies(tmp_path: Path) -> None:
    reads = {"commands": [{"kind": "open_no_recovery", "round": 8}]}
    assert ends(tmp_path, case((2, 3, 7, 30), **reads))["openings"] == [(4, "OK")]
    assert ends(tmp_path, case((1, 3, 7, 30), (2, 3, 7, 30), **reads))["openings"] == [(4, "OK")]
    too_slow = case((1, 9, 7, 30), (2, 9, 7, 30), **reads)
    assert ends(tmp_path, too_slow)["openings"] == [(None, "TimeoutException")]


def test_answers_of_a_bookie_that_dies_are_lost(tmp_path: Path) -> None:
    dies = [{"kind": "broker_crash", "broker": b, "from_round": 1, "to_round": 2} for b in (2, 3)]
    ended = ends(tmp_path, case((2, 3, 0, 1), (3, 3, 0, 1), faults=dies))
    assert ended["fragments"][0][1] != [1, 2, 3]
    assert ended["writer_lac"] == 5


def test_what_a_slow_bookie_needs(tmp_path: Path) -> None:
    head = 'rounds = 10\ncluster = { brokers = 3 }\ntopics = [{ name = "t", partitions = 1, replication_factor = 3 }]\n'
    ledgers = head.replace(", replication_factor = 3", "").replace("rounds", 'protocol = "bookkeeper"\nrounds', 1)
    for text, said in (
        (head + '[[faults]]\nkind = "slow_bookie"\nbroker = 1\nlag_rounds = 2\nfrom_round = 1\n', "slow_bookie is about ledgers"),
        (ledgers + '[[faults]]\nkind = "slow_bookie"\nbroker = 1\nfrom_round = 1\n', "slow_bookie needs lag_rounds"),
        (ledgers + '[[faults]]\nkind = "slow_bookie"\nbroker = 1\nlag_rounds = 0\nfrom_round = 1\n', "0 is out of range"),
    ):
        (tmp_path / "s.toml").write_text(text)
        with pytest.raises(InputError, match=said):
            load_run(str(tmp_path / "s.toml"))
