"""Invariants of ledgers see a state that breaks them: such as no rule, and no mutant, leads to. No Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.rounds.bookkeeper.constants import CLOSED
from emulator.rounds.bookkeeper.invariants import NAMES
from emulator.rounds.bookkeeper.play_block import Scratch, play
from tests.rounds.bookkeeper.compared import played
from tests.rounds.kafka.compared import scenarios_of

SCENARIO = """
protocol = "bookkeeper"
rounds = 4
[cluster]
brokers = 3
[[topics]]
name = "l"
assignment = [[1, 2, 3]]
config = { ensembleSize = 3, writeQuorumSize = 2, ackQuorumSize = 2 }
[[initial.ledgers]]
topic = "l"
partition = 0
last_entry = 5
state = "CLOSED"
"""


def ends_behind_the_last_entry(ledger: Any) -> None:
    """The ledger ends behind what was ever written."""
    ledger.last_entry = ledger.next_entry


def healthy(ledger: Any) -> None: ...


@pytest.mark.parametrize(("spoil", "broken"), [(healthy, set()), (ends_behind_the_last_entry, {"NoOutOfOrderEntries"})])
def test_a_spoiled_state_breaks_it(spoil: Callable[[Any], None], broken: set[str], tmp_path: Path) -> None:
    block = played(scenarios_of(SCENARIO, tmp_path).scenarios).block
    spoil(block.state.ledgers[0])
    assert block.state.ledgers[0].state == CLOSED
    _, told = play(block.state, block.inputs, Scratch())
    assert {NAMES[row.invariant] for row in told.violations} == broken
