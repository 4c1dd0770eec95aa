"""A .tar.gz whose bytes follow from its files alone: sorted, of one time and of nobody."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

UNCHANGED_SINCE_SECONDS = 315_532_800
"""The time of every file: 1980, the first year that zip files know."""

COMPRESSION = 6


class Member(NamedTuple):
    """A file of the archive: what is in it (a file's path, or bytes), and whether it is a program."""

    content: Path | bytes
    is_program: bool = False

    @property
    def size_bytes(self) -> int:
        """Its size."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size


def write_archive(path: Path, first: str, members: Mapping[str, Member], advance: Callable[[int], None]) -> None:
    """Write members by name, `first` before all others; `advance` is told how many of their bytes are done."""
    done_bytes = 0
    with (
        path.open("xb") as file,
        gzip.GzipFile("", "wb", COMPRESSION, file, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for name in sorted(members, key=lambda name: (name != first, name)):
            member = members[name]
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = member.size_bytes, UNCHANGED_SINCE_SECONDS
            entry.mode = 0o755 if member.is_program else 0o644
            content = member.content
            with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as source:
                archive.addfile(entry, source)
            done_bytes += entry.size
            advance(done_bytes)


def first_member(path: Path) -> str | None:
    """The name of an archive's first file; None of what is no such archive."""
    try:
        with tarfile.open(path, "r:gz") as archive:
            first = archive.next()
    except (tarfile.TarError, OSError, EOFError):
        return None
    return None if first is None else first.name
