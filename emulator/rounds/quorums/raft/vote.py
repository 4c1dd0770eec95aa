"""Step 2 of raft: candidates ask for votes, and who has a majority leads."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.quorums.constants import CAMPAIGN, CANDIDATE, LEADER, NOBODY
from emulator.rounds.quorums.inputs import Rules, Settings
from emulator.rounds.quorums.lead import lead, take_term
from emulator.rounds.quorums.links import gets_through
from emulator.rounds.quorums.log import is_as_complete
from emulator.rounds.quorums.members import agree, audience_of
from emulator.rounds.quorums.protocols import WITH_FETCHES
from emulator.rounds.quorums.records import Group, Lists
from emulator.rounds.quorums.tell import tell_of_server


@compiled
def vote(lists: Lists, group: Group, settings: Settings, rules: Rules) -> None:
    """Every server takes the requests that get to it, beginning with the next one's in their order.

    Source: Raft 5.2, 5.4.1.
    """
    for slot in range(group.copies):
        for step in range(1, group.copies):
            candidate = (slot + step) % group.copies
            asks = lists.servers[candidate].asked_term and audience_of(lists, group, candidate) >> slot & 1
            if asks and gets_through(lists, candidate, slot):
                take_request(lists, group, settings, rules, slot, candidate)
    slot = next_asking(lists, group, 0, NOBODY)
    while slot != NOBODY:
        server = lists.servers[slot]
        still_stands = server.role == CANDIDATE and server.term == server.asked_term
        if still_stands and agree(lists, group, rules, slot, server.votes):
            lead(lists, group, slot)
        else:
            tell_of_server(lists, group, CAMPAIGN, slot, server.asked_term, server.cause)
            group.campaigns += 1
        slot = next_asking(lists, group, server.asked_term, slot)


@compiled
def next_asking(lists: Lists, group: Group, term: int, behind: int) -> int:
    """Who stands next, by term and then in the servers' order, behind a server that stands for a term; NOBODY: nobody.

    Two may have a majority in one round, of one term after the other.
    """
    found = NOBODY
    for slot in range(group.copies):
        asked = lists.servers[slot].asked_term
        is_behind = asked > term or (asked == term and slot > behind)
        if asked and is_behind and (found == NOBODY or asked < lists.servers[found].asked_term):
            found = slot
    return found


@compiled
def take_request(lists: Lists, group: Group, settings: Settings, rules: Rules, slot: int, candidate: int) -> None:
    """A request for a vote, and its answer."""
    voter, asker = lists.servers[slot], lists.servers[candidate]
    hears_leader = voter.role == LEADER or group.now - voter.heard_leader < settings.timeout_rounds
    if settings.check_quorum and hears_leader and group.protocol not in WITH_FETCHES and not asker.is_told:
        return
    votes = False
    if asker.asked_term >= voter.term:
        if asker.asked_term > voter.term:
            take_term(lists, group, slot, asker.asked_term)
        knows_leader = group.protocol in WITH_FETCHES and voter.leader != NOBODY
        is_free = (voter.voted_for in (NOBODY, candidate) and not knows_leader) or not rules.one_vote
        if is_free and (is_as_complete(lists, asker, voter) or not rules.compare_logs):
            votes = True
            voter.voted_for = candidate
            voter.heard_round = group.now
    if not gets_through(lists, slot, candidate):
        return
    if voter.term > asker.term:
        take_term(lists, group, candidate, voter.term)
    elif votes and asker.role == CANDIDATE and asker.term == asker.asked_term:
        asker.votes |= 1 << slot
