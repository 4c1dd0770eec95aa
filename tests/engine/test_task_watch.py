"""What is told of a job's tasks while it runs."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.engine import task_watch
from emulator.engine.task_watch import watching


class Tracker:
    """A status tracker: another job's stage 1 of 4 tasks, ours 2 (of 9 tasks) and 3 (of 4), of which a task ends at each look."""

    def __init__(self) -> None:
        self.looks = -1

    def getActiveStageIds(self) -> list[int]:  # noqa: N802
        self.looks += 1
        return [1] if self.looks == 0 else [1, 2, 3]

    def getStageInfo(self, stage: int) -> Any:  # noqa: N802
        of_stage = {1: (4, 4), 2: (9, 9), 3: (4, min(self.looks // 2, 4))}
        tasks, completed = of_stage[stage]
        return SimpleNamespace(numTasks=tasks, numCompletedTasks=completed)


def session(tracker: Tracker) -> Any:
    return SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))


def test_ended_tasks_of_the_watched_stage_are_told_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_watch, "SECONDS_BETWEEN_LOOKS", 0.001)
    told: list[int] = []
    tracker = Tracker()
    with watching(session(tracker), 4, told.append):
        while tracker.looks < 12:
            time.sleep(0.001)
    assert sorted(set(told) - {0}) == [1, 2, 3, 4]
    assert told == sorted(told)
    assert len(told) <= 4 + 1 + 12 // task_watch.LOOKS_BETWEEN_WORDS
    looks = tracker.looks
    time.sleep(0.02)
    assert tracker.looks == looks, "nobody looks any more"


def test_spark_connect_tells_nothing() -> None:
    told: list[int] = []
    with watching(SimpleNamespace(), 4, told.append):  # type: ignore[arg-type]
        pass
    assert told == []
