"""Placements that draw, or that choose copysets: small ones by hand, and the figures of 300 brokers."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import tomli

from datasets.placement_trials import placement_trials_toml
from emulator.faults.generators import generate
from emulator.graphs.copysets import copysets, loss_probability
from emulator.placement.assignments import Assignment
from emulator.placement.copysets import permuted_copysets, place_at_random, place_on_copysets, tiered_copysets
from emulator.scenario import Scenario, load_run

EXAMPLE = Path(__file__).parents[1] / "datasets" / "examples" / "placements.toml"
SIX = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
HEAD = "rounds = 10\nseed = {seed}\n[cluster]\nbrokers = {brokers}\nracks = 3\n"
TOPIC = '[[topics]]\nname = "{name}"\npartitions = {partitions}\nreplication_factor = 3\nplacement = "{placement}"\n{rest}\n'


def copysets_of(placed: Assignment) -> set[tuple[int, ...]]:
    return {tuple(sorted(row)) for row in placed.tolist()}


def scatter_widths(copysets: Assignment) -> dict[int, int]:
    """How many brokers share a set with each broker."""
    brokers = np.unique(copysets)
    return {int(b): len(np.unique(copysets[(copysets == b).any(axis=1)])) - 1 for b in brokers}


def scenario(tmp_path: Path, placement: str, rest: str = "", brokers: int = 9, seed: int = 1, partitions: int = 600) -> Scenario:
    topics = "".join(TOPIC.format(name=n, partitions=partitions, placement=placement, rest=rest) for n in ("one", "two"))
    (tmp_path / "s.toml").write_text(HEAD.format(seed=seed, brokers=brokers) + topics)
    return load_run(str(tmp_path / "s.toml")).scenarios[0]


def test_random_lists_are_alike_likely() -> None:
    placed = place_at_random([4, 1, 3, 2], 24_000, 3, np.random.default_rng(3))
    counts = Counter(map(tuple, placed.tolist()))
    assert len(counts) == 24  # 4 * 3 * 2 lists, each 1,000 times in the mean, with a deviation of 31
    assert all(850 < count < 1150 for count in counts.values())
    with pytest.raises(ValueError, match="as many brokers"):
        place_at_random([1, 2], 1, 3, np.random.default_rng(3))


def test_random_placement_of_300_brokers_holds_a_45th_of_all_triples() -> None:
    placed = place_at_random(range(300), 100_000, 3, np.random.default_rng(1))
    triples = math.comb(300, 3)
    expected = triples * (1 - (1 - 1 / triples) ** 100_000)  # 98,888
    assert abs(len(copysets_of(placed)) - expected) < 150  # five deviations of some 30


def test_a_permutation_is_cut_into_sets() -> None:
    permutation = np.random.default_rng(5).permutation(np.arange(1, 7)).tolist()
    by_hand = {tuple(sorted(permutation[:3])), tuple(sorted(permutation[3:]))}
    assert copysets_of(permuted_copysets([*SIX], 3, 2, np.random.default_rng(5))) == by_hand


@pytest.mark.parametrize(
    ("brokers", "scatter_width", "sets"), [(300, 4, 200), (300, 2, 100), (300, 5, 300), (9, 2, 3), (10, 2, 4)]
)
def test_permutations_and_sets(brokers: int, scatter_width: int, sets: int) -> None:
    """Scatter width 4 takes two permutations of 100 sets; 10 brokers have one over, which makes a fourth set."""
    copysets = permuted_copysets(range(brokers), 3, scatter_width, np.random.default_rng(1))
    assert copysets.shape == (sets, 3)
    assert all(len(set(row)) == 3 for row in copysets.tolist())
    assert np.unique(copysets).tolist() == list(range(brokers))
    assert min(scatter_widths(copysets).values()) >= 2


def test_copysets_of_one_broker_are_none() -> None:
    with pytest.raises(ValueError, match="2 to 3 brokers"):
        permuted_copysets([1, 2, 3], 1, 1, np.random.default_rng(1))


def test_partitions_stand_on_copysets_of_their_leaders() -> None:
    """Broker 1 has two sets, 3 and 5 one: leaders are brokers alike often, and the sets of 1 share what it leads."""
    copysets = np.array([[1, 2, 3], [1, 4, 5]], np.int32)
    placed = place_on_copysets(copysets, 30_000, np.random.default_rng(1))
    assert copysets_of(placed) == {(1, 2, 3), (1, 4, 5)}
    leaders = Counter(placed[:, 0].tolist())
    assert all(5_700 < leaders[broker] < 6_300 for broker in range(1, 6))  # a fifth, deviation 69
    followers = Counter(map(tuple, placed[placed[:, 0] == 1].tolist()))
    assert set(followers) == {(1, 2, 3), (1, 3, 2), (1, 4, 5), (1, 5, 4)}
    assert all(1_300 < count < 1_700 for count in followers.values())


def test_tiered_copysets_by_hand() -> None:
    """1 takes the first of other racks, 2 and 3; 4 then 5 and 6, who have no set yet: all have scatter width 2.

    For 4, everybody has to meet all brokers of other racks: 1, at 2 still, meets 5 and 6; 2 lacks 4 and 6; 3 lacks 4 and 5.
    """
    assert tiered_copysets(SIX, 3, 2).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert copysets_of(tiered_copysets(SIX, 3, 4)) >= {(1, 2, 3)}
    assert set(scatter_widths(tiered_copysets(SIX, 3, 4)).values()) == {4}
    with pytest.raises(ValueError, match="broker 1 can share copysets with 4 brokers only, not 5"):
        tiered_copysets(SIX, 3, 5)
    with pytest.raises(ValueError, match="2 brokers or more"):
        tiered_copysets(SIX, 1, 1)


@pytest.mark.parametrize("backup_racks", [(), ("0",), ("0", "4")])
def test_tiered_copysets_keep_racks_and_tiers(backup_racks: tuple[str, ...]) -> None:
    racks = {broker: str(broker % 5) for broker in range(60)}
    copysets = tiered_copysets(racks, 3, 8, backup_racks)
    assert min(scatter_widths(copysets).values()) >= 8
    backups = [broker for broker in racks if racks[broker] in backup_racks]
    for row in copysets.tolist():
        assert len({racks[broker] for broker in row}) == 3
        assert sum(broker in backups for broker in row) == bool(backup_racks)
    placed = place_on_copysets(copysets, 2_000, np.random.default_rng(1), backups)
    assert not np.isin(placed[:, :2], backups).any()
    assert np.isin(placed[:, 2], backups).all() == bool(backup_racks)


def test_scenarios_draw_by_seed_and_topic(tmp_path: Path) -> None:
    one, two = scenario(tmp_path, "random").topics
    again = scenario(tmp_path, "random").topics[0]
    assert (one.assignment == again.assignment).all()
    assert (one.assignment != two.assignment).any()
    assert (one.assignment != scenario(tmp_path, "random", seed=2).topics[0].assignment).any()


def test_topics_share_copysets(tmp_path: Path) -> None:
    one, two = scenario(tmp_path, "copyset", "scatter_width = 4", brokers=30).topics
    assert len(copysets_of(one.assignment)) == 20
    assert copysets_of(one.assignment) == copysets_of(two.assignment)
    assert (one.assignment != two.assignment).any()
    other = scenario(tmp_path, "copyset", "scatter_width = 4", brokers=30, seed=2).topics[0]
    assert copysets_of(other.assignment) != copysets_of(one.assignment)


def test_rack_aware_is_kafkas_striped_placer(tmp_path: Path) -> None:
    aware, striped = (scenario(tmp_path, name).topics[0].assignment for name in ("rack-aware", "striped"))
    assert (aware == striped).all()
    assert {len({(broker - 1) % 3 for broker in row}) for row in aware.tolist()} == {3}


def test_tiered_placement_of_a_scenario(tmp_path: Path) -> None:
    placed = scenario(tmp_path, "tiered-replication", "scatter_width = 2\nbackup_racks = [2]").topics[0].assignment
    assert set(placed[:, 2].tolist()) == {3, 6, 9}
    assert {(broker - 1) % 3 for broker in placed[:, :2].ravel().tolist()} == {0, 1}


def test_a_variant_with_another_placement_has_no_scatter_width(tmp_path: Path) -> None:
    variant = '[[variants]]\nname = "v"\ntopics = [{ name = "one", placement = "random" }]\n'
    topic = TOPIC.format(name="one", partitions=60, placement="copyset", rest="scatter_width = 2")
    (tmp_path / "v.toml").write_text(HEAD.format(seed=1, brokers=9) + topic + variant)
    base, other = load_run(str(tmp_path / "v.toml")).scenarios
    assert len(copysets_of(base.topics[0].assignment)) == 3
    assert len(copysets_of(other.topics[0].assignment)) > 20


def test_trials_meet_the_same_failures(tmp_path: Path) -> None:
    text = placement_trials_toml(60, 9, 3, [2, 4], 3, ["random", "copyset:2", "rack-aware"])
    assert len(tomli.loads(text)["variants"]) == 3 * 2 * 3 - 1
    (tmp_path / "t.toml").write_text(text)
    failed: dict[tuple[int, int], set[frozenset[int]]] = {}
    for index, of in enumerate(load_run(str(tmp_path / "t.toml")).scenarios):
        rows = of.faults.to_pylist()
        assert {(row["kind"], row["from_round"], row["to_round"]) for row in rows} == {("power_loss", 5, of.rounds)}
        brokers = frozenset(row["broker"] for row in rows)
        failed.setdefault((len(brokers), index % 3), set()).add(brokers)
    assert sorted(failed) == [(count, draw) for count in (2, 4) for draw in range(3)]
    assert all(len(sets) == 1 for sets in failed.values())
    # The draws are of other brokers, and four failures are the two and two more.
    assert len({one for count, draw in failed if count == 4 for one in failed[count, draw]}) == 3
    for draw in range(3):
        (few,), (more,) = failed[2, draw], failed[4, draw]
        assert few < more


def test_losses_of_300_brokers() -> None:
    """Random: 3 failures lose data in 2.2 % of cases, 15 nearly always; 200 copysets: 15 failures in 2 %.

    Three of 300 are one of 4,455,100 triples; of fifteen 455 triples fail, one of which is one of 200 copysets in 2 %.
    """
    brokers = range(300)
    at_random = copysets([place_at_random(brokers, 100_000, 3, np.random.default_rng(1))])
    few = permuted_copysets(brokers, 3, 4, np.random.default_rng(1))
    chosen = copysets([place_on_copysets(few, 100_000, np.random.default_rng(2))])
    assert len(chosen) == 200
    assert loss_probability(at_random, brokers, 3).probability == pytest.approx(0.0222, abs=5e-5)
    assert loss_probability(at_random, brokers, 15).low > 0.999
    fifteen = loss_probability(chosen, brokers, 15)
    assert fifteen.low < 200 * math.comb(15, 3) / math.comb(300, 3) < fifteen.high
    assert 0.018 < fifteen.probability < 0.0225


def test_the_example_is_as_it_says() -> None:
    placements = ["random", "rack-aware", "copyset:4", "tiered-replication:4"]
    text = EXAMPLE.read_text()
    assert text[text.index("name =") :] == placement_trials_toml(100, 30, 6, [4], 10, placements)


def test_failures_are_drawn_alike_likely() -> None:
    """Every pair of five brokers fails about as often as another: 2,000 draws, 200 of each in the mean, deviation 13."""
    brokers = [(broker, None) for broker in range(1, 6)]
    tables = [generate("random_failures", {"count": 2, "draw": draw}, brokers, 10, 1) for draw in range(2_000)]
    counts = Counter(tuple(table.column("broker").to_pylist()) for table in tables)
    assert set(counts) == set(combinations(range(1, 6), 2))
    assert all(140 < count < 260 for count in counts.values())
