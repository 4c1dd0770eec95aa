"""Files and folders under one root by pyarrow's file systems: local, HDFS, S3, Google Cloud Storage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from emulator.errors import InputError

# What Hadoop, and so Spark, calls a file system by, where pyarrow has another name for it.
_PYARROW_SCHEMES = {"s3a": "s3", "s3n": "s3"}
_ALLOWED = "allowed over Spark Connect: a folder of this machine, hdfs://, s3a:// or gs://"


class ArrowFiles:
    """The files under `root_uri`, as emulator.storage.files.Files says.

    A path without a scheme is local, and relative to this process' working directory. The constructor raises `InputError` for an
    address that pyarrow cannot open.
    """

    def __init__(self, root_uri: str) -> None:
        if not root_uri.strip():
            raise InputError("output folder: the path is empty")
        try:
            self._fs, self._prefix, self._root = _opened(root_uri)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{root_uri}: cannot be opened: {_reason(error)}; {_ALLOWED}") from error

    def uri(self, name: str = "") -> str:
        """Returns the full address of a name, as Spark's writers take it."""
        return self._prefix + self._path(name)

    def read_uri(self, name: str = "") -> str:
        """Returns the full address of a name for Spark's readers, which would take [ ] { } * ? for patterns."""
        return re.sub(r"([\[\]{}*?\\])", r"\\\1", self.uri(name))

    def exists(self, name: str = "") -> bool:
        """Tells whether there is a file or folder of that name."""
        return self._info(self._path(name)).type != fs.FileType.NotFound

    def is_folder(self, name: str = "") -> bool:
        """Tells whether there is a folder of that name."""
        return self._info(self._path(name)).type == fs.FileType.Directory

    def names(self, folder: str = "") -> list[str]:
        """Returns the names directly in a folder, sorted."""
        return sorted(info.base_name for info in self._below(self._path(folder)))

    def sizes(self, folder: str) -> dict[str, int]:
        """Returns the bytes of every file below a folder by name relative to it, checksum files left out."""
        root = self._path(folder)
        files = [info for info in self._below(root, recursive=True) if info.type == fs.FileType.File]
        return {info.path[len(root) + 1 :]: info.size for info in files if not info.path.endswith(".crc")}

    def modified_ms(self, name: str) -> int:
        """Returns the time of a file's last change, in milliseconds since 1970."""
        changed_ns = self._info(self._path(name)).mtime_ns
        if changed_ns is None:
            raise OSError(f"{self.uri(name)}: has no time of change")
        return int(changed_ns) // 1_000_000

    def make_folders(self, name: str = "") -> list[str]:
        """Makes a folder and those above it; returns the full addresses of those that were missing, deepest first."""
        missing, path = [], self._path(name)
        while path.strip("/") and self._info(path).type == fs.FileType.NotFound:
            missing.append(self._prefix + path)
            path = path.rpartition("/")[0]
        with _as_os_errors():
            self._fs.create_dir(self._path(name), recursive=True)
        return missing

    def remove_empty_folders(self, uris: list[str]) -> None:
        """Removes the folders that are empty, in the order given, up to the first that is not."""
        for uri in uris:
            path = self._path(uri)
            if self._info(path).type != fs.FileType.NotFound:
                if self._below(path):
                    return
                with _as_os_errors():
                    self._fs.delete_dir(path)

    def rename(self, source: str, target: str) -> None:
        """Renames a file or folder; the target must not be there. An object store copies a folder, file after file."""
        if self.exists(target):
            raise OSError(f"{self.uri(target)}: is there already")
        with _as_os_errors():
            if self._renames_folders or not self.is_folder(source):
                self._fs.move(self._path(source), self._path(target))
                return
        self._move_files(self._path(source), self._path(target))

    def delete(self, name: str) -> None:
        """Deletes a file, or a folder and all in it, if it is there."""
        path = self._path(name)
        found = self._info(path).type
        with _as_os_errors():
            if found == fs.FileType.Directory:
                self._fs.delete_dir(path)
            elif found != fs.FileType.NotFound:
                self._fs.delete_file(path)

    def read_text(self, name: str) -> str:
        """Returns the text of a file."""
        with _as_os_errors(), self._fs.open_input_stream(self._path(name), compression=None) as stream:
            return bytes(stream.read()).decode("utf-8")

    def write_text(self, name: str, text: str) -> None:
        """Writes a file so that it is there whole or not at all."""
        self.write_bytes(name, text.encode("utf-8"))

    def write_bytes(self, name: str, content: bytes) -> None:
        """Writes a file so that it is there whole or not at all; folders above it are made."""
        unfinished = f"{name}.tmp"
        with _as_os_errors():
            self._fs.create_dir(self._path(unfinished).rpartition("/")[0], recursive=True)
            with self._fs.open_output_stream(self._path(unfinished), compression=None) as stream:
                stream.write(content)
        self.rename(unfinished, name)

    @property
    def _renames_folders(self) -> bool:
        return isinstance(self._fs, fs.LocalFileSystem | fs.HadoopFileSystem)

    def _move_files(self, source: str, target: str) -> None:
        """Moves what is below a folder, then removes it: a kill in between leaves some files here, some there."""
        with _as_os_errors():
            self._fs.create_dir(target, recursive=True)
            for info in self._below(source, recursive=True):
                moved = target + info.path[len(source) :]
                if info.type == fs.FileType.Directory:
                    self._fs.create_dir(moved, recursive=True)
                else:
                    self._fs.create_dir(moved.rpartition("/")[0], recursive=True)
                    self._fs.move(info.path, moved)
            self._fs.delete_dir(source)

    def _path(self, name: str) -> str:
        """The path of a name, or of a full address of this file system."""
        if name.startswith(self._prefix):
            return name[len(self._prefix) :]
        return f"{self._root}/{name}".replace("//", "/") if name else self._root

    def _info(self, path: str) -> fs.FileInfo:
        with _as_os_errors():
            try:
                return self._fs.get_file_info(path)
            except NotADirectoryError:  # something above it is a file
                return fs.FileInfo(path, fs.FileType.NotFound)

    def _below(self, path: str, recursive: bool = False) -> list[fs.FileInfo]:
        with _as_os_errors():
            found: list[fs.FileInfo] = self._fs.get_file_info(fs.FileSelector(path, recursive=recursive))
            return found


def _opened(root_uri: str) -> tuple[fs.FileSystem, str, str]:
    """(file system, what a full address has before its path, the path of the root)."""
    scheme, found, rest = root_uri.partition("://")
    if not found or scheme == "file":
        path = str(Path(rest if found else root_uri.removeprefix("file:")).absolute())
        return fs.LocalFileSystem(), "file:", path
    file_system, path = fs.FileSystem.from_uri(f"{_PYARROW_SCHEMES.get(scheme, scheme)}://{rest}")
    path = path.rstrip("/")
    # The path begins with the bucket or the container, or is that of the address: before it stands the rest.
    before = root_uri.rstrip("/").removesuffix(path)
    if not path or before == root_uri.rstrip("/"):
        raise OSError(f"no folder {path!r} of the address")
    return file_system, before, path


@contextmanager
def _as_os_errors() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise OSError(_reason(error)) from error


def _reason(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
