"""One round of a group under `quorum`: the steps in the order of docs/quorum_rounds.md."""

from __future__ import annotations

from emulator.rounds.compiled import merged_into_caller
from emulator.rounds.quorums.advance_commit import advance_commit
from emulator.rounds.quorums.append import append_records
from emulator.rounds.quorums.end_round import end_round
from emulator.rounds.quorums.inputs import Inputs
from emulator.rounds.quorums.quorum.elect import elect
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.replicate import replicate
from emulator.rounds.quorums.take_inputs import begin_round


@merged_into_caller
def play_quorum_round(lists: Lists, inputs: Inputs, group: Group) -> None:
    """Play round `group.now`: A servers commit, an elector compares V logs."""
    rules = inputs.rules[inputs.scenarios[group.scenario].rules]
    settings = inputs.settings[group.settings]
    begin_round(lists, inputs, group, rules)  # 1. inputs
    elect(lists, group, settings, rules)  # 2. election
    append_records(lists, inputs, group)  # 3. append
    replicate(lists, inputs, group, settings, rules)  # 4. replicate
    advance_commit(lists, group, settings, rules, settings.acks)  # 5. commit
    end_round(lists, group, settings)  # 6. end of the round
