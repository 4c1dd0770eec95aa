"""BookKeeper's own placement policies and bookies that join: first ensembles, replacements, what is refused. No Spark."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.errors import InputError
from emulator.scenario import load_run
from tests.bookkeeper.by_reference import run_of_cases
from tests.reference.bookkeeper.drawn_placement import DEFAULT, RACKAWARE, REGION_AWARE, DrawnPlacement, draw_of, region_of
from tests.reference.bookkeeper.quorums import Quorums
from tests.rounds.bookkeeper.compared import of_rounds, played

HEAD = 'protocol = "bookkeeper"\nrounds = 10\n'


def first_ensembles(
    folder: Path, policy: str, cluster: str, ledgers: int = 60, config: str = "", top: str = "", more: str = ""
) -> np.ndarray:
    """The first ensembles of a topic's ledgers."""
    topic = f'[[topics]]\nname = "t"\npartitions = {ledgers}\nplacement = "{policy}"\nconfig = {{ {config} }}\n'
    (folder / "s.toml").write_text(f"{HEAD}{top}[cluster]\n{cluster}\n{topic}{more}")
    return load_run(str(folder / "s.toml")).scenarios[0].topics[0].assignment


def racks_of(ensembles: np.ndarray, racks: int) -> np.ndarray:
    """Numbers of racks instead of bookies."""
    return (ensembles - 1) % racks


def test_random_ensembles_are_even_and_the_seeds(tmp_path: Path) -> None:
    drawn = first_ensembles(tmp_path, DEFAULT, "brokers = 6", 900)
    pairs = Counter(pair for ensemble in drawn.tolist() for pair in combinations(sorted(ensemble), 2))
    assert len(pairs) == 15
    assert max(pairs.values()) < 1.5 * min(pairs.values())  # 180 in the mean
    assert (np.bincount(drawn[:, 0])[1:] > 120).all()
    assert (drawn[:50] == first_ensembles(tmp_path, DEFAULT, "brokers = 6", 50)).all()
    assert (drawn[:50] != first_ensembles(tmp_path, DEFAULT, "brokers = 6", 50, top="seed = 1\n")).any()


@pytest.mark.parametrize(("size", "write"), [(3, 2), (4, 3), (2, 2), (5, 3)])
def test_rack_aware_write_quorums_have_two_racks(tmp_path: Path, size: int, write: int) -> None:
    config = f"ensembleSize = {size}, writeQuorumSize = {write}"
    drawn = first_ensembles(tmp_path, RACKAWARE, "brokers = 9\nracks = 3", 100, config)
    racks = racks_of(drawn, 3)
    for start in range(size):
        quorums = racks[:, [(start + step) % size for step in range(write)]]
        assert min(len(set(quorum)) for quorum in quorums.tolist()) >= 2
    assert len(np.unique(drawn, axis=0)) > 40


def test_racks_that_are_used_up_may_come_once_more(tmp_path: Path) -> None:
    drawn = first_ensembles(tmp_path, RACKAWARE, "brokers = 12\nracks = 2", 60, "ensembleSize = 4")
    racks = racks_of(drawn, 2)
    assert (racks[:, :2].sum(axis=1) == 1).all() and (racks.sum(axis=1) == 2).all()


def test_enforced_racks(tmp_path: Path) -> None:
    enforced = "enforceMinNumRacksPerWriteQuorum = true"
    for cluster in ("brokers = 4", "brokers = 4\nracks = 1"):
        with pytest.raises(InputError, match=r"topics.*placement: .*finds no ensemble with 2 racks"):
            first_ensembles(tmp_path, RACKAWARE, cluster, config=enforced)
        assert len(first_ensembles(tmp_path, RACKAWARE, cluster)) == 60
        assert len(first_ensembles(tmp_path, DEFAULT, cluster, config=enforced)) == 60


def test_regions_share_an_ensemble(tmp_path: Path) -> None:
    drawn = first_ensembles(tmp_path, REGION_AWARE, "brokers = 12\nracks = 6\nregions = 2", 60, "ensembleSize = 4")
    regions = racks_of(drawn, 6) % 2
    assert (regions == [0, 0, 1, 1]).all()
    # The second of a region leaves the write quorum in one region whatever its rack is: then the policy takes anybody there.
    of_first = racks_of(drawn, 6)[:, :2]
    assert (of_first[:, 0] == of_first[:, 1]).any()
    wide = first_ensembles(
        tmp_path, REGION_AWARE, "brokers = 12\nracks = 6\nregions = 2", 60, "ensembleSize = 3, writeQuorumSize = 3"
    )
    of_first = racks_of(wide, 6)[:, :2]
    assert (of_first[:, 0] != of_first[:, 1]).all()
    in_turn = first_ensembles(tmp_path, REGION_AWARE, "brokers = 12\nracks = 6\nregions = 3", 6, "ensembleSize = 2")
    assert (racks_of(in_turn, 6) % 3).tolist() == [[0, 1], [2, 0], [1, 2]] * 2


