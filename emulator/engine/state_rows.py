"""States as rows in, the same some rounds later out: what a task does with the partitions of one group. No Spark here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.engine.carried import (
    OF_PARTITIONS,
    OF_REPLICAS,
    PATTERN,
    SENT_PATTERN,
    Carried,
    CarriedPartition,
    pack_rows,
    unpack,
    with_patterns,
    words_from,
)
from emulator.engine.state_inputs import END, GROUP_PARTITIONS, own_scenario, refuse_others
from emulator.errors import InputError
from emulator.inputs.arrays import Block, prepare, read_block
from emulator.inputs.arrays.columns import integers, spread
from emulator.outcomes.compiled import Names, replica_state_rows
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.play_block import play
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.state import LIST_RECORDS, State
from emulator.rounds.packed import Packed, packed, width_of
from emulator.rounds.records import words_of
from emulator.scenario import Scenario

KEPT = (
    "number", "place", "scenario", "first_replica", "stale_class", "traced", "keeps_segments", "settings", "workload",
    "command", "commands_now", "end",
)  # fmt: skip
"""Fields of a partition that follow from the inputs, not from what it carries."""
KEPT_OF_REPLICAS = ("broker_place", "rack", "span")

BEGINS_ANEW = "carried null and round -1 in all rows of the partition, which then begins from its columns"


@dataclass(frozen=True, eq=False)
class StateRows:
    """Rows of one group in the order of partition and slot. `part`: by row, which partition; `first`: by partition its row."""

    table: pa.Table
    topic: str
    base: int
    partitions: np.ndarray
    part: np.ndarray
    first: np.ndarray
    rounds: np.ndarray
    carried: list[Carried] | None

    def name(self, partition: int) -> str:
        """What messages call a partition."""
        return f"state: {self.topic}-{int(self.partitions[partition])}"


def play_rows(scenario: Scenario, rounds: int, table: pa.Table) -> pa.Table:
    """The rows of one group after so many rounds.

    Raises InputError for rows that are missing, that contradict each other or what they carry.
    """
    given = read_rows(table)
    own = own_scenario(scenario, given.table, given.base, given.carried is not None)
    prepared = prepare([own], {}, True, END)
    block = read_block(prepared.block(given.partitions - given.base))
    names = Names(block)
    inputs, state = begin(block, given)
    parts = np.asarray(state.partitions)
    parts["keeps_segments"] = 0  # in these rounds nothing goes (refuse_others)
    if given.carried is not None:
        _refuse_changes(given, names, inputs, state)
        _follow_inputs_anew(state)
    last = int(parts["now"].max()) + rounds
    if last > END:
        raise InputError(f"{given.name(0)}: round: too many rounds; allowed: up to {END}")
    refuse_others(own, last)
    parts["end"] = parts["now"] + rounds
    played, _ = play(state, inputs, block.traffic)
    return _rows(given, names, inputs, played)


def read_rows(table: pa.Table) -> StateRows:
    """Rows of one topic in order, checked."""
    topic = table.column("topic")[0].as_py()
    broker = integers(table, "broker", -1)
    lists = table.column("replicas").combine_chunks()
    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    of_row = np.repeat(np.arange(len(counts)), counts)
    slot = np.full(len(counts), -1, np.int64)
    within = spread(np.zeros_like(counts), counts)
    is_own = lists.flatten().to_numpy(zero_copy_only=False) == broker[of_row]
    slot[of_row[is_own]] = within[is_own]
    number = integers(table, "partition", -1)
    order = np.lexsort((slot, number))
    table = table.take(pa.array(order)).combine_chunks()
    number, slot, counts = number[order], slot[order], counts[order]
    partitions, first, part = np.unique(number, return_index=True, return_inverse=True)
    rounds = integers(table, "round", -1)
    has_carried = pc.is_valid(table.column("carried")).to_numpy(zero_copy_only=False)
    given = StateRows(table, topic, int(number[0]) // GROUP_PARTITIONS * GROUP_PARTITIONS, partitions, part, first, rounds, None)
    same = np.arange(len(part)) - first[part] == slot
    whole = np.bincount(part) == counts[first]
    brokers = np.array(_texts(table, "replicas"))
    problems = {
        "broker: is not among replicas, stands twice, or rows of replicas are missing": ~same | ~whole[part],
        "replicas: differs between the partition's rows": brokers != brokers[first][part],
        "round: differs between the partition's rows": rounds != rounds[first][part],
        "carried: is null in some rows of the partition": has_carried != has_carried[first][part],
    }
    for problem, wrong in problems.items():
        if wrong.any():
            place = int(part[np.flatnonzero(wrong)[0]])
            raise InputError(f"{given.name(place)}: {problem}; allowed: a row for each of its replicas, alike in these columns")
    if has_carried.any() != has_carried.all():
        at = int(part[np.flatnonzero(~has_carried)[0]])
        raise InputError(
            f"{given.name(at)}: carried: is null, and not so in other partitions of the topic; allowed: {BEGINS_ANEW}"
        )
    if not has_carried.all():
        return given
    return replace(given, carried=[unpack(row.as_py()) for row in table.column("carried")])


def begin(block: Block, given: StateRows) -> tuple[Inputs, State]:
    """(inputs, the state to go on from): what rows carry, or what the columns say of a start."""
    state = block.state
    parts = np.asarray(state.partitions)
    if given.carried is None:
        now = given.rounds[given.first] + 1
        parts["now"] = now
        late = np.flatnonzero(now[given.part] > 0)
        replicas = np.asarray(state.replicas)
        replicas["caught_up"][late], replicas["noted_round"][late] = now[given.part][late], now[given.part][late] - 1
        _read_spans(state, np.flatnonzero(now > 0), late)
        return block.inputs, state
    inputs, numbers = with_patterns(block.inputs, [p for row in given.carried for p in row.patterns.values()])
    _take_words(state.replicas, Replica, [row.words for row in given.carried], KEPT_OF_REPLICAS)
    wholes: list[CarriedPartition] = []
    for at, first in enumerate(given.first.tolist()):
        whole = given.carried[first].partition
        if whole is None:
            raise InputError(f"{given.name(at)}: replicas: is not what carried has; allowed: {BEGINS_ANEW}")
        wholes.append(whole)
    _take_words(state.partitions, Partition, [whole.words for whole in wholes], KEPT)
    lists: dict[str, Any] = {}
    for names, of in ((OF_REPLICAS, given.carried), (OF_PARTITIONS, wholes)):
        for name in names:
            record = LIST_RECORDS[name][0]
            found = [words_from(one, record).copy() for row in of for one in row.lists[name]]
            lists[name] = packed(width_of(record), found)
    own = np.repeat(np.arange(len(given.carried)), np.diff(lists["runs"].offsets[:: len(LIST_RECORDS["runs"][1])]))
    for at, row in enumerate(own.tolist()):
        content = given.carried[row].patterns[int(lists["runs"].words[at, PATTERN])][1]
        lists["runs"].words[at, PATTERN] = numbers[content]
    _renumber_sent(given, np.asarray(state.partitions), lists["sent"], numbers)
    return inputs, state._replace(**lists)


def _renumber_sent(given: StateRows, parts: np.ndarray, sent: Packed, numbers: Mapping[bytes, int]) -> None:
    """Patterns of what was sent with acks=0 get the numbers that they have here."""
    assert given.carried is not None
    for number, first in enumerate(given.first.tolist()):
        patterns = given.carried[first].patterns
        for at in range(sent.offsets[number], sent.offsets[number + 1]):
            if sent.words[at, SENT_PATTERN] != UNKNOWN:
                sent.words[at, SENT_PATTERN] = numbers[patterns[int(sent.words[at, SENT_PATTERN])][1]]
        if parts["sent_pattern"][number] != UNKNOWN:
            parts["sent_pattern"][number] = numbers[patterns[int(parts["sent_pattern"][number])][1]]


def _take_words(records: Any, record: type, words: list[bytes], kept: tuple[str, ...]) -> None:
    """Records become what these words say, but for the fields that are kept."""
    values = np.asarray(records)
    before = {name: values[name].copy() for name in kept}
    words_of(records)[:] = np.frombuffer(b"".join(words), np.int64).reshape(-1, width_of(record))
    for name, value in before.items():
        values[name] = value


def _refuse_changes(given: StateRows, names: Names, inputs: Inputs, state: State) -> None:
    """Raises InputError for the first column that is not what its row carries."""
    assert given.carried is not None
    computed = replica_state_rows(names, inputs, state)
    min_isr = [row.partition.min_isr for row in given.carried if row.partition is not None]
    for column in computed.schema.names:
        if column in ("scenario_id", "topic", "partition"):
            continue
        has = computed.column(column)
        if column == "min_isr":
            has = pa.chunked_array([pa.array(np.array(min_isr)[given.part], pa.int32())])
        found = given.table.column(column)
        if not pa.types.is_nested(has.type) and found.cast(has.type).equals(has):
            continue
        for row, (said, carries) in enumerate(zip(found.to_pylist(), has.to_pylist(), strict=True)):
            if said != carries:
                broker = given.table.column("broker")[row].as_py()
                problem = f"{column} of broker {broker} is {said}, and {carries} in carried"
                raise InputError(f"{given.name(int(given.part[row]))}: {problem}; allowed: as play gave it, or {BEGINS_ANEW}")


def _follow_inputs_anew(state: State) -> None:
    """Faults, workload and settings are read from their beginnings up to the next round: they may be others than before."""
    _read_spans(state, np.arange(len(state.partitions)), np.arange(len(state.replicas)))


def _read_spans(state: State, partitions: np.ndarray, replicas: np.ndarray) -> None:
    """The next round finds that inputs change: each broker stands before its first span."""
    parts, values = np.asarray(state.partitions), np.asarray(state.replicas)
    parts["next_change"][partitions] = parts["now"][partitions]
    values["span"][replicas] -= 1


def _rows(given: StateRows, names: Names, inputs: Inputs, state: State) -> pa.Table:
    table = replica_state_rows(names, inputs, state)
    columns = {name: table.column(name) for name in table.schema.names}
    columns["scenario_id"] = given.table.column("scenario_id")
    columns["partition"] = given.table.column("partition")
    columns["replicas"] = given.table.column("replicas")
    columns["carried"] = pa.array(pack_rows(state, inputs), pa.binary())
    return pa.table({name: columns[name] for name in columns})


def _texts(table: pa.Table, column: str) -> list[str]:
    return [str(value) for value in table.column(column).to_pylist()]
