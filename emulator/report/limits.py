"""What a report can't tell: the limits of the model that apply to a run, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulator.report.markup import Row, seconds
from emulator.scenario import Run, Scenario
from emulator.scenario.protocols import LEDGER_PROTOCOLS

_OF_KINDS = {
    "slow_link": "A slow link or disk limits each partition by itself, beside what brokers' budgets leave it.",
    "slow_disk": "A slow link or disk limits each partition by itself, beside what brokers' budgets leave it.",
    "isolation": "A superseded leader that nobody told serves fetches, but its high watermark stays.",
    "stale_metadata": "A superseded leader that nobody told serves fetches, but its high watermark stays.",
}
"""By kind of fault."""


def limits(scenario: Row, faults: Iterable[Row], run: Run | None) -> Iterator[str]:
    """Yields the limits that apply to a scenario. `run`: as it was stored, None: it cannot be read any more."""
    each = seconds(scenario["round_ms"] / 1000)
    yield f"Time goes in rounds of {each}: what is over faster than a round is not seen, and no time is finer than one."
    if scenario["protocol"] in LEDGER_PROTOCOLS:
        yield "Which entry of a ledger has how many bytes no state has: entries get their numbers in the order of the workload."
    else:
        yield "Clients' retries, transactions and compaction are not played: a record that is refused is not sent again."
    yield "Faults are those of the scenario, and what is drawn at random is one draw of its seed: another seed, another trouble."
    kinds = {fault["kind"] for fault in faults}
    yield from dict.fromkeys(text for kind, text in _OF_KINDS.items() if kind in kinds)
    stored = _of(scenario, run)
    if stored is not None and _shares(stored):
        yield "Shares of brokers' budgets are a fluid: a real broker starts whole fetches and segments in turn."


def _of(scenario: Row, run: Run | None) -> Scenario | None:
    found = [] if run is None else [each for each in run.scenarios if each.scenario_id == scenario["scenario_id"]]
    return found[0] if found else None


def _shares(scenario: Scenario) -> bool:
    from emulator.inputs.arrays.shared import shares_budgets

    return scenario.protocol not in LEDGER_PROTOCOLS and shares_budgets(scenario)
