"""The guards of the `kafka` protocol, one flag each: all of them on is Kafka, one of them off is a mutant.

A mutant is the check of the checks: an invariant that no mutant ever breaks proves nothing. `MUTANTS` has one per guard.

What a leader checks of a fetch overlaps: it refuses wrong epochs, and it looks for divergence in every fetch, since each
carries its last epoch (KIP-595). While the other guards hold, a follower that was found in line once in an epoch stays
so, and looking at its first fetch would be enough (`CHECKED_ONCE`, which breaks nothing). Without some other guard this
second look is what still saves the logs; `checked_once(rules)` is such a mutant without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Rules:
    """Which guards hold; the numbers are the steps of docs/kafka_rounds.md.

    cut_by_epoch (7): after a diverging answer a follower cuts to min(LEO, end, own end offset for e). Off: to min(LEO, own
    HW), whatever the answer says.

    join_at_high_watermark (5): who joins has reached T's HW of the round's start. Off: the start of T's epoch is enough.

    join_at_epoch_start (5): who joins has reached the start of T's epoch. Off: T's HW is enough.

    wait_for_maximal_isr (6): the HW is the minimum over the maximal ISR. Off: over the ISR that T knew before this round's
    changes, without joiners, pending joins and followers that are about to join; the second time without the shrunk.

    fetch_in_leader_epoch (4): B answers a fetch in its own epoch only. Off: whatever epochs the follower and B believe in;
    everything else B looks at stays, divergence first, and T notes a fetch if it leads in T_epoch.

    response_in_leader_epoch (7): a response that comes after its follower learned of another leader or epoch is dropped.
    Off: one late response is applied. When a follower X learns of another (leader, epoch) in step 8 of round r, one more
    fetch of it is on its way to the leader B that it believed in, from X's LEO after step 7. B answers it before B itself
    learns anything: if messages pass in both directions in round r, B runs and leads in the epoch that X believed in, and
    the answer is data with at least one batch (whole batches within replica.fetch.max.bytes; slow links do not count).
    X takes it at the start of step 7 of round r + 1, after its new fetch was noted, if X still runs, did not restart, does
    not lead, the message B -> X passes in r + 1 too, and X's LEO is still the offset asked: data is appended, HW := min(LEO,
    B's HW of round r). What X is answered in round r + 1 is then dropped, since its fetch offset moved.

    forget_followers (2): at an election T knows no follower's LEO, and that nobody's log was found in line. Off: what the T
    before knew of these two stays (of the leader before: nothing); when they were caught up begins anew all the same.

    hold_below_min_isr (6): the HW stays while |ISR| < min.insync.replicas. Off: it rises.

    remove_unclean_from_elr (2): a broker that restarts after an unclean stop leaves ELR. Off: it stays.

    check_every_fetch (4): every fetch is checked for divergence. Off: not those of a follower that T noted in its epoch.
    """

    cut_by_epoch: bool = True
    join_at_high_watermark: bool = True
    join_at_epoch_start: bool = True
    wait_for_maximal_isr: bool = True
    fetch_in_leader_epoch: bool = True
    response_in_leader_epoch: bool = True
    forget_followers: bool = True
    hold_below_min_isr: bool = True
    remove_unclean_from_elr: bool = True
    check_every_fetch: bool = True


REAL = Rules()
CHECKED_ONCE = Rules(check_every_fetch=False)

MUTANTS: dict[str, Rules] = {
    "truncate-to-high-watermark": Rules(cut_by_epoch=False),
    "join-without-high-watermark": Rules(join_at_high_watermark=False),
    "join-without-epoch-start": Rules(join_at_epoch_start=False),
    "high-watermark-over-committed-isr": Rules(wait_for_maximal_isr=False),
    "fetch-without-epoch-check": Rules(fetch_in_leader_epoch=False),
    "response-after-epoch-moved": Rules(response_in_leader_epoch=False),
    "new-leader-keeps-old-remote-leo": Rules(forget_followers=False),
    "hw-below-min-isr": Rules(hold_below_min_isr=False),
    "unclean-kept-in-elr": Rules(remove_unclean_from_elr=False),
}


def checked_once(rules: Rules) -> Rules:
    """The same rules, but a follower's log is checked for divergence only until T notes its first fetch."""
    return replace(rules, check_every_fetch=False)
