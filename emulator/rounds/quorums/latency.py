"""How long records wait from being appended to being acknowledged, counted by rounds."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import append, every, last
from emulator.rounds.quorums.constants import EXACT_LATENCY
from emulator.rounds.quorums.records import Group, Lists


@compiled
def note_appended(lists: Lists, group: Group, leadership: int, entry: int, records: int) -> None:
    """So many records of a leadership are appended in this round, from an entry on; 0: the entry is a configuration."""
    if group.appends.count > 0:
        own = lists.appends[last(group.appends)]
        goes_on = own.leadership == leadership and own.records == records
        if goes_on and entry - own.first_entry == records * (group.now - own.at_round):
            return
    new = lists.appends[append(group.appends)]
    new.leadership = leadership
    new.first_entry = entry
    new.at_round = group.now
    new.records = records


@compiled
def note_acknowledged(lists: Lists, group: Group, leadership: int, from_entry: int, to_entry: int) -> int:
    """Entries [from_entry, to_entry) of a leadership are acknowledged in this round; how many of them are records."""
    count = 0
    at = group.appends.start + group.appends.count - 1
    while at >= group.appends.start and from_entry < to_entry:
        own = lists.appends[at]
        if own.leadership == leadership and own.first_entry < to_entry:
            if own.records == 0:  # a configuration
                to_entry = own.first_entry
            while to_entry > max(from_entry, own.first_entry):
                rounds = (to_entry - 1 - own.first_entry) // own.records
                begin = max(from_entry, own.first_entry + rounds * own.records)
                count_latency(lists, group, group.now - own.at_round - rounds, to_entry - begin)
                count += to_entry - begin
                to_entry = begin
        at -= 1
    return count


@compiled
def count_latency(lists: Lists, group: Group, rounds: int, records: int) -> None:
    """So many records waited so many rounds."""
    least = bucket_of(rounds)
    for at in every(group.latencies):
        if lists.latencies[at].rounds == least:
            lists.latencies[at].records += records
            return
    new = lists.latencies[append(group.latencies)]
    new.rounds = least
    new.records = records


@compiled
def bucket_of(rounds: int) -> int:
    """The least number of rounds that is counted together with these: 64 to 71, 72 to 79, ..., 128 to 143, ..."""
    width = 1
    while rounds // width >= 2 * 8 and rounds >= EXACT_LATENCY:
        width *= 2
    return rounds // width * width
