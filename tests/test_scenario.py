"""What scenario files resolve to: the contract's example, variants, table files, generators, places of topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from emulator.errors import InputError
from emulator.scenario import Broker, Command, Run, Scenario, load_run, matching_topics, parse_partitions

CONTRACT = Path(__file__).parent / "scenarios" / "contract.toml"
HEAD = "rounds = 100\n"
CLUSTER = "[cluster]\nbrokers = 3\nracks = 3\n"
ORDERS = '[[topics]]\nname = "orders"\npartitions = 6\nreplication_factor = 3\n'


def load(folder: Path, text: str) -> Run:
    path = folder / "scenario.toml"
    path.write_text(text)
    return load_run(str(path))


def base_of(folder: Path, text: str) -> Scenario:
    return load(folder, text).scenarios[0]


def test_contract_example() -> None:
    run = load_run(str(CONTRACT))
    base, unclean = run.scenarios
    assert (run.name, run.seed, run.mode, run.path, run.text) == (
        "rack-outage", 7, "leap", str(CONTRACT), CONTRACT.read_text(),
    )  # fmt: skip
    assert (base.scenario_id, base.name, base.protocol, base.rounds, base.round_ms) == (0, "base", "kafka", 2000, 500)
    assert base.brokers == tuple(Broker(b, str((b - 1) % 3)) for b in range(1, 13))
    assert base.session_timeout_rounds == 18
    assert base.config == {"replica.high.watermark.checkpoint.interval.ms": 5000}
    assert base.features == {"eligible.leader.replicas.version": 0}
    (orders,) = base.topics
    assert (orders.name, orders.partitions, orders.assignment.dtype.name) == ("orders", 300, "int32")
    assert orders.assignment[0].tolist() == [1, 2, 3]
    assert orders.config == {"min.insync.replicas": 2, "unclean.leader.election.enable": False}
    assert base.workload.to_pylist() == [
        {"topic": "orders", "partitions": None, "from_round": 0, "to_round": 2000, "records_per_round": 5,
         "records_per_second": None, "record_bytes": 1000, "acks": "all", "max_in_flight": None}
    ]  # fmt: skip
    (fault,) = base.faults.to_pylist()
    assert {key: value for key, value in fault.items() if value is not None} == {
        "kind": "broker_crash", "from_round": 100, "to_round": 160, "broker": 3, "clients": False,
    }  # fmt: skip
    assert base.commands == (Command(400, "preferred_leader_election", "orders"),)
    (replica,) = base.initial_replicas.to_pylist()
    assert [(e["epoch"], e["start_offset"]) for e in replica.pop("epochs")] == [(0, 0), (1, 3), (2, 5), (3, 7)]
    assert replica == {
        "topic": "orders", "partition": 0, "broker": 1, "log_start_offset": 0, "local_log_start_offset": 3, "leo": 8,
        "hw": 8, "flushed_offset": None, "record_bytes": None, "segments": None,
    }  # fmt: skip
    assert (base.initial_partitions.num_rows, base.initial_remote_segments.num_rows, base.overrides) == (0, 0, {})
    assert (unclean.scenario_id, unclean.name) == (1, "unclean")
    assert unclean.topics[0].config == {"min.insync.replicas": 2, "unclean.leader.election.enable": True}
    assert unclean.overrides == {"topics.orders.config.unclean.leader.election.enable": "true"}


def test_defaults(tmp_path: Path) -> None:
    run = load(tmp_path, HEAD + "[cluster]\nbrokers = 3\n" + ORDERS)
    (base,) = run.scenarios
    assert (run.name, base.protocol, base.round_ms, base.seed, run.mode) == ("scenario", "kafka", 500, 0, "leap")
    assert base.brokers == (Broker(1), Broker(2), Broker(3))
    assert base.topics[0].assignment.tolist() == [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 3, 2], [2, 1, 3], [3, 2, 1]]
    assert base.faults.num_rows == base.workload.num_rows == base.initial_replicas.num_rows == 0


def test_variants_merge_tables_and_named_entries(tmp_path: Path) -> None:
    run = load(tmp_path, HEAD + CLUSTER + ORDERS + """
