"""A block of partitions, told as tests/inputs/one_by_one.py and naive_worlds.py tell of partitions: one round at a time."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import numpy as np

from emulator.inputs.arrays import Block
from emulator.rounds.kafka import constants as kc

REMOTE = (
    "tiered", "copies", "retention_rounds", "retention_bytes", "task_ms", "retry_ms", "retry_most_ms", "round_ms",
    "backoff_rounds", "at_pending_upload", "copy_quota_bytes", "copy_lag_rounds", "copy_lag_bytes", "eligible_log_rounds",
    "eligible_log_bytes",
)  # fmt: skip
"""Settings of remote storage, which tests/rounds/kafka/test_tiers.py goes by."""
READING = (
    "followers_serve", "read_quota_bytes", "reader_threads", "reader_queue", "index_cache_bytes", "index_interval_bytes",
)  # fmt: skip
"""Settings of who serves consumers, which tests/rounds/kafka/test_readers.py goes by."""
OF_BROKERS = ("copy_quota", "read_quota", "reader_threads", "reader_queue", "index_cache_bytes", "at_pending_upload")
RETENTION = ("retention_check_ms", "local_retention_rounds", "local_retention_bytes")


class Told:
    """The block in their words."""

    def __init__(self, block: Block) -> None:
        self.inputs, self.state = block.inputs, block.state
        self.parts = block.state.partitions
        self.spans, self.links = plain(block.inputs.spans), plain(block.inputs.links)
        self.span_starts = [span.from_round for span in self.spans]
        self.slots = plain(block.state.replicas)

    def replicas(self, p: int) -> Any:
        """The partition's replicas, by slot."""
        part = self.parts[p]
        return self.state.replicas[part.first_replica : part.first_replica + part.slots]

    def spans_at(self, p: int, round_: int) -> list[Any]:
        """What is in force of each of its brokers."""
        part = self.parts[p]
        first = int(part.first_replica)
        return [self.spans[of_list(self.span_starts, slot.span, round_)] for slot in self.slots[first : first + int(part.slots)]]

    def feed(self, p: int, round_: int) -> dict[str, Any]:
        """Workload, settings and commands in force."""
        part, inputs = self.parts[p], self.inputs
        settings = inputs.settings[in_force(inputs.settings, part.settings, round_)]
        span = inputs.workload[in_force(inputs.workload, part.workload, round_)]
        batches = self.batches(span.pattern)
        free = self.batches(span.unconditional)
        assert free == [batch for batch in batches if batch["acked_on_append"]]
        if span.pattern >= 0:
            assert inputs.patterns[span.pattern].unconditional_records == sum(batch["records"] for batch in free)
            assert (span.pattern == span.unconditional) == (free == batches)
        value = {
            "records": sum(batch["records"] for batch in batches),
            "bytes": sum(batch["bytes"] for batch in batches),
            "unconditional_records": sum(batch["records"] for batch in free),
            "unconditional_bytes": sum(batch["bytes"] for batch in free),
            "unacknowledged_records": sum(batch["records"] for batch in batches if batch["unacknowledged"]),
            "batches": batches if len(batches) > 1 else None,
            "elr": bool(inputs.scenarios[part.scenario].elr),
            "clears_elr": bool(settings.clears_elr) and settings.from_round == round_,
        }
        names = set(settings.dtype.names) - {"from_round", "clears_elr", *RETENTION, *REMOTE, *READING}
        return value | {name: int(settings[name]) for name in names} | self.commands(p, round_)

    def retention(self, p: int, round_: int) -> dict[str, int] | None:
        """Settings of local retention in force, None where segments are not kept."""
        part = self.parts[p]
        settings = self.inputs.settings[in_force(self.inputs.settings, part.settings, round_)]
        return {name: int(settings[name]) for name in RETENTION} if part.keeps_segments else None

    def batches(self, pattern: int) -> list[dict[str, Any]]:
        """The batches of a pattern, whose sums agree."""
        if pattern == kc.UNKNOWN:
            return []
        of = self.inputs.patterns[pattern]
        found, end, end_bytes = [], 0, 0
        for batch in self.inputs.batches[of.first_batch : of.first_batch + of.batch_count]:
            value = {"records": int(batch.end) - end, "bytes": int(batch.end_bytes) - end_bytes}
            found.append(value | {"acked_on_append": bool(batch.acked_on_append), "unacknowledged": bool(batch.unacknowledged)})
            end, end_bytes = int(batch.end), int(batch.end_bytes)
        sizes = {batch["bytes"] / batch["records"] for batch in found}
        assert (of.records, of.size_bytes) == (end, end_bytes)
        assert of.unacknowledged_records == sum(batch["records"] for batch in found if batch["unacknowledged"])
        assert of.record_bytes == (sizes.pop() if len(sizes) == 1 else kc.UNKNOWN)
        return found

    def commands(self, p: int, round_: int) -> dict[str, Any]:
        """Those of a round."""
        at = self.parts[p].command
        now = []
        while self.inputs.commands[at].at_round < kc.FOREVER:
            assert self.inputs.commands[at].at_round <= self.inputs.commands[at + 1].at_round
            if self.inputs.commands[at].at_round == round_:
                now.append(self.inputs.commands[at])
            at += 1
        return {
            "preferred_election": any(command.kind == kc.PREFERRED_ELECTION for command in now),
            "reassign_orders": [int(command.order) for command in now if command.kind == kc.REASSIGN],
            "delete_before": [int(command.offset) for command in now if command.kind == kc.DELETE_RECORDS] or None,
        }

    def world(self, p: int, round_: int) -> dict[str, Any]:
        """What the faults say of the partition's brokers, and their own settings."""
        part, inputs = self.parts[p], self.inputs
        first, spans = int(part.first_replica), self.spans_at(p, round_)
        places = [slot.broker_place for slot in self.slots[first : first + len(spans)]]
        lags = [int(inputs.stale[span.stale, part.stale_class]) for span in spans]
        before = [int(inputs.stale[span.stale_before, part.stale_class]) for span in spans]
        status = [
            int(span.status) | (kc.STALE if lag != kc.NOT_COVERED else 0) | (kc.STALE_BEFORE if old != kc.NOT_COVERED else 0)
            for span, lag, old in zip(spans, lags, before, strict=True)
        ]

        def mask(bits: int, wanted: bool = True) -> int:
            return sum(1 << slot for slot, of in enumerate(status) if bool(of & bits) == wanted)

        isolated = mask(kc.ISOLATED)
        drop, slow = [], []
        for slot, span in enumerate(spans):
            cuts = self.links[span.first_cut : span.first_cut + span.cut_count]
            to = sum(1 << places.index(link.peer) for link in cuts if link.peer in places)
            everyone = (1 << len(spans)) - 1 & ~(1 << slot)
            drop.append(everyone if status[slot] & kc.ISOLATED else isolated | to)
            for link in self.links[span.first_slow : span.first_slow + span.slow_count]:
                if link.peer in places:
                    to_slot = places.index(link.peer)
                    slow.append({"from_slot": slot, "to_slot": to_slot, "bytes_per_round": int(link.number)})
        away = [of & kc.OUT_OF_TOUCH or lag < 0 for of, lag in zip(status, lags, strict=True)]
        return {
            "running": mask(kc.NOT_RUNNING, False),
            "offline": mask(kc.OFFLINE),
            "untold": mask(kc.UNTOLD),
            "deaf": mask(kc.DEAF),
            "unfenced": mask(kc.FENCED, False),
            "returning": mask(kc.RETURNING),
            "restarted": mask(kc.RESTARTED),
            "unclean_restart": mask(kc.UNCLEAN_RESTART),
            "clean_stop": mask(kc.CLEAN_STOP),
            "power_loss": mask(kc.POWER_LOSS),
            "disk_loss": mask(kc.DISK_LOSS),
            "clients_cut": mask(kc.CLIENTS_CUT),
            "controller_up": not status[0] & kc.CONTROLLER_DOWN,
            "drop": drop if any(drop) else None,
            "slow": slow or None,
            "disk": known([int(span.disk_bytes) for span in spans]),
            "cause": [int(span.cause) for span in spans] if any(span.cause >= 0 for span in spans) else None,
            "news_lag": None if all(away) else [None if no else lag for no, lag in zip(away, lags, strict=True)],
            "fetch_max_bytes": known([int(span.fetch_max_bytes) for span in spans]),
            "no_wait": known([int(span.no_wait) for span in spans]),
            "isolated": isolated,
        }

    def of_brokers(self, p: int, round_: int) -> dict[str, list[int | None] | None]:
        """Brokers' own settings of remote storage, by slot, null for the cluster's."""
        spans = self.spans_at(p, round_)
        lags = [span.metadata_lag for span in spans]
        own = {name: known([getattr(span, name) for span in spans]) for name in OF_BROKERS}
        return own | {"metadata_lag": [lag or None for lag in lags] if any(lags) else None}

    def entries(self, name: str, at: int) -> list[tuple[int, ...]]:
        """A packed list of the state."""
        packed = getattr(self.state, name)
        found = packed.words[packed.offsets[at] : packed.offsets[at + 1]].tolist()
        return [tuple(entry) for entry in found]


