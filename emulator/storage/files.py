"""The files under an output folder, by what the session offers."""

from __future__ import annotations

from typing import Protocol

from pyspark.sql import SparkSession

from emulator.arrow.files import ArrowFiles
from emulator.session import is_connect


class Files(Protocol):
    """The files under one root; names are relative to it, parts joined by "/", and "" is the root itself.

    A full address stands for itself where a name is asked for. Every method raises `OSError` for what the file system refuses.
    """

    def uri(self, name: str = "") -> str:
        """Returns the full address of a name, as Spark's writers take it."""

    def read_uri(self, name: str = "") -> str:
        """Returns the full address of a name for Spark's readers, which would take [ ] { } * ? for patterns."""

    def exists(self, name: str = "") -> bool:
        """Tells whether there is a file or folder of that name."""

    def is_folder(self, name: str = "") -> bool:
        """Tells whether there is a folder of that name."""

    def names(self, folder: str = "") -> list[str]:
        """Returns the names directly in a folder, sorted."""

    def sizes(self, folder: str) -> dict[str, int]:
        """Returns the bytes of every file below a folder by name relative to it, checksum files left out."""

    def modified_ms(self, name: str) -> int:
        """Returns the time of a file's last change, in milliseconds since 1970."""

    def make_folders(self, name: str = "") -> list[str]:
        """Makes a folder and those above it; returns the full addresses of those that were missing, deepest first."""

    def remove_empty_folders(self, uris: list[str]) -> None:
        """Removes the folders that are empty, in the order given, up to the first that is not."""

    def rename(self, source: str, target: str) -> None:
        """Renames a file or folder; the target must not be there."""

    def delete(self, name: str) -> None:
        """Deletes a file, or a folder and all in it, if it is there."""

    def read_text(self, name: str) -> str:
        """Returns the text of a file."""

    def write_text(self, name: str, text: str) -> None:
        """Writes a file so that it is there whole or not at all."""

    def write_bytes(self, name: str, content: bytes) -> None:
        """Writes a file so that it is there whole or not at all; folders above it are made."""


def files_of(spark: SparkSession, root_uri: str) -> Files:
    """The files under `root_uri`: by Hadoop's Java API where the session has a JVM, else by pyarrow's file systems.

    Those of this machine by pyarrow, too: for each file and folder that it makes, Hadoop starts a process that sets permissions,
    which is most of what a small run costs. Raises `InputError` for an address that cannot be opened.
    """
    if is_connect(spark):
        return ArrowFiles(root_uri)
    from emulator.storage.hadoop_files import HadoopFiles, is_of_this_machine

    return ArrowFiles(root_uri) if is_of_this_machine(spark, root_uri) else HadoopFiles(spark, root_uri)
