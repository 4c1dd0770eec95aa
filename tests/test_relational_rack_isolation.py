"""A rack whose network is cut, by relational rounds: every table is as the usual engine has it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.engine_helpers import emulate_both, of_scenario, run_of

HEAD = """
name = "cut"
rounds = {rounds}
mode = "plain"
[cluster]
brokers = 5
racks = 2
session_timeout_rounds = 3
{cluster}
[[topics]]
name = "t"
assignment = [[1, 3, 2], [2, 1, 3, 5], [4, 2, 1], [3, 5]]
[[workload]]
topic = "t"
records_per_round = 40
acks = "{acks}"
"""
"""Brokers 1, 3 and 5 are in rack 0; t:0 is led from there, by a broker that has a rack-mate for a follower."""


def fault(kind: str, from_round: int, to_round: int, more: str = 'rack = "0"') -> str:
    return f'[[faults]]\nkind = "{kind}"\nfrom_round = {from_round}\nto_round = {to_round}\n{more}\n'


RACK = fault("rack_isolation", 3, 9)
IN_TURN = (
    RACK,
    fault("isolation", 4, 6, "broker = 3"),
    fault("link_cut", 7, 8, 'broker = 1\npeer = 3\ndirection = "in"'),
    fault("rack_isolation", 12, 18, 'rack = "1"\nclients = true'),
    fault("rack_isolation", 14, 16),
    fault("broker_crash", 13, 16, "broker = 2"),
)
DIES = fault("broker_crash", 5, 9, "broker = 1\nmoment = 0.75")
BOTH = fault("isolation", 3, 5, "broker = 1\nclients = true") + fault("isolation", 3, 5, "broker = 3\nclients = true")
FILES = {
    "in turn": HEAD.format(rounds=21, cluster="", acks="1") + "".join(IN_TURN),
    "all": HEAD.format(rounds=21, cluster="", acks="all") + "".join(IN_TURN),
    "mates": HEAD.format(rounds=9, cluster="fetches_per_round = 4", acks="1")
    + fault("rack_isolation", 3, 5, 'rack = "0"\nclients = true')
    + DIES,
    "alone": HEAD.format(rounds=9, cluster="fetches_per_round = 4", acks="1") + BOTH + DIES,
    "together": HEAD.format(rounds=9, cluster="fetches_per_round = 4", acks="1")
    + RACK
    + fault("rack_loss", 5, 9, 'rack = "0"\nmoment = 0.75'),
    "one dies": HEAD.format(rounds=9, cluster="fetches_per_round = 4", acks="1") + RACK + DIES,
}


def test_every_table_equals_the_usual_engine(spark: SparkSession, tmp_path: Path) -> None:
    """Replication within the rack, and last moments of who has, or had, rack-mates: LEOs of t:0 at the end of two rounds."""
    for name, text in FILES.items():
        (tmp_path / f"{name}.toml").write_text(text)
    usual, _ = emulate_both(spark, run_of(tmp_path / f"{name}.toml" for name in FILES), tmp_path)

    def leos(name: str, round_: int) -> list[int]:
        rows = of_scenario(usual, name)["trace"]
        return [row["leo"] for row in rows if (row["partition"], row["round"]) == (0, round_) and row["broker"] in (1, 2, 3)]

    assert sorted(leos("in turn", 3)) == [120, 160, 160]
    assert sorted(leos("in turn", 5)) == [120, 120 + 40, 240]
    assert {name: sorted(leos(name, 5)) for name in ("mates", "alone", "together", "one dies")} == {
        "mates": [120, 150, 150],
        "alone": [120, 120, 150],
        "together": [120, 230, 230],
        "one dies": [120, 230, 230],
    }
