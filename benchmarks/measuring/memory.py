"""The memory that processes took. Imports nothing large: it runs within what it measures."""

from __future__ import annotations

from pathlib import Path


def peak_resident_mib(pid: int | None = None) -> int | None:
    """Most resident memory that a process (this one by default) ever had, from Linux' /proc; None elsewhere."""
    status = Path(f"/proc/{pid or 'self'}/status")
    lines = status.read_text(encoding="ascii", errors="replace").splitlines() if status.exists() else []
    return next((int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM")), None)


def mib_text(mib: int | None) -> str:
    """A figure for a table.

    >>> mib_text(3281), mib_text(None)
    ('3,281', '?')
    """
    return "?" if mib is None else f"{mib:,}"
