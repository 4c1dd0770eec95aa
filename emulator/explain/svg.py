"""A story as a drawing: lifelines coloured by role, arrows, and a shape for what happened, in SVG.

Words stand where emulator.explain.layout puts them, in a font whose characters are all CHAR_WIDTH wide.
"""

from __future__ import annotations

from html import escape

from emulator.explain.layout import STATE, Across, Arrow, Block, Widths, Words, blocks
from emulator.explain.marks import CONTROLLER
from emulator.explain.shapes import (
    ARROW_COLOURS,
    FAULT,
    LOSS_COLOUR,
    OTHER_COLOUR,
    ROLE_FILLS,
    WORDS_COLOUR,
    arrow,
    lifeline,
    shape,
    shape_of,
    word_colour,
)
from emulator.explain.story import ABSENT, Story

CHAR_WIDTH, FONT_SIZE = 7.3, 12
LINE_HEIGHT, ARROW_HEIGHT, BLOCK_GAP, HEADER_HEIGHT = 17, 27, 8, 34
_BASELINE = 12.5
_TEXT_OFFSET = 14
_GAP = 5  # characters between the words of two columns, the lifeline and its fault bar among them
_SIDE = 25  # characters of the column at the side: longest kinds of faults fit
_MARGIN = 8  # characters left of the first lifeline
_PAD = 8


def svg(story: Story) -> str:
    """Returns the drawing of a story as an <svg> element."""
    return _Sheet(story).draw()


def _columns_wide(brokers: int) -> int:
    """Characters of a column: the fewer brokers, the wider."""
    return 34 if brokers <= 3 else 28 if brokers <= 5 else 22


