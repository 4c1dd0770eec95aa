"""The arithmetic of quorums: who holds what, which answers are enough."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from .quorums import END, FOUND, NO, RECOVERED, RETRY, UNKNOWN, Quorums, read_verdict
from .window import Message, Window


def test_write_sets() -> None:
    quorums = Quorums(4, 3, 2)
    sets = [[index + 1 for index in quorums.write_set(entry)] for entry in range(6)]
    assert sets == [[1, 2, 3], [2, 3, 4], [3, 4, 1], [4, 1, 2], [1, 2, 3], [2, 3, 4]]


@pytest.mark.parametrize(("shape", "index", "entry", "holds"), [
    ((3, 2, 2), 2, 0, False), ((3, 2, 2), 2, 3, False), ((3, 2, 2), 2, 4, True), ((3, 3, 2), 0, 5, True),
])  # fmt: skip
def test_who_holds_an_entry(shape: tuple[int, int, int], index: int, entry: int, holds: bool) -> None:
    assert Quorums(*shape).holds(index, entry) is holds


def test_holds_says_what_write_set_says() -> None:
    for shape in ((3, 2, 2), (5, 3, 2), (6, 4, 3)):
        quorums = Quorums(*shape)
        for entry in range(20):
            assert [quorums.holds(index, entry) for index in range(shape[0])] == [
                index in quorums.write_set(entry) for index in range(shape[0])
            ]


@pytest.mark.parametrize(("shape", "covered", "least"), [
    ((3, 2, 2), 4, 2), ((3, 3, 2), 4, 2), ((3, 3, 3), 7, 1), ((2, 2, 2), 3, 1), ((5, 5, 3), 16, 3), ((5, 3, 2), 6, 4),
    ((5, 2, 2), 11, 3),
])  # fmt: skip
def test_coverage(shape: tuple[int, int, int], covered: int, least: int) -> None:
    assert Quorums(*shape).covered_subsets() == (covered, least)


@pytest.mark.parametrize("shape", [(3, 2, 2), (3, 3, 2), (5, 3, 2), (4, 4, 3), (6, 3, 2)])
def test_covered_means_no_write_set_has_an_ack_quorum_of_silence(shape: tuple[int, int, int]) -> None:
    quorums = Quorums(*shape)
    for size in range(shape[0] + 1):
        for heard in combinations(range(shape[0]), size):
            silent = set(range(shape[0])) - set(heard)
            hidden = any(len(silent & set(quorums.write_set(entry))) >= quorums.ack for entry in range(shape[0]))
            assert quorums.covered(heard) is not hidden


def test_all_answers_to_one_recovery_read() -> None:
    verdicts = [read_verdict(answers, Quorums(3, 3, 2).missing)[0] for answers in product((FOUND, NO, UNKNOWN), repeat=3)]
    assert [verdicts.count(one) for one in (RECOVERED, END, RETRY)] == [18, 5, 4]


@pytest.mark.parametrize(("answers", "verdict"), [
    ((NO, NO, UNKNOWN), (END, 2)), ((NO, UNKNOWN, NO), (END, 3)), ((NO, UNKNOWN, UNKNOWN), (RETRY, 3)),
    ((NO, FOUND, NO), (RECOVERED, 2)), ((NO, NO, FOUND), (END, 2)), ((UNKNOWN, NO, FOUND), (RECOVERED, 3)),
])  # fmt: skip
def test_order_of_the_write_set_matters(answers: tuple[str, ...], verdict: tuple[str, int]) -> None:
    assert read_verdict(answers, 2) == verdict


@pytest.mark.parametrize("shape", [(2, 3, 2), (3, 2, 3), (3, 3, 0)])
def test_impossible_sizes(shape: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="E >= Qw >= Qa"):
        Quorums(*shape)


def test_answers_of_one_bookie_count_once() -> None:
    """Entry 1 with 5/3/2: the first of its write set, once more the same, the third, the second."""
    window = Window("writer", Quorums(5, 3, 2), [1, 2, 3, 4, 5], recovery=False, timeout_rounds=10, delay_ensemble_change=False)
    messages = {message.bookie: message for message in window.send(1, -1, now=0)}
    assert sorted(messages) == [2, 3, 4]
    completed = []
    for bookie in (2, 2, 4, 3):
        window.take_answer(messages[bookie], "OK")
        window.complete()
        completed.append(window.pending[0].completed)
    assert completed == [False, False, True, True]


def test_answers_of_a_replaced_bookie_do_not_count() -> None:
    window = Window("writer", Quorums(3, 3, 2), [1, 2, 3], recovery=False, timeout_rounds=10, delay_ensemble_change=False)
    to_first, to_second, _ = window.send(0, -1, now=0)
    window.take_answer(to_first, "OK")
    resent: list[Message] = window.change_ensemble([4, 2, 3], now=1)
    assert [(message.bookie, message.entry, message.lac) for message in resent] == [(4, 0, -1)]
    window.take_answer(to_first, "OK")
    window.take_answer(to_second, "OK")
    window.complete()
    assert not window.pending[0].completed
    window.take_answer(resent[0], "OK")
    window.complete()
    assert window.pending[0].completed
