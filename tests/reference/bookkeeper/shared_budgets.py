"""Several ledgers whose bookies have budgets, round by round together (docs/bookkeeper_rounds.md, Shared budgets)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .ledger import Case, Ledger
from .simulate import Result, begin_round, end_round, held_up, in_order, limit_in, snapshot


def simulate_together(cases: Sequence[Case], budgets: Mapping[int, int]) -> tuple[list[Result], list[tuple[int, int]]]:
    """Simulate ledgers that share bookies. `budgets`: bytes a round by bookie.

    Returns what becomes of each, and (round, bookie) where one was short.
    """
    ledgers = [Ledger(case) for case in cases]
    rounds: list[list[dict[str, Any]]] = [[] for _ in ledgers]
    short = []
    for now in range(cases[0]["rounds"]):
        for ledger in ledgers:
            ledger.now = now
            begin_round(ledger)
        shares: list[dict[int, int]] = [{} for _ in ledgers]
        for bookie, budget in budgets.items():
            given = share_out([asked_by(ledger, bookie) for ledger in ledgers], budget)
            if given is not None:
                short.append((now, bookie))
                for ledger, own, more in zip(ledgers, shares, given, strict=True):
                    own[bookie] = ledger.slowness.kept(bookie) + more
        for ledger, own, told in zip(ledgers, shares, rounds, strict=True):
            end_round(ledger, own)
            told.append(snapshot(ledger))
    return [Result(ledger, told, []) for ledger, told in zip(ledgers, rounds, strict=True)], short


def asked_by(ledger: Ledger, bookie: int) -> Counter[int]:
    """By round of sending the bytes that a ledger asks of a bookie, without what it kept."""
    asked: Counter[int] = Counter()
    if not ledger.is_heard(bookie):
        return asked
    kept, limit = ledger.slowness.kept(bookie), limit_in(ledger, bookie)
    room = None if limit is None else kept + limit[0]
    for message in in_order(ledger):
        if message.bookie != bookie or message.sent_round > ledger.now or held_up(ledger, message)[0]:
            continue
        size = ledger.slowness.sizes[message.entry]
        if room is not None:
            size = min(size, room)
            room -= size
        from_kept = min(size, kept)
        kept -= from_kept
        asked[message.sent_round] += size - from_kept
    return asked


def share_out(asked: Sequence[Counter[int]], budget: int) -> list[int] | None:
    """What each ledger gets beside what it kept; None: there is enough for all."""
    if sum(one.total() for one in asked) <= budget:
        return None
    given, left = [0] * len(asked), budget
    for sent in sorted({sent for one in asked for sent in one}):
        of_round = sum(one[sent] for one in asked)
        for at, one in enumerate(asked):
            if of_round <= left:
                given[at] += one[sent]
            elif left > 0 and one[sent] > 0:
                given[at] += max(1, one[sent] * left // of_round)
        if of_round > left:
            return given
        left -= of_round
    return given
