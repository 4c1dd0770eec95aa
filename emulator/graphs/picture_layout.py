"""Where brokers, racks and their labels are on the drawing's circle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import cos, pi, sin
from typing import NamedTuple

import numpy as np

from emulator.graphs.placed import Placed

FONT = 15
"""Of every word on the sheet, in pixels of it."""
RADIUS = 360
_LARGEST_DOT = 11.0
_RACK_GAP = 1.5  # between racks, in places of brokers
_EDGE = 20

Point = tuple[float, float]


def width_of(text: str) -> float:
    """Returns the most that a bold word takes."""
    return 0.7 * FONT * len(text)


class Rack(NamedTuple):
    """A rack's stretch of the circle: angles from half a place before its first broker to half a place after its last."""

    name: str
    members: list[int]
    begin: float
    end: float


@dataclass(frozen=True, eq=False)
class Layout:
    """Brokers stand on a circle, those of a rack together. Angles in radians, clockwise from 3 o'clock."""

    cluster: Placed

    @cached_property
    def _places(self) -> tuple[dict[int, float], float]:
        """By broker its place on the circle, and how many places the circle has."""
        racks, names = self.cluster.rack_places, self.cluster.racks
        places: dict[int, float] = {}
        at, before = 0.0, None
        for broker in np.argsort(racks, kind="stable").tolist():
            if before is not None:
                apart = racks[before] != racks[broker] and names[before] is not None
                at += 1 + _RACK_GAP if apart else 1
            places[broker], before = at, broker
        return places, at + 1 + _RACK_GAP

    @cached_property
    def step(self) -> float:
        """From one broker to the next of its rack."""
        return 2 * pi / self._places[1]

    @cached_property
    def angles(self) -> list[float]:
        """By broker."""
        places = self._places[0]
        return [places[broker] * self.step - pi / 2 for broker in range(len(self.cluster.brokers))]

    @cached_property
    def racks(self) -> list[Rack]:
        """In the order of their names."""
        found = []
        for place, name in enumerate(self.cluster.rack_names):
            members = np.flatnonzero(self.cluster.rack_places == place).tolist()
            of_rack = [self.angles[broker] for broker in members]
            found.append(Rack(name, members, min(of_rack) - self.step / 2, max(of_rack) + self.step / 2))
        return found

    @property
    def dot(self) -> float:
        """A broker's radius: as large as its neighbours allow."""
        return min(_LARGEST_DOT, 0.44 * self.step * RADIUS)

    @property
    def band(self) -> float:
        """Half the width of a rack's block."""
        return self.dot + 5

    @cached_property
    def number_radius(self) -> float:
        """Where brokers' numbers are, in the middle."""
        return RADIUS + self.band + 12 + self.number_width / 2

    @cached_property
    def number_width(self) -> float:
        """Of the longest broker number."""
        return max((width_of(str(broker)) for broker in self.cluster.brokers.tolist()), default=0)

    @property
    def all_numbered(self) -> bool:
        """True if there is room for every broker's number."""
        return self.step * self.number_radius >= self.number_width + 2

    @cached_property
    def rack_radius(self) -> float:
        """Where racks' labels begin."""
        return self.number_radius + self.number_width / 2 + 18

    @cached_property
    def middle(self) -> float:
        """x and y of the circle's middle: half the sheet's height."""
        return self.rack_radius + max((width_of(f"rack {rack.name}") for rack in self.racks), default=0) + _EDGE

    def point(self, angle: float, radius: float) -> Point:
        """Returns x and y on the sheet."""
        return self.middle + radius * cos(angle), self.middle + radius * sin(angle)

    @cached_property
    def hubs(self) -> list[Point]:
        """By broker: where its lines are bundled with those of its rack, half way from the middle to the rack's centre."""
        points = [self.point(angle, RADIUS) for angle in self.angles]
        groups = [rack.members for rack in self.racks]
        groups += [[broker] for broker, rack in enumerate(self.cluster.racks) if rack is None]
        hubs = dict[int, Point]()
        for group in groups:
            centre = np.mean([points[broker] for broker in group], axis=0)
            x, y = ((self.middle + centre) / 2).tolist()
            hubs.update(dict.fromkeys(group, (x, y)))
        return [hubs[broker] for broker in range(len(points))]


def spread(angles: Sequence[float], apart: float) -> list[float]:
    """Returns ascending angles moved as little forwards as keeps them `apart`, and back where that went around the circle."""
    moved: list[float] = []
    for angle in angles:
        moved.append(max(angle, moved[-1] + apart) if moved else angle)
    if moved:
        limit = moved[0] + 2 * pi - apart
        for place in reversed(range(len(moved))):
            moved[place] = min(moved[place], limit)
            limit = moved[place] - apart
    return moved
