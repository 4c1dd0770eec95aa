"""Files and folders under one root, on any file system Hadoop knows, by its own Java API."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from emulator.errors import InputError
from emulator.spark.classic import java_of


def is_of_this_machine(spark: SparkSession, uri: str) -> bool:
    """Whether an address is a path of this machine, as Hadoop's settings have it, which say what an address without scheme is."""
    if "://" in uri or uri.startswith("file:"):
        return uri.startswith("file:") and (uri.startswith("file:///") or "://" not in uri)
    return str(java_of(spark).hadoop_conf.get("fs.defaultFS", "file:///")).startswith("file:")


class HadoopFiles:
    """The files under `root_uri`; names are relative to it, parts joined by "/", and "" is the root itself.

    A path without a scheme is local when Hadoop's default file system is, and then relative to this process' working
    directory. Every method raises `OSError` for what the file system refuses; the constructor raises `InputError` for
    an address that Hadoop cannot open.
    """

    def __init__(self, spark: SparkSession, root_uri: str) -> None:
        java = java_of(spark)
        self._classes, hadoop_conf = java.classes, java.hadoop_conf
        # Looked up once: Py4J asks Java for each part of a class' name, as long as it is a package's among all jars of Spark.
        self._hadoop = self._classes.org.apache.hadoop.fs
        self._hadoop_path = self._hadoop.Path
        if not root_uri.strip():
            raise InputError("output folder: the path is empty")
        try:
            path = self._hadoop_path(self._absolute(root_uri, hadoop_conf))
            file_system = path.getFileSystem(hadoop_conf)
            self._root = file_system.makeQualified(path)
        except Py4JJavaError as error:
            raise InputError(f"{root_uri}: cannot be opened: {_reason(error)}") from error
        # The checksum layer renames a file in two steps, which a kill could separate; the plain one renames in one.
        if is_instance_of(java.gateway, file_system, "org.apache.hadoop.fs.ChecksumFileSystem"):
            file_system = file_system.getRawFileSystem()
        self._fs: Any = file_system

    def uri(self, name: str = "") -> str:
        """Returns the full address of a name, as Spark's writers take it."""
        return str(self._path(name).toString())

    def read_uri(self, name: str = "") -> str:
        """Returns the full address of a name for Spark's readers, which would take [ ] { } * ? for patterns."""
        return re.sub(r"([\[\]{}*?\\])", r"\\\1", self.uri(name))

    def exists(self, name: str = "") -> bool:
        """Tells whether there is a file or folder of that name."""
        return bool(self._call("exists", self._path(name)))

    def is_folder(self, name: str = "") -> bool:
        """Tells whether there is a folder of that name."""
        return self.exists(name) and bool(self._call("getFileStatus", self._path(name)).isDirectory())

    def names(self, folder: str = "") -> list[str]:
        """Returns the names directly in a folder, sorted."""
        return sorted(str(status.getPath().getName()) for status in self._call("listStatus", self._path(folder)))

    def sizes(self, folder: str) -> dict[str, int]:
        """Returns the bytes of every file below a folder by name relative to it, checksum files left out."""
        sizes: dict[str, int] = {}
        for status in self._call("listStatus", self._path(folder)):
            name = str(status.getPath().getName())
            if status.isDirectory():
                inner = self.sizes(f"{folder}/{name}")
                sizes |= {f"{name}/{path}": size for path, size in inner.items()}
            elif not name.endswith(".crc"):
                sizes[name] = int(status.getLen())
        return sizes

    def modified_ms(self, name: str) -> int:
        """Returns the time of a file's last change, in milliseconds since 1970."""
        return int(self._call("getFileStatus", self._path(name)).getModificationTime())

    def make_folders(self, name: str = "") -> list[str]:
        """Makes a folder and those above it; returns the full addresses of those that were missing, deepest first."""
        missing = []
        path = self._path(name)
        while path is not None and not self._call("exists", path):
            missing.append(str(path.toString()))
            path = path.getParent()
        if not self._call("mkdirs", self._path(name)):
            raise OSError(f"{self.uri(name)}: cannot be made")
        return missing

    def remove_empty_folders(self, uris: list[str]) -> None:
        """Removes the folders that are empty, in the order given, up to the first that is not."""
        for uri in uris:
            path = self._hadoop_path(uri)
            if self._call("exists", path):
                if len(self._call("listStatus", path)) > 0:
                    return
                self._call("delete", path, False)

    def rename(self, source: str, target: str) -> None:
        """Renames a file or folder; the target must not be there."""
        if self.exists(target):
            raise OSError(f"{self.uri(target)}: is there already")
        if not self._call("rename", self._path(source), self._path(target)):
            raise OSError(f"{self.uri(source)}: cannot be renamed to {self.uri(target)}")

    def delete(self, name: str) -> None:
        """Deletes a file, or a folder and all in it, if it is there."""
        self._call("delete", self._path(name), True)
        if self.exists(name):
            raise OSError(f"{self.uri(name)}: cannot be deleted")

    def read_text(self, name: str) -> str:
        """Returns the text of a file."""
        stream = self._call("open", self._path(name))
        try:
            return str(self._classes.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        except Py4JJavaError as error:
            raise OSError(f"{self.uri(name)}: {_reason(error)}") from error
        finally:
            stream.close()

    def write_text(self, name: str, text: str) -> None:
        """Writes a file so that it is there whole or not at all."""
        self.write_bytes(name, text.encode("utf-8"))

    def write_bytes(self, name: str, content: bytes) -> None:
        """Writes a file so that it is there whole or not at all; folders above it are made."""
        unfinished = f"{name}.tmp"
        stream = self._call("create", self._path(unfinished), True)
        try:
            stream.write(bytearray(content))
            stream.close()
        except Py4JJavaError as error:
            raise OSError(f"{self.uri(name)}: {_reason(error)}") from error
        self.rename(unfinished, name)

    def _absolute(self, uri: str, hadoop_conf: Any) -> str:
        """An address without a scheme, of Hadoop's local files: below Python's working directory, not the JVM's."""
        is_bare = "://" not in uri and not uri.startswith("file:")
        is_local = is_bare and self._hadoop.FileSystem.getDefaultUri(hadoop_conf).getScheme() == "file"
        return str(Path(uri).absolute()) if is_local else uri

    def _path(self, name: str) -> Any:
        return self._hadoop_path(self._root, name) if name else self._root

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self._fs, method)(*arguments)
        except Py4JJavaError as error:
            raise OSError(_reason(error)) from error


def _reason(error: Py4JJavaError) -> str:
    """Returns what a Java exception says, in one line, without its stack."""
    text = str(error.java_exception.getMessage() or error.java_exception.toString())
    return text.splitlines()[0] if text else "unknown reason"
