"""What relational rounds lack is refused in one line that names it, and the engine that has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emulator.errors import InputError
from emulator.rounds.relational.inputs.refusals import PROTOCOLS, TIER_FAULTS, TIER_KEYS, refuse_unknown
from emulator.scenario import load_run
from emulator.scenario.protocols import GROUP_PROTOCOLS, KAFKA_PROTOCOLS, LEDGER_PROTOCOLS

SYSTEM_OF_TIERS = '"remote.log.storage.system.enable" = true'
OF_TIERS = '"retention.ms" = -1, "remote.storage.enable" = true'


def scenario(
    cluster: str = "", topic: str = "", more: str = "", config: str = "", of_topic: str = "", protocol: str = "kafka"
) -> str:
    """A scenario of one topic. `config`, `of_topic`: keys of the cluster and of the topic."""
    return f"""
rounds = 3
protocol = "{protocol}"
[cluster]
brokers = 3
racks = 3
config = {{ {config} }}
{cluster}
[[topics]]
name = "t"
partitions = 2
replication_factor = 2
config = {{ {of_topic} }}
{topic}
[[workload]]
topic = "t"
records_per_round = 3
record_bytes = 2000
{more}
"""


def tiered(more: str = "", config: str = "", of_topic: str = "") -> str:
    """The same with remote storage."""
    return scenario(config=f"{SYSTEM_OF_TIERS}{config}", of_topic=f"{OF_TIERS}{of_topic}", more=more)


def fault(kind: str, more: str = "") -> str:
    return f'[[faults]]\nkind = "{kind}"\nfrom_round = 1\nto_round = 2\n{more}\n'


def command(kind: str, more: str = "") -> str:
    return f'[[commands]]\nround = 1\nkind = "{kind}"\ntopic = "t"\n{more}\n'


THROTTLE = '"leader.replication.throttled.replicas" = "*"'
LACKING = {
    "records above max.message.bytes": scenario(of_topic='"max.message.bytes" = 1000'),
    "consumers": scenario(more='[[consumers]]\ngroup = "g"\ntopic = "t"\n'),
    "bandwidth budgets of brokers": scenario(cluster="network_bytes_per_second = 5"),
    "quotas of clients": scenario(of_topic='"producer_byte_rate" = 5'),
    "replication throttles": scenario(of_topic=THROTTLE),
    "command delete_topic": scenario(more=command("delete_topic")),
    "command cancel_reassignment": scenario(more=command("cancel_reassignment", "partition = 0")),
    "two commands reassign of a partition in one round": scenario(
        more=command("reassign", "partition = 0\nreplicas = [2, 3]") + command("reassign", "partition = 0\nreplicas = [3, 1]")
    ),
    "copier, unread, moved_bytes of initial remote segments": tiered(
        '[[initial.remote_segments]]\ntopic = "t"\npartition = 0\nbase_offset = 0\nend_offset = 4\nbytes = 9\nunread = true\n'
    ),
    "fault open_transaction": scenario(more=fault("open_transaction", 'topic = "t"')),
    "table remote_storage": tiered("[remote_storage]\ncopy_bytes_per_second = 5000\n"),
    "total retention in remote storage, which deletes segments there in this run": scenario(
        config=SYSTEM_OF_TIERS, of_topic='"remote.storage.enable" = true, "retention.bytes" = 1000'
    ),
    "command that turns remote storage on or off": tiered(
        command("alter_config", 'config = { "remote.storage.enable" = false, "remote.log.delete.on.disable" = true }')
    ),
    "delete_records with tiered storage": tiered(command("delete_records", "partition = 0\noffset = 1")),
}
"""What is refused, and a scenario that asks for it."""

FAULTS = {
    "power_loss": "broker = 1", "disk_loss": "broker = 1", "isolation": "broker = 1", "rack_isolation": 'rack = "0"',
    "remote_storage_outage": "", "slow_remote_storage": "bytes_per_second = 5000", "remote_metadata_lag": "lag_rounds = 1",
}  # fmt: skip
OF_TOPICS = {"unclean.leader.election.enable": "true", "remote.copy.lag.ms": "3000", "remote.copy.lag.bytes": "3000"}
OF_CLUSTERS = {
    "unclean.recovery.strategy": '"balanced"',
    "follower.fetch.last.tiered.offset.enable": "true",
    "remote.log.manager.copy.max.bytes.per.second": "5000",
    "remote.log.manager.copier.thread.pool.size": "2",
    "leader.election.eligible.local.log.ms": "3000",
    "leader.election.eligible.local.log.bytes": "3000",
}
LACKING |= {f"{kind} with tiered storage": tiered(fault(kind, more)) for kind, more in FAULTS.items()}
LACKING |= {f"{key} with tiered storage": tiered(of_topic=f', "{key}" = {value}') for key, value in OF_TOPICS.items()}
LACKING |= {f"{key} with tiered storage": tiered(config=f', "{key}" = {value}') for key, value in OF_CLUSTERS.items()}
LACKING |= {f"protocol {name}": scenario(protocol=name) for name in sorted(KAFKA_PROTOCOLS.keys() - set(PROTOCOLS))}
LACKING |= {f"protocol {name}": scenario(protocol=name) for name in GROUP_PROTOCOLS}
OF_LEDGERS = scenario(of_topic="ensembleSize = 2, writeQuorumSize = 2, ackQuorumSize = 2").replace("replication_factor = 2", "")
LACKING |= {f"protocol {name}": OF_LEDGERS.replace('"kafka"', f'"{name}"') for name in LEDGER_PROTOCOLS}


def refused(folder: Path, text: str, **asked: Any) -> str:
    """The line that refuses the scenario."""
    path = folder / "lacking.toml"
    path.write_text(text)
    run = load_run(str(path))
    with pytest.raises(InputError) as told:
        refuse_unknown(run, **asked)
    return str(told.value)


def test_every_kind_of_fault_and_every_key_has_a_case() -> None:
    assert FAULTS.keys() == TIER_FAULTS
    assert OF_TOPICS.keys() | OF_CLUSTERS.keys() == TIER_KEYS.keys()


@pytest.mark.parametrize("what", LACKING)
def test_what_is_lacking_is_refused_by_name(tmp_path: Path, what: str) -> None:
    line = refused(tmp_path, LACKING[what])
    assert line.startswith(f"{tmp_path}/lacking.toml: --engine relational: the relational rounds have no {what} (scenario base)")
    assert line.endswith("allowed: --engine compiled, which has")
    assert "\n" not in line


@pytest.mark.parametrize(
    ("option", "asked"),
    [
        ("--mode leap", {"mode": "leap"}),
        ("--resume", {"resume": True}),
        ("--checkpoint-every", {"checkpoint_every": 3}),
        ("--state-at", {"state_at": [2]}),
    ],
)
def test_options_without_a_use_are_refused(tmp_path: Path, option: str, asked: dict[str, Any]) -> None:
    line = refused(tmp_path, scenario(), **asked)
    assert line == f"--engine relational: it has no {option}; allowed: --engine compiled, which has"
