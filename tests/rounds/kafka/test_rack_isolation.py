"""A rack whose network is cut: its brokers go on replicating to each other (docs/kafka_rounds.md, Rack-mates). No Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rounds.kafka.compared import Played, events_of, outcomes_of, played, scenarios_of, trace_of
from tests.rounds.kafka.test_leaps import differences

CUT = 5
"""The first round of the fault: each replica has 50 records. Its brokers are fenced four rounds later."""
BACK = 15
FENCED = CUT + 4


def cut_text(
    faults: str, replicas: tuple[int, ...] = (1, 3, 2), workload: str = 'acks = "1"', rounds: int = 24, cluster: str = ""
) -> str:
    """Brokers 1 and 3 are in rack 0, brokers 2 and 4 in rack 1; a partition of two brokers in rack 0 and one in rack 1."""
    return f"""
        name = "cut"
        rounds = {rounds}
        [cluster]
        brokers = 4
        racks = 2
        session_timeout_rounds = 4
        {cluster}
        [[topics]]
        name = "t"
        assignment = [{list(replicas)}]
        config = {{ "min.insync.replicas" = 2 }}
        [[workload]]
        topic = "t"
        records_per_round = 10
        {workload}
        {faults}
    """


def fault(kind: str = "rack_isolation", from_round: int = CUT, to_round: int = BACK, **more: object) -> str:
    """Of rack 0, if nothing else is said."""
    more = more if more.keys() & {"broker", "rack"} else {"rack": "0", **more}
    said = "".join(f"{key} = {str(value).lower() if value in (True, False) else repr(value)}\n" for key, value in more.items())
    return f'[[faults]]\nkind = "{kind}"\nfrom_round = {from_round}\nto_round = {to_round}\n{said}'


def game_of(text: str, folder: Path) -> Played:
    game = played(scenarios_of(text, folder).scenarios)
    assert not len(game.told.violations)
    return game


def column(game: Played, round_: int, name: str = "leo") -> dict[int, object]:
    """By broker what it has at the end of a round."""
    return {row["broker"]: row[name] for row in trace_of(game)[0] if row["round"] == round_}


def lost(game: Played) -> int:
    return sum(e["to_offset"] - e["from_offset"] for e in events_of(game).get(0, []) if e["kind"] == "acked_lost")


def test_a_leader_and_a_follower_that_are_cut_off_together(tmp_path: Path) -> None:
    """Broker 1 leads on for its clients, and 3 has all of it, until 2 is elected; what they have by then is lost."""
    game = game_of(cut_text(fault()), tmp_path)
    assert column(game, CUT - 1) == {1: 50, 2: 50, 3: 50}
    assert column(game, CUT) == {1: 60, 2: 50, 3: 60}
    assert column(game, FENCED - 1) == {1: 90, 2: 50, 3: 90}
    assert column(game, FENCED - 1, "hw") == {1: 40, 2: 30, 3: 40}  # 2 is in the ISR: nobody can tell the controller of it
    assert column(game, FENCED - 1, "fetch_state") == {1: None, 2: None, 3: "fetched"}
    assert [(e["round"], e["broker"]) for e in events_of(game)[0] if e["kind"] == "election"] == [(FENCED, 2)]
    assert column(game, BACK - 1) == {1: 90, 2: 110, 3: 90}  # ten a round again from the election on
    assert column(game, BACK - 1, "role") == {1: "leader", 2: "leader", 3: "follower"}
    assert lost(game) == 40
    cuts = [(e["broker"], e["from_offset"], e["to_offset"]) for e in events_of(game)[0] if e["kind"] == "truncate"]
    assert cuts == [(1, 90, 50), (3, 90, 50)]
    assert len(set(column(game, 20).values())) == 1


def test_isolation_of_each_of_them_is_another_thing(tmp_path: Path) -> None:
    game = game_of(cut_text(both(BACK)), tmp_path)
    assert column(game, FENCED - 1) == {1: 90, 2: 50, 3: 50}
    assert lost(game) == 40


def test_followers_that_are_cut_off_from_their_leader(tmp_path: Path) -> None:
    """They reach each other, and neither leads."""
    game = game_of(cut_text(fault(), (2, 1, 3)), tmp_path)
    assert column(game, BACK - 1) == {1: 50, 2: 50 + 10 * (BACK - CUT), 3: 50}
    assert not [e for e in events_of(game)[0] if e["kind"] == "election"]
    assert column(game, BACK - 1, "in_isr") == {1: False, 2: True, 3: False}


def test_nothing_is_lost_where_clients_are_cut_off_too(tmp_path: Path) -> None:
    game = game_of(cut_text(fault(clients=True)), tmp_path)
    assert column(game, FENCED - 1) == {1: 50, 2: 50, 3: 50}
    assert lost(game) == 0


def test_a_fault_of_one_of_them_takes_it_out_for_its_time(tmp_path: Path) -> None:
    """In rounds 6 and 7 broker 3 is isolated by itself; then it has what it missed from its rack-mate."""
    game = game_of(cut_text(fault() + fault("isolation", CUT + 1, CUT + 3, broker=3)), tmp_path)
    assert [column(game, CUT + at)[3] for at in range(4)] == [60, 60, 60, 90]
    assert [column(game, CUT + at)[1] for at in range(4)] == [60, 70, 80, 90]


@pytest.mark.parametrize("direction", ["out", "in", "both"])
def test_links_within_the_rack_can_be_cut(tmp_path: Path, direction: str) -> None:
    """Of broker 1 to 3: the answer, or the request, is lost."""
    cut = fault("link_cut", CUT + 1, CUT + 3, broker=1, peer=3, direction=direction)
    game = game_of(cut_text(fault() + cut), tmp_path)
    assert [column(game, CUT + at)[3] for at in range(4)] == [60, 60, 60, 90]


def test_two_racks_that_are_cut_off_at_once(tmp_path: Path) -> None:
    """As one alone, but that nobody can be elected: whom the controller hears is of no rack."""
    game = game_of(cut_text(fault() + fault(rack="1"), (1, 3, 2, 4)), tmp_path)
    assert column(game, FENCED - 1) == {1: 90, 2: 50, 3: 90, 4: 50}
    assert [(e["round"], e["kind"]) for e in events_of(game)[0] if e["kind"] in ("election", "leader_lost")] == [
        (FENCED, "leader_lost"),
        (BACK, "election"),
    ]


def test_a_broker_that_is_alone_in_its_rack(tmp_path: Path) -> None:
    """Broker 3 is in rack 2, which is cut off as well: it reaches nobody."""
    text = cut_text(fault() + fault(rack="2")).replace("racks = 2", "racks = 3").replace("brokers = 4", "brokers = 6")
    game = game_of(text, tmp_path)
    assert column(game, FENCED - 1) == {1: 90, 2: 50, 3: 50}


def test_the_high_watermark_of_all_in_the_rack_moves(tmp_path: Path) -> None:
    """A partition whose ISR is in the rack that is cut off: commits go on, acks=all too, until its brokers are fenced."""
    game = game_of(cut_text(fault(), (1, 3), 'acks = "all"'), tmp_path)
    assert column(game, FENCED - 1) == {1: 90, 3: 90}
    assert column(game, FENCED - 1, "hw") == {1: 80, 3: 70}
    assert lost(game) == 0
    apart = game_of(cut_text(both(BACK), (1, 3), 'acks = "all"'), tmp_path)
    assert column(apart, FENCED - 1, "hw") == {1: 40, 3: 30}


DEATH = 8
DIES = fault("broker_crash", DEATH, 24, broker=1, moment=0.75)
IN_ALL = fault("rack_loss", DEATH, 24, moment=0.75)


def both(to_round: int, **more: object) -> str:
    """Isolation of each of the rack's brokers."""
    return fault("isolation", to_round=to_round, broker=1, **more) + fault("isolation", to_round=to_round, broker=3, **more)


