"""What the faults say of each broker, one round after the other (docs/kafka_rounds.md, "What the faults say").

A fault is a mapping with `kind`, `from_round`, `to_round` (exclusive; absent or None: until the end) and what the kind
needs of `broker`, `peer`, `direction`, `rack`, `bytes_per_second`, `clients`, `lag_rounds`.

Choices where the page is silent:

* A broker fenced while it was paused or isolated stays fenced when its process dies: it need not be fenced anew to
  restart.
* A fenced broker stays fenced while the controller is away, and is not fenced a second time when the controller
  returns.
* A controlled shutdown is clean (`clean_stop`), and fences at once, only if no stronger dead fault holds in its first
  round. For fencing "heard" means heard in the round before; for `clean_stop` "not offline" likewise.
* A disk_loss that begins in the first round of a controlled shutdown, or later while the broker is down, makes the stop
  unclean; another dead fault that begins later does not.
* slow_link without a peer slows every link of the broker; slow_disk slows what its broker appends as a follower; of
  several rates the smallest holds.
* A broker that is offline counts among its rack-mates while the rack's isolation holds and no other one does: what it sent
  before it died got through (last moments). Nothing else is sent to one that is offline, or by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Fault = Mapping[str, Any]

KILLING_KINDS = ("broker_crash", "power_loss", "disk_loss", "rack_loss")
DEAD_KINDS = (*KILLING_KINDS, "controlled_shutdown")
SILENT_KINDS = ("broker_pause", "isolation")
RACK_KINDS = ("rack_loss", "rack_isolation")


class BrokerRound(NamedTuple):
    """One broker in one round, as the faults make it."""

    offline: bool
    paused: bool
    isolated: bool
    restarted: bool
    returning: bool
    waking: bool
    fenced: bool
    clients_cut: bool
    clean_stop: bool
    unclean_restart: bool
    power_loss: bool
    disk_loss: bool
    cut_off_with_rack: bool

    @property
    def running(self) -> bool:
        """The process runs, whether or not anybody hears it."""
        return not self.offline and not self.paused


UNTOUCHED = BrokerRound(*[False] * len(BrokerRound._fields))


def covers(fault: Fault, round_: int) -> bool:
    """Tell whether `round_` lies in [from_round, to_round) of the fault."""
    to_round = fault.get("to_round")
    return bool(fault["from_round"] <= round_ and (to_round is None or round_ < to_round))


def kind_at_broker(fault: Fault) -> str:
    """What a fault is for one broker that it concerns: a rack without power is a broker without power."""
    if fault["kind"] == "rack_isolation":
        return "isolation"
    return "power_loss" if fault["kind"] == "rack_loss" and fault.get("power") else str(fault["kind"])


def rounds_of(fault: Fault, rounds: int) -> range:
    """The rounds 0 to `rounds` - 1 that a fault covers."""
    to_round = fault.get("to_round")
    return range(max(fault["from_round"], 0), rounds if to_round is None else min(to_round, rounds))


def by_round(faults: Sequence[Fault], rounds: int) -> list[list[Fault]]:
    """By round 0 to `rounds` - 1 the faults that hold in it, in their order."""
    held: list[list[Fault]] = [[] for _ in range(rounds)]
    for fault in faults:
        for round_ in rounds_of(fault, rounds):
            held[round_].append(fault)
    return held


def rounds_without_controller(faults: Sequence[Fault], rounds: int) -> set[int]:
    """The rounds in which a controller_loss holds."""
    losses = [fault for fault in faults if fault["kind"] == "controller_loss"]
    return {round_ for fault in losses for round_ in rounds_of(fault, rounds)}


def broker_rounds(
    broker: int, rack: object, faults: Sequence[Fault], rounds: int, session_timeout_rounds: int
) -> list[BrokerRound]:
    """Follow one broker through rounds 0 to `rounds` - 1.

    Returns one `BrokerRound` per round, in order.
    """
    own = [fault for fault in faults if concerns(fault, broker, rack)]
    if not own:
        return [UNTOUCHED] * rounds
    held_in = by_round(own, rounds)
    without_controller = rounds_without_controller(faults, rounds)
    history: list[BrokerRound] = []
    offline = fenced = stopped_cleanly = False
    unheard_since: int | None = None
    controller_was_up = True
    for now in range(rounds):
        held = held_in[now]
        if not held and (not history or history[-1] == UNTOUCHED):
            history.append(UNTOUCHED)
            continue
        begun = {kind_at_broker(fault) for fault in held if fault["from_round"] == now}
        kinds = {kind_at_broker(fault) for fault in held}
        isolations = [fault for fault in held if kind_at_broker(fault) == "isolation"]
        is_dead = not kinds.isdisjoint(DEAD_KINDS)
        controller_up = now not in without_controller
        if controller_up and not controller_was_up and unheard_since is not None:
            unheard_since = now
        was_offline, was_unheard = offline, unheard_since is not None

        session_ended = unheard_since is not None and now >= unheard_since + session_timeout_rounds
        is_silent = not kinds.isdisjoint(SILENT_KINDS)
        nothing_holds = not is_dead and not is_silent
        restarted = offline and nothing_holds and controller_up and (fenced or session_ended)
        returning = restarted and not fenced
        if is_dead:
            offline = True
        elif restarted:
            offline = False

        unheard = offline or is_silent
        clean = "controlled_shutdown" in begun and kinds.isdisjoint(KILLING_KINDS)
        if not was_offline:
            stopped_cleanly = clean
        stopped_cleanly = stopped_cleanly and "disk_loss" not in begun
        if not unheard:
            unheard_since = None
            fenced = fenced and not controller_up
        else:
            unheard_since = now if unheard_since is None else unheard_since
            session_over = now >= unheard_since + session_timeout_rounds
            if controller_up and (session_over or (clean and not was_unheard)):
                fenced = True

        before = history[-1] if history else None
        silent_before = before is not None and not before.offline and (before.paused or before.isolated)
        paused = not offline and "broker_pause" in kinds
        isolated = not offline and "isolation" in kinds
        history.append(
            BrokerRound(
                offline=offline,
                paused=paused,
                isolated=isolated,
                restarted=restarted,
                returning=returning,
                waking=not offline and not paused and not isolated and silent_before,
                fenced=fenced,
                clients_cut=any(fault.get("clients") for fault in isolations),
                clean_stop=clean and not was_offline,
                unclean_restart=restarted and not stopped_cleanly,
                power_loss="power_loss" in begun,
                disk_loss="disk_loss" in begun,
                cut_off_with_rack={fault["kind"] for fault in isolations} == {"rack_isolation"},
            )
        )
        controller_was_up = controller_up
    return history


def stale_rounds(faults: Sequence[Fault], rounds: int) -> set[tuple[int, int]]:
    """(broker, round) wherever a stale_metadata fault keeps news from the broker."""
    stale = [fault for fault in faults if fault["kind"] == "stale_metadata"]
    return {(fault["broker"], round_) for fault in stale for round_ in rounds_of(fault, rounds)}


def news_lag(broker: int, faults: Sequence[Fault], round_: int) -> int | None:
    """By how many rounds news is late for a broker that stale_metadata covers; None when nothing gets through."""
    lags = [
        fault.get("lag_rounds")
        for fault in faults
        if fault["kind"] == "stale_metadata" and fault["broker"] == broker and covers(fault, round_)
    ]
    return None if None in lags else max((int(lag) for lag in lags if lag is not None), default=None)


def link_is_cut(sender: int, receiver: int, faults: Sequence[Fault], round_: int) -> bool:
    """Tell whether a link_cut drops messages from `sender` to `receiver` in `round_`."""
    return any(fault["kind"] == "link_cut" and covers(fault, round_) and _on_the_way(fault, sender, receiver) for fault in faults)


def slowest_rate_bytes_per_second(sender: int, receiver: int, faults: Sequence[Fault], round_: int) -> int | None:
    """Smallest rate at which `receiver` can take data of `sender` in `round_`, or None without a limit."""
    rates = [
        int(fault["bytes_per_second"])
        for fault in faults
        if covers(fault, round_)
        and fault.get("bytes_per_second") is not None
        and (
            (fault["kind"] == "slow_link" and _on_the_way(fault, sender, receiver))
            or (fault["kind"] == "slow_disk" and fault["broker"] == receiver)
        )
    ]
    return min(rates, default=None)


def longest_round_trip_us(sender: int, receiver: int, faults: Sequence[Fault], round_: int) -> int | None:
    """Longest round trip that a slow_link says of messages from `sender` to `receiver` in `round_`, or None."""
    trips = [
        round(fault["round_trip_ms"] * 1000)
        for fault in faults
        if covers(fault, round_) and fault.get("round_trip_ms") is not None and _on_the_way(fault, sender, receiver)
    ]
    return max(trips, default=None)


def concerns(fault: Fault, broker: int, rack: object) -> bool:
    """Whether a fault is about the broker, or its rack."""
    if fault["kind"] in RACK_KINDS:
        return rack is not None and str(fault["rack"]) == str(rack)
    return fault.get("broker") == broker


def _on_the_way(fault: Fault, sender: int, receiver: int) -> bool:
    broker, peer = fault["broker"], fault.get("peer")
    direction = fault.get("direction") or "both"
    outward = sender == broker and peer in (None, receiver)
    inward = receiver == broker and peer in (None, sender)
    return (outward and direction in ("out", "both")) or (inward and direction in ("in", "both"))
