"""Command line of the laboratory: `python scripts/lab COMMAND --help`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)  # where the package `lab` is
    from lab.commands import main

    sys.exit(main())
