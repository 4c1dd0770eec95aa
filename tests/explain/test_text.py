"""Stories as text. To write what is expected anew: REWRITE=1 pytest tests/explain, and read the diff."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.explain.rows import PartitionRows
from emulator.explain.story import Quiet, tell
from emulator.explain.text import can_show, text_lines

from .stories import FIVE, STORIES, ZOMBIE, event, outcome, partition

DATA = Path(__file__).parent / "data"
SHOWN = [
    ("zombie", 120, "traced"),
    ("zombie", 100, "untraced"),
    ("zombie", 100, "plain"),
    ("asking", 100, "traced"),
    ("five", 140, "traced"),
    ("five", 100, "untraced"),
]


def untraced(rows: PartitionRows) -> PartitionRows:
    return replace(rows, trace=(), controllers=())


@pytest.mark.parametrize(("name", "width", "form"), SHOWN)
def test_stories(name: str, width: int, form: str) -> None:
    rows = untraced(STORIES[name]) if form == "untraced" else STORIES[name]
    story = tell(rows, 0, rows.scenario["rounds"] - 1)
    shown = "".join(f"{line}\n" for line in text_lines(story, width, plain=form == "plain"))
    path = DATA / f"{name}_{form}_{width}.txt"
    if os.environ.get("REWRITE"):
        path.write_text(shown, "utf-8")
    assert shown == path.read_text("utf-8")


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("width", [60, 100, 120, 140, 300])
@pytest.mark.parametrize("plain", [False, True])
def test_lines_are_no_wider_than_asked_for(name: str, width: int, plain: bool) -> None:
    rows = STORIES[name]
    lines = list(text_lines(tell(rows, 0, rows.scenario["rounds"] - 1), width, plain))
    needed = 7 + 18 * len(rows.columns) + 16
    assert max(map(len, lines)) <= max(min(width, 160), needed)
    assert not any(line.endswith(" ") or "\xa0" in line for line in lines)
    if plain:
        assert all(line.isascii() for line in lines)


def test_a_group_begins_with_its_first_server() -> None:
    """It is a follower from the round on in which it steps down, whether or not anybody lost it by then."""
    rows = partition(
        "raft", 20, [2, 1, 3], "", outcome=outcome(), events=[event(8, "election", 1, epoch=2), event(9, "step_down", 2)]
    )
    states = {part.first if isinstance(part, Quiet) else part.round: part.states for part in tell(rows, 0, 19).parts}
    leaders = {round_: [b for b, state in own.items() if state.role == "leader"] for round_, own in states.items()}
    assert leaders == {0: [2], 8: [1], 9: [1], 10: [1]}
    assert "its first server leads at the start" in "\n".join(text_lines(tell(rows, 0, 19)))


def test_a_window_tells_of_its_rounds_and_of_the_faults_in_force() -> None:
    text = "\n".join(text_lines(tell(ZOMBIE, 5, 6), 160))
    assert "rounds 5-6 of 18" in text
    assert "fault 0 holds since round 4:" in text
    assert "cuts its log" not in text
    assert "fault 0 ends" not in text


def test_a_window_of_one_round_without_a_trace() -> None:
    text = "\n".join(text_lines(tell(untraced(ZOMBIE), 2, 2)))
    assert "round 2 (1 to 1.5 s): no events" in text


def test_the_last_rounds_of_a_fault_are_told_of_without_a_trace() -> None:
    text = "\n".join(text_lines(tell(untraced(FIVE), 5, 6), 160))
    assert "fault 3 ends:" in text
    assert "fault 8" not in text.split("At the end")[0]


@pytest.mark.parametrize(
    ("encoding", "shown"), [("utf-8", True), ("ascii", False), ("latin-1", False), (None, False), ("?", False)]
)
def test_what_encodings_can_show(encoding: str | None, shown: bool) -> None:
    assert can_show(encoding) is shown
