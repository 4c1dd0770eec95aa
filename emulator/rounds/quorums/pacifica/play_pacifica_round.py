"""One round of a group under `pacifica`: the steps in the order of docs/quorum_rounds.md."""

from __future__ import annotations

from emulator.rounds.compiled import merged_into_caller
from emulator.rounds.quorums.append import append_records
from emulator.rounds.quorums.end_round import end_round
from emulator.rounds.quorums.inputs import Inputs
from emulator.rounds.quorums.pacifica.add_candidates import add_candidates
from emulator.rounds.quorums.pacifica.check_leases import check_leases, take_over
from emulator.rounds.quorums.pacifica.check_pacifica import check_pacifica
from emulator.rounds.quorums.pacifica.commit_prepared import commit_prepared
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.replicate import replicate
from emulator.rounds.quorums.take_inputs import begin_round


@merged_into_caller
def play_pacifica_round(lists: Lists, inputs: Inputs, group: Group) -> None:
    """Play round `group.now`: leases say who is the primary, all replicas of the configuration commit."""
    rules = inputs.rules[inputs.scenarios[group.scenario].rules]
    settings = inputs.settings[group.settings]
    begin_round(lists, inputs, group, rules)  # 1. inputs
    check_leases(lists, group, settings, rules)  # 2. leases
    take_over(lists, group, settings, rules)
    append_records(lists, inputs, group)  # 3. append
    replicate(lists, inputs, group, settings, rules)  # 4. prepare
    add_candidates(lists, group, settings, rules)
    commit_prepared(lists, group, settings, rules)  # 5. commit
    check_pacifica(lists, group)
    end_round(lists, group, settings)  # 6. end of the round
