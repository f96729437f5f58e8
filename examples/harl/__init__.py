"""Worlds for HARL: its vector environment on the native one, and a launcher.

HARL is a checkout, not a package. With a checkout in the folder ``HARL``:

``python -m examples.harl HARL --algo mappo --map_name delivery-17x13-8 --num_env_steps 400000``

trains, and evaluates on held-out episodes before, during and after. The flags are ``--algo``, ``--exp_name``,
``--map_name`` (a file, a name of the suite, GENERATOR:KEY=VALUE,... or the id of a game), the fields of
`multigrid.GridConfig`, ``--state_type``, ``--greedy_evaluation`` and the settings in HARL's file for the algorithm. No
file of the checkout is changed: `add_to_harl` lists what the launcher replaces at run time.

- ``--state_type EP`` (default): HARL's critic learns from the reward of the first agent alone, so all agents get the
  mean of the rewards.
- ``--state_type FP``: each agent learns from its own reward, with a value of its own; the critic's input is the state
  and the agent's observation. MAPPO and HAPPO.

An agent that has left, or is parked on its target, is "done" before its world is: its actions are ignored, and HARL's
active masks leave them out of the loss.

Each evaluation plays the same held-out episodes, one in each of ``eval_episodes`` worlds. Counting the first episodes
to end, as HARL does, would favour short ones. On-policy algorithms sample their actions; ``--greedy_evaluation True``
takes the most probable ones, HARL's default. Two agents that block each other then repeat their actions until the time
limit.

HARL masks time-limit steps out of the critic's targets. With its ``--gamma 0.99`` the critic may therefore value
continuing above arriving; use 0.95.

Tried with HARL's commit d539bad, whose code needs a Python before 3.13.
"""

from examples.harl.launcher import add_to_harl, main
from examples.harl.vector import MultiGridShareVecEnv

__all__ = ["MultiGridShareVecEnv", "add_to_harl", "main"]
