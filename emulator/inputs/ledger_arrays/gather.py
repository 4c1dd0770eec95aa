"""What the rounds of several scenarios read, put together: rows of records, the same ones once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.faults.kinds import FaultRow
from emulator.inputs.ledger_arrays.bookies import BookieArrays
from emulator.inputs.ledger_arrays.of_ledgers import Spans
from emulator.inputs.ledger_arrays.rules import RULES_PLACES, rules_records
from emulator.inputs.ledger_arrays.shares import limits_bookies, shares_of
from emulator.rounds.bookkeeper.constants import NOT_SHARED, USE_NOTED
from emulator.rounds.bookkeeper.inputs import (
    BookieRow,
    BookieShare,
    BookieSpan,
    Command,
    Crash,
    EntrySize,
    Inputs,
    OnTheWay,
    RemoteSpan,
    ScenarioRow,
    Settings,
    StoreSpan,
    TopicSettings,
    WorkloadSpan,
)
from emulator.rounds.draws import key_of_seed
from emulator.rounds.records import fields_of, rows
from emulator.scenario.model import Scenario


def records_of(record: type, values: Spans) -> Any:
    """Rows of a record, from their fields' values in order; one row at least, so that no array is empty."""
    filled = rows(record, max(1, len(values)))
    for name, column in zip(fields_of(record), zip(*values, strict=True), strict=False):
        filled[name] = column
    return filled


class RowsOf:
    """Rows of records from several places, one after the other."""

    def __init__(self, record: type) -> None:
        self._record = record
        self._rows: list[tuple[int, ...]] = []
        self._places: dict[Spans, int] = {}

    def put(self, values: Spans) -> int:
        """Where the first of these rows is; the same rows stand once."""
        if values not in self._places:
            self._places[values] = len(self._rows)
            self._rows += values
        return self._places[values]

    def add(self, values: Spans) -> int:
        """Where the first of these rows is; they stand behind all others."""
        self._rows += values
        return len(self._rows) - len(values)

    def records(self) -> Any:
        """All of them; one row at least, so that no array is empty."""
        return records_of(self._record, tuple(self._rows))


class GatheredInputs:
    """The inputs of a block, while they are put together."""

    def __init__(self) -> None:
        self.scenarios = RowsOf(ScenarioRow)
        self.bookies, self.bookie_spans, self.store_spans = RowsOf(BookieRow), RowsOf(BookieSpan), RowsOf(StoreSpan)
        self.shares = RowsOf(BookieShare)
        self.settings, self.workload, self.commands = RowsOf(Settings), RowsOf(WorkloadSpan), RowsOf(Command)
        self.on_the_way, self.sizes = RowsOf(OnTheWay), RowsOf(EntrySize)
        self.topics, self.remote_spans, self.crashes = RowsOf(TopicSettings), RowsOf(RemoteSpan), RowsOf(Crash)

    def add_scenario(
        self, scenario: Scenario, faults: Sequence[FaultRow], arrays: BookieArrays, leaps: bool, bucket_rounds: int
    ) -> tuple[int, int]:
        """Take in a scenario. Returns (its place, that of its metadata store's first span)."""
        first_span = self.bookie_spans.add(arrays.spans)
        first_bookie = self.bookies.add(
            tuple((broker, rack, region, first_span + first, count) for broker, rack, region, first, count in arrays.bookies)
        )
        self.shares.add(shares_of(scenario, arrays.ids))
        ends = [fault.to_round for fault in faults if fault.kind != "client_crash"]
        first_store_span = self.store_spans.put(arrays.store)
        row = {
            "rules": RULES_PLACES[scenario.protocol],
            "rounds": scenario.rounds,
            "draw_key": key_of_seed(scenario.seed),
            "leaps": int(leaps),
            "bucket_rounds": bucket_rounds,
            "first_bookie": first_bookie,
            "bookies": len(arrays.ids),
            "quiet_from": max([0, *ends, *(command.round for command in scenario.commands)]),
            "sharing": USE_NOTED if limits_bookies(scenario) else NOT_SHARED,
        }
        return self.scenarios.add((tuple(row[name] for name in fields_of(ScenarioRow)),)), first_store_span

    def inputs(self) -> Inputs:
        """All of it."""
        return Inputs(
            self.scenarios.records(),
            rules_records(),
            self.bookies.records(),
            self.bookie_spans.records(),
            self.shares.records(),
            self.store_spans.records(),
            self.settings.records(),
            self.workload.records(),
            self.commands.records(),
            self.on_the_way.records(),
            self.sizes.records(),
            self.topics.records(),
            self.remote_spans.records(),
            self.crashes.records(),
        )
