"""What comes out of an edge, by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from .edges import Edges
from .sharing import Follower, Limits, Producers, even_parts, share


def limits(**given: dict[int, int]) -> Limits:
    """Whole bytes a round, by broker."""
    return Limits(**{name: {broker: Fraction(most) for broker, most in of.items()} for name, of in given.items()})


def test_who_asks_for_little_gets_it_and_the_others_even_parts() -> None:
    # One connection wants 10, two want 4 each: an even part of 12 is 4. One wants 2, one 9, two 9 each, of 11: 2, 3 and 6.
    assert even_parts(Fraction(12), [(10, 1), (8, 2)]) == [4, 8]
    assert even_parts(Fraction(11), [(2, 1), (9, 1), (18, 2)]) == [2, 3, 6]
    assert even_parts(Fraction(7), [(0, 3), (9, 2)]) == [0, 7]
    assert even_parts(Fraction(-1), [(5, 1)]) == [0]


def test_parts_rise_together_until_a_budget_is_used_up() -> None:
    """4,000 into broker 3, of which 5,000 is asked: all of its followers get 0.8. What 1 sends has 1,000 more, 2 gives 1,000."""
    followers = [Follower(1, 2, 1000), Follower(1, 3, 2500), Follower(2, 1, 1000), Follower(2, 3, 2500), Follower(2, 1, 0)]
    producers = [Producers(1, 1000, 1), Producers(2, 1000, 1)]
    found = share(limits(network=dict.fromkeys((1, 2, 3), 4000)), followers, producers)
    # Left over: out of 1 are 1,000 for two, out of 2 are 1,000 for three, into 1 are 2,000 for two, into 2 are 2,000 for one.
    assert found.quotas == [1000 + 500, 2000, 1000 + 333, 2000, 333]
    assert found.parts == [1, 1] and found.is_short


def test_who_is_stopped_by_one_budget_leaves_the_others_to_others() -> None:
    """Out of 1 come 6,000 for 8,000: but into 2 there is room for 1,000 of 4,000, so broker 3 has 4,000 and all of 1's is used
    but for 1,000."""
    followers = [Follower(1, 2, 4000), Follower(1, 3, 4000)]
    found = share(Limits(network={1: Fraction(6000), 2: Fraction(1000)}), followers, [])
    assert found.quotas == [1000, 4000 + 500] and found.is_short


def test_producers_have_a_connection_for_each_partition() -> None:
    """Into broker 1 go 9,000 over three connections of clients, and 9,000 over one of its fetcher: 2,500 each. Broker 2, which
    it fetches from, sends 1,000 only, so that the clients have the other 1,500 as well.
    """
    followers = [Follower(2, 1, 9000)]
    asked = [Producers(1, 9000, 3)]
    assert share(Limits(network={1: Fraction(10_000)}), followers, asked).quotas == [2500]
    found = share(Limits(network={1: Fraction(10_000), 2: Fraction(1000)}), followers, asked)
    assert (found.quotas, found.parts) == ([1000], [1])
    two = share(Limits(network={1: Fraction(10_000)}), followers, asked, fetchers=2)
    assert (two.quotas, two.parts) == ([4000], [Fraction(6000, 9000)])


def test_a_disk_writes_for_producers_and_followers_and_reads_for_who_lags() -> None:
    """Of 12,000 on broker 1's disk: 6,000 for clients, 6,000 to append, and 6,000 that broker 3 lacks, a connection each."""
    followers = [Follower(2, 1, 6000), Follower(1, 3, 6000, reads_disk=True), Follower(1, 2, 500)]
    found = share(Limits(disk={1: Fraction(12_000)}), followers, [Producers(1, 6000, 1)])
    assert (found.quotas, found.parts) == ([4000, 4000, None], [Fraction(4000, 6000)])


@pytest.mark.parametrize(("rate", "quota"), [(1500, 500), (1000, 0), (400, 0)])
def test_throttles_count_all_and_hold_who_is_outside(rate: int, quota: int) -> None:
    in_sync = Follower(1, 2, 1000, throttled_by_leader=True)
    outside = [Follower(1, 3, 2500, in_isr=False, throttled_by_leader=True), Follower(1, 3, 2500, in_isr=False)]
    found = share(Limits(leader_throttle={1: Fraction(rate)}), [in_sync, *outside], [])
    assert found.quotas == [None, quota, None] and found.is_short


def test_a_follower_throttle_is_shared_alike() -> None:
    def lagging(*demands: int) -> list[Follower]:
        return [Follower(leader, 3, demand, in_isr=False, throttled_by_own=True) for leader, demand in enumerate(demands, 1)]

    limits = Limits(follower_throttle={3: Fraction(1000)})
    assert share(limits, lagging(3000, 1000), []).quotas == [500, 500]
    assert share(limits, lagging(3000, 200), []).quotas == [800, 200]
    found = share(Limits(follower_throttle={3: Fraction(5000)}), lagging(3000, 1000), [])
    assert found.quotas == [3500, 1500] and not found.is_short


def test_who_keeps_up_has_what_it_asks_for() -> None:
    """Of 1000 out of the leader's broker one in sync has its 100, and two partitions that another one lacks 450 each."""
    lagging = [Follower(1, 3, demand, in_isr=False) for demand in (3000, 3000)]
    found = share(Limits(network={1: Fraction(1000)}), [Follower(1, 2, 100), *lagging], [])
    assert found.quotas == [100, 450, 450]


def test_one_flow_has_as_many_even_parts_as_ask() -> None:
    """Of 900 three that ask have 300 each; the two that broker 3 fetches have theirs together, each as it asks: 3 to 1."""
    followers = [Follower(1, 2, 900), *(Follower(1, 3, demand) for demand in (900, 300, 0))]
    assert share(Limits(network={1: Fraction(900)}), followers, []).quotas == [300, 450, 150, 0]


def test_a_client_asks_for_no_more_than_its_quota() -> None:
    """Two partitions of 4,000 bytes share 6,000; those of another client have all of their 2,000."""
    asked = [Producers(1, 8000, 2, Fraction(6000)), Producers(1, 2000, 1)]
    assert share(Limits(), [], asked).parts == [Fraction(3, 4), 1]
    # Of 6,000 by three connections: 2,000 each.
    assert share(Limits(network={1: Fraction(6000)}), [], asked).parts == [Fraction(1, 2), 1]


def test_edges_are_seldom_where_nothing_is_short() -> None:
    edges, found = Edges(10, {5, 25}), []
    for is_short in (False, False, False, True, False, False, False):
        found.append(edges.next)
        edges.passed(is_short)
    # Round 5 changes something, so 10 and then 10 later; so does 25: at 30 it begins anew, and so behind an edge that is short.
    assert [*found, edges.next] == [0, 10, 20, 30, 40, 50, 70, 110]
