"""A block of groups that commit by quorums, from its payload to its rows; driver and tasks call the same."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.engine.compile_by_playing import compile_by_playing
from emulator.engine.rows import blocks_row
from emulator.inputs.quorum_arrays.prepare import Block, read_group_block
from emulator.outcomes.compiled_groups import group_block_tables
from emulator.outcomes.compiled_ledgers import LedgerNames
from emulator.rounds.quorums.play_block import play
from emulator.rounds.quorums.play_groups import ENTRY_POINTS


def group_payload(names: LedgerNames, groups: bytes) -> bytes:
    """A block of groups with their names; `groups`: as of PreparedGroups.payload."""
    return pickle.dumps((names, groups), protocol=5)


def play_group_payload(number: int, payload: Any) -> dict[str, pa.Table]:
    """Play a block of groups; the rows of rows.GROUP_TABLES."""
    names, groups = pickle.loads(payload)
    block = read_group_block(groups)
    compile_groups(block)
    began = time.perf_counter()
    state, told = play(block.state, block.inputs)
    seconds = time.perf_counter() - began
    return group_block_tables(names, state, told) | {"blocks": blocks_row(number, len(state.groups), seconds)}


def compile_groups(block: Block, **told: Callable[[], None]) -> bool:
    """Have the rounds of a block's protocols compiled, where the cache does not have them yet; as of compile_by_playing."""
    groups: Any = block.state.groups
    needed = [ENTRY_POINTS[int(protocol)] for protocol in np.unique(groups.protocol)]
    made = [compile_by_playing(one, lambda over: play(over, block.inputs), block.state, "groups", **told) for one in needed]
    return any(made)