class _Sheet:
    """What is drawn so far: lifelines below, then bands and boxes, then words and shapes."""

    def __init__(self, story: Story) -> None:
        self._story = story
        brokers = story.rows.columns
        wide = _columns_wide(len(brokers))
        self._step = (wide + _GAP) * CHAR_WIDTH
        side = (_SIDE + _GAP) * CHAR_WIDTH
        first = _MARGIN * CHAR_WIDTH + (side if story.speech.side_first else 0)
        self._at = {broker: first + self._step * index for index, broker in enumerate(brokers)}
        self._at[CONTROLLER] = _MARGIN * CHAR_WIDTH + (0 if story.speech.side_first else self._step * len(brokers))
        self._widths = Widths(column=wide, controller=_SIDE, across=(wide + _GAP) * len(brokers) + 16, arrow=wide)
        self._width = _MARGIN * CHAR_WIDTH + self._step * len(brokers) + side + _TEXT_OFFSET
        self._below: list[str] = []
        self._middle: list[str] = []
        self._above: list[str] = []
        self._runs: dict[tuple[int, str], tuple[float, str]] = {}

    def draw(self) -> str:
        y = self._header()
        for block in blocks(self._story, self._widths):
            top = y
            self._begin(block, top)
            if block.label:
                self._below.append(
                    f'<path d="M0 {top:.1f}H{self._width:.1f}" stroke="#d8dde2" stroke-width="1" stroke-dasharray="1 3"/>'
                )
                self._text(_PAD / 2, top + BLOCK_GAP / 2 + _BASELINE, block.label, WORDS_COLOUR, bold=True)
            y = self._block(block, top + BLOCK_GAP / 2) + BLOCK_GAP / 2
        self._begin(None, y)
        inner = "\n".join([*self._below, *self._middle, *self._above])
        label = escape(f"What happened to {self._story.rows.name}, round by round")
        height = y + _PAD
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{self._width:.0f}"'
            f' height="{height:.0f}" viewBox="0 0 {self._width:.0f} {height:.0f}" font-size="{FONT_SIZE}"'
            f' font-family="DejaVu Sans Mono, Menlo, Consolas, Liberation Mono, monospace">\n{inner}\n</svg>'
        )

    def _header(self) -> float:
        racks = {row["broker"]: row["rack"] for row in self._story.rows.brokers}
        self._text(_PAD / 2, 21, "round", OTHER_COLOUR)
        for broker in self._story.rows.columns:
            rack = racks.get(broker)
            title = f"{self._story.speech.column} {broker}" + (f", rack {rack}" if rack is not None else "")
            title = title[: self._widths.column]
            width = (len(title) + 2) * CHAR_WIDTH
            x = self._at[broker]
            self._middle.append(
                f'<rect x="{x - 8:.1f}" y="6" width="{width + 4:.1f}" height="22" rx="4" fill="#f6f8fa" stroke="#8c959f"/>'
            )
            self._text(x + 2, 21, title, WORDS_COLOUR, bold=True)
        self._text(self._at[CONTROLLER] + _TEXT_OFFSET, 21, self._story.speech.side, OTHER_COLOUR)
        return HEADER_HEIGHT

    def _begin(self, block: Block | None, y: float) -> None:
        """Goes on with lifelines and fault bars, or ends those that change here; None: all end."""
        wanted: dict[tuple[int, str], str] = {}
        if block is not None:
            wanted = {(broker, "life"): state.role for broker, state in block.states.items() if state.role != ABSENT}
            wanted |= {(broker, FAULT): FAULT for broker in block.faulty if broker in self._at}
        for key, (start, look) in list(self._runs.items()):
            if wanted.get(key) != look:
                self._below.append(lifeline(self._at[key[0]], start, y, look))
                del self._runs[key]
        for key, look in wanted.items():
            self._runs.setdefault(key, (y, look))

    def _block(self, block: Block, y: float) -> float:
        for line in block.lines:
            if isinstance(line, Words):
                if line.ends:
                    self._state_boxes(block, y)
                self._words(line, y)
                y += LINE_HEIGHT
            elif isinstance(line, Arrow):
                self._arrow(line, y)
                y += ARROW_HEIGHT
            else:
                self._across(line, y)
                y += LINE_HEIGHT
        return y

    def _state_boxes(self, block: Block, y: float) -> None:
        texts: dict[int, list[str]] = {}
        for line in block.lines:
            if isinstance(line, Words):
                for broker, cell in line.cells.items():
                    if cell.kind == STATE and broker != CONTROLLER:
                        texts.setdefault(broker, []).append(cell.text)
        for broker, lines in texts.items():
            fill = ROLE_FILLS[block.states[broker].role]
            width = max(map(len, lines)) * CHAR_WIDTH + _TEXT_OFFSET + 8
            x, height = self._at[broker] - 4, len(lines) * LINE_HEIGHT - 1
            self._middle.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" rx="4" fill="{fill}" stroke="#c4ccd4"/>'
            )

    def _words(self, line: Words, y: float) -> None:
        for broker, cell in line.cells.items():
            x = self._at[broker]
            colour = word_colour(cell.kind)
            self._text(x + _TEXT_OFFSET, y + _BASELINE, cell.text, colour, bold=colour == LOSS_COLOUR)
            if cell.first and broker != CONTROLLER and cell.kind != STATE:
                self._above.append(shape(*shape_of(cell.kind), x, y + LINE_HEIGHT / 2))

    def _arrow(self, line: Arrow, y: float) -> None:
        tail, head = self._at[line.tail], self._at[line.head]
        towards = 1 if head > tail else -1
        text = line.label.replace("->", "→")
        if text:
            # beside the sender, in the middle of what lies between it and its neighbour; above the line
            middle = tail + towards * self._step / 2
            colour = ARROW_COLOURS[line.kind] if line.kind != "exchange" else OTHER_COLOUR
            self._text(middle - len(text) * CHAR_WIDTH / 2, y + 11, text, colour)
        self._above.append(arrow(line.kind, tail + 4 * towards, y + 15, head - 4 * towards, y + 22))

    def _across(self, line: Across, y: float) -> None:
        quiet = line.kind == "quiet"
        x = _MARGIN * CHAR_WIDTH - 14
        fill, colour = ("#f3f5f7", OTHER_COLOUR) if quiet else ("#fde7e7", LOSS_COLOUR)
        self._middle.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{self._width - x - _PAD:.1f}" height="{LINE_HEIGHT}" fill="{fill}"/>'
        )
        self._text(x + (8 if line.first else 8 + 2 * CHAR_WIDTH), y + _BASELINE, line.text, colour, bold=not quiet)

    def _text(self, x: float, y: float, text: str, colour: str, bold: bool = False) -> None:
        shown = escape(text.replace("->", "→"), quote=False)
        weight = ' font-weight="bold"' if bold else ""
        self._above.append(f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" xml:space="preserve"{weight}>{shown}</text>')
