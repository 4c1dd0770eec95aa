"""Sweeps: cases are all combinations, each the scenario that it would be if it were written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from emulator.engine.identity import fingerprint
from emulator.errors import InputError
from emulator.outcomes.ask import Asker
from emulator.scenario import Scenario, load_run

BASE = """
rounds = 120
seed = 7
[cluster]
brokers = 4
racks = 2
[[topics]]
name = "orders"
partitions = 4
replication_factor = 3
[[topics]]
name = "clicks"
partitions = 2
replication_factor = 2
[[workload]]
topic = "*"
records_per_round = 10
"""
NO_DRAWS = "seeds: all 3 draws are the same, for the file draws neither faults nor replicas"
FAULT = "{ kind = %s, from_round = 20, to_round = 60 }"


def load(text: str, folder: Path) -> tuple[Scenario, ...]:
    path = folder / "s.toml"
    path.write_text(BASE + text, "utf-8")
    return load_run(str(path)).scenarios


def faults_of(scenario: Scenario) -> list[tuple[Any, ...]]:
    return [(f["kind"], f["broker"], f["peer"], f["rack"], f["power"]) for f in scenario.faults.to_pylist()]


@pytest.mark.parametrize(
    ("each", "kind", "expected"),
    [
        ("broker", "power_loss", [[("power_loss", b, None, None, None)] for b in (1, 2, 3, 4)]),
        ("rack", "broker_crash", [[("rack_loss", None, None, r, None)] for r in ("0", "1")]),
        ("rack", "power_loss", [[("rack_loss", None, None, r, True)] for r in ("0", "1")]),
        ("rack", "isolation", [[("rack_isolation", None, None, r, None)] for r in ("0", "1")]),
        ("rack", "rack_isolation", [[("rack_isolation", None, None, r, None)] for r in ("0", "1")]),
        ("rack", "broker_pause", [[("broker_pause", b, None, None, None) for b in of] for of in ((1, 3), (2, 4))]),
        (
            "pair",
            "disk_loss",
            [
                [("disk_loss", a, None, None, None), ("disk_loss", b, None, None, None)]
                for a, b in ((1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4))
            ],
        ),
        ("pair", "link_cut", [[("link_cut", a, b, None, None)] for a, b in ((1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4))]),
    ],
)
def test_each_of_them_is_struck_in_turn(each: str, kind: str, expected: list[Any], tmp_path: Path) -> None:
    base, *cases = load(f'[[sweeps]]\neach = "{each}"\nfault = {FAULT % repr(kind)}\n', tmp_path)
    assert [faults_of(case) for case in cases] == expected
    assert base.faults.num_rows == 0
    assert [case.scenario_id for case in cases] == list(range(1, len(cases) + 1))
    assert len({case.name for case in cases}) == len(cases)


def test_cases_are_all_combinations_for_base_and_variants(tmp_path: Path) -> None:
    text = f"""
    [[variants]]
    name = "wide"
    cluster = {{ config = {{ "replica.lag.time.max.ms" = 5000 }} }}
    [[sweeps]]
    each = "rack"
    fault = {FAULT % "'power_loss'"}
    [[sweeps]]
    set = "min.insync.replicas"
    topic = "o*"
    values = [1, 2]
    [[sweeps]]
    seeds = 3
    """
    scenarios = load(text, tmp_path)
    assert len(scenarios) == 2 + 2 * 2 * 2 * 3
    last = scenarios[-1]
    assert last.name == "wide, rack 1, o*: min.insync.replicas = 2, seed 9"
    assert (last.seed, last.config["replica.lag.time.max.ms"]) == (9, 5000)
    assert [topic.config.get("min.insync.replicas") for topic in last.topics] == [2, None]
    assert {key: last.overrides[key] for key in last.overrides if key.startswith("sweep.")} == {
        "sweep.variant": '"wide"', "sweep.fault": '"rack 1"', "sweep.settings": '"o*: min.insync.replicas = 2"', "sweep.seed": "9"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sweep", "by_hand"),
    [
        ('set = "protocol"\nvalues = ["kafka-kip101"]', 'protocol = "kafka-kip101"'),
        ('set = "replica.lag.time.max.ms"\nvalues = [9000]', 'cluster = { config = { "replica.lag.time.max.ms" = 9000 } }'),
        (
            'set = "eligible.leader.replicas.version"\nvalues = [1]',
            'cluster = { features = { "eligible.leader.replicas.version" = 1 } }',
        ),
        (
            'set = "unclean.leader.election.enable"\ntopic = "clicks"\nvalues = [true]',
            'topics = [{ name = "clicks", config = { "unclean.leader.election.enable" = true } }]',
        ),
        ("seeds = 1", "seed = 7"),
        (
            "each = 'broker'\nfault = " + FAULT % "'power_loss'",
            "faults = [{ kind = 'power_loss', from_round = 20, to_round = 60, broker = 1 }]",
        ),
    ],
)
def test_a_case_is_what_a_variant_would_be(sweep: str, by_hand: str, tmp_path: Path) -> None:
    case = load(f"[[sweeps]]\n{sweep}\n", tmp_path)[1]
    variant = load(f'[[variants]]\nname = "by hand"\n{by_hand}\n', tmp_path)[1]
    told = ("name", "overrides")
    assert fingerprint({k: v for k, v in vars(case).items() if k not in told}) == fingerprint(
        {k: v for k, v in vars(variant).items() if k not in told}
    )


def test_acks_and_ledgers(tmp_path: Path) -> None:
    assert load('[[sweeps]]\nset = "acks"\nvalues = ["1"]\n', tmp_path)[1].workload["acks"].to_pylist() == ["1"]
    path = tmp_path / "l.toml"
    head = 'protocol = "bookkeeper"\nrounds = 60\n[cluster]\nbrokers = 4\n[[topics]]\nname = "l"\npartitions = 2\n'
    path.write_text(head + f'[[sweeps]]\neach = "broker"\nfault = {FAULT % repr("power_loss")}\n')
    assert [faults_of(case)[0][1] for case in load_run(str(path)).scenarios[1:]] == [1, 2, 3, 4]


WRONG = [
    ('each = "broker"', "sweeps[0].fault: is missing; allowed: with each"),
    ("", "sweeps[0]: sweeps nothing; allowed: one of each, set, seeds"),
    ('each = "broker"\nseeds = 2', "sweeps[0]: has each and seeds; allowed: one of each, set, seeds"),
    ('each = "topic"', 'sweeps[0].each: "topic" is not known; allowed: "broker", "rack" or "pair"'),
    ("seeds = 0", "sweeps[0].seeds: 0 is out of range; allowed: 1 or more"),
    ("seeds = 10001", "sweeps[0].seeds: 10001 is out of range; allowed: 10000 or less"),
    ('seeds = "two"', 'sweeps[0].seeds: "two" is of the wrong type; allowed: an integer'),
    ("seeds = 2\nvalues = [1]", "sweeps[0].values: a sweep of seeds has no use for it; allowed: seeds"),
    ('seeds = 2\ntopic = "orders"', "sweeps[0].topic: a sweep of seeds has no use for it"),
    ("seeds = 2\nfault = " + FAULT % "'power_loss'", "sweeps[0].fault: a sweep of seeds has no use for it"),
    ('set = "min.insync.replicas"', "sweeps[0].values: is missing; allowed: with set"),
    ('set = "min.insync.replicas"\nvalues = []', "sweeps[0].values: has 0 entries; allowed: at least 1 entries"),
    ('set = "min.insync.replica"\nvalues = [1]', 'unknown setting "min.insync.replica" (did you mean "min.insync.replicas"?)'),
    ('set = "min.insync.replicas"\nvalues = [2, 2]', "sweeps[0].values: has a value twice; allowed: each value once"),
    ('set = "min.insync.replicas"\nvalues = [1.5]', "1.5 is no value of a setting"),
    ('set = "min.insync.replicas"\nvalues = ["x"]', '(min.insync.replicas = x).topics.orders.config."min.insync'),
    ('set = "min.insync.replicas"\nvalues = [3]', "3 is more than the 2 replicas of topic clicks"),
    ('set = "min.insync.replicas"\nvalues = [1]\ntopic = "order"', 'no topic is called "order" (did you mean "orders"?)'),
    ('set = "protocol"\nvalues = ["kafka"]\ntopic = "orders"', "sweeps[0].topic: protocol is not of topics"),
    ('set = "protocol"\nvalues = ["paxos"]', 'sweeps[0] (protocol = paxos).protocol: "paxos" is not emulated yet'),
    ('set = "acks"\nvalues = ["2"]', "sweeps[0] (acks = 2).workload[0].acks"),
    ("speed = 1", 'sweeps[0].speed: unknown key "speed"'),
    ('each = "broker"\nfault = { kind = "power_los", from_round = 1 }', 'is no fault of a broker (did you mean "power_loss"?)'),
    ('each = "broker"\nfault = { kind = "link_cut", from_round = 1 }', '"link_cut" is no fault of a broker'),
    ('each = "broker"\nfault = { kind = "rack_loss", from_round = 1 }', '"rack_loss" is no fault of a broker'),
    ('each = "broker"\nfault = { kind = "power_loss", from_round = 1, broker = 2 }', "fault.broker: the sweep says which"),
    ('each = "rack"\nfault = { kind = "rack_loss", from_round = 1, rack = "0" }', "fault.rack: the sweep says which"),
    ('each = "broker"\nfault = { kind = "power_loss" }', "sweeps[0].fault.from_round: is missing"),
    (
        'each = "broker"\nfault = { kind = "power_loss", from_round = -1 }',
        "(broker 1).fault.from_round: -1 is out of range",
    ),
    (
        'each = "broker"\nfault = { kind = "power_loss", from_round = 5, to_round = 5 }',
        "to_round: 5 is not after from_round",
    ),
    ('each = "broker"\nfault = { kind = "slow_disk", from_round = 1 }', "fault.bytes_per_second: slow_disk needs"),
    ('each = "broker"\nfault = { kind = "power_loss", from_round = 1, power = true }', "power_loss has no use for power"),
    (
        'each = "broker"\nfault = { kind = "power_loss", from_round = 1, power = 1 }',
        "fault.power: 1 is of the wrong type",
    ),
]


@pytest.mark.parametrize(("sweep", "expected"), WRONG)
def test_wrong_sweeps(sweep: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _fails(f"[[sweeps]]\n{sweep}\n", expected, tmp_path, capsys)


def test_too_many_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.scenario.sweeps.MOST_CASES", 5)
    with pytest.raises(InputError, match="sweeps: make more than 5 cases; allowed: up to 5 combinations"):
        load('[[sweeps]]\neach = "pair"\nfault = { kind = "broker_crash", from_round = 1 }\n', tmp_path)


LINES = [
    ("", "sweeps: there is nothing to sweep; allowed: [[sweeps]], --each with --fault, --set, or --seeds"),
    ("--each broker", "--each: stands alone; allowed: --each and --fault together"),
    ("--fault power_loss:1-9", "--fault: stands alone"),
    ("--each broker --fault power_loss", '--fault: "power_loss" is not KIND:FROM-TO; allowed: KIND:FROM-TO, as in'),
    ("--each broker --fault power_loss:9-x", "is not KIND:FROM-TO"),
    ("--each broker --fault power_loss:9-3", "fault.to_round: 3 is not after from_round"),
    ("--each broker --fault power_loss:9m-1.5m", "fault.to_round: 180 is not after from_round"),
    ("--each broker --fault power_loss:9m-3w", "is not KIND:FROM-TO"),
    ("--each broker --fault power_loss:9m-1m30s", "fault.to_round: 180 is not after from_round"),
    (
        "--each broker --fault power_loss:9m-30s1m",
        '"30s1m" is no time, which has numbers with the units d, h, m, s and ms, the longest first',
    ),
    ("--each broker --fault power_loss:1h30-2h", "is not KIND:FROM-TO"),
    ("--each disk --fault power_loss:9-10", "'disk' is not one of 'broker', 'rack', 'pair'"),
    ("--set min.insync.replicas", '--set: "min.insync.replicas" is not KEY=VALUE,...; allowed: as in'),
    ("--set min.insync.replicas=", "is not KEY=VALUE,..."),
    ("--set :acks=1", "is not KEY=VALUE,..."),
    ("--set min.insync.replicas=1,,2", '"" is not a value of "min.insync.replicas"'),
    (
        "--set acks=1 --set acks=all",
        "sweeps[1].set: acks is swept already; allowed: one sweep with all of its values",
    ),
    ("--seeds 0", "0 is not in the range x>=1"),
    ("--seeds x", "'x' is not a valid integer"),
    ("--by broker --seeds 2", "'broker' is not one of 'case', 'topic'"),
]


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_wrong_command_lines(line: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _fails("", expected, tmp_path, capsys, *line.split())


def test_the_sweep_command_hands_everything_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[Any] = []

    @contextmanager
    def session(*settings: Any) -> Iterator[Any]:
        told.append((*settings[:3], settings[3].said().endswith("--resume")))
        yield None

    def run_emulation(run: Any, out: str, spark: Any, progress: Any, resume: bool) -> Any:
        told.append((len(run.scenarios), out, resume))
        return SimpleNamespace(lines=["done"])

    monkeypatch.setattr("emulator.cli.sessions.session", session)
    monkeypatch.setattr("emulator.run.run_emulation", run_emulation)
    monkeypatch.setattr("emulator.outcomes.ask.Asker.ask", lambda self, query: (["asked"], iter([(query,)] * 3)))
    path = tmp_path / "s.toml"
    path.write_text(BASE, "utf-8")
    line = ["sweep", str(path), "--out", "o", "--seeds", "3", "--rows", "2", "--conf", "spark.a=b", "--verbose"]
    assert main([*line, "--master", "local[3]"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("@which_case_is_worst") == 2
    assert printed.err == f"note: {NO_DRAWS}\ndone\nonly the first 2; all of them: emulator sql o @which_case_is_worst\n"
    assert main([*line, "--remote", "sc://here", "--resume"]) == 0
    assert told == [
        ("local[3]", {"spark.a": "b"}, "emulator sweep s", False),
        (4, "o", False),
        (None, {"spark.a": "b", "spark.remote": "sc://here"}, "emulator sweep s", True),
        (4, "o", True),
    ]
    capsys.readouterr()
    assert main(["sweep", str(path), "--dry-run", "--seeds", "2"]) == 0
    assert capsys.readouterr().out.startswith("scenarios: 3 (base, seed 7, seed 8)")


def test_run_draws_so_many_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.toml").write_text(BASE, "utf-8")
    assert main(["run", str(tmp_path / "s.toml"), "--dry-run", "--seeds", "2"]) == 0
    assert capsys.readouterr().out.startswith("scenarios: 3 (base, seed 7, seed 8)")
    assert main(["run", str(tmp_path / "s.toml"), "--dry-run", "--seeds", "0"]) == 2


def test_racks_that_there_are_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = BASE.replace("racks = 2\n", "") + f'[[sweeps]]\neach = "rack"\nfault = {FAULT % repr("power_loss")}\n'
    (tmp_path / "s.toml").write_text(text)
    assert main(["run", str(tmp_path / "s.toml"), "--dry-run"]) == 2
    assert "sweeps[0].each: the brokers have no racks; allowed: broker or pair" in capsys.readouterr().err


def _fails(text: str, expected: str, folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> None:
    path = folder / "s.toml"
    path.write_text(BASE + text, "utf-8")
    assert main(["sweep", str(path), "--out", str(folder / "out"), *options]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert expected in printed.err
    assert not (folder / "out").exists()


def test_which_topics_should_get_two_in_sync_replicas(
    tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """One command; DuckDB and Spark answer alike, and the frontier is that of its definition."""
    path, out = tmp_path / "s.toml", str(tmp_path / "out")
    path.write_text(BASE, "utf-8")
    line = ["--each", "broker", "--fault", "power_loss:20-60", "--set", "min.insync.replicas=1,2", "--by", "topic"]
    assert main(["sweep", str(path), "--out", out, *line]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + 4
    both = [Asker(out, engine, _given(spark)) for engine in ("duckdb", "spark")]
    rows = _same_on_both(both, "SELECT * FROM sweep ORDER BY scenario_id")
    assert len(rows) == 8
    for row in rows:
        rivals = [r for r in rows if (r["fault"], r["seed"]) == (row["fault"], row["seed"])]
        costs = [[r[c] for c in ("acked_lost", "unwritable_seconds", "month_cost")] for r in rivals]
        own = [row[c] for c in ("acked_lost", "unwritable_seconds", "month_cost")]
        beaten = any(c != own and all(a <= b for a, b in zip(c, own, strict=True)) for c in costs)
        assert row["on_frontier"] is not beaten
    assert list(Asker(out, "duckdb", _given(spark)).ask("@which_case_is_worst")[1])
    assert {row["settings"] for row in rows} == {"min.insync.replicas = 1", "min.insync.replicas = 2"}
    clicks = [r for r in _same_on_both(both, "@which_setting_suits_which_topic") if r["topic"] == "clicks"]
    assert clicks[0]["unwritable_seconds"] < clicks[1]["unwritable_seconds"]  # of two replicas both are needed


def _same_on_both(both: Sequence[Asker], query: str) -> list[dict[str, Any]]:
    """The rows of an answer; who asks again has the views already."""
    answers = []
    for asker in both:
        columns, rows = asker.ask(query)
        answers.append([dict(zip(columns, row, strict=True)) for row in rows])
    assert answers[0] == answers[1]
    return answers[0]


def _given(spark: SparkSession) -> Callable[[], SparkSession]:
    return lambda: spark
