"""The wrappers of Gymnasium's documents, next to which their GridWorld is introduced, and those of learners' guides."""

from multigrid.wrappers.clip_reward import ClipReward
from multigrid.wrappers.discrete_actions import DiscreteActions
from multigrid.wrappers.distance_reward import DistanceReward
from multigrid.wrappers.goal_observation import GoalObservation
from multigrid.wrappers.pixel_observation import PixelObservation
from multigrid.wrappers.potential_reward import PotentialReward, PotentialRewardParallel
from multigrid.wrappers.reacher_weighted_reward import ReacherWeightedReward
from multigrid.wrappers.relative_position import RelativePosition

__all__ = [
    "ClipReward",
    "DiscreteActions",
    "DistanceReward",
    "GoalObservation",
    "PixelObservation",
    "PotentialReward",
    "PotentialRewardParallel",
    "ReacherWeightedReward",
    "RelativePosition",
]
