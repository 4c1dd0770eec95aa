"""One round of a group under `viewstamped`: the steps in the order of docs/viewstamped_rounds.md."""

from __future__ import annotations

from emulator.rounds.compiled import merged_into_caller
from emulator.rounds.quorums.append import append_records
from emulator.rounds.quorums.end_round import end_round
from emulator.rounds.quorums.inputs import Inputs
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.take_inputs import begin_round
from emulator.rounds.quorums.viewstamped.change_views import change_views
from emulator.rounds.quorums.viewstamped.prepare import commit_operations, prepare
from emulator.rounds.quorums.viewstamped.recover import forget_state, recover


@merged_into_caller
def play_viewstamped_round(lists: Lists, inputs: Inputs, group: Group) -> None:
    """Play round `group.now`: views have their primaries in turn, and no disk has anything."""
    rules = inputs.rules[inputs.scenarios[group.scenario].rules]
    settings = inputs.settings[group.settings]
    if begin_round(lists, inputs, group, rules):  # 1. inputs
        forget_state(lists, group)
    change_views(lists, group, settings, rules)  # 2. view change
    recover(lists, group, rules)  # 3. recovery
    append_records(lists, inputs, group)  # 4. append
    prepare(lists, inputs, group, settings, rules)  # 5. prepare
    commit_operations(lists, group, settings)  # 6. commit
    end_round(lists, group, settings)  # 7. end of the round
