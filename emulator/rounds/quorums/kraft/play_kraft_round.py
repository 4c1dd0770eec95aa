"""One round of a group under `kraft`: the steps in the order of docs/kraft_rounds.md."""

from __future__ import annotations

from emulator.rounds.compiled import merged_into_caller
from emulator.rounds.quorums.append import append_records
from emulator.rounds.quorums.change_members import change_members, end_changes
from emulator.rounds.quorums.end_round import end_round
from emulator.rounds.quorums.inputs import Inputs
from emulator.rounds.quorums.kraft.advance_high_watermark import advance_high_watermark
from emulator.rounds.quorums.kraft.fetch import begin_quorum_epochs, fetch
from emulator.rounds.quorums.kraft.resign import resign
from emulator.rounds.quorums.kraft.stand import stand_in_turn
from emulator.rounds.quorums.raft.vote import vote
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.take_inputs import begin_round


@merged_into_caller
def play_kraft_round(lists: Lists, inputs: Inputs, group: Group) -> None:
    """Play round `group.now`: votes much as Raft's, followers fetch, the leader learns from fetches what they have."""
    rules = inputs.rules[inputs.scenarios[group.scenario].rules]
    settings = inputs.settings[group.settings]
    begin_round(lists, inputs, group, rules)  # 1. inputs
    resign(lists, group, settings, rules)  # 2. election
    if stand_in_turn(lists, inputs, group, settings, rules):
        vote(lists, group, settings, rules)
    change_members(lists, inputs, group, settings, rules)  # 3. append
    append_records(lists, inputs, group)
    begin_quorum_epochs(lists, group, rules)  # 4. fetch
    fetch(lists, inputs, group, settings, rules)
    advance_high_watermark(lists, group, settings, rules)  # 5. commit
    end_changes(lists, group, settings)
    end_round(lists, group, settings)  # 6. end of the round
