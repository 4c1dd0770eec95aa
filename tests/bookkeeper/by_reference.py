"""Cases of the reference (tests/reference/bookkeeper) as scenarios of the engine, and both sides' results in the same form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from emulator.scenario import Run, load_run
from tests.engine_helpers import Row
from tests.reference.bookkeeper.losses import losses
from tests.reference.bookkeeper.operations import columns_of
from tests.reference.bookkeeper.simulate import Result

OF_METADATA = (
    *("ensemble_change", "add_failed", "ledger_closed", "recovery_started", "fence", "entries_lost"),
    *("underreplicated", "copied", "rereplicated", "filled", "limbo_entered", "limbo_left", "acked_lost"),
)
"""Kinds of events that the reference tells."""

OF_EVENTS = ("round", "kind", "broker", "from_offset", "to_offset", "cause", "records")
"""Columns of `events` that are compared."""

LOSSES = ("acked_lost", "acked_unreadable", "acked_under_replicated")
"""Columns of what became of acknowledged entries."""

OF_A_READER = (
    *("started_round", "done_round", "entries", "entries_read", "entries_missing", "bytes_read", "remote_bytes", "speculative"),
    *("first_missing", "error"),
)
"""Columns of `ledger_readers` that are compared."""

READ = ("offload_read_bytes", "reader_bytes", "reader_remote_bytes")
"""Columns of what was read of a ledger."""

COLUMNS = ("writer", "next_entry", "ensemble_changes", "adds_resent", "unwritable_rounds")
"""Further columns of `ledgers` that are compared."""

Case = Mapping[str, Any]


def to_toml(case: Case, protocol: str = "bookkeeper") -> str:
    """The case as a scenario file with one ledger."""
    cluster = {"brokers": len(case["brokers"]), "session_timeout_rounds": case.get("session_timeout_rounds", 18)}
    lines = [f"protocol = {json.dumps(protocol)}", f"rounds = {case['rounds']}", f"round_ms = {case['round_ms']}"]
    lines += [f"seed = {case.get('seed', 0)}", "[cluster]"]
    lines += [f"{key} = {_value(value)}" for key, value in cluster.items()]
    if "rack_count" in case:
        lines.append(f"racks = {case['rack_count']}")
    if "region_count" in case:
        lines.append(f"regions = {case['region_count']}")
    lines += [f"config = {_value(case.get('config', {}))}", "[[topics]]", 'name = "ledger"']
    lines.append(f"placement = {json.dumps(case.get('placement', 'lowest_free_id'))}")
    lines.append(f"assignment = [{_value(case['replicas'])}]" if "replicas" in case else "partitions = 1")
    lines.append(f"config = {_value(case.get('topic_config', {}))}")
    if case.get("copy_bytes_per_second") is not None:
        lines += ["[remote_storage]", f"copy_bytes_per_second = {case['copy_bytes_per_second']}"]
    of_ledger = {"topic": "ledger", "partition": 0}
    given_list = [{"ledger": number, **one} for number, one in enumerate(case.get("given_list", []))]
    if "state" in (own := case.get("initial", {})):
        given_list = [{"last_entry": own["lac"], **{key: own[key] for key in ("state", "fragments", "bytes")}}]
    for one in given_list:
        fragments = [{"first_entry": first, "ensemble": ensemble} for first, ensemble in one["fragments"].items()]
        row = {**of_ledger, **one, "fragments": fragments or None}
        lines += ["[[initial.ledgers]]", *(f"{key} = {_value(value)}" for key, value in row.items() if value is not None)]
    for table in ("workload", "faults", "commands"):
        for row in case.get(table, []):
            place: dict[str, Any] = of_ledger if table == "commands" and "broker" not in row else {}
            place = {"topic": "ledger"} if table == "workload" else place
            lines.append(f"[[{table}]]")
            lines += [f"{key} = {_value(value)}" for key, value in {**row, **place}.items() if value is not None]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


def run_of_cases(cases: Mapping[str, Case], folder: Path, protocols: Mapping[str, str] | None = None) -> Run:
    """All cases as scenarios of one run, by name; `protocols`: by name, absent for BookKeeper itself."""
    folder.mkdir(parents=True, exist_ok=True)
    runs = []
    for name, case in cases.items():
        path = folder / f"{name}.toml"
        path.write_text(to_toml(case, (protocols or {}).get(name, "bookkeeper")))
        runs.append(load_run(str(path)))
    scenarios = [replace(run.scenarios[0], scenario_id=at, name=Path(run.path).stem) for at, run in enumerate(runs)]
    return replace(runs[0], name="cases", scenarios=tuple(scenarios))


def of_reference(result: Result) -> dict[str, Any]:
    """What the reference ends with."""
    ledger, end = result.ledger, result.rounds[-1]
    told = Counter(tuple(e[name] for name in OF_EVENTS) for e in ledger.events if e["kind"] in OF_METADATA)
    initial = ledger.case.get("initial", {})
    of_before = initial["lac"] + 1 if "state" in initial else 0
    results = Counter(answer if entry < 0 or answer == "OK" else "failed" for entry, answer in ledger.writer.results)
    return {
        "state": end["state"],
        "last_entry": end["last_entry"],
        "writer_lac": end["writer_lac"],
        "fragments": [(fragment.first_entry, fragment.ensemble) for fragment in ledger.metadata.fragments],
        "entries": end["entries"],
        "bookies": {broker: (row["last_entry"], row["lac"], row["fenced"]) for broker, row in end["bookies"].items()},
        "limbo": {broker for broker in end["bookies"] if ledger.bookies[broker].limbo},
        "losses": losses(ledger),
        "entries_copied": ledger.repair.copied_entries,
        "read": tuple(getattr(ledger, name) for name in READ),
        "underreplicated": len(ledger.repair.replacements),
        "recoveries": [(r.phase, r.error, r.lac if r.phase == "done" else None) for r in ledger.recoveries],
        "attempts": [r.attempt_error for r in ledger.recoveries],
        "openings": [(o.lac, o.error or (None if o.lac is None else "OK")) for o in ledger.openings],
        "readers": [one.row for one in ledger.readers],
        "closes": list(ledger.writer.closes),
        "acked": results["OK"] - of_before,
        "failed": results["failed"],
        "refused_fenced": results["LedgerFencedException"],
        "refused_closed": results["LedgerClosedException"],
        "events": told,
        **columns_of(ledger),
        "violations": first_rounds((v.invariant, v.round) for v in result.violations if not v.excused),
    }


def first_rounds(violations: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The first round in which each invariant was seen broken."""
    return dict(sorted(violations, key=lambda one: one[1], reverse=True))


