"""Step 7 of hdfs-journal: what a majority has is committed; a writer that waits for that too long ends."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.advance_commit import commit_to, matched_by
from emulator.rounds.quorums.constants import LEADER
from emulator.rounds.quorums.hdfs_journal.fencing import stop_writing
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.links import runs
from emulator.rounds.quorums.members import everybody
from emulator.rounds.quorums.records import Group, Lists


@compiled
def commit_edits(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Every writer commits the largest end that a majority has acknowledged, or ends when none has moved for too long.

    Source: AsyncLoggerSet.waitForWriteQuorum.
    """
    for slot in range(group.copies):
        writer = lists.servers[slot]
        if writer.role != LEADER or not runs(lists, slot):
            continue
        before = writer.commit
        end = matched_by(lists, group, settings, slot, everybody(group), group.copies // 2 + 1)
        commit_to(lists, group, rules, slot, end)
        waits = writer.commit < writer.end or writer.puts_off
        if writer.commit > before or not waits:
            writer.waited_round = group.now
        if group.now - writer.waited_round >= settings.write_rounds:
            stop_writing(lists, group, slot)
