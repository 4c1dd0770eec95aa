"""What is said of ledgers' scenarios before they start: what draws on bookies' budgets, and what doesn't."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.errors import listing
from emulator.scenario.ledger_configs import effective, is_managed
from emulator.scenario.ledgers import BUDGETS
from emulator.scenario.model import Scenario

COPYING = ("autoRecoveryDaemonEnabled", "dataIntegrityCheckingEnabled")
OFFLOADING = ("managedLedgerOffloadAutoTriggerSizeThresholdBytes", "managedLedgerOffloadThresholdInSeconds")


def beside_budgets(scenario: Scenario) -> Iterator[str]:
    """Copies and reads of a scenario whose bookies have budgets: only adds draw on these (docs/bookkeeper_rounds.md)."""
    if not any(getattr(broker, budget) for broker in scenario.brokers for budget in BUDGETS):
        return
    kinds = {command.kind for command in scenario.commands}
    passing = []
    if "check_ledger" in kinds or any(effective(scenario.config, {}, key) for key in COPYING):
        batch = effective(scenario.config, {}, "rereplicationEntryBatchSize")
        passing.append(f"copies (up to {batch} entries a round of each ledger)")
    if kinds & {"read_ledger", "read_topic"}:
        passing.append("readers")
    for topic in scenario.topics:
        offloads = any(int(effective(scenario.config, topic.config, key)) >= 0 for key in OFFLOADING)
        if is_managed(scenario.config, topic.config) and offloads and "offloading" not in passing:
            passing.append("offloading")
    if passing:
        yield f"bookies' budgets are about adds alone, not about {listing(passing)}"
