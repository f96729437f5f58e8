"""The editions of the GridWorld of Gymnasium's tutorial: the classes of the package beside the documented ones."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from benchmarks.documented import DocumentedGridWorld
from multigrid import GridWorldEnv, RowColumnGridWorldEnv
from multigrid.envs.grid_world_vector import GridWorldVectorEnv, RowColumnGridWorldVectorEnv


class DocumentedRowColumn(DocumentedGridWorld):
    """The documented environment since Gymnasium 1.2.3: other steps, and frames of the cells ``[col, row]``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        steps = np.array([0, 1]), np.array([-1, 0]), np.array([0, -1]), np.array([1, 0])
        self._action_to_direction = dict(enumerate(steps))

    def _render_frame(self) -> Any:
        cells = self._agent_location, self._target_location
        self._agent_location, self._target_location = cells[0][::-1], cells[1][::-1]
        frame = super()._render_frame()
        self._agent_location, self._target_location = cells
        return frame


class Edition(NamedTuple):
    """An edition; `steps` are those of its actions, and the golden file has episodes of the documents' own code."""

    env_id: str
    env: Any
    vector: Any
    documented: Any
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
    ([1, 0], [0, 1], [-1, 0], [0, -1]),
    "documented_gridworld.json",
)
ROW_COLUMN = Edition(
    "multigrid/GridWorld-v1",
    RowColumnGridWorldEnv,
    RowColumnGridWorldVectorEnv,
    DocumentedRowColumn,
    ([0, 1], [-1, 0], [0, -1], [1, 0]),
    "documented_gridworld_row_column.json",
)
EDITIONS = (X_Y, ROW_COLUMN)
by_edition = pytest.mark.parametrize("edition", EDITIONS, ids=["v0", "v1"])
