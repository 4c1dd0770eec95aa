"""Times in a scenario file, and what follows round_ms by itself."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from emulator.errors import InputError
from emulator.scenario import Scenario, load_run
from emulator.scenario.durations import milliseconds, rounds_of
from emulator.scenario.notes import notes_of

FILE = """
rounds = "10m"
round_ms = 2000
[cluster]
brokers = 3
CLUSTER
[[topics]]
name = "t"
partitions = 2
replication_factor = 3
[remote_storage]
metadata_lag_rounds = "3s"
[[workload]]
topic = "t"
records_per_round = 5
from_round = "1.5s"
to_round = "9m"
[[consumers]]
group = "g"
topic = "t"
from_round = "1m"
to_round = "2m"
[[faults]]
kind = "stale_metadata"
from_round = "1m"
to_round = "2m"
lag_rounds = "500ms"
[[commands]]
kind = "preferred_leader_election"
topic = "t"
round = "3m"
MORE
"""


def scenarios(folder: Path, cluster: str = "", more: str = "", text: str = FILE) -> tuple[Scenario, ...]:
    path = folder / "scenario.toml"
    path.write_text(text.replace("CLUSTER", cluster).replace("MORE", more))
    return load_run(str(path)).scenarios


@pytest.mark.parametrize(
    ("text", "ms"),
    [("500ms", 500), ("90s", 90_000), ("1.5h", 5_400_000), ("7d", 604_800_000), ("0.25ms", Fraction(1, 4)), ("10 m", 600_000)]
    + [("26h20m", 94_800_000), ("1d12h", 129_600_000), ("1m1.5s", 61_500), ("1d 2h 3m 4s 5ms", 93_784_005), ("0h5m", 300_000)],
)
def test_durations(text: str, ms: Fraction) -> None:
    assert milliseconds(text) == ms


@pytest.mark.parametrize(
    "text",
    ["", "10", "m", "1e3s", "-1s", "1w", "10 minutes", "1.s", "٣s", "h30m"]
    + ["30m1h", "1h1h", "1.5h30m", "1h30", "1h and 30m", "1h  30m", " 1h", "1h ", "1h-30m", "26:20"],
)
def test_what_is_no_duration(text: str) -> None:
    assert milliseconds(text) is None


def test_begun_rounds_count() -> None:
    assert [rounds_of(ms, 2000) for ms in (0, 1, 2000, 2001)] == [0, 1, 1, 2]


def test_times_wherever_rounds_may_stand(tmp_path: Path) -> None:
    (base,) = scenarios(tmp_path, 'session_timeout_rounds = "7s"\nquota_window_rounds = "30s"')
    assert (base.rounds, base.session_timeout_rounds, base.quota_window_rounds) == (300, 4, 15)
    row, fault = base.workload.to_pylist()[0], base.faults.to_pylist()[0]
    assert (row["from_round"], row["to_round"]) == (1, 270)
    assert (fault["from_round"], fault["to_round"], fault["lag_rounds"]) == (30, 60, 1)
    assert (base.consumers[0].from_round, base.consumers[0].to_round) == (30, 60)
    assert (base.commands[0].round, base.remote_storage.metadata_lag_rounds) == (90, 2)


def test_times_of_generators(tmp_path: Path) -> None:
    """Means are divided exactly: the same times are drawn as with rounds."""
    rolling = '[[fault_generators]]\nkind = "rolling_restart"\ndown_rounds = "7s"\npause_between_rounds = "1m"\n'
    drawn = '[[fault_generators]]\nkind = "independent_crashes"\nmtbf_rounds = {}\nmean_duration_rounds = {}\nto_round = {}\n'
    faults = [row for row in scenarios(tmp_path, more=rolling)[0].faults.to_pylist() if row["kind"] == "controlled_shutdown"]
    assert [(row["from_round"], row["to_round"]) for row in faults] == [(0, 4), (34, 38), (68, 72)]
    in_time = scenarios(tmp_path, more=drawn.format('"61s"', '"9s"', '"8m"'))[0].faults
    assert in_time.num_rows > 3
    assert in_time.equals(scenarios(tmp_path, more=drawn.format(30.5, 4.5, 240))[0].faults)


def test_drawn_faults_last_a_minute_in_the_mean(tmp_path: Path) -> None:
    drawn = '[[fault_generators]]\nkind = "independent_crashes"\nmtbf_rounds = "1m"\n'
    given = scenarios(tmp_path, more=drawn + 'mean_duration_rounds = "1m"\n')[0].faults
    assert given.num_rows > 3
    assert scenarios(tmp_path, more=drawn)[0].faults.equals(given)


def test_variants_have_rounds_of_their_own(tmp_path: Path) -> None:
    """Sweeps too: a case of a variant strikes at the same time."""
    sweep = '[[sweeps]]\neach = "broker"\nfault = { kind = "power_loss", from_round = "1m", to_round = "2m" }\n'
    variant = '[[variants]]\nname = "fine"\nround_ms = 100\n'
    found = {s.name: s for s in scenarios(tmp_path, more=variant + sweep)}
    assert (found["fine"].rounds, found["fine"].workload["from_round"][0].as_py()) == (6000, 15)
    struck = {name: s.faults.to_pylist()[-1] for name, s in found.items()}
    assert [struck[name]["from_round"] for name in ("broker 1", "fine, broker 1")] == [30, 600]


@pytest.mark.parametrize("place", ["rounds", "workload[0].from_round", "faults[0].lag_rounds", "commands[0].round"])
def test_other_texts_are_refused(tmp_path: Path, place: str) -> None:
    good = {"rounds": "10m", "workload[0].from_round": "1.5s", "faults[0].lag_rounds": "500ms", "commands[0].round": "3m"}[place]
    with pytest.raises(InputError) as refused:
        scenarios(tmp_path, text=FILE.replace(f'"{good}"', '"soon"'))
    units = "which has numbers with the units d, h, m, s and ms, the longest first"
    told = f': {place}: "soon" is no time, {units}; allowed: a number of rounds, or a time such as'
    assert told in str(refused.value)


@pytest.mark.parametrize("key", ["mtbf_rounds", "from_round"])
def test_other_texts_of_generators_are_refused(tmp_path: Path, key: str) -> None:
    given = {"mtbf_rounds": "1m", key: "soon"}
    lines = "".join(f'{name} = "{value}"\n' for name, value in given.items())
    with pytest.raises(InputError, match=key):
        scenarios(tmp_path, more=f'[[fault_generators]]\nkind = "independent_crashes"\n{lines}')


def test_times_of_several_units(tmp_path: Path) -> None:
    """In a scenario file, of generators and of a sweep's fault alike."""
    text = FILE.replace('"10m"', '"9m60s"').replace('"1.5s"', '"1s500ms"')
    sweep = '[[sweeps]]\neach = "broker"\nfault = { kind = "power_loss", from_round = "1m2s", to_round = "2m" }\n'
    drawn = '[[fault_generators]]\nkind = "rolling_restart"\ndown_rounds = "7s"\npause_between_rounds = "0m60s"\n'
    base, *cases = scenarios(tmp_path, more=sweep + drawn, text=text)
    assert (base.rounds, base.workload["from_round"][0].as_py()) == (300, 1)
    stops = [row["from_round"] for row in base.faults.to_pylist() if row["kind"] == "controlled_shutdown"]
    assert stops == [0, 34, 68]
    assert cases[0].faults.to_pylist()[-1]["from_round"] == 31


