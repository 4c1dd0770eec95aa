"""A block of groups: each plays its own rounds to its end, with its lists in scratch arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from emulator.rounds.calls import DONE, OUTPUT_FULL, SCRATCH_FULL
from emulator.rounds.compiled import compiled, entry_point, merged_into_caller
from emulator.rounds.packed import load, store
from emulator.rounds.quorums.drift import Words as GroupWords
from emulator.rounds.quorums.drift import is_quiet
from emulator.rounds.quorums.end_round import finish
from emulator.rounds.quorums.hdfs_journal.play_hdfs_journal_round import play_hdfs_journal_round
from emulator.rounds.quorums.inputs import Inputs
from emulator.rounds.quorums.kraft.play_kraft_round import play_kraft_round
from emulator.rounds.quorums.leap import horizon, leap
from emulator.rounds.quorums.pacifica.play_pacifica_round import play_pacifica_round
from emulator.rounds.quorums.primary_backup.play_primary_backup_round import play_primary_backup_round
from emulator.rounds.quorums.protocols import (
    HDFS_JOURNAL,
    KRAFT,
    PACIFICA,
    PRIMARY_BACKUP_ASYNC,
    PRIMARY_BACKUP_SYNC,
    QUORUM,
    RAFT,
    VIEWSTAMPED,
    ZAB,
)
from emulator.rounds.quorums.quorum.play_quorum_round import play_quorum_round
from emulator.rounds.quorums.raft.play_raft_round import play_raft_round
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.state import State
from emulator.rounds.quorums.viewstamped.play_viewstamped_round import play_viewstamped_round
from emulator.rounds.quorums.zab.play_zab_round import play_zab_round

PlayRound = Callable[[Lists, Inputs, Group], None]
CHECK_ROUNDS = 64
"""Rounds between two looks for lists that are full: what comes after that is played for nothing."""


class Words(NamedTuple):
    """Records as rows of 64-bit words: of the scratch arrays, of what leaps compare, of the old state and the new one."""

    runs: np.ndarray
    leaderships: np.ndarray
    configurations: np.ndarray
    messages: np.ndarray
    appends: np.ndarray
    latencies: np.ndarray
    servers: np.ndarray
    peers: np.ndarray
    before: GroupWords
    drift: GroupWords
    points: np.ndarray
    old_groups: np.ndarray
    old_servers: np.ndarray
    old_peers: np.ndarray
    groups: np.ndarray
    new_servers: np.ndarray
    new_peers: np.ndarray


@compiled
def copy_words(source: np.ndarray, first: int, target: np.ndarray, at: int, count: int) -> None:
    """Copy so many records."""
    for row in range(count):
        for word in range(source.shape[1]):
            target[at + row, word] = source[first + row, word]


@compiled
def is_full(lists: Lists, group: Group) -> bool:
    """Whether a list of the group, or an array of outputs, had no room."""
    full = group.leaderships.full | group.configurations.full | group.messages.full | group.appends.full | group.latencies.full
    full |= lists.filled[0].events.full | lists.filled[0].violations.full
    for slot in range(group.copies):
        full |= lists.servers[slot].runs.full
    return full != 0


@compiled
def load_group(old: State, group: Group, number: int, lists: Lists, words: Words, room: int) -> None:
    """Put a group, its servers and lists into the scratch arrays."""
    copy_words(words.old_groups, number, words.groups, number, 1)
    copy_words(words.old_servers, group.first_server, words.servers, 0, group.copies)
    copy_words(words.old_peers, group.first_peer, words.peers, 0, group.copies * group.copies)
    load(group.leaderships, old.leaderships, number, words.leaderships, 0, room)
    load(group.configurations, old.configurations, number, words.configurations, 0, room)
    load(group.messages, old.messages, number, words.messages, 0, room)
    load(group.appends, old.appends, number, words.appends, 0, room)
    load(group.latencies, old.latencies, number, words.latencies, 0, room)
    for slot in range(group.copies):
        load(lists.servers[slot].runs, old.runs, group.first_server + slot, words.runs, slot * room, room)


@compiled
def store_group(new: State, group: Group, number: int, lists: Lists, words: Words) -> bool:
    """Pack them behind those before. False: there is no room."""
    copy_words(words.servers, 0, words.new_servers, group.first_server, group.copies)
    copy_words(words.peers, 0, words.new_peers, group.first_peer, group.copies * group.copies)
    fits = store(group.leaderships, new.leaderships, number, words.leaderships)
    fits = fits and store(group.configurations, new.configurations, number, words.configurations)
    fits = fits and store(group.messages, new.messages, number, words.messages)
    fits = fits and store(group.appends, new.appends, number, words.appends)
    fits = fits and store(group.latencies, new.latencies, number, words.latencies)
    for slot in range(group.copies):
        fits = fits and store(lists.servers[slot].runs, new.runs, group.first_server + slot, words.runs)
    return fits


@merged_into_caller
def play_group(play_round: PlayRound, lists: Lists, inputs: Inputs, group: Group, words: Words, number: int) -> None:
    """A group's rounds up to the run's end, leaps included; they stop short where a list was full."""
    spans, played = lists.filled[0], 0
    leaps = inputs.scenarios[group.scenario].leaps
    now = GroupWords(words.groups[number], words.servers, words.peers, words.leaderships, words.messages, words.latencies)
    while group.now < group.end:
        told = spans.events.count + spans.violations.count
        play_round(lists, inputs, group)
        played += 1
        if played % CHECK_ROUNDS == 0 and is_full(lists, group):
            return
        if not leaps or spans.events.count + spans.violations.count != told or group.next_change <= group.now + 1:
            continue  # or it is not worth a look
        if is_quiet(group, now, words.before, words.drift):
            then = horizon(lists, inputs, group, words.drift, words.points)
            if then > group.now:
                leap(lists, inputs, group, now, words.before, words.drift, then)
    if not is_full(lists, group):
        finish(lists, group)


@merged_into_caller
def play_each(
    play_round: PlayRound,
    old: State,
    new: State,
    inputs: Inputs,
    lists: Lists,
    words: Words,
    room: int,
    first: int,
    last: int,
    is_played: bool,
) -> tuple[int, int]:
    """Groups [first, last) of one protocol, the first of which may be played and only lack room in the new state.

    Returns (where it stopped, why).
    """
    spans = lists.filled[0]
    for number in range(first, last):
        group = new.groups[number]
        if not is_played:
            events, violations = spans.events.count, spans.violations.count
            load_group(old, group, number, lists, words, room)
            if not is_full(lists, group):
                play_group(play_round, lists, inputs, group, words, number)
            if is_full(lists, group):
                spans.events.count, spans.violations.count = events, violations
                return number, SCRATCH_FULL
        if not store_group(new, group, number, lists, words):
            return number, OUTPUT_FULL
        is_played = False
    return last, DONE


@entry_point
def play_quorum_groups(
    old: State, new: State, inputs: Inputs, lists: Lists, words: Words, room: int, first: int, last: int, is_played: bool
) -> tuple[int, int]:
    """As play_each."""
    return play_each(play_quorum_round, old, new, inputs, lists, words, room, first, last, is_played)


@entry_point
def play_raft_groups(
    old: State, new: State, inputs: Inputs, lists: Lists, words: Words, room: int, first: int, last: int, is_played: bool
) -> tuple[int, int]:
    """As play_each."""
    return play_each(play_raft_round, old, new, inputs, lists, words, room, first, last, is_played)


@entry_point
def play_primary_backup_groups(
    old: State, new: State, inputs: Inputs, lists: Lists, words: Words, room: int, first: int, last: int, is_played: bool
) -> tuple[int, int]:
    """As play_each."""
    return play_each(play_primary_backup_round, old, new, inputs, lists, words, room, first, last, is_played)


@entry_point
def play_pacifica_groups(
    old: State, new: State, inputs: Inputs, lists: Lists, words: Words, room: int, first: int, last: int, is_played: bool
) -> tuple[int, int]:
    """As play_each."""
    return play_each(play_pacifica_round, old, new, inputs, lists, words, room, first, last, is_played)


@entry_point
def play_zab_groups(
    old: State, new: State, inputs: Inputs, lists: Lists, words: Words, room: int, first: int, last: int, is_played: bool
) -> tuple[int, int]:
    """As play_each."""
    return play_each(play_zab_round, old, new, inputs, lists, words, room, first, last, is_played)


@entry_point
def play_kraft_groups(
    old: State, new: State, inputs: Inputs, lists: Lists, words: Words, room: int, first: int, last: int, is_played: bool
) -> tuple[int, int]:
    """As play_each."""
    return play_each(play_kraft_round, old, new, inputs, lists, words, room, first, last, is_played)


@entry_point
def play_viewstamped_groups(
    old: State, new: State, inputs: Inputs, lists: Lists, words: Words, room: int, first: int, last: int, is_played: bool
) -> tuple[int, int]:
    """As play_each."""
    return play_each(play_viewstamped_round, old, new, inputs, lists, words, room, first, last, is_played)


@entry_point
def play_hdfs_journal_groups(
    old: State, new: State, inputs: Inputs, lists: Lists, words: Words, room: int, first: int, last: int, is_played: bool
) -> tuple[int, int]:
    """As play_each."""
    return play_each(play_hdfs_journal_round, old, new, inputs, lists, words, room, first, last, is_played)


ENTRY_POINTS = {
    QUORUM: play_quorum_groups,
    RAFT: play_raft_groups,
    PRIMARY_BACKUP_SYNC: play_primary_backup_groups,
    PRIMARY_BACKUP_ASYNC: play_primary_backup_groups,
    PACIFICA: play_pacifica_groups,
    ZAB: play_zab_groups,
    KRAFT: play_kraft_groups,
    VIEWSTAMPED: play_viewstamped_groups,
    HDFS_JOURNAL: play_hdfs_journal_groups,
}
"""By protocol what plays its groups: each is compiled by itself, when it is first needed."""
