"""What an engine is: it plays some scenarios of a run and gives their tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import SparkSession

from emulator.engine.estimate import Work
from emulator.engine.identity import Identity
from emulator.outcomes.joined import Tables
from emulator.progress import Progress


@dataclass(frozen=True)
class Size:
    """How much a run has to do, or a part of it.

    `distinct`: partitions that are played, `rows`: their replicas: all there are.
    """

    partitions: int = 0
    distinct: int = 0
    replicas: int = 0
    rows: int = 0
    replica_rounds: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(
            self.partitions + other.partitions,
            self.distinct + other.distinct,
            self.replicas + other.replicas,
            self.rows + other.rows,
            self.replica_rounds + other.replica_rounds,
        )


class Kept(Protocol):
    """What an engine keeps under the output folder, to go on from."""

    def is_there(self) -> bool:
        """Tells whether there is something to go on from."""

    def check(self) -> None:
        """Raises InputError with the reason if this run cannot go on from it."""

    def start_anew(self) -> None:
        """Forget it."""

    def forget(self, note: Callable[[str], None]) -> None:
        """Remove it after a run that has ended well; whatever keeps it from that is only noted."""

    def forget_useless(self) -> None:
        """Remove what a failed run leaves that cannot be gone on from, if that can be done."""


@dataclass(frozen=True)
class Playing:
    """What a run gives its engines: `resume`, whether to go on from what an engine has kept."""

    spark: SparkSession
    progress: Progress
    resume: bool


class Engine(Protocol):
    """Plays some scenarios."""

    @property
    def name(self) -> str:
        """A word for messages and for the folder of what it keeps."""

    @property
    def size(self) -> Size:
        """How much it has to do."""

    def is_small(self, cores: int | None) -> bool:
        """Whether the driver plays it, without a Spark job; `cores`: as of blocks.is_for_driver."""

    @property
    def traced_rounds(self) -> int:
        """Rounds of replicas that become rows."""

    @property
    def shared_fetchers(self) -> Sequence[int]:
        """Scenarios whose partitions share fetchers, by scenario_id; known when they have been played."""

    def work(self, cores: int | None) -> Work:
        """How much it has to do, as an estimate of time and room needs it; may take a while. `cores`: as of `is_small`."""

    def kept(self, spark: SparkSession, uri: str, folder: str, identity: Identity) -> Kept:
        """What it keeps in a folder under the output folder `uri`; `identity`: as of JobFiles."""

    def play(self, playing: Playing) -> Tables:
        """Play every scenario to its end; the tables of these scenarios, broker_rounds among them, not yet computed."""

    def plan(self, cores: int | None) -> list[str]:
        """What it would do, in lines; `cores`: as of `is_small`."""
