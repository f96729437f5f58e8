"""``python -m multigrid`` is ``multigrid``."""

import sys

from multigrid.cli import main

if __name__ == "__main__":
    sys.exit(main())