def test_an_interval_that_rounds_to_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="to_round: 1 is not after from_round"):
        scenarios(tmp_path, text=FILE.replace('"9m"', '"1.8s"'))


@pytest.mark.parametrize("protocol", ["kafka", "kafka-kip279", "bookkeeper"])
def test_the_session_follows_round_ms(tmp_path: Path, protocol: str) -> None:
    for round_ms, rounds in ((100, 90), (500, 18), (2000, 5), (10_000, 1)):
        copies = "" if protocol == "bookkeeper" else "replication_factor = 3"
        text = f'rounds = 9\nround_ms = {round_ms}\nprotocol = "{protocol}"\ncluster = {{ brokers = 3 }}\n'
        (scenario,) = scenarios(tmp_path, text=f'{text}[[topics]]\nname = "t"\npartitions = 1\n{copies}\n')
        assert scenario.session_timeout_rounds == rounds


def test_the_session_is_the_keys_unless_rounds_are_given(tmp_path: Path) -> None:
    config = 'config = { "broker.session.timeout.ms" = 30001 }'
    assert scenarios(tmp_path, config)[0].session_timeout_rounds == 16
    assert scenarios(tmp_path, f"{config}\nsession_timeout_rounds = 4")[0].session_timeout_rounds == 4


def test_both_are_noted_where_they_differ(tmp_path: Path) -> None:
    def notes(rounds: int) -> list[str]:
        config = 'config = { "broker.session.timeout.ms" = 30000 }'
        scenarios(tmp_path, f"{config}\nsession_timeout_rounds = {rounds}")
        return notes_of(load_run(str(tmp_path / "scenario.toml")))

    nothing_remote = "no effect without remote storage, which remote.storage.enable of a topic turns on: [remote_storage]"
    assert notes(15) == [nothing_remote]
    told = "session_timeout_rounds = 4 decides when brokers are fenced, not broker.session.timeout.ms = 30000"
    assert notes(4) == [told, nothing_remote]


def test_shares_are_set_every_ten_seconds(tmp_path: Path) -> None:
    assert scenarios(tmp_path)[0].quota_window_rounds == 5
    assert scenarios(tmp_path, text=FILE.replace("round_ms = 2000", ""))[0].quota_window_rounds == 20
