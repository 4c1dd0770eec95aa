"""A Pulsar topic's ledgers, as `pulsar-admin topics stats-internal [--metadata] TOPIC` prints them: JSON.

Keys used: ledgers (ledgerId, entries, size, offloaded, metadata), of which the last is written to and has 0 entries and bytes
until it is closed; currentLedgerEntries and currentLedgerSize, which count it; lastConfirmedEntry ("LEDGER:ENTRY"), the last
entry that is acknowledged. Source: ManagedLedgerInternalStats of Pulsar 4.0.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from emulator.errors import InputError
from emulator.importers.text_input import MAX_INT64, read_text

STATS_ALLOWED = 'the output of "pulsar-admin topics stats-internal --metadata TOPIC"'


_POSITION = re.compile(r"(-?[0-9]+):(-?[0-9]+)")


@dataclass(frozen=True)
class TopicLedger:
    """One ledger of a topic: its entries and bytes, whether it was offloaded, and its metadata text, if that was asked for.

    `size_bytes`: 0 where the broker doesn't say.
    """

    ledger_id: int
    entries: int
    size_bytes: int
    offloaded: bool
    metadata: str | None


def read_internal_stats(path: str) -> list[TopicLedger]:
    """Reads one topic's ledgers, in their order; raises InputError for what is no such JSON or lacks what is needed."""
    try:
        stats = json.loads(read_text(path, STATS_ALLOWED))
    except json.JSONDecodeError as error:
        raise InputError.at(path, f"line {error.lineno}", f"is no JSON ({error.msg})", STATS_ALLOWED) from None
    if not isinstance(stats, dict) or not isinstance(stats.get("ledgers"), list):
        raise InputError.at(path, "ledgers", "is missing", STATS_ALLOWED)
    confirmed_in, confirmed = _last_confirmed(path, stats)
    ledgers = []
    for at, one in enumerate(stats["ledgers"]):
        place = f"ledgers[{at}]"
        if not isinstance(one, dict):
            raise InputError.at(path, place, "is no object", STATS_ALLOWED)
        is_last = at == len(stats["ledgers"]) - 1
        # What is written to at the moment stands beside the list.
        entries, size = (stats, "currentLedgerEntries"), (stats, "currentLedgerSize")
        if not is_last or stats.get("currentLedgerEntries") is None:
            entries, size = (one, "entries"), (one, "size")
        ledger_id = _natural(path, place, one, "ledgerId")
        counted = max(_natural(path, place, *entries), _natural(path, place, one, "entries"))
        ledgers.append(
            TopicLedger(
                ledger_id,
                max(counted, confirmed + 1) if ledger_id == confirmed_in else counted,
                max(_natural(path, place, *size), _natural(path, place, one, "size")),
                bool(one.get("offloaded")),
                one.get("metadata") if isinstance(one.get("metadata"), str) else None,
            )
        )
    return ledgers


def _last_confirmed(path: str, stats: dict[str, Any]) -> tuple[int, int]:
    """(ledger, last entry of it that is acknowledged), -1 each where none is, or nothing is said."""
    said = stats.get("lastConfirmedEntry")
    if said is None:
        return -1, -1
    found = _POSITION.fullmatch(said) if isinstance(said, str) else None
    ledger, entry = (int(number) for number in found.groups()) if found else (-2, -2)
    if not (-1 <= ledger <= MAX_INT64 // 4 and -1 <= entry <= MAX_INT64 // 4):
        raise InputError.at(path, "lastConfirmedEntry", f"{json.dumps(said)} is no position", '"LEDGER:ENTRY"')
    return ledger, entry


def _natural(path: str, place: str, table: dict[str, Any], key: str) -> int:
    value = table.get(key)
    if type(value) is not int or not 0 <= value <= MAX_INT64 // 4:
        raise InputError.at(path, f"{place}, {key}", f"{json.dumps(value)} is no count", "an integer of 0 or more")
    return value
