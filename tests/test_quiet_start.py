"""What a process says that starts while Spark's warning is kept back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from emulator.spark.quiet_start import KEPT_BACK

STARTS = """
import subprocess, sys
from emulator.spark.quiet_start import without_incubator_warning
with without_incubator_warning():
    child = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
sys.stderr.write("own\\n")
sys.stderr.flush()
child.wait()
import time
time.sleep(0.3)
"""


LONG = b"x" * 200_000


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        (KEPT_BACK + b"\n", b""),
        (b"before\n" + KEPT_BACK + b"\r\nafter\nno end", b"before\nafter\nno end"),
        (KEPT_BACK + b" and more\n" + LONG, KEPT_BACK + b" and more\n" + LONG),
        (b"WARNING: Using incubator", b"WARNING: Using incubator"),
    ],
)
def test_only_the_warning_is_kept_back(written: bytes, seen: bytes, tmp_path: Path) -> None:
    (tmp_path / "written").write_bytes(written)
    says = f"import sys, time; time.sleep(0.3); sys.stderr.buffer.write(open({str(tmp_path / 'written')!r}, 'rb').read())"
    ended = subprocess.run([sys.executable, "-c", STARTS, says], capture_output=True, check=True)
    assert ended.stderr == b"own\n" + seen
