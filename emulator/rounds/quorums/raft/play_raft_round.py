"""One round of a group under `raft`: the steps in the order of docs/quorum_rounds.md."""

from __future__ import annotations

from emulator.rounds.compiled import merged_into_caller
from emulator.rounds.quorums.append import append_records
from emulator.rounds.quorums.change_members import change_members, end_changes
from emulator.rounds.quorums.end_round import end_round
from emulator.rounds.quorums.inputs import Inputs
from emulator.rounds.quorums.raft.check_quorum import check_quorum
from emulator.rounds.quorums.raft.commit_entries import commit_entries
from emulator.rounds.quorums.raft.stand import stand
from emulator.rounds.quorums.raft.transfer import begin_transfer, send_timeout_now
from emulator.rounds.quorums.raft.vote import vote
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.replicate import replicate
from emulator.rounds.quorums.take_inputs import begin_round


@merged_into_caller
def play_raft_round(lists: Lists, inputs: Inputs, group: Group) -> None:
    """Play round `group.now`: a majority commits, and a majority votes."""
    rules = inputs.rules[inputs.scenarios[group.scenario].rules]
    settings = inputs.settings[group.settings]
    begin_round(lists, inputs, group, rules)  # 1. inputs
    if settings.check_quorum:  # 2. election
        check_quorum(lists, group, settings, rules)
    if stand(lists, inputs, group, settings, rules):
        vote(lists, group, settings, rules)
    begin_transfer(lists, inputs, group, settings, rules)  # 3. append
    change_members(lists, inputs, group, settings, rules)
    append_records(lists, inputs, group)
    replicate(lists, inputs, group, settings, rules)  # 4. replicate
    send_timeout_now(lists, group)
    commit_entries(lists, group, settings, rules)  # 5. commit
    end_changes(lists, group, settings)
    end_round(lists, group, settings)  # 6. end of the round
