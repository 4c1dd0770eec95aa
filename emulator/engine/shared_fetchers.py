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
from emulator.engine.identity import Identity
from emulator.engine.interface import Playing, Size
from emulator.engine.job_files import JobFiles
from emulator.errors import quoted
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

    def is_small(self, cores: int | None) -> bool:
        """Whether the driver plays it, without a Spark job; `cores`: as of blocks.is_for_driver."""
        return self._engine.is_small(cores)

    @property
    def traced_rounds(self) -> int:
        """Rounds of replicas that become rows."""
        return self._engine.traced_rounds

    def work(self, cores: int | None) -> Work:
        """How much it has to do, as an estimate of time and room needs it; `cores`: as of `is_small`."""
        return self._engine.work(cores)

    @property
    def shared_fetchers(self) -> list[int]:
        """Scenarios whose partitions share fetchers, by scenario_id; known when they have been played."""
        return [scenario.scenario_id for scenario in self._scenarios if scenario.shares_fetchers]

    def kept(self, spark: SparkSession, uri: str, folder: str, identity: Identity) -> JobFiles:
        """What it keeps in a folder under the output folder `uri`; `identity`: as of JobFiles."""
        self._files = self._engine.kept(spark, uri, folder, identity)
        return self._files

    def plan(self, cores: int | None) -> list[str]:
        """What it would do, in lines; `cores`: as of `is_small`."""
        return self._engine.plan(cores)

    def play(self, playing: Playing) -> Tables:
        """Play every scenario to its end; the tables of these scenarios, broker_rounds among them."""
        files = self._files
        assert files is not None
        if playing.resume and files.is_there() and (shared := files.shared_fetchers()):
            self._share(shared)
            return self._engine.play(playing)
        tables = self._engine.play(playing)
        again = _tell(self._scenarios, self._engine.short_fetchers, playing.progress)
        if not again:
            return tables
        self._share(again)
        files.start_anew()
        return self._engine.play(replace(playing, resume=False))

    def _share(self, scenario_ids: Collection[int]) -> None:
        self._scenarios = with_shared_fetchers(self._scenarios, scenario_ids)
        self._engine = self._make(self._scenarios)
        assert self._files is not None
        self._engine.keeps_in(self._files)


def _tell(scenarios: Sequence[Scenario], short: Mapping[int, int], progress: Progress) -> list[int]:
    """Says whose fetchers are short, a line for those that go on alike; returns who is played once more, by scenario_id.

    `short`: as of CompiledEngine.
    """
    found = [scenario for scenario in scenarios if short.get(scenario.scenario_id)]
    partitions = [sum(topic.partitions for topic in one.topics) for one in found]
    shared = [one for one, count in zip(found, partitions, strict=True) if count <= MOST_TOGETHER]
    alone = [one for one, count in zip(found, partitions, strict=True) if count > MOST_TOGETHER]
    if shared:
        progress.note(f"{_said(shared, short, len(scenarios))}: all is played once more, its partitions together")
    if alone:
        limit = "what limits it is to be given as network_bytes_per_second, else catching up is faster than it would be"
        said = _said(alone, short, len(scenarios))
        progress.note(f"{said}, but above {MOST_TOGETHER:,} partitions each has one for itself: {limit}")
    return [one.scenario_id for one in shared]


def _said(found: Sequence[Scenario], short: Mapping[int, int], scenarios: int) -> str:
    first = found[0]
    name = quoted(first.name) if "," in first.name else first.name
    of = f" of scenario {name}" if scenarios > 1 else ""
    others = f", and those of {len(found) - 1} more of {scenarios} scenarios," if len(found) > 1 else ""
    many = counted(short[first.scenario_id], "fetcher")
    return f"more to fetch from one broker to another than {many}{of}{others} can bring (num.replica.fetchers)"
