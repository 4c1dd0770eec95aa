"""How `placement` of a topic puts its partitions on brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np

from emulator.errors import did_you_mean, listing, quoted
from emulator.placement.assignments import Assignment, admin_utils, modulo, striped
from emulator.placement.copysets import permuted_copysets, place_at_random, place_on_copysets, tiered_copysets
from emulator.scenario.model import Broker
from emulator.scenario.places import Location, Places
from emulator.scenario.shapes import TopicShape

_DEFAULT = "admin-utils"
PLACEMENTS: Mapping[str, tuple[str, ...]] = {
    "admin-utils": ("placement_start", "placement_shift"),
    "modulo": (),
    "striped": (),
    "rack-aware": (),
    "random": (),
    "copyset": ("scatter_width",),
    "tiered-replication": ("scatter_width", "backup_racks"),
}
"""The placements, and which of the keys below each takes."""
_PLACEMENT_ONLY = ("placement_start", "placement_shift", "scatter_width", "backup_racks")
PLACEMENT_KEYS = ("placement", *_PLACEMENT_ONLY)


def check_placement(places: Places, here: Location, shape: TopicShape) -> None:
    """Raises InputError for a placement that there is not."""
    if shape.placement not in (None, *PLACEMENTS):
        problem = f"{quoted(shape.placement)} is not known{did_you_mean(str(shape.placement), PLACEMENTS)}"
        raise places.error((*here, "placement"), problem, listing(map(quoted, PLACEMENTS)))


def place(places: Places, here: Location, shape: TopicShape, brokers: Sequence[Broker], seed: int) -> Assignment:
    """The replicas of a topic's partitions, each one's preferred leader first.

    Copysets are drawn by `seed`, so that topics share them; what else is drawn, by `seed` and the topic's name.
    Raises InputError where the brokers, their racks or the keys do not allow the placement.
    """
    partitions, factor = shape.partitions or 0, shape.replication_factor or 0
    ids = [broker.id for broker in brokers]
    if factor > len(ids):
        problem = f"{factor} replicas need as many brokers"
        raise places.error((*here, "replication_factor"), problem, f"1 to {len(ids)}, the number of brokers")
    name = shape.placement or _DEFAULT
    for key in _PLACEMENT_ONLY:
        if getattr(shape, key) is not None and key not in PLACEMENTS[name]:
            takers = " or ".join(quoted(other) for other, keys in PLACEMENTS.items() if key in keys)
            raise places.error((*here, key), f"{name} has no use for it", f"it with placement {takers}")
    racks = {broker.id: broker.rack for broker in brokers if broker.rack is not None}
    own_seed = [seed, crc32(shape.name.encode())]
    if name == "random":
        return place_at_random(ids, partitions, factor, np.random.default_rng(own_seed))
    if name == "copyset":
        _check_scatter_width(places, here, shape, len(ids) - 1)
        copysets = permuted_copysets(ids, factor, shape.scatter_width or 0, np.random.default_rng([seed]))
        return place_on_copysets(copysets, partitions, np.random.default_rng(own_seed))
    if name == "tiered-replication":
        copysets, backups = _tiered(places, here, shape, ids, racks)
        return place_on_copysets(copysets, partitions, np.random.default_rng(own_seed), backups)
    if name == "modulo":
        return modulo(ids, partitions, factor)
    if name == "rack-aware":
        _check_every_rack(places, here, ids, racks, name)
    if name in ("striped", "rack-aware"):
        return striped(ids, partitions, factor, racks)
    return _admin_utils(places, here, shape, ids, racks)


def _admin_utils(places: Places, here: Location, shape: TopicShape, ids: Sequence[int], racks: Mapping[int, str]) -> Assignment:
    start, shift = shape.placement_start or 0, shape.placement_shift or 0
    if start >= len(ids):
        raise places.error((*here, "placement_start"), f"{start} is out of range", f"0 to {len(ids) - 1}")
    if 0 < len(racks) < len(ids):
        problem = "some brokers have a rack and some have none, which admin-utils cannot place"
        raise places.error((*here, "placement"), problem, 'a rack for every broker or none, or "striped" or "modulo"')
    return admin_utils(ids, shape.partitions or 0, shape.replication_factor or 0, start, shift, racks or None)


def _tiered(
    places: Places, here: Location, shape: TopicShape, ids: Sequence[int], racks: Mapping[int, str]
) -> tuple[Assignment, list[int]]:
    """The copysets of Tiered Replication, and the brokers of its backup tier."""
    factor, backup_racks = shape.replication_factor or 0, frozenset(shape.backup_racks or ())
    _check_every_rack(places, here, ids, racks, "tiered-replication")
    names = set(racks.values())
    unknown = sorted(backup_racks - names)
    if unknown:
        raise places.error((*here, "backup_racks"), f"there is no rack {quoted(unknown[0])}", listing(sorted(names)))
    if backup_racks and len(names - backup_racks) < factor - 1:
        problem = f"leaves {len(names - backup_racks)} for {factor - 1} replicas, each in a rack of its own"
        raise places.error((*here, "backup_racks"), problem, f"all but {factor - 1} racks or more")
    if len(names) < factor:
        problem = f"{factor} replicas, each in a rack of its own, need as many racks"
        raise places.error((*here, "replication_factor"), problem, f"1 to {len(names)}, the number of racks")
    _check_scatter_width(places, here, shape, len(ids) - 1)
    try:
        copysets = tiered_copysets(racks, factor, shape.scatter_width or 0, backup_racks)
    except ValueError as error:
        raise places.error((*here, "scatter_width"), str(error), "a smaller one, or more racks") from error
    return copysets, [broker for broker in ids if racks[broker] in backup_racks]


def _check_scatter_width(places: Places, here: Location, shape: TopicShape, most: int) -> None:
    factor = shape.replication_factor or 0
    if factor < 2:
        problem = f"{factor} replica shares nothing with another"
        raise places.error((*here, "replication_factor"), problem, f"2 to {most + 1}, or another placement")
    width = shape.scatter_width
    if width is None or not factor - 1 <= width <= most:
        problem = "is missing" if width is None else f"{width} is out of range"
        raise places.error((*here, "scatter_width"), problem, f"{factor - 1}, the other replicas, to {most}, the other brokers")


def _check_every_rack(places: Places, here: Location, ids: Sequence[int], racks: Mapping[int, str], placement: str) -> None:
    without = [broker for broker in ids if broker not in racks]
    if without:
        problem = f"{placement} needs racks, broker {without[0]} has none"
        raise places.error((*here, "placement"), problem, "cluster.racks, or brokers_file with a rack for every broker")
