"""What is said of a scenario before it runs."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from emulator.cli import commands
from emulator.scenario import load_run
from emulator.scenario.notes import notes_of

CLUSTER = """
name = "noted"
rounds = 100
[cluster]
brokers = 3
CLUSTER
[[topics]]
name = "t"
partitions = 2
replication_factor = 3
TOPIC
"""


def notes(folder: Path, topic: str = "", cluster: str = "", more: str = "") -> list[str]:
    """The notes of a small scenario with these lines added."""
    path = folder / "noted.toml"
    path.write_text(CLUSTER.replace("CLUSTER", cluster).replace("TOPIC", topic) + more)
    return notes_of(load_run(str(path)))


def test_a_plain_scenario_has_none(tmp_path: Path) -> None:
    assert notes(tmp_path) == []


def test_compaction_is_left_out(tmp_path: Path) -> None:
    told = ["compaction is not emulated: logs of topic t keep what it would free"]
    assert notes(tmp_path, 'config = { "cleanup.policy" = "compact" }') == told
    assert notes(tmp_path, cluster='config = { "log.cleanup.policy" = "compact,delete" }') == told
    later = '[[commands]]\nround = 5\nkind = "alter_config"\ntopic = "t"\nconfig = { "cleanup.policy" = "compact" }\n'
    assert notes(tmp_path, more=later) == told


def test_ledgers_have_no_moments(tmp_path: Path) -> None:
    crash = '[[faults]]\nkind = "broker_crash"\nbroker = 1\nfrom_round = 5\nmoment = 0.5\n'
    variant = '[[variants]]\nname = "l"\nprotocol = "bookkeeper"\n'
    told = ["moment of faults has no effect on ledgers: they play whole rounds (scenario l)"]
    assert notes(tmp_path, more=crash) == []
    assert notes(tmp_path, more=crash + variant) == told


def test_a_note_of_some_scenarios_names_them(tmp_path: Path) -> None:
    variant = '[[variants]]\nname = "v"\ntopics = [{ name = "t", config = { "cleanup.policy" = "compact" } }]\n'
    assert [note.endswith("(scenario v)") for note in notes(tmp_path, more=variant)] == [True]


def test_notes_go_to_standard_error(tmp_path: Path) -> None:
    notes(tmp_path, 'config = { "cleanup.policy" = "compact" }')
    told = CliRunner().invoke(commands, ["run", str(tmp_path / "noted.toml"), "--dry-run"], standalone_mode=False)
    assert "note: compaction is not emulated" in told.stderr
    assert "note" not in told.stdout
