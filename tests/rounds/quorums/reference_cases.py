"""300 random cases of a protocol of groups against the reference: `python -m tests.rounds.quorums.reference_cases`.

As tests/rounds/kafka/reference_cases.py; compiling one such protocol takes a tenth of what partitions take.
"""

from __future__ import annotations

import sys

from tests.reference.quorums.schedules import random_case
from tests.rounds.quorums.after_each_round import differences

PROTOCOL = "primary-backup-sync"
CASES = 300
AT_ONCE = 50


def main() -> int:
    """Prints what differs of each case first; returns the cases that do."""
    differing = 0
    for first in range(0, CASES, AT_ONCE):
        drawn = [random_case(PROTOCOL, seed, rounds=45, disks=0.3) for seed in range(first, first + AT_ONCE)]
        for place, found in differences(drawn).items():
            differing += 1
            print(f"case {first + place}: {found[0]}")
    return differing


if __name__ == "__main__":
    sys.exit(min(main(), 1))
