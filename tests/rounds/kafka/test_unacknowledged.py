"""acks=0 is acknowledged to nobody: counted in outcomes, and lost, apart (docs/kafka_rounds.md, What is counted). No Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rounds.kafka.compared import Played, events_of, outcomes_of
from tests.rounds.kafka.test_last_moments import DEATH, appends, death, dying, game_of

LOST = ("acked_lost", "unacknowledged_lost", "committed_lost")


def lost_of(game: Played) -> list[tuple[str, int, int, int, int | None]]:
    """The events of losses: kind, offsets, fault, and how many records if not all."""
    found = [event for event in events_of(game)[0] if event["kind"] in LOST]
    columns = ("kind", "from_offset", "to_offset", "cause", "records")
    return sorted(tuple(event[name] for name in columns) for event in found)  # type: ignore[misc]


@pytest.mark.parametrize("leaps", [False, True])
def test_nobody_is_told_of_acks_0(tmp_path: Path, leaps: bool) -> None:
    """Four rounds of 10 records, the last of them taken along by the leader: all were sent, none was acknowledged."""
    game = game_of(dying(appends(10, "0") + death(moment="after-append")), tmp_path, leaps)
    outcomes = outcomes_of(game, 0)
    assert (outcomes["appended"], outcomes["sent_unacknowledged"], outcomes["unacknowledged_lost"]) == (40, 40, 10)
    assert (outcomes["acked"], outcomes["acked_lost"], outcomes["committed_lost"]) == (0, 0, 0)
    assert lost_of(game) == [("unacknowledged_lost", 30, 40, 0, None)]


@pytest.mark.parametrize("leaps", [False, True])
def test_batches_of_all_acks_are_told_apart(tmp_path: Path, leaps: bool) -> None:
    """Of each round 2 records have acks=all, then 5 acks=0, then 3 acks=1; then 4 more have acks=0."""
    rows = appends(2, "all") + appends(5, "0") + appends(3) + appends(4, "0")
    game = game_of(dying(rows + death(moment="after-append")), tmp_path, leaps)
    outcomes = outcomes_of(game, 0)
    assert (outcomes["appended"], outcomes["sent_unacknowledged"]) == (4 * 14, 4 * 9)
    # acks=all is acknowledged in the round after its own.
    assert outcomes["acked"] == 4 * 3 + (DEATH - 1) * 2
    assert (outcomes["acked_lost"], outcomes["unacknowledged_lost"]) == (3, 9)
    assert lost_of(game) == [("acked_lost", 49, 52, 0, None), ("unacknowledged_lost", 44, 56, 0, 9)]


def test_records_of_the_start_are_as_the_first_row_says(tmp_path: Path) -> None:
    """Broker 1 starts with 6 records, the others with 4, and is cut off: two are lost, and none was sent in this run."""
    given = "".join(
        f'\n[[initial.replicas]]\ntopic = "t"\npartition = 0\nbroker = {broker}\nleo = {leo}\nhw = 4\n'
        for broker, leo in ((1, 6), (2, 4), (3, 4))
    )
    cut = '\n[[faults]]\nkind = "isolation"\nbroker = 1\nfrom_round = 0\n'
    lost = {}
    for acks in ("0", "1", "all"):
        row = f'\n[[workload]]\ntopic = "t"\nrecords_per_round = 0\nacks = "{acks}"\n'
        game = game_of(dying(row + given, cut), tmp_path)
        outcomes = outcomes_of(game, 0)
        assert (outcomes["appended"], outcomes["acked"], outcomes["sent_unacknowledged"]) == (0, 0, 0)
        lost[acks] = (outcomes["acked_lost"], outcomes["unacknowledged_lost"], lost_of(game))
    assert lost == {
        "0": (0, 2, [("unacknowledged_lost", 4, 6, 0, None)]),
        "1": (2, 0, [("acked_lost", 4, 6, 0, None)]),
        "all": (0, 0, []),
    }
