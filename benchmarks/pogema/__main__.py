"""Start the command: `benchmarks.pogema.command`, from which processes that play import what they need."""

import sys

from benchmarks.pogema.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
