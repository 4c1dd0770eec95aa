"""One round of a group under `zab`: the steps in the order of docs/zab_rounds.md."""

from __future__ import annotations

from emulator.rounds.compiled import merged_into_caller
from emulator.rounds.quorums.advance_commit import advance_commit
from emulator.rounds.quorums.append import append_records
from emulator.rounds.quorums.end_round import end_round
from emulator.rounds.quorums.inputs import Inputs
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.take_inputs import begin_round
from emulator.rounds.quorums.zab.broadcast import broadcast
from emulator.rounds.quorums.zab.check_order import check_order
from emulator.rounds.quorums.zab.discover import discover
from emulator.rounds.quorums.zab.leave_leaders import leave_leaders
from emulator.rounds.quorums.zab.synchronize import synchronize


@merged_into_caller
def play_zab_round(lists: Lists, inputs: Inputs, group: Group) -> None:
    """Play round `group.now`: discovery, synchronization, broadcast."""
    rules = inputs.rules[inputs.scenarios[group.scenario].rules]
    settings = inputs.settings[group.settings]
    begin_round(lists, inputs, group, rules)  # 1. inputs
    leave_leaders(lists, group, settings)  # 2. leaders lost
    discover(lists, group, rules)  # 3. phase 1
    synchronize(lists, group, rules)  # 4. phase 2
    append_records(lists, inputs, group)  # 5. append
    broadcast(lists, inputs, group, settings, rules)  # 6. phase 3
    advance_commit(lists, group, settings, rules, group.copies // 2 + 1)  # 7. commit
    check_order(lists, group)
    end_round(lists, group, settings)  # 8. end of the round
