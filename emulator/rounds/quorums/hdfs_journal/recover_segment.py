"""Step 3 of hdfs-journal, its second and third call: which copy of the last segment is the right one, and a majority takes it."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import FINALIZED_SEGMENTS, NOBODY
from emulator.rounds.quorums.hdfs_journal.fencing import answers, is_allowed, is_called
from emulator.rounds.quorums.inputs import Rules
from emulator.rounds.quorums.links import gets_through
from emulator.rounds.quorums.log import first_other_entry
from emulator.rounds.quorums.records import Group, Lists, Server
from emulator.rounds.quorums.take_history import take_history
from emulator.rounds.quorums.tell import witness


@compiled
def prepare_recovery(lists: Lists, group: Group, rules: Rules, slot: int) -> bool:
    """A majority tells what it has of the last segment; the best one is chosen. False: too few answer.

    Source: Journal.prepareRecovery; SegmentRecoveryComparator.
    """
    count, best = 0, slot
    for other in range(group.copies):
        if is_called(lists, slot, other) and is_allowed(lists, group, rules, slot, other) and answers(lists, slot, other):
            count += 1
            if rules.compare_logs and is_better(rules, lists.servers[other], lists.servers[best]):
                best = other
    lists.servers[slot].chosen = best
    return count >= group.copies // 2 + 1


@compiled
def is_better(rules: Rules, one: Server, other: Server) -> bool:
    """Whether one copy is to be chosen before another.

    A later segment first, then one that is finalized; of those in progress that of the newer epoch, in which a recovery was
    accepted or a writer began the segment; then the longer one.
    """
    if one.segment != other.segment:
        return one.segment > other.segment
    if one.finalized != other.finalized:
        return one.finalized > other.finalized
    own, its = seen_epoch(rules, one), seen_epoch(rules, other)
    if own != its and rules.current_epoch_first:
        return own > its
    return one.end > other.end


@compiled
def seen_epoch(rules: Rules, node: Server) -> int:
    """The newest epoch that a node's copy of its last segment is of."""
    return max(node.accepted, node.log_term) if rules.accepted_counts else node.log_term


@compiled
def accept_recovery(lists: Lists, group: Group, rules: Rules, slot: int) -> bool:
    """Who has not the chosen copy downloads it; all note the epoch in which they accepted it. False: too few do, or not itself.

    Source: Journal.acceptRecovery. What a node lacks of earlier segments comes with it (JournalNodeSyncer).
    """
    writer, chosen, count = lists.servers[slot], lists.servers[lists.servers[slot].chosen], 0
    if chosen.term != writer.term:
        return False
    is_own = False
    for other in range(group.copies):
        if not is_called(lists, slot, other) or not is_allowed(lists, group, rules, slot, other):
            continue
        node = lists.servers[other]
        if other != writer.chosen and not has_segment(lists, rules, node, chosen):
            if not gets_through(lists, writer.chosen, other):
                continue
            check_finalized(lists, group, other, writer.chosen, chosen.end)
            take_history(lists, group, rules, other, writer.chosen, lists.servers[writer.chosen].end)
            node.segment = chosen.segment
            node.finalized = 0
        node.accepted = writer.term
        is_own = is_own or other == slot
        if answers(lists, slot, other):
            count += 1
    return is_own and (count >= group.copies // 2 + 1 or not rules.acks_of_new_leader)


@compiled
def has_segment(lists: Lists, rules: Rules, node: Server, source: Server) -> bool:
    """Whether a node has a segment, and all before it, as another one has it."""
    if node.segment != source.segment or node.end != source.end:
        return False
    return not rules.same_content or first_other_entry(lists, node, source, node.end) == node.end


@compiled
def check_finalized(lists: Lists, group: Group, slot: int, source: int, end: int) -> None:
    """FinalizedSegments: a node is about to take another one's log up to an end: its finalized segment must be there as it is."""
    node, other = lists.servers[slot], lists.servers[source]
    if not node.finalized:
        return
    common = first_other_entry(lists, node, other, min(node.end, end))
    if common < node.end or (node.segment == other.segment and node.end != end):
        witness(lists, group, FINALIZED_SEGMENTS, slot, NOBODY, common)
