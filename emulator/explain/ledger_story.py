"""From the rows of a ledger to its story: rounds in which something happened, and the quiet ones between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from emulator.explain.ledger_closing import ledger_closing
from emulator.explain.ledger_history import LedgerHistory
from emulator.explain.ledger_marks import STEADY_KINDS, adds, ledger_marks
from emulator.explain.ledger_rows import LedgerRows
from emulator.explain.rows import Row
from emulator.explain.story import FOLLOWER, LEADER, OFFLINE, ZOMBIE, Moment, Quiet, Speech, State, Story
from emulator.explain.summary import rounds_words

OF_LEDGERS = Speech(
    "bookie",
    "writer, metadata",
    {LEADER: "in the writer's ensemble", ZOMBIE: "fenced", FOLLOWER: "not in the ensemble", OFFLINE: "dead or silent"},
    {"exchange": "add and answer", "lost": "unanswered"},
    "A round's last line is its end: of each bookie its last entry, LAC and number of entries, beside them what the metadata"
    " store says and the writer knows; a..b includes b.",
    {
        "election": "ensemble change",
        "leader_lost": "ledger closed",
        "append": "entries sent, acknowledged",
        "truncate": "fenced",
        "acked_lost": "entries lost, adds failed",
        "fault": "fault begins or ends",
        "fenced": "anything else",
    },
)


def tell_ledger(rows: LedgerRows, first: int, last: int) -> Story:
    """Tells the story of rounds `first` to `last`, both included, of a ledger whose rounds are known."""
    history = LedgerHistory(rows)
    moments = (_moment(history, round_, round_ == first) for round_ in range(first, last + 1))
    parts = with_quiet(moments, partial(_what_goes_on, history), STEADY_KINDS + ("copies",), partial(_quiet, history))
    opening = (heading(rows, first, last), OF_LEDGERS.opening)
    return Story(rows, first, last, True, parts, OF_LEDGERS, opening, tuple(ledger_closing(rows)))


def with_quiet(
    moments: Iterable[Moment],
    what_goes_on: Callable[[int], Any],
    steady_kinds: Collection[str],
    quiet: Callable[[Sequence[int]], Quiet],
) -> tuple[Moment | Quiet, ...]:
    """Returns rounds in a row, those in which nothing but `steady_kinds` happens and the same goes on as before put together."""
    parts: list[Moment | Quiet] = []
    rounds: list[int] = []
    before: Any = None
    for moment in moments:
        now = what_goes_on(moment.round)
        is_eventful = bool(moment.violations) or any(mark.kind not in steady_kinds for mark in moment.marks)
        if (parts or rounds) and now == before and not is_eventful:
            rounds.append(moment.round)
        else:
            parts += [quiet(rounds)] if rounds else []
            rounds = []
            parts.append(moment)
        before = now
    return (*parts, *([quiet(rounds)] if rounds else []))


def heading(rows: LedgerRows, first: int, last: int) -> str:
    """Returns whose story it is, and of which rounds."""
    scenario, ledger = rows.scenario, rows.ledger
    place = "" if rows.number is None else f"{rows.number} of "
    quorums = f"E {ledger['ensemble_size']}, Qw {ledger['write_quorum']}, Qa {ledger['ack_quorum']}"
    return (
        f"ledger {place}{rows.topic}:{rows.partition} in scenario {scenario['name']} ({scenario['protocol']}), {quorums};"
        f" {rounds_words(scenario, first, last)}"
    )


def _moment(history: LedgerHistory, round_: int, first_shown: bool) -> Moment:
    return Moment(
        round_,
        _states(history, round_),
        history.faulty(round_),
        None,
        tuple(ledger_marks(history, round_, first_shown)),
        adds(history, round_),
        tuple(history.violations.get(round_, ())),
        tuple(_side(history.ledgers.get(round_))),
    )


def _what_goes_on(history: LedgerHistory, round_: int) -> Any:
    """What has to change for a round to be told of: not how many entries there are."""
    ledger = history.ledgers.get(round_, {})
    kept = {name: ledger.get(name) for name in ("state", "last_entry", "writer", "ensemble", "replacing", "underreplicated")}
    phases = [(one["number"], one["phase"].replace("write", "read")) for one in ledger.get("recoveries", ())]
    roles = {broker: (state.role, state.said[:1]) for broker, state in _states(history, round_).items()}
    waits = [(name, one["number"], one["awaited_from"]) for name in ("recoveries", "readers") for one in ledger.get(name, ())]
    return kept, phases, waits, roles, sorted(history.unanswered(round_)), history.faulty(round_)


def _states(history: LedgerHistory, round_: int) -> Mapping[int, State]:
    return {broker: _state(history.bookies.get((round_, broker))) for broker in history.columns}


def _state(bookie: Row | None) -> State:
    """A bookie at the end of a round; one that the ledger has nothing to do with yet is not drawn."""
    if bookie is None:
        return State("absent")
    role = (
        OFFLINE if bookie["status"] != "heard" else ZOMBIE if bookie["fenced"] else LEADER if bookie["in_ensemble"] else FOLLOWER
    )
    word = {OFFLINE: bookie["status"], ZOMBIE: "fenced", LEADER: "in ensemble", FOLLOWER: "outside"}[role]
    entries = bookie["entries"]
    pieces = ["limbo"] if bookie["limbo"] else []
    pieces += (
        [f"last {bookie['last_entry']}", f"lac {bookie['lac']}", f"{entries} entr{'y' if entries == 1 else 'ies'}"]
        if entries
        else ["empty"]
    )
    return State(role, said=(word, *pieces))


def _side(ledger: Row | None) -> list[str]:
    """What the metadata store says at the end of a round, and what the writer knows."""
    if ledger is None:
        return []
    end = "" if ledger["last_entry"] is None else f" at {ledger['last_entry']}"
    pieces = [f"{ledger['state']}{end}", f"lac {ledger['writer_lac']}", f"sent to {ledger['last_add_pushed']}"]
    pieces += [f"{len(ledger['in_flight'])} in flight"] if ledger["in_flight"] else []
    pieces += [f"{ledger['queued']} queued"] if ledger["queued"] else []
    pieces.append(f"to {' '.join(map(str, ledger['ensemble']))}")
    pieces += [recovery_words(one) for one in ledger["recoveries"]]
    return pieces + [waiting_words(one) for one in ledger["readers"]]


def recovery_words(recovery: Row) -> str:
    """Returns how far a recovery under way is, and whom it waits for."""
    waits = f", {_waits(recovery)}" if recovery["awaited_from"] else ""
    return f"recovery {recovery['number']}: {recovery['phase']}, lac {recovery['lac']}{waits}"


def waiting_words(reader: Row) -> str:
    """Returns whom a reader under way waits for."""
    return f"reader {reader['number']} {_waits(reader)}"


def _waits(client: Row) -> str:
    brokers = client["awaited_from"]
    return f"waits for bookie{'s' if len(brokers) > 1 else ''} {' '.join(map(str, brokers))}"


def _quiet(history: LedgerHistory, rounds: Sequence[int]) -> Quiet:
    first, last = rounds[0], rounds[-1]
    return Quiet(first, last, _states(history, last), history.faulty(last), _quiet_words(history, first, last))


def _quiet_words(history: LedgerHistory, first: int, last: int) -> str:
    """What went on in the rounds, without their numbers."""
    before, after = history.ledgers.get(first - 1), history.ledgers.get(last)
    if after is None or before is None:
        return "the ledger is not there"
    ranges = [history.sent(round_) for round_ in range(first, last + 1)]
    rates = [0 if sent is None else sent[1] - sent[0] for sent in ranges]
    words = [growth_words(rates, "entry", "entries") if max(rates) else "nothing written"]
    if before["writer_lac"] != after["writer_lac"]:
        words.append(f"lac {before['writer_lac']} -> {after['writer_lac']}")
    elif after["in_flight"] or after["queued"]:
        words.append(f"lac stays at {after['writer_lac']}")
    words += [f"{after['queued']} queued"] if after["queued"] else []
    copied = {b: len(e) for b in history.columns if (e := _taken_in(history, first, last, b)) and not max(rates)}
    words += [f"bookie {broker} got {count} copies" for broker, count in copied.items()]
    troubles = [f"no answer from {broker}" for broker in sorted(history.unanswered(last))]
    away: dict[str, list[str]] = {}
    for broker in history.columns:
        status = history.bookies.get((last, broker), {}).get("status", "heard")
        if status != "heard":
            away.setdefault(status, []).append(str(broker))
    troubles += [f"{status}: {', '.join(brokers)}" for status, brokers in away.items()]
    troubles += [recovery_words(one) for one in after["recoveries"]]
    troubles += [waiting_words(one) for one in after["readers"]]
    return "; ".join([", ".join(words), *troubles])


def _taken_in(history: LedgerHistory, first: int, last: int, broker: int) -> list[int]:
    return [entry for round_ in range(first, last + 1) for entry in history.taken(round_, broker)]


def growth_words(rates: Sequence[int], one: str, many: str) -> str:
    """Returns how many came in each of some rounds.

    >>> growth_words([1, 1], "entry", "entries"), growth_words([0, 4], "entry", "entries"), growth_words([3], "entry", "entries")
    ('+1 entry a round', '0 to 4 entries a round', '+3 entries')
    """
    low, high = min(rates), max(rates)
    if low != high:
        return f"{low} to {high} {many} a round"
    return f"+{low} {one if low == 1 else many}" + (" a round" if len(rates) > 1 else "")
