"""The notes on a small scenario, and lines of scenario files for them."""

from __future__ import annotations

from pathlib import Path

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


def of_ledgers(tmp_path: Path, topic: str, cluster: str = "") -> list[str]:
    """The notes of a file with one topic of ledgers."""
    path = tmp_path / "ledgers.toml"
    head = f'protocol = "bookkeeper"\nrounds = 50\n[cluster]\nbrokers = 3\n{cluster}\n'
    path.write_text(f'{head}[[topics]]\nname = "t"\npartitions = 2\n{topic}\n')
    return notes_of(load_run(str(path)))


def workload(*rows: str) -> str:
    """Rows of the workload of topic t that say so."""
    return "".join(f'[[workload]]\ntopic = "*"\nrecord_bytes = 10\n{row}\n' for row in rows)


def command(kind: str, round_: int, more: str = "", topic: str = 'topic = "t"\n') -> str:
    return f'[[commands]]\nround = {round_}\nkind = "{kind}"\n{topic}{more}\n'
