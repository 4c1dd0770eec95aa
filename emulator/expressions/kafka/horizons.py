"""Where a leap over quiet rounds has to stop: the rounds in which a rule of Kafka may act though nothing has happened yet.

Data for emulator/leaps.py: SQL texts over a replica's row at the end of a quiet round, `drift.NAME` being what a counter moved by
in it. A *tick* is a round divisible by a period; rules that look at the clock only in ticks must not be leapt over, which makes
their horizons a matter of exactness. The other ones say where a guard will be met, so that no leap is tried across it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from emulator.expressions.columns import let
from emulator.expressions.kafka.elect_leader import returns_to_preferred
from emulator.expressions.kafka.reading.horizons import Drift
from emulator.expressions.kafka.reading.horizons import horizon as reader_horizon
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.kafka.segments import ACTIVE_NEWEST, LOCAL_BYTES, local_start
from emulator.expressions.kafka.serve_consumers import asked_row
from emulator.expressions.kafka.tier.tier_horizons import CALM_HORIZONS, tier_horizons
from emulator.expressions.log import epoch_cache, last_run
from emulator.expressions.slots import has
from emulator.state_schema import Calm


@dataclass(frozen=True)
class Horizon:
    """First round, from the next one on, in which a rule may act; `round_sql` is null where it cannot.

    `calm_sql`: whether what it does disturbs no leap (`calm`); then the round must be exact, or too early.
    """

    name: str
    round_sql: str
    calm_sql: str = "false"


def _tick(from_round: str, period: str) -> str:
    """The first round from one on that a period divides."""
    return f"(({from_round} + {period} - 1) DIV greatest({period}, 1)) * {period}"


def _met(gap: str, closing: str) -> str:
    """The round in which a gap that closes by so much a round is closed; null if it does not close."""
    return f"IF({closing} > 0 AND {gap} > 0, round + {gap} DIV {closing}, null)"


_FOLLOWS = "slot != client_leader AND (assigned & own_bit) != 0"
_LAGS_FROM = "(CAST(caught_up_round AS BIGINT) + feed.lag_rounds + 1)"
_FALLS_BEHIND = (
    f"{_FOLLOWS} AND coalesce(drift.caught_up_round, 0L) != 1"
    " AND NOT coalesce(remote_leo = leader_leo AND drift.remote_leo = drift.leader_leo, false)"
)
_HELD = f"((leader_isr | pending_shrink) & own_bit) != 0 AND {has('world.running', 'client_leader')}"

_UNFLUSHED = "(feed.flush_messages - leo + flushed_offset)"
_FLUSH_DUE = _met(_UNFLUSHED, "(drift.leo - drift.flushed_offset)")

_SPACE = "greatest(feed.segment_bytes - segment_bytes, 0L)"
_UNFLUSHED_ROLLS = "feed.flush_messages = 0"
"""A roll flushes what is before it: only where nothing else does is the next flush as far as before."""

HORIZONS = (
    Horizon(
        "ISR check", f"IF({_FALLS_BEHIND} AND {_HELD}, {_tick(f'greatest(round, {_LAGS_FROM})', 'feed.isr_check_rounds')}, null)"
    ),
    Horizon("lag time", f"IF({_FALLS_BEHIND} AND {_LAGS_FROM} >= round, {_LAGS_FROM}, null)"),
    Horizon("preferred leader", f"IF({returns_to_preferred()}, {_tick('round', 'feed.rebalance_rounds')}, null)"),
    Horizon("segment bytes", f"IF(drift.segment_bytes > 0, round + {_SPACE} DIV drift.segment_bytes, null)", _UNFLUSHED_ROLLS),
    Horizon(
        "segment age",
        "IF(drift.leo > 0 AND segment_bytes > 0, CAST(segment_round AS BIGINT) + feed.segment_rounds, null)",
        _UNFLUSHED_ROLLS,
    ),
    Horizon(
        "flush interval",
        f"IF(feed.flush_messages > 0 AND feed.flush_rounds > 0, {_tick('round', 'feed.flush_rounds')}, null)",
    ),
    Horizon("flush messages", f"IF(feed.flush_messages > 1, {_FLUSH_DUE}, null)"),
    Horizon("log end", f"IF({_FOLLOWS}, {_met('(leader_leo - leo)', '(drift.leo - drift.leader_leo)')}, null)"),
    # What fits into a fetch goes up and down where rounds append several batches of unlike sizes.
    Horizon("unlike batches", f"IF({_FOLLOWS} AND leo < leader_leo AND {last_run('log')}.pattern IS NOT NULL, round, null)"),
    Horizon("high watermark", _met("(leo - hw)", "(drift.hw - drift.leo)")),
)


_FIRST_END = "coalesce(get(segments, 1).base_offset, IF(size(segments) > 0, segment_base_offset, leo))"
_CHECK = "feed.storage.check_rounds"
_TOO_OLD = (
    f"(IF(size(segments) > 0, get(segments, 0).newest_round, {ACTIVE_NEWEST})"
    " + feed.storage.local_retention_ms DIV feed.storage.round_ms + 1)"
)
_MAY_GO = f"(NOT feed.storage.copies OR size(segments) = 0 OR {_FIRST_END} <= greatest(highest_remote + 1, log_start_offset))"
_KEEPS_LOG_START = f"feed.storage.copies AND {_UNFLUSHED_ROLLS}"
_ABOVE_LIMIT = f"(feed.storage.local_retention_bytes + coalesce(get(segments, 0).bytes, segment_bytes) - {LOCAL_BYTES})"
_FULL = f"IF(drift.segment_bytes > 0, round + ({_ABOVE_LIMIT} - 1) DIV drift.segment_bytes, null)"


def _checked_from(round_sql: str) -> str:
    """The first check of local retention from a round on."""
    return f"IF({round_sql} IS NULL, null, {_tick(f'greatest(round, {round_sql})', _CHECK)})"


def _of_segments(rules: RunRules) -> tuple[Horizon, ...]:
    """Where segments are kept: checks of local retention that may delete: what waits for its copy stays, but with a mutant."""
    may_go = rules.choose("copy_before_delete", _MAY_GO, "true") if rules.tiers else "true"
    by_size = f"IF({_ABOVE_LIMIT} <= 0, {_checked_from('0')}, {_checked_from(_FULL)})"
    texts = {
        "below log start": f"IF({_FIRST_END} <= log_start_offset, {_checked_from('0')}, null)",
        "local retention time": f"IF(feed.storage.local_retention_ms >= 0 AND {may_go}, {_checked_from(_TOO_OLD)}, null)",
        "local retention bytes": f"IF(feed.storage.local_retention_bytes >= 0 AND {may_go}, {by_size}, null)",
    }
    return tuple(Horizon(name, text, _KEEPS_LOG_START) for name, text in texts.items())


def _of_readers(rules: RunRules) -> str:
    """The first round that has to be run for a reader of this row whose group is in force."""
    drift = Drift("get(drift.readers, i).position", "drift.hw", "drift.log_bytes")
    of_one = reader_horizon(asked_row(rules), drift, "cached_indexes")
    is_in_force = "get(feed.consumers.wants, get(reader_groups, i)) IS NOT NULL"
    of_all = f"array_min(transform(readers, (r, i) -> IF({is_in_force}, {of_one}, null)))"
    facts = let("epochs", epoch_cache("log", "log_start_offset"), let("local_from", local_start(rules), of_all))
    return f"IF(coalesce(size(readers), 0) > 0, {facts}, null)"


def _all(rules: RunRules) -> list[Horizon]:
    """All but those of readers."""
    found = list(HORIZONS)
    if rules.segments:
        found += [replace(h, round_sql=f"IF(segments IS NULL, null, {h.round_sql})") for h in _of_segments(rules)]
    if rules.tiers:
        of_tier = tier_horizons(rules).items()
        kept = "IF(segments IS NULL OR is_deleted, null, {0})".format
        found += [Horizon(name, kept(text), "true" if name in CALM_HORIZONS else "false") for name, text in of_tier]
    # What readers find may change with every segment that is copied or deleted.
    return [replace(h, calm_sql="false") for h in found] if rules.consumers else found


def horizon(rules: RunRules) -> str:
    """SQL: the first round that has to be run, the largest int if there is none; without those that are calm."""
    texts = [f"CAST(IF({h.calm_sql}, null, {h.round_sql}) AS BIGINT)" for h in _all(rules) if h.calm_sql != "true"]
    if rules.consumers:
        texts.append(_of_readers(rules))
    return f"greatest(round, coalesce(least({', '.join(texts)}), {2**31 - 1}L))"


def calm(rules: RunRules) -> Calm:
    """Rolls, copies, local deletions and what replicas note of them: nothing in a round goes by these but checks and tasks.

    A follower that has not got what its leader deletes will be sent to remote storage in the next round, and one that builds its
    auxiliary state may find it in what its leader has noted; of a superseded leader nobody knows who asks it.
    """
    if rules.consumers:
        return Calm()
    texts = [f"CAST(IF({h.calm_sql}, {h.round_sql}, null) AS BIGINT)" for h in _all(rules) if h.calm_sql != "false"]
    is_below = f"({_FOLLOWS} AND coalesce(leo < leader_local_start, false))"
    builds = "aux_state IS NOT NULL" if rules.tiers else "false"
    return Calm(
        columns=_CALM_COLUMNS + (_CALM_TIER_COLUMNS if rules.segments else ()),
        horizon=f"greatest(round, coalesce(least({', '.join(texts)}), {2**31 - 1}L))",
        condition=f"{_UNFLUSHED_ROLLS} AND NOT {is_below} AND NOT ({builds}) AND NOT (is_leader AND slot != client_leader)",
    )


_CALM_COLUMNS = ("events", "segment_base_offset", "segment_round")
_CALM_TIER_COLUMNS = (
    *("segments", "local_deleted_bytes", "leader_local_start", "remote_segments", "remote_events", "highest_remote", "copied"),
    *("copy_task", "follower_task", "copy_under_way", "copy_starts", "metadata_read", "metadata_index", "tier_counts"),
)
