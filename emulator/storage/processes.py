"""Which process this is, and whether another one of this host still runs."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any


def this_process() -> dict[str, Any]:
    """Returns host, pid and start time of this process: what others of its host know it by."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "started": started(os.getpid())}


def started(pid: int) -> str | None:
    """Returns the start time of a process as Linux counts it (field 22 of its stat): process ids come again."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return None


def is_running(pid: int, start: str | None) -> bool:
    """Tells whether the process of this host with that id and start time runs; without a start time, any of that id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return start is None or started(pid) in (None, start)