def in_force(table: Any, first: int, round_: int) -> int:
    """The row of a list in force in a round; rounds rise strictly."""
    return of_list(np.asarray(table["from_round"]), first, round_)


def of_list(from_rounds: Sequence[int] | np.ndarray, first: int, round_: int) -> int:
    """Likewise."""
    at = first
    assert from_rounds[at] == 0
    while from_rounds[at + 1] <= round_:
        assert from_rounds[at] < from_rounds[at + 1]
        at += 1
    return at


def plain(records: Any) -> list[Any]:
    """The rows of a record array by the names of their fields: to ask a record array for one takes microseconds."""
    row: Any = namedtuple("row", records.dtype.names)
    return [row(*cells) for cells in np.asarray(records).tolist()]


def known(values: list[int]) -> list[int | None] | None:
    """The values with None for UNKNOWN; None if all are."""
    found = [None if value == kc.UNKNOWN else value for value in values]
    return found if any(value is not None for value in found) else None


def assert_plain(block: Block) -> None:
    """That all arrays have the memory layout that compiled functions were compiled for."""
    for array in (*block.inputs, block.state.partitions, block.state.replicas):
        assert array.flags.c_contiguous and array.flags.writeable and array.flags.aligned
    lists = (block.state.runs, block.state.epochs, block.state.segments, block.state.ranges, block.state.sent, block.state.news)
    for packed in lists:
        for array in packed:
            assert array.dtype == np.int64 and array.flags.c_contiguous and array.flags.writeable
        assert packed.offsets[-1] == len(packed.words)
