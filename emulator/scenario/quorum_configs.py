"""The configuration keys of groups that commit by quorums, with their defaults; most are our own (docs/quorum_rounds.md)."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.scenario.config_keys import INT_MAX, ConfigKey, ConfigValue

MOST_SERVERS = 12
"""As many as a replica list may have."""
EVERY_WRITE, INTERVAL, NEVER = FLUSHES = ("every-write", "interval", "never")
EVEN, TAILED = DISTRIBUTIONS = ("uniform", "geometric")
JOINT, ONE_AT_A_TIME = CHANGES = ("joint", "one-at-a-time")
MOST_DELAY_MS = 3_600_000
ACKS, COMPARED = "acks.to.commit", "logs.compared"
OF_QUORUM = (ACKS, COMPARED)
"""Those that are about a topic's replicas."""
OF_DISKS = ("flush", "flush.interval.ms", "fsync.ms", "records.per.fsync")
"""Those that are about a log on a disk."""


def _key(name: str, kind: type, default: ConfigValue, span: tuple[int, int] | None = None) -> ConfigKey:
    return ConfigKey(name, kind, default, topic=True, setting=name, span=span)


GROUP_KEYS: Mapping[str, ConfigKey] = {
    key.name: key
    for key in (
        _key(ACKS, int, 0, (1, MOST_SERVERS)),
        _key(COMPARED, int, 0, (1, MOST_SERVERS)),
        _key("election.timeout.ms", int, 2000, (1, INT_MAX)),
        _key("lease.period.ms", int, 0, (1, INT_MAX)),
        _key("log.roll.period.ms", int, 120_000, (1, INT_MAX)),
        _key("ha.health-monitor.check-interval.ms", int, 1000, (1, INT_MAX)),
        _key("ha.failover-controller.graceful-fence.rpc-timeout.ms", int, 5000, (1, INT_MAX)),
        _key("ipc.client.connect.timeout", int, 20_000, (1, INT_MAX)),
        _key("ipc.client.rpc-timeout.ms", int, 120_000, (0, INT_MAX)),
        _key("dfs.qjournal.queued-edits.limit.mb", int, 10, (1, INT_MAX)),
        _key("dfs.qjournal.write-txns.timeout.ms", int, 20_000, (1, INT_MAX)),
        _key("election.jitter.ms", int, 2000, (0, INT_MAX)),
        _key("pre.vote", bool, False),
        _key("check.quorum", bool, False),
        ConfigKey("members.change", str, JOINT, topic=True, setting="members.change", choices=CHANGES),
        _key("max.entries.per.append", int, 0, (1, INT_MAX)),
        ConfigKey("flush", str, EVERY_WRITE, topic=True, setting="flush", choices=FLUSHES),
        _key("flush.interval.ms", int, 1000, (1, INT_MAX)),
        _key("fsync.ms", int, 0, (0, MOST_DELAY_MS)),
        _key("records.per.fsync", int, 0, (1, INT_MAX)),
        _key("delay.ms", int, 0, (0, MOST_DELAY_MS)),
        _key("delay.jitter.percent", int, 0, (0, 1000)),
        ConfigKey("delay.distribution", str, EVEN, topic=True, setting="delay.distribution", choices=DISTRIBUTIONS),
    )
}
"""A topic's config may have all of them, and so may the cluster's. 0, which none may be given, stands for a majority of a
topic's replicas (acks, compared), for any number of entries, and for as long as the grace period (lease)."""


def effective(cluster: Mapping[str, ConfigValue], topic: Mapping[str, ConfigValue], key: str) -> ConfigValue:
    """The value in force for a group: the topic's, else the cluster's, else the default."""
    return topic.get(key, cluster.get(key, GROUP_KEYS[key].default))
