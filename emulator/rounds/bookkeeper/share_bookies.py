"""Step 4, where ledgers share bookies' budgets: what each asks for is noted, and of a bookie that is short it gets its share.

All adds to a bookie, whosever they are, are taken in the order of arrival: they come over a client's one connection
(PerChannelBookieClient, numChannelsPerBookie 1), and the journal has one queue (Journal.logAddEntry, Journal.run).
"""

from __future__ import annotations

from emulator.rounds.bookkeeper.adds import fault_on_the_way
from emulator.rounds.bookkeeper.bookies import bookie_at
from emulator.rounds.bookkeeper.client_records import Request
from emulator.rounds.bookkeeper.constants import ASKED_TOLD, DELAY_ADDS, FOREVER, NEVER, NO_FAULT, NO_LIMIT, WRITER
from emulator.rounds.bookkeeper.inputs import BookieShare, Inputs
from emulator.rounds.bookkeeper.records import Bookie, Ledger, Lists
from emulator.rounds.bookkeeper.sizes import bytes_of_entry
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import append, every


@compiled
def take_share(lists: Lists, inputs: Inputs, ledger: Ledger, slot: int, unused: int) -> None:
    """Of one bookie. `unused`: what it was given in the last round and kept for an add that is larger."""
    row = inputs.scenarios[ledger.scenario]
    bookie = bookie_at(lists, ledger, slot)
    at_bookie = row.first_bookie + bookie.place
    share = inputs.shares[at_bookie]
    if share.budget_bytes == NO_LIMIT:
        return
    room_at_first = FOREVER if bookie.may_take == NO_LIMIT else bookie.may_take
    room = room_at_first
    asked, given, of_cut_round = 0, 0, 0
    told_round, told = NEVER, 0
    for at in every(ledger.requests):
        one = lists.requests[at]
        if one.bookie != slot or not comes_now(inputs, ledger, bookie, one):
            continue
        size = min(bytes_of_entry(inputs, ledger, one.entry), room)
        room -= size
        paid = min(size, unused)
        unused -= paid
        given += paid
        size -= paid
        asked += size
        if one.sent_round < share.cut_round:
            given += size
        elif one.sent_round == share.cut_round:
            of_cut_round += size
        if row.sharing == ASKED_TOLD and size > 0:
            if told_round != one.sent_round:
                tell_asked(lists, at_bookie, told_round, told)
                told_round, told = one.sent_round, 0
            told += size
    tell_asked(lists, at_bookie, told_round, told)
    bookie.most_asked_bytes = max(bookie.most_asked_bytes, asked)
    if share.cut_round != FOREVER:
        bookie.may_take = min(room_at_first, given + part_of_cut_round(share, of_cut_round))


@compiled
def comes_now(inputs: Inputs, ledger: Ledger, bookie: Bookie, one: Request) -> bool:
    """Whether an add is there for a bookie that is heard."""
    if not one.on_the_way or one.sent_round > ledger.now:
        return False
    return one.client != WRITER or fault_on_the_way(inputs, ledger, DELAY_ADDS, bookie.place, one.entry) == NO_FAULT


@compiled
def part_of_cut_round(share: BookieShare, asked: int) -> int:
    """Of what is left for adds of one round all ledgers get the same part of theirs, and a byte at least."""
    if asked == 0 or share.left_bytes == 0:
        return 0
    return max(1, asked * share.left_bytes // share.asked_bytes)


@compiled
def tell_asked(lists: Lists, at_bookie: int, sent_round: int, asked: int) -> None:
    """What was sent in a round, if something was."""
    if asked == 0:
        return
    row = lists.asked[append(lists.filled[0].asked)]
    row.bookie = at_bookie
    row.sent_round = sent_round
    row.asked_bytes = asked
