"""Recoveries, and who opens without one, wait for bookies that are silent; readers of a deleted ledger go on. No Spark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.explain.ledger_marks import recovery_marks
from emulator.explain.ledger_story import recovery_words
from tests.bookkeeper.by_reference import of_reference, run_of_cases
from tests.bookkeeper.topics_by_reference import as_engine_takes_it, of_played
from tests.reference.bookkeeper.given import adds, command, crash, fault
from tests.reference.bookkeeper.given import case as given_case
from tests.reference.bookkeeper.simulate import simulate
from tests.reference.bookkeeper.topics import play_topic
from tests.rounds.bookkeeper.compared import Played, differences, list_of, of_rounds, played
from tests.rounds.bookkeeper.test_traced_rounds import rows_of
from tests.rounds.bookkeeper.topics_compared import of_rounds_of_topic, played_topics

FOREVER = None


def case(*faults: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Entries 0 to 5 are on bookies 1, 2 and 3 (3/3/2), and 500 ms a round; a recovery in round 9, of one attempt."""
    once = {"commands": [command("recover_ledger", 9, retry=False)]}
    return given_case(workload=[adds(0, 6)], faults=list(faults), **(once | more))


def away(bookie: int, from_round: int = 8, to_round: int | None = FOREVER) -> dict[str, Any]:
    return fault("broker_pause", bookie, from_round, to_round)


def play(folder: Path, given: dict[str, Any]) -> tuple[Played, dict[str, Any]]:
    """By the rounds, which end as the reference does."""
    game = played(run_of_cases({"case": given}, folder).scenarios)
    seen = of_rounds(game, 0)
    assert not differences(of_reference(simulate(given, watch=True)), seen)
    return game, seen


def closed_round(game: Played) -> int:
    """When the recovery closed the ledger."""
    (recovery,) = list_of(game, "recoveries", 0)
    return int(recovery.closed_round)


@pytest.mark.parametrize(("one", "given", "closed"), [
    (crash(1, 8), {}, 13), (away(1), {}, 23), (away(1), {"firstSpeculativeReadTimeout": 500}, 16),
    (away(1), {"readEntryTimeoutSec": 3}, 19), (away(1, 8, 14), {}, 15),
])  # fmt: skip
def test_a_silent_one_that_is_asked_first(tmp_path: Path, one: dict[str, Any], given: dict[str, int], closed: int) -> None:
    """Marked in round 9, entry 5 is read in 10, of bookie 3, and written back in 11; entry 6 is asked of 1, 2, 3 from 12 on.

    A dead bookie 1 is an error at once, and 2 and 3 say no: closed in 13. Beside a silent one 2 is asked after 2 s, in 16, and
    3 when 1 has timed out, in 22; or each of them after 500 ms, and 1 s; or 1 is heard again, and says no.
    """
    assert closed_round(play(tmp_path, case(one, config=given))[0]) == closed


def test_a_recovery_that_needs_silent_ones_times_out(tmp_path: Path) -> None:
    """Its client is told TimeoutException; LedgerRecoveryException is what every other failure is (LedgerOpenOp)."""
    seen = play(tmp_path / "silent", case(away(1), away(2)))[1]
    assert (seen["recoveries"], seen["attempts"]) == ([("failed", "TimeoutException", None)], ["TimeoutException"])
    seen = play(tmp_path / "dead", case(crash(1, 8), crash(2, 8)))[1]
    assert (seen["recoveries"][0][1], seen["attempts"]) == ("LedgerRecoveryException", ["ReadException"])
    mixed = play(tmp_path / "mixed", case(crash(1, 8), away(2)))[1]
    assert (mixed["recoveries"][0][1], mixed["attempts"]) == ("TimeoutException", ["TimeoutException"])


