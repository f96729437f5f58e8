"""The editions of the GridWorld of Gymnasium's tutorial: the classes of the package beside the documented ones."""

from typing import Any, NamedTuple

import pytest

from benchmarks.documented import DocumentedGridWorld
from multigrid import GridWorldEnv, RowColumnGridWorldEnv
from multigrid.envs.grid_world_vector import GridWorldVectorEnv, RowColumnGridWorldVectorEnv
from oracle import DocumentedRowColumn, Oracle, RowColumnOracle


class Edition(NamedTuple):
    """An edition; `steps` are those of its actions, and the golden file has episodes of the documents' own code."""

    env_id: str
    env: Any
    vector: Any
    documented: Any
    oracle: Any
    steps: tuple[list[int], ...]
    golden: str

    def action(self, *step: int) -> int:
        """The action of a step."""
        return self.steps.index([*step])


X_Y = Edition(
    "multigrid/GridWorld-v0",
    GridWorldEnv,
    GridWorldVectorEnv,
    DocumentedGridWorld,
    Oracle,
    ([1, 0], [0, 1], [-1, 0], [0, -1]),
    "documented_gridworld.json",
)
ROW_COLUMN = Edition(
    "multigrid/GridWorld-v1",
    RowColumnGridWorldEnv,
    RowColumnGridWorldVectorEnv,
    DocumentedRowColumn,
    RowColumnOracle,
    ([0, 1], [-1, 0], [0, -1], [1, 0]),
    "documented_gridworld_row_column.json",
)
EDITIONS = (X_Y, ROW_COLUMN)
by_edition = pytest.mark.parametrize("edition", EDITIONS, ids=["v0", "v1"])
