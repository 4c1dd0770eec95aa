"""What followers and producers of some partitions get at one quota edge, in exact numbers.

Of each broker `Limits` has what its network carries each way in a round, what its disk does, and its two throttles; who is not
in it has no limit. A *connection's* rate rises with all others until the budget is used up; a party, or the followers of a
broker together, has as many connections as it is told of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

NETWORK_IN, NETWORK_OUT, DISK = "network in", "network out", "disk"
LEADER_THROTTLE, FOLLOWER_THROTTLE = "leader throttle", "follower throttle"

Budget = tuple[str, int]
"""What may be used up: the kind, and the broker."""


@dataclass(frozen=True)
class Limits:
    """Bytes a round, by broker."""

    network: Mapping[int, Fraction] = field(default_factory=dict)
    disk: Mapping[int, Fraction] = field(default_factory=dict)
    leader_throttle: Mapping[int, Fraction] = field(default_factory=dict)
    follower_throttle: Mapping[int, Fraction] = field(default_factory=dict)

    def of(self, budget: Budget) -> Fraction | None:
        """What there is of a budget; None: no limit."""
        kind, broker = budget
        own = {DISK: self.disk, LEADER_THROTTLE: self.leader_throttle, FOLLOWER_THROTTLE: self.follower_throttle}
        return own.get(kind, self.network).get(broker)


@dataclass(frozen=True)
class Follower:
    """A replica that follows, or may before the next edge: it then asks for nothing.

    `throttled_by_leader`, `throttled_by_own`: its partition is listed at its leader's broker, or at its own.
    """

    leader: int
    broker: int
    demand: int
    in_isr: bool = True
    throttled_by_leader: bool = False
    throttled_by_own: bool = False
    reads_disk: bool = False

    @property
    def draws_on(self) -> list[Budget]:
        """Budgets that hold it, limited or not."""
        found = [(NETWORK_OUT, self.leader), (NETWORK_IN, self.broker), (DISK, self.broker)]
        found += [(DISK, self.leader)] if self.reads_disk else []
        return found + ([] if self.in_isr else self.listed_at)

    @property
    def listed_at(self) -> list[Budget]:
        """Throttles that count it."""
        of_leader = [(LEADER_THROTTLE, self.leader)] if self.throttled_by_leader else []
        return of_leader + ([(FOLLOWER_THROTTLE, self.broker)] if self.throttled_by_own else [])


@dataclass(frozen=True)
class Producers:
    """What is sent to a broker: of so many partitions that are written, `quota`: bytes a round, None: any number."""

    broker: int
    wanted: int
    connections: int
    quota: Fraction | None = None

    @property
    def demand(self) -> Fraction:
        """What they ask for."""
        return Fraction(self.wanted) if self.quota is None else min(Fraction(self.wanted), self.quota)

    @property
    def draws_on(self) -> list[Budget]:
        """Budgets that hold it, limited or not."""
        return [(NETWORK_IN, self.broker), (DISK, self.broker)]


@dataclass(frozen=True)
class Shares:
    """`quotas` by follower, None: none; `parts` of demands, by producers and by follower; budgets that hold somebody back."""

    quotas: list[int | None]
    parts: list[Fraction]
    of_followers: list[Fraction]
    used_up: set[Budget]

    @property
    def is_short(self) -> bool:
        """Whether anybody gets less than it asks for."""
        return any(part < 1 for part in [*self.parts, *self.of_followers])


def share(limits: Limits, followers: Sequence[Follower], producers: Sequence[Producers], fetchers: int = 1) -> Shares:
    """What everybody gets until the next edge."""
    budgets = {budget for one in [*followers, *producers] for budget in one.draws_on}
    limited = {budget: limit for budget in budgets if (limit := limits.of(budget)) is not None}
    got = _to_producers(limited, producers, followers, fetchers)
    left = {budget: limit - _taken(budget, producers, got) for budget, limit in limited.items()}
    for budget in left.keys() & {listed for one in followers for listed in one.listed_at}:
        in_sync = sum(one.demand for one in followers if one.in_isr and budget in one.listed_at)
        left[budget] = max(left[budget] - in_sync, Fraction(0))
    parts, used_up = rise_together(left, followers)
    used: dict[Budget, Fraction] = defaultdict(Fraction)
    for one, part in zip(followers, parts, strict=True):
        for budget in one.draws_on:
            used[budget] += part * one.demand
    for_producers = {budget: limit - used[budget] for budget, limit in limited.items()}
    got = _to_producers(for_producers, producers, [], fetchers)
    over = {
        budget: max(left_to_all - used[budget] - _taken(budget, producers, got), Fraction(0))
        for budget, left_to_all in _without_those_in_sync(limited, followers).items()
    }
    drawing = {budget: sum(budget in one.draws_on for one in followers) for budget in limited}
    quotas: list[int | None] = []
    for one, part in zip(followers, parts, strict=True):
        beside = [over[budget] / drawing[budget] for budget in one.draws_on if budget in limited]
        quotas.append(int(part * one.demand + min(beside)) if beside else None)
    shares = [amount / one.wanted if one.wanted else Fraction(1) for one, amount in zip(producers, got, strict=True)]
    for one, amount in zip(producers, got, strict=True):
        used_up |= {budget for budget in one.draws_on if amount < one.demand and over.get(budget, 1) < 1}
    return Shares(quotas, shares, parts, used_up)


def _without_those_in_sync(limited: Mapping[Budget, Fraction], followers: Sequence[Follower]) -> dict[Budget, Fraction]:
    """Budgets as they are, and of throttles what those in sync that are listed leave."""
    return {
        budget: limit - sum(one.demand for one in followers if one.in_isr and budget in one.listed_at)
        for budget, limit in limited.items()
    }


def _taken(budget: Budget, producers: Sequence[Producers], got: Sequence[Fraction]) -> Fraction:
    return sum((amount for one, amount in zip(producers, got, strict=True) if budget in one.draws_on), Fraction(0))


def _to_producers(
    limited: Mapping[Budget, Fraction], producers: Sequence[Producers], followers: Sequence[Follower], fetchers: int
) -> list[Fraction]:
    """What producers get where they and the followers are given even parts by connection: of two budgets the smaller one."""
    got = [Fraction(one.demand) for one in producers]
    for budget, limit in limited.items():
        asking = [at for at, one in enumerate(producers) if budget in one.draws_on]
        drawing = [one for one in followers if budget in one.draws_on]
        wanted: list[tuple[int | Fraction, int]] = [(producers[at].demand, producers[at].connections) for at in asking]
        wanted.append((sum(one.demand for one in drawing), fetchers * len(connected_to(budget[1], drawing))))
        for at, amount in zip(asking, even_parts(limit, wanted), strict=False):
            got[at] = min(got[at], amount)
    return got


def connected_to(broker: int, followers: Sequence[Follower]) -> set[tuple[str, int]]:
    """The brokers that these followers of its fetch from, and those that fetch from it."""
    return {("from", one.leader) for one in followers if one.broker == broker and one.demand} | {
        ("by", one.broker) for one in followers if one.leader == broker and one.demand
    }


def even_parts(limit: Fraction, wanted: Sequence[tuple[int | Fraction, int]]) -> list[Fraction]:
    """What each gets of (what it wants, its connections): rates rise together, and who has all it wants leaves the rest."""
    got = [Fraction(0) for _ in wanted]
    left, rising = max(limit, Fraction(0)), {at for at, (demand, connections) in enumerate(wanted) if demand and connections}
    while rising:
        rate = left / sum(wanted[at][1] for at in rising)
        full = {at for at in rising if wanted[at][0] <= rate * wanted[at][1]}
        if not full:
            for at in rising:
                got[at] = rate * wanted[at][1]
            break
        for at in full:
            got[at] = Fraction(wanted[at][0])
            left -= got[at]
        rising -= full
    return got


def rise_together(left: Mapping[Budget, Fraction], followers: Sequence[Follower]) -> tuple[list[Fraction], set[Budget]]:
    """The part of its demand that each gets, and the budgets that are used up.

    The rates of all that ask for something rise together; who has what it asks for leaves the rest to the others, and who draws
    on a budget that is used up stays where it is. Those that are alike but for their demand are one flow: each has the same part.
    """
    flows: dict[Follower, list[Follower]] = defaultdict(list)
    for one in followers:
        if one.demand:
            flows[replace(one, demand=0)].append(one)
    wanted = {flow: sum(one.demand for one in members) for flow, members in flows.items()}
    got = {flow: Fraction(0) for flow in flows}
    rest = {budget: max(limit, Fraction(0)) for budget, limit in left.items()}
    used_up: set[Budget] = set()
    rising = set(flows)
    while rising:
        needed = {flow: Fraction(wanted[flow], len(flows[flow])) for flow in rising}
        drawing = {budget: sum(len(flows[flow]) for flow in rising if budget in flow.draws_on) for budget in rest}
        reached = {budget: rest[budget] / count for budget, count in drawing.items() if count}
        rate = min([*needed.values(), *reached.values()])
        stay = {flow for flow in rising if needed[flow] == rate}
        if not stay:
            full = {budget for budget, most in reached.items() if most == rate}
            used_up |= full
            stay = {flow for flow in rising if full.intersection(flow.draws_on)}
        for flow in stay:
            got[flow] = rate * len(flows[flow])
            for budget in rest.keys() & set(flow.draws_on):
                rest[budget] -= got[flow]
        rising -= stay
    parts = [got[replace(one, demand=0)] / wanted[replace(one, demand=0)] if one.demand else Fraction(1) for one in followers]
    return parts, used_up
