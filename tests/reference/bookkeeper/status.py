"""What the faults say of each bookie, of the metadata store and of the ledger's writer, one round after the other.

Choices: see docs/bookkeeper_rounds.md, "What the faults say". `controller_loss` is the metadata store's outage under Kafka's
name. link_cut, stale_metadata and the remote store's faults do nothing to a ledger (slow.py has slow ones): bookies don't
talk to each other but to copy, and copying has its own rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference.broker_status import RACK_KINDS, by_round, kind_at_broker, rounds_of

Fault = Mapping[str, Any]

CRASHES = ("broker_crash", "rack_loss")
DEAD_KINDS = (*CRASHES, "power_loss", "disk_loss", "controlled_shutdown")
STORE_OUTAGES = ("metadata_store_outage", "controller_loss")


@dataclass(frozen=True)
class BookieRound:
    """One bookie in one round, as the faults make it.

    `dead`: connections to it break. `paused`: the process stands still. `silent`: clients hear nothing of it, paused or cut
    off. `registered`: new ensembles may take it. `crashed`, `clean_stop`: how it stops in this very round. `power_lost`,
    `disk_lost`: what happens to it in this very round, also when it was dead before.
    """

    dead: bool
    paused: bool
    silent: bool
    registered: bool
    restarted: bool
    crashed: bool
    power_lost: bool
    disk_lost: bool
    clean_stop: bool

    @property
    def running(self) -> bool:
        """The process runs, whether or not anybody hears it."""
        return not self.dead and not self.paused

    @property
    def heard(self) -> bool:
        """Clients get answers from it."""
        return not self.dead and not self.silent


UNTOUCHED = BookieRound(
    dead=False, paused=False, silent=False, registered=True, restarted=False, crashed=False, power_lost=False, disk_lost=False,
    clean_stop=False,
)  # fmt: skip


def store_outages(faults: Sequence[Fault], rounds: int) -> set[int]:
    """The rounds in which the metadata store does not answer."""
    return {round_ for fault in faults if fault["kind"] in STORE_OUTAGES for round_ in rounds_of(fault, rounds)}


def writer_is_gone(faults: Sequence[Fault], round_: int) -> bool:
    """Tell whether a client_crash has begun: a writer doesn't come back."""
    return any(fault["kind"] == "client_crash" and fault["from_round"] <= round_ for fault in faults)


def bookie_rounds(
    bookie: int, rack: object, faults: Sequence[Fault], rounds: int, session_timeout_rounds: int
) -> list[BookieRound]:
    """Follow one bookie through rounds 0 to `rounds` - 1; decommissioning is not a fault and comes on top."""
    own = [fault for fault in faults if concerns(fault, bookie, rack)]
    if not own:
        return [UNTOUCHED] * rounds
    held_in = by_round(own, rounds)
    outages = store_outages(faults, rounds)
    history: list[BookieRound] = []
    was_dead = was_up = False
    unheard_since: int | None = None
    for now in range(rounds):
        held = held_in[now]
        kinds = {kind_at_broker(fault) for fault in held}
        begun = {kind_at_broker(fault) for fault in held if fault["from_round"] == now}
        dead = bool(kinds & set(DEAD_KINDS))
        stopped = not dead and "broker_pause" in kinds
        cut = not dead and "isolation" in kinds
        silent = stopped or any(kind_at_broker(fault) == "isolation" and fault.get("clients") for fault in held if cut)
        store_up = now not in outages
        if not stopped and not cut:
            unheard_since = None
        elif unheard_since is None or (store_up and not was_up):
            unheard_since = now
        session_ended = unheard_since is not None and store_up and now >= unheard_since + session_timeout_rounds
        if history and not history[-1].dead and not history[-1].registered and unheard_since is not None:
            session_ended = True
        clean = "controlled_shutdown" in begun and not was_dead and not kinds & {*CRASHES, "power_loss", "disk_loss"}
        history.append(
            BookieRound(
                dead=dead,
                paused=stopped,
                silent=silent,
                registered=not dead and not session_ended,
                restarted=was_dead and not dead,
                crashed=dead and not was_dead and not clean,
                power_lost="power_loss" in begun,
                disk_lost="disk_loss" in begun,
                clean_stop=clean,
            )
        )
        was_dead, was_up = dead, store_up
    return history


def concerns(fault: Fault, bookie: int, rack: object) -> bool:
    """Tell whether a fault of bookies strikes this one, or its rack."""
    if fault["kind"] in RACK_KINDS:
        return rack is not None and str(fault["rack"]) == str(rack)
    return fault.get("broker") == bookie