@pytest.mark.parametrize(("back", "fenced"), [(12, 12), (19, 19), (20, 20)])
def test_who_is_heard_again_gets_the_question_then(tmp_path: Path, back: int, fenced: int) -> None:
    """Asked in round 9; what comes in round 19 is in time. In round 20 the next attempt asks."""
    game, seen = play(tmp_path, case(away(1, 8, back), away(2), commands=[command("recover_ledger", 9)]))
    (recovery,) = list_of(game, "recoveries", 0)
    assert (int(recovery.fenced_round), seen["state"]) == (fenced, "CLOSED")
    assert seen["attempts"] == [None if fenced < 20 else "TimeoutException"]


def test_who_was_dead_when_asked_is_not_asked_again(tmp_path: Path) -> None:
    """Bookie 1 is back in round 12, but the attempt waits for bookie 2 alone; the next one hears both of 1 and 3."""
    game, seen = play(tmp_path, case(crash(1, 8, 12), away(2), commands=[command("recover_ledger", 9)]))
    assert [int(one.fenced_round) for one in list_of(game, "recoveries", 0)] == [20]
    assert seen["attempts"] == ["TimeoutException"]


def test_an_attempt_fails_with_the_error_of_its_read(tmp_path: Path) -> None:
    """Of entry 6 bookie 1 is asked first and says no; 2 died when it had told its LAC, 3 before."""
    seen = play(tmp_path, case(crash(3, 8), crash(2, 10), bookies=5))[1]
    assert (seen["recoveries"][0][1], seen["attempts"]) == ("LedgerRecoveryException", ["BookieHandleNotAvailableException"])


def test_opening_without_recovery_waits(tmp_path: Path) -> None:
    reads = {"commands": [command("open_no_recovery", 9)]}
    for name, faults, told in (
        ("back", (away(1, 8, 15), away(2)), (4, "OK")),
        ("never", (away(1), away(2)), (None, "TimeoutException")),
        ("dead", (crash(1, 8), crash(2, 8)), (None, "ReadException")),
    ):
        assert play(tmp_path / name, case(*faults, **reads))[1]["openings"] == [told]


def test_the_story_says_whom_a_recovery_waits_for(tmp_path: Path) -> None:
    """By `emulator explain`, from the ledger's rounds."""
    given = case(away(1), away(2), commands=[command("recover_ledger", 9)])
    ledgers, _ = rows_of(run_of_cases({"case": given}, tmp_path).scenarios)
    rounds: Any = SimpleNamespace(ledgers={round_: row for (_, round_), (row,) in ledgers.items()})
    told = {at: [recovery_words(one) for one in rounds.ledgers[at]["recoveries"]] for at in (12, 19)}
    assert told == {12: ["recovery 0: fence, lac -1, waits for bookies 1 2"], 19: ["recovery 0: mark, lac -1"]}
    marks = {at: [mark.text for mark in recovery_marks(rounds, at)] for at in (9, 12, 19)}
    assert marks == {9: ["recovery 0 begins"], 12: [], 19: ["recovery 0: its attempt fails"]}


def test_readers_of_a_deleted_ledger_go_on(tmp_path: Path) -> None:
    """The first ledger, of four entries, is deleted in round 5; who began to read in it has them when bookies have answered."""
    given = given_case(
        bookies=3,
        rounds=40,
        workload=[{**adds(0, 10), "record_bytes": 100}],
        faults=[fault("slow_bookie", one, 5, 40, lag_rounds=3) for one in (1, 2, 3)],
        commands=[command("read_topic", 5)],
        config={
            "managedLedgerMaxEntriesPerLedger": 4,
            "managedLedgerMinLedgerRolloverTimeMinutes": 0,
            "retentionCheckIntervalInSeconds": 4,
        },
    )
    topic = play_topic(given)
    game = played_topics(run_of_cases({"case": as_engine_takes_it(given, topic)}, tmp_path).scenarios)
    assert not differences(of_played(topic), of_rounds_of_topic(game, 0))
    first = topic.parts[0]
    (reader,) = first.ledger.readers
    assert first.deleted_round == 5 and reader.done_round == 8
    assert (reader.entries, reader.read, reader.missing) == (4, 4, {})
