"""Train the network of `multigrid.policies.pretrained`.

pip install "multigrid-marl[train]"
python -m tools.pretraining --help
"""

from __future__ import annotations

import sys

from multigrid.integrations.extras import exit_without


def _run() -> int:
    try:
        # Torch takes seconds to import, and is imported only here: the process that produces labels imports this file.
        from tools.pretraining.command import main
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted; nothing has changed\n")
        return 130
    return main(sys.argv[1:])


if __name__ == "__main__":
    exit_without("torch", "tyro", text=__doc__)
    sys.exit(_run())
