"""Worlds for EPyMARL: ids for its wrapper ``gymma``, an environment with masks and the true state, and a launcher.

EPyMARL is a checkout, not a package. With a checkout in the folder ``epymarl``:

``python -m examples.epymarl epymarl --config=mappo with env_args.key=delivery-17x13-8``

runs its ``src/main.py`` with the environment "multigrid", which is a `MaskedEnv`; what follows the folder is for
EPyMARL. ``env_args.key`` is a file, a name of the suite, GENERATOR:KEY=VALUE,... or the id of a game, and further
``env_args`` are fields of `multigrid.GridConfig`, or options of the game. No file of the checkout is changed: see the
comments in `launcher.main` for its changes at run time.

Without masks and state, EPyMARL's own wrapper takes the ids of this module, which are registered when Gymnasium imports
it for a key of the form ``module:id``: one for each scenario of the suite, such as
``env_args.key=examples.epymarl:multigrid-delivery-17x13-8-v0``, and ``multigrid-v0``, whose
``env_args.map_name`` is as the key above. ``gymma`` reports its own time limit as termination, so
``env_args.time_limit`` has to be the world's `max_cycles`; the launcher sets it.

In both, the metrics of an episode (``csr``, ``isr``, ``sum_of_costs``, ``makespan``, and ``throughput`` under
"restart") are in the info of its last step, and EPyMARL logs their means as ``csr_mean`` and ``test_csr_mean``.

Tried with EPyMARL's commit cbc38c0.
"""

from __future__ import annotations

import gymnasium

from examples.epymarl.launcher import main
from examples.epymarl.worlds import MaskedEnv, TupleEnv
from multigrid.scenarios import names

__all__ = ["MaskedEnv", "TupleEnv", "main", "register_ids"]


def register_ids() -> None:
    """Register ``multigrid-v0`` and an id for each scenario of the suite with Gymnasium, unless they are registered.

    >>> gymnasium.make("examples.epymarl:multigrid-warehouse-9x7-2-v0").unwrapped.n_agents
    2
    """
    entry_point = "examples.epymarl.worlds:TupleEnv"
    # Gymnasium's checker expects one number as the reward.
    if "multigrid-v0" not in gymnasium.registry:
        gymnasium.register("multigrid-v0", entry_point, disable_env_checker=True)
        for name in names():
            kwargs = {"map_name": name}
            gymnasium.register(f"multigrid-{name}-v0", entry_point, disable_env_checker=True, kwargs=kwargs)


register_ids()
