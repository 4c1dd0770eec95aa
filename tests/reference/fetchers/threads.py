"""Which thread of a follower broker fetches a partition."""

from __future__ import annotations

INT_MIN = -(2**31)


def as_java_int(number: int) -> int:
    """The number as 32 bits with a sign have it, after any overflow."""
    return (number - INT_MIN) % 2**32 + INT_MIN


def string_hash(text: str) -> int:
    """java.lang.String.hashCode: s[0] * 31^(n-1) + ... + s[n-1] in 32 bits; of names of topics, which are ASCII."""
    found = 0
    for letter in text:
        found = as_java_int(31 * found + ord(letter))
    return found


def kafka_abs(number: int) -> int:
    """org.apache.kafka.common.utils.Utils.abs: of the least int, which has no positive one, it is 0."""
    return 0 if number == INT_MIN else abs(number)


def fetcher_id(topic: str, number: int, fetchers: int) -> int:
    """AbstractFetcherManager.getFetcherId: the thread, of those to the partition's leader, that fetches it."""
    return kafka_abs(as_java_int(31 * string_hash(topic) + number)) % fetchers
