"""Settings of retention and remote storage as partitions have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from emulator.inputs.arrays import prepare, read_block
from emulator.inputs.storage_settings import QUOTA_WINDOW_MS, copy_quota
from emulator.scenario import load_run

LONG_MAX = 2**63 - 1
WITHOUT_LIMITS = f"""
rounds = 10
round_ms = {{}}
[cluster]
brokers = 1
config = {{{{ "remote.log.storage.system.enable" = true, "log.retention.check.interval.ms" = {LONG_MAX},
             "remote.log.manager.task.interval.ms" = {LONG_MAX} }}}}
[remote_storage]
copy_bytes_per_second = {LONG_MAX}
[[topics]]
name = "t"
partitions = 1
replication_factor = 1
config = {{{{ "remote.storage.enable" = true, "retention.ms" = {{}}, "retention.bytes" = {LONG_MAX},
             "local.retention.ms" = {{}} }}}}
""".replace(",\n            ", ",")


@pytest.mark.parametrize("round_ms", [1, 500, QUOTA_WINDOW_MS, 60_000, 86_400_000])
def test_a_quota_times_its_window_is_a_long(round_ms: int) -> None:
    window_ms = max(1, QUOTA_WINDOW_MS // round_ms) * round_ms
    assert copy_quota(LONG_MAX, round_ms) * window_ms <= LONG_MAX
    assert copy_quota(50_000_000, round_ms) == 50_000_000


@pytest.mark.parametrize("round_ms", [1, 500, 86_400_000])
@pytest.mark.parametrize(("local_ms", "expected"), [(-2, -1), (-1, -1), (7_000, 7_000), (LONG_MAX, -1)])
def test_what_is_never_met_can_be_added_to(tmp_path: Path, round_ms: int, local_ms: int, expected: int) -> None:
    (tmp_path / "s.toml").write_text(WITHOUT_LIMITS.format(round_ms, -1 if local_ms == -1 else LONG_MAX, local_ms))
    scenario = load_run(str(tmp_path / "s.toml")).scenarios[0]
    block = read_block(prepare([scenario], {}, True, 60).block(np.arange(1)))
    settings, store = block.inputs.settings[block.state.partitions[0].settings], block.inputs.store[0]

    for name in ("retention_rounds", "retention_bytes", "local_retention_rounds", "local_retention_bytes"):
        limit = int(settings[name])
        if name == "local_retention_rounds" and expected >= 0:
            assert limit == expected // round_ms
        else:
            assert limit == -1 or 2**32 < limit < 2**62, name  # none, or more than any log has, which can be added to
    periods = ("retention_check_ms", "task_ms", "backoff_rounds")
    assert all(settings[name] < 2**62 for name in periods)
    assert store.copy_bytes * 10 < LONG_MAX
