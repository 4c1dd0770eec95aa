"""Step 2 of a ledger's round, replication workers: who was given all that a lost bookie had takes its place."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.bookkeeper.rules import LedgerRules
from emulator.expressions.bookkeeper.state import REPLACEMENT
from emulator.expressions.bookkeeper.texts import empty, event, ledger_step, put_ensemble, where_busy
from emulator.expressions.columns import Step, let, struct

_OUTPUTS = ("fragments", "replacements", "events")


def to_be_committed() -> str:
    """Whether the metadata store is to be told of copies that are done."""
    return "(world.store_up AND exists(replacements, t_ -> t_.copied_to IS NOT NULL))"


def commit_copies(state: DataFrame, rules: LedgerRules) -> DataFrame:
    """A fragment's ensemble gets the new bookie, if the lost one is still at its index; one after the other."""
    return state.withColumns(_decide()).withColumns(_apply()) if rules.repairs else state


@ledger_step
def _decide() -> Step:
    return where_busy("committed", f"busy AND {to_be_committed()}", [_put(), _tell()], *_OUTPUTS)[0]


@ledger_step
def _apply() -> Step:
    return where_busy("committed", "busy", [], *_OUTPUTS)[1]


def _put() -> Step:
    put = "transform(of_.ensemble, (b_, i_) -> IF(i_ = t_.index, t_.target, b_))"
    fragments = put_ensemble("acc_.fragments", "t_.first_entry", put)
    replaced = struct({"fragments": fragments, "done": "concat(acc_.done, array(t_))"})
    may = "get(of_.ensemble, t_.index) = t_.lost AND NOT array_contains(of_.ensemble, t_.target)"
    here = "get(filter(acc_.fragments, p_ -> p_.first_entry = t_.first_entry), 0)"
    one = let("of_", here, f"IF({may}, {replaced}, acc_)")
    start = struct({"fragments": "fragments", "done": empty(REPLACEMENT)})
    return {"put": f"aggregate(filter(replacements, t_ -> t_.copied_to IS NOT NULL), {start}, (acc_, t_) -> {one})"}


def _tell() -> Step:
    told = event("rereplicated", "t_.target", "t_.first_entry", "t_.copied_to")
    return {
        "fragments": "put.fragments",
        "replacements": "filter(replacements, t_ -> t_.copied_to IS NULL)",
        "events": f"concat(events, transform(put.done, t_ -> {told}))",
    }
