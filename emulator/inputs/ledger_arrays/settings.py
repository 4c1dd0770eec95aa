"""Settings of a topic's ledgers: entries, rounds, flags."""

from __future__ import annotations

from emulator.ledger_configs import effective
from emulator.scenario import Scenario, Topic
from emulator.scenario.ledgers import RACK_AWARE


def settings_of(scenario: Scenario, topic: Topic) -> dict[str, int]:
    """Fields of records.Settings by name. Time-outs are at least a round, and begun rounds count."""
    round_ms = scenario.round_ms

    def value(key: str) -> int:
        return int(effective(scenario.config, topic.config, key))

    def rounds(milliseconds: int) -> int:
        return -(-milliseconds // round_ms)

    synced = value("journalWriteData") and value("journalSyncData")
    explicit_ms = value("explicitLacInterval")
    return {
        "ensemble_size": value("ensembleSize"),
        "write_quorum": value("writeQuorumSize"),
        "ack_quorum": value("ackQuorumSize"),
        "add_timeout_rounds": max(1, rounds(value("addEntryTimeoutSec") * 1000)),
        "read_timeout_rounds": max(1, rounds(value("readEntryTimeoutSec") * 1000)),
        "delay_ensemble_change": value("delayEnsembleChange"),
        "explicit_lac_rounds": max(1, explicit_ms // round_ms) if explicit_ms > 0 else 0,
        "rack_aware": int(topic.policy == RACK_AWARE),
        "min_racks": value("minNumRacksPerWriteQuorum"),
        "enforce_min_racks": value("enforceMinNumRacksPerWriteQuorum"),
        "journal": value("journalWriteData"),
        "synced": synced,
        "flush_rounds": 0 if synced else max(1, value("flushInterval") // round_ms),
        "integrity_check": value("dataIntegrityCheckingEnabled"),
        "autorecovery": value("autoRecoveryDaemonEnabled"),
        "lost_rounds": rounds(value("lostBookieRecoveryDelay") * 1000),
        "grace_rounds": rounds(value("openLedgerRereplicationGracePeriod")),
        "batch_entries": value("rereplicationEntryBatchSize"),
    }
