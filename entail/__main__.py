"""``python -m entail`` is the command line."""

import sys

from entail.cli import main

if __name__ == "__main__":
    sys.exit(main())
