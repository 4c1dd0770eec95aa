"""Where compiled code is kept, for which sources and which CPU, and that one process of a machine compiles it.

Numba's own cache does not see a changed callee or constant of another file, and finds nothing when the same sources lie in
another folder, as they do for every executor. The folder is therefore named by a digest of all sources that are compiled, of
what compiles them and for which CPU; within it, a function is found by its file's name below `SOURCES`. Each system of rounds
has such a folder of its own, and is compiled anew only after an edit of it or of what all systems share.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not on Windows, where every process compiles for itself
    fcntl = None  # type: ignore[assignment]

SOURCES = Path(__file__).parent
"""Its files are shared by all systems; each folder in it is a system of rounds, which imports nothing of another one."""

NOT_COMPILED = "relational"
"""The folder there whose rounds are Spark's."""

CACHE_VARIABLE = "EMULATOR_CACHE_DIR"
"""Environment variable that names the folder of caches."""

PACKED_VARIABLE = "EMULATOR_PACKED_CACHE"
"""Environment variable that names a folder of caches to begin with, which is only read: that of an archive of `emulator pack`."""

WAIT_SECONDS_MAX = 900
"""After so long, a process that waits for another one's compiling compiles for itself."""

_POLL_SECONDS = 0.2

numba: Any = None
config: Any = None
extending: Any = None
WHY_NOT: str | None = None
"""Why rounds cannot be compiled here; None: they can."""
try:
    numba = import_module("numba")
    config = import_module("numba.core.config")
    extending = import_module("numba.extending")
except Exception as error:  # of a NumPy or a library that it does not fit, numba says so in many ways
    numba = config = extending = None
    WHY_NOT = f"{type(error).__name__}: {error}"


def form() -> str:
    """In which form rounds are compiled, as the environment says: as shipped, or with checks for tests (compiled.py)."""
    bounds = "checked" if os.environ.get("EMULATOR_BOUNDS_CHECK") else "shipped"
    return bounds + ("-counted" if os.environ.get("EMULATOR_REFERENCE_COUNTS") else "")


@cache
def source_digest(system: str) -> str:
    """What a system's compiled code follows from: its sources and the shared ones, numba's and Python's versions, the CPU.

    Of Python what extension modules are built for: a node may have another patch of the same version.
    """
    python = f"{sys.implementation.cache_tag} {sysconfig.get_config_var('SOABI')}"
    return _digest_after(f"{getattr(numba, '__version__', '')} {python} {cpu()}", [system])


@cache
def rounds_digest() -> str:
    """What the rounds are, wherever they run and compiled or not: their sources."""
    return _digest_after("", None)


def _digest_after(text: str, systems: list[str] | None) -> str:
    """Of a text, and of the sources that all systems share and those of these systems; None: of all."""
    digest = hashlib.sha256(text.encode())
    if not SOURCES.is_dir():  # from an archive, as of spark-submit's --py-files: all of it
        digest.update(next(path for path in SOURCES.parents if path.is_file()).read_bytes())
    for path in sorted(SOURCES.rglob("*.py")):
        system = _system_of(path.relative_to(SOURCES))
        if system in ("", *(systems or [system])) and system != NOT_COMPILED:
            digest.update(path.relative_to(SOURCES).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _system_of(source: Path) -> str:
    """The system of rounds that a file below SOURCES is of; an empty text for one that all share."""
    first, *others = source.parts
    return first if others else ""


def cpu() -> str:
    """The CPU that code is compiled for, with its features: this machine's, or what NUMBA_CPU_NAME and ..._FEATURES say."""
    if numba is None:
        return ""
    llvm: Any = import_module("llvmlite.binding")
    features = llvm.get_host_cpu_features().flatten() if config.CPU_FEATURES is None else config.CPU_FEATURES
    return f"{config.CPU_NAME or llvm.get_host_cpu_name()} {features}"


@cache
def cache_folder(system: str = "") -> Path:
    """The folder of a system's compiled code of these sources for this CPU: the user's own, else one in the temporary folder.

    It has what an archive brought along, which may lie in another folder for every executor, one that cannot be written.
    """
    named = os.environ.get(CACHE_VARIABLE)
    temporary = Path(tempfile.gettempdir()) / f"replication-emulator-{_user()}"
    for home in [*([Path(named)] if named else _user_caches()), temporary]:
        folder = home / source_digest(system)
        try:
            home.parent.mkdir(parents=True, exist_ok=True)
            home.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and _is_ours(folder) and (home != temporary or _is_closed(home)):
            _take_packed(folder)
            return folder
    return Path(tempfile.mkdtemp(prefix="replication-emulator-"))


def folder_of(function: Callable[..., object]) -> Path:
    """The folder of the system that a compiled function is of, in the form that this process compiles."""
    _, _, name = function.__module__.partition(".rounds.")
    system, _, others = name.partition(".")
    return cache_folder(system if others else "") / form()


def _take_packed(folder: Path) -> None:
    """Copies what was packed for these sources and this CPU, where there is nothing yet: all of it at once, or nothing."""
    packed = os.environ.get(PACKED_VARIABLE)
    for part in Path(packed, folder.name).glob("*") if packed else ():
        if (folder / part.name).exists():
            continue
        with suppress(OSError), tempfile.TemporaryDirectory(dir=folder, prefix=".") as unfinished:
            copy = Path(unfinished) / part.name
            for file in (path for path in part.rglob("*") if path.is_file()):
                place = copy / file.relative_to(part)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, place)
            copy.rename(folder / part.name)  # fails where another process was faster


