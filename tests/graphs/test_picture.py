"""The drawing of failure domains: who stands where, what is marked, and that nothing leaves the sheet."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from emulator.cli import main
from emulator.graphs.picture import svg, write_picture
from emulator.graphs.picture_layout import spread
from emulator.graphs.picture_parts import MOST_LINES
from emulator.graphs.placed import Placed, placed
from emulator.graphs.worst_sets import worst_sets
from tests.graphs.test_graph import SIX

NAMESPACE = "{http://www.w3.org/2000/svg}"


def small() -> Placed:
    racks = [(broker, "abc"[(broker - 1) % 3]) for broker in range(1, 7)]
    return placed(0, racks, np.array([[1, 2, 3], [4, 5, 6], [5, 1, 3], [3, 2, 1]]), np.full(4, 2))


def large() -> Placed:
    random = np.random.default_rng(1)
    racks = np.argsort(random.random((20_000, 10)), axis=1)[:, :3]
    return placed(
        0, [(b, f"r{b % 10}") for b in range(300)], racks + 10 * random.integers(0, 30, (20_000, 3)), np.full(20_000, 2)
    )


def drawn(cluster: Placed) -> ElementTree.Element:
    return ElementTree.fromstring(svg(cluster, "base"))


def of_class(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [element for element in root.iter() if element.attrib.get("class") == kind]


def titles(root: ElementTree.Element, kind: str) -> list[str | None]:
    return [element.findtext(f"{NAMESPACE}title") for element in of_class(root, kind)]


def words(root: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in root.iter(f"{NAMESPACE}text")]


def test_six_brokers() -> None:
    root = drawn(small())
    assert [word for word in words(root) if word.isdigit()] == ["1", "4", "2", "5", "3", "6"]  # around the circle
    assert {"rack a", "rack b", "rack c", "6 brokers, 3 racks, 4 partitions", "1, 2, 3: lose 2 partitions"} <= set(words(root))
    assert {"partitions that two share: all,", "1 to 3 each", "of 3 copysets"} <= set(words(root))
    assert sorted(map(str, titles(root, "shares"))) == [
        "1 and 2: 2 partitions", "1 and 3: 3 partitions", "1 and 5: 1 partition", "2 and 3: 2 partitions",
        "3 and 5: 1 partition", "4 and 5: 1 partition", "4 and 6: 1 partition", "5 and 6: 1 partition",
    ]  # fmt: skip
    assert titles(root, "worst")[::-1] == ["1, 2, 3: lose 2 partitions", "1, 3, 5: lose 1 partition", "4, 5, 6: lose 1 partition"]
    assert titles(root, "rack") == ["rack a: 2 brokers", "rack b: 2 brokers", "rack c: 2 brokers"]
    assert titles(root, "broker")[4:] == ["broker 5, rack b, 2 partitions", "broker 6, rack c, 1 partition"]
    assert len(of_class(root, "ring")) == 9  # a set's each broker has one, beside those of other sets
    assert worst_sets(small(), 3) == ([((0, 1, 2), 2), ((0, 2, 4), 1), ((3, 4, 5), 1)], 3, 0)
    assert worst_sets(small(), 2) == ([((0, 1, 2), 2), ((0, 2, 4), 1)], 3, 1)


def test_three_hundred_brokers_stand_apart_on_the_sheet() -> None:
    cluster = large()
    root = drawn(cluster)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    circles = of_class(root, "broker")
    at = np.array([(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in circles])
    radius = float(circles[0].attrib["r"])
    assert len(at) == 300
    assert ((at > radius) & (at < (width - radius, height - radius))).all()
    apart = np.linalg.norm(at[:, None] - at[None, :], axis=2) + 2 * radius * np.eye(300)
    assert apart.min() >= 2 * radius  # no two overlap
    angles = np.arctan2(*(at - height / 2).T)
    for rack in range(10):  # neighbours on the circle
        members = np.sort(angles[cluster.rack_places == rack])
        gaps = np.diff(members, append=members[0] + 2 * np.pi)
        assert 2 * np.pi - gaps.max() < 2 * np.pi / 10
    assert len(of_class(root, "shares")) == MOST_LINES
    assert titles(root, "rack") == [f"rack r{n}: 30 brokers" for n in range(10)]
    assert len(set(titles(root, "broker"))) == 300


def test_words_are_large_and_apart_whatever_the_cluster() -> None:
    """Those of 300 brokers are of the worst sets only; other numbers are tooltips."""
    root = drawn(large())
    marked = {int(large().brokers[broker]) for found in worst_sets(large(), 3).worst for broker in found.brokers}
    assert {int(word) for word in words(root) if word.isdigit()} == marked
    assert {f"rack r{n}" for n in range(10)} <= set(words(root))
    assert "number of another broker: point at it" in words(root)
    for cluster in (small(), large(), neighbours()):
        assert_readable(drawn(cluster))


def neighbours() -> Placed:
    """Brokers of the worst sets stand next to each other, one of them at the circle's end."""
    groups = np.array([[1000, 1001, 1002], [1003, 1004, 1299], [1001, 1298, 1297]])
    return placed(0, [(b, None) for b in range(1000, 1300)], groups, np.full(3, 1))


