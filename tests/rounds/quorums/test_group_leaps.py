"""Leaps of groups are equal to playing: every word of the state at the end, and all that is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from emulator.rounds.compiled import is_compiling
from emulator.rounds.quorums.play_block import PACKED
from emulator.rounds.quorums.protocols import PROTOCOLS
from emulator.rounds.quorums.records import Group, Peer, Server
from emulator.rounds.quorums.state import State
from emulator.rounds.records import COMPARED, CONSTANT, COUNTER, SAMPLE, TOTAL, fields_of
from tests.reference.quorums.cases import Case
from tests.reference.quorums.schedules import random_case, wider_case, without
from tests.rounds.quorums.compared import play_block

KEPT = (CONSTANT, COMPARED, COUNTER, SAMPLE, TOTAL)


def long_case(protocol: str, seed: int) -> Case:
    """A random case whose faults lie so far apart that there is something to leap over."""
    return stretched(random_case(protocol, seed, rounds=60, disks=0.3), (1, 7, 23)[seed % 3])


def long_wider_case(protocol: str, seed: int) -> Case:
    """Likewise of more servers, other leases, racks that are lost, and leaders that hand over in the quiet between faults."""
    apart = (3, 7, 23)[seed % 3]
    own = stretched(wider_case(protocol, seed, rounds=60, disks=0.3), apart)
    return replace(own, transfers=tuple(at * apart for at in own.transfers))


def stretched(own: Case, apart: int) -> Case:
    """All of a case but transfers so many times later."""
    faults = tuple(replace_times(fault, apart) for fault in own.faults)
    workload, changes = (tuple((at * apart, what) for at, what in rows) for rows in (own.workload, own.changes))
    return replace(own, rounds=own.rounds * apart, faults=faults, workload=workload, changes=changes)


def replace_times(fault: Any, apart: int) -> Any:
    """The same fault, as many times later and longer, but not by whole periods of anything."""
    length = fault.to_round - fault.from_round
    return fault._replace(from_round=fault.from_round * apart, to_round=fault.from_round * apart + length * apart)


def words_kept(state: State) -> dict[str, np.ndarray]:
    """What of a state is defined at the end of a run: all but what is of one round."""
    kept = {}
    for record, own in ((Group, state.groups), (Server, state.servers), (Peer, state.peers)):
        for name, field in fields_of(record).items():
            if field.type is np.int64 and field.kind in KEPT:
                kept[f"{record.__name__}.{name}"] = np.asarray(own[name])
    return kept | {name: getattr(state, name).words for name in PACKED}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_leaps_equal_playing(protocol: str) -> None:
    seeds = range(400 if is_compiling() else 30)
    cases = [long_case(protocol, seed) for seed in seeds]
    cases += [long_wider_case(protocol, seed) for seed in range(24 if is_compiling() else 4)]
    guards = ("compare_logs", "refuse_older_term", "own_term_commits", "leases_expire", "all_prepared")
    cases += [without(case, guards[at % len(guards)]) for at, case in enumerate(cases[::4])]
    played, told = play_block(cases)
    leapt, told_by_leaps = play_block(cases, leaps=True)
    for name, column in words_kept(played).items():
        other = words_kept(leapt)[name]
        assert column.shape == other.shape, name
        assert np.array_equal(column, other), (name, np.argwhere(column != other)[:5].tolist())
    for name in ("events", "violations"):
        assert np.array_equal(getattr(told, name), getattr(told_by_leaps, name)), name
