"""Train the network of `multigrid.policies.pretrained`.

pip install "multigrid-marl[train]"
python -m tools.pretraining --help
"""

import sys

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("torch", "tyro", text=__doc__)
    # Not above: torch takes seconds to import, and the process that produces labels imports this file.
    from tools.pretraining.command import main

    sys.exit(main(sys.argv[1:]))
