"""`emulator import bookkeeper`: ledgers of a real cluster become what an emulation of ledgers starts with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from emulator.errors import InputError
from emulator.importers.bookkeeper.internal_stats import TopicLedger, read_internal_stats
from emulator.importers.bookkeeper.metadata_text import SIZES, STATES, LedgerText, parse_metadata, read_ledgers
from emulator.importers.output_folder import check_out, write_import
from emulator.importers.text_input import is_topic_name
from emulator.scenario.ledger_configs import DEFAULT_ENTRY_BYTES, MANAGED

NO_OWNER = "ledgers"
"""Topic of ledgers whose metadata name no managed ledger."""

_BROKERS = pa.schema([("broker", pa.int32()), ("rack", pa.string()), ("address", pa.string())])
_FRAGMENTS = pa.list_(pa.struct([("first_entry", pa.int64()), ("ensemble", pa.list_(pa.int32()))]))
_LEDGERS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("ledger_id", pa.int64()),
        ("state", pa.string()),
        ("last_entry", pa.int64()),
        ("bytes", pa.int64()),
        ("fragments", _FRAGMENTS),
        ("ledger", pa.int32()),
        ("offloaded", pa.bool_()),
    ]
)
_CONFIGS = pa.schema([("topic", pa.string()), ("key", pa.string()), ("value", pa.string())])


@dataclass
class LedgerImportSummary:
    """How much was imported (counts), and what had to be assumed or was left out (notes, one sentence each)."""

    bookies: int
    topics: int
    ledgers: int
    open_ledgers: int
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The summary for people: a line of counts, then a line a note."""
        counts = f"{self.bookies} bookies, {self.topics} topics, {self.ledgers} ledgers, {self.open_ledgers} of them not closed"
        return [counts, *(f"note: {note}" for note in self.notes)]


def import_bookkeeper(
    ledgers: Sequence[str], internal_stats: Mapping[str, str], out: str, as_lists: bool = False
) -> LedgerImportSummary:
    """Imports ledgers from the output of BookKeeper's shell and of Pulsar's admin tool.

    Args:
        ledgers: files with the output of `bookkeeper shell ledgermetadata` or `listledgers -meta`.
        internal_stats: by topic name a file with the output of `pulsar-admin topics stats-internal --metadata`.
        out: local folder to write; there complete or not at all, an earlier import in it is replaced.
        as_lists: a topic of `internal_stats` comes in as one partition with its list of ledgers, offloaded ones included.

    Writes:
        brokers.parquet: broker (numbered from 1 in the order of addresses), rack (null), address.
        ledgers.parquet: topic, partition (from 0, in the order of ledger ids), ledger_id, state, last_entry (-1: none), bytes,
            fragments (first_entry, ensemble). With `as_lists` of a topic's: partition 0, ledger (its number in the list),
            offloaded; one that bookies haven't got any more has no fragments.
        topic_configs.parquet: topic, key, value: the sizes of its ledgers' quorums, managedLedger of a list.
        import_summary.json: the summary returned.

    Raises:
        InputError: a file is wrong, or two contradict each other; nothing is written.
    """
    check_out(out)
    if not ledgers and not internal_stats:
        raise InputError("--ledgers: no file is given; allowed: --ledgers FILE, --internal-stats TOPIC=FILE, or both")
    texts = _read_texts(ledgers)
    stats = {topic: read_internal_stats(path) for topic, path in sorted(internal_stats.items())}
    owners = {ledger_id: _topic_name(text.owner) for ledger_id, (text, _) in texts.items()}
    notes: Counter[str] = Counter()
    held = _add_stats(texts, owners, stats, internal_stats, notes, as_lists)
    if not texts:
        path = next(iter(internal_stats.values()))
        raise InputError.at(path, "ledgers", "no metadata of any ledger", "stats-internal --metadata, or --ledgers beside it")
    found = [text for text, _ in texts.values()]
    ids = {address: 1 + at for at, address in enumerate(sorted({b for text in found for _, e in text.fragments for b in e}))}
    names = _names(found, owners)
    lists = _lists(stats, internal_stats, texts) if as_lists else {}
    for topic, of_topic in lists.items():
        names |= {one.ledger_id: topic for one in of_topic}
    rows, places = [], Counter[str]()
    for text in sorted(found, key=lambda text: (names[text.ledger_id], text.ledger_id)):
        topic = names[text.ledger_id]
        last, size = _end(text, held.get(text.ledger_id), _mean_bytes(topic, names, held), notes)
        fragments = [{"first_entry": first, "ensemble": [ids[b] for b in bookies]} for first, bookies in text.fragments]
        row = {"topic": topic, "partition": places[topic], "ledger_id": text.ledger_id, "state": text.state}
        rows.append({**row, "last_entry": last, "bytes": size, "fragments": fragments})
        places[topic] += 1
    rows = _with_lists(rows, lists, notes)
    configs = {names[text.ledger_id]: text.sizes for text in found}
    flat = [
        {"topic": topic, "key": key, "value": str(value)}
        for topic, sizes in sorted(configs.items())
        for key, value in zip(SIZES, sizes, strict=True)
    ]
    flat += [{"topic": topic, "key": MANAGED, "value": "true"} for topic in lists]
    tables = {
        "brokers": pa.Table.from_pylist([{"broker": n, "rack": None, "address": a} for a, n in ids.items()], _BROKERS),
        "ledgers": pa.Table.from_pylist(rows, _LEDGERS),
        "topic_configs": pa.Table.from_pylist(flat, _CONFIGS),
    }
    open_ledgers = sum(text.state != "CLOSED" for text in found)
    said = ["racks are in none of these files: null", *(f"{count} {what}" for what, count in notes.items())]
    summary = LedgerImportSummary(len(ids), len(configs), len(rows), open_ledgers, said)
    write_import(out, tables, asdict(summary))
    return summary


