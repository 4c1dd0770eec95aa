"""When the auditor of a cluster takes missing bookies for lost (docs/bookkeeper_rounds.md, Repair)."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence

from emulator.rounds.bookkeeper.constants import DECOMMISSIONED, FOREVER, UNREGISTERED

Missing = tuple[int, int]
"""First round in which a bookie is not registered, and the one in which it is again."""


def missing_of(spans: Sequence[tuple[int, ...]], joined: int) -> list[Missing]:
    """When a bookie is not registered that was before, or is there from round 0 on, until it is decommissioned.

    `spans`: first round, status, and more.
    """
    found: list[Missing] = []
    since, is_known = None, joined == 0
    for at, status, *_ in spans:
        is_known = is_known or (at >= joined and not status & UNREGISTERED)
        is_missing = is_known and status & (UNREGISTERED | DECOMMISSIONED) == UNREGISTERED
        if is_missing and since is None:
            since = at
        elif not is_missing and since is not None:
            found.append((since, at))
            since = None
    return found if since is None else [*found, (since, FOREVER)]


def audits_of(missing: Mapping[int, Sequence[Missing]], delay_rounds: int) -> list[int]:
    """The rounds in which the auditor takes all who are missing for lost, ascending. `missing`: by bookie.

    It waits for one that is gone, and no longer when a second one is. Source: Auditor.submitAuditTask.
    """
    gone_in, back_in = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for bookie, own in missing.items():
        for begin, end in own:
            gone_in[begin].add(bookie)
            back_in[end].add(bookie)
    audits: list[int] = []
    waits_for, since = set[int](), 0
    for edge in sorted({*gone_in, *back_in} - {FOREVER}):
        if waits_for and since + delay_rounds < edge:
            audits.append(since + delay_rounds)
            waits_for.clear()
        waits_for -= back_in[edge]
        if gone_in[edge]:
            since = since if waits_for else edge
            waits_for |= gone_in[edge]
        if waits_for and (len(waits_for) > 1 or since + delay_rounds == edge):
            audits.append(edge)
            waits_for.clear()
    return [*audits, since + delay_rounds] if waits_for else audits


def with_audits(spans: Sequence[tuple[int, ...]], missing: Sequence[Missing], audits: Sequence[int]) -> list[tuple[int, ...]]:
    """The spans of a bookie, each with the round from which on it is lost if it is missing in it, FOREVER: it is not."""
    found, left = [], list(missing)
    for span in spans:
        while left and left[0][1] <= span[0]:
            left.pop(0)
        lost = FOREVER
        if left and left[0][0] <= span[0]:
            begin, end = left[0]
            at = bisect_left(audits, begin)
            lost = audits[at] if at < len(audits) and audits[at] < end else FOREVER
        found.append((*span, lost))
    return found
