"""Rounds of quorums against the reference by whole blocks, as runs play them: compiled, and stored at a run's end.

What is so after a round is what is so at the end of a run of so many rounds: the block has each case once for every such end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from emulator.inputs.quorum_arrays.start import start_groups
from emulator.rounds.compiled import is_compiling
from emulator.rounds.packed import entries_of
from emulator.rounds.quorums.play_block import play
from emulator.rounds.quorums.records import Configuration, Message, Run
from emulator.rounds.quorums.state import State
from tests.reference.quorums.cases import Case
from tests.reference.quorums.play import outcomes
from tests.reference.quorums.play import played as played_by_reference
from tests.rounds.cells import cells
from tests.rounds.quorums import compared
from tests.rounds.quorums.compared import (
    CONFIGURATION,
    MESSAGE,
    OUTCOMES,
    PEER,
    RUN,
    SERVER,
    Members,
    block_of,
    latencies_of,
    rows_of,
    unlike,
)


def differences(cases: Sequence[Case]) -> dict[int, list[str]]:
    """By place of a case where rounds and reference differ first; as ordinary Python they are played one by one."""
    found = {place: compared.differences(case) for place, case in enumerate(cases)} if not is_compiling() else _of_block(cases)
    return {place: wrong for place, wrong in found.items() if wrong}


def _of_block(cases: Sequence[Case]) -> dict[int, list[str]]:
    state, inputs = block_of(cases)
    rounds = np.array([case.rounds for case in cases])
    start = after_each_round(state, rounds)
    ended, told = play(start, inputs)
    places = np.cumsum([0, *rounds])
    seen = rows_of_groups(ended, [case.protocol for case in cases for _ in range(case.rounds)])
    events, violations = (
        np.split(rows, np.searchsorted(rows.group, np.arange(1, places[-1]))) for rows in (told.events, told.violations)
    )
    found = {}
    for number, case in enumerate(cases):
        reference, expected = played_by_reference(case)
        first, last = int(places[number]), int(places[number + 1]) - 1
        wrong = next((w for r, rows in enumerate(expected) if (w := unlike(r, rows, seen[first + r]))), [])
        counted = {name: int(ended.groups[last][name]) for name in OUTCOMES} | {"latencies": latencies_of(ended, last)}
        found[number] = wrong or compared.unlike_at_end(reference, events[last], violations[last], counted, outcomes(reference))
    return found


def after_each_round(state: State, rounds: np.ndarray) -> State:
    """A block with each of its groups once for every number of its rounds, which is where it ends."""
    groups: Any = np.repeat(state.groups, rounds).view(np.recarray)
    groups.end = np.concatenate([np.arange(1, count + 1) for count in rounds])
    first, copies = np.asarray(groups.first_server), np.asarray(groups.copies)
    servers = np.concatenate([np.arange(at, at + count) for at, count in zip(first, copies, strict=True)])
    own: Any = state.servers
    return start_groups(groups, *(np.asarray(own[name])[servers] for name in ("broker", "place", "span")))


def rows_of_groups(state: State, protocols: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Of each group `rows_of` its servers."""
    servers, peers = list(cells(state.servers, *SERVER)), list(cells(state.peers, *PEER))
    runs, messages = list(cells(entries_of(Run, state.runs), *RUN)), list(cells(entries_of(Message, state.messages), *MESSAGE))
    configured = list(cells(entries_of(Configuration, state.configurations), *CONFIGURATION))
    of_server, of_group = state.runs.offsets.tolist(), state.messages.offsets.tolist()
    configured_of = state.configurations.offsets.tolist()
    found = []
    for place, (first, copies, peer, initial) in enumerate(
        cells(state.groups, "first_server", "copies", "first_peer", "initial")
    ):
        logs = [runs[of_server[server] : of_server[server + 1]] for server in range(first, first + copies)]
        under_way = messages[of_group[place] : of_group[place + 1]]
        own = servers[first : first + copies]
        members = Members(initial, configured[configured_of[place] : configured_of[place + 1]])
        found.append(rows_of(protocols[place], own, peers[peer : peer + copies * copies], logs, under_way, members))
    return found
