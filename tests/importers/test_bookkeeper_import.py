"""`emulator import bookkeeper`: what the tools print becomes ledgers that a run starts with and goes on from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from emulator.errors import InputError
from emulator.importers.bookkeeper import import_bookkeeper
from emulator.scenario import load_run
from tests.engine_helpers import Row, emulate
from tests.rounds.bookkeeper.topics_compared import of_rounds_of_topic, played_topics

DATA = Path(__file__).parents[1] / "data" / "bookkeeper_import"
LEDGERS, STATS = DATA / "ledgers.txt", DATA / "orders.json"
ORDERS = "public.default.persistent.orders"
TOPIC = "persistent://public/default/orders"
ROUNDS, LOST_ROUND = 40, 20


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the import."""
    out = tmp_path_factory.mktemp("import") / "cluster"
    import_bookkeeper([str(LEDGERS)], {TOPIC: str(STATS)}, str(out))
    return out


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return list(pq.read_table(folder / f"{name}.parquet").to_pylist())


def test_ledgers_topics_and_bookies(imported: Path) -> None:
    assert [(b["broker"], b["address"]) for b in rows(imported, "brokers")] == [(n, f"bk-{n}:3181") for n in (1, 2, 3, 4)]
    told = [
        (r["topic"], r["partition"], r["ledger_id"], r["state"], r["last_entry"], r["bytes"]) for r in rows(imported, "ledgers")
    ]
    assert told == [
        ("ledgers", 0, 7, "IN_RECOVERY", 30, 31000),  # up to the last fragment: nobody counts its entries
        ("ledgers", 1, 8, "CLOSED", -1, 0),
        (ORDERS, 0, 40, "CLOSED", 604, 60500),
        (ORDERS, 1, 52, "OPEN", 99, 20000),  # as its broker counts them
    ]
    fragments = rows(imported, "ledgers")[2]["fragments"]
    assert fragments == [{"first_entry": 0, "ensemble": [2, 1, 4]}, {"first_entry": 500, "ensemble": [2, 1, 3]}]
    sizes = {(r["topic"], r["key"]): r["value"] for r in rows(imported, "topic_configs")}
    assert sizes["ledgers", "ensembleSize"] == "2"
    assert sizes[ORDERS, "ensembleSize"] == "3"


