"""The memory that processes took. Imports nothing large: it runs within what it measures."""

from __future__ import annotations

from pathlib import Path


def peak_resident_mib(pid: int | None = None) -> int | None:
    """Most resident memory that a process (this one by default) ever had, from Linux' /proc; None elsewhere."""
    status = Path(f"/proc/{pid or 'self'}/status")
    lines = status.read_text(encoding="ascii", errors="replace").splitlines() if status.exists() else []
    return next((int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM")), None)


def proportional_mib(pid: int) -> int | None:
    """What a process has of memory, of what it shares its part (PSS), from Linux' /proc; None: it has ended, or elsewhere."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) >> 10 for line in lines if line.startswith("Pss:")), None)


def with_descendants(pid: int) -> list[int]:
    """A process and all that it started, and that these did, as far as they run."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:  # the name, in parentheses, may hold anything
            parent = int(status.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        children.setdefault(parent, []).append(int(status.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def mib_text(mib: int | None) -> str:
    """A figure for a table.

    >>> mib_text(3281), mib_text(None)
    ('3,281', '?')
    """
    return "?" if mib is None else f"{mib:,}"