def _read_texts(paths: Sequence[str]) -> dict[int, tuple[LedgerText, str]]:
    """By ledger its metadata, and the file that they come from; raises InputError if two files say different things of it."""
    texts: dict[int, tuple[LedgerText, str]] = {}
    for path in paths:
        for text in read_ledgers(path):
            known = texts.setdefault(text.ledger_id, (text, path))
            if known[0] != text:
                problem = f"is another one than in {known[1]}"
                raise InputError.at(path, f"ledger {text.ledger_id}", problem, "metadata of one moment")
    return texts


def _add_stats(
    texts: dict[int, tuple[LedgerText, str]],
    owners: dict[int, str],
    stats: Mapping[str, Sequence[TopicLedger]],
    paths: Mapping[str, str],
    notes: Counter[str],
    as_lists: bool,
) -> dict[int, TopicLedger]:
    """Topics' ledgers: what their metadata say is added where no shell said it, and they get their topic's name. By id."""
    held: dict[int, TopicLedger] = {}
    for topic, of_topic in stats.items():
        path = paths[topic]
        if not is_topic_name(_topic_name(topic)):
            raise InputError.at(path, "--internal-stats", f"{topic!r} is no topic", "TENANT/NAMESPACE/TOPIC, or its name")
        for at, ledger in enumerate(of_topic):
            if ledger.metadata is not None:
                text = parse_metadata(path, f"ledgers[{at}], metadata", ledger.ledger_id, ledger.metadata)
                texts.setdefault(ledger.ledger_id, (text, path))
            if ledger.ledger_id not in texts and as_lists and ledger.offloaded:
                continue
            if ledger.ledger_id not in texts:
                notes["ledgers of topics without metadata: left out (stats-internal --metadata, or --ledgers)"] += 1
                continue
            if ledger.offloaded and not as_lists:
                notes["offloaded ledgers: taken as if bookies still had them"] += 1
            owners[ledger.ledger_id] = _topic_name(topic)
            held[ledger.ledger_id] = ledger
    return held


def _lists(
    stats: Mapping[str, Sequence[TopicLedger]], paths: Mapping[str, str], texts: Mapping[int, tuple[LedgerText, str]]
) -> dict[str, list[TopicLedger]]:
    """By topic its list: ledgers with metadata, and offloaded ones without; raises InputError for two sizes of ensembles."""
    lists: dict[str, list[TopicLedger]] = {}
    for topic, of_topic in stats.items():
        kept = [one for one in of_topic if one.ledger_id in texts or one.offloaded]
        sizes = {texts[one.ledger_id][0].sizes for one in kept if one.ledger_id in texts}
        if len(sizes) > 1:
            found = " and ".join("/".join(map(str, one)) for one in sorted(sizes))
            allowed = "one size, or the import without --as-lists"
            raise InputError.at(paths[topic], "ledgers", f"quorums {found} in one list", allowed)
        not_closed = [one for one in kept[:-1] if one.ledger_id in texts and texts[one.ledger_id][0].state != STATES[-1]]
        if not_closed:
            problem = f"ledger {not_closed[0].ledger_id} before the last is {texts[not_closed[0].ledger_id][0].state}"
            raise InputError.at(paths[topic], "ledgers", problem, "all but the last of a list CLOSED")
        if sizes:
            lists[_topic_name(topic)] = kept
    return lists


