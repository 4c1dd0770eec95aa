"""What a table of Kafka's configuration keys says: whether it may, and what is in force for a topic (keys: config_keys.py)."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.errors import did_you_mean, listing, quoted
from emulator.scenario.config_keys import KEYS, ConfigKey, ConfigValue
from emulator.scenario.throttles import THROTTLED_LISTS, is_throttled_list


def find_problem(key: str, value: object, for_topic: bool, keys: Mapping[str, ConfigKey] | None = None) -> tuple[str, str] | None:
    """Checks one entry of a config table; returns (what is wrong, what is allowed), or None if nothing is.

    `for_topic`: it stands in a topic's config, not in the cluster's or a broker's. `keys`: None for Kafka's.
    """
    keys = KEYS if keys is None else keys
    row = keys.get(key)
    if row is None:
        takes = [name for name, known in keys.items() if known.topic or not for_topic]
        return f"unknown config key {quoted(key)}{did_you_mean(key, takes)}", listing(takes)
    if for_topic and not row.topic:
        if row.setting != key:
            return (
                f"{quoted(key)} is a broker's spelling",
                f"{quoted(row.setting)} here, or {quoted(key)} in cluster.config",
            )
        return f"{quoted(key)} is not a topic's config key", f"{quoted(key)} in cluster.config"
    if type(value) is not row.type or not _in_range(row, value):
        return f"{quoted(value)} is not a value of {quoted(key)}", row.allowed
    return None


def parse_value(key: str, text: str) -> ConfigValue:
    """Parses a value written as a string (as Kafka's tools print it) by the key's type; unknown keys stay strings.

    Raises ValueError when the text is not of the key's type or range.
    """
    row = KEYS.get(key)
    if row is None or row.type is str:
        return text
    if row.type is bool:
        if text.strip().lower() not in ("true", "false"):
            raise ValueError(_refusal(row, text))
        return text.strip().lower() == "true"
    try:
        value = int(text)
    except ValueError:
        raise ValueError(_refusal(row, text)) from None
    if not _in_range(row, value):
        raise ValueError(_refusal(row, text))
    return value


def effective(cluster_config: Mapping[str, ConfigValue], topic_config: Mapping[str, ConfigValue], key: str) -> ConfigValue:
    """Returns the value in force for a topic, in the setting's own unit (`segment.ms` also for `log.roll.hours`).

    The topic's config comes first, then the cluster's: the topic key, then broker spellings, the finer unit first;
    then Kafka's default. Raises KeyError for an unknown key. Source: LogConfig's server defaults in KafkaConfig.
    """
    setting = KEYS[KEYS[key].setting]
    if setting.topic and setting.name in topic_config:
        return topic_config[setting.name]
    if setting.name in cluster_config:
        return cluster_config[setting.name]
    for row in _SPELLINGS.get(setting.name, ()):
        if row.name in cluster_config:
            return _in_setting_unit(row, cluster_config[row.name])
    return setting.default


def decided_by_others(cluster_config: Mapping[str, ConfigValue]) -> dict[str, str]:
    """Keys of a cluster's config of whose setting another spelling in it decides -> that one, by `effective`."""
    found: dict[str, str] = {}
    for setting, rows in _SPELLINGS.items():
        given = [name for name in (setting, *(row.name for row in rows)) if name in cluster_config]
        found |= dict.fromkeys(given[1:], given[0]) if given else {}
    return found


def _refusal(row: ConfigKey, text: str) -> str:
    return f"{quoted(text)} is not a value of {quoted(row.name)}; allowed: {row.allowed}"


def _in_setting_unit(row: ConfigKey, value: ConfigValue) -> ConfigValue:
    if row.factor == 1 or not isinstance(value, int) or value < 0:  # negative: without limit, in any unit
        return value
    return value * row.factor


def _in_range(row: ConfigKey, value: object) -> bool:
    if isinstance(value, int) and row.span is not None:
        return row.span[0] <= value <= row.span[1]
    if row.name in THROTTLED_LISTS:
        return isinstance(value, str) and is_throttled_list(value)
    return row.choices is None or value in row.choices


def _broker_spellings() -> dict[str, list[ConfigKey]]:
    spellings: dict[str, list[ConfigKey]] = {}
    for row in sorted(KEYS.values(), key=lambda row: row.factor):
        if row.setting != row.name:
            spellings.setdefault(row.setting, []).append(row)
    return spellings


_SPELLINGS = _broker_spellings()