[[faults]]
name = "crash"
kind = "broker_crash"
broker = 1
from_round = 10
[[variants]]
name = "longer"
rounds = 200
cluster = { brokers = 6, config = { "replica.lag.time.max.ms" = 10000 } }
faults = [{ name = "crash", broker = 2 }, { kind = "controller_loss", from_round = 5, to_round = 8 }]
topics = [{ name = "orders", assignment = [[1, 2], [5]] }, { name = "new", partitions = 1, replication_factor = 1 }]
[[variants]]
name = "same"
""")  # fmt: skip
    base, longer, same = run.scenarios
    assert [fault["to_round"] for fault in base.faults.to_pylist()] == [100]
    assert longer.rounds == 200
    assert len(longer.brokers) == 6
    assert longer.brokers[5] == Broker(6, "2")  # racks stay the base's
    assert longer.config == {"replica.lag.time.max.ms": 10000}
    kept = ("kind", "broker", "from_round", "to_round")
    assert [tuple(fault[key] for key in kept) for fault in longer.faults.to_pylist()] == [
        ("broker_crash", 2, 10, 200), ("controller_loss", None, 5, 8),
    ]  # fmt: skip
    assert [(topic.name, topic.assignment.tolist()) for topic in longer.topics] == [
        ("orders", [[1, 2], [5, -1]]), ("new", [[1]]),
    ]  # fmt: skip
    assert longer.overrides == {
        "rounds": "200", "cluster.brokers": "6", "cluster.config.replica.lag.time.max.ms": "10000",
        "faults.crash.broker": "2", "faults[1].kind": '"controller_loss"', "faults[1].from_round": "5",
        "faults[1].to_round": "8", "topics.orders.assignment": "[[1, 2], [5]]", "topics.new.partitions": "1",
        "topics.new.replication_factor": "1",
    }  # fmt: skip
    assert same.overrides == {}
    assert same.faults.equals(base.faults)


def test_a_variant_names_every_entry_of_its_name(tmp_path: Path) -> None:
    crash = '[[faults]]\nname = "c"\nkind = "broker_crash"\nfrom_round = 1\nbroker = {}\n'
    text = HEAD + CLUSTER + ORDERS + crash.format(1) + crash.format(2)
    variant = load(tmp_path, text + '[[variants]]\nname = "v"\nfaults = [{ name = "c", to_round = 9 }]\n').scenarios[1]
    assert variant.faults.column("to_round").to_pylist() == [9, 9]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_table_files(tmp_path: Path, ending: str) -> None:
    def write(name: str, columns: dict[str, list[Any]]) -> None:
        if ending == "csv":
            pa.csv.write_csv(pa.table(columns), tmp_path / f"{name}.csv")
        else:
            pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")

    write("workload", {"topic": ["orders", "ord*"], "partitions": ["0-2,5", None], "records_per_round": [5, 7],
                       "to_round": [None, 20], "acks": ["1", None]})  # fmt: skip
    write("faults", {"kind": ["rack_loss", "link_cut"], "from_round": [1, 2], "rack": ["b", None],
                     "broker": [None, 20], "peer": [None, 10]})  # fmt: skip
    write("brokers", {"id": [20, 10, 30], "rack": ["b", "a", "c"]})
    base = base_of(
        tmp_path,
        f"""rounds = 50
workload_file = "workload.{ending}"
faults_file = "faults.{ending}"
[cluster]
brokers_file = "brokers.{ending}"
{ORDERS}
[[faults]]
kind = "broker_pause"
broker = 30
from_round = 4
[[workload]]
topic = "orders"
records_per_round = 1
""",
    )
    assert base.brokers == (Broker(10, "a"), Broker(20, "b"), Broker(30, "c"))
    assert [tuple(row.values()) for row in base.workload.to_pylist()] == [
        ("orders", None, 0, 50, 1, None, 1000, "all", None),
        ("orders", "0-2,5", 0, 50, 5, None, 1000, "1", None),
        ("ord*", None, 0, 20, 7, None, 1000, "all", None),
    ]
    kept = ("kind", "to_round", "broker", "peer", "direction", "rack")
    assert [tuple(row[key] for key in kept) for row in base.faults.to_pylist()] == [
        ("broker_pause", 50, 30, None, None, None),
        ("rack_loss", 50, None, None, None, "b"),
        ("link_cut", 50, 20, 10, "both", None),
    ]


def test_parquet_folder_and_other_integer_widths(tmp_path: Path) -> None:
    (tmp_path / "w.parquet").mkdir()
    rows = {"topic": pa.array(["orders"]).dictionary_encode(), "records_per_round": pa.array([5], pa.uint8()),
            "partitions": pa.array([3], pa.int16()), "to_round": pa.nulls(1)}  # fmt: skip
    for part in range(2):
        pq.write_table(pa.table(rows), tmp_path / "w.parquet" / f"part-{part}.parquet")
    base = base_of(tmp_path, 'workload_file = "w.parquet"\n' + HEAD + CLUSTER + ORDERS)
    assert base.workload.column("partitions").to_pylist() == ["3", "3"]


def test_generators_follow_rows_and_repeat_by_seed(tmp_path: Path) -> None:
    text = HEAD + "seed = {}\n" + CLUSTER + ORDERS + """
