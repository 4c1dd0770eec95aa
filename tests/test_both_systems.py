"""A file with scenarios of partitions and of ledgers: each has what its own system knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.errors import InputError
from emulator.scenario import Run, load_run

FILE = """
protocol = "kafka-kip279"
rounds = 50
[cluster]
brokers = 6
config = { flushInterval = 2000, "replica.lag.time.max.ms" = 10000 }
features = { "eligible.leader.replicas.version" = 0 }
[[topics]]
name = "log"
partitions = 4
replication_factor = 3
placement_start = 1
config = { "min.insync.replicas" = 2, ensembleSize = 4, writeQuorumSize = 3 }
[[workload]]
topic = "log"
records_per_round = 3
acks = "1"
max_in_flight = 7
[[faults]]
kind = "client_crash"
topic = "log"
from_round = 10
[[faults]]
kind = "link_cut"
broker = 1
peer = 2
from_round = 20
to_round = 30
[[commands]]
kind = "recover_ledger"
topic = "log"
round = 12
[[commands]]
kind = "delete_records"
topic = "log"
partition = 0
offset = -1
round = 13
[[initial.replicas]]
topic = "log"
partition = 0
broker = 2
leo = 5
[[initial.ledgers]]
topic = "log"
partition = 1
last_entry = 3
[[variants]]
name = "ledgers"
protocol = "bookkeeper"
topics = [{ name = "log", placement = "rack_aware", config = { ackQuorumSize = 2 } }]
"""


def loaded(folder: Path, text: str) -> Run:
    (folder / "both.toml").write_text(text)
    return load_run(str(folder / "both.toml"))


def test_each_system_takes_its_own(tmp_path: Path) -> None:
    partitions, ledgers = loaded(tmp_path, FILE).scenarios
    assert (dict(partitions.config), dict(ledgers.config)) == ({"replica.lag.time.max.ms": 10000}, {"flushInterval": 2000})
    assert dict(partitions.topics[0].config) == {"min.insync.replicas": 2}
    assert dict(ledgers.topics[0].config) == {"ensembleSize": 4, "writeQuorumSize": 3, "ackQuorumSize": 2}
    assert (partitions.topics[0].assignment.shape, ledgers.topics[0].assignment.shape) == ((4, 3), (4, 4))
    assert ledgers.topics[0].policy == "rack_aware"
    assert (partitions.workload["acks"].to_pylist(), partitions.workload["max_in_flight"].to_pylist()) == (["1"], [None])
    assert (ledgers.workload["acks"].to_pylist(), ledgers.workload["max_in_flight"].to_pylist()) == (["all"], [7])
    assert partitions.faults["kind"].to_pylist() == ["link_cut"]
    assert ledgers.faults["kind"].to_pylist() == ["client_crash", "link_cut"]
    assert [command.kind for command in partitions.commands] == ["delete_records"]
    assert [command.kind for command in ledgers.commands] == ["recover_ledger"]
    assert (partitions.initial_replicas.num_rows, partitions.initial_ledgers.num_rows) == (1, 0)
    assert (ledgers.initial_replicas.num_rows, ledgers.initial_ledgers["last_entry"].to_pylist()) == (0, [3])


def test_a_file_of_one_system_passes_over_nothing(tmp_path: Path) -> None:
    alone = FILE[: FILE.index("[[variants]]")]
    with pytest.raises(InputError, match=r'unknown config key "flushInterval"'):
        loaded(tmp_path, alone)
    with pytest.raises(InputError, match=r"cluster.features: ledgers have no use for it"):
        loaded(tmp_path, alone.replace("kafka-kip279", "bookkeeper"))
