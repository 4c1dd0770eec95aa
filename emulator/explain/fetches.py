"""What traced replicas sent each other in a round, and what leaders appended: read off the rounds before and after.

Steps 3, 4, 7 and 8 of docs/kafka_rounds.md. A trace says of a follower only how its fetch ended (`fetch_state`); whom it
asked is the leader of the epoch it believed in when the round began.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.explain.history import ELECTIONS, History
from emulator.explain.rows import Row
from emulator.scenario.protocols import KAFKA_PROTOCOLS

STEADY_FETCHES = ("fetched", "empty")
LOST = "lost"


@dataclass(frozen=True)
class Message:
    """A follower's fetch or question and what came of it.

    `state`: as in `trace.fetch_state`, or LOST. `request`, `answer`: what they say, the longest wording first; `answer` is
    None when there was none. `exchange`: both in one; None where each deserves its own line.
    """

    follower: int
    leader: int
    state: str
    request: tuple[str, ...]
    answer: tuple[str, ...] | None
    exchange: tuple[str, ...] | None = None


def offsets(from_offset: int, to_offset: int) -> str:
    """Returns the offsets of [from_offset, to_offset) as people write them.

    >>> offsets(11, 21), offsets(11, 12)
    ('11..20', '11')
    """
    return f"{from_offset}..{to_offset - 1}" if to_offset - from_offset > 1 else str(from_offset)


def messages(history: History, round_: int) -> tuple[Message, ...]:
    """Returns the fetches of a traced round, by follower; those whose leader nobody knows are left out."""
    found = (_message(history, round_, broker) for broker in history.columns)
    return tuple(message for message in found if message is not None)


def appended(history: History, round_: int, broker: int) -> tuple[int, int] | None:
    """Returns [from, to) of the records that a broker appended in a traced round as the leader; None: none."""
    state = history.states.get((round_, broker))
    if state is None or state["role"] != "leader":
        return None
    elected = history.events_of(round_, broker, *ELECTIONS)
    start = elected[0]["from_offset"] if elected else history.leo_at_start(round_, broker)
    if start is None:
        start = _start_of_the_first_append(history, round_, broker)
    return (start, state["leo"]) if start is not None and state["leo"] > start else None


def _message(history: History, round_: int, broker: int) -> Message | None:
    state = history.states.get((round_, broker))
    if state is None or state["role"] != "follower" or (state["fetch_state"] is None and not _is_lost(history, round_, broker)):
        return None
    leader = _believed_leader(history, round_, broker)
    if leader is None or leader == broker or leader not in history.columns:
        return None
    outcome = str(state["fetch_state"] or LOST)
    rules = KAFKA_PROTOCOLS[history.rows.scenario["protocol"]]
    asks = "asks" in rules and outcome in ("asked", "truncated")
    start = history.leo_at_start(round_, broker)
    if start is None and outcome in STEADY_FETCHES:
        start = state["remote_leo"]  # what the leader noted is where the fetch began
    epoch = _last_epoch(history, round_, broker)
    request = _question(epoch) if asks else _fetch(start, epoch)
    answer = _answer(history, round_, broker, state, start)
    return Message(broker, leader, outcome, request, answer, _exchange(history, round_, broker, state, start))


def _is_lost(history: History, round_: int, broker: int) -> bool:
    """Whether a follower that runs sends a fetch, as none arrives: it followed before, and nothing else holds it up."""
    before, controller = history.states.get((round_ - 1, broker)), history.controllers.get(round_)
    paused = any(f.row["kind"] == "broker_pause" and f.holds(round_) and broker in f.brokers for f in history.faults)
    leads = controller is not None and controller["leader"] == broker
    return before is not None and before["role"] == "follower" and not paused and not leads


def _exchange(history: History, round_: int, broker: int, state: Row, start: int | None) -> tuple[str, ...] | None:
    """A fetch and its answer in one line, where the round before had the like of it or nothing came."""
    before = history.states.get((round_ - 1, broker))
    goes_on = before is not None and before["fetch_state"] in STEADY_FETCHES
    if state["fetch_state"] == "empty":
        return (
            ("fetch: nothing new",)
            if start is None
            else (f"fetch {start}: nothing new", f"fetch {start}: +0", f"{start}: +0", "+0")
        )
    if not goes_on or state["fetch_state"] != "fetched" or start is None or state["leo"] <= start:
        return None
    count = state["leo"] - start
    return (f"fetch {start}: +{count}", f"{start}: +{count}", f"+{count}")


def _believed_leader(history: History, round_: int, broker: int) -> int | None:
    """Whom a follower fetches from: it learns who leads at a round's end, or before its first round after a restart."""
    before = history.states.get((round_ - 1, broker))
    if before is not None and not history.restarted(round_, broker):
        return history.leader_of(before["leader_epoch"])
    controller = history.controllers.get(round_ - 1)
    if controller is not None:
        return history.leader_of(controller["leader_epoch"])
    state = history.states[round_, broker]
    lost = any(event["kind"] in ("leader_lost", *ELECTIONS) for event in history.events.get(round_, ()))
    return None if lost else history.leader_of(state["leader_epoch"])


def _last_epoch(history: History, round_: int, broker: int) -> int | None:
    before = history.states.get((round_ - 1, broker))
    if before is None or history.events_of(round_, broker, "log_damaged"):
        return None
    return before.get("log_epoch")


def _fetch(start: int | None, epoch: int | None) -> tuple[str, ...]:
    if start is None:
        return ("fetch",)
    in_epoch = () if epoch is None else (f"fetch {start} after epoch {epoch}", f"fetch {start} after e{epoch}")
    return (*in_epoch, f"fetch {start}", str(start))


def _question(epoch: int | None) -> tuple[str, ...]:
    if epoch is None:
        return ("where does its log end?", "end of log?", "end?")
    return (f"where does epoch {epoch} end?", f"end of e{epoch}?", f"e{epoch}?")


def _answer(history: History, round_: int, broker: int, state: Row, start: int | None) -> tuple[str, ...] | None:
    outcome = str(state["fetch_state"] or LOST)
    cuts = history.events_of(round_, broker, "truncate")
    if outcome in ("unanswered", LOST):
        return None
    if outcome == "asked":
        return ("nothing to cut", "no cut")
    if outcome == "truncated":
        place = cuts[-1]["to_offset"] if cuts else state["leo"]
        return (f"diverges: cut to {place}", f"cut to {place}", f"to {place}")
    if outcome == "out_of_range":
        return (f"out of range: go on at {state['leo']}", "out of range", "range")
    if outcome == "out_of_order":
        return ("batch does not fit", "out of order", "order")
    if outcome == "fetched":
        end = state["leo"] if not cuts or history.restarted(round_, broker) else cuts[-1]["from_offset"]
        if start is None or end <= start:
            return (f"records to {end - 1}", f"to {end - 1}")
        return (f"records {offsets(start, end)}", offsets(start, end), f"+{end - start}")
    return (outcome.replace("_", " "),)


def _start_of_the_first_append(history: History, round_: int, broker: int) -> int | None:
    """What round 0 appended, which no earlier round tells: all that was appended but for what later rounds did."""
    whole = len(history.controllers) == history.rows.scenario["rounds"]
    if round_ != 0 or not whole:
        return None
    later = [appended(history, r, b) for r, b in history.states if r > 0]
    first = history.rows.outcome["appended"] - sum(to - start for start, to in filter(None, later))
    leo = int(history.states[round_, broker]["leo"])
    return leo - first if 0 <= first <= leo else None
