"""The spans of all brokers as numpy columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from emulator.faults.touching import StalePartition
from emulator.inputs.arrays.columns import offsets_of, spread
from emulator.inputs.brokers_over_time import METADATA_LAG, BrokersOverTime
from emulator.inputs.consumers import read_quota
from emulator.inputs.storage_settings import copy_quota

NONE = np.iinfo(np.int64).min
"""What stands for null in a column of numbers."""

_LOW_BITS = 32

FLAGS = (
    *("offline", "paused", "isolated", "waking", "fenced", "returning", "restarted", "unclean_restart"),
    *("clean_stop", "power_loss", "disk_loss", "clients_cut", "controller_up", "is_with_rack"),
)
"""Flags of a BrokerSegment."""

_flags_of = attrgetter(*FLAGS)


def joined(high: np.ndarray, low: np.ndarray | int) -> np.ndarray:
    """Two numbers of at most 31 bits as one that sorts by the first, then the second."""
    return high.astype(np.int64) << _LOW_BITS | low


def parted(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What `joined` joined."""
    return keys >> _LOW_BITS, keys & ((1 << _LOW_BITS) - 1)


@dataclass(frozen=True, eq=False)
class Links:
    """Some links between brokers: a number for messages of a span's broker to a peer.

    `count`: by span; `key`: span and peer of each link, ascending.
    """

    count: np.ndarray
    key: np.ndarray
    number: np.ndarray

    @staticmethod
    def of(links: Sequence[tuple[int, int, int]], kinds: int, kind: np.ndarray, ids: np.ndarray) -> Links:
        """From (kind of a span, the peer's id, number) in the order of kind and id. `kinds`: how many; `kind`: by span."""
        of_kind, peer, number = np.array(links, np.int64).reshape(-1, 3).T
        counts = np.bincount(of_kind, minlength=kinds)
        count = counts[kind]
        at = spread(offsets_of(counts)[kind], count)
        return Links(count, joined(np.repeat(np.arange(len(kind)), count), np.searchsorted(ids, peer[at])), number[at])


class BrokerColumns:
    """One entry per broker and span, in the order of broker and round. Brokers go by their place among the ids.

    `flags`: by name; `disk` and slow links' numbers in bytes per round, far ones' in microseconds, `cause`, `moment` as of a
    BrokerSegment, and `settings` by name: numbers, NONE for null; `stale`, `stale_before`: index into `stale_sets`, 0 for what
    covers nothing.
    """

    def __init__(self, over_time: BrokersOverTime, round_ms: int) -> None:
        self.ids = np.array(over_time.brokers, np.int64)
        lists, of_brokers = over_time.distinct_spans()
        spans = [span for of_list in lists for span in of_list]
        segments = [span.segment for span in spans]
        lengths, which = np.array([len(of_list) for of_list in lists], np.int64), np.array(of_brokers, np.int64)
        at = spread(offsets_of(lengths)[which], lengths[which])
        self.broker = np.repeat(np.arange(len(which)), lengths[which])
        self.round = np.array([span.from_round for span in spans], np.int64)[at]

        def per_round(rate: int) -> int:
            return max(1, rate * round_ms // 1000)

        def setting(key: str, as_number: Callable[[Any], int] = int) -> np.ndarray:
            values = (span.settings.get(key) for span in spans)
            return _numbers(None if value is None else as_number(value) for value in values)[at]

        flags = np.array([_flags_of(segment) for segment in segments], bool).reshape(-1, len(FLAGS))[at]
        self.flags = {name: flags[:, i] for i, name in enumerate(FLAGS)}
        self.disk = _numbers(None if (rate := s.disk_bytes_per_second) is None else per_round(rate) for s in segments)[at]
        self.cause = _numbers(s.cause for s in segments)[at]
        self.moment = _numbers(s.moment for s in segments)[at]
        self.settings = {
            "fetch_max_bytes": setting("replica.fetch.max.bytes"),
            "response_max_bytes": setting("replica.fetch.response.max.bytes"),
            "no_wait": setting("replica.fetch.wait.max.ms", lambda wait: int(wait == 0)),
            "metadata_lag": setting(METADATA_LAG),
            "copy_quota": setting("remote.log.manager.copy.max.bytes.per.second", lambda quota: copy_quota(quota, round_ms)),
            "read_quota": setting("remote.log.manager.fetch.max.bytes.per.second", lambda quota: read_quota(quota, round_ms)),
            "reader_threads": setting("remote.log.reader.threads"),
            "reader_queue": setting("remote.log.reader.max.pending.tasks"),
            "index_cache_bytes": setting("remote.log.index.file.cache.total.size.bytes"),
            "at_pending_upload": setting("follower.fetch.last.tiered.offset.enable"),
        }
        cut = [(i, peer, 0) for i, s in enumerate(segments) for peer in s.drop_to]
        slow = [(i, peer, per_round(rate)) for i, s in enumerate(segments) for peer, rate in s.slow_to]
        far = [(i, peer, round_trip_us) for i, s in enumerate(segments) for peer, round_trip_us in s.far_to]
        self.cut_links, self.slow_links, self.far_links = (Links.of(of, len(spans), at, self.ids) for of in (cut, slow, far))
        numbers: dict[tuple[StalePartition, ...], int] = {(): 0}
        self.stale = np.array([numbers.setdefault(s.stale, len(numbers)) for s in segments], np.int64)[at]
        self.stale_before = np.array([numbers.setdefault(s.stale_before, len(numbers)) for s in segments], np.int64)[at]
        self.stale_sets = list(numbers)


def _numbers(values: Iterable[int | None]) -> np.ndarray:
    return np.array([NONE if value is None else value for value in values], np.int64)
