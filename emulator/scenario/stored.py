"""The scenarios of a run that is done, from what its table `runs` keeps: its text, and digests of the files that it names."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from emulator.errors import InputError
from emulator.scenario.load import load_run
from emulator.scenario.model import Run, Scenario
from emulator.scenario.table_files import WHOLE_FILE, sha256_of

_ALLOWED = "the file as it was then, or another run"


def load_stored(row: Mapping[str, Any]) -> Run:
    """Reads the scenarios of a run once more: the stored text, and the files that it names where they were.

    `row`: of table `runs`. Raises InputError for a file that is not as it was; of a run that keeps no digests of them, by an
    earlier version, only for one that cannot be read.
    """
    path, files = row["scenario_path"], row.get("scenario_files")
    for file, digest in (files or {}).items():
        if sha256_of(file) != digest:
            raise InputError.at(file, WHOLE_FILE, "has changed since the run", _ALLOWED)
    folder = row.get("scenario_folder") or posixpath.dirname(path)
    run = load_run(posixpath.join(folder, posixpath.basename(path)), row["scenario_text"])
    if files is not None and (more := run.files.keys() - files.keys()):
        raise InputError.at(min(more), WHOLE_FILE, "was not there at the time of the run", _ALLOWED)
    scenarios = with_shared_fetchers(run.scenarios, row.get("shared_fetchers") or ())
    return replace(run, path=path, scenarios=tuple(scenarios))


def with_shared_fetchers(scenarios: Sequence[Scenario], scenario_ids: Collection[int]) -> list[Scenario]:
    """The scenarios, of which these share fetchers."""
    return [replace(s, shares_fetchers=True) if s.scenario_id in scenario_ids else s for s in scenarios]
