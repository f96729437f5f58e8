"""Wrap environments as in Gymnasium's documents on their GridWorld, and as learning libraries take them."""

from multigrid.wrappers.discrete_actions import DiscreteActions
from multigrid.wrappers.observations import GoalObservation, PixelObservation, RelativePosition
from multigrid.wrappers.potential_reward import PotentialReward, PotentialRewardParallel
from multigrid.wrappers.rewards import ClipReward, DistanceReward, ReacherWeightedReward, SuccessInfo
from multigrid.wrappers.standard_form import StandardParallel, StandardVector, standard_config
from multigrid.wrappers.vector_reward import VectorReward

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
    "StandardParallel",
    "StandardVector",
    "SuccessInfo",
    "VectorReward",
    "standard_config",
]
