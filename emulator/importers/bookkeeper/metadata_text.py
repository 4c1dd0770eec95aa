"""Ledgers' metadata as BookKeeper prints it: `bookkeeper shell ledgermetadata -ledgerid N` and `listledgers -meta`.

A line "ledgerID: N" and one with LedgerMetadata{...}, each perhaps behind a log line's time and class. Source: LedgerMetadataImpl
and LedgerMetaDataCommand of BookKeeper 4.17.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field

from emulator.errors import InputError, quoted
from emulator.importers.text_input import MAX_INT64, parse_natural, read_lines

STATES = ("OPEN", "IN_RECOVERY", "CLOSED")
SIZES = ("ensembleSize", "writeQuorumSize", "ackQuorumSize")
LEDGERS_ALLOWED = 'the output of "bookkeeper shell ledgermetadata -ledgerid N" or "listledgers -meta"'
_METADATA_ALLOWED = "LedgerMetadata{formatVersion=..., ensembleSize=..., ..., ensembles={0=[host:port, ...]}, ...}"
_ID = re.compile(r"\bledgerID: ([0-9]+)\b")
_FIELD = re.compile(r"\b(ensembleSize|writeQuorumSize|ackQuorumSize|state|length|lastEntryId)=([A-Za-z0-9_-]+)[,}]")
_ENSEMBLES = re.compile(r"\bensembles=\{([^}]*)\}")
_ENSEMBLE = re.compile(r"([0-9]+)=\[([^\]]*)\]")
_OWNER = re.compile(r"\bpulsar/managed-ledger=base64:([A-Za-z0-9+/=]*)")


@dataclass(frozen=True)
class LedgerText:
    """What the metadata say of one ledger.

    `sizes`: ensemble, write quorum, ack quorum. `last_entry`, `length` (bytes): of a closed one, else None. `fragments`: (first
    entry, addresses of bookies). `owner`: the managed ledger that it belongs to, as Pulsar names it, None: it says none.
    """

    ledger_id: int
    sizes: tuple[int, int, int]
    state: str
    last_entry: int | None
    length: int | None
    fragments: list[tuple[int, list[str]]] = field(default_factory=list)
    owner: str | None = None


def read_ledgers(path: str) -> list[LedgerText]:
    """Reads one file; other lines, as a shell logs them, are passed over. Raises InputError for no ledger, or a wrong one."""
    ledgers: list[LedgerText] = []
    ledger_id: int | None = None
    for number, line in enumerate(read_lines(path, LEDGERS_ALLOWED), 1):
        found = _ID.search(line)
        if found is not None:
            ledger_id = parse_natural(found.group(1), MAX_INT64)
        if "LedgerMetadata{" not in line:
            continue
        if ledger_id is None:
            raise InputError.at(path, f"line {number}", "metadata of no ledger", 'a line "ledgerID: N" before it')
        ledgers.append(parse_metadata(path, f"line {number}", ledger_id, line))
        ledger_id = None
    if not ledgers:
        raise InputError.at(path, "file", "has no LedgerMetadata{...}", LEDGERS_ALLOWED)
    return ledgers


def parse_metadata(path: str, place: str, ledger_id: int, text: str) -> LedgerText:
    """Parses one LedgerMetadata{...}; raises InputError, naming file and place, for one that is cut off or contradicts itself."""

    def wrong(problem: str, allowed: str = _METADATA_ALLOWED) -> InputError:
        return InputError.at(path, place, f"ledger {ledger_id}: {problem}", allowed)

    fields = dict(_FIELD.findall(text))
    missing = [name for name in (*SIZES, "state") if name not in fields]
    if missing:
        raise wrong(f"{missing[0]} is missing")
    ensemble, write, ack = (_number(fields[name]) for name in SIZES)
    if not ensemble >= write >= ack >= 1:
        raise wrong(f"ensemble {ensemble}, write quorum {write}, ack quorum {ack}", "ensemble >= write quorum >= ack quorum >= 1")
    if fields["state"] not in STATES:
        raise wrong(f"state {quoted(fields['state'])}", ", ".join(STATES))
    closed = fields["state"] == "CLOSED"
    if closed and not {"lastEntryId", "length"} <= fields.keys():
        raise wrong("is closed, without lastEntryId and length")
    last = (-1 if fields["lastEntryId"] == "-1" else _number(fields["lastEntryId"])) if closed else None
    fragments = _fragments(text)
    if fragments is None or any(len(bookies) != ensemble for _, bookies in fragments):
        raise wrong("its ensembles are cut off, or not of ensembleSize bookies")
    starts = [first for first, _ in fragments]
    if starts[0] != 0 or starts != sorted(set(starts)) or (last is not None and starts[-1] > last + 1):
        raise wrong(f"its ensembles begin at {', '.join(map(str, starts))}", "from 0, rising, none above the last entry + 1")
    return LedgerText(
        ledger_id,
        (ensemble, write, ack),
        fields["state"],
        last,
        _number(fields["length"]) if closed else None,
        fragments,
        _owner(text),
    )


def _number(text: str) -> int:
    return parse_natural(text, MAX_INT64 // 4) or 0


def _fragments(text: str) -> list[tuple[int, list[str]]] | None:
    found = _ENSEMBLES.search(text)
    if found is None:
        return None
    fragments = [
        (int(first), [one.strip() for one in bookies.split(",")]) for first, bookies in _ENSEMBLE.findall(found.group(1))
    ]
    broken = any("" in bookies or len(set(bookies)) < len(bookies) for _, bookies in fragments)
    return None if not fragments or broken or max(first for first, _ in fragments) > MAX_INT64 // 4 else fragments


def _owner(text: str) -> str | None:
    found = _OWNER.search(text)
    if found is None:
        return None
    try:
        return base64.b64decode(found.group(1), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
