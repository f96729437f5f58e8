"""Two policies as opponents, both ways round."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multigrid.config import GridConfig
from multigrid.evaluation._arena import Arena
from multigrid.evaluation._cross_play import join_members
from multigrid.evaluation._estimates import Estimate, bootstrap
from multigrid.evaluation._matrix import show_estimate
from multigrid.game import describe


def match(config: GridConfig, even: Any, odd: Any, seeds: Iterable[int], *, per_episode: bool = False) -> Match:
    r"""Let two policies play against each other, in two episodes for each seed: the second time with sides changed.

    Each policy plays one team. The team of agent i, 0 or 1, is what the function ``team(i)`` of the game returns, or
    without one 0 for even and 1 for odd numbers.

    Args:
        config: the world, of at least two agents.
        even: the policy that plays team 0 first; see `multigrid.evaluate`.
        odd: the policy that plays team 1 first.
        seeds: K integers of at least 0.
        per_episode: whether the policies are functions of an episode's seed that return the policy.

    Raises:
        TypeError: an argument of the wrong type.
        ValueError: a team is empty, there are no seeds, `max_cycles` is None, or a policy returns too few actions.

    >>> config = GridConfig(walls="a..A\nb..B", max_cycles=3, on_target="leave")
    >>> right, left = (lambda env, _, action=action: dict.fromkeys(env.agents, action) for action in (0, 2))
    >>> result = match(config, right, left, seeds=range(8))
    >>> result.even.mean, result.odd.mean, result.win_rate.mean
    (1.0, 0.0, 1.0)
    """
    arena = Arena(config, seeds, None, per_episode=per_episode)
    agents = arena.config.agents
    find_team = describe(config.game).plain.get("team") if config.game is not None else None
    teams = np.array([i % 2 if find_team is None else find_team(i) for i in range(len(agents))])
    if sorted(set(teams.tolist())) != [0, 1]:
        raise ValueError(f"the teams of the agents are {teams.tolist()}; expected 0 and 1, at least one agent of each")
    arena.check({"even": even, "odd": odd})
    returns = []
    for way, (first, second) in enumerate(((even, odd), (odd, even))):
        members = {agent: (first, second)[side] for agent, side in zip(agents, teams.tolist(), strict=True)}
        by_agent = arena.play(join_members(arena, members))
        by_team = [by_agent[:, teams == side].sum(axis=1) for side in (0, 1)]
        returns.append(by_team[::-1] if way else by_team)
    return Match(arena.seeds, np.moveaxis(np.array(returns), 1, 0))


class Match:
    """What `match` returns; intervals are over seeds, whose two episodes count as one.

    Attributes:
        seeds: the K seeds.
        episodes: float64 (2, 2, K): the team's returns of the policies `even` and `odd`, first as said, then with sides
            changed.
    """

    def __init__(self, seeds: tuple[int, ...], episodes: NDArray[np.float64]) -> None:
        self.seeds, self.episodes = seeds, episodes

    @property
    def even(self) -> Estimate:
        """The mean return of the team that the policy `even` plays."""
        return bootstrap(self.episodes[0].mean(axis=0))

    @property
    def odd(self) -> Estimate:
        """The mean return of the team that the policy `odd` plays."""
        return bootstrap(self.episodes[1].mean(axis=0))

    @property
    def difference(self) -> Estimate:
        """The mean of `even` minus that of `odd`."""
        return bootstrap((self.episodes[0] - self.episodes[1]).mean(axis=0))

    @property
    def win_rate(self) -> Estimate:
        """The share of episodes in which `even` has the higher return; equal ones count half."""
        return bootstrap((np.sign(self.episodes[0] - self.episodes[1]) / 2 + 0.5).mean(axis=0))

    def __str__(self) -> str:
        names = ("even", "odd", "difference", "win_rate")
        return "\n".join(f"{name.replace('_', ' '):<11} {show_estimate(getattr(self, name), 2)}" for name in names)
