"""The records of a ledger's clients: what they sent, what they wait for, whom they want replaced.

`slot` and `index`: as in records.py; `..._to` are exclusive ends.
"""

from __future__ import annotations

from emulator.rounds.records import Record, compared, constant, counter


class FoundFragment(Record):
    """A fragment as a recovery found it, or a change of its own on top; its ensemble is in `found_ensembles`."""

    client: int = constant("the recovery")
    is_change: int = constant("1: an ensemble change of its own")
    first_entry: int = constant("entry")
    cause: int = constant("of a change: fault behind it")


class Add(Record):
    """An add of a client, until every answer is there or given up."""

    client: int = constant("who sent it")
    entry: int = constant("entry")
    lac: int = constant("LAC in its header")
    acked: int = constant("mask of indices that stored it")
    failed: int = constant("mask of indices that failed it")
    completed: int = constant("1: it has Qa answers")
    acknowledged: int = constant("1: it is acknowledged; answers are awaited")
    heard_round: int = constant("round in which an answer to it came last, or a request failed; NEVER: none did")


class Request(Record):
    """An add on its way to one bookie; they stand in the order in which bookies take them."""

    client: int = constant("who sent it")
    entry: int = constant("entry")
    index: int = constant("index in the client's ensemble")
    bookie: int = constant("slot")
    lac: int = constant("LAC in its header")
    sent_round: int = constant("round of sending")
    on_the_way: int = constant("1: the bookie hasn't got it yet")
    awaited: int = constant("1: the client waits for its answer")
    answer: int = constant("NO_ANSWER, TAKEN or REFUSED; of this round")
    late_answer: int = constant("likewise, on its way to the client")
    answer_round: int = constant("round in which that comes")
    cause: int = constant("fault that kept it from being answered last")


class FailedBookie(Record):
    """A bookie that a client wants replaced."""

    client: int = constant("which client")
    when: int = constant("NOW, CHANGING or LATER")
    index: int = constant("index in the ensemble")
    bookie: int = constant("slot of who was there")
    cause: int = constant("fault behind the request that failed")


class LateAnswer(Record):
    """What a bookie said to a recovery or a reader, and is still on its way; or a question that waits as it is silent."""

    client: int = constant("the recovery; READERS - the number of who opens without recovery; a read's")
    index: int = constant("index in the ensemble that was asked")
    bookie: int = constant("slot")
    asked_round: int = constant("round in which it was asked")
    said: int = constant("of an entry FOUND, NO or UNKNOWN; of the LAC TAKEN, or UNKNOWN in limbo; NOT_ASKED_YET")
    lac: int = constant("LAC that it told")
    due_round: int = constant("round in which it comes")


class Recovery(Record):
    """A client that opens the ledger with recovery. Its place in the list is its number."""

    origin: int = compared("BY_COMMAND, BY_WORKER, the slot of a bookie, or an owner")
    retry: int = compared("1: a failed attempt begins anew")
    cause: int = compared("fault behind its start")
    started_round: int = compared("round")
    phase: int = compared("MARK, ...")
    attempting: int = compared("1: an attempt is under way, so that answers to adds count")
    heard: int = compared("mask of indices that told their LAC in this attempt")
    asked_round: int = compared("round in which it asked for the entry behind its LAC, NEVER: not yet")
    next_place: int = compared("place in the write set of who is asked next")
    pause_ms: int = compared("time between the last two that were asked since earlier ones took too long")
    speculate_round: int = compared("round in which the next one is asked so, FOREVER: never")
    said_no: int = compared("how many said that they haven't got it")
    read_error: int = compared("what that question comes to if nobody has the entry, of ERRORS")
    marked_round: int = counter("round in which it marked the ledger")
    base_lac: int = compared("LAC that it starts from")
    lac: int = compared("last entry that it recovered")
    error: int = compared("what its client is told, of ERRORS, PENDING")
    attempt_error: int = compared("what made its last failed attempt fail, PENDING: none did")
    fenced_round: int = compared("round in which it was done fencing, NEVER")
    closed_round: int = compared("round in which it closed the ledger, NEVER")
    written: int = compared("last entry that Qa bookies had, with all before it, when it was done fencing")


class Opening(Record):
    """A client that opens the ledger without recovery."""

    at_round: int = constant("round")
    asked_round: int = constant("round in which it asked the bookies, NEVER: not yet")
    heard: int = constant("mask of indices that told their LAC")
    largest_lac: int = constant("the largest of these")
    lac: int = constant("LAC that it found, NO_ENTRY: none yet")
    error: int = constant("of ERRORS, PENDING")


class Reader(Record):
    """A client that reads all entries of a ledger."""

    at_round: int = constant("round in which it began")
    done_round: int = constant("round in which it had all that it gets, NEVER: not yet")
    entries: int = constant("entries that it asks for, from 0 on")
    read: int = constant("of these it got")
    missing: int = constant("that nobody gave it")
    read_bytes: int = constant("bytes that it read from bookies")
    remote_bytes: int = constant("bytes that it read from a remote store")
    speculative: int = constant("questions that went to a further bookie since earlier ones took too long, by entry")
    first_missing: int = constant("the first entry that nobody gave it, NO_ENTRY")
    error: int = constant("why, of ERRORS")


class Read(Record):
    """Entries that a reader waits for, every E-th of a range: all on the same bookies, asked for and answered alike."""

    client: int = constant("its number among the clients that answers go to")
    reader: int = constant("number of the reader")
    first_entry: int = constant("first entry")
    to_entry: int = constant("end")
    next_place: int = constant("place in the write set of who is asked next")
    pause_ms: int = constant("time between the last two that were asked so")
    speculate_round: int = constant("round in which the next one is asked though others may still answer, FOREVER: never")
    error: int = constant("what it comes to if nobody has the entries, of ERRORS")
    settled: int = constant("1: it is over")
