"""Where bookies are: racks, and regions of racks, as placement policies know them."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.errors import quoted
from emulator.rounds.bookkeeper.constants import MAX_REGIONS
from emulator.scenario.model import Broker
from emulator.scenario.places import Location, Places


def region_of(rack: str | None) -> str | None:
    """The region of a rack "region/rack"; None of any other, and without a rack.

    >>> region_of("eu/1"), region_of("1"), region_of(None)
    ('eu', None, None)
    """
    region, slash, _ = (rack or "").strip("/").partition("/")
    return region if slash and region else None


def check_regions(places: Places, here: Location, brokers: Sequence[Broker]) -> None:
    """Raises InputError if a bookie's rack names no region, or there are too many regions; one without a rack is in none."""
    for broker in brokers:
        if broker.rack is not None and region_of(broker.rack) is None:
            problem = f"rack {quoted(broker.rack)} of bookie {broker.id} names no region"
            raise places.error(here, problem, 'racks "region/rack": cluster.regions beside racks, or brokers_file')
    regions = {region_of(broker.rack) for broker in brokers}
    if len(regions) > MAX_REGIONS:
        raise places.error(here, f"there are {len(regions)} regions", f"1 to {MAX_REGIONS}")
