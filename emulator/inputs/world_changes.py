"""What changes for worlds: at which rounds for how many, and their values (schema.WORLD) then, built for all at once.

A world changes where something changes for one of its brokers. Here a (world, round) where it does is a *moment*, and
each slot of a moment an *entry*: all arrays have one element per moment or per entry, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from emulator.faults.timeline import StalePartition
from emulator.inputs.broker_columns import NONE, BrokerColumns, Links, joined, parted
from emulator.inputs.change_types import WORLD_CHANGE, WORLD_CHANGES, WORLD_VALUE
from emulator.inputs.worlds import BrokersOverTime, World

_SHOWN_AS_THEY_ARE = (
    *("offline", "returning", "restarted", "unclean_restart"),
    *("clean_stop", "power_loss", "disk_loss", "clients_cut", "isolated"),
)
_SETTINGS = (
    *("fetch_max_bytes", "no_wait", "metadata_lag", "copy_quota", "at_pending_upload"),
    *("read_quota", "reader_threads", "reader_queue", "index_cache_bytes"),
)
"""What a broker has by itself: null where all brokers have the same."""


class WorldChanges:
    """The changes of the worlds of a scenario that are asked for; building it costs the brokers' changes, not the worlds'.

    `wanted`: the places of these worlds in the list, ascending; None for all.
    """

    def __init__(
        self, worlds: Sequence[World], over_time: BrokersOverTime, round_ms: int, wanted: np.ndarray | None = None
    ) -> None:
        self._brokers = BrokerColumns(over_time, round_ms)
        self._ids = np.arange(len(worlds)) if wanted is None else wanted
        self._worlds = _Worlds([worlds[w] for w in self._ids.tolist()], self._brokers.ids)

    def change_counts(self) -> tuple[np.ndarray, np.ndarray]:
        """(rounds at which anything changes for a wanted world, ascending; for how many). Builds no values."""
        order = np.argsort(self._brokers.round, kind="stable")
        rounds, first = np.unique(self._brokers.round[order], return_index=True)
        touched = np.split(self._brokers.broker[order], first[1:])
        counts: dict[bytes, int] = {}
        for brokers in touched:
            if (key := brokers.tobytes()) not in counts:
                counts[key] = self._worlds.count_on(brokers)
        worlds = np.array([counts[brokers.tobytes()] for brokers in touched], np.int64)
        return rounds[worlds > 0], worlds[worlds > 0]

    def table(self, from_round: int, to_round: int, first_world_id: int = 0) -> pa.Table:
        """The values that begin in [from_round, to_round), as change_types.WORLD_CHANGES has them.

        Worlds are numbered from `first_world_id`, those without a change are left out. Needs about 400 bytes per value
        while it builds, and 100 in the table, both for worlds of three brokers.
        """
        world, round_ = self._moments(from_round, to_round)
        if not len(world):
            return WORLD_CHANGES.empty_table()
        value = _Values(self._worlds, self._brokers, world, round_).arrow()
        changed, first = np.unique(world, return_index=True)
        each = pa.StructArray.from_arrays([pa.array(round_, pa.int32()), value], fields=list(WORLD_CHANGE))
        changes = _lists(np.diff(first, append=len(world)), each, WORLD_CHANGES.field("changes").type)
        return pa.table([pa.array(self._ids[changed] + first_world_id, pa.int32()), changes], schema=WORLD_CHANGES)

    def _moments(self, from_round: int, to_round: int) -> tuple[np.ndarray, np.ndarray]:
        """(worlds, rounds) for which something begins in [from_round, to_round), in the order of worlds and rounds."""
        worlds = self._worlds
        first, count = (of_broker[worlds.broker] for of_broker in self._brokers.beginning_between(from_round, to_round))
        spans = _ranges(first, count)
        keys = np.sort(joined(np.repeat(worlds.world, count), self._brokers.round[spans]))
        return parted(keys[np.diff(keys, prepend=-1) > 0])


class _Worlds:
    """The worlds as columns: `size` and `first` (place) by world, `world` and `broker` by place: world and slot."""

    def __init__(self, worlds: Sequence[World], broker_ids: np.ndarray) -> None:
        self.size = np.array([len(world.brokers) for world in worlds], np.int64)
        self.first = np.cumsum(self.size) - self.size
        self.world = np.repeat(np.arange(len(worlds)), self.size)
        ids = np.fromiter(chain.from_iterable(world.brokers for world in worlds), np.int64, len(self.world))
        self.broker = np.searchsorted(broker_ids, ids)
        self.in_broker_order = np.lexsort((self.broker, self.world))
        patterns: dict[frozenset[tuple[str | None, int | None]], int] = {}
        self.covered_by = np.array([patterns.setdefault(w.stale_patterns, len(patterns)) for w in worlds], np.int64)
        self.patterns = list(patterns)
        self._by_broker = np.argsort(self.broker, kind="stable")
        self._of_broker = np.searchsorted(self.broker[self._by_broker], np.arange(len(broker_ids) + 1))

    def count_on(self, brokers: np.ndarray) -> int:
        """How many worlds have one of these brokers, each of which they have once at most."""
        first, count = self._of_broker[brokers], np.diff(self._of_broker)[brokers]
        if len(brokers) == 1:
            return int(count[0])
        if 4 * count.sum() < len(self.world):
            return len(np.unique(self.world[self._by_broker[_ranges(first, count)]]))
        touched = np.zeros(len(self._of_broker), bool)
        touched[brokers] = True
        return int(np.count_nonzero(np.logical_or.reduceat(touched[self.broker], self.first)))


class _Values:
    """The values of worlds at moments."""

    def __init__(self, worlds: _Worlds, brokers: BrokerColumns, world: np.ndarray, round_: np.ndarray) -> None:
        self._worlds, self._brokers, self._world = worlds, brokers, world
        self._size = worlds.size[world]
        self._begin = np.cumsum(self._size) - self._size
        self._moment = np.repeat(np.arange(len(world)), self._size)
        self._place = _ranges(worlds.first[world], self._size)
        self._slot = self._place - worlds.first[world][self._moment]
        self._bit = (1 << self._slot).astype(np.int32)
        self._span = brokers.at(worlds.broker[self._place], round_[self._moment])

    def arrow(self) -> pa.StructArray:
        """All of them, one per moment."""
        brokers, span = self._brokers, self._span
        says = {name: flags[span] for name, flags in brokers.flags.items()}
        out_of_touch = says["offline"] | says["paused"] | says["isolated"]
        stale, lag = self._stale(brokers.stale)
        stale_before, _ = self._stale(brokers.stale_before)
        dropped = self._dropped(says["isolated"])
        cause = brokers.cause[span]
        columns = {
            "running": self._mask(~(says["offline"] | says["paused"])),
            "untold": self._mask(out_of_touch | says["waking"] | stale | stale_before),
            "deaf": self._mask(out_of_touch | stale),
            "unfenced": self._mask(~says["fenced"]),
            **{name: self._mask(says[name]) for name in _SHOWN_AS_THEY_ARE},
            "controller_up": says["controller_up"][self._begin],
        }
        arrays = {
            **{name: pa.array(column, WORLD_VALUE.field(name).type) for name, column in columns.items()},
            "drop": self._array("drop", dropped, dropped != 0),
            "slow": self._slow(),
            "disk": self._nullable_array("disk", brokers.disk[span]),
            "cause": self._array("cause", cause, cause >= 0),
            "news_lag": self._nullable_array("news_lag", np.where(out_of_touch, NONE, lag)),
            **{name: self._nullable_array(name, brokers.settings[name][span]) for name in _SETTINGS},
        }
        return pa.StructArray.from_arrays([arrays[field.name] for field in WORLD_VALUE], fields=list(WORLD_VALUE))

    def _mask(self, flags: np.ndarray) -> np.ndarray:
        """By moment: the mask of the slots whose entries are flagged."""
        return np.bitwise_or.reduceat(np.where(flags, self._bit, np.int32(0)), self._begin)

    def _stale(self, stale_of_span: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By entry: whether stale_metadata keeps news of the world's partitions from the broker, and how late they come."""
        worlds, sets = self._worlds, self._brokers.stale_sets
        stale, lag = np.zeros(len(self._span), bool), np.full(len(self._span), NONE)
        number = stale_of_span[self._span]
        entries = np.flatnonzero(number)
        pair = joined(number[entries], worlds.covered_by[self._world[self._moment[entries]]])
        pairs, of_entry = np.unique(pair, return_inverse=True)
        found = [_lags(sets[s], worlds.patterns[p]) for s, p in np.column_stack(parted(pairs)).tolist()]
        stale[entries] = np.array([bool(lags) for lags in found], bool)[of_entry]
        lag[entries] = np.array([NONE if not lags or None in lags else max(lags) for lags in found], np.int64)[of_entry]  # type: ignore[type-var]
        return stale, lag

    def _dropped(self, isolated: np.ndarray) -> np.ndarray:
        """By entry: the mask of slots that its messages do not reach."""
        everyone, cut_off = (1 << self._size) - 1, self._mask(isolated)
        dropped = np.where(isolated, everyone[self._moment] & ~self._bit, cut_off[self._moment])
        entries, to_slots, _ = self._links(self._brokers.cut_links)
        np.bitwise_or.at(dropped, entries, 1 << to_slots)
        return dropped

    def _slow(self) -> pa.ListArray:
        """By moment: its slow links, null without any."""
        kind = WORLD_VALUE.field("slow").type
        entries, to_slots, bytes_per_round = self._links(self._brokers.slow_links)
        columns = {"from_slot": self._slot[entries], "to_slot": to_slots, "bytes_per_round": bytes_per_round}
        fields = list(kind.value_type)
        links = pa.StructArray.from_arrays([pa.array(columns[f.name], f.type) for f in fields], fields=fields)
        count = np.bincount(self._moment[entries], minlength=len(self._size))
        return _lists(count, links, kind, null=count == 0)

    def _links(self, links: Links) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Links within worlds: (entry of the sender, slot of the receiver, number), by entry and the receiver's id."""
        entries = np.flatnonzero(links.count[self._span])
        size = self._size[self._moment[entries]]
        places = self._worlds.in_broker_order[_ranges((self._place - self._slot)[entries], size)]
        entries = np.repeat(entries, size)
        hits, number = links.find(self._span[entries], self._worlds.broker[places])
        entries = entries[hits]
        return entries, places[hits] - (self._place - self._slot)[entries], number

    def _nullable_array(self, name: str, numbers: np.ndarray) -> pa.ListArray:
        """A column of arrays that have null for NONE, and are null where all is."""
        return self._array(name, numbers, numbers != NONE, numbers == NONE)

    def _array(self, name: str, numbers: np.ndarray, told: np.ndarray, null: np.ndarray | None = None) -> pa.ListArray:
        """A column of arrays with a number per slot, null where none is `told`."""
        kind = WORLD_VALUE.field(name).type
        kept = np.logical_or.reduceat(told, self._begin)
        of_kept = kept[self._moment]
        numbers, mask = numbers[of_kept], None if null is None else null[of_kept]
        if mask is not None:
            numbers = np.where(mask, 0, numbers)
        if pa.types.is_boolean(kind.value_type):
            numbers = numbers != 0
        values = pa.array(numbers, kind.value_type, mask=mask)
        return _lists(np.where(kept, self._size, 0), values, kind, null=~kept)


def _lags(stale: tuple[StalePartition, ...], patterns: frozenset[tuple[str | None, int | None]]) -> list[int | None]:
    """How late each stale_metadata fault that covers the partitions lets news through: None for never."""
    return [lag for topic, partition, lag in stale if (topic, partition) in patterns]


def _ranges(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """first[0], first[0] + 1, ..., `count[0]` numbers of them, then so from first[1] on, and so on."""
    before = np.cumsum(count) - count
    return np.arange(count.sum()) + np.repeat(first - before, count)


def _lists(count: np.ndarray, values: pa.Array, kind: pa.DataType, null: np.ndarray | None = None) -> pa.ListArray:
    """Lists of so many of the values each."""
    ends = pa.array(np.concatenate([[0], np.cumsum(count)]), pa.int32())
    return pa.ListArray.from_arrays(ends, values, type=kind, mask=None if null is None else pa.array(null))
