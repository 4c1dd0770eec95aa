"""What must hold between the two tiers at the end of a round: `tier_broken` is the mask of what does not."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.rounds.columns import Step, applied, built_once, decided, let, unchanged
from emulator.rounds.kafka.rules import RunRules
from emulator.rounds.kafka.segments import local_start
from emulator.rounds.kafka.tier.metadata import index_of
from emulator.rounds.kafka.tier.types import SERVED, empty_index
from emulator.rounds.log import epoch_cache
from emulator.rounds.slots import has

GAP, ABOVE_LAST_STABLE, NEVER_COPIED = 1, 2, 4
"""Bits of `tier_broken`, each of which an invariant looks at (invariants.py)."""


def check_tiers(state: DataFrame, rules: RunRules) -> DataFrame:
    """Compare the client leader's log, what was copied in this round, and what went from local disks, with remote storage.

    All of it changes only by rare steps, so it is looked at where one was made, and where something was broken before. What a
    leader, a superseded one too, has expired may be gone before the client leader's log start is behind it: up to
    `expired_up_to` nothing is missed.
    """
    return state.withColumns(_decide(rules)).withColumns(_apply())


_OUTPUTS = unchanged("expired_up_to", "tier_broken")

_STEPS = ("shared", "retention", "tier_inputs", "tier_expiry", "tier_copy", "election", "news", "damage", "building", "response")


@built_once
def _decide(rules: RunRules) -> Step:
    made = " OR ".join(f"{step} IS NOT NULL" for step in _STEPS)
    guard = (
        f"segments IS NOT NULL AND NOT is_deleted AND ({made} OR tier_broken != 0 OR appending.deleted_to IS NOT NULL"
        " OR leading_start > expired_up_to)"
    )
    return decided("tier_checked", f"coalesce({guard}, false)", _check(rules), _OUTPUTS)


@built_once
def _apply() -> Step:
    return applied("tier_checked", _OUTPUTS)


def _check(rules: RunRules) -> list[Step]:
    leads = f"(slot = client_leader AND {has('world.running', 'client_leader')} AND leader_ready AND feed.storage.tiered)"
    above = "exists(tier_copy.started, s -> s.end_offset >= hw OR exists(pins, p -> s.end_offset >= p.offset))"
    remote = _pieces("epochs", "leo", "missed_from", "local_from")
    ranges = ", ".join(f"retention.deleted_{name}" for name in ("log_start", "size", "age"))
    return [
        {"expired_up_to": "greatest(expired_up_to, leading_start)", "leads_tiers": leads},
        {
            "epochs": epoch_cache("log", "log_start_offset"),
            "missed_from": "greatest(log_start_offset, expired_up_to)",
            "local_from": local_start(rules),
        },
        {
            "pieces": f"IF(leads_tiers AND missed_from < local_from, {remote}, null)",
            "gone": f"IF(feed.storage.copies, filter(array({ranges}), x -> x IS NOT NULL), null)",
            "its_epochs": f"IF(retention IS NULL, null, {epoch_cache('lead.log', 'lead.log_start_offset')})",
        },
        {"known_to_all": f"IF(pieces IS NULL, {empty_index()}, {index_of('remote_events', 'remote_segments')})"},
        {
            "tier_broken": (
                f"IF(coalesce(get(epochs, 0).start_offset > missed_from AND pieces IS NOT NULL, false)"
                f" OR coalesce(exists(pieces, y -> {_has_gap('y')}), false), {GAP}, 0)"
                f" | IF(coalesce({above}, false), {ABOVE_LAST_STABLE}, 0)"
                f" | IF(coalesce(exists(gone, g -> {_never_copied('g')}), false), {NEVER_COPIED}, 0)"
            )
        },
    ]


def _pieces(epochs: str, leo: str, from_offset: str, to_offset: str) -> str:
    """[from, to) of a log by its epochs: array of struct<epoch, lo, hi>."""
    end = f"coalesce(get({epochs}, i + 1).start_offset, {leo})"
    piece = f"named_struct('epoch', e.epoch, 'lo', greatest(e.start_offset, {from_offset}), 'hi', least({end}, {to_offset}))"
    return f"filter(transform({epochs}, (e, i) -> {piece}), y -> y.lo < y.hi)"


def _has_gap(piece: str) -> str:
    """Whether an offset of the piece is served by no segment, or by one that does not lie in the store as a whole."""
    whole = "get(remote_segments, x.segment).stored_bytes >= get(remote_segments, x.segment).bytes"
    own = (
        f"array_sort(transform(filter(known_to_all.entries, x -> x.status = {SERVED} AND x.epoch = {piece}.epoch AND"
        f" x.start_offset < {piece}.hi), x -> named_struct('start', x.start_offset, 'end', x.end_offset, 'whole', {whole})))"
    )
    until = f"least(coalesce(get(own_, i + 1).start, {piece}.hi), {piece}.hi)"
    span = f"named_struct('span', {until} - greatest(x.start, {piece}.lo), 'fits', x.whole AND x.end >= {until} - 1)"
    spans = f"transform(own_, (x, i) -> {span})"
    return let(
        "own_", own, f"(coalesce(get(own_, 0).start > {piece}.lo, true) OR exists({spans}, z -> z.span > 0 AND NOT z.fits))"
    )


def _never_copied(gone: str) -> str:
    """Whether a record that retention took, and that the client leader has or had as well, was never copied."""
    from_offset = f"greatest({gone}.from_offset, missed_from)"
    theirs = "get(filter(its_, t -> t.epoch = y.epoch), 0)"
    lo, hi = f"greatest(y.lo, {theirs}.lo)", f"least(y.hi, {theirs}.hi)"
    copies = (
        "flatten(transform(filter(remote_segments, s -> s.was_finished), s -> filter(transform(s.epochs, (x, i) ->"
        " named_struct('epoch', x.epoch, 'start', x.start_offset, 'end',"
        " coalesce(get(s.epochs, i + 1).start_offset - 1, s.end_offset))), x -> x.epoch = y.epoch)))"
    )
    reached = f"aggregate(array_sort({copies}), {lo}, (p, x) -> IF(x.start <= p, greatest(p, x.end + 1), p))"
    own = _pieces("epochs", "leo", from_offset, f"{gone}.to_offset")
    their_own = _pieces("its_epochs", "lead.leo", from_offset, f"{gone}.to_offset")
    return let("its_", their_own, f"exists({own}, y -> coalesce({lo} < {hi} AND {reached} < {hi}, false))")
