"""The documented GridWorld, written down once more from its description: what the real one is judged by.

It shares no line and no idea with the package: one dictionary of moves, NumPy's own draws, pygame's own drawing.
"""

import hashlib

import numpy as np
from gymnasium.utils import seeding

MOVES = {0: (1, 0), 1: (0, 1), 2: (-1, 0), 3: (0, -1)}


class Oracle:
    """The documented environment in plain lists: ``reset`` and ``step`` return what its arrays hold."""

    def __init__(self, size):
        self.size, self.stream = size, None

    def reset(self, seed=None):
        """Seed if told to, then draw the agent, then a target until it is somewhere else."""
        if seed is not None or self.stream is None:
            self.stream, _ = seeding.np_random(seed)
        self.agent = self._cell()
        self.target = self._cell()
        while self.target == self.agent:
            self.target = self._cell()
        return self._observation(), self._info()

    def step(self, action):
        """Move, and stop at the rim of the grid."""
        self.agent = [min(max(at + by, 0), self.size - 1) for at, by in zip(self.agent, MOVES[action], strict=True)]
        found = self.agent == self.target
        return self._observation(), int(found), found, False, self._info()

    def _cell(self):
        return self.stream.integers(0, self.size, size=2, dtype=int).tolist()

    def _observation(self):
        return {"agent": list(self.agent), "target": list(self.target)}

    def _info(self):
        return {"distance": float(abs(self.agent[0] - self.target[0]) + abs(self.agent[1] - self.target[1]))}

    def frame(self):
        """White, then the red target, then the blue agent, then the lines; 512 x 512, rows first."""
        import pygame

        cell = 512 / self.size
        canvas = pygame.Surface((512, 512))
        canvas.fill((255, 255, 255))
        pygame.draw.rect(canvas, (255, 0, 0), pygame.Rect(cell * np.array(self.target), (cell, cell)))
        pygame.draw.circle(canvas, (0, 0, 255), (np.array(self.agent) + 0.5) * cell, cell / 3)
        for line in range(self.size + 1):
            pygame.draw.line(canvas, 0, (0, cell * line), (512, cell * line), width=3)
            pygame.draw.line(canvas, 0, (cell * line, 0), (cell * line, 512), width=3)
        return np.transpose(pygame.surfarray.array3d(canvas), (1, 0, 2))


def plain(returned):
    """What `reset` or `step` returned, with lists in place of arrays, so that it compares with ==."""
    observation, *rest = returned
    return ({name: array.tolist() for name, array in observation.items()}, *rest)


def digest(frame):
    """SHA-256 of a frame's raw bytes."""
    return hashlib.sha256(np.ascontiguousarray(frame).tobytes()).hexdigest()
