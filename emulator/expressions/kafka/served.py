"""Which leader the bytes came from that a replica has fetched in a time bucket: `served_bytes` and `served` of the state."""

from __future__ import annotations

from emulator.expressions.columns import Step


def served_by(leader: str, turns: str) -> Step:
    """What the leader believed in so far has served is put aside where a replica turns to another one, or to none.

    SQL texts, before `believed_leader` changes: `leader`, the slot of the new one; `turns`, whether it is believed in now.
    """
    moved = f"{turns} AND believed_leader != {leader} AND served_bytes > 0 AND believed_leader >= 0"
    return {
        "served": f"IF({moved}, concat(served, array(named_struct('slot', believed_leader, 'bytes', served_bytes))), served)",
        "served_bytes": f"IF({moved}, 0L, served_bytes)",
    }
