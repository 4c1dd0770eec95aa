"""What an invariant passes over has its letter in docs/invariants.md, with a rule of Kafka, and in the rounds, where it does."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
LETTER = "(?:[A-RT]|S[1-4])"
SOURCE = r"KIP-\d|KAFKA-\d|`\w*[A-Z]\w*|\bkip-966 of kafka-tlaplus|\bas of [A-R]\b"
"""A KIP, an issue, a class or method of Kafka's, a specification, or another excuse."""


def test_letters_of_the_page_are_those_of_the_rounds() -> None:
    page = (ROOT / "docs" / "invariants.md").read_text("utf-8")
    lines = re.findall(rf"^\| (?:\*\*)?{LETTER}\b.*", page, re.MULTILINE)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    told = {cells[0].strip("*"): cells[-1] for cells in rows}
    assert len(told) == len(rows) == 23
    assert {letter for letter, rule in told.items() if rule.startswith("none known")} == {"S1", "S2", "S3", "S4"}
    unsourced = {letter for letter, rule in told.items() if not re.search(SOURCE, rule)}
    assert unsourced <= {"S1", "S2", "S3", "S4"}
    texts = [path.read_text("utf-8") for path in (ROOT / "emulator" / "rounds" / "kafka").rglob("*.py")]
    marks = {mark for text in texts for mark in re.findall(rf"\(({LETTER}(?:, {LETTER})*)\)", text)}
    assert {letter for mark in marks for letter in mark.split(", ")} == {*told}