def _user_caches() -> list[Path]:
    try:
        return [Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "replication-emulator"]
    except RuntimeError:  # a user without a home, as in many containers
        return []


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _is_ours(folder: Path) -> bool:
    return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()


def _is_closed(home: Path) -> bool:
    """Whether nobody else can put another folder in the place of one in it: code from there is run."""
    return _is_ours(home) and not home.stat().st_mode & 0o022


def is_cached(function: Callable[..., object]) -> bool:
    """Whether the cache has this function, of these sources and compiled by an earlier process for this CPU."""
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    return any(folder_of(function).rglob(f"{name}-*.nbc"))


@contextmanager
def one_compiles(function: Callable[..., object], waits: Callable[[], None] = lambda: None) -> Iterator[bool]:
    """Holds this machine's lock of compiling `function`; gives whether it is left for this process to compile.

    Processes of one user share a lock file in the temporary folder. Whoever comes while another one holds it waits, and finds
    the function in the cache; the system frees the lock of a process that is killed, and the next one compiles. `waits` is called
    once by one who has to wait. Where there can be no lock, every process compiles.
    """
    if is_cached(function):
        yield False
        return
    with _locked(function, waits):
        yield not is_cached(function)


@contextmanager
def _locked(function: Callable[..., object], waits: Callable[[], None]) -> Iterator[None]:
    file = _lock_file(function)
    try:
        if file is not None:
            _wait_for(file, waits)
        yield
    finally:
        if file is not None:
            os.close(file)  # the lock goes with it; the file stays: another process may have it open


def _lock_file(function: Callable[..., object]) -> int | None:
    """Opens the lock file of a function in its cache folder."""
    if fcntl is None:
        return None
    name = hashlib.sha256(f"{folder_of(function)} {function.__name__}".encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"replication-emulator-{_user()}-{name}.lock"
    with suppress(OSError):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return None


def _wait_for(file: int, waits: Callable[[], None]) -> None:
    give_up_at, has_said = time.monotonic() + WAIT_SECONDS_MAX, False
    while time.monotonic() < give_up_at:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not has_said:
                waits()
                has_said = True
            time.sleep(_POLL_SECONDS)
        except OSError:  # a file system without locks
            return


class CacheLocator:
    """Tells Numba where a function of the rounds is kept: by its file's name below SOURCES, wherever that lies."""

    def __init__(self, line: int, source: Path) -> None:
        self._line, self._system = line, _system_of(source.relative_to(SOURCES.resolve()))
        self._folder = cache_folder(self._system) / form() / source.relative_to(SOURCES.resolve()).parent

    @classmethod
    def from_function(cls, function: Any, source: str) -> CacheLocator | None:
        """The place of a function; None for one that is not of the rounds, which Numba's other locators are asked about."""
        path = Path(source).resolve()
        if not config.CACHE_DIR or SOURCES.resolve() not in path.parents:
            return None
        locator = cls(function.__code__.co_firstlineno, path)
        with suppress(OSError):
            locator.ensure_cache_path()
            return locator
        return None

    def ensure_cache_path(self) -> None:
        """Makes the folder; raises OSError where it cannot be written."""
        self._folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=self._folder).close()

    def get_cache_path(self) -> str:
        """The folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """What the sources were."""
        return source_digest(self._system)

    def get_disambiguator(self) -> str:
        """What tells functions of one name and file apart."""
        return str(self._line)


LOCATORS = f"{CacheLocator.__module__}.{CacheLocator.__name__},UserProvidedCacheLocator,UserWideCacheLocator,IPythonCacheLocator"
"""For Numba: ours first. Versions that do not know this setting keep code by the folder of the sources."""
