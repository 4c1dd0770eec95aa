"""What happened to a broker, in a few words: events, faults that begin and end, changes of role."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.explain.faults import fault_words
from emulator.explain.fetches import appended, offsets
from emulator.explain.history import DEAD_KINDS, ELECTIONS, FaultInForce, History
from emulator.explain.rows import Row

# In the order of a round: what comes from outside, who leads, what is written; then the fetches; then what they change.
INPUTS, LEADING, WRITING, AFTER_FETCHES = range(4)
CONTROLLER = -1
STEADY_KINDS = ("append", "segment_roll")
NBSP = "\xa0"
"""Stands between words that stay on one line; a blank in what is shown."""


@dataclass(frozen=True)
class Mark:
    """One thing that happened: to a broker, or CONTROLLER for none; `kind` as in events, and a few more."""

    step: int
    kind: str
    broker: int
    text: str


_STEPS = {
    **dict.fromkeys(("log_damaged",), INPUTS),
    **dict.fromkeys(
        ("fenced", "unfenced", "leader_lost", *ELECTIONS, "acked_lost", "unacknowledged_lost", "committed_lost"), LEADING
    ),
    **dict.fromkeys(("reassignment_completed",), LEADING),
    **dict.fromkeys(("refused", "segment_roll", "records_deleted"), WRITING),
}
_ORDER = {kind: at for at, kind in enumerate(("fault_end", "fault", "fenced", "isr_shrink", "leader_lost", *ELECTIONS))}
_WORDS = {
    "election": "elected, epoch {epoch}",
    "unclean_election": "ELECTED UNCLEANLY, epoch {epoch}",
    "leader_lost": "leads no more: no leader",
    "isr_shrink": "leaves the ISR",
    "isr_expand": "joins the ISR",
    "campaign": "stands for election in term {epoch}, in vain",
    "step_down": "steps down, led in term {epoch}",
    "truncate": "cuts its log {from_}\xa0->\xa0{to}",
    "log_damaged": "DISK LOST RECORDS {from_}\xa0->\xa0{to}",
    "acked_lost": "ACKED LOST {range} of epoch\xa0{epoch}",
    "unacknowledged_lost": "SENT WITH ACKS=0, LOST {range} of epoch\xa0{epoch}",
    "committed_lost": "COMMITTED LOST {range} of epoch\xa0{epoch}",
    "refused": "begins to refuse, {count} records in all",
    "segment_roll": "new segment at {from_}",
    "reassignment_completed": "reassignment completed",
    "records_deleted": "log starts at {to}",
    "local_delete": "deletes {range} from its disk",
    "copy_started": "copies {range} to remote storage",
    "copy_finished": "{range} is in remote storage",
    "copy_failed": "COPY OF {range} FAILED",
    "remote_delete": "deletes {range} in remote storage",
    "aux_state_built": "starts at {to}, what is before is in remote storage",
}


def marks_of(history: History, round_: int, first_shown: bool) -> list[Mark]:
    """Returns what happened in a round, in the order of its steps.

    `first_shown`: the story starts with this round, so that faults in force since earlier are told of.
    """
    marks = [mark for fault in history.faults for mark in fault_marks(fault, round_, first_shown)]
    marks += [_event_mark(history, round_, event) for event in history.events.get(round_, ())]
    for broker in history.columns:
        marks += _changes(history, round_, broker)
    return sorted(marks, key=lambda mark: (mark.step, _ORDER.get(mark.kind, len(_ORDER))))


def fault_marks(fault: FaultInForce, round_: int, first_shown: bool) -> list[Mark]:
    """What is said of a fault in a round: that it begins, that it holds in the first one shown, that it ends."""
    places = fault.brokers or (CONTROLLER,)
    number = fault.row["fault_id"]
    if fault.starts == round_ or (first_shown and fault.holds(round_)):
        begun = "begins" if fault.starts == round_ else f"holds since round {fault.starts}"
        told = [(b, fault_words(fault.row, b if fault.brokers else None)) for b in places]
        return [Mark(INPUTS, "fault", b, f"fault {number} {begun}: {words}") for b, words in told]
    if fault.ends == round_:
        return [Mark(INPUTS, "fault_end", b, f"fault {number} ends: {fault.row['kind']}") for b in places]
    return []


def _event_mark(history: History, round_: int, event: Row) -> Mark:
    kind, broker = str(event["kind"]), CONTROLLER if event["broker"] is None else int(event["broker"])
    from_, to = event["from_offset"], event["to_offset"]
    values = {"epoch": event["leader_epoch"], "from_": from_, "to": to}
    if from_ is not None and to is not None:
        values |= {"range": offsets(from_, to), "count": to - from_}
    text = _WORDS.get(kind, kind.replace("_", " ")).format_map(_Known(values))
    if event["cause"] is not None:
        text += f" (fault{NBSP}{event['cause']})"
    step = _STEPS.get(kind, AFTER_FETCHES)
    if kind == "isr_shrink" and history.events_of(round_, broker, "fenced"):
        step = LEADING
    return Mark(step, kind, broker, text)


class _Known(dict[str, object]):
    """Values by name; what an event leaves open is a question mark."""

    def __missing__(self, name: str) -> str:
        return "?"


def _changes(history: History, round_: int, broker: int) -> list[Mark]:
    """Changes of a traced replica that no event tells of, and what it appended."""
    marks = []
    before, now = history.states.get((round_ - 1, broker)), history.states.get((round_, broker))
    if round_ - 1 in history.controllers and (before is None) != (now is None):
        marks.append(Mark(LEADING, "replica", broker, "new replica" if before is None else "no replica any more"))
    if before is not None and now is not None and before["role"] != now["role"]:
        marks += _role_change(history, round_, broker, before["role"], now["role"])
    written = appended(history, round_, broker)
    if written is not None:
        marks.append(Mark(WRITING, "append", broker, f"appends {offsets(*written)}"))
    return marks


def _role_change(history: History, round_: int, broker: int, before: str, now: str) -> list[Mark]:
    if now == "offline":
        begins = any(f.row["kind"] in DEAD_KINDS and f.starts == round_ and broker in f.brokers for f in history.faults)
        return [] if begins else [Mark(INPUTS, "role", broker, "stops")]
    if before == "offline":
        return [Mark(INPUTS, "role", broker, "restarts")]
    if now == "leader" and not history.events_of(round_, broker, *ELECTIONS):
        return [Mark(AFTER_FETCHES, "role", broker, "learns that it leads")]
    return [Mark(AFTER_FETCHES, "role", broker, "steps down")] if before == "leader" else []
