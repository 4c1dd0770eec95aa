"""What records say of their fields under leaps is so: each word that is perturbed stops a leap, or is of no account. No Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.inputs.arrays import Block, prepare, read_block
from emulator.rounds.kafka.leap import PARTITION_MASKS, REPLICA_MASKS
from emulator.rounds.kafka.play_block import Scratch, play
from emulator.rounds.kafka.probe import LETS_PASS, look_at, take_drift
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.state import State
from emulator.rounds.leaps import remember
from emulator.rounds.records import (
    APART,
    ASIDE,
    COMPARED,
    CONSTANT,
    COUNTER,
    DUE,
    RESTARTS,
    SCRATCH,
    fields_of,
    kinds_of,
    words_of,
)
from tests.reference.random_scenarios import random_batch, to_toml
from tests.rounds.kafka.compared import scenarios_of
from tests.rounds.kafka.test_leaps import fields

STOPS_A_LEAP = (COMPARED, APART, DUE, COUNTER)
IS_SEEN = (*STOPS_A_LEAP, ASIDE, RESTARTS)
SET_AT_THE_END = ("played", "quiet_until", "local_bytes", "end_epoch", "end_offset")
"""Scratch that is the end's: nothing in a round reads it."""

QUIET = """
    name = "quiet"
    rounds = 40
    [cluster]
    brokers = 3
    [[topics]]
    name = "t"
    partitions = 1
    replication_factor = 3
    [[workload]]
    topic = "t"
    records_per_round = 10
    record_bytes = 100
"""


def block_of(text: str, folder: Path) -> Block:
    scenarios = scenarios_of(text, folder).scenarios
    flags = {s.scenario_id: np.zeros(sum(len(t.assignment) for t in s.topics), bool) for s in scenarios}
    prepared = prepare(scenarios, flags, False, 1000)
    return read_block(prepared.block(np.arange(prepared.partition_count)))


def stretches(block: Block, rounds: range) -> Iterator[State]:
    """The state at the end of each of these rounds, each the start of the next stretch: who gets it may write to it."""
    state, scratch = block.state, Scratch(block.inputs)
    last = np.asarray(state.partitions)["end"].copy()
    for at_round in rounds:
        np.asarray(state.partitions)["end"] = np.minimum(last, at_round + 1)
        state, _ = play(state, block.inputs, block.traffic, scratch)
        yield state


@pytest.mark.parametrize(("record", "masks"), [(Partition, PARTITION_MASKS), (Replica, REPLICA_MASKS)])
def test_a_field_that_moves_stops_a_leap(tmp_path: Path, record: type, masks: np.ndarray) -> None:
    """Two quiet rounds prove a drift; one word that is otherwise in the second, and they do not."""
    of = "partitions" if record is Partition else "replicas"
    rounds = [words_of(getattr(state, of))[0].copy() for state in stretches(block_of(QUIET, tmp_path), range(20, 23))]
    drift = np.zeros(masks.shape[1], np.int64)
    take_drift(rounds[1], rounds[0], drift)
    assert look_at(masks, rounds[2], rounds[1], drift) == 0
    for word, kind in enumerate(kinds_of(record)):
        perturbed = rounds[2].copy()
        perturbed[word] += 1
        found = look_at(masks, perturbed, rounds[1], drift)
        assert (found != 0) == (kind in IS_SEEN), f"word {word} of {record.__name__}"
        assert (found & ~LETS_PASS != 0) == (kind in STOPS_A_LEAP), f"word {word} of {record.__name__}"


def test_every_word_has_its_kind() -> None:
    """A record in a record, as of a list, brings its own kinds along."""
    for record, masks in ((Partition, PARTITION_MASKS), (Replica, REPLICA_MASKS)):
        words = masks.shape[1]
        assert words == len(kinds_of(record)) > len(fields_of(record))
        remembered = np.zeros(words, np.int64)
        remember(np.arange(words), remembered)
        assert remembered.tolist() == list(range(words))


def test_constants_stay_and_scratch_is_of_no_account(tmp_path: Path) -> None:
    """Rounds played one by one, rubbish in all scratch fields between them, are rounds played at once; no constant moves."""
    text = to_toml(random_batch(11, 60))
    block = block_of(text, tmp_path)
    most = int(np.asarray(block.state.partitions)["end"].max())
    whole, told = play(block.state, block.inputs, block.traffic)
    state: Any = None
    for state in stretches(block_of(text, tmp_path), range(most)):
        for record, of in ((Partition, "partitions"), (Replica, "replicas")):
            now = getattr(state, of)
            for name, field in fields_of(record).items():
                if field.kind == SCRATCH and name not in SET_AT_THE_END:
                    now[name] = 1_234_567
                elif field.kind == CONSTANT and field.type is np.int64 and name != "end":
                    assert np.array_equal(now[name], getattr(block.state, of)[name]), f"{record.__name__}.{name}"
    for record, of in ((Partition, "partitions"), (Replica, "replicas")):
        for name in fields(record):
            assert np.array_equal(getattr(state, of)[name], getattr(whole, of)[name]), f"{record.__name__}.{name}"
    assert len(told.events) > 100
