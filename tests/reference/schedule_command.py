"""The command of random schedules: which invariants do the mutants break, in which schedules?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

Rules = TypeVar("Rules")


def print_broken(
    subjects: Mapping[str, Rules], broken: Callable[[Rules, Iterable[int]], dict[str, list[int]]], schedules: int
) -> None:
    """Print for each subject how many schedules break which invariant, and the first that do.

    subjects: name -> rules; broken: for each invariant that rules break the seeds of the schedules in which they do.
    Arguments of the command: how many schedules (`schedules` if not given), names of subjects (all).
    """
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else schedules)
    for name in sys.argv[2:] or subjects:
        found = broken(subjects[name], seeds)
        told = ", ".join(f"{invariant} {len(of_one)} {of_one[:4]}" for invariant, of_one in sorted(found.items()))
        print(f"{name:36}{told or 'nothing'}", flush=True)
