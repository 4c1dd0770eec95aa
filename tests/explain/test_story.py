"""What is read off the rows of a partition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.explain.faults import fault_line, fault_words
from emulator.explain.fetches import appended, messages
from emulator.explain.history import History
from emulator.explain.rows import PartitionRows
from emulator.explain.story import Moment, Quiet, Story, tell

from .stories import ASKING, FIVE, ZOMBIE, event, fault, outcome, partition


def told(rows: PartitionRows) -> Story:
    return tell(rows, 0, rows.scenario["rounds"] - 1)


def quiet_texts(story: Story) -> dict[tuple[int, int], str]:
    return {(part.first, part.last): part.text for part in story.parts if isinstance(part, Quiet)}


@pytest.mark.parametrize("rows", [ZOMBIE, ASKING, FIVE, replace(ZOMBIE, trace=(), controllers=())])
def test_every_round_is_told_of_once(rows: PartitionRows) -> None:
    rounds = [
        round_
        for part in told(rows).parts
        for round_ in ([part.round] if isinstance(part, Moment) else range(part.first, part.last + 1))
    ]
    assert rounds == list(range(rows.scenario["rounds"]))


def test_a_rack_that_is_cut_off_stands_in_the_margins_of_its_brokers() -> None:
    """Brokers 1 and 2 of the cluster are in racks a and b, 3 is in none."""
    cut = fault(0, "rack_isolation", 4, 10, rack="a")
    assert History(replace(ZOMBIE, faults=[cut])).faults[0].brokers == (1,)
    assert fault_line(cut, ZOMBIE.scenario) == "0: rack_isolation of rack a, round 4 to round 9 (2 to 5 s)"
    assert fault_words(cut, seen_from=1) == "rack_isolation"


def test_quiet_rounds_are_summed_up() -> None:
    assert quiet_texts(told(ZOMBIE)) == {
        (1, 3): "steady, +5 records a round, leo 5 -> 20, hw 0 -> 15",
        (5, 5): "as before, +5 records, leo 25 -> 30, hw stays at 15; fetches of brokers 2, 3 are lost",
        (9, 9): "steady, nothing appended",
        (14, 17): "steady, 0 to 5 records a round, leo 50 -> 58, hw 45 -> 58",
    }


def test_a_story_without_a_trace_has_no_offsets_but_roles() -> None:
    story = told(replace(ZOMBIE, trace=(), controllers=()))
    assert not story.traced
    roles = {part.round: part.states[2].role for part in story.parts if isinstance(part, Moment)}
    assert roles == {4: "follower", 6: "leader", 8: "leader", 10: "leader", 11: "leader", 13: "leader"}
    assert quiet_texts(story)[0, 3] == "no events"
    assert quiet_texts(story)[9, 9] == "no events"


def test_round_0_appended_what_no_other_round_did() -> None:
    assert appended(History(ZOMBIE), 0, 1) == (0, 5)
    with_logs = replace(ZOMBIE, outcome={**ZOMBIE.outcome, "appended": 66})
    assert appended(History(with_logs), 0, 1) == (2, 5)
    window = replace(ZOMBIE, controllers=ZOMBIE.controllers[:3])
    assert appended(History(window), 0, 1) is None


def test_who_fetched_what_from_whom() -> None:
    history = History(ZOMBIE)
    cut, steady = messages(history, 11)
    assert (cut.follower, cut.leader, cut.request[0], cut.answer) == (
        *(1, 2, "fetch 30 after epoch 0"),
        ("diverges: cut to 20", "cut to 20", "to 20"),
    )
    assert (steady.follower, steady.exchange) == (3, ("fetch 35: +5", "35: +5", "+5"))
    assert [(m.follower, m.leader, m.state, m.answer) for m in messages(history, 4)] == [
        (2, 1, "lost", None),
        (3, 1, "lost", None),
    ]
    # the new leader sends nothing any more, the other follower still to the old one
    assert [(m.follower, m.leader) for m in messages(history, 6)] == [(3, 1)]


def test_who_restarts_fetches_from_the_leader_of_the_round_before() -> None:
    (fetch, *_) = messages(History(FIVE), 5)
    assert (fetch.follower, fetch.leader, fetch.request, fetch.answer) == (
        *(1, 2, ("fetch 0 after epoch 0", "fetch 0 after e0", "fetch 0", "0")),
        ("records 0..2999", "0..2999", "+3000"),
    )


def test_a_paused_broker_does_not_send() -> None:
    paused = replace(ZOMBIE, faults=[fault(0, "broker_pause", 4, 6, broker=3)])
    assert [message.follower for message in messages(History(paused), 4)] == [2]


def test_older_protocols_ask() -> None:
    (question,) = messages(History(ASKING), 6)
    assert (question.request[0], question.answer) == ("where does epoch 1 end?", ("nothing to cut", "no cut"))


def test_a_zombie_is_who_leads_an_epoch_that_is_over() -> None:
    roles = {part.round: part.states[1].role for part in told(ZOMBIE).parts if isinstance(part, Moment)}
    assert (roles[4], roles[6], roles[10]) == ("leader", "zombie", "follower")


def test_a_replica_behind_and_new_segments_are_told_of() -> None:
    rows = partition(
        "kafka",
        4,
        [1, 2],
        """
        0 | L0 10/0  | F0 1/0 fetched <0 | 1 e0 isr 1 2
        1 | L0 20/1  | F0 2/1 fetched    | 1 e0 isr 1 2
        2 | L0 30/2  | F0 3/2 fetched    | 1 e0 isr 1 2
        3 | L0 40/3  | F0 4/3 fetched    | 1 e0 isr 1 2
        """,
        outcome=outcome(appended=40),
        events=[event(1, "segment_roll", 1, 10), event(2, "segment_roll", 1, 20)],
    )
    assert list(quiet_texts(told(rows)).values()) == [
        "steady, +10 records a round, leo 10 -> 40, hw 0 -> 3, 2 new segments; broker 2 behind at 4"
    ]
