"""One round of a group under `primary-backup-sync` or `-async`: the steps in the order of docs/quorum_rounds.md."""

from __future__ import annotations

from emulator.rounds.compiled import merged_into_caller
from emulator.rounds.quorums.advance_commit import advance_commit
from emulator.rounds.quorums.append import append_records
from emulator.rounds.quorums.end_round import end_round
from emulator.rounds.quorums.inputs import Inputs
from emulator.rounds.quorums.primary_backup.fail_over import fail_over
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.replicate import replicate
from emulator.rounds.quorums.take_inputs import begin_round


@merged_into_caller
def play_primary_backup_round(lists: Lists, inputs: Inputs, group: Group) -> None:
    """Play round `group.now`: the primary takes writes and tells its backups; all of them commit, or itself alone does."""
    rules = inputs.rules[inputs.scenarios[group.scenario].rules]
    settings = inputs.settings[group.settings]
    begin_round(lists, inputs, group, rules)  # 1. inputs
    fail_over(lists, group, settings)  # 2. failover
    append_records(lists, inputs, group)  # 3. append
    replicate(lists, inputs, group, settings, rules)  # 4. replicate
    advance_commit(lists, group, settings, rules, settings.acks)  # 5. acknowledge
    end_round(lists, group, settings)  # 6. end of the round
