"""Reading of text files that come from elsewhere: whole files into lines, numbers out of words."""

from __future__ import annotations

from emulator.errors import InputError

TopicPartition = tuple[str, int]

MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1

_MAX_TOPIC_NAME_LENGTH = 249
_TOPIC_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def read_text(path: str, allowed: str) -> str:
    """Reads a whole UTF-8 text file, a byte order mark dropped and line ends made LF.

    Raises:
        InputError: missing, unreadable, empty, or not text; `allowed` says what the file should be.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise InputError.at(path, "file", f"cannot be read ({error.strerror})", allowed) from None
    zero_byte_at = data.find(b"\0")
    if zero_byte_at >= 0:
        raise InputError.at(path, f"byte {zero_byte_at}", "is a zero byte, so this is not a text file", allowed)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError.at(path, f"byte {error.start}", "is not UTF-8 text", allowed) from None
    if not text.strip():
        raise InputError.at(path, "file", "is empty", allowed)
    return text.replace("\r\n", "\n") if "\r" in text else text


def read_lines(path: str, allowed: str) -> list[str]:
    """Reads a text file as lines, without line ends and without the empty lines at its end; errors as `read_text`."""
    return read_text(path, allowed).rstrip().split("\n")


def parse_natural(text: str, largest: int) -> int | None:
    """Parses a decimal number from 0 to `largest`; None for anything else (signs, spaces, underscores included)."""
    if len(text) > 19 or not (text.isascii() and text.isdigit()):
        return None
    value = int(text)
    return value if value <= largest else None


def is_topic_name(text: str) -> bool:
    """Says whether Kafka would accept this topic name (source: org.apache.kafka.common.internals.Topic)."""
    return 0 < len(text) <= _MAX_TOPIC_NAME_LENGTH and text not in (".", "..") and _TOPIC_NAME_CHARACTERS.issuperset(text)


def split_topic_partition(name: str) -> TopicPartition | None:
    """Splits "TOPIC-PARTITION" at its last dash; None when it is not of that form (`-delete`, `-future`, `-stray`)."""
    topic, _, number = name.rpartition("-")
    partition = parse_natural(number, MAX_INT32)
    return None if partition is None or not is_topic_name(topic) else (topic, partition)
