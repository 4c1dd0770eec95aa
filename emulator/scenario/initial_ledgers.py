"""What ledgers start with: `[[initial.ledgers]]`, and those of an import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import pyarrow as pa

from emulator.errors import listing, quoted
from emulator.scenario.config_keys import ConfigValue
from emulator.scenario.faults import broker_ids_allowed
from emulator.scenario.initial_rows import check_keys
from emulator.scenario.ledger_configs import DEFAULT_ENTRY_BYTES, MANAGED, effective, is_managed
from emulator.scenario.model import INITIAL_LEDGERS_SCHEMA, Broker, Topic
from emulator.scenario.places import Places
from emulator.scenario.rows import Rows, rows_of_list
from emulator.scenario.shapes import InitialLedgerShape, InitialShape
from emulator.scenario.topics import Layout

CLOSED = "CLOSED"
_OF_PARTITIONS = ("partitions", "replicas", "remote_segments")


def resolve_initial_ledgers(
    places: Places,
    shape: InitialShape,
    topics: Sequence[Topic],
    brokers: Sequence[Broker],
    config: Mapping[str, ConfigValue],
    imported: pa.Table | None,
) -> pa.Table:
    """Returns the ledgers that start with something (INITIAL_LEDGERS_SCHEMA): the imported ones first, then the file's.

    A ledger without `fragments` has one from 0 on, with its first ensemble; entries without `bytes` have 1000 each. Raises
    InputError for the first one that is no ledger there is, stands twice, or whose fragments are not what a ledger can have.
    """
    for key in _OF_PARTITIONS:
        if getattr(shape, key):
            raise places.error(("initial", key), "ledgers have no use for it", "initial.ledgers")
    layout = Layout.of(topics)
    first = {topic.name: topic.assignment for topic in topics}
    rows = rows_of_list(places, ("initial", "ledgers"), [e.model_dump() for e in shape.ledgers], INITIAL_LEDGERS_SCHEMA)
    check_keys(rows, layout)
    given = [_filled(entry, first[entry.topic][entry.partition].tolist()) for entry in shape.ledgers]
    lists = {topic.name for topic in topics if is_managed(config, topic.config)}
    check_lists(Rows(pa.Table.from_pylist(given, INITIAL_LEDGERS_SCHEMA), rows.file, rows.place), lists)
    rows = Rows(pa.Table.from_pylist(given, INITIAL_LEDGERS_SCHEMA), rows.file, rows.place)
    check_ledger_rows(rows, topics, brokers, config)
    seen = set() if imported is None else set(_keys(imported))
    for row, ledger in enumerate(_keys(rows.table)):
        if ledger in seen:
            raise rows.error(row, "partition", f"{ledger[1]} stands twice for {ledger[0]}", "each ledger once")
        seen.add(ledger)
    return rows.table if imported is None else pa.concat_tables([imported, rows.table])


def check_ledger_rows(rows: Rows, topics: Sequence[Topic], brokers: Sequence[Broker], config: Mapping[str, ConfigValue]) -> None:
    """Raises InputError for the first ledger whose fragments don't rise from 0 to its end, or whose ensembles can't be."""
    sizes = {topic.name: int(effective(config, topic.config, "ensembleSize")) for topic in topics}
    ids = sorted(b.id for b in brokers)
    known = frozenset(ids)
    for row, ledger in enumerate(rows.table.to_pylist()):
        if ledger["offloaded"] and not ledger["fragments"]:
            continue
        starts = [fragment["first_entry"] for fragment in ledger["fragments"]]
        end = ledger["last_entry"] + 1
        if not starts or starts[0] != 0 or starts != sorted(set(starts)) or starts[-1] > end:
            problem = f"{quoted(starts)}: fragments do not rise from 0 to the end of the ledger"
            raise rows.error(row, "fragments", problem, f"first entries that rise from 0, none above {end}")
        for fragment in ledger["fragments"]:
            ensemble, size = fragment["ensemble"], sizes[ledger["topic"]]
            if len(ensemble) != size:
                problem = f"{quoted(ensemble)}: {len(ensemble)} bookies in an ensemble of ensembleSize {size}"
                raise rows.error(row, "fragments", problem, f"{size} bookies")
            if len(set(ensemble)) < size:
                raise rows.error(row, "fragments", f"{quoted(ensemble)} has a bookie twice", "each bookie once")
            strangers = sorted(set(ensemble) - known)
            if strangers:
                raise rows.error(row, "fragments", f"bookie {strangers[0]} does not exist", broker_ids_allowed(ids))


def check_lists(rows: Rows, lists: Set[str]) -> None:
    """Raises InputError unless ledgers of topics that are `lists` have their numbers in these, in order, and only they.

    All but the last of a list are CLOSED; of an offloaded one that bookies haven't got any more there are no fragments.
    """
    counts: dict[tuple[str, int], int] = {}
    newest: dict[tuple[str, int], str] = {}
    for row, ledger in enumerate(rows.table.to_pylist()):
        key = (ledger["topic"], ledger["partition"])
        if ledger["topic"] not in lists:
            for name in ("ledger", "offloaded"):
                if ledger[name]:
                    raise rows.error(row, name, f"{key[0]} is no list of ledgers", f"it for a topic with {MANAGED} = true")
            continue
        expected = counts.get(key, 0)
        if ledger["ledger"] != expected:
            found = "is missing" if ledger["ledger"] is None else f"{ledger['ledger']} stands where {expected} should follow"
            raise rows.error(row, "ledger", found, "the ledgers of a list from 0, each once and in order")
        if newest.get(key, CLOSED) != CLOSED:
            raise rows.error(
                row, "state", f"ledger {expected - 1} before it is {newest[key]}", "all but the last of a list CLOSED"
            )
        if ledger["offloaded"] and ledger["state"] != CLOSED:
            raise rows.error(row, "offloaded", f"a ledger that is {ledger['state']}", "an offloaded ledger CLOSED")
        if not ledger["fragments"] and not ledger["offloaded"]:
            raise rows.error(row, "fragments", "is missing", "fragments of a ledger that bookies have")
        counts[key], newest[key] = expected + 1, ledger["state"]


def refuse_ledgers(places: Places, shape: InitialShape) -> None:
    """Raises InputError if partitions are to start with ledgers."""
    if shape.ledgers:
        raise places.error(
            ("initial", "ledgers"), "partitions have no use for it", listing(f"initial.{k}" for k in _OF_PARTITIONS)
        )


def _filled(entry: InitialLedgerShape, ensemble: list[int]) -> dict[str, Any]:
    row = entry.model_dump()
    if row["fragments"] is None and entry.ledger is not None:
        row["fragments"] = []
    elif row["fragments"] is None:
        row["fragments"] = [{"first_entry": 0, "ensemble": ensemble}]
    if row["bytes"] is None:
        row["bytes"] = (entry.last_entry + 1) * DEFAULT_ENTRY_BYTES
    return row


def _keys(table: pa.Table) -> list[tuple[str, int, int | None]]:
    return list(zip(*(table.column(name).to_pylist() for name in ("topic", "partition", "ledger")), strict=True))
