"""`emulator run` for spark-submit: the same flags, the same code.

    spark-submit [--master URL] [...] jobs/emulate.py SCENARIO.toml --out DIR [...]

The session is the one spark-submit starts.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if (ROOT / "emulator").is_dir():  # in a copy alone, as in cluster mode, the packages come by --py-files
    sys.path.insert(0, str(ROOT))

from emulator.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
