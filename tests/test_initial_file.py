"""initial_file: many partitions' logs as rows of a file say what `initial` says by hand."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from emulator.engine.identity import fingerprint
from emulator.errors import InputError
from emulator.rounds.relational.check import check_run
from emulator.run import dry_run, run_emulation
from emulator.scenario import Run, load_run
from tests.golden.tables import read_tables

SCENARIO = """rounds = 60
{file}
[cluster]
brokers = 4
[[topics]]
name = "orders"
partitions = 4
assignment = [[1, 2, 3], [2, 3, 4], [3, 4, 1], [4, 1, 2]]
config = {{ "retention.ms" = -1 }}
[[workload]]
topic = "orders"
records_per_round = 3
[[faults]]
kind = "power_loss"
broker = 2
from_round = 10
to_round = 40
{initial}
[[variants]]
name = "unclean"
cluster = {{ config = {{ "unclean.leader.election.enable" = true }} }}
""".replace("partitions = 4\n", "")

FILE = """topic,partition,broker,log_start_offset,leo,hw,epochs,flushed_offset,record_bytes,leader,leader_epoch,isr,elr
orders,0,,,100,,,,,,,,
orders,1,,20,70,60,0:0 3:30,,500,3,5,"3,4",
orders,1,2,20,80,60,0:0 2:40,65,,,,,
orders,2,,,,,,,,4,7,4 1,
orders,3,1,,9,,,,,,,,
"""
"""Partition 0: one log for all; 1: a log of its own on broker 2, and what the controller knows; 2: that alone; 3: one log."""


def _row(table: str, **keys: object) -> str:
    values = {key: f'"{value}"' if isinstance(value, str) else value for key, value in keys.items()}
    return f"[[initial.{table}]]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())


def _log(partition: int, broker: int, **keys: object) -> str:
    return _row("replicas", topic="orders", partition=partition, broker=broker, **keys)


BY_HAND = (
    _row("partitions", topic="orders", partition=1, leader=3, leader_epoch=5, isr=[3, 4])
    + _row("partitions", topic="orders", partition=2, leader=4, leader_epoch=7, isr=[4, 1])
    + _log(1, 2, log_start_offset=20, leo=80, hw=60, epochs=[[0, 0], [2, 40]], flushed_offset=65)
    + _log(3, 1, leo=9)
    + "".join(_log(0, broker, leo=100) for broker in (1, 2, 3))
    + "".join(_log(1, b, log_start_offset=20, leo=70, hw=60, epochs=[[0, 0], [3, 30]], record_bytes=500) for b in (3, 4))
)

TIERED = """rounds = 40
{file}
[cluster]
brokers = 3
config = {{ "remote.log.storage.system.enable" = true, "remote.log.manager.task.interval.ms" = 1000 }}
[[topics]]
name = "orders"
partitions = 2
replication_factor = 3
config = {{ "remote.storage.enable" = true, "segment.bytes" = 20000 }}
[[workload]]
topic = "orders"
records_per_round = 5
[[faults]]
kind = "broker_crash"
broker = 1
from_round = 10
{initial}
"""

TIERED_FILE = """kind,topic,partition,local_log_start_offset,leo,segments,base_offset,end_offset,bytes,epochs,state
log,orders,0,40,100,40 60 80,,,,,
,orders,1,,30,,,,,,
remote_segment,orders,0,,,,0,19,20000,0:0,
remote_segment,orders,0,,,,20,39,20000,,COPY_FINISHED
remote_segment,orders,0,,,,40,59,20000,,COPY_STARTED
"""

TIERED_BY_HAND = (
    "".join(_log(0, broker, local_log_start_offset=40, leo=100, segments=[40, 60, 80]) for broker in (1, 2, 3))
    + "".join(_log(1, broker, leo=30) for broker in (2, 3, 1))
    + _row("remote_segments", topic="orders", partition=0, base_offset=0, end_offset=19, bytes=20000, epochs=[[0, 0]])
    + _row("remote_segments", topic="orders", partition=0, base_offset=20, end_offset=39, bytes=20000)
    + _row("remote_segments", topic="orders", partition=0, base_offset=40, end_offset=59, bytes=20000, state="COPY_STARTED")
)


def _loaded(folder: Path, scenario: str, file: str, by_hand: str) -> tuple[Run, Run]:
    """(the scenario with the file, with `initial`); both have the same name."""
    for name in ("file", "hand"):
        (folder / name).mkdir(parents=True)
    (folder / "file" / "initial.csv").write_text(file)
    (folder / "file" / "s.toml").write_text(scenario.format(file='initial_file = "initial.csv"', initial=""))
    (folder / "hand" / "s.toml").write_text(scenario.format(file="", initial=by_hand))
    return load_run(str(folder / "file" / "s.toml")), load_run(str(folder / "hand" / "s.toml"))


def _tables(run: Run) -> list[list[object]]:
    return [
        [s.initial_partitions.to_pylist(), s.initial_replicas.to_pylist(), s.initial_remote_segments.to_pylist()]
        for s in run.scenarios
    ]


@pytest.mark.parametrize(
    ("scenario", "file", "by_hand"), [(SCENARIO, FILE, BY_HAND), (TIERED, TIERED_FILE, TIERED_BY_HAND)], ids=["core", "tiered"]
)
def test_a_file_says_what_initial_says(tmp_path: Path, scenario: str, file: str, by_hand: str) -> None:
    from_file, from_hand = _loaded(tmp_path, scenario, file, by_hand)
    assert _tables(from_file) == _tables(from_hand)
    assert dry_run(from_file) == dry_run(from_hand)


@pytest.mark.parametrize(
    ("scenario", "file", "by_hand"), [(SCENARIO, FILE, BY_HAND), (TIERED, TIERED_FILE, TIERED_BY_HAND)], ids=["core", "tiered"]
)
def test_tables_of_a_run_are_the_same(spark: SparkSession, tmp_path: Path, scenario: str, file: str, by_hand: str) -> None:
    """The base has the file, its variant an empty one and `initial`."""
    base = scenario.partition("[[variants]]")[0].format(file='initial_file = "initial.csv"', initial="")
    variant = '[[variants]]\nname = "by hand"\ninitial_file = "none.csv"\n' + by_hand.replace("[[initial", "[[variants.initial")
    (tmp_path / "s.toml").write_text(base + variant)
    (tmp_path / "initial.csv").write_text(file)
    (tmp_path / "none.csv").write_text("topic,partition,leo\n")
    run_emulation(load_run(str(tmp_path / "s.toml")), str(tmp_path / "out"), spark)
    tables = read_tables(tmp_path / "out")
    assert tables["replicas"].rows
    for name, table in tables.items():
        if name not in ("runs", "scenarios", "invariants"):
            columns = list(table.columns)
            scenario_id = columns.index("scenario_id")
            of_base, of_variant = ([r for r in table.rows if r[scenario_id] == i] for i in (0, 1))
            for row in of_variant:
                row[scenario_id] = 0
            assert of_base == of_variant, name


def test_a_stored_run_is_checked_with_its_file(spark: SparkSession, tmp_path: Path) -> None:
    short = SCENARIO.replace("rounds = 60", "rounds = 3").partition("[[variants]]")[0]
    run, _ = _loaded(tmp_path, short, FILE.replace("orders,3,1,,9,,,,,,,,\n", ""), BY_HAND)
    out = Path(run.path).parent / "out"
    run_emulation(run, str(out), spark)
    Path(run.path).write_text("the scenario file has changed")
    assert _tables(load_run(run.path, run.text)) == _tables(run)
    checked = check_run(str(out), spark, 4, 1)
    assert (checked.partitions, checked.differences) == (4, [])


def test_parquet_with_lists(tmp_path: Path) -> None:
    from_csv, _ = _loaded(tmp_path, SCENARIO, FILE, BY_HAND)
    replicas, partitions = from_csv.scenarios[0].initial_replicas, from_csv.scenarios[0].initial_partitions
    names = [*replicas.column_names, *(name for name in partitions.column_names if name not in ("topic", "partition"))]
    both = pa.concat_tables([replicas, partitions], promote_options="default").select(names)
    pq.write_table(both, tmp_path / "file" / "initial.parquet")
    (tmp_path / "file" / "s.toml").write_text(SCENARIO.format(file='initial_file = "initial.parquet"', initial=""))
    assert _tables(load_run(str(tmp_path / "file" / "s.toml"))) == _tables(from_csv)


def test_logs_by_hand_stand_beside_those_of_the_file(tmp_path: Path) -> None:
    run, _ = _loaded(tmp_path, SCENARIO, "topic,partition,leo\norders,0,100\norders,1,50\n", "")
    text = Path(run.path).read_text()
    text += 'initial = { replicas = [{ topic = "orders", partition = 0, broker = 2, leo = 90 }] }\n'
    (tmp_path / "file" / "s.toml").write_text(text)
    base, variant = load_run(str(tmp_path / "file" / "s.toml")).scenarios
    ends = [[(row["partition"], row["broker"], row["leo"]) for row in s.initial_replicas.to_pylist()] for s in (base, variant)]
    others = [(0, 3, 100), (1, 2, 50), (1, 3, 50), (1, 4, 50)]
    assert ends == [[(0, 1, 100), (0, 2, 100), *others], [(0, 1, 100), *others, (0, 2, 90)]]


def test_a_variant_has_a_file_of_its_own(tmp_path: Path) -> None:
    run, _ = _loaded(tmp_path, SCENARIO, "topic,partition,leo\norders,0,100\n", "")
    (tmp_path / "file" / "other.csv").write_text("topic,partition,leo\norders,3,7\n")
    (tmp_path / "file" / "s.toml").write_text(Path(run.path).read_text() + 'initial_file = "other.csv"\n')
    base, variant = load_run(run.path).scenarios
    assert set(base.initial_replicas["leo"].to_pylist()) == {100}
    assert set(variant.initial_replicas["leo"].to_pylist()) == {7}
    assert variant.overrides["initial_file"] == '"other.csv"'


REFUSED = {
    "unknown column": ("topic,partition,leos\norders,0,1\n", 'header: unknown column "leos" (did you mean "leo"?)'),
    "no leo": ("topic,partition\norders,0\n", "row 1, column leo: no value; allowed: leo, the log's end"),
    "no leo of a broker": ("topic,partition,broker\norders,0,1\n", "row 1, column leo: no value"),
    "unknown topic": ("topic,partition,leo\norders,0,1\nother,0,1\n", 'row 2, column topic: topic "other" does not exist'),
    "unknown partition": (
        "topic,partition,leo\norders,4,1\n",
        "row 1, column partition: 4 is not a partition of the topic; allowed: 0 to 3",
    ),
    "unknown kind": (
        "kind,topic,partition,leo\nlogs,orders,0,1\n",
        'row 1, column kind: unknown kind "logs" (did you mean "log"?)',
    ),
    "column of another kind": (
        "topic,partition,leo,bytes\norders,1,1,\norders,0,1,5\n",
        "row 2, column bytes: log has no use for bytes; allowed: kind, topic",
    ),
    "no bytes": (
        "kind,topic,partition,base_offset,end_offset\nremote_segment,orders,0,0,1\n",
        "row 1, column bytes: remote_segment needs bytes",
    ),
    "not tiered": (
        "kind,topic,partition,base_offset,end_offset,bytes\nremote_segment,orders,0,0,1,9\n",
        'row 1, column topic: topic "orders" has no remote storage',
    ),
    "isr of a broker": ("topic,partition,broker,leo,isr\norders,0,1,1,1\n", "row 1, column isr: isr is of the whole partition"),
    "log without leo": (
        "topic,partition,hw,leader\norders,0,1,1\n",
        "row 1, column hw: hw stands without leo, the log's end; allowed: leo beside it",
    ),
    "no replica": ("topic,partition,broker,leo\norders,0,1,1\norders,0,4,1\n", "row 2, column broker: broker 4 holds no replica"),
    "twice": (
        "topic,partition,leo\norders,0,1\norders,1,1\norders,0,1\n",
        "row 3, column partition: 0 has a row without broker already",
    ),
    "replica twice": (
        "topic,partition,broker,leo\norders,0,1,1\norders,0,1,1\n",
        "row 2, column broker: 1 stands twice for orders",
    ),
    "log of nobody": (
        "topic,partition,broker,leo\norders,0,1,1\norders,0,2,1\norders,0,3,1\norders,1,,1\norders,0,,1\n",
        "row 5, column leo: 1: every replica of the partition has a log of its own",
    ),
    "hw above leo": (
        "topic,partition,leo,hw\norders,1,1,\norders,0,1,2\n",
        "row 2, column hw: 2: hw is above leo; allowed: hw <= leo",
    ),
    "negative": ("topic,partition,leo\norders,0,-1\n", "row 1, column leo: -1 is out of range; allowed: 0 or more"),
    "text": ("topic,partition,leo\norders,0,1\norders,1,many\n", 'row 2, column leo: "many" is not of the type'),
    "epochs": (
        "topic,partition,leo,epochs\norders,0,5,0-1\n",
        'row 1, column epochs: "0-1" is no such list; allowed: a list of epoch:start',
    ),
    "epochs that fall": (
        "topic,partition,leo,epochs\norders,0,5,1:0 0:3\n",
        "row 1, column epochs: [[1, 0], [0, 3]]: epochs or start",
    ),
    "isr": ("topic,partition,leader,isr\norders,0,1,2 3\n", "row 1, column isr: [2, 3] lacks the leader, broker 1"),
    "isr too large": ("topic,partition,isr\norders,0,9999999999\n", 'row 1, column isr: "9999999999" is no such list'),
    "segments": ("topic,partition,leo,segments\norders,0,5,0 3 3\n", "row 1, column segments: [0, 3, 3]: bases do not rise"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_one_line_with_row_and_column(tmp_path: Path, name: str) -> None:
    file, expected = REFUSED[name]
    (tmp_path / "initial.csv").write_text(file)
    (tmp_path / "s.toml").write_text(SCENARIO.format(file='initial_file = "initial.csv"', initial=""))
    with pytest.raises(InputError) as caught:
        load_run(str(tmp_path / "s.toml"))
    assert str(caught.value).startswith(f"{tmp_path / 'initial.csv'}: {expected}")
    assert "; allowed: " in str(caught.value)


def test_ledgers_have_no_use_for_it(tmp_path: Path) -> None:
    head = 'initial_file = "initial.csv"\nprotocol = "bookkeeper"\nrounds = 9\n[cluster]\nbrokers = 3\n'
    text = head + '[[topics]]\nname = "l"\npartitions = 2\n'
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(InputError, match=r"initial_file: ledgers have no use for it; allowed: initial\.ledgers"):
        load_run(str(tmp_path / "s.toml"))


def test_of_both_systems_ledgers_pass_over_it(tmp_path: Path) -> None:
    (tmp_path / "initial.csv").write_text("topic,partition,leo\norders,0,100\n")
    text = 'rounds = 9\ninitial_file = "initial.csv"\n[cluster]\nbrokers = 3\n[[topics]]\nname = "orders"\npartitions = 2\n'
    text += 'replication_factor = 3\n[[variants]]\nname = "ledgers"\nprotocol = "bookkeeper"\n'
    (tmp_path / "s.toml").write_text(text)
    partitions, ledgers = load_run(str(tmp_path / "s.toml")).scenarios
    assert (partitions.initial_replicas.num_rows, ledgers.initial_replicas.num_rows) == (3, 0)


def test_a_run_of_another_file_is_another_run(tmp_path: Path) -> None:
    first, by_hand = _loaded(tmp_path, SCENARIO, FILE, BY_HAND)
    assert fingerprint(first.scenarios) == fingerprint(by_hand.scenarios)
    for other in (FILE.replace(",65,", ",64,"), FILE.replace(",65,", ",,"), FILE.replace("0:0 2:40", "0:0 2:41")):
        (tmp_path / "file" / "initial.csv").write_text(other)
        assert fingerprint(load_run(first.path).scenarios) != fingerprint(first.scenarios)
