"""A tiny run of two scenarios, written by hand as JSON and turned into the Parquet tables of the contract."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import output_tables

DATA = Path(__file__).parent / "data"


@pytest.fixture
def write_tables() -> Callable[[dict[str, list[dict[str, Any]]], Path], None]:
    """Writes tables of the contract, given as rows of named values, into a folder."""
    return output_tables.write_tables


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the hand-made run."""
    folder = tmp_path_factory.mktemp("runs") / "small run [1] {a,b}*"
    output_tables.write_tables(json.loads((DATA / "small_run.json").read_text("utf-8")), folder)
    return folder
