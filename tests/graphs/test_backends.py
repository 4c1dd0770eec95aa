"""What both backends answer to graphs drawn at random, and to small ones with a known answer."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from emulator.graphs.backends import Edges, Graphs
from emulator.graphs.backends.in_driver import InDriver


def edges_of(*pairs: tuple[int, int]) -> Edges:
    return np.array(pairs, np.int64).reshape(-1, 2)


def at_random(vertices: int, edges: int, seed: int) -> Edges:
    every = np.array(list(combinations(range(vertices), 2)), np.int64)
    return every[np.random.default_rng(seed).permutation(len(every))[:edges]]


NOTHING = edges_of()


def test_components(graphs: Graphs) -> None:
    path = edges_of((3, 1), (1, 7), (5, 9))
    assert graphs.components([1, 3, 5, 7, 8, 9], path) == [(1, 3, 7), (5, 9), (8,)]
    assert graphs.components([4, 6], NOTHING) == [(4,), (6,)]
    assert graphs.components([], NOTHING) == []


def test_in_degrees(graphs: Graphs) -> None:
    assert graphs.in_degrees([2, 4, 6], edges_of((2, 4), (6, 4), (4, 2))) == [1, 2, 0]
    assert graphs.in_degrees([2, 4], NOTHING) == [0, 0]


def test_two_that_share_are_one_community(graphs: Graphs) -> None:
    """If all labels changed at once, these two would swap theirs for ever."""
    assert graphs.communities([1, 2, 3], edges_of((1, 2))) == [(1, 2), (3,)]
    assert graphs.communities([1, 2], NOTHING) == [(1,), (2,)]


def test_communities_of_cliques_with_an_edge_between(graphs: Graphs) -> None:
    cliques = [*combinations(range(5), 2), *combinations(range(5, 9), 2), (4, 5)]
    assert graphs.communities(range(9), edges_of(*cliques)) == [(0, 1, 2, 3, 4), (5, 6, 7, 8)]


@pytest.mark.parametrize("seed", range(3))
def test_the_same_answers_to_graphs_drawn_at_random(graphs: Graphs, seed: int) -> None:
    drawn = at_random(24, 20 + 6 * seed, seed)
    other = InDriver()
    assert graphs.components(range(24), drawn) == other.components(range(24), drawn)
    assert graphs.communities(range(24), drawn) == other.communities(range(24), drawn)
    assert graphs.in_degrees(range(24), drawn) == other.in_degrees(range(24), drawn)
