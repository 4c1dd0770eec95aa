"""What a file asks for, in lines, against sums by hand. Needs no Spark."""

from __future__ import annotations

from pathlib import Path

from emulator.explain.asked import asked_lines
from emulator.scenario import load_run

SCENARIO = """
rounds = 240
round_ms = 500

[cluster]
brokers = 4

[[topics]]
name = "orders-eu"
partitions = 10
replication_factor = 3

[[topics]]
name = "orders-us"
partitions = 6
replication_factor = 3

[[workload]]
topic = "orders-*"
records_per_round = 5
record_bytes = 200

[[workload]]
topic = "orders-eu"
partitions = "0-3,7"
from_round = 40
to_round = 60
records_per_second = 2.5
record_bytes = 1000
"""
FAULTS = '[[faults]]\nkind = "broker_crash"\nbroker = 2\nfrom_round = 100\nto_round = 120\n'


def lines(folder: Path, more: str = "", scenario: str = SCENARIO) -> list[str]:
    file = folder / "s.toml"
    file.write_text(scenario + more, encoding="utf-8")
    return list(asked_lines(load_run(str(file)).scenarios))


def test_load_of_all_partitions_together(tmp_path: Path) -> None:
    """16 partitions x 10 a second, and for 10 s 5 x 2.5 more: 160 + 12.5 at once, 19,200 + 125 in 120 s."""
    (load, faults) = lines(tmp_path)
    assert load == ("workload: 172 records/s, 44.5 kB/s at the most; in all 19.3 k records, 3.96 MB, from 0 s to 2 min 0 s")
    assert faults == "faults: 0"


def test_nothing_is_sent_after_the_end(tmp_path: Path) -> None:
    late = '[[workload]]\ntopic = "orders-eu"\nrecords_per_round = 1\nfrom_round = 500\n'
    topics = SCENARIO.split("[[workload]]")[0]
    assert lines(tmp_path, scenario=topics)[0] == "workload: nothing is sent"
    assert lines(tmp_path, late, topics)[0] == "workload: nothing is sent"


def test_small_rates_have_decimals(tmp_path: Path) -> None:
    slow = '[[workload]]\ntopic = "orders-us"\npartitions = "0"\nrecords_per_second = 0.5\n'
    told = lines(tmp_path, slow, SCENARIO.split("[[workload]]")[0])[0]
    assert told == "workload: 0.5 records/s, 500 B/s at the most; in all 60 records, 60 kB, from 0 s to 2 min 0 s"


def test_a_fault_after_the_end_never_comes(tmp_path: Path) -> None:
    late = FAULTS.replace("100", "1000").replace("120", "1200")
    told = "fault 0: broker_crash of 2 never comes: it is from round 1000 on, the last is 239"
    assert lines(tmp_path, late)[1:] == ["faults: 1 (broker_crash 1)", told]


def test_faults_come_in_time_with_their_ids(tmp_path: Path) -> None:
    first = '[[faults]]\nkind = "link_cut"\nbroker = 1\npeer = 3\nfrom_round = 20\nname = "a cable"\n'
    assert lines(tmp_path, FAULTS + first)[1:] == [
        "faults: 2 (broker_crash 1, link_cut 1)",
        'fault 1: link_cut of 1 and 3 "a cable", round 20 to the end (10 s to 2 min 0 s)',
        "fault 0: broker_crash of 2, round 100 to round 119 (50 to 60 s)",
    ]


def test_no_more_than_eight_are_told(tmp_path: Path) -> None:
    told = lines(tmp_path, 9 * FAULTS)
    assert told[1] == "faults: 9 (broker_crash 9)"
    assert [line.split(":")[0] for line in told[2:]] == [*(f"fault {number}" for number in range(8)), "faults"]
    assert told[-1] == "faults: these are the first 8 to come"


def test_variants_that_ask_for_something_else(tmp_path: Path) -> None:
    variants = (
        '[[variants]]\nname = "same"\n[[variants]]\nname = "worse"\n'
        'faults = [{ kind = "broker_crash", broker = 3, from_round = 9 }]\n'
        '[[variants]]\nname = "busy"\nworkload = [{ topic = "orders-us", records_per_round = 1 }]\n'
    )
    told = lines(tmp_path, FAULTS + variants + '[[variants]]\nname = "faster"\nround_ms = 100\n')
    assert told[1] == "workload: another one in 2 scenarios"
    assert told[-1] == "faults: others in 1 scenario"
