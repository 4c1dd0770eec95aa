"""By which bookies failed ones are replaced, as SQL (docs/bookkeeper_rounds.md, Placement)."""

from __future__ import annotations

from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.texts import INDICES, QW, WRITE_PLACES
from emulator.expressions.columns import let, struct

_NEARNESS = {"same": 0, "new": 1, "other": 2}


def replaced(ensemble: str, failed: str, rules: LedgerRules, besides: str | None = None) -> str:
    """The ensemble with the failed bookies (by index) replaced; one that isn't at its index any more is passed over.

    Where there is no bookie left the failed one stays. `besides`: an array of bookies that must not be taken either.
    """
    lowest = _lowest(ensemble, failed, besides)
    return f"IF(feed.rack_aware, {_rack_aware(ensemble, failed, besides)}, {lowest})" if rules.racks else lowest


def stays(ensemble: str, failed: str) -> str:
    """Whether a failed bookie is still at its index."""
    return f"exists({failed}, z_ -> get({ensemble}, z_.index) = z_.bookie)"


def still_there(ensemble: str, failed: str) -> str:
    """The failed bookies that are still at their indices."""
    return f"filter({failed}, z_ -> get({ensemble}, z_.index) = z_.bookie)"


def _free(ensemble: str, failed: str, besides: str | None) -> str:
    """The registered bookies that are neither in the ensemble nor failed, ascending."""
    more = "" if besides is None else f", {besides}"
    taken = f"concat({ensemble}, transform({failed}, z_ -> z_.bookie), world.unregistered{more})"
    return f"array_except(sequence(world.first_bookie, world.last_bookie), {taken})"


def _at_their_index(ensemble: str, failed: str) -> str:
    return f"array_sort(transform({still_there(ensemble, failed)}, z_ -> z_.index))"


def _lowest(ensemble: str, failed: str, besides: str | None) -> str:
    """Lowest ids first: the n-th index takes the n-th free bookie."""
    nth_free = "get(free_, CAST(array_position(at_, i_) AS INT) - 1)"
    body = f"transform({ensemble}, (b_, i_) -> IF(array_contains(at_, i_), coalesce({nth_free}, b_), b_))"
    return let("at_", _at_their_index(ensemble, failed), let("free_", _free(ensemble, failed, besides), body))


def _rack(bookie: str) -> str:
    return f"get(world.racks, {bookie} - world.first_bookie)"


def _rack_aware(ensemble: str, failed: str, besides: str | None) -> str:
    """One index after the other: enough racks around it, then the old rack, then a new one, then the lowest id."""
    # Racks that the write set has when c_ stands at index i_.
    rack_at = f"IF(j_ = i_, {_rack('c_')}, {_rack('get(n_, j_)')})"
    places = f"transform({WRITE_PLACES}, k_ -> CAST(pmod(s_ + k_, feed.ensemble_size) AS INT))"
    racks = f"size(array_distinct(transform({places}, j_ -> {rack_at})))"
    too_few = f"array_contains({places}, i_) AND {racks} < least(feed.min_racks, {QW})"
    crowded = f"exists({INDICES}, s_ -> {too_few})"
    others = f"transform(filter({INDICES}, j_ -> j_ != i_), j_ -> {_rack('get(n_, j_)')})"
    nearness = (
        f"CASE WHEN {_rack('c_')} = {_rack('get(n_, i_)')} AND {_rack('c_')} >= 0 THEN {_NEARNESS['same']}"
        f" WHEN NOT array_contains({others}, {_rack('c_')}) THEN {_NEARNESS['new']} ELSE {_NEARNESS['other']} END"
    )
    ranked = (
        f"transform({_free('n_', failed, besides)}, c_ -> {struct({'crowded': crowded, 'nearness': nearness, 'bookie': 'c_'})})"
    )
    allowed = f"filter({ranked}, q_ -> NOT (feed.enforce_min_racks AND q_.crowded))"
    put = "transform(acc_.ensemble, (b_, p_) -> IF(p_ = i_, coalesce(best_, b_), b_))"
    chosen = let("best_", f"array_min({allowed}).bookie", struct({"ensemble": put, "more": "best_ IS NOT NULL"}))
    step = let("n_", "acc_.ensemble", f"IF(acc_.more, {chosen}, acc_)")
    start = struct({"ensemble": ensemble, "more": "true"})
    return f"aggregate({_at_their_index(ensemble, failed)}, {start}, (acc_, i_) -> {step}).ensemble"
