"""Worlds for HARL: its vector environment on the native one, and a launcher.

HARL is a checkout, not a package. With a checkout in the folder ``HARL``:

``python -m multigrid.integrations.harl HARL --algo mappo --map_name delivery-17x13-8 --num_env_steps 400000``

trains, and evaluates on held-out episodes before, during and after. The flags are ``--algo``, ``--exp_name``,
``--map_name`` (a file, a name of the suite, or GENERATOR:KEY=VALUE,...), the fields of `multigrid.GridConfig`,
``--state_type``, ``--greedy_evaluation`` and the settings in HARL's file for the algorithm. No file of the checkout is
changed; what the launcher replaces at run time, `add_to_harl` says.

- ``--state_type EP`` (default): HARL's critic learns from the reward of the first agent alone, so all agents get the
  mean of the rewards.
- ``--state_type FP``: each agent learns from its own reward, with a value of its own; the critic's input is the state
  and the agent's observation. MAPPO and HAPPO.

An agent that has left, or is parked on its target, is "done" before its world is: its actions are ignored, and HARL's
active masks leave them out of the loss.

Evaluation: HARL counts the first ``eval_episodes`` that end, of which short ones are more likely; here each of as many
worlds plays one episode, the same ones each time. On-policy algorithms sample their actions in it, for two agents that
block each other would repeat their most probable ones for ever; ``--greedy_evaluation True`` takes these, as HARL does.

``--gamma 0.95`` learns faster than HARL's 0.99: HARL leaves steps that a time limit cuts off out of the critic's
targets, so that nothing but `gamma` lowers the value of walking on.

Tried with HARL's commit d539bad, whose code needs a Python before 3.13.
"""

from multigrid.integrations.harl.launcher import add_to_harl, main
from multigrid.integrations.harl.vector import MultiGridShareVecEnv

__all__ = ["MultiGridShareVecEnv", "add_to_harl", "main"]
