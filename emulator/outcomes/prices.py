"""The price table: read from a TOML file, and handed to SQL as the views `prices` and `sizing`."""

from __future__ import annotations

from importlib import resources
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from emulator.errors import did_you_mean, listing, quoted
from emulator.scenario.places import Places
from emulator.scenario.shapes import Name, Shape
from emulator.scenario.toml_text import read_toml

HOURS_IN_A_MONTH = 730
GB, GIB = 10**9, 2**30

Share = Annotated[float, Field(gt=0, le=1)]
Amount = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Hours = Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)]
Bytes = Annotated[int, Field(ge=1, le=2**62)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Kind = Literal["instance", "volume", "object_storage", "put", "get", "list", "delete", "cross_rack"]
Unit = Literal["hour", "GB-month", "GiB-month", "GB", "GiB", "1000 requests", "request"]

UNITS: dict[str, tuple[str, ...]] = {
    "instance": ("hour",),
    "volume": ("GB-month", "GiB-month"),
    "object_storage": ("GB-month", "GiB-month"),
    "cross_rack": ("GB", "GiB"),
    **dict.fromkeys(("put", "get", "list", "delete"), ("1000 requests", "request")),
}
"""Units that a price of a kind may have."""


class FleetShape(Shape):
    """What a broker is made of, and how full and busy it may be."""

    instance: Name
    volume: Name | None = None
    volume_bytes: Bytes | None = None
    disk_used_share: Share = 1.0
    network_busy_share: Share = 1.0
    disk_busy_share: Share = 1.0


class StoreShape(Shape):
    """The remote storage, and the requests that a plugin makes of it."""

    storage: Name
    put: Name
    get: Name
    list: Name
    delete: Name
    part_bytes: Bytes
    puts_per_copy: Count
    gets_per_aux_state: Count
    gets_per_remote_read: Count
    gets_per_index_miss: Count
    deletes_per_segment: Count


class NetworkShape(Shape):
    """What traffic between racks costs."""

    cross_rack: Name


class PriceShape(Shape):
    """One price; an instance has its network and disk beside it."""

    item: Name
    kind: Kind
    price: Amount
    unit: Unit
    source: Annotated[str, Field(min_length=1, max_length=1000)]
    date: Annotated[str, Field(min_length=4, max_length=40)]
    network_bytes_per_second: Bytes | None = None
    disk_bytes_per_second: Bytes | None = None
    disk_bytes: Bytes | None = None


class PricesShape(Shape):
    """A price table and which of its items are in use."""

    currency: Name
    month_hours: Hours = float(HOURS_IN_A_MONTH)
    fleet: FleetShape
    store: StoreShape
    network: NetworkShape
    prices: Annotated[list[PriceShape], Field(min_length=1, max_length=1000)]

    def in_use(self) -> dict[str, tuple[tuple[str, str], str]]:
        """The item of each kind that costs are worked out with, and where the file names it."""
        named = {
            "instance": (("fleet", "instance"), self.fleet.instance),
            "object_storage": (("store", "storage"), self.store.storage),
            **{kind: (("store", kind), str(getattr(self.store, kind))) for kind in ("put", "get", "list", "delete")},
            "cross_rack": (("network", "cross_rack"), self.network.cross_rack),
        }
        return named if self.fleet.volume is None else {"volume": (("fleet", "volume"), self.fleet.volume), **named}

    @property
    def instance(self) -> PriceShape:
        """The instance that brokers run on."""
        return next(price for price in self.prices if (price.kind, price.item) == ("instance", self.fleet.instance))

    @property
    def disk_bytes(self) -> int:
        """The largest disk of a broker: a volume, or what comes with the instance."""
        size = self.instance.disk_bytes if self.fleet.volume is None else self.fleet.volume_bytes
        assert size is not None
        return size


def bundled_prices() -> str:
    """The path of the price table that comes with the emulator."""
    return str(resources.files("emulator.outcomes").joinpath("prices.toml"))


def load_prices(path: str | None = None) -> PricesShape:
    """Reads a price table, the bundled one if no path is given.

    Raises InputError, one line, for the first thing that is wrong: a key, a type, a range, a unit that does not suit its kind,
    an item that is in use and not there.
    """
    file = bundled_prices() if path is None else path
    _, data = read_toml(file, "a price table as TOML text in UTF-8")
    places = Places(file, data)
    try:
        prices = PricesShape.model_validate(data)
    except ValidationError as error:
        raise places.shape_error(error) from None
    _check_rows(places, prices)
    for kind, (location, item) in prices.in_use().items():
        known = [price.item for price in prices.prices if price.kind == kind]
        if item not in known:
            problem = f"no price of kind {kind} is called {quoted(item)}{did_you_mean(item, known)}"
            raise places.error(location, problem, listing(known) or f'a [[prices]] of kind = "{kind}"')
    _check_broker(places, prices)
    return prices


def _check_rows(places: Places, prices: PricesShape) -> None:
    seen = set()
    for index, price in enumerate(prices.prices):
        here = ("prices", index)
        if price.unit not in UNITS[price.kind]:
            raise places.error(
                (*here, "unit"), f"{quoted(price.unit)} is no unit of kind {price.kind}", listing(UNITS[price.kind])
            )
        if (price.kind, price.item) in seen:
            raise places.error(
                (*here, "item"), f"{quoted(price.item)} has a price of kind {price.kind} already", "one price each"
            )
        seen.add((price.kind, price.item))
        for name in ("network_bytes_per_second", "disk_bytes_per_second", "disk_bytes"):
            if price.kind != "instance" and getattr(price, name) is not None:
                raise places.error((*here, name), f"is not for kind {price.kind}", "only for instances")


def _check_broker(places: Places, prices: PricesShape) -> None:
    row = ("prices", prices.prices.index(prices.instance))
    for name in ("network_bytes_per_second", "disk_bytes_per_second"):
        if getattr(prices.instance, name) is None:
            raise places.error((*row, name), "is missing", "bytes per second, for the instance in use")
    if prices.fleet.volume is None and prices.instance.disk_bytes is None:
        raise places.error(("fleet", "volume"), f"is missing, and {quoted(prices.instance.item)} has no disk_bytes", "either")
    if prices.fleet.volume is not None and prices.fleet.volume_bytes is None:
        raise places.error(("fleet", "volume_bytes"), "is missing", "bytes: the largest volume of a broker")


def unit_size(unit: str, month_hours: float) -> float:
    """How many bytes, byte-hours, requests or hours a unit stands for.

    >>> unit_size("GiB-month", 730) == 730 * 2**30, unit_size("GB", 730), unit_size("1000 requests", 730)
    (True, 1000000000.0, 1000.0)
    """
    sizes = {"hour": 1, "request": 1, "1000 requests": 1000, "GB": GB, "GiB": GIB}
    if unit in sizes:
        return float(sizes[unit])
    return sizes[unit.removesuffix("-month")] * month_hours


def price_view_sql(name: str, prices: PricesShape) -> str:
    """The SQL of `prices` or `sizing`: the file's values as literals; its first line says what it holds."""
    return _prices_sql(prices) if name == "prices" else _sizing_sql(prices)


def _prices_sql(prices: PricesShape) -> str:
    used = {(kind, item) for kind, (_, item) in prices.in_use().items()}
    rows = ",\n  ".join(
        f"({_text(p.item)}, {_text(p.kind)}, {_number(p.price)}, {_text(prices.currency)}, {_text(p.unit)},"
        f" {_number(unit_size(p.unit, prices.month_hours))}, {_text(p.source)}, {_text(p.date)},"
        f" {str((p.kind, p.item) in used).lower()})"
        for p in prices.prices
    )
    return (
        "-- The price table (emulator/outcomes/prices.toml, or --prices): unit_size is what one unit has of bytes, byte-hours,\n"
        "-- requests or hours; used: costs are worked out with it.\n"
        f"SELECT * FROM VALUES\n  {rows}\nAS prices (item, kind, price, currency, unit, unit_size, source, date, used)"
    )


def _sizing_sql(prices: PricesShape) -> str:
    fleet, store = prices.fleet, prices.store
    values = {
        "currency": _text(prices.currency),
        "month_hours": _number(prices.month_hours),
        "disk_bytes": f"{prices.disk_bytes}L",
        "disk_used_share": _number(fleet.disk_used_share),
        "network_bytes_per_second": f"{prices.instance.network_bytes_per_second}L",
        "network_busy_share": _number(fleet.network_busy_share),
        "disk_bytes_per_second": f"{prices.instance.disk_bytes_per_second}L",
        "disk_busy_share": _number(fleet.disk_busy_share),
        "part_bytes": f"{store.part_bytes}L",
        **{
            name: str(getattr(store, name))
            for name in (
                *("puts_per_copy", "gets_per_aux_state", "gets_per_remote_read", "gets_per_index_miss"),
                "deletes_per_segment",
            )
        },
    }
    columns = ",\n  ".join(f"{text} AS {name}" for name, text in values.items())
    return f"-- One row: what a broker can hold and carry, and how many requests a plugin makes.\nSELECT\n  {columns}"


def _number(value: float) -> str:
    return f"{float(value)!r}D"


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    plain = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped if ord(c) < 0x10000)
    return f"'{plain}'"
