"""At the end of every round every replica is held against the invariants; what newly breaks is written down."""

from __future__ import annotations

from pyspark.sql import DataFrame

from emulator.expressions.columns import Step, built_once, decided, let, renamed, where
from emulator.expressions.kafka.invariants import EVERY_ROUND, OF_TIERS
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.log import epoch_cache
from emulator.expressions.slots import has, mine


def check_invariants(state: DataFrame, rules: RunRules) -> DataFrame:
    """Compare the own log with the client leader's after a rare step, then look at every predicate of EVERY_ROUND.

    Logs of a follower and its leader grow apart, or together again, only by a rare step of one of them (an election, damage, a
    response that is not simple, news); in all other rounds the comparison of before holds, and an invariant is a few
    comparisons of numbers. `broken` is the mask of what is violated now; a violation is written when it begins, and again
    when it begins anew. `misled`: a leader that nobody told of the next one, below whose high watermark the own log is another.
    `impaired`: the replica lost records to a fault and has not got them back: what it lacks is the fault's
    doing, not the protocol's, as long as it is down or counts for nothing.
    """
    return state.withColumns(_compared(rules)).withColumns(_checked(rules))


_COMPARED = ("unlike_from", "alike_again", "epochs_fall", "impaired")


@built_once
def _compared(rules: RunRules) -> Step:
    response = "response IS NOT NULL" if rules.some_lack("response_in_leader_epoch") else f"({_response_may_part_logs()})"
    rare = f"election IS NOT NULL OR damage IS NOT NULL OR {response} OR {_news_change_log(rules)} OR impaired OR round = 0"
    rare += " OR size(superseded) > 0"
    if rules.segments:
        rare += " OR retention IS NOT NULL"
    if rules.tiers:
        rare += " OR building IS NOT NULL OR tier_inputs IS NOT NULL OR tier_expiry IS NOT NULL OR tier_copy IS NOT NULL"
    return decided("compared", rare, _compare(rules), {name: name for name in (*_COMPARED, "misled")})


def _response_may_part_logs() -> str:
    """Whether a response was more than records of the client leader's log that follow on the same records."""
    follows_on = "response.outcome = 'data' AND primary AND unlike_from IS NULL AND leo <= lead.leo"
    return f"response IS NOT NULL AND NOT ({follows_on} AND NOT epochs_fall AND NOT lead.epochs_fall)"


def _news_change_log(rules: RunRules) -> str:
    """Whether what the replica heard changed its log: it leads since, or cut the log as a new follower."""
    if rules.late_news:
        return "news IS NOT NULL"
    cut = " OR news.cut_from IS NOT NULL" if rules.some("cuts_to_high_watermark") else ""
    return f"coalesce(news.late{cut}, false)"


def _compare(rules: RunRules) -> list[Step]:
    """The logs are compared from where both start, and above what any leader expired: of that, epochs may be unknown."""
    expired = ", expired_up_to" if rules.tiers else ""

    def epoch_at(log: str) -> str:
        return f"aggregate({log}, CAST(null AS INT), (e, x) -> IF(x.start_offset <= p, x.epoch, e))"

    starts = "concat(array(from_offset), transform(log, x -> x.start_offset), transform(lead.log, x -> x.start_offset))"
    alike = f"{epoch_at('log')} <=> {epoch_at('lead.log')}"
    zombie_starts = (
        "concat(array(z.log_start_offset), transform(log, x -> x.start_offset), transform(z.log, x -> x.start_offset))"
    )
    unlike_zombie = (
        f"exists({zombie_starts}, p -> p >= greatest(log_start_offset, z.log_start_offset) AND p < least(leo, z.hw)"
        f" AND NOT {epoch_at('log')} <=> {epoch_at('z.log')})"
    )
    told_nothing = "(world.deaf & shiftleft(1, z.slot)) != 0 AND z.slot != slot"
    unlike_from = "coalesce(array_min(filter(points, p -> NOT p.alike).at), IF(leo > lead.leo, lead.leo, null))"
    return [
        {"from_offset": f"greatest(log_start_offset, lead.log_start_offset{expired})"},
        {"points": f"filter({starts}, p -> p >= from_offset AND p < least(leo, lead.leo))"},
        {"points": f"transform(points, p -> named_struct('at', p, 'alike', {alike}))"},
        {"unlike_from": f"IF(lead IS NULL, null, {unlike_from})"},
        {
            "misled": f"get(filter(superseded, z -> {told_nothing} AND (leo < z.hw OR {unlike_zombie})), 0)",
            "alike_again": "array_min(filter(points, p -> p.alike AND p.at > unlike_from).at)",
            "epochs_fall": "size(filter(log, (x, i) -> get(log, i - 1).epoch > x.epoch)) > 0",
            "impaired": (
                "(impaired OR damage.damaged_to IS NOT NULL) AND (assigned & own_bit) != 0"
                f" AND (NOT {mine('world.running')} OR (NOT {mine('(isr | elr)')}"
                " AND (slot = client_leader OR least(leo, coalesce(unlike_from, leo)) < leader_hw)))"
            ),
        },
    ]


@built_once
def _checked(rules: RunRules) -> Step:
    facts = {name: f"IF(compared IS NULL, {name}, compared.checks.{name})" for name in _COMPARED}
    known = {
        **facts,
        "agreed_to": f"least(leo, coalesce({facts['unlike_from']}, leo))",
        "leader_leads": f"({has('world.running', 'client_leader')} AND leader_ready)",
    }
    invariants = EVERY_ROUND + OF_TIERS if rules.tiers else EVERY_ROUND
    broken = " | ".join(f"IF({renamed(i.violated, known)}, {1 << bit}, 0)" for bit, i in enumerate(invariants))
    begins = f"filter(sequence(0, {len(invariants) - 1}), n -> (b & ~broken & shiftleft(1, n)) != 0)"
    written = let("b", broken, f"concat(violations, transform({begins}, n -> {_witness(known)}))")
    return where(f"({broken}) != broken OR compared IS NOT NULL", {**facts, "broken": broken, "violations": written})


def _witness(known: Step) -> str:
    """Both logs and how far they agree, as the state's `violations` has it."""
    zombie = "n = 0 AND compared.misled IS NOT NULL"  # StrongIsr is about every leader, zombies included
    epochs = epoch_cache("lead.log", "lead.log_start_offset")
    zombie_epochs = epoch_cache("compared.misled.log", "compared.misled.log_start_offset")
    fields = {  # in the order of the state's column
        **{"round": "round", "invariant": "n"},
        "leader": f"IF({zombie}, compared.misled.slot, client_leader)",
        "leader_epoch": f"IF({zombie}, compared.misled.epoch, client_epoch)",
        "leader_leo": f"IF({zombie}, compared.misled.leo, leader_leo)",
        "leader_hw": f"IF({zombie}, compared.misled.hw, leader_hw)",
        **{"leo": "leo", "hw": "hw", "isr": "isr"},
        "leader_epochs": f"IF({zombie}, {zombie_epochs}, {epochs})",
        "epochs": epoch_cache("log", "log_start_offset"),
        "agreed_to": known["agreed_to"],
        "cause": "get(world.cause, slot)",
    }
    return "named_struct(" + ", ".join(f"'{name}', {text}" for name, text in fields.items()) + ")"
