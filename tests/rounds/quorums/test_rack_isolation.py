"""Groups of five of which three are in a rack whose network is cut (docs/quorum_rounds.md, 1. Inputs). No Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.inputs.quorum_arrays.prepare import PreparedGroups, read_group_block
from emulator.rounds.quorums.play_block import play
from tests.group_scenarios import load, tables_of
from tests.rounds.quorums.test_group_leaps import words_kept

CUT = 10
END = 40


def text_of(protocol: str, faults: str, config: str = "", rounds: int = END, servers: tuple[int, ...] = (1, 2, 3, 4, 5)) -> str:
    """Servers 1, 3 and 5 are in rack 0; 1 leads. A record a round."""
    return f"""
        protocol = "{protocol}"
        rounds = {rounds}
        round_ms = 500
        [cluster]
        brokers = 5
        racks = 2
        config = {{ {config} }}
        [[topics]]
        name = "t"
        assignment = [{list(servers)}]
        [[workload]]
        topic = "t"
        records_per_round = 1
        {faults}
    """


def fault(kind: str, from_round: int = CUT, to_round: int = 99, **more: Any) -> str:
    said = "".join(f"{key} = {'true' if value is True else repr(value)}\n" for key, value in more.items())
    return f'[[faults]]\nkind = "{kind}"\nfrom_round = {from_round}\nto_round = {to_round}\n{said}'


def rack(from_round: int = CUT, to_round: int = 99, **more: Any) -> str:
    return fault("rack_isolation", from_round, to_round, rack="0", **more)


def each(from_round: int = CUT, to_round: int = 99) -> str:
    return "".join(fault("isolation", from_round, to_round, broker=broker) for broker in (1, 3, 5))


def played(text: str, folder: Path) -> tuple[dict[str, Any], list[tuple[int, str, int]]]:
    """Outcomes of the group, and its events."""
    tables = tables_of(load(folder, text))
    assert not tables["violations"]
    return tables["outcomes"][0], [(e["round"], e["kind"], e["broker"]) for e in tables["events"]]


@pytest.mark.parametrize(
    ("protocol", "config", "acked", "acked_apart"),
    [
        ("raft", '"pre.vote" = true', END, CUT),
        ("quorum", "", END, CUT),
        ("zab", "", END, CUT),
        ("viewstamped", "", END, CUT),
        ("hdfs-journal", "", END, CUT),
        ("kraft", "", END - 1, CUT - 1),  # what is fetched in a round the leader learns in the next one
    ],
)
def test_a_majority_that_is_cut_off_goes_on(tmp_path: Path, protocol: str, config: str, acked: int, acked_apart: int) -> None:
    """Its clients reach it: with isolation of each nothing is committed, and with `clients` nothing comes."""
    outcomes, events = played(text_of(protocol, rack(), config), tmp_path)
    assert (outcomes["acked"], outcomes["elections"], outcomes["leaderless_rounds"]) == (acked, 0, 0)
    assert not [event for event in events if event[1] == "leader_lost"]
    assert played(text_of(protocol, each(), config), tmp_path)[0]["acked"] == acked_apart
    outcomes, _ = played(text_of(protocol, rack(clients=True), config), tmp_path)
    assert (outcomes["appended"], outcomes["leaderless_rounds"]) == (CUT, END - CUT)


@pytest.mark.parametrize("protocol", ["pacifica", "primary-backup-sync"])
def test_the_elector_is_outside(tmp_path: Path, protocol: str) -> None:
    """It hears nobody in the rack: a server outside is the primary as soon as the old one may not go on."""
    _, events = played(text_of(protocol, rack()), tmp_path)
    assert [event for event in events if event[1] == "election"] == [(CUT + 3, "election", 2)]
    assert events == played(text_of(protocol, each()), tmp_path)[1]


def test_an_isolation_or_a_cut_link_in_the_rack_takes_its_majority(tmp_path: Path) -> None:
    """Of servers 3 and 5 the leader needs both: rounds 20 to 24, and 30 to 34, commit later."""
    more = fault("isolation", 20, 25, broker=3) + fault("link_cut", 30, 35, broker=1, peer=5, direction="out")
    for rounds, acked in ((20, 20), (24, 20), (30, 30), (34, 30), (END, END)):
        outcomes, _ = played(text_of("raft", rack() + more, '"pre.vote" = true', rounds), tmp_path)
        assert outcomes["acked"] == acked, rounds


DIES = 15


@pytest.mark.parametrize(("kind", "round_"), [("broker_crash", DIES), ("power_loss", DIES + 3)])
def test_closed_connections_of_zab_within_the_rack(tmp_path: Path, kind: str, round_: int) -> None:
    """Whose process dies closes its connections to rack-mates: the leader without a majority leaves at once, not after 2 s."""
    die = fault(kind, DIES, 99, broker=3) + fault(kind, DIES, 99, broker=5)
    _, events = played(text_of("zab", rack() + die), tmp_path)
    assert events == [(round_, "step_down", 1), (round_, "leader_lost", 1)]


BACK = 22


@pytest.mark.parametrize(
    ("cut", "election"),
    [("", BACK + 3), (rack(19), BACK + 3), (each(19), None), (rack(19) + fault("isolation", 19, 30, broker=1), 33)],
)
def test_a_new_writer_fences_within_the_rack(tmp_path: Path, cut: str, election: int | None) -> None:
    """The old writer pauses until BACK, and 3 gets its lock; it is reached as soon as it runs, if nothing isolates it from 3.

    Then it takes three rounds more, as without a cut.
    """
    config = '"ha.failover-controller.graceful-fence.rpc-timeout.ms" = 10000, "election.timeout.ms" = 6000'
    pause = fault("broker_pause", 5, BACK, broker=1)
    text = text_of("hdfs-journal", pause + cut, config, 60, (1, 3, 5, 2, 4))
    assert [at for at, kind, _ in played(text, tmp_path)[1] if kind == "election"] == ([] if election is None else [election])


IN_TURN = (
    *(rack(10, 30), fault("isolation", 14, 18, broker=3), rack(60, 90, clients=True)),
    *(fault("rack_isolation", 70, 100, rack="1"), fault("broker_crash", 75, 80, broker=5)),
    *(fault("link_cut", 64, 68, broker=1, peer=3), rack(130, 160)),
)


@pytest.mark.parametrize("protocol", ["raft", "quorum", "zab", "kraft", "viewstamped", "pacifica", "hdfs-journal"])
def test_leaps_equal_playing(tmp_path: Path, protocol: str) -> None:
    run = load(tmp_path, text_of(protocol, "".join(IN_TURN), rounds=300))
    ended = []
    for leaps in (False, True):
        groups = PreparedGroups(run.scenarios, leaps)
        block = read_group_block(groups.payload(0, groups.count))
        ended.append(play(block.state, block.inputs))
    (played_to_end, told), (leapt, told_by_leaps) = ended
    for name, column in words_kept(played_to_end).items():
        assert np.array_equal(column, words_kept(leapt)[name]), name
    assert np.array_equal(told.events, told_by_leaps.events)