def test_what_regions_need(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'rack "0" of bookie 1 names no region'):
        first_ensembles(tmp_path, REGION_AWARE, "brokers = 4\nracks = 2")
    with pytest.raises(InputError, match=r"cluster\.regions: there are no racks to put into regions"):
        first_ensembles(tmp_path, REGION_AWARE, "brokers = 4\nregions = 2")
    with pytest.raises(InputError, match=r"cluster\.regions: 3 regions of 2 racks"):
        first_ensembles(tmp_path, REGION_AWARE, "brokers = 4\nracks = 2\nregions = 3")


def test_who_replaces_whom() -> None:
    """RackawareEnsemblePlacementPolicyImpl.replaceBookie: the same rack, then no rack of the others, then anybody."""
    racks = {1: "a/1", 2: "a/1", 3: "a/2", 4: "a/2", 5: "b/3", 6: "b/3"}

    def replace(policy: str, ensemble: list[int], gone: set[int], enforce: bool = False) -> set[int | None]:
        free = set(racks) - set(ensemble) - gone
        chosen = set()
        for seed in range(40):
            drawn = DrawnPlacement(
                policy, Quorums(2, 2, 2), racks, 2, enforce, lambda index, one, s=seed: draw_of(s, 0, 0, 0, index, one)
            )
            chosen.add(drawn.replacement(ensemble, 0, free))
        return chosen

    assert replace(DEFAULT, [1, 3], set()) == {2, 4, 5, 6}
    assert replace(RACKAWARE, [1, 3], set()) == {2}
    assert replace(RACKAWARE, [1, 3], {2}) == {5, 6}
    assert replace(RACKAWARE, [1, 3], {2, 5, 6}) == {4}
    assert replace(RACKAWARE, [1, 3], {2, 5, 6}, enforce=True) == {None}
    assert replace(REGION_AWARE, [1, 3], {2}) == {4}
    assert replace(REGION_AWARE, [1, 3], {2, 4}) == {5, 6}
    assert region_of("a/1") == "a"


def case(**more: Any) -> dict[str, Any]:
    """A ledger on two bookies, of which the first crashes."""
    return {
        "rounds": 12,
        "round_ms": 500,
        "brokers": [1, 2, 3],
        "replicas": [1, 2],
        "topic_config": {"ensembleSize": 2, "writeQuorumSize": 2, "ackQuorumSize": 2},
        "workload": [{"from_round": 0, "to_round": 10, "records_per_round": 1, "max_in_flight": 1}],
        "faults": [{"kind": "broker_crash", "broker": 1, "from_round": 4, "to_round": 12}],
        "commands": [],
        **more,
    }


def test_a_bookie_that_joins(tmp_path: Path) -> None:
    joins = {name: [{"kind": "add_bookie", "round": round_, "broker": 3}] for name, round_ in (("soon", 3), ("late", 8))}
    cases = {name: case(commands=commands) for name, commands in joins.items()} | {"at_once": case()}
    game = played(run_of_cases(cases, tmp_path).scenarios)
    soon, late, at_once = (of_rounds(game, place) for place in range(3))
    assert soon == at_once
    assert soon["fragments"] == [(0, [1, 2]), (4, [3, 2])]
    assert late["state"] == "CLOSED" and late["fragments"] == [(0, [1, 2])]


def test_first_ensembles_are_without_who_joins_later(tmp_path: Path) -> None:
    joins = '[[commands]]\nkind = "add_bookie"\nbroker = 4\nround = 3\n'
    for policy in (DEFAULT, RACKAWARE, "lowest_free_id", "rack_aware"):
        drawn = first_ensembles(tmp_path, policy, "brokers = 5\nracks = 3", more=joins)
        assert set(drawn.flatten().tolist()) == {1, 2, 3, 5}
    at_the_start = joins.replace("round = 3", "round = 0")
    assert 4 in first_ensembles(tmp_path, DEFAULT, "brokers = 5", more=at_the_start)


JOINS = '{ kind = "add_bookie", broker = 4, round = 3 }'
NOT_TOGETHER = {
    "bookie 4 joins twice": '{ kind = "add_bookie", broker = 4, round = 5 }',
    "bookie 4 is decommissioned before it joins": '{ kind = "decommission_bookie", broker = 4, round = 2 }',
}


@pytest.mark.parametrize("said", NOT_TOGETHER)
def test_what_does_not_go_together(tmp_path: Path, said: str) -> None:
    with pytest.raises(InputError, match=said):
        first_ensembles(tmp_path, DEFAULT, "brokers = 5", top=f"commands = [{JOINS}, {NOT_TOGETHER[said]}]\n")


def test_nobody_starts_on_who_joins_later(tmp_path: Path) -> None:
    text = HEAD + 'commands = [{ kind = "add_bookie", broker = 3, round = 3 }]\n[cluster]\nbrokers = 4\n'
    (tmp_path / "s.toml").write_text(text + '[[topics]]\nname = "t"\nassignment = [[1, 2, 3]]\n')
    with pytest.raises(InputError, match=r"assignment.*broker 3 does not exist"):
        load_run(str(tmp_path / "s.toml"))
