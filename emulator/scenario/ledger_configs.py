"""BookKeeper's (4.17) and Pulsar's (4.0) configuration keys that an emulation knows, by their own names, with their defaults."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.scenario.config_keys import INT_MAX, LONG_MAX, ConfigKey, ConfigValue

DEFAULT_ENTRY_BYTES = 1000
"""Of entries whose size nothing says."""

MAX_ENSEMBLE = 12
"""As many as a replica list may have."""
MAX_BATCH = 10_000
"""A round looks at every entry of a batch."""


def _client(name: str, kind: type, default: ConfigValue, span: tuple[int, int] | None = None) -> ConfigKey:
    """Of the writer, which may differ from ledger to ledger."""
    return ConfigKey(name, kind, default, topic=True, setting=name, span=span)


def _bookie(name: str, kind: type, default: ConfigValue, span: tuple[int, int] | None = None) -> ConfigKey:
    return ConfigKey(name, kind, default, topic=False, setting=name, span=span)


MANAGED = "managedLedger"
"""Our own key: the topic is a list of ledgers, which its owner rolls over (Pulsar's managed ledger)."""
MAX_LEDGERS = "maxLedgers"
"""Our own key: how many ledgers such a topic may ever have; rounds as SQL text take a row for each."""

_SIZE, _SECONDS, _MILLISECONDS = (1, MAX_ENSEMBLE), (1, INT_MAX // 1000), (0, INT_MAX)
_COUNT = (1, INT_MAX)
MAX_MINUTES = INT_MAX // 60_000

LEDGER_KEYS: Mapping[str, ConfigKey] = {
    key.name: key
    for key in (
        _client("ensembleSize", int, 3, _SIZE),
        _client("writeQuorumSize", int, 2, _SIZE),
        _client("ackQuorumSize", int, 2, _SIZE),
        _client("addEntryTimeoutSec", int, 5, _SECONDS),
        _client("readEntryTimeoutSec", int, 5, _SECONDS),
        _client("firstSpeculativeReadTimeout", int, 2000, _MILLISECONDS),
        _client("maxSpeculativeReadTimeout", int, 5000, (1, INT_MAX)),
        _client("delayEnsembleChange", bool, False),
        _client("explicitLacInterval", int, 0, _MILLISECONDS),
        _client("minNumRacksPerWriteQuorum", int, 2, _SIZE),
        _client("enforceMinNumRacksPerWriteQuorum", bool, False),
        _bookie("journalWriteData", bool, True),
        _bookie("journalSyncData", bool, True),
        _bookie("flushInterval", int, 10_000, (1, INT_MAX)),
        _bookie("dataIntegrityCheckingEnabled", bool, False),
        _bookie("autoRecoveryDaemonEnabled", bool, False),
        _bookie("lostBookieRecoveryDelay", int, 0, (0, INT_MAX // 1000)),
        _bookie("openLedgerRereplicationGracePeriod", int, 30_000, _MILLISECONDS),
        _bookie("rereplicationEntryBatchSize", int, 10, (1, MAX_BATCH)),
        _client(MANAGED, bool, False),
        _client(MAX_LEDGERS, int, 0, (1, 100_000)),
        _client("managedLedgerMaxEntriesPerLedger", int, 50_000, _COUNT),
        _client("managedLedgerMaxSizePerLedgerMbytes", int, 2048, _COUNT),
        _client("managedLedgerMinLedgerRolloverTimeMinutes", int, 10, (0, MAX_MINUTES)),
        _client("managedLedgerMaxLedgerRolloverTimeMinutes", int, 240, (1, MAX_MINUTES)),
        _client("defaultRetentionTimeInMinutes", int, 0, (-1, MAX_MINUTES)),
        _client("defaultRetentionSizeInMB", int, 0, (-1, INT_MAX)),
        _client("retentionCheckIntervalInSeconds", int, 120, _SECONDS),
        _client("managedLedgerOffloadAutoTriggerSizeThresholdBytes", int, -1, (-1, LONG_MAX)),
        _client("managedLedgerOffloadThresholdInSeconds", int, -1, (-1, INT_MAX // 1000)),
        _client("managedLedgerOffloadDeletionLagMs", int, 14_400_000, _MILLISECONDS),
    )
}
"""A topic's config may have the writer's keys, the cluster's config all of them."""

OF_TOPICS = tuple(name for name in LEDGER_KEYS if name.startswith((MANAGED, MAX_LEDGERS, "defaultRetention", "retentionCheck")))
"""Those that mean something for a list of ledgers only."""


def is_managed(cluster: Mapping[str, ConfigValue], topic: Mapping[str, ConfigValue]) -> bool:
    """Tell whether a topic is a list of ledgers."""
    return bool(effective(cluster, topic, MANAGED))


def effective(cluster: Mapping[str, ConfigValue], topic: Mapping[str, ConfigValue], key: str) -> ConfigValue:
    """The value in force for a ledger: the topic's, else the cluster's, else BookKeeper's default."""
    return topic.get(key, cluster.get(key, LEDGER_KEYS[key].default))
