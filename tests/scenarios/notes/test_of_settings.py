"""Notes before a run: settings without effect, or with another than was meant; whose they are, and where they go."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from emulator.cli import commands
from emulator.scenario import load_run
from emulator.scenario.notes import notes_of
from tests.scenarios.notes.noted import CLUSTER, notes, workload


def test_a_plain_scenario_has_none(tmp_path: Path) -> None:
    assert notes(tmp_path) == []


def test_compaction_is_left_out(tmp_path: Path) -> None:
    told = ["compaction is not emulated: logs of topic t keep what it would free"]
    assert notes(tmp_path, 'config = { "cleanup.policy" = "compact" }') == told
    assert notes(tmp_path, cluster='config = { "log.cleanup.policy" = "compact,delete" }') == told
    later = '[[commands]]\nround = 5\nkind = "alter_config"\ntopic = "t"\nconfig = { "cleanup.policy" = "compact" }\n'
    assert notes(tmp_path, more=later) == told


def test_acks_below_all_are_told(tmp_path: Path) -> None:
    of_all, of_one, of_none = (f'records_per_round = 5\nacks = "{acks}"' for acks in ("all", "1", "0"))
    one = "acks=1 of topic t: the leader alone acknowledges; what followers lack when it goes is lost"
    none = "acks=0 of topic t: producers wait for nobody; what is lost of it, they are not told"
    assert notes(tmp_path, more=workload(of_all)) == []
    assert notes(tmp_path, more=workload(of_all, of_one)) == [one]
    assert notes(tmp_path, more=workload(of_none, of_one)) == [one, none]
    assert notes(tmp_path, more=workload('records_per_round = 0\nacks = "1"')) == []


def test_min_insync_replicas_of_less_than_acks_all_are_told(tmp_path: Path) -> None:
    told = "min.insync.replicas of topic t guards what is sent with acks=all only, not with acks 0 or 1"
    of_all, of_one = (workload(f'records_per_round = 5\nacks = "{acks}"') for acks in ("all", "1"))
    two = 'config = { "min.insync.replicas" = 2 }'
    assert notes(tmp_path, two, more=of_all) == []
    assert notes(tmp_path, two, more=of_one)[1:] == notes(tmp_path, cluster=two, more=of_one)[1:] == [told]
    assert len(notes(tmp_path, 'config = { "min.insync.replicas" = 1 }', more=of_one)) == 1


def test_a_note_of_some_scenarios_names_them(tmp_path: Path) -> None:
    variant = '[[variants]]\nname = "v"\ntopics = [{ name = "t", config = { "cleanup.policy" = "compact" } }]\n'
    assert [note.endswith("(scenario v)") for note in notes(tmp_path, more=variant)] == [True]


def test_a_note_of_many_cases_names_one(tmp_path: Path) -> None:
    sweeps = '[[sweeps]]\nset = "acks"\nvalues = ["all", "1"]\n[[sweeps]]\nset = "segment.bytes"\nvalues = [5000, 6000]\n'
    [told] = notes(tmp_path, more=workload("records_per_round = 1") + sweeps)
    assert told.endswith('is lost (2 of 5 scenarios, such as "acks = 1, segment.bytes = 5000")')


def test_flush_ms_without_the_flusher(tmp_path: Path) -> None:
    told = ["flush.ms flushes here, on a real broker only with log.flush.scheduler.interval.ms beside it: topic t"]
    often = 'config = { "log.flush.scheduler.interval.ms" = 500 }'
    altered = '[[commands]]\nkind = "alter_config"\nround = 5\ntopic = "t"\nconfig = { "flush.ms" = 1000 }\n'
    assert notes(tmp_path, 'config = { "flush.ms" = 1000 }') == told
    assert notes(tmp_path, "", 'config = { "log.flush.interval.ms" = 1000 }') == told
    assert notes(tmp_path, more=altered) == told
    assert notes(tmp_path, 'config = { "flush.ms" = 1000 }', often) == []
    assert notes(tmp_path, "", often) == []
    for never in ("0", "9223372036854775807"):
        assert notes(tmp_path, 'config = { "flush.ms" = 1000 }', often.replace("500", never)) == told
    late = '[[commands]]\nkind = "alter_config"\nround = 5\n' + often
    assert notes(tmp_path, more=late) == ["no effect here: log.flush.scheduler.interval.ms (by alter_config)"]


def test_notes_go_to_standard_error(tmp_path: Path) -> None:
    notes(tmp_path, 'config = { "cleanup.policy" = "compact" }')
    told = CliRunner().invoke(commands, ["run", str(tmp_path / "noted.toml"), "--dry-run"], standalone_mode=False)
    assert "note: compaction is not emulated" in told.stderr
    assert "note" not in told.stdout


def test_acks_that_groups_and_ledgers_leave_out(tmp_path: Path) -> None:
    """A raft variant of a file with acks=0 acknowledges by its quorum; alone such a file is refused."""
    workload = '[[workload]]\ntopic = "t"\nrecords_per_round = 1\nacks = "0"\n'
    raft = '[[variants]]\nname = "r"\nprotocol = "raft"\n'
    ledgers = '[[variants]]\nname = "b"\nprotocol = "bookkeeper"\n'
    guarded = 'config = { "min.insync.replicas" = 2 }'
    told = "no effect on raft, where a quorum acknowledges every record: "
    assert f"{told}acks=0 of topic t, min.insync.replicas" in notes(tmp_path, guarded, "", workload + raft)
    assert f"{told}acks=0 of topic t" in notes(tmp_path, "", "", workload + raft)
    assert f"{told}min.insync.replicas" in notes(tmp_path, guarded, "", workload.replace('"0"', '"all"') + raft)
    both = told.replace("raft", "raft, bookkeeper")
    assert f"{both}acks=0 of topic t" in notes(tmp_path, "", "", workload + raft + ledgers)
    assert not any(note.startswith("no effect on") for note in notes(tmp_path, "", "", workload.replace('"0"', '"all"') + raft))
    assert not any(note.startswith("no effect on") for note in notes(tmp_path, guarded, "", workload))


def test_kraft_without_pre_vote(tmp_path: Path) -> None:
    """Kafka has asked before every election since 4.0 (KIP-996)."""
    protocols = '[[variants]]\nname = "k"\nprotocol = "kraft"\n[[variants]]\nname = "r"\nprotocol = "raft"\n'
    told = "kraft stands for elections without asking first, as before Kafka 4.0: pre.vote = true asks (scenario k)"
    assert told in notes(tmp_path, "", "", protocols)
    asks = protocols.replace('"kraft"\n', '"kraft"\ncluster = { config = { "pre.vote" = true } }\n')
    assert not any("pre.vote" in note for note in notes(tmp_path, "", "", asks))


def test_of_two_spellings_the_one_without_effect_is_told(tmp_path: Path) -> None:
    """As where a variant gives the broker's key and the base has the topic's."""
    given = '"log.roll.hours" = 1, "log.roll.ms" = 60000, "segment.bytes" = 9000, "log.segment.bytes" = 500'
    told = "no effect here: log.roll.hours (log.roll.ms decides), log.segment.bytes (segment.bytes decides)"
    assert notes(tmp_path, cluster=f"config = {{ {given} }}") == [told]


def test_round_trips_above_a_round_are_told(tmp_path: Path) -> None:
    """A round of 100 ms holds a fetch of 600 ms: what a crash takes along is 100 ms of writes, not 300 (test_last_moments.py)."""
    link = 'round_ms = 100\n[[faults]]\nkind = "slow_link"\nbroker = 1\nround_trip_ms = MS\nfrom_round = 5\n'
    in_rounds = "a fetch is over within its round of 100 ms all the same"

    def told(ms: int, cluster: str = "") -> list[str]:
        path = tmp_path / "links.toml"
        rounds, fault = link.replace("MS", str(ms)).split("\n", 1)
        path.write_text(f"{rounds}\n{CLUSTER.replace('CLUSTER', cluster).replace('TOPIC', '')}{fault}")
        return [note.partition(",")[0] for note in notes_of(load_run(str(path)))]

    assert told(100) == []
    assert told(101) == [f"round_trip_ms of slow_link = 101: {in_rounds}"]
    assert told(101, "fetches_per_round = 1") == []
    assert told(50, "fetch_round_trip_ms = 100.5") == [f"fetch_round_trip_ms = 100.5: {in_rounds}"]


def test_fetchers_that_share_nothing_are_told(tmp_path: Path) -> None:
    def told(more: str = "", budget: str = "") -> list[str]:
        own = f'fetches_per_round = 2\n{budget}\nconfig = {{ "num.replica.fetchers" = 4 {more} }}'
        return notes(tmp_path, cluster=own)

    assert told() == ["no effect here: num.replica.fetchers (beside fetches_per_round)"]
    assert told(budget="network_bytes_per_second = 1000000") == told(budget="disk_bytes_per_second = 1000000") == []
    assert told(', "replica.fetch.min.bytes" = 1000') == []
    assert notes(tmp_path, cluster='fetches_per_round = 2\nconfig = { "num.replica.fetchers" = 1 }') == []
    assert notes(tmp_path, cluster='config = { "num.replica.fetchers" = 4 }') == []


def test_a_minimum_above_the_replicas_is_told(tmp_path: Path) -> None:
    """A topic may not begin so; a command may come to it."""
    told = "min.insync.replicas of topic t is at times above its replicas: then it asks for all of them"
    later = '[[commands]]\nround = 5\nkind = "alter_config"\ntopic = "t"\nconfig = { "min.insync.replicas" = VALUE }\n'
    assert notes(tmp_path, more=later.replace("VALUE", "3")) == []
    assert notes(tmp_path, more=later.replace("VALUE", "4")) == [told]
    fewer = '[[commands]]\nround = 5\nkind = "reassign"\ntopic = "t"\npartition = 1\nreplicas = [1]\n'
    assert notes(tmp_path, 'config = { "min.insync.replicas" = 2 }', more=fewer) == [told]


def test_time_buckets_that_are_others_than_asked_for(tmp_path: Path) -> None:
    """100 rounds have four of 25 at the most."""

    def told(buckets: int) -> list[str]:
        path = tmp_path / "buckets.toml"
        path.write_text(f"time_buckets = {buckets}\n" + CLUSTER.replace("CLUSTER", "").replace("TOPIC", ""))
        return notes_of(load_run(str(path)))

    assert told(1) == told(2) == told(4) == told(10) == []
    assert told(3) == ["time_buckets = 3: there are 2, of 50 rounds (25 s), as each is a multiple of 25 rounds"]
    assert told(5) == ["time_buckets = 5: there are 4, of 25 rounds (12.5 s), as each is a multiple of 25 rounds"]
