"""What must hold between the two tiers at the end of a round: `tier_broken` is the mask of what does not."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, applied, built_once, decided, let, unchanged
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import LOCAL_BYTES, local_start
from emulator.expressions.kafka.tier.metadata import is_allowed, learned, lookup
from emulator.expressions.kafka.tier.types import COPY_FINISHED, DELETE_STARTED, SERVED, empty_index
from emulator.expressions.log import bytes_at, epoch_cache
from emulator.expressions.slots import has

GAP, ABOVE_LAST_STABLE, NEVER_COPIED, WITHOUT_LAG, OTHER_RECORD, WRONG_STATE, HOLE = (1 << bit for bit in range(7))
"""Bits of `tier_broken`, each of which an invariant looks at (invariants.py)."""


def check_tiers(state: DataFrame, rules: RunRules) -> DataFrame:
    """Compare the client leader's log, what was copied in this round, and what went from local disks, with remote storage.

    All of it changes only by rare steps, so it is looked at where one was made, and where something was broken before. What a
    leader, a superseded one too, has expired may be gone before the client leader's log start is behind it: up to
    `expired_up_to` nothing is missed. What a guard makes impossible (a lookup that finds another record, a state that may not
    follow) is looked at where a protocol of the run lacks the guard.
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
    events = ("remote_events", "remote_segments", "slot", "metadata_read", "round + 1")
    all_known = learned("metadata_index", *events, rules.holds("check_transitions"))
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
        {"known_to_all": f"IF(pieces IS NULL, {empty_index()}, {all_known})"},
        {
            "tier_broken": (
                f"IF(coalesce(get(epochs, 0).start_offset > missed_from AND pieces IS NOT NULL, false)"
                f" OR coalesce(exists(pieces, y -> {_has_gap('y')} AND NOT {_excused('y')}), false), {GAP}, 0)"
                f" | IF(coalesce({above}, false), {ABOVE_LAST_STABLE}, 0)"
                f" | IF(coalesce(exists(gone, g -> {_never_copied('g')}), false), {NEVER_COPIED}, 0)"
                f" | IF(coalesce(exists(tier_copy.started, s -> {_has_not_waited('s')}), false), {WITHOUT_LAG}, 0)"
                f" | IF(leo > local_from AND {LOCAL_BYTES} < log_bytes - {bytes_at('log', 'local_from')}, {HOLE}, 0)"
                + "".join(f" | IF(coalesce({broken}, false), {bit}, 0)" for bit, broken in _without_guard(rules).items())
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
    shared = f"{theirs} IS NOT NULL AND {lo} < {hi}"  # greatest and least leave out what is null
    own = _pieces("epochs", "leo", from_offset, f"{gone}.to_offset")
    their_own = _pieces("its_epochs", "lead.leo", from_offset, f"{gone}.to_offset")
    counts = f"s.was_finished OR {_TAKEN_AWAY}"
    return let(
        "its_", their_own, f"exists({own}, y -> coalesce({shared} AND {_copied_up_to('y.epoch', lo, counts)} < {hi}, false))"
    )


def _excused(piece: str) -> str:
    """Whether all of the piece is in the store all the same, or was and was given up: leaders lost track of each other.

    Leaders of several epochs copied there, or there was an unclean election. Of two segments that start alike lookups know
    the one that was finished last, also where it reaches less far. A lineage that was given up may lead again after an unclean
    election; a leader that had nothing of it has deleted its segments, and after another unclean one copied others that lookups
    find instead.
    """
    in_store = f"(s.id >= remote_from AND s.state = {COPY_FINISHED} AND s.stored_bytes >= s.bytes)"
    counts = f"{in_store} OR ({_UNCLEAN} >= 2 AND s.was_finished) OR {_TAKEN_AWAY}"
    of_epoch = f"filter(remote_segments, s -> s.was_finished AND exists(s.epochs, x -> x.epoch = {piece}.epoch))"
    copiers = f"size(array_distinct(transform({of_epoch}, s -> s.leader_epoch)))"
    return f"(({_UNCLEAN} >= 1 OR {copiers} > 1) AND {_copied_up_to(f'{piece}.epoch', f'{piece}.lo', counts)} >= {piece}.hi)"


_UNCLEAN = "(unclean_elections + CAST(coalesce(election.unclean_elected, false) AS INT))"
_TAKEN_AWAY = (
    f"({_UNCLEAN} >= 1 AND (s.was_finished OR s.moved_bytes >= s.bytes)"
    f" AND exists(remote_events, e -> e.segment = s.id AND e.state = {DELETE_STARTED} AND e.slot != slot))"
)
"""Whether a remote segment `s` was copied, and another broker deleted it, perhaps meanwhile: its copier does not notice."""


def _copied_up_to(epoch: str, from_offset: str, counts: str) -> str:
    """How far from this offset on records of the epoch were copied without a gap, by whomever; `counts`: into the segment `s`."""
    copies = (
        f"flatten(transform(filter(remote_segments, s -> {counts}), s -> filter(transform(s.epochs, (x, i) ->"
        " named_struct('epoch', x.epoch, 'start', x.start_offset, 'end',"
        f" coalesce(get(s.epochs, i + 1).start_offset - 1, s.end_offset))), x -> x.epoch = {epoch})))"
    )
    return f"aggregate(array_sort({copies}), {from_offset}, (p, x) -> IF(x.start <= p, greatest(p, x.end + 1), p))"


def _has_not_waited(segment: str) -> str:
    """Whether a segment whose copy began in this round was too young, with too little behind it on its copier's disk."""
    ms = "CAST(feed.storage.round_ms AS BIGINT)"
    too_young = f"(round - {segment}.newest_round) * {ms} < feed.storage.copy_lag_ms"
    too_short = f"log_bytes - {bytes_at('log', f'({segment}.end_offset + 1)')} < feed.storage.copy_lag_bytes"
    has_lag = "feed.storage.copy_lag_ms != 0 AND feed.storage.copy_lag_bytes != 0"
    return f"({has_lag}) AND (feed.storage.copy_lag_ms < 0 OR {too_young}) AND (feed.storage.copy_lag_bytes < 0 OR {too_short})"


def _without_guard(rules: RunRules) -> dict[int, str]:
    """Bit of `tier_broken` -> whether it is broken, of those that only a protocol without a guard can break."""
    found: dict[int, str] = {}
    if rules.some_lack("lookup_by_epoch"):
        found[OTHER_RECORD] = f"exists(pieces, y -> {_finds_other_record('y', rules)})"
    if rules.some_lack("check_transitions"):
        states = "filter(remote_events, e -> e.segment = s.id)"
        allowed = is_allowed("known", "e.state")
        replayed = f"aggregate({states}, CAST(null AS INT), (known, e) -> IF({allowed}, e.state, known))"
        now = "exists(remote_events, e -> e.segment = s.id AND e.round = round)"
        found[WRONG_STATE] = f"exists(remote_segments, s -> s.id >= remote_from AND {now} AND NOT s.state <=> {replayed})"
    return found


def _finds_other_record(piece: str, rules: RunRules) -> str:
    """Whether a lookup of an offset of the piece finds a segment that has not the record of its epoch there."""
    ends = "flatten(transform(known_to_all.entries, x -> array(x.start_offset, x.end_offset + 1)))"
    offsets = f"filter(concat(array({piece}.lo), {ends}), p -> p >= {piece}.lo AND p < {piece}.hi)"
    has = f"x.segment = f_ AND x.epoch = {piece}.epoch AND p BETWEEN x.start_offset AND x.end_offset"
    other = f"f_ IS NOT NULL AND NOT exists(known_to_all.entries, x -> {has})"
    found = lookup("known_to_all", f"{piece}.epoch", "p", rules.holds("lookup_by_epoch"))
    return f"exists({offsets}, p -> {let('f_', found, other)})"
