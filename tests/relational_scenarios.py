"""Scenarios that relational rounds play in two runs: a round costs half a second, however many scenarios have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.reference.random_scenarios import to_toml

FOLDER = Path(__file__).parent / "data" / "relational"
TROUBLE, AT_ITS_MOMENT, DEATHS, BEYOND = (
    (FOLDER / f"{name}.toml").read_text() for name in ("trouble", "moment", "deaths", "beyond")
)

ONE_FETCH = DEATHS.replace("fetch_round_trip_ms = 40", "fetches_per_round = 1")
OF_LAST_MOMENTS = {
    "deaths": DEATHS,
    "one": ONE_FETCH,
    "three": DEATHS.replace("fetch_round_trip_ms = 40", "fetches_per_round = 3"),
}
"""By the number of fetches in a round."""

CUT = """
name = "cut"
rounds = {rounds}
mode = "plain"
[cluster]
brokers = 5
racks = 2
session_timeout_rounds = 3
{cluster}
[[topics]]
name = "t"
assignment = [[1, 3, 2], [2, 1, 3, 5], [4, 2, 1], [3, 5]]
[[workload]]
topic = "t"
records_per_round = 40
acks = "{acks}"
"""
"""Brokers 1, 3 and 5 are in rack 0; t:0 is led from there, by a broker that has a rack-mate for a follower."""


def fault(kind: str, from_round: int, to_round: int, more: str = 'rack = "0"') -> str:
    return f'[[faults]]\nkind = "{kind}"\nfrom_round = {from_round}\nto_round = {to_round}\n{more}\n'


RACK = fault("rack_isolation", 3, 9)
IN_TURN = RACK + fault("isolation", 4, 6, "broker = 3") + fault("link_cut", 7, 8, 'broker = 1\npeer = 3\ndirection = "in"')
BOTH_RACKS = (
    fault("rack_isolation", 3, 9, 'rack = "1"\nclients = true')
    + fault("rack_isolation", 5, 7)
    + fault("broker_crash", 4, 7, "broker = 2")
)
DIES = fault("broker_crash", 5, 9, "broker = 1\nmoment = 0.75")
BOTH = fault("isolation", 3, 5, "broker = 1\nclients = true") + fault("isolation", 3, 5, "broker = 3\nclients = true")
OF_RACKS = {
    "in turn": CUT.format(rounds=12, cluster="", acks="1") + IN_TURN,
    "in turn, all": CUT.format(rounds=12, cluster="", acks="all") + IN_TURN,
    "both racks": CUT.format(rounds=12, cluster="", acks="1") + BOTH_RACKS,
    "both racks, all": CUT.format(rounds=12, cluster="", acks="all") + BOTH_RACKS,
}
FOUR_FETCHES = CUT.format(rounds=9, cluster="fetches_per_round = 4", acks="1")
OF_RACKS |= {
    "mates": FOUR_FETCHES + fault("rack_isolation", 3, 5, 'rack = "0"\nclients = true') + DIES,
    "alone": FOUR_FETCHES + BOTH + DIES,
    "together": FOUR_FETCHES + RACK + fault("rack_loss", 5, 9, 'rack = "0"\nmoment = 0.75'),
    "one dies": FOUR_FETCHES + RACK + DIES,
}

ROUNDS_OF_REFUSED = 12


def refused_batch() -> dict[str, Any]:
    """Changes that the controller refuses: 3 asks in round 1, T hears in round 8.

    What tests/rounds/kafka/test_changes_of_the_isr.py has by hand, in fewer rounds.
    """
    cases = [
        refused_case(0),
        refused_case(1, {"kind": "broker_crash", "broker": 3, "from_round": 2, "to_round": 4}),
        refused_case(2, {"kind": "broker_crash", "broker": 2, "from_round": 2, "to_round": 4}),
    ]
    moves = [{"kind": "reassign", "replicas": [13], "round": 3}, {"kind": "reassign", "replicas": [13, 16], "round": 6}]
    few = {"faults": [], "commands": moves, "initial": None, "topic_config": {"min.insync.replicas": 2}}
    cluster = {"rounds": ROUNDS_OF_REFUSED, "round_ms": 1000, "session_timeout_rounds": 1, "config": {}, "faults": []}
    return {"seed": 0, "cluster": cluster, "cases": [*cases, {**refused_case(3), **few}]}


def refused_case(number: int, *faults: dict[str, Any]) -> dict[str, Any]:
    """A partition of brokers 1, 2 and 3, with four times the number on top: 3 begins outside of the ISR, 1 is told nothing."""
    first = 4 * number
    cut = {"kind": "link_cut", "broker": 3, "peer": 1, "from_round": 5, "to_round": 10}
    told = {"kind": "stale_metadata", "broker": 1, "from_round": 0, "to_round": 7}
    start = {"log_start_offset": 0, "leo": 0, "hw": 0, "epochs": [[0, 0]], "flushed_offset": 0, "record_bytes": 100}
    replicas = [first + 1, first + 2, first + 3]
    return {
        "topic": f"t{number}",
        "brokers": [*replicas, first + 4],
        "replicas": replicas,
        "commands": [],
        "topic_config": {},
        "workload": [
            {"records_per_round": 5, "record_bytes": 100, "acks": "all", "from_round": 0, "to_round": ROUNDS_OF_REFUSED}
        ],
        "faults": [{**f, **{key: first + f[key] for key in ("broker", "peer") if key in f}} for f in (cut, told, *faults)],
        "initial": {
            "leader": first + 1,
            "leader_epoch": 0,
            "isr": replicas[:2],
            "elr": [],
            "replicas": dict.fromkeys(replicas, start),
        },
    }


SEVERAL = {
    "trouble": TROUBLE,
    "moment": AT_ITS_MOMENT,
    **OF_LAST_MOMENTS,
    **OF_RACKS,
    "refused": to_toml(refused_batch()),
}
"""What no tier and no older generation is in: what those ask of every round would make these dearer."""

KIP_405 = Path(__file__).parents[1] / "datasets" / "examples" / "kip_405.toml"
ROUNDS_OF_THREE = 12


def first_three() -> str:
    """KIP-405's first three scenarios, up to the round in which the last of them is over."""
    lines = KIP_405.read_text().replace("rounds = 24", f'mode = "plain"\nrounds = {ROUNDS_OF_THREE}').splitlines()
    return "\n".join(line for line in lines if not any(f"scenario-{number}" in line for number in (4, 5)))


KEPT = """
name = "kept"
rounds = 9
round_ms = 500
mode = "plain"
[cluster]
brokers = 3
session_timeout_rounds = 2
config = { "log.retention.check.interval.ms" = 1000 }
[[topics]]
name = "t"
assignment = [[1, 2, 3], [2, 3, 1]]
config = { "segment.bytes" = 3000, "retention.bytes" = 6000 }
[[workload]]
topic = "t"
records_per_round = 2
record_bytes = 1000
[[faults]]
kind = "broker_crash"
broker = 1
from_round = 3
to_round = 6
"""
"""Segments and no tiers, in a run that has some: a trace says what ListOffsets answers here, too."""

GENERATIONS = ("kafka", "kafka-high-watermark")
WITH_A_PAST = {
    "kip-405": first_three(),
    "kept": KEPT,
    **{protocol: BEYOND.replace("rounds = 12", f'rounds = 12\nprotocol = "{protocol}"') for protocol in GENERATIONS},
}
"""What has tiers, or begins with logs, and what stands beside it in a run."""