@pytest.fixture(scope="module")
def tables(spark: SparkSession, imported: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """A run that starts from the import, and one ledger more that a file gives."""
    scenario = f"""
protocol = "bookkeeper"
rounds = {ROUNDS}
[cluster]
import = "{imported}"
config = {{ journalSyncData = false }}
[[topics]]
name = "{ORDERS}"
config = {{ addEntryTimeoutSec = 3 }}
[[topics]]
name = "own"
assignment = [[1, 2], [3, 4]]
config = {{ ensembleSize = 2, writeQuorumSize = 2, ackQuorumSize = 2 }}
[[workload]]
topic = "{ORDERS}"
partitions = "1"
records_per_round = 2
record_bytes = 1000
max_in_flight = 10
[[workload]]
topic = "own"
records_per_round = 1
max_in_flight = 10
[[faults]]
kind = "power_loss"
broker = 4
from_round = {LOST_ROUND}
[[commands]]
kind = "recover_ledger"
topic = "ledgers"
partition = 0
round = 5
[[initial.ledgers]]
topic = "own"
partition = 1
last_entry = 9
bytes = 500
fragments = [{{ first_entry = 0, ensemble = [1, 2] }}, {{ first_entry = 4, ensemble = [3, 4] }}]
"""
    folder = tmp_path_factory.mktemp("run")
    return emulate(spark, scenario, folder / "out")


def of(tables: dict[str, list[Row]], table: str, topic: str, partition: int) -> list[Row]:
    return [row for row in tables[table] if (row["topic"], row["partition"]) == (topic, partition)]


def test_a_run_goes_on_from_them(tables: dict[str, list[Row]]) -> None:
    (orders,), (outcome,) = of(tables, "ledgers", ORDERS, 1), of(tables, "outcomes", ORDERS, 1)
    # Bookie 4 is lost and replaced by the one that the ensemble hasn't; entries of the start aren't of the run.
    assert (orders["state"], orders["next_entry"]) == ("OPEN", 100 + 2 * ROUNDS)
    assert (outcome["appended"], outcome["acked"], outcome["acked_lost"]) == (2 * ROUNDS, 2 * ROUNDS, 0)
    fragments = [(f["first_entry"], f["ensemble"]) for f in of(tables, "fragments", ORDERS, 1)]
    assert fragments == [(0, [4, 2, 3]), (100 + 2 * LOST_ROUND, [1, 2, 3])]
    (closed,) = of(tables, "ledgers", ORDERS, 0)
    assert (closed["state"], closed["last_entry"], closed["writer"]) == ("CLOSED", 604, "shut")
    # Its writer is gone; the recovery finds all that its bookies have.
    (recovered,) = of(tables, "ledgers", "ledgers", 0)
    assert (recovered["state"], recovered["last_entry"], recovered["writer"]) == ("CLOSED", 30, "crashed")
    (own,) = of(tables, "ledgers", "own", 0)
    assert own["next_entry"] == ROUNDS
    assert tables["violations"] == []


def test_what_bookies_have_of_them(tables: dict[str, list[Row]]) -> None:
    held = {(b["topic"], b["partition"], b["broker"]): (b["entries"], b["bytes"]) for b in tables["bookies"]}
    # Two of three bookies have each of 605 entries of 100 bytes, 500 of them before bookie 3 came for bookie 4.
    of_closed = {broker: held[ORDERS, 0, broker] for broker in (1, 2, 3, 4)}
    assert sum(entries for entries, _ in of_closed.values()) == 2 * 605
    assert all(size == 100 * entries for entries, size in of_closed.values())
    # What was there before is on disk, and what round 0 flushed, one entry: the power loss takes only what came since.
    assert held[ORDERS, 1, 4] == (67 + 1, 67 * 200 + 1000)
    # It comes back for the lost one: bookie 1 had the first fragment's four entries.
    assert held["own", 1, 1] == (4 + ROUNDS - LOST_ROUND, 4 * 50 + (ROUNDS - LOST_ROUND) * 1000)
    entries = {(e["topic"], e["partition"], e["entry"]): e["bookies"] for e in tables["entries"]}
    assert (entries[ORDERS, 0, 499], entries[ORDERS, 0, 500]) == ([1, 4], [2, 3])
    counted = {key: sum(key[2] in bookies for place, bookies in entries.items() if place[:2] == key[:2]) for key in held}
    assert {key: entries for key, (entries, _) in held.items()} == counted


WRONG: dict[str, tuple[str, str]] = {
    "no metadata": ("ledgerID: 4\n", "has no LedgerMetadata"),
    "no id": ("LedgerMetadata{ensembleSize=1}\n", "line 1: metadata of no ledger"),
    "cut off": (LEDGERS.read_text().splitlines()[2] + "\nLedgerMetadata{formatVersion=3, ensembleSize=3, writeQ", "is missing"),
    "state": ("ledgerID: 4\n" + LEDGERS.read_text().splitlines()[3].replace("OPEN", "BUSY"), 'state "BUSY"'),
    "ensemble": ("ledgerID: 4\n" + LEDGERS.read_text().splitlines()[3].replace("bk-4:3181, ", ""), "its ensembles are cut off"),
    "sizes": (
        "ledgerID: 4\n" + LEDGERS.read_text().splitlines()[3].replace("ackQuorumSize=2", "ackQuorumSize=3"),
        "ensemble 3, write quorum 2, ack quorum 3; allowed: ensemble >= write quorum >= ack quorum >= 1",
    ),
    "not rising": (
        "ledgerID: 4\n" + LEDGERS.read_text().splitlines()[1].replace("500=", "700="),
        "its ensembles begin at 0, 700",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_metadata(name: str, tmp_path: Path) -> None:
    text, said = WRONG[name]
    (tmp_path / "ledgers.txt").write_text(text)
    with pytest.raises(InputError) as told:
        import_bookkeeper([str(tmp_path / "ledgers.txt")], {}, str(tmp_path / "out"))
    assert said in str(told.value)
    assert "; allowed: " in str(told.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ('{"state": "LedgerOpened"}', "ledgers: is missing"),
        ('{"ledgers": [{"ledgerId": -1, "entries": 1, "size": 1}]}', "ledgers[0], ledgerId: -1 is no count"),
        ('{"ledgers": [{"ledgerId": 1, "entries": 1, "size": 1}]}', "no metadata of any ledger"),
    ],
)
def test_wrong_stats(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "stats.json").write_text(text)
    arguments = ["import", "bookkeeper", "--internal-stats", f"{TOPIC}={tmp_path / 'stats.json'}", "--out", str(tmp_path / "out")]
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_second_look_at_another_moment_is_refused(tmp_path: Path) -> None:
    later = LEDGERS.read_text().replace("lastEntryId=604", "lastEntryId=605")
    (tmp_path / "later.txt").write_text(later)
    with pytest.raises(InputError, match="ledger 40: is another one than in"):
        import_bookkeeper([str(LEDGERS), str(tmp_path / "later.txt")], {}, str(tmp_path / "out"))


def test_partitions_cannot_start_from_ledgers(imported: Path, tmp_path: Path) -> None:
    (tmp_path / "kafka.toml").write_text(f'rounds = 5\n[cluster]\nimport = "{imported}"\n')
    with pytest.raises(InputError, match=r"cluster.import: has ledgers; allowed: an import of partitions"):
        load_run(str(tmp_path / "kafka.toml"))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "bookkeeper", "--ledgers", str(LEDGERS), "--out", str(tmp_path / "out"), "--verbose"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("4 bookies, 2 topics, 4 ledgers, 2 of them not closed\n")
    assert "note: 2 ledgers that are not closed, and no broker counts their entries" in said


def _seen_live(tmp_path: Path, more: str = "") -> tuple[str, str]:
    """Files as of a topic that is being written to: its broker counts nothing of the last ledger but where it is confirmed."""
    of_ledger = "digestType=CRC32C, password=OMITTED, ensembles={0=[bk-1:3181, bk-2:3181]}, customMetadata={}}"
    sizes = "LedgerMetadata{formatVersion=3, ensembleSize=2, writeQuorumSize=2, ackQuorumSize=2, state="
    closed = [(11945498, 194480, 420564873), (11946057, 194817, 420583702)]
    lines = [f"ledgerID: {n}\n{sizes}CLOSED, length={b}, lastEntryId={e - 1}, {of_ledger}\n" for n, e, b in closed]
    (tmp_path / "ledgers.txt").write_text("".join([*lines, f"ledgerID: 11946613\n{sizes}OPEN, {of_ledger}\n"]))
    ledgers = [{"ledgerId": n, "entries": e, "size": b, "offloaded": False} for n, e, b in [*closed, (11946613, 0, 0)]]
    stats = {"pendingAddEntriesCount": 2, "lastConfirmedEntry": "11946613:185308", "state": "LedgerOpened", "ledgers": ledgers}
    (tmp_path / "stats.json").write_text(json.dumps(stats).replace('"11946613:185308"', more or '"11946613:185308"'))
    return str(tmp_path / "ledgers.txt"), str(tmp_path / "stats.json")


def test_an_open_ledger_has_what_is_confirmed(tmp_path: Path) -> None:
    """As `stats-internal` is of a live topic: the last ledger has 0 entries and bytes, and the last confirmed entry is in it."""
    ledgers, stats = _seen_live(tmp_path)
    summary = import_bookkeeper([ledgers], {TOPIC: stats}, str(tmp_path / "out"))
    newest = rows(tmp_path / "out", "ledgers")[-1]
    mean = (420564873 + 420583702) // (194480 + 194817)
    assert (newest["state"], newest["last_entry"] + 1, newest["bytes"]) == ("OPEN", 185309, 185309 * mean)
    assert any(f"{mean} an entry" in note for note in summary.notes)


def _with_offloaded(tmp_path: Path) -> tuple[str, str]:
    """The live topic, whose list begins with two offloaded ledgers; of the first one bookies have nothing any more."""
    ledgers, stats = _seen_live(tmp_path)
    told = json.loads(Path(stats).read_text())
    told["ledgers"][0]["offloaded"] = True
    told["ledgers"].insert(0, {"ledgerId": 11940000, "entries": 1000, "size": 2_000_000, "offloaded": True})
    Path(stats).write_text(json.dumps(told))
    return ledgers, stats


def test_a_topic_comes_in_as_its_list(tmp_path: Path) -> None:
    ledgers, stats = _with_offloaded(tmp_path)
    import_bookkeeper([ledgers], {TOPIC: stats}, str(tmp_path / "out"), as_lists=True)
    columns = ("topic", "partition", "ledger", "ledger_id", "state", "last_entry", "offloaded")
    assert [tuple(row[name] for name in columns) for row in rows(tmp_path / "out", "ledgers")] == [
        (ORDERS, 0, 0, 11940000, "CLOSED", 999, True),
        (ORDERS, 0, 1, 11945498, "CLOSED", 194479, True),
        (ORDERS, 0, 2, 11946057, "CLOSED", 194816, False),
        (ORDERS, 0, 3, 11946613, "OPEN", 185308, False),
    ]
    assert [bool(row["fragments"]) for row in rows(tmp_path / "out", "ledgers")] == [False, True, True, True]
    (tmp_path / "s.toml").write_text(
        f'protocol = "bookkeeper"\nrounds = 40\ncluster = {{ import = "{tmp_path / "out"}" }}\n'
        f'[[workload]]\ntopic = "{ORDERS}"\nrecords_per_round = 2\nmax_in_flight = 100\n'
        f'[[commands]]\nkind = "take_over"\ntopic = "{ORDERS}"\nround = 20\n'
        f'[[topics]]\nname = "{ORDERS}"\nconfig = {{ defaultRetentionTimeInMinutes = -1, defaultRetentionSizeInMB = -1 }}\n'
    )
    ended = of_rounds_of_topic(played_topics(load_run(str(tmp_path / "s.toml")).scenarios), 0)
    assert ended["ledgers"] == 5
    given = 1000 + 194480 + 194817 + 185309
    assert (ended["messages"], len(ended["acked"]), ended["readable"]) == (80, 80, given + 80)
    assert [ended[f"ledger {number}: last_entry"] for number in range(4)] == [999, 194479, 194816, 185308 + 40]
    assert ended["ledger 0: deleted_from_bookies_round"] == 0
    assert [ended[f"ledger {number}: offloaded_round"] for number in range(5)] == [0, 0, None, None, None]
    assert ended["losses"] == (0, 0, 0) and ended["violations"] == {}


def test_offloaded_ledgers_without_metadata_are_not_said_to_be_taken(tmp_path: Path) -> None:
    """Without --as-lists the first of the two offloaded ledgers is left out, so that one is taken."""
    ledgers, stats = _with_offloaded(tmp_path)
    summary = import_bookkeeper([ledgers], {TOPIC: stats}, str(tmp_path / "out"))
    assert len(rows(tmp_path / "out", "ledgers")) == 3
    assert "1 offloaded ledgers: taken as if bookies still had them" in summary.notes
    assert any(note.startswith("1 ledgers of topics without metadata: left out") for note in summary.notes)


def test_lists_need_one_size(tmp_path: Path) -> None:
    ledgers, stats = _with_offloaded(tmp_path)
    text = Path(ledgers).read_text().replace("ackQuorumSize=2", "ackQuorumSize=1", 1)
    Path(ledgers).write_text(text)
    with pytest.raises(InputError, match="quorums 2/2/1 and 2/2/2 in one list; allowed: one size"):
        import_bookkeeper([ledgers], {TOPIC: stats}, str(tmp_path / "out"), as_lists=True)


def test_the_command_of_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledgers, stats = _with_offloaded(tmp_path)
    arguments = ["--ledgers", ledgers, "--internal-stats", f"{TOPIC}={stats}", "--as-lists", "--out", str(tmp_path / "out")]
    assert main(["import", "bookkeeper", *arguments, "--verbose"]) == 0
    assert capsys.readouterr().out.startswith("2 bookies, 1 topics, 4 ledgers, 1 of them not closed\n")


@pytest.mark.parametrize("said", ['"11946613"', "185308", '"-5:0"'])
def test_a_last_confirmed_entry_that_is_none(tmp_path: Path, said: str) -> None:
    ledgers, stats = _seen_live(tmp_path, said)
    with pytest.raises(InputError, match="lastConfirmedEntry: .* is no position; allowed: "):
        import_bookkeeper([ledgers], {TOPIC: stats}, str(tmp_path / "out"))
