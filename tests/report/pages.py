"""A report's page, read back: that it is well formed and needs nothing else, and what its tables hold."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "br", "img", "hr", "input"}
ADDRESSES = ("src", "href", "xlink:href", "action", "data", "poster", "srcset")


class Page(HTMLParser):
    """Fails for a tag that is not closed where it should be, an id that stands twice, and whatever would be fetched.

    `tables`: by id their rows, each value from `data-value` where there is one, else its text. `links`: within the page.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.words: list[str] = []
        self.tables: dict[str, list[list[Any]]] = {}
        self._table = ""
        self._value: str | None = None
        self._text = ""
        self.feed(text)
        self.close()
        assert self.open == []
        assert self.links <= self.ids, self.links - self.ids

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        assert tag not in {"script", "link", "iframe", "object", "embed"}, tag
        for name in ADDRESSES:
            address = named.get(name)
            if address is not None and tag != "data":
                assert address.startswith(("#", "data:image/png;base64,")), (tag, address)
                if tag == "a":
                    self.links.add(address[1:])
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert "http" not in (value or "") or name == "data-value", (tag, name, value)
        if named.get("id"):
            assert named["id"] not in self.ids, f"{named['id']} stands twice"
            self.ids.add(str(named["id"]))
        if tag == "table":
            self._table = str(named["id"])
            self.tables[self._table] = []
        if tag == "tr":
            self.tables[self._table].append([])
        if tag in {"td", "th"}:
            self._value, self._text = named.get("data-value"), ""
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()
        if tag in {"td", "th"}:
            value = self._text if self._value is None else float(self._value)
            self.tables[self._table][-1].append(value)

    def handle_data(self, data: str) -> None:
        self._text += data
        if self.open and self.open[-1] == "style":
            assert "url(" not in data
            assert "@import" not in data
        else:
            self.words.append(data)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """A table's rows by its titles."""
        titles, *rows = self.tables[table]
        return [dict(zip(titles, row, strict=True)) for row in rows]
