"""Settings of a topic's ledgers: entries, rounds, flags."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.rounds.bookkeeper.constants import NO_LIMIT, POLICIES
from emulator.scenario.config_keys import ConfigValue
from emulator.scenario.ledger_configs import effective
from emulator.scenario.model import Scenario, Topic

MINUTE_MS, MEGABYTE = 60_000, 1024 * 1024


def settings_of(scenario: Scenario, topic: Topic) -> dict[str, int]:
    """Fields of records.Settings by name. Time-outs are at least a round, and begun rounds count."""
    round_ms = scenario.round_ms

    def value(key: str) -> int:
        return int(effective(scenario.config, topic.config, key))

    def rounds(milliseconds: int) -> int:
        return -(-milliseconds // round_ms)

    synced = value("journalWriteData") and value("journalSyncData")
    return {
        "ensemble_size": value("ensembleSize"),
        "write_quorum": value("writeQuorumSize"),
        "ack_quorum": value("ackQuorumSize"),
        "add_timeout_rounds": max(1, rounds(value("addEntryTimeoutSec") * 1000)),
        "read_timeout_rounds": max(1, rounds(value("readEntryTimeoutSec") * 1000)),
        "round_ms": round_ms,
        "speculate_ms": value("firstSpeculativeReadTimeout"),
        "speculate_most_ms": value("maxSpeculativeReadTimeout"),
        "delay_ensemble_change": value("delayEnsembleChange"),
        "explicit_lac_ms": max(0, value("explicitLacInterval")),
        "policy": POLICIES.index(topic.policy or POLICIES[0]),
        "min_racks": value("minNumRacksPerWriteQuorum"),
        "enforce_min_racks": value("enforceMinNumRacksPerWriteQuorum"),
        "journal": value("journalWriteData"),
        "synced": synced,
        "flush_ms": 0 if synced else value("flushInterval"),
        "integrity_check": value("dataIntegrityCheckingEnabled"),
        "autorecovery": value("autoRecoveryDaemonEnabled"),
        "grace_rounds": rounds(value("openLedgerRereplicationGracePeriod")),
        "batch_entries": value("rereplicationEntryBatchSize"),
    }


def topic_settings_of(scenario: Scenario, config: Mapping[str, ConfigValue], entry_bytes: int) -> dict[str, int]:
    """Fields of records.TopicSettings by name, of a topic that is a list of ledgers."""
    round_ms = scenario.round_ms

    def value(key: str) -> int:
        return int(effective(scenario.config, config, key))

    def at_least(milliseconds: int) -> int:
        """The first whole number of rounds that is not less."""
        return NO_LIMIT if milliseconds < 0 else -(-milliseconds // round_ms)

    def at_most(milliseconds: int) -> int:
        """The last one that is not more."""
        return NO_LIMIT if milliseconds < 0 else milliseconds // round_ms

    megabytes = value("defaultRetentionSizeInMB")
    return {
        "entry_bytes": entry_bytes,
        "max_entries": value("managedLedgerMaxEntriesPerLedger"),
        "max_bytes": value("managedLedgerMaxSizePerLedgerMbytes") * MEGABYTE,
        "min_age_rounds": at_least(value("managedLedgerMinLedgerRolloverTimeMinutes") * MINUTE_MS),
        "max_age_rounds": at_least(value("managedLedgerMaxLedgerRolloverTimeMinutes") * MINUTE_MS),
        "round_ms": round_ms,
        "check_ms": max(1, value("retentionCheckIntervalInSeconds") * 1000),
        "retention_rounds": at_most(value("defaultRetentionTimeInMinutes") * MINUTE_MS),
        "retention_bytes": NO_LIMIT if megabytes < 0 else megabytes * MEGABYTE,
        "offload_bytes": value("managedLedgerOffloadAutoTriggerSizeThresholdBytes"),
        "offload_rounds": at_least(value("managedLedgerOffloadThresholdInSeconds") * 1000),
        "lag_rounds": at_most(value("managedLedgerOffloadDeletionLagMs")),
    }