[[fault_generators]]
kind = "independent_crashes"
mtbf_rounds = 20
mean_duration_rounds = 3
[[fault_generators]]
kind = "independent_crashes"
mtbf_rounds = 20
mean_duration_rounds = 3
[[fault_generators]]
kind = "rack_outages"
mtbf_rounds = 30
racks = [1]
[[faults]]
kind = "controller_loss"
from_round = 90
"""  # fmt: skip
    first, again, other = (base_of(tmp_path, text.format(seed)).faults for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    kinds = first.column("kind").to_pylist()
    assert kinds[0] == "controller_loss"
    assert kinds == ["controller_loss"] + ["broker_crash"] * kinds.count("broker_crash") + ["rack_loss"] * kinds.count(
        "rack_loss"
    )
    crashes = [tuple(row.values()) for row in first.to_pylist() if row["kind"] == "broker_crash"]
    assert len(set(crashes)) > len(crashes) / 2  # the two generators draw apart


def test_commands(tmp_path: Path) -> None:
    base = base_of(tmp_path, HEAD + """
commands = [
  { round = 9, kind = "reassign", topic = "orders", partition = 2, replicas = [3, 1] },
  { round = 1, kind = "delete_records", topic = "orders", partition = 0, offset = -1 },
  { round = 1, kind = "alter_config", topic = "ord*", config = { "min.insync.replicas" = 2 } },
  { round = 1, kind = "alter_config", config = { "replica.fetch.max.bytes" = 0 } },
]
""" + CLUSTER + ORDERS)  # fmt: skip
    assert base.commands == (
        Command(9, "reassign", "orders", 2, replicas=(3, 1)),
        Command(1, "delete_records", "orders", 0, offset=-1),
        Command(1, "alter_config", "ord*", config={"min.insync.replicas": 2}),
        Command(1, "alter_config", config={"replica.fetch.max.bytes": 0}),
    )


def test_initial_tables_fill_in(tmp_path: Path) -> None:
    base = base_of(
        tmp_path,
        HEAD
        + CLUSTER
        + 'config = { "remote.log.storage.system.enable" = true }\n'
        + ORDERS
        + """
config = { "remote.storage.enable" = true }
[[initial.replicas]]
topic = "orders"
partition = 1
broker = 2
log_start_offset = 4
leo = 9
[[initial.partitions]]
topic = "orders"
partition = 1
leader = -1
leader_epoch = 3
isr = [2]
[[initial.remote_segments]]
topic = "orders"
partition = 1
base_offset = 0
end_offset = 3
epochs = [[0, 0]]
bytes = 4000
""",
    )
    replica = base.initial_replicas.to_pylist()[0]
    assert (replica["local_log_start_offset"], replica["hw"]) == (4, 9)
    assert replica["epochs"] == [{"epoch": 0, "start_offset": 4}]
    partition = {"topic": "orders", "partition": 1, "leader": -1, "leader_epoch": 3, "isr": [2], "elr": None}
    assert base.initial_partitions.to_pylist() == [partition]
    assert base.initial_remote_segments.to_pylist()[0]["state"] == "COPY_FINISHED"


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        ('placement = "modulo"', [[0, 1], [1, 2], [2, 0]]),
        ("placement_start = 2", [[2, 0], [0, 1], [1, 2]]),
        ('placement = "admin-utils"\nplacement_shift = 1', [[0, 2], [1, 0], [2, 1]]),
        ('placement = "striped"', [[0, 1], [1, 2], [2, 0]]),
    ],
)
def test_placements_of_brokers_from_0(tmp_path: Path, placement: str, expected: list[list[int]]) -> None:
    topic = '[[topics]]\nname = "t"\npartitions = 3\nreplication_factor = 2\n' + placement
    base = base_of(tmp_path, HEAD + "[cluster]\nbrokers = 3\nfirst_broker_id = 0\n" + topic)
    placed = base.topics[0].assignment.tolist()
    if "striped" in placement:  # its start is drawn: the rows rotate
        assert sorted(placed) == sorted(expected)
    else:
        assert placed == expected


def test_globs_and_partition_lists() -> None:
    names = ["orders", "orders-2", "payments"]
    assert matching_topics("orders*", names) == ["orders", "orders-2"]
    assert matching_topics("Orders", names) == []
    assert matching_topics("[op]*s", names) == ["orders", "payments"]
    assert parse_partitions("0-3,7") == [(0, 3), (7, 7)]
    for text in ("", "-1", "1-", "1,,2", "3-1", "1\n"):
        with pytest.raises(ValueError):
            parse_partitions(text)


def test_message_is_one_line_whatever_it_is_about() -> None:
    message = str(InputError.at("a\nb.toml", "x", "y\x1b[2J\u2028" + "z" * 10_000, "w"))
    assert message.isprintable()
    assert len(message) <= 4000
    assert str(InputError("plain")) == "plain"
