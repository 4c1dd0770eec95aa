"""Random cases: who fails when, with what settings, all from one number."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from tests.reference.quorums.cases import Case, Fault

OF_SERVERS = ("broker_crash", "broker_crash", "broker_pause", "isolation", "isolation", "controlled_shutdown")
OF_DISKS = ("power_loss", "disk_loss")


def random_case(protocol: str, seed: int, rounds: int = 60, disks: float = 0.0, servers: int | None = None) -> Case:
    """A case; with the likelihood `disks` some of its faults take what is on a disk. `servers`: None: one to five of them."""
    draw = random.Random(f"{protocol} {seed}")
    drawn = draw.choice((1, 2, 3, 3, 3, 4, 5, 5, 5))
    copies = servers or drawn
    workload = sorted({0, *(draw.randrange(rounds) for _ in range(draw.randrange(4)))})
    kinds = (*OF_SERVERS, *OF_DISKS) if draw.random() < disks else OF_SERVERS
    case = Case(
        protocol,
        copies,
        rounds,
        acks=draw.randint(1, copies),
        compared=draw.randint(1, copies),
        timeout_rounds=draw.choice((1, 2, 3, 5)),
        jitter_rounds=draw.choice((0, 1, 3, 6)),
        pre_vote=draw.random() < 0.4,
        check_quorum=draw.random() < 0.4,
        max_entries=draw.choice((None, None, 1, 2, 3)),
        flush_rounds=draw.choice((1, 1, 0, 3)) if kinds is not OF_SERVERS else 1,
        **delays_of(protocol, seed),
        **segments_of(protocol, seed),
        seed=draw.randrange(2**31),
        number=draw.randrange(1000),
        workload=tuple((at, draw.choice((0, 1, 1, 2, 5))) for at in workload),
        faults=tuple(random_fault(draw, kinds, copies, rounds) for _ in range(draw.randrange(3, 16))),
    )
    case = replace(case, **changes_of(case, seed), transfers=transfers_of(case, seed))
    case = replace(case, faults=case.faults + silences_of(case, seed))
    case = replace(case, **racks_of(case, seed))
    if protocol.startswith("kraft"):  # followers draw nothing on top: after a single round they would always be due
        case = replace(case, timeout_rounds=max(2, case.timeout_rounds))
    if case.flush_rounds == 3 and seed % 2:
        case = replace(case, flush_rounds=2.5)
    if case.flush_rounds != 1:
        case = replace(case, fsync_rounds=0)
    return case if case.fsync_rounds else replace(case, records_limit=None)


def wider_case(protocol: str, seed: int, rounds: int = 60, disks: float = 0.0) -> Case:
    """Likewise, of up to twelve servers, with leases as long as they may be, and with racks that go down."""
    draw = random.Random(f"wider {protocol} {seed}")
    case = random_case(protocol, seed, rounds, disks, draw.choice((None, None, 6, 7, 9, 12)))
    if protocol == "pacifica":
        case = replace(case, lease_rounds=draw.choice((2, 3, 6, case.timeout_rounds, case.timeout_rounds + draw.randint(1, 5))))
    if draw.random() < 0.5:
        return case
    count = len(set(case.racks)) or draw.randint(1, 4)
    losses = []
    for _ in range(draw.choice((1, 1, 2))):
        begin, power = draw.randrange(rounds), disks > 0 and draw.random() < 0.5
        end = begin + draw.choice((1, 2, 4, 9, 25))
        losses.append(Fault("rack_loss", begin, end, rack=str(draw.randrange(min(count, case.copies))), power=power))
    place = draw.randint(0, len(case.faults))
    faults = (*case.faults[:place], *losses, *case.faults[place:])
    return replace(case, racks=tuple(str(server % count) for server in range(case.copies)), faults=faults)


def delays_of(protocol: str, seed: int) -> dict[str, Any]:
    """Two cases of three have no delays, the others some of their own draw; viewstamped has no disk that takes time."""
    draw = random.Random(f"delays of {protocol} {seed}")
    if draw.random() < 0.66:
        return {}
    fsync, limit = draw.choice((0, 0, 1, 2)), draw.choice((None, None, 1, 2))
    return {
        "fsync_rounds": 0 if protocol == "viewstamped" else fsync,
        "records_limit": limit,
        "delay_rounds": draw.choice((0, 1, 1, 3)),
        "delay_percent": draw.choice((0, 0, 100, 250)),
        "delay_shape": draw.choice(("uniform", "geometric")),
    }


def segments_of(protocol: str, seed: int) -> dict[str, Any]:
    """How long segments are, of hdfs-journal, and in three cases of four times and a queue so short that they matter."""
    if protocol != "hdfs-journal":
        return {}
    draw = random.Random(f"segments {seed}")
    rolls = {"roll_rounds": draw.choice((1, 2, 4, 8, 240))}
    if draw.random() < 0.25:
        return rolls
    return rolls | {
        "health_rounds": draw.choice((1, 2, 3)),
        "fence_rounds": draw.choice((1, 2, 4, 10)),
        "connect_rounds": draw.choice((1, 2, 4, 40)),
        "answer_rounds": draw.choice((0, 2, 4, 8, 240)),
        "queue_limit": draw.choice((2, 4, 8, 20, 10_485)),
        "write_rounds": draw.choice((1, 3, 6, 10, 40)),
    }


def silences_of(case: Case, seed: int) -> tuple[Fault, ...]:
    """Faults more of hdfs-journal: what is short of, and beyond, the times that a silent node has, and ends within segments."""
    draw = random.Random(f"silences {seed}")
    if case.protocol != "hdfs-journal":
        return ()
    kinds = ("link_cut", "link_cut", "broker_pause", "broker_pause", "isolation", "broker_crash", "power_loss")
    return tuple(silence(draw, draw.choice(kinds), case) for _ in range(draw.randrange(5)))


def silence(draw: random.Random, kind: str, case: Case) -> Fault:
    """One of these: a process is back sooner than a link, which has 1 to 20 rounds, one way more often than others."""
    begin, broker = draw.randrange(case.rounds), draw.randrange(case.copies)
    end = begin + draw.randint(1, 6 if kind in ("broker_crash", "power_loss") else 20)
    if kind != "link_cut" or case.copies == 1:
        return Fault("broker_pause" if kind == "link_cut" else kind, begin, end, broker)
    peer = draw.choice([other for other in range(case.copies) if other != broker])
    return Fault("link_cut", begin, end, broker, peer, draw.choice(("both", "out", "in")))


def racks_of(case: Case, seed: int) -> dict[str, Any]:
    """One case in four is in racks, numbered as in a scenario file, of which one or the other is cut off."""
    draw = random.Random(f"racks of {case.protocol} {seed}")
    if draw.random() < 0.75:
        return {}
    count = draw.choice((1, 2, 2, 2, 3))
    cuts = []
    for _ in range(draw.choice((1, 1, 2, 3))):
        begin, length, rack = draw.randrange(case.rounds), draw.choice((1, 3, 6, 12, 25)), str(draw.randrange(count))
        cuts.append(Fault("rack_isolation", begin, begin + length, clients=draw.random() < 0.3, rack=rack))
    return {"racks": tuple(str(server % count) for server in range(case.copies)), "faults": (*case.faults, *cuts)}


def changes_of(case: Case, seed: int) -> dict[str, Any]:
    """Three cases in ten of raft and kraft change their members, some of them with servers that are none at the start."""
    draw = random.Random(f"changes of {case.protocol} {seed}")
    if case.protocol not in ("raft", "kraft") or draw.random() < 0.7:
        return {}
    rounds = sorted(draw.randrange(case.rounds) for _ in range(draw.randrange(1, 4)))
    sets = [tuple(sorted(draw.sample(range(case.copies), draw.randint(1, case.copies)))) for _ in rounds]
    return {
        "first_members": draw.randint(1, case.copies),
        "changes": tuple(zip(rounds, sets, strict=True)),
        "one_at_a_time": draw.random() < 0.5 or case.protocol == "kraft",
    }


def transfers_of(case: Case, seed: int) -> tuple[int, ...]:
    """Four cases in ten of raft ask for server 0 as the leader, once to three times."""
    draw = random.Random(f"transfers of {case.protocol} {seed}")
    if case.protocol != "raft" or draw.random() < 0.6:
        return ()
    return tuple(sorted({draw.randrange(case.rounds) for _ in range(draw.randrange(1, 4))}))


def random_fault(draw: random.Random, kinds: tuple[str, ...], copies: int, rounds: int) -> Fault:
    """A fault of one server, one link or the elector."""
    begin = draw.randrange(rounds)
    end = begin + draw.choice((1, 2, 3, 5, 8, 15))
    broker = draw.randrange(copies)
    which = draw.random()
    if which < 0.3 and copies > 1:
        peer = draw.choice([other for other in range(copies) if other != broker])
        return Fault("link_cut", begin, end, broker, peer, draw.choice(("both", "both", "out", "in")))
    if which < 0.35:
        return Fault("controller_loss", begin, end)
    if 0.35 <= which < 0.43 and copies > 1:
        far = draw.choice([None, *(other for other in range(copies) if other != broker)])
        return Fault("slow_link", begin, end, broker, far, draw.choice(("both", "both", "out", "in")), rounds=draw.randrange(5))
    kind = draw.choice(kinds)
    return Fault(kind, begin, end, broker, clients=kind == "isolation" and draw.random() < 0.5)


def without(case: Case, *guards: str) -> Case:
    """The mutant that lacks these guards."""
    return replace(case, lacking=frozenset(guards))
