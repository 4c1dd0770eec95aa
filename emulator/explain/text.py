"""A story as text: a Lamport diagram in characters, and a summary."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from emulator.explain.layout import Across, Arrow, Block, Line, Widths, Words, blocks
from emulator.explain.marks import CONTROLLER, NBSP
from emulator.explain.story import ABSENT, FOLLOWER, LEADER, OF_PARTITIONS, OFFLINE, ZOMBIE, Speech, Story
from emulator.explain.summary import heading, rows_of, summary

NARROWEST, WIDEST, USUAL_WIDTH = 60, 160, 120
NARROWEST_COLUMN = 14
_GAP = 4  # the fault bar, the lifeline, a blank on either side of the words


class Drawing:
    """Characters of the diagram; `plain`: ASCII only."""

    def __init__(self, plain: bool) -> None:
        self.plain = plain
        self.lifelines = {
            LEADER: "#" if plain else "┃",
            ZOMBIE: "$" if plain else "║",
            FOLLOWER: "|" if plain else "│",
            OFFLINE: ":" if plain else "┊",
            ABSENT: " ",
        }
        self.ends = {**self.lifelines, **({} if plain else {LEADER: "┣", ZOMBIE: "╠", FOLLOWER: "├"})}
        self.line, self.left, self.right, self.lost = ("-", "<", ">", "x") if plain else ("─", "◄", "►", "╳")
        self.crossing = "+" if plain else "┼"
        self.fault, self.rest = ("!", "~") if plain else ("▒", "┄")

    def shown(self, text: str) -> str:
        """A text as it is written: with real arrows where there are any."""
        return text if self.plain else text.replace("->", "→")

    def legend(self, speech: Speech = OF_PARTITIONS) -> str:
        """What the characters mean; NBSP within what belongs together."""
        items = [f"{self.lifelines[role]} {meaning}" for role, meaning in speech.roles.items()]
        arrows = {kind: speech.arrows[kind] for kind in ("fetch", "answer") if kind in speech.arrows} or speech.arrows
        meant = ", ".join(meaning for kind, meaning in arrows.items() if kind != "lost")
        items.append(f"{self.fault} fault in force")
        items += [f"{self.line}{self.right} {meant}", f"{self.lost} {speech.arrows['lost']}"] if speech.arrows else []
        return "  ".join(item.replace(" ", NBSP) for item in items)


def can_show(encoding: str | None) -> bool:
    """Whether all characters of the diagram can be written in an encoding."""
    drawing = Drawing(plain=False)
    characters = [
        *drawing.ends.values(),
        *drawing.lifelines.values(),
        drawing.line,
        drawing.left,
        drawing.right,
        drawing.lost,
        drawing.crossing,
    ]
    try:
        "".join([*characters, drawing.fault, drawing.rest, "→"]).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def text_lines(story: Story, width: int = USUAL_WIDTH, plain: bool = False) -> Iterator[str]:
    """Yields the story as lines of at most `width` characters, in ASCII if `plain`.

    Wider where so many brokers need more, and in lines that hold a name of the run.
    """
    width = min(max(width, NARROWEST), WIDEST)
    drawing = Drawing(plain)
    for text in story.opening or heading(story):
        yield from map(drawing.shown, textwrap.wrap(text, width, subsequent_indent="  "))
    for text in textwrap.wrap(drawing.legend(story.speech), width):
        yield text.replace(NBSP, " ")
    yield ""
    canvas = _Canvas(story, width, drawing)
    yield canvas.titles()
    for block in blocks(story, canvas.widths):
        yield from canvas.block(block)
    yield ""
    for text in story.closing or summary(rows_of(story)):
        indent = len(text) - len(text.lstrip()) + 2
        yield from map(drawing.shown, textwrap.wrap(text, width, subsequent_indent=" " * indent))


class _Canvas:
    """Where what stands in a line of characters."""

    def __init__(self, story: Story, width: int, drawing: Drawing) -> None:
        self._brokers, self._speech = story.rows.columns, story.speech
        self._drawing = drawing
        margin = max(len("round"), len(str(story.last))) + 2
        controller = 22 if width - margin - 22 >= len(self._brokers) * (NARROWEST_COLUMN + _GAP) else 16
        step = max((width - margin - controller) // max(1, len(self._brokers)), NARROWEST_COLUMN + _GAP)
        self._at = {broker: margin + step * index for index, broker in enumerate(self._brokers)}
        self._at[CONTROLLER] = margin + step * len(self._brokers)
        self._margin = margin
        across = max(width, self._at[CONTROLLER]) - margin - 6
        self.widths = Widths(column=step - _GAP, controller=controller - 2, across=across, arrow=step - 7)

    def titles(self) -> str:
        row = self._blank()
        self._put(row, 0, "round")
        for broker in self._brokers:
            self._put(row, self._at[broker], f"{self._speech.column} {broker}")
        self._put(row, self._at[CONTROLLER] + 1, self._speech.side)
        return "".join(row).rstrip()

    def block(self, block: Block) -> Iterator[str]:
        for index, line in enumerate(block.lines):
            row = self._line(block, line)
            if index == 0:
                self._put(row, 0, block.label.rjust(self._margin - 2))
            yield "".join(row).rstrip()

    def _line(self, block: Block, line: Line) -> list[str]:
        row = self._blank()
        if isinstance(line, Across):
            lead = (self._drawing.rest if line.kind == "quiet" else "!") * 3 if line.first else " " * 5
            self._put(row, self._margin - 1, f"{lead} {self._drawing.shown(line.text)}")
            return row
        for broker in self._brokers:
            self._lifeline(row, block, broker, isinstance(line, Words) and line.ends)
        if CONTROLLER in block.faulty:
            row[self._at[CONTROLLER] - 1] = self._drawing.fault
        if isinstance(line, Words):
            for broker, cell in line.cells.items():
                offset = 1 if broker == CONTROLLER else 2
                self._put(row, self._at[broker] + offset, self._drawing.shown(cell.text))
        elif isinstance(line, Arrow):
            self._arrow(row, line)
        return row

    def _lifeline(self, row: list[str], block: Block, broker: int, ends: bool) -> None:
        role = block.states[broker].role
        row[self._at[broker]] = self._drawing.ends[role] if ends else self._drawing.lifelines[role]
        if broker in block.faulty:
            row[self._at[broker] - 1] = self._drawing.fault

    def _arrow(self, row: list[str], arrow: Arrow) -> None:
        tail, head = self._at[arrow.tail], self._at[arrow.head]
        drawing = self._drawing
        lifelines = {self._at[broker] for broker in self._brokers}
        for at in range(min(tail, head) + 1, max(tail, head)):
            row[at] = drawing.crossing if at in lifelines and row[at] != " " else drawing.line
        end = head + 1 if head < tail else head - 1
        row[end] = drawing.lost if arrow.kind == "lost" else drawing.left if head < tail else drawing.right
        if arrow.kind == "exchange":
            row[tail - 1 if head < tail else tail + 1] = drawing.right if head < tail else drawing.left
        label = f" {drawing.shown(arrow.label)} " if arrow.label else ""
        # beside the sender, in the middle of what lies between it and its neighbour
        step = self.widths.column + _GAP
        start = tail + (step - len(label)) // 2 if head > tail else tail - (step + len(label)) // 2 + 1
        self._put(row, start, label)

    def _put(self, row: list[str], at: int, text: Sequence[str]) -> None:
        row.extend(" " * (at + len(text) - len(row)))
        row[at : at + len(text)] = text

    def _blank(self) -> list[str]:
        return [" "] * (self._at[CONTROLLER] + 1)
