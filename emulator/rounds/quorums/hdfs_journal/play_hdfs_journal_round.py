"""One round of a group under `hdfs-journal`: the steps in the order of docs/hdfs_journal_rounds.md."""

from __future__ import annotations

from emulator.rounds.compiled import merged_into_caller
from emulator.rounds.quorums.append import append_records
from emulator.rounds.quorums.end_round import end_round
from emulator.rounds.quorums.hdfs_journal.commit_edits import commit_edits
from emulator.rounds.quorums.hdfs_journal.journal import journal
from emulator.rounds.quorums.hdfs_journal.name_writer import name_writer, stop_without_lock
from emulator.rounds.quorums.hdfs_journal.segments import roll, waits_to_roll
from emulator.rounds.quorums.hdfs_journal.take_over import take_over
from emulator.rounds.quorums.inputs import Inputs
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.take_inputs import begin_round


@merged_into_caller
def play_hdfs_journal_round(lists: Lists, inputs: Inputs, group: Group) -> None:
    """Play round `group.now`: one writer, fenced by epochs; segments on a majority."""
    rules = inputs.rules[inputs.scenarios[group.scenario].rules]
    settings = inputs.settings[group.settings]
    begin_round(lists, inputs, group, rules)  # 1. inputs
    name_writer(lists, group, settings)  # 2. failover
    take_over(lists, group, rules)  # 3. a new writer
    roll(lists, group, settings, rules)  # 4. segments
    if waits_to_roll(lists, group, settings):  # 5. append
        group.sent_records = inputs.workload[group.workload].records
    else:
        append_records(lists, inputs, group)
    journal(lists, inputs, group, settings, rules)  # 6. journal
    commit_edits(lists, group, settings, rules)  # 7. commit
    stop_without_lock(lists, group)  # 2.4
    end_round(lists, group, settings)  # 8. end of the round
