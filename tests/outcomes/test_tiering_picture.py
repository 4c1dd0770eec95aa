"""The picture of the tiering report: what is written on it, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emulator.errors import InputError
from emulator.outcomes.tiering_picture import refuse_other_formats, write_picture
from emulator.outcomes.tiering_report import COST_ITEMS


def _scenario(name: str, **values: Any) -> dict[str, Any]:
    nothing = {"slowest_new_follower_seconds": None, "never_joined": 0, "acked_lost": 0, "committed_lost": 0}
    return {"scenario": name, "currency": "USD", **dict.fromkeys(COST_ITEMS.values(), 0.0), **nothing, **values}


REPORT = [
    _scenario("base", instances_cost=1000.0, put_cost=30.0, get_cost=4.0, slowest_new_follower_seconds=180.0),
    _scenario("local only", instances_cost=2000.0, never_joined=300, acked_lost=1234),
]
OVER_TIME = [
    {"scenario": name, "hours": hours, "local_bytes": int(tb * 10**12), "remote_bytes": 0}
    for name, hours, tb in (("base", 1.0, 2.0), ("base", 2.0, 2.5), ("local only", 1.0, 2.0), ("local only", 2.0, 4.0))
]


def test_what_is_written_on_it(tmp_path: Path) -> None:
    path = tmp_path / "policies.svg"
    write_picture(REPORT, OVER_TIME, str(path))
    drawn = path.read_text("utf-8")
    for said in ("1,034", "2,000", "3 min", "300 not in the ISR at the end", "1,234 acknowledged records lost", "TB", "USD"):
        assert said in drawn, said
    assert drawn.count(">local only<") >= 3  # both charts of bars, and a legend


def test_the_same_run_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("one.svg", "other.svg"):
        write_picture(REPORT, OVER_TIME, str(tmp_path / name))
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()


def test_png(tmp_path: Path) -> None:
    write_picture(REPORT, OVER_TIME, str(tmp_path / "policies.png"))
    assert (tmp_path / "policies.png").read_bytes().startswith(b"\x89PNG")


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--picture: .* cannot be written: "):
        write_picture(REPORT, OVER_TIME, str(tmp_path / "gone" / "policies.svg"))


def test_other_formats() -> None:
    with pytest.raises(InputError, match=r"policies.xls is of no known format; allowed: a file that ends in .*png"):
        refuse_other_formats("policies.xls")
