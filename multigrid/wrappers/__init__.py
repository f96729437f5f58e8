"""Wrappers of environments: those of Gymnasium's GridWorld documentation, and those that learning libraries need."""

from multigrid.wrappers._observations import GoalObservation, PixelObservation
from multigrid.wrappers._potential_reward import PotentialReward, PotentialRewardParallel
from multigrid.wrappers._rewards import DistanceReward, SuccessInfo
from multigrid.wrappers._standard_form import StandardParallel, StandardVector, standard_config
from multigrid.wrappers._vector_records import RecordEpisodeStatistics, RecordVideo
from multigrid.wrappers._vector_reward import VectorReward
from multigrid.wrappers.clip_reward import ClipReward
from multigrid.wrappers.discrete_actions import DiscreteActions
from multigrid.wrappers.reacher_weighted_reward import ReacherRewardWrapper, ReacherWeightedReward
from multigrid.wrappers.relative_position import RelativePosition

__all__ = [
    "ClipReward", "DiscreteActions", "DistanceReward", "GoalObservation", "PixelObservation", "PotentialReward",
    "PotentialRewardParallel", "ReacherRewardWrapper", "ReacherWeightedReward", "RecordEpisodeStatistics",
    "RecordVideo", "RelativePosition", "StandardParallel", "StandardVector", "SuccessInfo", "VectorReward",
    "standard_config",
]  # fmt: skip