@pytest.mark.parametrize(
    ("faults", "leos"),
    [
        # Clients are cut off until the round of the death: all logs are as long.
        (fault(to_round=DEATH, clients=True) + DIES, {1: 5750, 2: 5000, 3: 5750}),
        (both(DEATH, clients=True) + DIES, {1: 5750, 2: 5000, 3: 5000}),
        # The network of the rack is cut in and after that round: who dies in it is a rack-mate still.
        (fault() + IN_ALL, {1: 8750, 2: 5000, 3: 8750}),
        (both(BACK) + IN_ALL, {1: 8750, 2: 5000, 3: 5000}),
        (fault() + DIES, {1: 8750, 2: 5000, 3: 8750}),
    ],
)
def test_who_is_level_with_a_leader_that_dies(tmp_path: Path, faults: str, leos: dict[int, int]) -> None:
    """At three quarters of a round of 1000 records, of which whoever is level has fetched all: four fetches a round."""
    text = cut_text(faults, cluster="fetches_per_round = 4").replace("records_per_round = 10\n", "records_per_round = 1000\n")
    assert column(game_of(text, tmp_path), DEATH) == leos


IN_TURN = (
    fault(to_round=15),
    fault("isolation", 8, 11, broker=3),
    fault("rack_isolation", 30, 50, rack="1", clients=True),
    fault("broker_crash", 35, 42, broker=2),
    fault("rack_isolation", 80, 130),
    fault("rack_isolation", 82, 95, rack="1"),
    fault("link_cut", 86, 89, broker=1, peer=3, direction="out"),
    fault("broker_pause", 100, 103, broker=3),
    fault("rack_loss", 120, 124, moment=0.5),
)


@pytest.mark.parametrize("acks", ["all", "1"])
def test_leaps_equal_playing(tmp_path: Path, acks: str) -> None:
    text = cut_text("".join(IN_TURN), (1, 3, 2), f'acks = "{acks}"', rounds=300)
    text = text.replace("assignment = [[1, 3, 2]]", "assignment = [[1, 3, 2], [2, 4, 1], [3, 1]]")
    scenarios = scenarios_of(text, tmp_path).scenarios
    plain, leapt = (played(scenarios, traced=False, leaps=leaps) for leaps in (False, True))
    assert differences(plain, leapt) == []
    assert leapt.state.partitions["played"].max() < 200


def test_what_waits_goes_by_the_high_watermark_that_came_from_a_rack_mate(tmp_path: Path) -> None:
    """3 is elected in round 12, cut off, and not told; the controller gives it up in 14, and it fetches from 1, as before.

    3 had 80 records in round 7, of which 1 said that 60 were committed; it was told of 70 by the fetch. 1 was then cut
    off from 3, and has 40 more.
    """
    faults = fault("broker_crash", 2, 30, broker=2) + fault("isolation", 8, 12, broker=1) + fault(from_round=10, to_round=20)
    games = [game_of(cut_text(faults, workload='acks = "all"', rounds=rounds), tmp_path) for rounds in (14, 15)]
    before, after = column(games[1], 13)[3], column(games[1], 14)[3]
    high = column(games[1], 13, "hw")[3], column(games[1], 14, "hw")[3]
    assert (before, after) == (80, 120) and high == (60, 70)
    first, both = (outcomes_of(game, 0)["unacked_rounds"] for game in games)
    assert both - first == 120 - 70
