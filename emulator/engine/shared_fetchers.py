"""The engine of partitions: as if each follower had a fetcher for itself; where it turns out that these would be too slow for
what they have to bring together, once more, and partitions share them. So many partitions that Spark would have to play them from
edge to edge are left as they are, and the run says so: that takes hours.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from emulator.engine.compiled_engine import MOST_TOGETHER, CompiledEngine
from emulator.engine.estimate import Work
from emulator.engine.interface import Playing, Size
from emulator.engine.job_files import JobFiles
from emulator.outcomes.joined import Tables
from emulator.progress import Progress, counted
from emulator.scenario import Scenario
from emulator.scenario.stored import with_shared_fetchers


class SharedFetchers:
    """Plays scenarios by `CompiledEngine`; `make`: one for these scenarios."""

    name = CompiledEngine.name

    def __init__(self, scenarios: Sequence[Scenario], make: Callable[[Sequence[Scenario]], CompiledEngine]) -> None:
        self._scenarios, self._make = scenarios, make
        self._engine = make(scenarios)
        self._files: JobFiles | None = None

    @property
    def size(self) -> Size:
        """How much it has to do."""
        return self._engine.size

    @property
    def is_small(self) -> bool:
        """Whether the driver plays it, without a Spark job."""
        return self._engine.is_small

    @property
    def traced_rounds(self) -> int:
        """Rounds of replicas that become rows."""
        return self._engine.traced_rounds

    @property
    def work(self) -> Work:
        """How much it has to do, as an estimate of time and room needs it."""
        return self._engine.work

    @property
    def shared_fetchers(self) -> list[int]:
        """Scenarios whose partitions share fetchers, by scenario_id; known when they have been played."""
        return [scenario.scenario_id for scenario in self._scenarios if scenario.shares_fetchers]

    def kept(self, spark: SparkSession, uri: str, folder: str) -> JobFiles:
        """What it keeps in a folder under the output folder `uri`."""
        self._files = self._engine.kept(spark, uri, folder)
        return self._files

    def plan(self) -> list[str]:
        """What it would do, in lines."""
        return self._engine.plan()

    def play(self, playing: Playing) -> Tables:
        """Play every scenario to its end; the tables of these scenarios, broker_rounds among them."""
        files = self._files
        assert files is not None
        if playing.resume and files.is_there() and (shared := files.shared_fetchers()):
            self._share(shared)
            return self._engine.play(playing)
        tables = self._engine.play(playing)
        short = self._engine.short_fetchers
        again = [one for one in self._scenarios if _note(one, short, len(self._scenarios), playing.progress)]
        if not again:
            return tables
        self._share([one.scenario_id for one in again])
        files.start_anew()
        return self._engine.play(replace(playing, resume=False))

    def _share(self, scenario_ids: Collection[int]) -> None:
        self._scenarios = with_shared_fetchers(self._scenarios, scenario_ids)
        self._engine = self._make(self._scenarios)
        assert self._files is not None
        self._engine.keeps_in(self._files)


def _note(scenario: Scenario, short: Mapping[int, int], scenarios: int, progress: Progress) -> bool:
    """Say it if fetchers of a scenario are short; whether it is played once more. `short`: as of CompiledEngine."""
    if not (many := short.get(scenario.scenario_id)):
        return False
    of = f" of scenario {scenario.name}" if scenarios > 1 else ""
    said = f"more to fetch from one broker to another than {counted(many, 'fetcher')}{of} can bring (num.replica.fetchers)"
    partitions = sum(topic.partitions for topic in scenario.topics)
    is_shared = partitions <= MOST_TOGETHER
    if is_shared:
        progress.note(f"{said}: all is played once more, its partitions together")
    else:
        limit = "what limits it is to be given as network_bytes_per_second, else catching up is faster than it would be"
        progress.note(f"{said}, but above {MOST_TOGETHER:,} partitions each has one for itself: {limit}")
    return is_shared
