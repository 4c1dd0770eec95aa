"""The price table: the bundled one, one of a user's, and what is wrong with others in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.errors import InputError
from emulator.outcomes.prices import bundled_prices, load_prices, price_view_sql, unit_size

from .tiered_run import PRICES


def test_every_bundled_price_says_where_it_is_from_and_when() -> None:
    prices = load_prices()
    assert {price.kind for price in prices.prices} == {
        *("instance", "volume", "object_storage", "put", "get", "list", "delete", "cross_rack")
    }
    assert all(price.source and price.date for price in prices.prices)
    assert prices.month_hours == 730
    assert "general knowledge" in Path(bundled_prices()).read_text("utf-8")


def test_units() -> None:
    assert unit_size("GB-month", 730) == 730e9
    assert unit_size("GiB-month", 720) == 720 * 1_073_741_824
    assert [unit_size(unit, 730) for unit in ("hour", "GB", "GiB", "request", "1000 requests")] == [1, 1e9, 2**30, 1, 1000]


def test_the_disk_that_comes_with_an_instance(tmp_path: Path) -> None:
    text = PRICES.replace('volume = "disk"\nvolume_bytes = 4000000000\n', "").replace(
        "disk_bytes_per_second = 1000\n", "disk_bytes_per_second = 1000\ndisk_bytes = 77\n"
    )
    (tmp_path / "own.toml").write_text(text, "utf-8")
    prices = load_prices(str(tmp_path / "own.toml"))
    assert prices.disk_bytes == 77
    assert "volume" not in prices.in_use()
    assert "77L AS disk_bytes" in price_view_sql("sizing", prices)


def test_texts_are_literals_of_sql(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(PRICES, "utf-8")
    sql = price_view_sql("prices", load_prices(str(tmp_path / "prices.toml")))
    assert r"'a quote\'s \\ line'" in sql


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('currency = "EUR"', "", "prices.toml: currency: is missing"),
        (
            'instance = "box"',
            'instance = "bix"',
            'fleet.instance: no price of kind instance is called "bix" (did you mean "box"?)',
        ),
        ('volume = "disk"', 'volume = "store"', 'fleet.volume: no price of kind volume is called "store"; allowed: disk, other'),
        ("volume_bytes = 4000000000", "", "fleet.volume_bytes: is missing"),
        ('volume = "disk"', "", 'fleet.volume: is missing, and "box" has no disk_bytes'),
        ("disk_used_share = 0.5", "disk_used_share = 50", "fleet.disk_used_share: 50 is out of range; allowed: 1.0 or less"),
        ("part_bytes = 100000000", "part_bytes = 0", "store.part_bytes: 0 is out of range; allowed: 1 or more"),
        ("puts_per_copy", "puts_per_segment", 'store.puts_per_segment: unknown key "puts_per_segment"'),
        ("price = 2.0", "price = -2.0", "prices[0].price: -2.0 is out of range; allowed: 0.0 or more"),
        ("price = 2.0", 'price = "2.0"', 'prices[0].price: "2.0" is of the wrong type; allowed: a number'),
        ("price = 2.0", "price = nan", "prices[0].price: nan"),
        ('unit = "hour"', 'unit = "GB"', 'prices[0].unit: "GB" is no unit of kind instance; allowed: hour'),
        ('unit = "hour"', 'unit = "day"', 'prices[0].unit: "day" is not known; allowed: "hour", "GB-month"'),
        ('kind = "instance"', 'kind = "broker"', 'prices[0].kind: "broker" is not known; allowed: "instance"'),
        ("network_bytes_per_second = 4000", "", "prices[0].network_bytes_per_second: is missing"),
        ('item = "other disk"', 'item = "disk"', 'prices[2].item: "disk" has a price of kind volume already'),
        ('date = "2025-01"', "date = 2025-01-01", "prices[0].date: 2025-01-01 is of the wrong type; allowed: a string"),
        ("[network]", "[network", "line "),
    ],
)
def test_what_is_wrong_is_one_line(before: str, after: str, says: str, tmp_path: Path) -> None:
    assert before in PRICES
    (tmp_path / "prices.toml").write_text(PRICES.replace(before, after, 1), "utf-8")
    with pytest.raises(InputError) as raised:
        load_prices(str(tmp_path / "prices.toml"))
    message = str(raised.value)
    assert says in message
    assert "prices.toml: " in message
    assert message.isprintable()
