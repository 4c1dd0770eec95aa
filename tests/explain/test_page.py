"""The page: one file that needs nothing else, and a drawing in which no words lie on others or stick out."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import pytest

from emulator.errors import InputError
from emulator.explain.page import page, write_page
from emulator.explain.rows import PartitionRows
from emulator.explain.shapes import ROLE_STROKES
from emulator.explain.story import Story, tell
from emulator.explain.svg import CHAR_WIDTH, FONT_SIZE, svg
from emulator.storage.written_file import refuse_unwritable

from .stories import FIVE, STORIES, ZOMBIE, fault, violation

SVG = "{http://www.w3.org/2000/svg}"


class Box(NamedTuple):
    """What a text or a rectangle covers."""

    left: float
    top: float
    right: float
    bottom: float
    what: str

    def meets(self, other: Box) -> bool:
        return self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom

    def holds(self, other: Box) -> bool:
        within = self.left <= other.left and other.right <= self.right
        return within and self.top <= other.top and other.bottom <= self.bottom


def told(rows: PartitionRows) -> Story:
    return tell(rows, 0, rows.scenario["rounds"] - 1)


def drawn(rows: PartitionRows) -> ET.Element:
    return ET.fromstring(svg(told(rows)))


def texts(drawing: ET.Element) -> list[Box]:
    found = []
    for element in drawing.iter(f"{SVG}text"):
        left, baseline, words = float(element.get("x", 0)), float(element.get("y", 0)), element.text or ""
        top, bottom = baseline - 0.8 * FONT_SIZE, baseline + 0.25 * FONT_SIZE
        found.append(Box(left, top, left + len(words) * CHAR_WIDTH, bottom, words))
    return found


def rectangles(drawing: ET.Element) -> list[Box]:
    found = []
    for element in drawing.iter(f"{SVG}rect"):
        left, top, width, height = (float(element.get(name, 0)) for name in ("x", "y", "width", "height"))
        found.append(Box(left, top, left + width, top + height, element.get("fill", "")))
    return found


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("traced", [True, False])
def test_words_lie_apart_and_inside(name: str, traced: bool) -> None:
    rows = STORIES[name] if traced else replace(STORIES[name], trace=(), controllers=())
    drawing = drawn(rows)
    words = texts(drawing)
    sheet = Box(0, 0, float(drawing.get("width", 0)), float(drawing.get("height", 0)), "sheet")
    assert len(words) > 20
    assert [box for box in words if not sheet.holds(box)] == []
    assert [(a.what, b.what) for a, b in combinations(words, 2) if a.meets(b)] == []


@pytest.mark.parametrize("name", STORIES)
def test_a_box_holds_its_words_and_no_part_of_others(name: str) -> None:
    drawing = drawn(STORIES[name])
    boxes = rectangles(drawing)
    for box in boxes:
        cut = [word.what for word in texts(drawing) if box.meets(word) and not box.holds(word)]
        assert cut == [], box
    sheet = Box(0, 0, float(drawing.get("width", 0)), float(drawing.get("height", 0)), "sheet")
    assert all(sheet.holds(box) for box in boxes)


def test_lifelines_show_roles_and_have_no_gaps() -> None:
    drawing = drawn(ZOMBIE)
    strokes = {re.search('stroke="(.*?)"', look).group(1): role for role, look in ROLE_STROKES.items()}  # type: ignore[union-attr]
    lines: dict[str, list[tuple[float, float, str]]] = {}
    for element in drawing.iter(f"{SVG}path"):
        match = re.fullmatch(r"M([\d.]+) ([\d.]+)V([\d.]+)", element.get("d", ""))
        if match:
            lines.setdefault(match[1], []).append((float(match[2]), float(match[3]), strokes[element.get("stroke", "")]))
    first, second, third = (sorted(stretches) for _, stretches in sorted(lines.items(), key=lambda item: float(item[0])))
    assert [role for *_, role in first] == ["leader", "zombie", "follower"]
    assert [role for *_, role in second] == ["follower", "leader"]
    assert [role for *_, role in third] == ["follower"]
    assert all(before[1] == after[0] for before, after in zip(first, first[1:], strict=False))
    assert first[-1][1] == second[-1][1] == third[-1][1]


class Parser(HTMLParser):
    """Collects tags and attributes, and refuses tags that are not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", STORIES)
def test_the_page_is_whole_and_needs_nothing_else(name: str) -> None:
    text = page(told(STORIES[name]))
    parser = Parser()
    parser.feed(text)
    assert parser.open == []
    assert not parser.tags & {"script", "link", "img", "iframe", "object", "use", "image"}
    assert not {name for name, _ in parser.attributes} & {"src", "href", "xlink:href", "onload", "onclick"}
    assert "url(" not in text
    assert "@import" not in text
    assert {value for _, value in parser.attributes if value and "://" in value} == {"http://www.w3.org/2000/svg"}


def test_what_the_run_is_called_is_no_markup() -> None:
    evil = '<script>alert("x")</script> & co'
    rows = replace(
        ZOMBIE,
        topic=evil,
        scenario={**ZOMBIE.scenario, "name": evil},
        faults=[fault(0, "isolation", 4, 10, broker=1, name=evil)],
        brokers=[{"broker": 1, "rack": evil}],
        violations=[violation(6, evil, evil), violation(None, evil, evil)],
    )
    text = page(told(rows))
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_the_page_tells_the_whole_story() -> None:
    text = page(told(ZOMBIE))
    for words in (
        "What happened to orders:0",
        "elected, epoch 1",
        "ACKED LOST 20..29 of epoch 0",
        "diverges: cut to 20",
        "rounds 1-3 (0.5 to 2 s): steady, +5 records a round, leo 5 → 20, hw 0 → 15",
        "VIOLATION of AckedNeverLost (fault 0)",
        "final tables: LogMatching: {&quot;broker&quot;: 1, &quot;other&quot;: 3}",
        "<td>e0: 0..19, e1: 20..57</td>",
        "0: isolation of 1 &quot;zombie leader&quot;, round 4 to round 9 (2 to 5 s)",
        "zombie: leads an epoch that is over",
    ):
        assert words in text, words


def test_writing_a_page(tmp_path: Path) -> None:
    write_page(told(FIVE), str(tmp_path / "story.html"))
    assert (tmp_path / "story.html").read_text("utf-8") == page(told(FIVE))


@pytest.mark.parametrize("path", ["", "there", "nowhere/story.html"])
def test_files_that_cannot_be_written(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match="--html: .* allowed: a local file"):
        refuse_unwritable("--html", path)
