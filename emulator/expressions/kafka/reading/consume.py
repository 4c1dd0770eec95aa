"""The round of all readers that ask one replica: each gets its answer, and remote reads share what the broker has.

SQL texts. Threads and index cache are those of this replica alone: as if its broker had no other partition.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.expressions.columns import let
from emulator.expressions.kafka.reading import remote, step
from emulator.expressions.kafka.reading.types import Asked, answer, code


@dataclass(frozen=True)
class Broker:
    """SQL texts of what a broker gives remote reads in a round: null `reads` and `quota_bytes` are any number.

    reads: how many its threads make; queue: how many more wait. cache: array of remote.CACHED_INDEX. share_bytes: of the reader
    in place `i_`, what the reads of other partitions leave it; null: any number.
    """

    reads: str
    queue: str
    quota_bytes: str
    cache: str
    cache_bytes: str
    index_interval_bytes: str
    share_bytes: str = "CAST(null AS BIGINT)"


def consumed(readers: str, wants: str, row: Asked, broker: Broker) -> str:
    """A struct (readers, cache) after the round: `readers` ask this replica, `wants` has for each what its group wants.

    wants: null for who is not in force. In the texts of `row`, `i_` is a reader's place and `r` the reader.
    """
    asking = step.answered(row, "named_struct('r', r, 'w', w, 'd', d)")
    asked = f"IF(w IS NULL, named_struct('r', {step.paused()}, 'w', w, 'd', null), {asking})"
    asked_all = f"transform({readers}, (r, i_) -> {let('w', f'get({wants}, i_)', asked)})"
    cached = f"aggregate({_looks(row, broker)}, {_empty_handed(broker)}, (a, x) -> {_look(broker)})"
    after = let("cached_", cached, f"named_struct('readers', {_after(row, broker)}, 'cache', cached_.cache)")
    within_shares = f"transform(quota_, (g, i_) -> IF(g IS NULL, null, least(g, {broker.share_bytes})))"
    granted = let("quota_", remote.shares("wanted_", broker.quota_bytes), within_shares)
    shared = let("granted_", granted, after)
    return let("asked_", asked_all, let("places_", _places(), let("wanted_", _wanted(row, broker), shared)))


def _places() -> str:
    """The place of each remote read: whose last one is longest ago comes first; null for other answers."""
    is_remote = f"y.d.answer = {answer('remote')}"
    is_before = "(y.r.remote_round < x.r.remote_round OR (y.r.remote_round = x.r.remote_round AND j < i))"
    before = f"size(filter(asked_, (y, j) -> {is_remote} AND {is_before}))"
    return f"transform(asked_, (x, i) -> IF(x.d.answer = {answer('remote')}, {before}, null))"


def _finds_thread(broker: Broker, place: str) -> str:
    return f"coalesce(get(places_, {place}) < coalesce({broker.reads}, {2**31 - 1}), false)"


def _wanted(row: Asked, broker: Broker) -> str:
    """Bytes that each remote read would have if there were no quota."""
    end = remote.end_within("s_", "r.position", step.allowed_bytes(row), "d.end")
    size = let("s_", row.segment, let("e_", end, remote.bytes_between("s_", "r.position", "e_")))
    return f"transform(asked_, (x, i_) -> IF({_finds_thread(broker, 'i_')}, {_with_reader(size)}, CAST(null AS BIGINT)))"


def _looks(row: Asked, broker: Broker) -> str:
    """The segments that remote reads look into, in their order; null for who makes none."""
    size = remote.index_bytes("s_", broker.index_interval_bytes)
    look = let("s_", row.segment, f"named_struct('segment', s_.id, 'bytes', {size})")
    return f"transform(asked_, (x, i_) -> IF({_finds_thread(broker, 'i_')}, {_with_reader(look)}, null))"


def _empty_handed(broker: Broker) -> str:
    return f"named_struct('cache', {broker.cache}, 'hits', CAST(array() AS ARRAY<BOOLEAN>))"


def _look(broker: Broker) -> str:
    cache = remote.cached("a.cache", "x.segment", "x.bytes", broker.cache_bytes)
    hit = remote.is_cached("a.cache", "x.segment")
    return (
        "IF(x IS NULL, named_struct('cache', a.cache, 'hits', concat(a.hits, array(false))),"
        f" named_struct('cache', {cache}, 'hits', concat(a.hits, array({hit}))))"
    )


def _after(row: Asked, broker: Broker) -> str:
    refused = f"get(places_, i_) >= {broker.reads} + {broker.queue}"
    failure = f"IF({_finds_thread(broker, 'i_')}, CAST(null AS INT), {code('reader_threads')})"
    size = remote.index_bytes("s_", broker.index_interval_bytes)
    read = step.read(row, failure, "get(granted_, i_)", "get(cached_.hits, i_)", size, refused)
    answered = let("r", f"IF(d.answer = {answer('remote')}, {read}, {step.advanced(row)})", step.with_lag(row.leader_hw))
    return f"transform(asked_, (x, i_) -> {_with_reader(f'IF(w IS NULL, r, {answered})')})"


def _with_reader(text: str) -> str:
    return let("r", "x.r", let("w", "x.w", let("d", "x.d", text)))
