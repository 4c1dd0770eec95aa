"""What relational rounds say of last moments, which they don't play: the partitions that may have some are told beforehand."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator.errors import InputError
from emulator.rounds.relational.inputs import RunInputs
from emulator.rounds.relational.last_moments import may_have_last_moments
from emulator.rounds.relational.run import run_relational
from tests.rounds.kafka.compared import played, scenarios_of
from tests.rounds.kafka.test_last_moments import appends, death, dying, leos_after


@pytest.mark.parametrize(
    ("workload", "faults", "cluster"),
    [
        (appends(100), death(), ""),
        (appends(100, "all"), death(), ""),
        (appends(100, "all") + appends(30, "0"), death(), ""),
        (appends(100, "all"), death(moment=0), ""),
        (appends(2), death(moment=0.5), ""),
        (appends(1), death(moment=0.5), "fetches_per_round = 1"),
        (appends(2), death(moment="after-append"), "fetches_per_round = 1"),
        (appends(1000), death(kind="controlled_shutdown"), ""),
        (appends(1), death() + "\n[[faults]]\nkind = 'slow_link'\nbroker = 1\nround_trip_ms = 90\nfrom_round = 0\n", ""),
    ],
)
def test_they_are_those_whose_leaders_append(tmp_path: Path, workload: str, faults: str, cluster: str) -> None:
    run = scenarios_of(dying(workload, faults, cluster, partitions=60), tmp_path)
    found = may_have_last_moments(RunInputs(run.scenarios), range(60))
    game = played(run.scenarios)
    grown = [place for place in range(60) if leos_after(game, place=place)[0] > leos_after(game, 2, place)[0]]
    assert found == dict.fromkeys(grown, 3)


def test_a_run_is_refused_in_one_line(tmp_path: Path, spark: SparkSession) -> None:
    run = scenarios_of(dying(appends(100), death(moment=0.5), partitions=2), tmp_path)
    with pytest.raises(InputError, match="no last moments of leaders, and t:0 in round 3.*allowed: --engine compiled"):
        run_relational(run, str(tmp_path / "out"), spark)
    assert not (tmp_path / "out" / "outcomes").exists()
