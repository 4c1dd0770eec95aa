"""What a run's tables tell: views over them, questions of an operator with their SQL, the answers as text."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import NamedTuple


class Query(NamedTuple):
    """A bundled question in an operator's words and the SQL that answers it; the SQL's comments say how to read it."""

    question: str
    sql: str


@cache
def queries() -> dict[str, Query]:
    """Returns the bundled questions by name, in the order of their names: `emulator sql DIR @name` asks one."""
    files = sorted(resources.files(__name__).joinpath("queries").iterdir(), key=lambda file: file.name)
    texts = {file.name.removesuffix(".sql"): file.read_text("utf-8") for file in files if file.name.endswith(".sql")}
    return {name: Query(_question(text), text) for name, text in texts.items()}


def how_to_read(query: Query) -> str:
    """Returns the comment below the question: what the columns mean and what to make of them."""
    comments = _leading_comments(query.sql)
    return " ".join(comments[comments.index("") + 1 :]) if "" in comments else ""


def _question(text: str) -> str:
    comments = _leading_comments(text)
    return " ".join(comments[: comments.index("")] if "" in comments else comments)


def _leading_comments(text: str) -> list[str]:
    lines = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return lines
