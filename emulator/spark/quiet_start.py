"""Keeps back the warning that Java prints of Spark's incubator module, which no option of Java or Spark turns off."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

KEPT_BACK = b"WARNING: Using incubator modules: jdk.incubator.vector"
"""Spark names the module to Java, which says so of every module that is no standard yet."""

_STANDARD_ERROR = 2


@contextmanager
def without_incubator_warning() -> Iterator[None]:
    """Within it, a process that starts has its standard error handed on by this one, but for that line, as long as it runs."""
    read_end, write_end = os.pipe()
    own = os.dup(_STANDARD_ERROR)
    os.dup2(write_end, _STANDARD_ERROR)
    os.close(write_end)
    threading.Thread(target=_forward, args=(read_end, own), daemon=True).start()
    try:
        yield
    finally:
        os.dup2(own, _STANDARD_ERROR)


def _forward(read_end: int, out: int) -> None:
    """Hands on what comes, a part of a line as well unless it may be the one kept back, until nothing has the other end."""
    begun = b""
    while got := os.read(read_end, 1 << 16):
        *lines, begun = (begun + got).split(b"\n")
        shown = b"".join(line + b"\n" for line in lines if line.rstrip(b"\r") != KEPT_BACK)
        if not KEPT_BACK.startswith(begun):
            shown, begun = shown + begun, b""
        _write(out, shown)
    _write(out, b"" if begun == KEPT_BACK else begun)
    os.close(read_end)
    os.close(out)


def _write(out: int, text: bytes) -> None:
    while text:
        try:
            text = text[os.write(out, text) :]
        except OSError:  # nobody reads it any more
            return