def of_engine(tables: Mapping[str, list[Row]]) -> dict[str, Any]:
    """What the engine wrote of one ledger."""
    (ledger,) = tables["ledgers"]
    clients = {kind: sorted((c["number"], c) for c in tables["ledger_clients"] if c["client"] == kind) for kind in CLIENTS}
    told = Counter(tuple(e[name] for name in OF_EVENTS) for e in tables["events"] if e["kind"] in OF_METADATA)
    return {
        "state": ledger["state"],
        "last_entry": ledger["last_entry"],
        "writer_lac": ledger["writer_lac"],
        "fragments": [(row["first_entry"], row["ensemble"]) for row in tables["fragments"]],
        "entries": {
            row["entry"]: dict(zip(row["bookies"], row["lac_stored"], strict=True))
            for row in sorted(tables["entries"], key=lambda row: row["entry"])
        },
        "bookies": {row["broker"]: (row["last_entry"], row["lac"], row["fenced"]) for row in tables["bookies"]},
        "limbo": {row["broker"] for row in tables["bookies"] if row["limbo"]},
        "losses": tuple(ledger[name] for name in LOSSES),
        "read": tuple(ledger[name] for name in READ),
        "entries_copied": ledger["entries_copied"],
        "underreplicated": ledger["underreplicated"],
        "recoveries": [(c["phase"], c["error"], c["last_entry"]) for _, c in clients["recovery"]],
        "attempts": [c["attempt_error"] for _, c in clients["recovery"]],
        "openings": [(c["last_entry"], c["error"]) for _, c in clients["reader"]],
        "readers": [tuple(row[name] for name in OF_A_READER) for row in sorted(tables["ledger_readers"], key=by_number)],
        "closes": [c["error"] for _, c in clients["close"]],
        "acked": tables["outcomes"][0]["acked"],
        "failed": ledger["failed_adds"],
        "refused_fenced": ledger["refused_fenced"],
        "refused_closed": ledger["refused_closed"],
        "events": told,
        **{name: ledger[name] for name in COLUMNS},
        "error": ledger["error"] or "OK",
        "unacked_rounds": tables["outcomes"][0]["unacked_rounds"],
        "violations": first_rounds((v["invariant"], v["round"]) for v in tables["violations"]),
    }


def by_number(row: Row) -> int:
    """The order of clients."""
    return int(row["number"])


CLIENTS = ("recovery", "reader", "close")


def by_scenario(tables: Mapping[str, list[Row]]) -> dict[str, dict[str, list[Row]]]:
    """The tables' rows, parted by the scenario's name."""
    names = {row["scenario_id"]: row["name"] for row in tables["scenarios"]}
    parted: dict[str, dict[str, list[Row]]] = {name: {table: [] for table in tables} for name in names.values()}
    for table, rows in tables.items():
        for row in rows:
            if "scenario_id" in row:
                parted[names[row["scenario_id"]]][table].append(row)
    return parted


def differences(expected: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What differs: name -> (of the reference, of the engine); of events only those that one side has more of."""
    found = {name: (expected[name], seen.get(name)) for name in expected if expected[name] != seen.get(name)}
    if "events" in found:
        left, right = found["events"]
        found["events"] = (left - right, right - left)
    return found


def first_few(found: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A handful of them, to be read."""
    return dict(list(found)[:4])
