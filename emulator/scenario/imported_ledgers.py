"""Ledgers of a real cluster, as `emulator import bookkeeper` left them in a folder of Parquet files."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.importers.bookkeeper.metadata_text import STATES
from emulator.scenario.config_keys import ConfigValue
from emulator.scenario.imported import BROKER_COLUMNS, CONFIG_COLUMNS, in_racks, read_brokers
from emulator.scenario.initial_ledgers import check_ledger_rows, check_lists
from emulator.scenario.ledger_configs import LEDGER_KEYS, MANAGED, effective
from emulator.scenario.model import FRAGMENTS, INITIAL_LEDGERS_SCHEMA, Broker, Topic
from emulator.scenario.rows import Rows, TableFiles
from emulator.scenario.table_files import Column

LEDGERS_FILE = "ledgers.parquet"
LEDGER_COLUMNS: Mapping[str, Column] = {
    "topic": Column(pa.string(), True),
    "partition": Column(pa.int32(), True),
    "state": Column(pa.string(), True),
    "last_entry": Column(pa.int64(), True),
    "bytes": Column(pa.int64(), True),
    "fragments": Column(FRAGMENTS, True),
    "ledger": Column(pa.int32()),
    "offloaded": Column(pa.bool_()),
}


@dataclass(frozen=True, eq=False)
class ImportedLedgers:
    """Bookies in order of id, topics in order of name with the last ensembles of their ledgers, and what ledgers start with."""

    brokers: tuple[Broker, ...]
    topics: tuple[Topic, ...]
    ledgers: pa.Table

    def with_racks(self, racks: int) -> ImportedLedgers:
        """Returns the same cluster with bookie b in rack (b - 1) mod racks."""
        return replace(self, brokers=in_racks(self.brokers, racks))


def read_ledger_import(folder: str, files: TableFiles) -> ImportedLedgers:
    """Reads brokers, ledgers and topic_configs: .parquet files. Raises InputError for the first thing that is wrong in one."""
    brokers = read_brokers(files.rows(posixpath.join(folder, "brokers.parquet"), BROKER_COLUMNS, extra=True))
    rows = files.rows(posixpath.join(folder, LEDGERS_FILE), LEDGER_COLUMNS, extra=True)
    rows.check_range("last_entry", -1)
    rows.check_range("bytes", 0)
    rows.check_member("state", STATES, "state", ", ".join(STATES))
    configs = _configs(files.rows(posixpath.join(folder, "topic_configs.parquet"), CONFIG_COLUMNS, extra=True))
    ledgers = rows.table.select(INITIAL_LEDGERS_SCHEMA.names).cast(INITIAL_LEDGERS_SCHEMA)
    topics = []
    start = 0
    for name, group in groupby(ledgers.to_pylist(), lambda ledger: ledger["topic"]):
        own = list(group)
        if configs.get(name, {}).get(MANAGED):
            topics.append(_list_of(rows, start, name, own, [b.id for b in brokers], configs[name]))
            start += len(own)
            continue
        for at, ledger in enumerate(own):
            if ledger["partition"] != at:
                problem = f"ledger {ledger['partition']} stands where {at} should follow"
                raise rows.error(start + at, "partition", problem, "each topic's ledgers from 0, all, once and in order")
        start += len(own)
        ensembles = [ledger["fragments"][-1]["ensemble"] if ledger["fragments"] else [] for ledger in own]
        if len({len(ensemble) for ensemble in ensembles}) != 1 or not ensembles[0]:
            raise rows.error(
                start - len(own), "fragments", f"ledgers of {name} differ in the size of their ensembles", "one size"
            )
        topics.append(Topic(name, np.array(ensembles, np.int32), configs.get(name, {}), "lowest_free_id"))
    check_lists(Rows(ledgers, rows.file, rows.place), {topic.name for topic in topics if topic.config.get(MANAGED)})
    check_ledger_rows(Rows(ledgers, rows.file, rows.place), topics, brokers, {})
    return ImportedLedgers(brokers, tuple(topics), ledgers.combine_chunks())


def _list_of(
    rows: Rows, start: int, name: str, own: list[dict[str, Any]], bookies: list[int], config: dict[str, ConfigValue]
) -> Topic:
    """A topic that is a list of ledgers, with the newest ensemble that is known in place of its first one."""
    size = int(effective({}, config, "ensembleSize"))
    known = [ledger["fragments"][-1]["ensemble"] for ledger in own if ledger["fragments"]]
    ensemble = known[-1] if known else sorted(bookies)[:size]
    for at, ledger in enumerate(own):
        if ledger["partition"] != 0:
            raise rows.error(start + at, "partition", f"{ledger['partition']} of {name}, which is one list", "0")
    if len(ensemble) != size:
        raise rows.error(start, "fragments", f"{name}: {len(ensemble)} bookies in an ensemble of {size}", f"{size} bookies")
    return Topic(name, np.array([ensemble], np.int32), config, "lowest_free_id")


def _configs(rows: Rows) -> dict[str, dict[str, ConfigValue]]:
    configs: dict[str, dict[str, ConfigValue]] = {}
    for row, entry in enumerate(rows.table.to_pylist()):
        known = LEDGER_KEYS.get(entry["key"])
        if entry["key"] == MANAGED and entry["value"] == "true":
            configs.setdefault(entry["topic"], {})[MANAGED] = True
            continue
        if known is None or known.type is not int or not str(entry["value"]).isdigit():
            raise rows.error(row, "key", f"{entry['key']} = {entry['value']} is no size of a ledger", "ensembleSize, ...")
        configs.setdefault(entry["topic"], {})[entry["key"]] = int(entry["value"])
    return configs
