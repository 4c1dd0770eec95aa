"""What others have published: tables of etcd's tests, figure 7 and figure 8 of the Raft paper (tests/data/quorums)."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.rounds.lists import append
from emulator.rounds.quorums.advance_commit import agreed_end, matched_by
from emulator.rounds.quorums.constants import LEADER
from emulator.rounds.quorums.log import append_entries, is_as_complete
from emulator.rounds.quorums.members import agree, everybody, is_majority
from tests.reference.quorums.cases import Case
from tests.rounds.quorums.compared import Game

DATA = Path(__file__).parents[2] / "data" / "quorums"


def rows_of(name: str) -> list[list[str]]:
    """The rows of a fixture: cells between bars; lines with # are comments."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.split("|")] for line in lines if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize(("indexes", "committed"), rows_of("majority_commit.txt"))
def test_majority_commit(indexes: str, committed: str) -> None:
    known = indexes.split()
    game = Game(Case("raft", len(known), 1))
    own = game.lists.servers[0]
    own.end = 0 if known[0] == "_" else int(known[0])
    for other, index in enumerate(known[1:], 1):
        game.lists.peers[other].match_to = 0 if index == "_" else int(index)
    settings = game.inputs.settings[game.group.settings]
    assert matched_by(game.lists, game.group, settings, 0, everybody(game.group), len(known) // 2 + 1) == int(committed)


@pytest.mark.parametrize(("votes", "result"), rows_of("majority_vote.txt"))
def test_majority_vote(votes: str, result: str) -> None:
    """A vote that is not there counts as none: who is pending has not won, and who has lost cannot win with the rest."""
    yes = sum(1 << slot for slot, vote in enumerate(votes) if vote == "y")
    open_too = sum(1 << slot for slot, vote in enumerate(votes) if vote != "n")
    assert is_majority(yes, (1 << len(votes)) - 1) == (result == "won")
    assert is_majority(open_too, (1 << len(votes)) - 1) == (result != "lost")


def joint(before: str, members: str, servers: int) -> tuple[Game, int]:
    """Servers 1 and so on in slots 0 and so on, and the slot of another one whose log has a joint configuration of them."""
    game, leader = Game(Case("raft", servers + 1, 1)), servers
    lists, group = game.lists, game.group
    own = lists.configurations[append(group.configurations)]
    own.before, own.members = (sum(1 << int(server) - 1 for server in half.split()) for half in (before, members))
    append_entries(lists, lists.servers[leader], 0, 1, 1)
    return game, leader


@pytest.mark.parametrize(("before", "members", "indexes", "committed"), rows_of("joint_commit.txt"))
def test_joint_commit(before: str, members: str, indexes: str, committed: str) -> None:
    known = indexes.split()
    game, leader = joint(before, members, len(known))
    for slot, index in enumerate(known):
        game.lists.peers[leader * (leader + 1) + slot].match_to = 0 if index == "_" else int(index)
    settings, rules = game.inputs.settings[game.group.settings], game.inputs.rules[0]
    assert agreed_end(game.lists, game.group, settings, rules, leader) == int(committed)


@pytest.mark.parametrize(("before", "members", "votes", "result"), rows_of("joint_vote.txt"))
def test_joint_vote(before: str, members: str, votes: str, result: str) -> None:
    game, leader = joint(before, members, len(votes))
    rules = game.inputs.rules[0]
    yes = sum(1 << slot for slot, vote in enumerate(votes) if vote == "y")
    open_too = sum(1 << slot for slot, vote in enumerate(votes) if vote != "n")
    assert agree(game.lists, game.group, rules, leader, yes) == (result == "won")
    assert agree(game.lists, game.group, rules, leader, open_too) == (result != "lost")


def figure_7() -> Game:
    """Seven servers with the logs of the fixture; server 0 stands in term 8 in round 0. Entry 11 of the fixture is entry 0."""
    game = Game(Case("raft", 7, 10, timeout_rounds=2, jitter_rounds=0, workload=((0, 0),)))
    group, lists = game.group, game.lists
    for term in range(2, 8):
        leadership = lists.leaderships[group.leaderships.start + group.leaderships.count]
        group.leaderships.count += 1
        leadership.term, leadership.cause, leadership.first_entry = term, -1, 1 << 30
    for slot, (_, terms, term, commit) in enumerate(rows_of("figure_7.txt")):
        server = lists.servers[slot]
        for entry in terms.split():
            append_entries(lists, server, int(entry) - 1, int(entry), 1)
        server.term, server.commit, server.checked_commit, server.role = int(term), int(commit) - 10, int(commit) - 10, 0
        server.heard_round = 0 if slot else -2
        server.voted_for = -1
    return game


def test_figure_7() -> None:
    """One refusal at most for each follower; what it is asked next is as in the fixture."""
    game = figure_7()
    game.play_round()
    assert game.lists.servers[0].role == LEADER
    assert game.lists.servers[0].term == 8
    votes = [int(game.lists.servers[0].votes) >> slot & 1 for slot in range(7)]
    expected = rows_of("figure_7_probes.txt")
    assert votes[1:] == [int(vote) for _, vote, _ in expected]
    first = [int(game.lists.peers[slot].next_entry) + 10 for slot in range(1, 7)]
    assert first == [int(end) for _, _, end in expected]
    game.play_round()
    whole = [1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 8]
    assert [[term for term, _ in game.log(slot)] for slot in range(7)] == [whole] * 7
    game.play_round()
    assert {int(game.lists.servers[slot].commit) + 10 for slot in range(7)} == {21}


def test_more_complete() -> None:
    """The last term decides, then the length."""
    game = figure_7()
    servers = game.lists.servers
    assert is_as_complete(game.lists, servers[3], servers[0])
    assert not is_as_complete(game.lists, servers[0], servers[3])
    assert is_as_complete(game.lists, servers[0], servers[6])
    assert not is_as_complete(game.lists, servers[6], servers[5])
