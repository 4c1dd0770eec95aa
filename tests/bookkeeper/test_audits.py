"""When the auditor takes missing bookies for lost, by hand (docs/bookkeeper_rounds.md, Repair). Needs no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from emulator.inputs.ledger_arrays.audits import Missing, audits_of, missing_of, with_audits
from emulator.rounds.bookkeeper.constants import DEAD, DECOMMISSIONED, FOREVER, UNREGISTERED


@pytest.mark.parametrize(
    ("missing", "delay", "audits"),
    [
        ({1: [(20, FOREVER)]}, 20, [40]),
        ({1: [(20, 40)]}, 20, []),
        ({1: [(20, 41)]}, 20, [40]),
        ({1: [(20, FOREVER)]}, 0, [20]),
        ({1: [(20, FOREVER)], 2: [(30, FOREVER)], 3: [(32, FOREVER)]}, 20, [30, 52]),  # the page's
        ({1: [(20, FOREVER)], 2: [(20, 25)]}, 20, [20]),  # a rack of two
        ({1: [(20, 30)], 2: [(30, FOREVER)]}, 20, [50]),  # the one is back when the other goes
        ({1: [(20, FOREVER)], 2: [(40, FOREVER)]}, 20, [40]),
        ({1: [(20, FOREVER)], 2: [(41, FOREVER)]}, 20, [40, 61]),
        ({1: [(20, 25), (26, FOREVER)]}, 20, [46]),
        ({}, 20, []),
    ],
)
def test_rounds_of_audits(missing: Mapping[int, Sequence[Missing]], delay: int, audits: list[int]) -> None:
    assert audits_of(missing, delay) == audits


def test_who_is_missing() -> None:
    """Not before it has joined and was registered, nor once it is decommissioned."""
    gone = DEAD | UNREGISTERED
    spans = [(0, gone), (10, 0), (20, gone), (30, gone | DECOMMISSIONED)]
    assert missing_of(spans, 10) == [(20, 30)]
    assert missing_of(spans[:3], 0) == [(0, 10), (20, FOREVER)]
    assert missing_of(spans[:3], 1) == missing_of(spans[:3], 10) == [(20, FOREVER)]


def test_a_span_has_the_first_audit_while_it_is_missing() -> None:
    spans = [(0, 0), (20, 1), (25, 2), (50, 0)]
    assert with_audits(spans, [(20, 50)], [10, 40, 45]) == [(0, 0, FOREVER), (20, 1, 40), (25, 2, 40), (50, 0, FOREVER)]
    assert with_audits(spans[1:2], [(20, 50)], [50]) == [(20, 1, FOREVER)]
