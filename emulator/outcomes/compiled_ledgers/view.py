"""The ledgers of a block, by themselves or of topics, as tables look at them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.columns import lists_of
from emulator.outcomes.compiled_ledgers.names import LedgerNames
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.play_block import Told
from emulator.rounds.bookkeeper.state import LIST_RECORDS, State
from emulator.rounds.packed import entries_of
from emulator.table_columns.arrow_columns import arrow_schema

BROKERS: pa.DataType = arrow_schema("fragments").field("ensemble").type


@dataclass
class LedgerView:
    """`ledgers` with their `lists`; `unit`: by ledger, the place of what names it. `kept`: whether bookies have it, `traced`:
    whether its entries are a table.
    """

    names: LedgerNames
    inputs: Inputs
    ledgers: Any
    lists: State
    told: Told
    unit: np.ndarray
    kept: np.ndarray
    traced: np.ndarray

    @cached_property
    def settings(self) -> Any:
        """By ledger its settings."""
        settings: Any = self.inputs.settings
        return settings[self.ledgers.settings]

    def records(self, name: str) -> Any:
        """All entries of a list, of all ledgers."""
        record = LIST_RECORDS[name][1]
        assert record is not None
        return entries_of(record, getattr(self.lists, name))

    def owners(self, name: str) -> np.ndarray:
        """By entry of a list, whose it is."""
        return np.repeat(np.arange(len(self.ledgers)), np.diff(getattr(self.lists, name).offsets))

    def named(self, owners: np.ndarray) -> dict[str, Any]:
        """The columns that name ledgers in tables with one row a ledger or more."""
        return self.names.at(self.unit[owners]) | {"ledger": self.ledgers.in_list[owners]}

    def ensembles(self, rows: np.ndarray, in_order: bool = False) -> pa.Array:
        """Broker ids of rows of the fragments' ensembles; `in_order`: sorted."""
        return self.brokers_at(self.owners("fragments")[rows], self.lists.ensembles.words[rows], in_order)

    def brokers_at(self, owners: np.ndarray, slots: np.ndarray, in_order: bool = False) -> pa.Array:
        """Broker ids of ensembles, given as rows of slots and by row whose they are; `in_order`: sorted."""
        sizes = self.settings.ensemble_size[owners]
        is_member = np.arange(slots.shape[1]) < sizes[:, None]
        first = self.lists.bookies.offsets[owners]
        brokers = self.records("bookies").broker[np.where(is_member, first[:, None] + slots, 0)]
        if in_order:
            brokers = np.sort(np.where(is_member, brokers, np.iinfo(np.int64).max), axis=1)
        return lists_of(sizes, brokers[is_member], BROKERS)

    @cached_property
    def last_fragments(self) -> np.ndarray:
        """By ledger the row of the fragment added last."""
        last: np.ndarray = self.lists.fragments.offsets[1 : len(self.ledgers) + 1] - 1
        return last
