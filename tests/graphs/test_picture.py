"""The drawing of failure domains: who stands where, what is marked, and that nothing leaves the sheet."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from emulator.cli import main
from emulator.graphs.picture import MOST_CHORDS, svg, worst_sets, write_picture
from emulator.graphs.placed import Placed, placed
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


def test_six_brokers() -> None:
    root = ElementTree.fromstring(svg(small(), "base"))
    words = [text.text for text in root.iter(f"{NAMESPACE}text")]
    assert [word for word in words if word and word.isdigit()] == ["1", "2", "3", "4", "5", "6"]
    assert {"rack a", "rack b", "rack c", "6 brokers, 3 racks, 4 partitions", "1, 2, 3: lose 2 partitions"} <= set(words)
    assert len(list(root.iter(f"{NAMESPACE}path"))) == 8  # pairs that share partitions
    assert len(list(root.iter(f"{NAMESPACE}polygon"))) == 3
    assert [(found.brokers, found.partitions) for found in worst_sets(small())] == [
        ((0, 1, 2), 2),
        ((0, 2, 4), 1),
        ((3, 4, 5), 1),
    ]


def test_three_hundred_brokers_stand_apart_on_the_sheet() -> None:
    cluster = large()
    root = ElementTree.fromstring(svg(cluster, "base"))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    circles = [c for c in root.iter(f"{NAMESPACE}circle") if c.attrib.get("stroke")]
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
    assert len(list(root.iter(f"{NAMESPACE}path"))) == MOST_CHORDS


def test_names_are_escaped(tmp_path: Path) -> None:
    cluster = placed(0, [(1, "<a>"), (2, None)], np.array([[1, 2]]), np.array([1]))
    write_picture([cluster], ["x & y"], str(tmp_path / "x.svg"))
    words = [text.text for text in ElementTree.parse(tmp_path / "x.svg").iter(f"{NAMESPACE}text")]
    assert {"rack <a>", "Scenario x & y", "1, 2: lose 1 partition"} <= set(words)


def test_a_cluster_without_partitions() -> None:
    empty = placed(0, [(1, None)], np.empty((0, 0), np.int32), np.empty(0))
    assert "1 brokers, 0 racks, 0 partitions" in svg(empty, "base")


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
