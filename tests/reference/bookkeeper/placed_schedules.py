"""Random schedules of ledgers that BookKeeper's own policies place, in racks and regions, with bookies that join in mid-run."""

from __future__ import annotations

import random
from typing import Any

from .drawn_placement import DEFAULT, RACKAWARE, REGION_AWARE
from .ledger import Ledger
from .placement import NotEnoughBookies
from .schedules import TROUBLE_ROUNDS, repair_schedule, schedule, topic_schedule


def placed_schedule(seed: int) -> dict[str, Any]:
    """A schedule of one ledger; its first ensemble is drawn, too, in most."""
    rng = random.Random(f"bookkeeper/placed/{seed}")
    case = repair_schedule(seed) if rng.random() < 0.7 else schedule(seed)
    if rng.random() < 0.8:
        del case["replicas"]
    case = _placed(rng, case)
    if "replicas" not in case and not _has_ensemble(case):
        case["config"]["enforceMinNumRacksPerWriteQuorum"] = False
        case["brokers"] += [len(case["brokers"]) + more for more in range(1, 4)]
        case = _in_racks(case)
    if "replicas" not in case and not _has_ensemble(case):
        case["commands"] = [one for one in case["commands"] if one["kind"] != "add_bookie"]
        case["faults"] = [one for one in case["faults"] if one["from_round"] > 0]
    return _with_cut_rack(random.Random(f"bookkeeper/cut racks/{seed}"), case)


def placed_topic_schedule(seed: int) -> dict[str, Any]:
    """A schedule of a topic that is a list of ledgers: each new one draws its ensemble."""
    case = _placed(random.Random(f"bookkeeper/placed topics/{seed}"), topic_schedule(seed))
    return _with_cut_rack(random.Random(f"bookkeeper/cut racks of topics/{seed}"), case)


def _placed(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    bookies = [*case["brokers"], *(len(case["brokers"]) + more for more in range(1, rng.randint(1, 5)))]
    racks = rng.choice((1, 2, 2, 3, 3, 4, 6))
    config = {
        **case["config"],
        "minNumRacksPerWriteQuorum": rng.choice((1, 2, 2, 2, 3)),
        "enforceMinNumRacksPerWriteQuorum": rng.random() < 0.3,
    }
    spare = [one for one in bookies if one not in case.get("replicas", [])]
    commands = list(case["commands"])
    for bookie in rng.sample(spare, min(len(spare), rng.choice((0, 0, 1, 2)))):
        joins = rng.randint(1, TROUBLE_ROUNDS)
        commands = [one for one in commands if one["kind"] != "decommission_bookie" or one["broker"] != bookie]
        commands.append({"kind": "add_bookie", "round": joins, "broker": bookie})
    policy = rng.choice((DEFAULT, RACKAWARE, RACKAWARE, REGION_AWARE, REGION_AWARE))
    placed = {"placement": policy, "seed": rng.choice((0, 1, 7, 2**40 + seed_of(rng))), "rack_count": racks}
    if policy == REGION_AWARE:
        placed["region_count"] = rng.randint(1, min(3, racks))
    elif rng.random() < 0.1:
        del placed["rack_count"]
    return _in_racks({**case, **placed, "brokers": bookies, "config": config, "commands": commands})


def _with_cut_rack(rng: random.Random, case: dict[str, Any]) -> dict[str, Any]:
    """The case, one in three of those in racks with one that is cut off, or two, most of them for clients as well."""
    racks = sorted(set(case["racks"].values()))
    if not racks or rng.random() < 0.67:
        return case
    cuts = []
    for rack in rng.sample(racks, min(len(racks), rng.choice((1, 1, 2)))):
        from_round = rng.randint(1, TROUBLE_ROUNDS)
        interval = {"from_round": from_round, "to_round": from_round + rng.choice((1, 2, 5, 9, 20))}
        cuts.append({"kind": "rack_isolation", "rack": rack, "clients": rng.random() < 0.7, **interval})
    return {**case, "faults": [*case["faults"], *cuts]}


def seed_of(rng: random.Random) -> int:
    """Any seed."""
    return rng.randint(0, 2**40)


def _in_racks(case: dict[str, Any]) -> dict[str, Any]:
    """Racks as the scenario file numbers them: "rack", or "region/rack"."""
    racks, regions = case.get("rack_count"), case.get("region_count")
    if racks is None:
        return {**case, "racks": {}}
    numbers = {bookie: (bookie - 1) % racks for bookie in case["brokers"]}
    names = {bookie: str(rack) if regions is None else f"{rack % regions}/{rack}" for bookie, rack in numbers.items()}
    return {**case, "racks": names}


def _has_ensemble(case: dict[str, Any]) -> bool:
    try:
        Ledger(case)
    except NotEnoughBookies:
        return False
    return True
