"""The command line, as python -m emulator.cli."""

import sys

from emulator.cli import main

if __name__ == "__main__":
    sys.exit(main())
