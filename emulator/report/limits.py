"""What a report can't tell: the limits of docs/accuracy.md that apply to a run, in sentences with the run's own figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from emulator.report.markup import Row, seconds
from emulator.scenario import Run, Scenario, ledger_configs
from emulator.scenario.configs import effective
from emulator.scenario.protocols import LEDGER_PROTOCOLS, PARTITIONS, system_of

STOPPING = frozenset({"broker_crash", "power_loss", "disk_loss", "rack_loss", "broker_pause", "isolation"})
"""Kinds of faults that may strike within a round."""


@dataclass(frozen=True)
class Case:
    """A scenario of a run. `kinds`: of its faults; `given`: what its file says, None: that cannot be read any more."""

    row: Row
    kinds: frozenset[str]
    given: Scenario | None

    @property
    def of_ledgers(self) -> bool:
        """Whether it has ledgers and no partitions."""
        return self.row["protocol"] in LEDGER_PROTOCOLS

    @property
    def of_partitions(self) -> bool:
        """Whether it has partitions of Kafka."""
        return system_of(str(self.row["protocol"])) == PARTITIONS

    def time(self, rounds: float = 1) -> str:
        """So many rounds as a time."""
        return seconds(rounds * self.row["round_ms"] / 1000)


_OF_KINDS = {
    ("slow_link", "slow_disk"): "A slow link or disk limits each partition by itself, beside what brokers' budgets leave it.",
    ("isolation", "stale_metadata"): "A superseded leader that nobody told serves fetches, but its high watermark stays.",
}
"""By kinds of faults, what docs/architecture.md has of them."""


def limits(scenario: Row, faults: Iterable[Row], run: Run | None) -> Iterator[str]:
    """Yields the limits that apply to a scenario. `run`: as it was stored, None: it cannot be read any more."""
    given = [each for each in run.scenarios if each.scenario_id == scenario["scenario_id"]] if run is not None else []
    case = Case(scenario, frozenset(_kind(fault) for fault in faults), given[0] if given else None)
    for limit in (*APPROXIMATE.values(), *NOT_ANSWERED.values()):
        text = limit(case)
        if text is not None:
            yield text
    yield from (text for kinds, text in _OF_KINDS.items() if case.kinds & {*kinds})


def _kind(fault: Row) -> str:
    """What a fault is to its brokers: a rack may lose its power, or be cut off."""
    if fault["kind"] == "rack_isolation":
        return "isolation"
    return "power_loss" if fault.get("power") else str(fault["kind"])


def _time(case: Case) -> str:
    return f"Time goes in rounds of {case.time()}: what is over faster than a round is not seen, and no time is finer than one."


def _fetches(case: Case) -> str | None:
    if case.of_ledgers or case.given is None or case.given.fetching.per_round is not None:
        return None
    window = case.time(case.given.quota_window_rounds)
    return f"Fetchers that are too slow for all their partitions are shared out every {window}; real ones with each fetch."


def _moments(case: Case) -> str | None:
    if case.of_ledgers or not case.kinds & STOPPING:
        return None
    text = (
        "A fault strikes at the start of its round, or at its moment: what followers lack then was written in half a round trip"
    )
    return text + ", at the mean, not spread; acks=all is acknowledged by rounds."


def _settings(case: Case) -> str:
    return f"Times of settings become whole rounds, so each may be up to {case.time()} off."


def _appends(case: Case) -> str | None:
    if case.given is not None and not case.given.workload.num_rows:
        return None
    return "Appends of a round come at its start, one batch for each row of the workload."


def _bandwidth(case: Case) -> str | None:
    from emulator.inputs.arrays.shared import has_edges

    if case.given is None or case.of_ledgers or not has_edges(case.given):
        return None
    window = case.time(case.given.quota_window_rounds)
    return f"Shares of brokers' budgets are a fluid and hold for {window}: a real broker sends whole fetches in turn."


def _copies(case: Case) -> str | None:
    from emulator.inputs.arrays.copy_budgets import limits_copying

    if case.given is None or case.of_ledgers or not limits_copying(case.given):
        return None
    return "Copies of a broker are whole and in turn; a copier thread's time is counted in millionths of a round."


def _remote_reads(case: Case) -> str | None:
    from emulator.inputs.arrays.shared_reads import limits_reading

    if case.given is None or case.of_ledgers or not limits_reading(case.given):
        return None
    text = "Remote reads of a broker go in turn, in whole requests"
    return f"{text}; its quota gives all of a round their parts at once, not in bursts."


def _clients_traffic(case: Case) -> str | None:
    from emulator.inputs.arrays.shared import has_edges

    if case.given is None or case.of_ledgers or not has_edges(case.given):
        return None
    text = "Producers, consumers and copies share brokers' network with followers, an even part for each connection"
    return f"{text}; of producers one is taken for each partition."


def _client_quotas(case: Case) -> str | None:
    from emulator.bandwidth.client_quotas import limits_clients

    if case.given is None or case.of_ledgers or not limits_clients(case.given):
        return None
    return "Quotas of clients hold in every round, not over 11 s; who writes a topic is one client, and a group is one."


def _clients_of_ledgers(case: Case) -> str | None:
    if not case.of_ledgers or not case.kinds & {"broker_pause", "isolation", "slow_bookie"}:
        return None
    return "Clients of ledgers time out in the round in which they may: real ones look every 2 s, and connect for up to 10 s."


def _repair(case: Case) -> str | None:
    if (
        case.given is None
        or not case.of_ledgers
        or not ledger_configs.effective(case.given.config, {}, "autoRecoveryDaemonEnabled")
    ):
        return None
    batch = ledger_configs.effective(case.given.config, {}, "rereplicationEntryBatchSize")
    text = f"Each ledger has a replication worker of its own, which copies {batch} entries in {case.time()}"
    return f"{text}; real ones don't wait between batches, but take one ledger after the other."


def _topics_of_ledgers(case: Case) -> str | None:
    if case.given is None or not case.of_ledgers:
        return None
    if not any(ledger_configs.is_managed(case.given.config, topic.config) for topic in case.given.topics):
        return None
    text = "Topics' ledgers are trimmed and offloaded while no broker serves them, too"
    return f"{text}; a bookie that times out is not left out of new ensembles, as Pulsar's health check does."


def _budgets_of_bookies(case: Case) -> str | None:
    from emulator.inputs.ledger_arrays.shares import limits_bookies

    if case.given is None or not case.of_ledgers or not limits_bookies(case.given):
        return None
    text = "Adds of all ledgers wait for a bookie in one queue, in whole rounds"
    return f"{text}; copies and reads draw on no budget, and no queue of a client or a bookie is ever full."


def _stale_leaders(case: Case) -> str | None:
    if case.of_ledgers or "stale_metadata" not in case.kinds:
        return None
    return "A leader under stale_metadata changes its ISR once the fault is over; a real one asks the controller meanwhile."


def _excuses(case: Case) -> str:
    if case.of_ledgers:
        return "Checks of invariants don't look for copies in a ledger of which a bookie lost an entry, or its fence."
    return "Checks of invariants pass over what a rule of Kafka allows, each with its source; violations are lower bounds."


def _draws(_: Case) -> str:
    return "Faults are those of the scenario, and what is drawn at random is one draw of its seed: another seed, another trouble."


def _prices(case: Case) -> str | None:
    if case.of_ledgers or case.given is None:
        return None
    config = case.given.config
    tiered = any(effective(config, topic.config, "remote.storage.enable") for topic in case.given.topics)
    return "Prices are lists of a day: --prices takes yours." if tiered else None


def _latency(_: Case) -> str:
    return "Not answered: the latency of a produce or a fetch, and throughput that CPU, page cache or garbage collection limit."


def _clients(case: Case) -> str:
    what = "An entry" if case.of_ledgers else "A record"
    return (
        f"Clients' retries, transactions' aborts and rebalances are not played: {what.lower()} that is refused is not sent again."
    )


def _compaction(case: Case) -> str | None:
    return None if case.of_ledgers else "Compaction, quotas of requests, several log directories and full disks are not played."


def _controller(case: Case) -> str | None:
    if "controller_loss" not in case.kinds:
        return None
    return "The controller's own quorum is not played: it is there, or it is not."


def _bytes(_: Case) -> str:
    return "Faults of bytes are not played: corrupt records, a filesystem that lies about flushes."


def _order(_: Case) -> str:
    return "What two brokers do in one round happens in the order of the rules, not of their clocks."


def _power(case: Case) -> str | None:
    if not case.of_partitions or "power_loss" not in case.kinds:
        return None
    return "A power loss takes all that Kafka did not flush; a kernel has long written back what is old."


def _sessions(case: Case) -> str | None:
    if not case.of_partitions or not case.kinds & STOPPING:
        return None
    text = "A broker is fenced a session after the round in which it fell silent, with all that did in it"
    return f"{text}; a real one up to a heartbeat sooner, and one by one."


def _unclean(case: Case) -> str | None:
    commands = case.given.commands if case.given is not None and case.of_partitions else ()
    if not any("unclean.leader.election.enable" in (command.config or {}) for command in commands):
        return None
    return "Unclean elections that an alter_config allows come at once; a real controller may take five minutes."


Limit = Callable[[Case], "str | None"]


APPROXIMATE: Mapping[str, Limit] = {
    "Time": _time,
    "Fetches in a round": _fetches,
    "Moments of crashes": _moments,
    "Power losses": _power,
    "Sessions of brokers": _sessions,
    "Unclean elections after alter_config": _unclean,
    "Times of settings": _settings,
    "Appends": _appends,
    "Shared bandwidth": _bandwidth,
    "Copies": _copies,
    "Remote reads": _remote_reads,
    "Producers, consumers and copies": _clients_traffic,
    "Quotas of clients": _client_quotas,
    "Clients of ledgers": _clients_of_ledgers,
    "Repair of ledgers": _repair,
    "Topics of ledgers": _topics_of_ledgers,
    "Shared budgets of bookies": _budgets_of_bookies,
    "A leader under stale_metadata": _stale_leaders,
    "Excuses of invariants": _excuses,
    "Drawn faults": _draws,
    "Prices": _prices,
}
"""By the names that docs/accuracy.md has under "What is approximate": what each says of a case, None: it does not apply."""

NOT_ANSWERED: Mapping[str, Limit] = {
    "Latency": _latency,
    "Clients": _clients,
    "Compaction": _compaction,
    "The controller's own quorum": _controller,
    "Faults of bytes": _bytes,
    "Ordering within a round": _order,
}
"""Likewise by what the points under "What it cannot answer" begin with."""
