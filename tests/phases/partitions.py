"""The situations of fixtures as partitions of a block: records and lists as they are before their round.

A scenario gives logs, configuration, workload and commands; what no scenario can give a state to start with is set in records.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from emulator.inputs.arrays import Block, prepare, read_block
from emulator.rounds.kafka import constants
from emulator.rounds.kafka.constants import NEVER, NO_EPOCH, NO_NEWS, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.play_block import Scratch
from emulator.rounds.kafka.play_partitions import load_lists
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.records import Rows, words_of
from emulator.scenario import ELR_FEATURE, Scenario, load_run
from tests.phases.fixtures import Situation
from tests.reference.scenario_toml import to_tables

BUCKET_ROUNDS = 10

STATUS = {
    "offline": constants.OFFLINE,
    "paused": constants.PAUSED,
    "isolated": constants.ISOLATED,
    "waking": constants.WAKING,
    "stale": constants.STALE,
    "fenced": constants.FENCED,
    "returning": constants.RETURNING,
    "restarted": constants.RESTARTED,
    "unclean_restart": constants.RESTARTED | constants.UNCLEAN_RESTART,
    "clean_stop": constants.CLEAN_STOP,
    "power_loss": constants.POWER_LOSS,
    "disk_loss": constants.DISK_LOSS,
    "clients_cut": constants.CLIENTS_CUT,
}
"""What a word of a fixture says of a broker, as bits of its status."""


@dataclass(frozen=True)
class Loaded:
    """A partition with its lists in scratch arrays, about to play a round."""

    lists: Lists
    inputs: Inputs
    part: Partition
    replicas: Rows[Replica]


def block_of(situations: Sequence[Situation]) -> Block:
    """A partition for each situation, in their order, as it is before round 0 of its scenario."""
    scenarios = [_scenario_of(situation, number) for number, situation in enumerate(situations)]
    untraced = {number: np.zeros(1, bool) for number in range(len(scenarios))}
    prepared = prepare(scenarios, untraced, False, BUCKET_ROUNDS)
    return read_block(prepared.block(np.arange(prepared.partition_count)))


def loaded(block: Block, number: int, situation: Situation) -> Loaded:
    """The partition of a situation before its round; the block stays as it is."""
    all_partitions: Any = block.state.partitions
    all_replicas: Any = block.state.replicas
    part = all_partitions[number : number + 1].copy()[0]
    replicas = all_replicas[part.first_replica : part.first_replica + part.slots].copy()
    lists = Scratch(block.inputs, rows_told=64).lists
    words: Any = SimpleNamespace(
        **{name: words_of(getattr(lists, name)) for name in ("runs", "epochs", "segments", "ranges", "sent", "news")}
    )
    load_lists(block.state, part, replicas, number, words)
    _set_partition(part, situation)
    for slot in range(part.slots):
        _set_replica(replicas[slot], slot, situation)
    leader = situation.replicas[part.client_leader]
    part.leader_hw = part.lead_hw = leader["hw"]
    starts = [start for epoch, start in leader["epochs"] if epoch == part.client_epoch]
    part.epoch_start = starts[0] if starts else UNKNOWN
    return Loaded(lists, block.inputs, part, replicas)


def _scenario_of(situation: Situation, number: int) -> Scenario:
    """Its leader starts with the last epoch of its log; the run ends with the round of the situation."""
    place = {"topic": "t", "partition": 0}
    brokers = [slot + 1 for slot in range(len(situation.replicas))]
    leader = situation.partition["client_leader"]
    epoch = situation.replicas[leader]["epochs"][-1][0]
    tables: list[tuple[str, dict[str, Any]]] = [("topics", {"name": "t", "assignment": [brokers]})]
    tables.append(("initial.partitions", {**place, "leader": leader + 1, "leader_epoch": epoch, "isr": brokers}))
    for slot, replica in enumerate(situation.replicas):
        log = {"log_start_offset": replica["log_start"], "epochs": [list(entry) for entry in replica["epochs"]]}
        log |= {name: replica[name] for name in ("leo", "hw", "flushed_offset", "record_bytes")}
        tables.append(("initial.replicas", {**place, "broker": slot + 1, **log}))
    tables += [("workload", {"topic": "t", **row}) for row in situation.appends]
    tables += [("commands", _command(row, situation.partition["round"])) for row in situation.commands]
    head = f'name = "fixture"\nrounds = {situation.partition["round"] + 1}\n'
    head += f"[cluster]\nbrokers = {len(brokers)}\nfetches_per_round = 1\n"
    for key, value in situation.settings.items():
        head += f'{"features" if key == ELR_FEATURE else "config"}."{key}" = {json.dumps(value)}\n'
    return replace(load_run("fixture.toml", head + to_tables(tables)).scenarios[0], scenario_id=number)


def _command(row: dict[str, Any], round_number: int) -> dict[str, Any]:
    """A command as a scenario file has it: of brokers 1, 2, ...; a configuration is the whole topic's."""
    of_partition = {} if row["kind"] == "alter_config" else {"partition": 0}
    brokers = {"replicas": [slot + 1 for slot in row["replicas"]]} if "replicas" in row else {}
    return {"topic": "t", **of_partition, "round": round_number, **row, **brokers}


def _set_partition(part: Any, situation: Situation) -> None:
    """What the controller and T know. Inputs are taken in every round, as if something began in it."""
    partition = situation.partition
    part.now = part.next_change = partition["round"]
    part.leader = partition["leader"]
    part.epoch = partition["leader_epoch"]
    part.client_leader = partition["client_leader"]
    part.client_epoch = partition["client_epoch"]
    for name in ("isr", "elr", "last_known_elr", "known_isr", "pending_joins", "pending_shrinks"):
        part[name] = _mask(partition[name])


def _set_replica(record: Any, slot: int, situation: Situation) -> None:
    """What the faults say of a replica, what it believes, and what T knows of it. T is ready if it leads in its epoch."""
    partition, replica = situation.partition, situation.replicas[slot]
    record.status = 0 if partition["controller_up"] else constants.CONTROLLER_DOWN
    for word in replica["faults"]:
        record.status |= STATUS[word]
    record.news_lag = NO_NEWS
    record.cuts = _mask([receiver for sender, receiver in partition["cut_links"] if sender == slot])
    record.believed_leader = replica["believed_leader"]
    record.believed_epoch = replica["believed_epoch"]
    record.leading_epoch = replica["believed_epoch"] if replica["leads"] else NO_EPOCH
    record.checkpoint = replica["hw_checkpoint"]
    is_t = slot == partition["client_leader"]
    record.remote_leo = UNKNOWN if is_t or replica["remote_leo"] is None else replica["remote_leo"]
    record.in_line = record.remote_leo != UNKNOWN
    record.caught_up = NEVER if replica["caught_up_round"] is None else replica["caught_up_round"]
    is_noted = replica["previous_round"] is not None
    record.noted_round = replica["previous_round"] if is_noted else NEVER
    record.noted_leader_leo = replica["previous_leader_leo"] if is_noted else UNKNOWN
    for answered, epoch, leo in partition["answers"]:
        if answered == slot:
            record.recovery_epoch, record.recovery_leo = epoch, leo


def _mask(slots: Sequence[int]) -> int:
    return sum(1 << slot for slot in slots)
