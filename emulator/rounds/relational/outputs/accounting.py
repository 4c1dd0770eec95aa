"""What was acknowledged, committed and lost, worked out at the end from what was written down at elections.

Definitions: docs/kafka_rounds.md, "What is counted". Every leadership has its epoch; it began with a log, was told that it
leads at `lead_start`, and its high watermark came to `lead_hw`.
"""

from __future__ import annotations

from collections.abc import Sequence

from emulator.rounds.relational.outputs.ranges import count, merged, without
from emulator.rounds.relational.play import Played
from emulator.rounds.relational.queries.query import Query
from emulator.rounds.relational.tables import REPLICA
from emulator.rounds.relational.verbs.logs import EPOCH, contents

SET = ["pid", "epoch"]


class Accounts:
    """The accounts of a run that was played."""

    def __init__(self, played: Played) -> None:
        self._played = played
        final = played.tables.partitions
        begun = played.rows("leaderships")
        self._histories = played.rows("histories")
        reached = final.select("pid", "client_epoch", "lead_start", "lead_hw", "owes_from")
        if begun is not None:
            epoch, owes_from = "previous_client_epoch AS client_epoch", "ended_owes_from AS owes_from"
            ended = begun.select("pid", epoch, "ended_start AS lead_start", "ended_hw AS lead_hw", owes_from)
            reached = reached.union(ended)
        self._begun = begun
        self._reached = reached.settled()
        of_whom = [*SET, "client_epoch", "initial"]
        self._sent = merged(self._sent_unacknowledged(), of_whom).settled()
        acked = without(merged(self._acknowledged(), of_whom), self._sent, of_whom)
        self._acked = acked.union(self._owed().select(*acked.columns)).settled()
        self._committed = self._all_committed().settled()

    def _parts(self, part: str) -> Query:
        assert self._histories is not None
        return self._histories.where(f"part = '{part}'").drop("part")

    def _own(self) -> Query:
        """What leaderships committed of their own epochs: pid, client_epoch, epoch, from_offset, to_offset."""
        return self._reached.where("lead_start IS NOT NULL").select(
            "pid", "client_epoch", "client_epoch AS epoch", "lead_start AS from_offset", "lead_hw AS to_offset"
        )

    def _acknowledged(self) -> Query:
        """All that was acknowledged, with the epoch of the leadership under which it was; `initial`: before the run.

        What has acks=0 is in it as well, as far as it is committed: `_sent_unacknowledged` has to be taken off.
        """
        initial = self._parts("begin").where("round = -1").join(self._played.first, "pid")
        initial = initial.with_columns(to_offset="least(to_offset, acked_to)")
        appended = self._appended("acked_on_append AND NOT unacknowledged")
        own = self._own().join(self._played.first.select("pid", "first_leo", "first_epoch"), "pid", "left")
        # What the first leader's log held before the run counts as acknowledged, but not by this run.
        is_first = "coalesce(client_epoch = first_epoch, false)"
        held = own.where(is_first).with_columns(to_offset="least(to_offset, first_leo)")
        own = own.with_columns(from_offset=f"IF({is_first}, greatest(from_offset, first_leo), from_offset)")
        held, own = (rows.drop("first_leo", "first_epoch") for rows in (held, own))
        parts = [
            initial.select("pid", "client_epoch", "epoch", "from_offset", "to_offset", "true AS initial"),
            held.with_columns(initial="true"),
            appended.with_columns(initial="false"),
            own.with_columns(initial="false"),
        ]
        first, *others = parts
        return first.union(*others).where("from_offset < to_offset")

    def _owed(self) -> Query:
        """What leaders acknowledged of earlier epochs in which they led as well, as `_acknowledged` has it, without acks=0.

        No two of them have a record in common: each owes what lies above its high watermark when its epoch begins.
        """
        begun = self._parts("begin").join(self._reached.where("lead_start IS NOT NULL"), ["pid", "client_epoch"])
        begun = begun.with_columns(
            from_offset="greatest(from_offset, owes_from)", to_offset="least(to_offset, lead_start, lead_hw)"
        )
        owed = begun.where("from_offset < to_offset").select("pid", "client_epoch", "epoch", "from_offset", "to_offset")
        owed = without(owed, self._sent, SET).join(self._played.first.select("pid", "first_leo", "first_epoch"), "pid", "left")
        is_given = "coalesce(epoch <= first_epoch, false)"
        given = owed.with_columns(to_offset=f"IF({is_given}, least(to_offset, first_leo), from_offset)", initial="true")
        others = owed.with_columns(from_offset=f"IF({is_given}, greatest(from_offset, first_leo), from_offset)", initial="false")
        return given.union(others.select(*given.columns)).where("from_offset < to_offset").drop("first_leo", "first_epoch")

    def _appended(self, which: str) -> Query:
        """The records of some batches. `which`: SQL."""
        columns = ("pid", "epoch AS client_epoch", "epoch", "base_offset AS from_offset", "end_offset AS to_offset")
        return self._played.tables.batches.where(which).select(*columns)

    def _sent_unacknowledged(self) -> Query:
        """All that was sent with acks=0; the log of the start is if the first workload row says so."""
        begun = self._parts("begin").where("round = -1").join(self._played.first.where("unacknowledged"), "pid")
        initial = begun.select("pid", "client_epoch", "epoch", "from_offset", "to_offset", "true AS initial")
        return initial.union(self._appended("unacknowledged").with_columns(initial="false"))

    def _all_committed(self) -> Query:
        """All that leaderships committed: of the logs they began with, what they had still when they knew, and of their own."""
        begun = self._parts("begin").join(self._reached, ["pid", "client_epoch"])
        begun = begun.with_columns(to_offset="least(to_offset, lead_hw, coalesce(lead_start, lead_hw))")
        columns = ("pid", "client_epoch", "epoch", "from_offset", "to_offset")
        return begun.select(*columns).union(self._own().select(*columns)).where("from_offset < to_offset")

    def sums(self) -> Query:
        """By partition: acked, acked_lost, sent_unacknowledged, unacknowledged_lost, committed_lost; null: there is nothing."""
        tables = self._played.tables
        last = tables.replicas.join(tables.partitions.select("pid", "client_leader"), "pid").where(
            "broker = client_leader AND position IS NOT NULL"
        )
        if tables.tiers is not None:
            last = last.join(tables.tiers.select(*REPLICA, "whole_start"), REPLICA)
            last = last.with_columns(log_start="least(log_start, whole_start)")
        last = last.select(*REPLICA, "log_start", "leo")
        log = contents(tables.logs, last).select("pid", f"{EPOCH} AS epoch", "from_offset", "to_offset")
        starts = last.select("pid", "log_start")
        found = count(self._acked.where("NOT initial"), ["pid"], "acked")
        found = found.join(count(self._sent.where("NOT initial"), ["pid"], "sent_unacknowledged"), "pid", "full")
        known_sets = (("acked_lost", self._acked), ("unacknowledged_lost", self._sent), ("committed_lost", self._committed))
        for name, known in known_sets:
            kept = known.join(starts, "pid", "left").with_columns(from_offset="greatest(from_offset, log_start, 0L)")
            missing = without(merged(kept.select(*SET, "from_offset", "to_offset"), SET), log, SET)
            found = found.join(count(missing, ["pid"], name), "pid", "full")
        return found

    def losses(self) -> Query | None:
        """What elections lost, as events: what the leader before held and the new one did not begin with."""
        if self._begun is None:
            return None
        keys = ["pid", "elected_epoch", "epoch"]
        elected = self._begun.renamed(client_epoch="elected_epoch")
        before = elected.select("pid", "elected_epoch", "previous_client_epoch AS client_epoch", "log_start AS new_start")
        assert self._histories is not None
        held = self._histories.where("part != 'begin'").join(before, ["pid", "client_epoch"])
        held = held.with_columns(from_offset="greatest(from_offset, new_start)")
        begins = self._parts("begin").renamed(client_epoch="elected_epoch")
        gone = without(merged(held.select(*keys, "from_offset", "to_offset"), keys), begins, keys).settled()
        acked, sent, committed = (merged(self._lost(gone, known), keys) for known in (self._acked, self._sent, self._committed))
        whole = merged(acked.union(sent), keys).settled()
        parts = [
            _within(acked, whole, keys).with_columns(kind="'acked_lost'"),
            _within(sent, whole, keys).with_columns(kind="'unacknowledged_lost'"),
            committed.with_columns(records="CAST(null AS BIGINT)", kind="'committed_lost'"),
        ]
        told = self._begun.select("pid", "client_epoch AS elected_epoch", "broker", "round", "cause")
        first, *others = parts
        return (first.union(*others).join(told, ["pid", "elected_epoch"]).renamed(epoch="leader_epoch")).select(
            "pid", "round", "kind", "broker", "leader_epoch", "from_offset", "to_offset", "cause", "records"
        )

    def _lost(self, gone: Query, known: Query) -> Query:
        """Of what is gone, what earlier leaderships had acknowledged or committed."""
        theirs = known.select("pid", "epoch", "client_epoch", "from_offset AS other_from", "to_offset AS other_to")
        both = gone.join(theirs, SET).where("other_from < to_offset AND from_offset < other_to AND client_epoch < elected_epoch")
        both = both.with_columns(from_offset="greatest(from_offset, other_from)", to_offset="least(to_offset, other_to)")
        return both.select("pid", "elected_epoch", "epoch", "from_offset", "to_offset")


def _within(rows: Query, whole: Query, keys: Sequence[str]) -> Query:
    """Ranges of records, those of each of the `whole` ranges as one: its first and last record, and how many if not all."""
    ranges = whole.renamed(from_offset="whole_from", to_offset="whole_to")
    both = rows.join(ranges, list(keys)).where("whole_from <= from_offset AND to_offset <= whole_to")
    edges = ("min(from_offset) AS from_offset", "max(to_offset) AS to_offset", "sum(to_offset - from_offset) AS records")
    found = both.group_by(*keys, "whole_from").agg(*edges).drop("whole_from")
    return found.with_columns(records="IF(records < to_offset - from_offset, records, null)")
