"""The wrappers of Gymnasium's documents, next to which their GridWorld is introduced."""

from multigrid.wrappers.clip_reward import ClipReward
from multigrid.wrappers.discrete_actions import DiscreteActions
from multigrid.wrappers.reacher_weighted_reward import ReacherWeightedReward
from multigrid.wrappers.relative_position import RelativePosition

__all__ = ["ClipReward", "DiscreteActions", "ReacherWeightedReward", "RelativePosition"]