def assert_readable(root: ElementTree.Element) -> None:
    """No word is small, leaves the sheet, or covers another; a letter is up to 0.7 of its height wide."""
    boxes = []
    for text in root.iter(f"{NAMESPACE}text"):
        size, wide = float(text.attrib["font-size"]), 0.7 * float(text.attrib["font-size"]) * len(text.text or "")
        assert size >= 14
        x = float(text.attrib["x"]) - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.attrib["text-anchor"]]
        assert "transform" not in text.attrib
        boxes.append((x, float(text.attrib["y"]) - size / 2, x + wide, float(text.attrib["y"]) + size / 2))
    at = np.array(boxes)
    sheet = (float(root.attrib["width"]), float(root.attrib["height"]))
    assert (at[:, :2] >= 0).all()
    assert (at[:, 2:] <= sheet).all()
    low, high = np.maximum(at[:, None, :2], at[None, :, :2]), np.minimum(at[:, None, 2:], at[None, :, 2:])
    both = (low < high).all(axis=2) & ~np.eye(len(at), dtype=bool)
    assert not both.any(), [(root_words[a], root_words[b]) for root_words in [words(root)] for a, b in np.argwhere(both)]


def test_many_racks_have_turned_names_or_tooltips() -> None:
    def turned(racks: int) -> list[bool]:
        cluster = placed(0, [(b, f"r{b % racks:03}") for b in range(2 * racks)], np.array([[0, 1]]), np.array([1]))
        texts = drawn(cluster).iter(f"{NAMESPACE}text")
        return ["transform" in text.attrib for text in texts if (text.text or "").startswith("rack r")]

    assert turned(10) == [False] * 10
    assert turned(60) == [True] * 60
    assert turned(200) == []


def test_spread() -> None:
    assert spread([], 1) == []
    assert spread([0, 0.25, 3], 1) == [0, 1, 3]
    assert spread([1, 6.75, 7.25], 0.5) == pytest.approx([1, 2 * np.pi, 2 * np.pi + 0.5])  # the first is at 7.28 again


def test_names_are_escaped(tmp_path: Path) -> None:
    cluster = placed(0, [(1, "<a>"), (2, None)], np.array([[1, 2]]), np.array([1]))
    write_picture([cluster], ["x & y"], str(tmp_path / "x.svg"))
    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    assert {"rack <a>", "Scenario x & y", "1, 2: lose 1 partition"} <= set(words(root))
    assert titles(root, "broker") == ["broker 1, rack <a>, 1 partition", "broker 2, no rack, 1 partition"]


def test_a_cluster_without_partitions() -> None:
    empty = placed(0, [(1, None)], np.empty((0, 0), np.int32), np.empty(0))
    assert "1 broker, 0 racks, 0 partitions" in svg(empty, "base")


def test_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """graph --picture x.html: a drawing for each scenario, nothing from elsewhere."""
    monkeypatch.setattr("emulator.cli.sessions.session", lambda *settings: _Session())
    monkeypatch.setattr("emulator.outcomes.sql.own_session", lambda spark: spark)
    monkeypatch.setattr("emulator.graphs.build.write_graph", lambda *given: None)
    (tmp_path / "x.toml").write_text(SIX + '\n[[variants]]\nname = "other"\nseed = 2\n', "utf-8")
    page = tmp_path / "x.html"
    assert main(["graph", str(tmp_path / "x.toml"), "--out", str(tmp_path / "out"), "--picture", str(page)]) == 0
    text = page.read_text("utf-8")
    assert re.findall("<h2>(.*)</h2>", text) == ["base", "other"]
    assert text.count("<svg") == 2
    assert not re.search(r'(src|href)="', text)


class _Session:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None
