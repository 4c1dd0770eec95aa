"""Reads the fixtures of phases: a small partition before and after a phase, as text.

A file is a phase, a function that play_round.py calls (played.py says where it is over). Its fixtures begin with `=== name`; `#`
begins a comment.

    === acks=1 is appended below min.insync.replicas
    settings: min.insync.replicas=2             configuration and features, under Kafka's names
    partition: leader=1@3 isr=1                 the partition before the round
    append: records=5 acks=1                    a workload row; `command: kind=...` is a command of this round
    broker  faults   leo  epochs                replicas before the round: brokers 1, 2, ... in replica order
    1       -        10   3:0
    2       offline  8    3:0
    then
    partition: leader=1@3                       expected after the phase; what is not named is not compared
    broker  leo
    1       15

`-` is none. `1@3` is a leader and its epoch, `0:0,3:8` an epoch cache (epoch:start offset), `1,2` are brokers; `previous`, the
fetch that T noted before, is `6@10` (round@LEO of T then; noted_round and noted_leader_leo of a replica's record); `answers`,
what replicas told a controller without a leader in the round before, are `2:0:10,3:-1:0` (broker:last epoch:LEO). All that a
`command: kind=alter_config` says is the topic's configuration. What is not said of the partition before the round is as
`_partition` and `_replica` have it: all caught up, in the ISR and heard in the round before, all believe in the leader, no
faults.

`faults` are the words of docs/kafka_rounds.md: offline, paused, isolated, waking, stale (metadata), fenced, returning, restarted,
unclean_restart (which is restarted too), clean_stop, power_loss, disk_loss, clients_cut, and `cut=2>1` of the partition is a link
on which messages are dropped.

What may stand after `then`, `seen_of_replica` and `seen_of_partition` of played.py have: besides the columns above joins and
shrinks (what `joiners_of` and `laggards_of` return), holds (whom the high watermark waits for, before those leave), appended,
refused, truncated, events and counters of the partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROUND = 7
RECORD_BYTES = 100
LEO = 10

PARTITION_KEYS = {
    "round", "controller", "leader", "isr", "elr", "last_known_elr", "answers", "client", "ready", "known_isr", "pending_joins",
    "pending_shrinks", "cut",
}  # fmt: skip
REPLICA_KEYS = {
    "broker", "faults", "leads", "believes", "log_start", "leo", "hw", "checkpoint", "flushed", "epochs", "remote_leo",
    "caught_up", "previous",
}  # fmt: skip

Cells = dict[str, str]


@dataclass
class Fixture:
    """A fixture as it is written, from a line of its file on: cells of text."""

    phase: str
    name: str
    line: int
    settings: Cells = field(default_factory=dict)
    appends: list[Cells] = field(default_factory=list)
    commands: list[Cells] = field(default_factory=list)
    partition: Cells = field(default_factory=dict)
    replicas: list[Cells] = field(default_factory=list)
    partition_after: Cells = field(default_factory=dict)
    replicas_after: list[Cells] = field(default_factory=list)

    def expected(self) -> list[tuple[str, str, str]]:
        """(broker, column, value) of every cell after the phase; no broker for those of the partition."""
        cells = [("", column, value) for column, value in self.partition_after.items()]
        for row in self.replicas_after:
            cells += [(row["broker"], column, value) for column, value in row.items() if column != "broker"]
        return cells


def read_fixtures(folder: Path) -> list[Fixture]:
    """All fixtures of a folder."""
    return [fixture for path in sorted(folder.glob("*.txt")) for fixture in _fixtures(path.stem, path.read_text().splitlines())]


def _fixtures(phase: str, lines: list[str]) -> Iterator[Fixture]:
    fixture, after, header = Fixture(phase, "", 0), False, []
    for number, line in enumerate((line.split("#")[0].strip() for line in lines), 1):
        key, _, rest = line.partition(":")
        if line.startswith("==="):
            if fixture.name:
                yield fixture
            fixture, after = Fixture(phase, line.strip("= "), number), False
        elif line == "then":
            after = True
        elif key == "settings":
            fixture.settings = _pairs(rest)
        elif key in ("append", "command"):
            (fixture.appends if key == "append" else fixture.commands).append(_pairs(rest))
        elif key == "partition":
            (fixture.partition_after if after else fixture.partition).update(_pairs(rest))
        elif line.startswith("broker"):
            header = line.split()
        elif line:
            row = dict(zip(header, line.split(), strict=True))
            (fixture.replicas_after if after else fixture.replicas).append(row)
    yield fixture


def _pairs(text: str) -> Cells:
    return dict(pair.split("=", 1) for pair in text.split())


@dataclass(frozen=True)
class Situation:
    """A fixture before the round, in values: everything is said, brokers are 0, 1, ..., no leader is -1."""

    settings: dict[str, Any]
    appends: list[dict[str, Any]]
    commands: list[dict[str, Any]]
    partition: dict[str, Any]
    replicas: list[dict[str, Any]]


def situation_of(fixture: Fixture) -> Situation:
    """What the text says, and what it leaves to the defaults."""
    unknown = fixture.partition.keys() - PARTITION_KEYS | {key for row in fixture.replicas for key in row.keys() - REPLICA_KEYS}
    assert not unknown, f"{fixture.phase}, {fixture.name}: {unknown}"
    partition = _partition(fixture.partition, len(fixture.replicas))
    leader_leo = int(fixture.replicas[partition["client_leader"]].get("leo", LEO))
    replicas = [_replica(broker, cells, partition, leader_leo) for broker, cells in enumerate(fixture.replicas)]
    appends = [
        {
            "records_per_round": int(row["records"]),
            "record_bytes": int(row.get("record_bytes", RECORD_BYTES)),
            "acks": row["acks"],
        }
        for row in fixture.appends
    ]
    commands = [_command(row) for row in fixture.commands]
    return Situation({key: _value(value) for key, value in fixture.settings.items()}, appends, commands, partition, replicas)


def _command(cells: Cells) -> dict[str, Any]:
    given = {key: _value(value) for key, value in cells.items()}
    if given["kind"] == "reassign":
        given["replicas"] = _brokers(cells["replicas"])
    if given["kind"] != "alter_config":
        return given
    return {"kind": given.pop("kind"), "config": given}


def _partition(cells: Cells, brokers: int) -> dict[str, Any]:
    everyone = ",".join(str(broker + 1) for broker in range(brokers))
    leader = cells.get("leader", "1@0")
    isr = cells.get("isr", everyone)
    client_leader, client_epoch = _at(cells.get("client", leader))
    return {
        "round": int(cells.get("round", ROUND)),
        "controller_up": cells.get("controller", "up") == "up",
        "leader": _at(leader)[0],
        "leader_epoch": _at(leader)[1],
        "isr": _brokers(isr),
        "elr": _brokers(cells.get("elr", "-")),
        "last_known_elr": _brokers(cells.get("last_known_elr", "-")),
        "answers": [_answer(text) for text in _listed(cells.get("answers", "-"))],
        "client_leader": client_leader,
        "client_epoch": client_epoch,
        "ready": cells.get("ready", "yes") == "yes",
        "known_isr": _brokers(cells.get("known_isr", isr)),
        "pending_joins": _brokers(cells.get("pending_joins", "-")),
        "pending_shrinks": _brokers(cells.get("pending_shrinks", "-")),
        "cut_links": [tuple(int(broker) - 1 for broker in link.split(">")) for link in _listed(cells.get("cut", "-"))],
    }


def _replica(broker: int, cells: Cells, partition: dict[str, Any], leader_leo: int) -> dict[str, Any]:
    leo = int(cells.get("leo", LEO))
    hw = int(cells.get("hw", leo))
    leads = broker == partition["client_leader"] and partition["ready"]
    believes = cells.get("believes", f"{partition['client_leader'] + 1}@{partition['client_epoch']}")
    epochs = cells.get("epochs", f"{partition['client_epoch']}:0" if leo or leads else "-")
    previous = cells.get("previous", f"{partition['round'] - 1}@{leader_leo}")
    return {
        "faults": _listed(cells.get("faults", "-")),
        "leads": cells["leads"] == "yes" if "leads" in cells else leads,
        "believed_leader": _at(believes)[0],
        "believed_epoch": _at(believes)[1],
        "log_start": int(cells.get("log_start", 0)),
        "leo": leo,
        "hw": hw,
        "hw_checkpoint": int(cells.get("checkpoint", hw)),
        "flushed_offset": int(cells.get("flushed", leo)),
        "epochs": [tuple(int(part) for part in entry.split(":")) for entry in _listed(epochs)],
        "record_bytes": RECORD_BYTES,
        "remote_leo": _number(cells.get("remote_leo", str(leo))),
        "caught_up_round": _number(cells.get("caught_up", str(partition["round"] - 1))),
        "previous_round": None if previous == "-" else int(previous.split("@")[0]),
        "previous_leader_leo": None if previous == "-" else int(previous.split("@")[1]),
    }


def _listed(text: str) -> list[str]:
    return [] if text == "-" else text.split(",")


def _brokers(text: str) -> list[int]:
    return [int(broker) - 1 for broker in _listed(text)]


def _answer(text: str) -> tuple[int, int, int]:
    broker, epoch, leo = text.split(":")
    return int(broker) - 1, int(epoch), int(leo)


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


def _at(text: str) -> tuple[int, int]:
    broker, epoch = text.split("@")
    return -1 if broker == "-" else int(broker) - 1, int(epoch)


def _value(text: str) -> Any:
    words = {"true": True, "false": False}
    return words.get(text, int(text) if text.lstrip("-").isdigit() else text)


def as_text(column: str, seen: dict[str, Any]) -> str:
    """What a fixture's cell would say of a replica or partition that was seen after a phase."""
    if column in ("leader", "client", "believes"):
        broker, epoch = {
            "leader": ("leader", "leader_epoch"),
            "client": ("client_leader", "client_epoch"),
            "believes": ("believed_leader", "believed_epoch"),
        }[column]
        return f"{seen[broker] + 1 if seen[broker] >= 0 else '-'}@{seen[epoch]}"
    if column == "previous":
        return f"{_text(seen['previous_round'])}@{_text(seen['previous_leader_leo'])}"
    if column == "epochs":
        return ",".join(f"{entry['epoch']}:{entry['start_offset']}" for entry in seen["epochs"]) or "-"
    if column == "answers":
        return ",".join(f"{answer['slot'] + 1}:{answer['epoch']}:{answer['leo']}" for answer in seen["answers"]) or "-"
    if column in ("isr", "elr", "last_known_elr", "replicas", "pending_joins", "pending_shrinks", "known_isr"):
        return ",".join(str(broker + 1) for broker in seen[column]) or "-"
    return _text(seen[column])


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(map(str, value)) or "-"
    return "-" if value is None else str(value)
