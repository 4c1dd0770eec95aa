"""From the rows of a topic that is a list of ledgers to its story: a column for each ledger, beside them owner and list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from emulator.explain.fetches import offsets
from emulator.explain.history import FaultInForce, by_round
from emulator.explain.ledger_closing import topic_closing
from emulator.explain.ledger_marks import event_mark, reader_marks
from emulator.explain.ledger_rows import TopicRows
from emulator.explain.ledger_story import growth_words, waiting_words, with_quiet
from emulator.explain.marks import AFTER_FETCHES, CONTROLLER, INPUTS, LEADING, NBSP, WRITING, Mark, fault_marks
from emulator.explain.rows import Row
from emulator.explain.story import ABSENT, FOLLOWER, LEADER, OFFLINE, ZOMBIE, Moment, Quiet, Speech, State, Story
from emulator.explain.summary import rounds_words

OF_TOPICS = Speech(
    "ledger",
    "owner, list",
    {LEADER: "open", ZOMBIE: "in recovery", FOLLOWER: "closed", OFFLINE: "not on bookies any more"},
    {},
    "A round's last line is its end: of each ledger that is open or not as it was its state and entries, beside them who serves"
    " the topic, what the list says and how many messages are acknowledged; a..b includes b.",
    {
        "election": "ledger created, ensemble change",
        "leader_lost": "ledger closed",
        "append": "entries acknowledged",
        "truncate": "a bookie fenced",
        "acked_lost": "entries lost, adds failed",
        "fault": "fault begins or ends",
        "fenced": "anything else",
    },
    side_first=True,
)

_WORDS = {
    "ledger_created": "created, for messages from {from_} on",
    "ledger_rolled_over": "is done with",
    "ledger_deleted": "is deleted by retention",
    "take_over": "another broker takes the topic over",
    "offload_started": "is being copied to remote storage",
    "offload_failed": "COPY TO REMOTE STORAGE GIVEN UP",
    "offloaded": "is in remote storage",
    "bookies_freed": "is deleted from bookies",
}
_PHASES = {
    "create": "adds a ledger",
    "recover": "recovers the last ledgers",
    "wait": "waits for recoveries",
    "write": "writes",
    "close": "closes its ledger",
    "stopped": "is gone",
}
_STEPS = {"ledger_created": INPUTS, "take_over": INPUTS}
_SHAPES = {"ledger_created": "election", "offload_failed": "acked_lost"}


class _History:
    """Looks up what is known of a round and a ledger of the list."""

    def __init__(self, rows: TopicRows) -> None:
        self.rows, self.columns = rows, rows.columns
        self.topics: dict[int, Row] = {row["round"]: row for row in rows.trace}
        self.ledgers: dict[tuple[int, int], Row] = {(row["round"], row["ledger"]): row for row in rows.ledger_trace}
        self.events, self.violations = by_round(rows.events), by_round(rows.violations)
        self.ends: dict[int, Row] = {row["ledger"]: row for row in rows.ledgers}
        self.faults = [FaultInForce(row, ()) for row in rows.faults]

    def faulty(self, round_: int) -> frozenset[int]:
        """Whether a fault is in force that concerns the topic: it stands in the side's margin."""
        return frozenset([CONTROLLER] if any(fault.holds(round_) for fault in self.faults) else [])

    def acknowledged(self, round_: int, ledger: int) -> tuple[int, int] | None:
        """Returns [from, to) of the entries of a ledger that were acknowledged in a round; None: none were."""
        now, before = self.ledgers.get((round_, ledger)), self.ledgers.get((round_ - 1, ledger))
        if now is None or (before is None and self.ends[ledger]["created_round"] != round_):
            return None
        is_given = before is None and self.ends[ledger]["first_message"] < 0
        first = now["writer_lac"] + 1 if is_given else 0 if before is None else before["writer_lac"] + 1
        return (first, now["writer_lac"] + 1) if now["writer_lac"] >= first else None


def tell_topic(rows: TopicRows, first: int, last: int) -> Story:
    """Tells the story of rounds `first` to `last`, both included, of a topic whose rounds are known."""
    history = _History(rows)
    moments = (_moment(history, round_, round_ == first) for round_ in range(first, last + 1))
    parts = with_quiet(moments, partial(_what_goes_on, history), ("append",), partial(_quiet, history))
    opening = [heading(rows, first, last), OF_TOPICS.opening]
    left_out = [row["ledger"] for row in rows.ledgers if row["ledger"] < min(rows.columns, default=0)]
    if left_out:
        opening.append(f"Ledgers {offsets(left_out[0], left_out[-1] + 1)} are not drawn; --ledger N tells of any.")
    return Story(rows, first, last, True, parts, OF_TOPICS, tuple(opening), tuple(topic_closing(rows)))


def heading(rows: TopicRows, first: int, last: int) -> str:
    """Returns whose story it is, and of which rounds."""
    scenario = rows.scenario
    return (
        f"topic {rows.topic}:{rows.partition} in scenario {scenario['name']} ({scenario['protocol']}),"
        f" {rows.row['ledgers_created']} ledgers; {rounds_words(scenario, first, last)}"
    )


def _moment(history: _History, round_: int, first_shown: bool) -> Moment:
    marks = _marks(history, round_, first_shown)
    told = {mark.broker for mark in marks}
    states = dict(_states(history, round_))
    for ledger, state in states.items():
        if not first_shown and ledger not in told and state.role not in (LEADER, ZOMBIE):
            states[ledger] = _news(history, round_, ledger, state)
    return Moment(
        round_,
        states,
        history.faulty(round_),
        None,
        tuple(marks),
        (),
        tuple(history.violations.get(round_, ())),
        tuple(_side(history.topics.get(round_))),
    )


