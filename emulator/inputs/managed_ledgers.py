"""What comes from outside to a topic that is a list of ledgers: messages, takeovers, crashes, ensembles, settings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import Any

from emulator.faults.kinds import FaultRow
from emulator.inputs.feeds import WorkloadRow
from emulator.inputs.remote_store import STORE_FAULTS, store_bytes, store_is_up
from emulator.ledger_configs import MAX_LEDGERS, effective, is_offloaded
from emulator.scenario import Command, Scenario, Topic
from emulator.scenario.ledgers import LOWEST_FREE_ID, TAKE_OVER, new_ensembles

MINUTE_MS, MEGABYTE = 60_000, 1024 * 1024
NO_LIMIT = 2**62
FAULTS_COUNTED = 16
"""Faults, at most, after which room is left for one more ledger each."""


class ManagedLedgers:
    """The part of a feed that only such topics have.

    `registered`: from which round on which bookies an ensemble may take; neighbours differ.
    """

    def __init__(
        self,
        scenario: Scenario,
        topic: Topic,
        workload: Sequence[WorkloadRow],
        faults: Sequence[FaultRow],
        commands: Sequence[Command],
        registered: Sequence[tuple[int, tuple[int, ...]]],
    ) -> None:
        self._scenario, self._topic, self._workload = scenario, topic, workload
        self._crashes = sorted(fault.from_round for fault in faults if fault.kind == "client_crash")
        self._takeovers = [command.round for command in commands if command.kind == TAKE_OVER]
        self._registered = registered
        self.in_flight = max((row.max_in_flight or 1 for row in workload), default=1)
        self.rounds = {at for at, _ in registered} | {edge for at in self._takeovers for edge in (at, at + 1)}
        self._store_faults = [fault for fault in faults if fault.kind in STORE_FAULTS]
        self.rounds |= {edge for fault in self._store_faults for edge in (fault.from_round, fault.to_round)}
        self._settings = self._limits() | self._offloading()
        self.max_ledgers = self._value(MAX_LEDGERS) or self._expected()
        self._brokers = {b.id: b for b in scenario.brokers}
        self._ensembles = cache(self._new_ensembles)

    def _value(self, key: str) -> int:
        return int(effective(self._scenario.config, self._topic.config, key))

    def _limits(self) -> dict[str, int]:
        """Settings as entries, bytes and rounds."""
        round_ms = self._scenario.round_ms
        entry_bytes = max((row.record_bytes for row in self._workload), default=0)
        size_bytes = self._value("managedLedgerMaxSizePerLedgerMbytes") * MEGABYTE
        minutes, megabytes = self._value("defaultRetentionTimeInMinutes"), self._value("defaultRetentionSizeInMB")
        return {
            "entry_bytes": entry_bytes,
            "max_entries": self._value("managedLedgerMaxEntriesPerLedger"),
            "size_entries": -(-size_bytes // entry_bytes) if entry_bytes > 0 else NO_LIMIT,
            "min_age_rounds": -(-self._value("managedLedgerMinLedgerRolloverTimeMinutes") * MINUTE_MS // round_ms),
            "max_age_rounds": -(-self._value("managedLedgerMaxLedgerRolloverTimeMinutes") * MINUTE_MS // round_ms),
            "check_rounds": max(1, self._value("retentionCheckIntervalInSeconds") * 1000 // round_ms),
            "retention_rounds": -1 if minutes < 0 else minutes * MINUTE_MS // round_ms,
            "retention_bytes": -1 if megabytes < 0 else megabytes * MEGABYTE,
        }

    def _offloading(self) -> dict[str, Any]:
        """When closed ledgers are copied to a remote store, and after how many rounds bookies may delete them."""
        round_ms, seconds = self._scenario.round_ms, self._value("managedLedgerOffloadThresholdInSeconds")
        return {
            "offloads": is_offloaded(self._scenario.config, self._topic.config),
            "offload_bytes": self._value("managedLedgerOffloadAutoTriggerSizeThresholdBytes"),
            "offload_rounds": -1 if seconds < 0 else -(-seconds * 1000 // round_ms),
            "lag_rounds": self._value("managedLedgerOffloadDeletionLagMs") // round_ms,
        }

    def _store_at(self, round_: int) -> dict[str, Any]:
        now = [fault for fault in self._store_faults if fault.from_round <= round_ < fault.to_round]
        rate = self._scenario.remote_storage.copy_bytes_per_second
        return {"remote_up": store_is_up(now), "copy_bytes": store_bytes(rate, now, self._scenario.round_ms, NO_LIMIT)}

    def _expected(self) -> int:
        """As many ledgers as the topic may need: by what it is given and by time, and some for takeovers and faults."""
        rounds, limits = self._scenario.rounds, self._settings
        entries = sum(row.records * (min(row.to_round, rounds) - row.from_round) for row in self._workload)
        full = entries // min(limits["max_entries"], limits["size_entries"])
        # One round at least to write, one to close it, and the next one is created in the round after.
        rolled_over = min(full, rounds // max(3, limits["min_age_rounds"] + 2)) + rounds // (limits["max_age_rounds"] + 2)
        faults = min(self._scenario.faults.num_rows, FAULTS_COUNTED)
        return min(2 + rolled_over + len(self._takeovers) + faults, rounds // 2 + 2)

    def _new_ensembles(self, registered: tuple[int, ...]) -> list[list[int] | None]:
        size, write, racks = (self._value(k) for k in ("ensembleSize", "writeQuorumSize", "minNumRacksPerWriteQuorum"))
        enforced = bool(self._value("enforceMinNumRacksPerWriteQuorum"))
        bookies = [self._brokers[bookie] for bookie in registered]
        return new_ensembles(bookies, self._topic.policy or LOWEST_FREE_ID, size, write, min(racks, write), enforced)

    def at(self, round_: int) -> dict[str, Any]:
        """The value in force in a round."""
        rows = [row for row in self._workload if row.from_round <= round_ < row.to_round]
        place = bisect_right([at for at, _ in self._registered], round_) - 1
        return (
            self._settings
            | self._store_at(round_)
            | {
                "messages": sum(row.records for row in rows),
                "take_overs": sum(at == round_ for at in self._takeovers),
                "crash_round": max((at for at in self._crashes if at <= round_), default=-1),
                "max_ledgers": self.max_ledgers,
                "ensembles": self._ensembles(self._registered[place][1]),
            }
        )
