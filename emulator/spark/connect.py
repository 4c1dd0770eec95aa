"""Spark Connect: what a server may be called, and what would keep its client waiting, refused before it is asked."""

from __future__ import annotations

import os
import re
import socket
from urllib.parse import urlsplit

from emulator.errors import EnvironmentProblem, InputError

# A Spark Connect server, or a local one that this process starts.
_REMOTE = re.compile(r"sc://(\[[^\]]+\]|[^/\s:]+)(:\d{1,5})?(/.*)?|local|local\[(\*|[1-9]\d*)(,\s*\d+)?\]")
CONNECT_INSTALL = "python -m pip install 'pyspark[connect]'"
CONNECT_SECONDS_MAX = 10
CONNECT_PORT = 15002
"""Of a local Spark Connect server; Spark's client looks for it there only."""


def refuse_no_server(remote: str) -> None:
    """Raises InputError for what is no address of a server, and asks for none to be started here."""
    if not _REMOTE.fullmatch(remote):
        raise InputError(
            f"--remote: {remote!r} is not a Spark Connect server; allowed: sc://HOST:PORT; local, local[N], local[*] start one"
        )


def refuse_unreachable(remote: str) -> None:
    """Spark's client would try again for ten minutes without a word. Behind a proxy only it can tell."""
    if {"grpc_proxy", "https_proxy", "http_proxy"} & os.environ.keys():
        return
    try:
        address = urlsplit(remote)
        where = (address.hostname or "", address.port or CONNECT_PORT)
        socket.create_connection(where, CONNECT_SECONDS_MAX).close()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise EnvironmentProblem(f"Spark Connect at {remote} could not be reached: {reason}") from error


def refuse_taken_port() -> None:
    """Another local server on the port would be taken for ours."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", CONNECT_PORT))
        except OSError as error:
            raise EnvironmentProblem(
                f"a local Spark Connect server needs port {CONNECT_PORT}, which another process has; use that one with"
                f" --remote sc://localhost:{CONNECT_PORT}, or wait for it"
            ) from error
