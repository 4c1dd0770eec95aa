"""The broker timelines straight from the definitions, round by round, looking back over the history. Slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

Row = dict[str, Any]
OF_RACKS = ("rack_loss", "rack_isolation")
DEAD = ("disk_loss", "power_loss", "broker_crash", "controlled_shutdown")
STRENGTH = {
    "disk_loss": 0,
    "power_loss": 1,
    "broker_crash": 2,
    "rack_loss": 2,
    "controlled_shutdown": 3,
    "broker_pause": 4,
    "isolation": 5,
    "rack_isolation": 5,
    "link_cut": 6,
    "slow_link": 7,
    "slow_disk": 7,
    "stale_metadata": 8,
    "controller_loss": 9,
}


def naive_timelines(
    faults: pa.Table, brokers: Sequence[tuple[int, str | None]], rounds: int, session_timeout_rounds: int
) -> dict[int, list[Row]]:
    """Broker -> what the faults say of it in each round: the fields of BrokerSegment but its interval."""
    rows = [{**row, "fault_id": fault_id} for fault_id, row in enumerate(faults.to_pylist())]
    histories: dict[int, list[Row]] = {broker: [] for broker, _ in brokers}
    own = {broker: _own(rows, broker, rack) for broker, rack in brokers}
    touching = {broker: [row for row in rows if _touches(row, broker, rack, set(histories))] for broker, rack in brokers}
    controller_up = [not any(row["kind"] == "controller_loss" and _holds(row, r) for row in rows) for r in range(rounds)]
    for round_ in range(rounds):
        for broker, _ in brokers:
            histories[broker].append(_state(own[broker], controller_up, round_, histories[broker], session_timeout_rounds))
        isolated = {broker for broker, history in histories.items() if history[round_]["isolated"]}
        mates = rack_mates(rows, brokers, round_)
        for broker, _ in brokers:
            said = histories[broker][round_]
            said.update(_links(rows, broker, set(histories), isolated, mates, round_))
            said["stale"] = _stale(rows, broker, round_)
            said["stale_before"] = _stale(rows, broker, round_ - 1)
            said["cause"] = _cause(touching[broker], round_)
    return histories


def _holds(row: Row, round_: int) -> bool:
    return bool(row["from_round"] <= round_ < row["to_round"])


def _stretch_start(unheard: Callable[[int], bool], round_: int) -> int:
    """First round of the unheard stretch that `round_` is in."""
    first = round_
    while first > 0 and unheard(first - 1):
        first -= 1
    return first


def _last_return(controller_up: Sequence[bool], round_: int) -> int:
    """The last round up to `round_` at which the controller came back; -1 if it never did."""
    for earlier in range(round_, 0, -1):
        if controller_up[earlier] and not controller_up[earlier - 1]:
            return earlier
    return -1


def rack_mates(rows: Sequence[Row], brokers: Sequence[tuple[int, str | None]], round_: int) -> set[tuple[int, int]]:
    """The pairs, both ways around, of brokers of one rack that is cut off, on neither of which another isolation holds.

    Where the page is silent: also of those that are offline.
    """
    now = [row for row in rows if _holds(row, round_)]
    cut_racks = {row["rack"] for row in now if row["kind"] == "rack_isolation"}
    alone = {row["broker"] for row in now if row["kind"] == "isolation"}
    together = [(broker, rack) for broker, rack in brokers if rack in cut_racks and broker not in alone]
    return {(one, other) for one, rack in together for other, of_other in together if one != other and rack == of_other}


def _kind_at_broker(row: Row) -> str:
    if row["kind"] == "rack_isolation":
        return "isolation"
    if row["kind"] == "rack_loss":
        return "power_loss" if row.get("power") else "broker_crash"
    return str(row["kind"])


def _own(rows: Sequence[Row], broker: int, rack: str | None) -> list[Row]:
    """The faults of a broker and of its rack, as what they are to it."""
    own = [row for row in rows if row["broker"] == broker or (row["kind"] in OF_RACKS and row["rack"] == rack)]
    return [{**row, "kind": _kind_at_broker(row)} for row in own]


def _state(own: Sequence[Row], up: Sequence[bool], round_: int, history: Sequence[Row], timeout_rounds: int) -> Row:
    """`own`: `_own` of the broker; `up`: by round, whether there is a controller."""
    now = [row for row in own if _holds(row, round_)]
    starting = [row["kind"] for row in now if row["from_round"] == round_]
    dead_now = [row["kind"] for row in now if row["kind"] in DEAD]
    pause = any(row["kind"] == "broker_pause" for row in now)
    isolation = any(row["kind"] == "isolation" for row in now)
    controller_up = up[round_]
    before: Row = history[-1] if history else dict.fromkeys(("offline", "paused", "isolated", "fenced", "stopped_cleanly"), False)
    was_unheard = before["offline"] or before["paused"] or before["isolated"]

    def unheard_in(earlier: int) -> bool:
        said = history[earlier]
        return bool(said["offline"] or said["paused"] or said["isolated"])

    def fencing_round(seen_until: int) -> int:
        start = _stretch_start(unheard_in, seen_until)
        return max(start, _last_return(up, round_)) + timeout_rounds

    offline = bool(dead_now)
    if before["offline"] and not dead_now:
        has_been_fenced = before["fenced"] or round_ >= fencing_round(round_ - 1)
        offline = not (not pause and not isolation and controller_up and has_been_fenced)
    paused, isolated = pause and not offline, isolation and not offline
    unheard = offline or paused or isolated
    restarted = before["offline"] and not offline

    strongest_is_shutdown = bool(dead_now) and set(dead_now) == {"controlled_shutdown"}
    clean_stop = "controlled_shutdown" in starting and strongest_is_shutdown and not before["offline"]
    stopped = round_  # the first round of the stretch in which it is offline
    while stopped > 0 and history[stopped - 1]["offline"]:
        stopped -= 1
    began_cleanly = history[stopped]["clean_stop"] if stopped < round_ else clean_stop
    spoilt = any(row["kind"] == "disk_loss" and stopped <= row["from_round"] <= round_ for row in own)
    clean_so_far = began_cleanly and not spoilt
    shuts_down_heard = clean_stop and not was_unheard
    session_ends = was_unheard and (unheard or restarted) and round_ == fencing_round(round_ - 1)
    fence_now = controller_up and not before["fenced"] and (shuts_down_heard or session_ends)
    unfence_now = controller_up and not unheard and (before["fenced"] or fence_now)
    return {
        "offline": offline,
        "paused": paused,
        "isolated": isolated,
        "waking": not unheard and (before["paused"] or before["isolated"]),
        "fenced": (before["fenced"] or fence_now) and not unfence_now,
        "fence_now": fence_now,
        "unfence_now": unfence_now,
        "returning": fence_now and unfence_now,
        "restarted": restarted,
        "unclean_restart": restarted and not before["stopped_cleanly"],
        "stopped_cleanly": offline and clean_so_far,
        "clean_stop": clean_stop,
        "power_loss": "power_loss" in starting,
        "disk_loss": "disk_loss" in starting,
        "moment": _moment(own, stopped) if offline else None,
        "clients_cut": any(row["kind"] == "isolation" and row["clients"] for row in now),
        "controller_up": controller_up,
        "disk_bytes_per_second": min((row["bytes_per_second"] for row in now if row["kind"] == "slow_disk"), default=None),
    }


def _moment(own: Sequence[Row], stopped: int) -> int | None:
    """When in the first round of a stretch a fault other than a shutdown stopped the broker, in millionths; -1: none says."""
    killing = [row for row in own if row["kind"] in DEAD[:3] and row["from_round"] == stopped]
    if any(row["moment"] is None for row in killing):
        return -1
    return min((int(row["moment"] * 1_000_000) for row in killing), default=None)


def _links(
    rows: Sequence[Row], broker: int, brokers: set[int], isolated: set[int], mates: set[tuple[int, int]], round_: int
) -> Row:
    dropped, slow, far = set(), {}, {}
    for peer in brokers - {broker}:
        is_apart = (broker in isolated or peer in isolated) and (broker, peer) not in mates
        if is_apart or _sent_over(rows, "link_cut", broker, peer, round_):
            dropped.add(peer)
        links = _sent_over(rows, "slow_link", broker, peer, round_)
        rates = [row["bytes_per_second"] for row in links if row["bytes_per_second"] is not None]
        if rates:
            slow[peer] = min(rates)
        trips = [round(row["round_trip_ms"] * 1000) for row in links if row["round_trip_ms"] is not None]
        if trips:
            far[peer] = max(trips)
    named = (("drop_to", dropped), ("slow_to", slow.items()), ("far_to", far.items()))
    return {name: tuple(sorted(links)) for name, links in named}


def _sent_over(rows: Sequence[Row], kind: str, sender: int, receiver: int, round_: int) -> list[Row]:
    """The faults of this kind in force on the link that cover messages from sender to receiver."""
    return [
        row
        for row in rows
        if row["kind"] == kind
        and _holds(row, round_)
        and (
            (row["broker"] == sender and row["peer"] in (None, receiver) and row["direction"] in (None, "both", "out"))
            or (row["broker"] == receiver and row["peer"] in (None, sender) and row["direction"] in (None, "both", "in"))
        )
    ]


def _stale(rows: Sequence[Row], broker: int, round_: int) -> tuple[tuple[str | None, int | None, int | None], ...]:
    covered = {
        (row["topic"], row["partition"], row.get("lag_rounds"))
        for row in rows
        if row["kind"] == "stale_metadata" and row["broker"] in (None, broker) and _holds(row, round_)
    }
    return tuple(sorted(covered, key=lambda of: (of[0] or "", *(-1 if n is None else n for n in of[1:]))))


def _cause(touching: Sequence[Row], round_: int) -> int:
    for earlier in range(round_, -1, -1):
        in_force = [row for row in touching if _holds(row, earlier)]
        if in_force:
            return int(min(in_force, key=lambda row: (STRENGTH[_kind_at_broker(row)], row["fault_id"]))["fault_id"])
    return -1


def _touches(row: Row, broker: int, rack: str | None, brokers: set[int]) -> bool:
    if row["kind"] == "controller_loss":
        return True
    if row["kind"] == "remote_metadata_lag":
        return False
    if row["kind"] in OF_RACKS:
        return bool(row["rack"] == rack)
    if row["kind"] in ("link_cut", "slow_link"):
        peers = (brokers if row["peer"] is None else {row["peer"]}) - {row["broker"]}
        return bool(peers) and broker in {row["broker"], *peers}
    return row["broker"] == broker or (row["kind"] == "stale_metadata" and row["broker"] is None)
