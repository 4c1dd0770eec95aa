"""No round is missed in which something is done that is done every so many rounds. Nothing compiled."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.rounds.kafka.input_records import ScenarioRow, Settings
from emulator.rounds.kafka.periods import next_period
from emulator.rounds.kafka.records import Partition
from emulator.rounds.records import rows

OFTEN = 1_000_000


def row_of(record: type, **fields: int) -> Any:
    """A record with these fields, the others 0."""
    row = rows(record, 1)
    for name, value in fields.items():
        row[name] = value
    return row[0]


@pytest.mark.parametrize(
    ("periods", "bucket_rounds", "keeps_segments"),
    [
        ({"isr_check_rounds": 7}, OFTEN, 0),
        ({"checkpoint_rounds": 3, "isr_check_rounds": 10}, OFTEN, 0),
        ({"flush_rounds": 6}, OFTEN, 0),
        ({"rebalance_rounds": 9}, 4, 0),
        ({"retention_check_rounds": 5}, OFTEN, 1),
        ({"retention_check_rounds": 5}, 1, 0),
        ({"checkpoint_rounds": 1}, OFTEN, 0),
    ],
)
def test_the_next_period_is_the_first_round_in_which_one_ends(
    periods: dict[str, int], bucket_rounds: int, keeps_segments: int
) -> None:
    rest = {"isr_check_rounds": OFTEN, "checkpoint_rounds": OFTEN, "retention_check_rounds": OFTEN}
    settings = row_of(Settings, **(rest | periods))
    scenario = row_of(ScenarioRow, rounds=50, bucket_rounds=bucket_rounds)
    counted = [period for name, period in periods.items() if keeps_segments or name != "retention_check_rounds"]

    def ends(round_: int) -> bool:
        return any(round_ % period == 0 for period in counted) or (round_ + 1) % bucket_rounds == 0 or round_ == 49

    for now in range(49):
        part = row_of(Partition, now=now, keeps_segments=keeps_segments)
        assert next_period(part, scenario, settings) == next(round_ for round_ in range(now + 1, 50) if ends(round_)), now
