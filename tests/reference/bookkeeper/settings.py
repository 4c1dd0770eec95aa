"""Config keys of BookKeeper by their own names and defaults; times become rounds.

Choices: a key given for the ledger (`topic_config`) wins over the cluster's (`config`). A time-out of t is
max(1, ceil(t / round_ms)) rounds, a period max(1, t div round_ms).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .quorums import Quorums

DEFAULTS: dict[str, Any] = {
    "ensembleSize": 3,
    "writeQuorumSize": 2,
    "ackQuorumSize": 2,
    "addEntryTimeoutSec": 5,
    "readEntryTimeoutSec": 5,
    "firstSpeculativeReadTimeout": 2000,
    "maxSpeculativeReadTimeout": 5000,
    "delayEnsembleChange": False,
    "explicitLacInterval": 0,
    "minNumRacksPerWriteQuorum": 2,
    "enforceMinNumRacksPerWriteQuorum": False,
    "journalWriteData": True,
    "journalSyncData": True,
    "flushInterval": 10_000,
    "dataIntegrityCheckingEnabled": False,
    "autoRecoveryDaemonEnabled": False,
    "lostBookieRecoveryDelay": 0,
    "openLedgerRereplicationGracePeriod": 30_000,
    "rereplicationEntryBatchSize": 10,
}


@dataclass(frozen=True)
class Settings:
    """What the config of one ledger comes to."""

    quorums: Quorums
    round_ms: int
    add_timeout_rounds: int
    read_timeout_rounds: int
    first_speculative_ms: int
    max_speculative_ms: int
    delay_ensemble_change: bool
    explicit_lac_ms: int | None
    min_racks: int
    enforce_min_racks: bool
    journal: bool
    journal_synced: bool
    flush_ms: int
    integrity_check: bool
    autorecovery: bool
    lost_bookie_delay_rounds: int
    open_ledger_grace_rounds: int
    batch_entries: int

    def timeout(self, milliseconds: int) -> int:
        """A time-out in rounds."""
        return max(1, -(-milliseconds // self.round_ms))

    def is_due(self, now: int, period_ms: int) -> bool:
        """Whether what runs every so many milliseconds runs in a round."""
        return is_due(now, self.round_ms, period_ms)


def is_due(now: int, round_ms: int, period_ms: int) -> bool:
    """Whether a multiple of the period lies after the round before, or where this one ends up."""
    latest = now * round_ms // period_ms * period_ms
    return latest > (now - 1) * round_ms


def settings_of(case: Mapping[str, Any]) -> Settings:
    """The settings of a case."""
    given = {**DEFAULTS, **case.get("config", {}), **case.get("topic_config", {})}
    round_ms: int = case["round_ms"]

    def timeout(seconds: float) -> int:
        return max(1, -(-int(seconds * 1000) // round_ms))

    explicit_lac_ms = given["explicitLacInterval"]
    return Settings(
        quorums=Quorums(given["ensembleSize"], given["writeQuorumSize"], given["ackQuorumSize"]),
        round_ms=round_ms,
        add_timeout_rounds=timeout(given["addEntryTimeoutSec"]),
        read_timeout_rounds=timeout(given["readEntryTimeoutSec"]),
        first_speculative_ms=given["firstSpeculativeReadTimeout"],
        max_speculative_ms=given["maxSpeculativeReadTimeout"],
        delay_ensemble_change=given["delayEnsembleChange"],
        explicit_lac_ms=explicit_lac_ms if explicit_lac_ms > 0 else None,
        min_racks=given["minNumRacksPerWriteQuorum"],
        enforce_min_racks=given["enforceMinNumRacksPerWriteQuorum"],
        journal=given["journalWriteData"],
        journal_synced=given["journalWriteData"] and given["journalSyncData"],
        flush_ms=given["flushInterval"],
        integrity_check=given["dataIntegrityCheckingEnabled"],
        autorecovery=given["autoRecoveryDaemonEnabled"],
        lost_bookie_delay_rounds=-(-given["lostBookieRecoveryDelay"] * 1000 // round_ms),
        open_ledger_grace_rounds=-(-given["openLedgerRereplicationGracePeriod"] // round_ms),
        batch_entries=given["rereplicationEntryBatchSize"],
    )
