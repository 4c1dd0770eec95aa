"""300 random cases, compiled rounds against the reference: `python -m tests.rounds.kafka.reference_cases`; a process of its own.

For the forms that rounds can run in besides the one that is shipped, which environment variables choose before the first import.
Rooms of lists start tiny, so that every list is full at some time; those of rows told in the first batch, as every partition that
finds no room for its rows is played twice.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path

from emulator.rounds.compiled import is_compiling
from tests.quick_rows import play_with_quick_rows
from tests.reference.kafka import simulate
from tests.reference.random_scenarios import cases_of, random_batch, to_toml
from tests.rounds.kafka.compared import all_known, differences, played, scenarios_of

BATCHES = ((11, {}), (12, {"late_news": True}), (13, {"elr": True, "late_news": True}))
CASES_OF_BATCH = 100
ROOM, AMPLE = 2, 100_000


def main() -> int:
    """Prints what differs, the first column of each case; returns the cases that do."""
    if not is_compiling():
        import_module("tests.quick_records")
        play_with_quick_rows()
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (seed, knows) in enumerate(BATCHES):
            batch = random_batch(seed, CASES_OF_BATCH, **knows)
            scenarios = scenarios_of(to_toml(batch), Path(folder)).scenarios
            game = played(scenarios, room=ROOM, rows_told=AMPLE if number else ROOM)
            known = all_known(game)
            for place, case in enumerate(cases_of(batch)):
                if found := differences(simulate(case), game, place, known):
                    differing += 1
                    print(f"batch {seed}, case {place}: {found[0]}")
    return differing


if __name__ == "__main__":
    sys.exit(min(main(), 1))
