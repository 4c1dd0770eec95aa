"""Puts a story into lines of a Lamport diagram: one column per broker, time going down. How lines look is not said here."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from emulator.explain.fetches import LOST, Message
from emulator.explain.marks import AFTER_FETCHES, CONTROLLER, NBSP, Mark
from emulator.explain.rows import Row
from emulator.explain.story import Moment, Quiet, State, Story
from emulator.explain.times import times_of

STATE = "state"


@dataclass(frozen=True)
class Cell:
    """Words in a column; `kind`: that of a Mark, or STATE; `first`: not the rest of a longer text."""

    kind: str
    text: str
    first: bool = True


@dataclass(frozen=True)
class Words:
    """A line with words in columns, by broker or CONTROLLER; `ends`: the first line of the states at a round's end."""

    cells: Mapping[int, Cell]
    ends: bool = False


@dataclass(frozen=True)
class Arrow:
    """A line with an arrow from one broker to another; `kind`: fetch, answer, exchange (there and back) or lost."""

    tail: int
    head: int
    kind: str
    label: str


@dataclass(frozen=True)
class Across:
    """A line of words across all columns; `kind`: quiet or violation; `first`: not the rest of a longer text."""

    kind: str
    text: str
    first: bool = True


Line = Words | Arrow | Across


@dataclass(frozen=True)
class Block:
    """The lines of one round, or of quiet ones, with what holds in it: roles by broker, brokers with a fault in force."""

    label: str
    states: Mapping[int, State]
    faulty: frozenset[int]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Widths:
    """Characters for words: in a broker's column, in the controller's, across all, and on an arrow between neighbours."""

    column: int
    controller: int
    across: int
    arrow: int


def blocks(story: Story, widths: Widths) -> Iterator[Block]:
    """Yields the story's parts in lines, with no text wider than it may be."""
    for part in story.parts:
        if isinstance(part, Quiet):
            yield Block("", part.states, part.faulty, tuple(_quiet_lines(part, story.rows.scenario, widths)))
        else:
            yield Block(str(part.round), part.states, part.faulty, tuple(_moment_lines(part, widths)))


def _quiet_lines(part: Quiet, scenario: Row, widths: Widths) -> Iterator[Across]:
    rounds = f"round {part.first}" if part.first == part.last else f"rounds {part.first}-{part.last}"
    for at, text in enumerate(
        textwrap.wrap(f"{rounds} ({times_of(scenario, part.first, part.last)}): {part.text}", widths.across)
    ):
        yield Across("quiet", text, at == 0)


def _moment_lines(moment: Moment, widths: Widths) -> Iterator[Line]:
    yield from _mark_lines([mark for mark in moment.marks if mark.step < AFTER_FETCHES], widths)
    for message in moment.messages:
        yield from _arrows(message, widths.arrow)
    yield from _mark_lines([mark for mark in moment.marks if mark.step >= AFTER_FETCHES], widths)
    yield from _state_lines(moment, widths)
    for violation in moment.violations:
        for at, text in enumerate(textwrap.wrap(f"{kind_words(violation)} {violation_words(violation)}", widths.across)):
            yield Across("violation", text, at == 0)


def _arrows(message: Message, width: int) -> Iterator[Arrow]:
    follower, leader = message.follower, message.leader
    if message.exchange is not None:
        yield Arrow(follower, leader, "exchange", _fitting(message.exchange, width))
    elif message.answer is None:
        trouble = "lost" if message.state == LOST else "no answer"
        wordings = (*(f"{text}: {trouble}" for text in message.request), trouble)
        yield Arrow(follower, leader, "lost", _fitting(wordings, width))
    else:
        yield Arrow(follower, leader, "fetch", _fitting(message.request, width))
        yield Arrow(leader, follower, "answer", _fitting(message.answer, width))


def kind_words(violation: Mapping[str, object]) -> str:
    """Returns whether an invariant is violated, or may be."""
    return "SUSPECT:" if violation.get("kind") == "suspect" else "VIOLATION of"


def violation_words(violation: Mapping[str, object]) -> str:
    """Returns what was violated, by which fault if that is known, and the witness, in one line."""
    cause = violation.get("cause")
    behind = "" if cause is None else f" (fault {cause})"
    witness = " ".join(str(violation["witness"]).split())
    return f"{violation['invariant']}{behind}: {witness}"


def _mark_lines(marks: Sequence[Mark], widths: Widths) -> Iterator[Words]:
    columns: dict[int, list[Cell]] = {}
    for mark in marks:
        width = widths.controller if mark.broker == CONTROLLER else widths.column
        texts = [text.replace(NBSP, " ") for text in textwrap.wrap(mark.text, width, subsequent_indent="  ")]
        columns.setdefault(mark.broker, []).extend(Cell(mark.kind, text, at == 0) for at, text in enumerate(texts))
    yield from _side_by_side(columns)


def _state_lines(moment: Moment, widths: Widths) -> Iterator[Words]:
    columns: dict[int, list[str]] = {}
    for broker, state in moment.states.items():
        if state.words:
            columns[broker] = _packed(state.words, widths.column)
    if moment.controller is not None:
        columns[CONTROLLER] = _packed(_controller_pieces(moment.controller), widths.controller)
    elif moment.said:
        columns[CONTROLLER] = _packed(moment.said, widths.controller)
    cells = {broker: [Cell(STATE, text, at == 0) for at, text in enumerate(texts)] for broker, texts in columns.items()}
    for at, words in enumerate(_side_by_side(cells)):
        yield Words(words.cells, ends=at == 0)


def _controller_pieces(controller: Mapping[str, object]) -> list[str]:
    leader, epoch = controller["leader"], controller["leader_epoch"]
    pieces = [f"{leader} leads e{epoch}" if leader != -1 else f"no leader e{epoch}"]
    for name in ("isr", "elr"):
        brokers = controller[name]
        assert isinstance(brokers, Iterable)
        members = " ".join(map(str, brokers))
        if members or name == "isr":
            pieces.append(f"{name} {members or 'empty'}")
    return pieces


def _packed(pieces: Sequence[str], width: int) -> list[str]:
    """Puts as many pieces on a line as fit, two blanks between them; a piece stays whole if it can."""
    lines: list[str] = []
    for piece in pieces:
        if lines and len(lines[-1]) + 2 + len(piece) <= width:
            lines[-1] += "  " + piece
        else:
            lines += textwrap.wrap(piece, width, subsequent_indent="  ")
    return lines


def _side_by_side(columns: Mapping[int, Sequence[Cell]]) -> Iterator[Words]:
    for row in zip_longest(*columns.values()):
        yield Words({broker: cell for broker, cell in zip(columns, row, strict=True) if cell is not None})


def _fitting(wordings: Sequence[str], width: int) -> str:
    """The first wording that fits; none at all is better than a number cut short."""
    return next((text for text in wordings if len(text) <= width), "")
