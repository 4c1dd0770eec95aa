"""A tiny run of two scenarios, written by hand as JSON and turned into the Parquet tables of the contract."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.outcomes.resolve import resolve
from emulator.outcomes.sql import ask_registered, own_session, register_run
from emulator.outcomes.view_texts import ALL_COLUMNS, HELPER_VIEWS
from tests import output_tables

DATA = Path(__file__).parent / "data"

Answer = tuple[list[str], list[tuple[Any, ...]]]


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


@pytest.fixture(scope="session")
def all_views(spark: SparkSession, small_run: Path) -> SparkSession:
    """A session of Spark that has all tables and views of the hand-made run."""
    session = own_session(spark)
    register_run(session, str(small_run), " ".join([*ALL_COLUMNS, *HELPER_VIEWS]))
    return session


@pytest.fixture(scope="session")
def ask_spark(all_views: SparkSession) -> Callable[[str], Answer]:
    """Asks Spark of the hand-made run; a query that is asked again is not worked out again."""

    @cache
    def ask(query: str) -> Answer:
        columns, rows = ask_registered(all_views, resolve(query))
        return columns, list(rows)

    return ask
