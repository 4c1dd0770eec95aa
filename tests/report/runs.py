"""Scenarios whose reports the tests look at: of a handful of brokers, of hundreds, and of ledgers."""

from __future__ import annotations

SMALL = """
name = "a small <cluster>"
rounds = 120
[cluster]
brokers_file = "brokers.csv"
session_timeout_rounds = 6
config = { "replica.lag.time.max.ms" = 5000, "remote.log.storage.system.enable" = true, "log.retention.check.interval.ms" = 2000 }
[remote_storage]
copy_bytes_per_second = 20000
[[topics]]
name = "orders"
partitions = 24
replication_factor = 3
config = { "min.insync.replicas" = 2 }
[[topics]]
name = "seg"
partitions = 12
replication_factor = 2
[[topics]]
name = "kept"
partitions = 6
replication_factor = 3
config = { "remote.storage.enable" = true, "segment.bytes" = 20000, "local.retention.bytes" = 30000 }
[[workload]]
topic = "[ok]*"
records_per_round = 20
record_bytes = 100
acks = "all"
[[workload]]
topic = "seg"
records_per_round = 20
record_bytes = 100
acks = "1"
[[faults]]
kind = "isolation"
broker = 2
clients = false
from_round = 20
to_round = 60
[[faults]]
kind = "power_loss"
broker = 5
name = "a 'plug' \\"pulled\\""
from_round = 70
to_round = 80
[[variants]]
name = "unclean"
topics = [{ name = "orders", config = { "unclean.leader.election.enable" = true } }]
"""

SMALL_BROKERS = "broker,rack\n1,a\n2,a\n3,a\n4,b & c\n5,b & c\n6,b & c\n"

LARGE = """
name = "three hundred"
rounds = 200
time_buckets = 20
[cluster]
brokers = 300
racks = 3
network_bytes_per_second = 14000
[[topics]]
name = "orders"
partitions = 600
replication_factor = 3
placement = "rack-aware"
[[workload]]
topic = "*"
records_per_round = 10
record_bytes = 100
acks = "all"
[[fault_generators]]
kind = "independent_crashes"
mtbf_rounds = 3000
mean_duration_rounds = 30
"""
