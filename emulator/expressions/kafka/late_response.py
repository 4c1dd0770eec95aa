"""A mutant's response: it comes a round after its follower learned of another leader or epoch, and is taken all the same.

Kafka's fetcher drops a response whose partition has another leader epoch by then (AbstractFetcherThread.processFetchRequest);
without that check records of the old leader land behind what the follower has cut, or will not cut any more. SQL steps.
"""

from __future__ import annotations

from emulator.expressions.columns import Step
from emulator.expressions.kafka.response import MAX_BYTES
from emulator.expressions.kafka.rules import RunRules
from emulator.expressions.log import bytes_at, end_offset_for_epoch, floor_epoch, last_epoch, one_batch, whole_batches
from emulator.expressions.slots import bit


def keep_response(rules: RunRules) -> list[Step]:
    """What the leader believed in so far had for the follower when it learns of another one: `late_response`, or null."""
    fields = ("leo", "log", "log_start_offset")
    named = ", ".join(f"'{name}', lead.{name}" for name in fields)
    client_leader = f"named_struct('slot', client_leader, 'hw', leader_hw, {named})"
    named = ", ".join(f"'{name}', x.{name}" for name in fields)
    zombies = "filter(superseded, x -> x.slot = believed_leader AND x.epoch = believed_epoch)"
    zombie = f"get(transform({zombies}, x -> named_struct('slot', x.slot, 'hw', x.hw, {named})), 0)"
    passes = (
        f"(world.drop IS NULL OR ((get(world.drop, slot) & {bit('believed_leader')}) = 0"
        " AND (get(world.drop, believed_leader) & own_bit) = 0))"
    )
    asks = (
        f"NOT {rules.holds('response_in_leader_epoch')} AND is_told AND (world.running & assigned & own_bit) != 0"
        " AND slot != leader AND believed_leader >= 0 AND believed_leader != slot"
        f" AND (believed_leader != told_leader OR believed_epoch != told_epoch) AND {passes}"
    )
    leads = "believed_leader = client_leader AND believed_epoch = client_epoch AND leader_runs"
    epoch = last_epoch("log")
    end = f"greatest({end_offset_for_epoch('old.log', 'old.leo', epoch)}, old.log_start_offset)"
    alike = f"(size(log) = 0 OR NOT ({floor_epoch('old.log', epoch)} < {epoch} OR {end} < leo))"
    target = f"{bytes_at('old.log', 'leo')} + CAST({MAX_BYTES} AS BIGINT)"
    taken = f"greatest({whole_batches('old.log', 'old.leo', 'leo', target)}, {one_batch('old.log', 'old.leo', 'leo')})"
    response = (
        "named_struct('slot', old.slot, 'offset', leo, 'log', old.log, 'leo', old_end, 'hw', old.hw,"
        " 'log_start_offset', old.log_start_offset)"
    )
    return [
        {"old": f"IF({asks}, IF({leads}, {client_leader}, {zombie}), null)"},
        {"old_end": f"IF(old.leo > leo AND leo >= old.log_start_offset AND {alike}, {taken}, null)"},
        {"late_response": f"IF(old_end > leo, {response}, null)"},
    ]