def _news(history: _History, round_: int, ledger: int, state: State) -> State:
    """A state without words, where it was the same in the round before."""
    return State(state.role) if state == _state(history, round_ - 1, ledger) else state


def _what_goes_on(history: _History, round_: int) -> Any:
    """What has to change for a round to be told of: not how many messages there are."""
    topic = history.topics.get(round_, {})
    kept = {name: topic.get(name) for name in ("owner", "owner_phase", "writes", "listed", "offloading", "offloaded")}
    waits = bool(topic.get("unacked")) and topic["acked"] == history.topics.get(round_ - 1, {}).get("acked")
    return kept, waits, {ledger: state.role for ledger, state in _states(history, round_).items()}, history.faulty(round_)


def _marks(history: _History, round_: int, first_shown: bool) -> list[Mark]:
    marks = [mark for fault in history.faults for mark in fault_marks(fault, round_, first_shown)]
    marks += [_event(history, event) for event in history.events.get(round_, ())]
    for ledger in history.columns:
        acknowledged = history.acknowledged(round_, ledger)
        if acknowledged is not None:
            marks.append(Mark(WRITING, "append", ledger, f"acknowledges {offsets(*acknowledged)}"))
        own = [reader for reader in history.rows.readers if reader["ledger"] == ledger]
        marks += reader_marks(own, round_, ledger)
    marks += _of_owner(history, round_)
    return sorted(marks, key=lambda mark: (mark.step, mark.kind not in ("fault_end", "fault")))


def _event(history: _History, event: Row) -> Mark:
    """An event in the column of its ledger, or at the side."""
    ledger = CONTROLLER if event["ledger"] not in history.columns else int(event["ledger"])
    kind = str(event["kind"])
    name = "" if ledger != CONTROLLER or event["ledger"] is None else f"ledger {event['ledger']}: "
    if kind not in _WORDS:
        mark = event_mark(event)
        who = "" if event["broker"] is None or kind == "acked_lost" else f"bookie {event['broker']} "
        return Mark(mark.step, mark.kind, ledger, f"{name}{who}{mark.text}")
    text = name + _WORDS[kind].format(from_=event["from_offset"])
    if event["cause"] is not None:
        text += f" (fault{NBSP}{event['cause']})"
    return Mark(_STEPS.get(kind, AFTER_FETCHES), _SHAPES.get(kind, kind), ledger, text)


def _of_owner(history: _History, round_: int) -> Iterator[Mark]:
    now, before = history.topics.get(round_), history.topics.get(round_ - 1)
    if now is None or before is None or now["owner_phase"] == before["owner_phase"]:
        return
    yield Mark(LEADING, "owner", CONTROLLER, f"owner {now['owner']} {_PHASES[now['owner_phase']]}")


def _states(history: _History, round_: int) -> Mapping[int, State]:
    return {ledger: _state(history, round_, ledger) for ledger in history.columns}


def _state(history: _History, round_: int, number: int) -> State:
    ledger, end = history.ledgers.get((round_, number)), history.ends[number]
    if ledger is None:
        if end["created_round"] > round_:
            return State(ABSENT)
        is_deleted = end["deleted_round"] is not None and end["deleted_round"] <= round_
        return State(OFFLINE, said=("deleted" if is_deleted else "in remote storage",))
    last = ledger["writer_lac"] if ledger["last_entry"] is None else ledger["last_entry"]
    pieces = [str(ledger["state"]), f"{last + 1} entries"]
    pieces += [f"{len(ledger['in_flight'])} in flight"] if ledger["in_flight"] else []
    pieces += [waiting_words(one) for one in ledger["readers"]]
    topic = history.topics.get(round_, {})
    pieces += ["in remote storage"] if number in topic.get("offloaded", ()) else []
    pieces += [] if number in topic.get("listed", (number,)) else ["NOT IN THE LIST"]
    role = {"OPEN": LEADER, "IN_RECOVERY": ZOMBIE, "CLOSED": FOLLOWER}[ledger["state"]]
    return State(role, said=tuple(pieces))


def _side(topic: Row | None) -> list[str]:
    """Who serves the topic at the end of a round, what the list says, how many messages are acknowledged."""
    if topic is None:
        return []
    writes = "" if topic["writes"] is None else f" {topic['writes']}"
    pieces = [f"owner {topic['owner']}: {topic['owner_phase']}{writes}", f"list {_numbers(topic['listed'])}"]
    pieces += [f"acked {topic['acked']} of {topic['messages']}", f"{topic['unacked']} wait"]
    return pieces + ([] if topic["offloading"] is None else [f"offloads {topic['offloading']}"])


def _numbers(numbers: Sequence[int]) -> str:
    """A few numbers one by one, many in a row as a range."""
    if len(numbers) > 3 and numbers[-1] - numbers[0] + 1 == len(numbers):
        return offsets(numbers[0], numbers[-1] + 1)
    return " ".join(map(str, numbers)) or "empty"


def _quiet(history: _History, rounds: Sequence[int]) -> Quiet:
    first, last = rounds[0], rounds[-1]
    before, after = history.topics[first - 1], history.topics[last]
    counts = [history.topics[round_]["acked"] - history.topics[round_ - 1]["acked"] for round_ in rounds]
    words = [growth_words(counts, "message", "messages") + " acknowledged" if max(counts) else "nothing acknowledged"]
    if before["acked"] != after["acked"]:
        words.append(f"{before['acked']} -> {after['acked']}")
    words += [f"{after['unacked']} wait"] if after["unacked"] else []
    return Quiet(first, last, _states(history, last), history.faulty(last), ", ".join(words))