def _with_lists(
    rows: list[dict[str, Any]], lists: Mapping[str, Sequence[TopicLedger]], notes: Counter[str]
) -> list[dict[str, Any]]:
    """The rows with those of lists numbered in the order of the list, and offloaded ones added of which bookies have nothing."""
    known = {row["ledger_id"]: row for row in rows}
    listed = {one.ledger_id for of_topic in lists.values() for one in of_topic}
    if strangers := [row for row in rows if row["topic"] in lists and row["ledger_id"] not in listed]:
        notes["ledgers of topics that aren't in their lists: left out"] += len(strangers)
    whole = [row for row in rows if row["topic"] not in lists]
    for topic, of_topic in lists.items():
        for number, one in enumerate(of_topic):
            gone = {"state": STATES[-1], "last_entry": one.entries - 1, "bytes": one.size_bytes, "fragments": []}
            row = known.get(one.ledger_id, {"ledger_id": one.ledger_id, **gone})
            whole.append({**row, "topic": topic, "partition": 0, "ledger": number, "offloaded": one.offloaded})
    return sorted(whole, key=lambda row: (row["topic"], row["partition"], row.get("ledger") or 0))


def _end(text: LedgerText, held: TopicLedger | None, mean: int, notes: Counter[str]) -> tuple[int, int]:
    """The last entry and the bytes of a ledger: of an open one what its topic's broker counts, else what its fragments show.

    `mean`: bytes of an entry of the topic's other ledgers, of an open one whose bytes the broker doesn't say.
    """
    if text.last_entry is not None and text.length is not None:
        return text.last_entry, text.length
    least = text.fragments[-1][0] - 1
    if held is not None and held.entries - 1 >= least:
        if held.entries > 0 and held.size_bytes == 0:
            guess = f"{mean} an entry, as the topic's others have"
            notes[f"ledgers that are not closed, and no broker counts their bytes: {guess}"] += 1
            return held.entries - 1, held.entries * mean
        return held.entries - 1, held.size_bytes
    guess = f"up to their last fragment, of {DEFAULT_ENTRY_BYTES} bytes each"
    notes[f"ledgers that are not closed, and no broker counts their entries: {guess}"] += 1
    return least, DEFAULT_ENTRY_BYTES * (least + 1)


def _mean_bytes(topic: str, names: Mapping[int, str], held: Mapping[int, TopicLedger]) -> int:
    """Bytes of an entry, of those ledgers of a topic whose broker says both."""
    counted = [one for ledger_id, one in held.items() if names.get(ledger_id) == topic and one.size_bytes > 0]
    entries = sum(one.entries for one in counted)
    return sum(one.size_bytes for one in counted) // entries if entries else DEFAULT_ENTRY_BYTES


def _names(found: Sequence[LedgerText], owners: Mapping[int, str]) -> dict[int, str]:
    """By ledger the topic that it goes to: its owner's; with its quorums where an owner's ledgers have different ones."""
    sizes: dict[str, set[tuple[int, int, int]]] = {}
    for text in found:
        sizes.setdefault(owners[text.ledger_id], set()).add(text.sizes)
    return {
        text.ledger_id: owners[text.ledger_id]
        + ("" if len(sizes[owners[text.ledger_id]]) == 1 else "-" + "-".join(map(str, text.sizes)))
        for text in found
    }


def _topic_name(owner: str | None) -> str:
    """A name that scenario files take: public/default/persistent/orders is public.default.persistent.orders."""
    if owner is None:
        return NO_OWNER
    path = owner.removeprefix("persistent://")
    path = path if path == owner or path.count("/") != 2 else "{}/{}/persistent/{}".format(*path.split("/"))
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "." for c in path)
