"""Random scenarios with long quiet stretches between what happens: the same batches, their rounds drawn apart."""

from __future__ import annotations

from typing import Any

_ROUNDS = ("from_round", "to_round", "round", "rounds")


def stretched(batch: Any, factor: int) -> Any:
    """The batch with every round r moved to about factor * r, in order, not always to a multiple; settings stay as they are."""
    if isinstance(batch, dict):
        return {
            key: _moved(value, factor) if key in _ROUNDS and isinstance(value, int) else stretched(value, factor)
            for key, value in batch.items()
        }
    return [stretched(item, factor) for item in batch] if isinstance(batch, list) else batch


def _moved(round_: int, factor: int) -> int:
    return round_ * factor + round_ * 7 % factor
