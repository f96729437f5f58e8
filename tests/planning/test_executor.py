"""Plans under delays: agents enter each cell in the order of the plan, and come to where the plan ends."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

import multigrid
from helpers import crossed
from multigrid import Delays, GridConfig, MultiGridEnv, Outcome
from multigrid.planning import Executor, controller
from worldgen import room, some_walls

ROTATION = {"agents": [[0, 0], [1, 0], [1, 1], [0, 1]], "targets": [[1, 0], [1, 1], [0, 1], [0, 0]]}


def visits(env: MultiGridEnv, policy: Any, layout: Any, most: int) -> tuple[dict[Any, list[int]], list[int]]:
    """Who entered each cell, in order, and all outcomes of an episode, or of so many steps."""
    observations, _ = env.reset(seed=5, options=layout)
    at = [tuple(cell) for cell in env.get_state()["location"].tolist()]
    entered: dict[Any, list[int]] = {cell: [index] for index, cell in enumerate(at)}
    outcomes = []
    for _ in range(most):
        if not env.agents:
            break
        observations, *_, infos = env.step(policy(env, observations))
        outcomes += [info["outcome"] for info in infos.values()]
        for index, cell in enumerate(map(tuple, env.get_state()["location"].tolist())):
            if cell != at[index]:
                entered.setdefault(cell, []).append(index)
                at[index] = cell
    return entered, outcomes


def world(collisions: Any, on_target: Any, seed: int, **options: Any) -> GridConfig:
    """A crowded world in which agents can wait."""
    walls = some_walls(7, 5, 0.15, seed)
    rules: dict[str, Any] = {"collisions": collisions, "on_target": on_target, "allow_stay": True}
    return GridConfig(walls=walls, num_agents=min(7, room(walls) // 2), max_cycles=400, **rules | options)


@pytest.mark.parametrize(("collisions", "on_target"), crossed(["symmetric", "soft"], ["stay", "leave", "park"]))
@pytest.mark.parametrize("method", ["lacam", "windowed"])
def test_cells_are_entered_in_the_order_of_the_plan(method: Any, collisions: str, on_target: str) -> None:
    """With delays, each cell is entered by the agents of the plan without delays in its order; nobody collides."""
    for seed in range(3):
        config = world(collisions, on_target, seed)
        planned, _ = visits(MultiGridEnv(config), controller(method), None, 400)
        delayed = MultiGridEnv(dataclasses.replace(config, delays=Delays(0.2, (1, 4))))
        entered, outcomes = visits(delayed, controller(method, keep_order=True), None, 400)
        assert entered == planned
        assert delayed.metrics()["csr"] == 1
        assert Outcome.DELAYED in outcomes
        assert not {Outcome.SWAP, Outcome.CONTESTED, Outcome.EDGE, Outcome.WALL} & set(outcomes)


def test_without_delays_the_plan_is_played_as_it_is() -> None:
    """Where nobody is delayed, the executor's episode is the controller's, step by step."""
    config = world("soft", "stay", 4)
    plain, kept = MultiGridEnv(config), MultiGridEnv(config)
    policies = controller("lacam"), controller("lacam", keep_order=True)
    seen = [env.reset(seed=2)[0] for env in (plain, kept)]
    while plain.agents:
        seen = [env.step(policy(env, one))[0] for env, policy, one in zip((plain, kept), policies, seen, strict=True)]
        assert (plain.state() == kept.state()).all()
    assert not kept.agents


@pytest.mark.parametrize("collisions", ["symmetric", "soft"])
def test_a_rotation_moves_in_one_step(collisions: Any) -> None:
    """Four agents that rotate move together, once none of them is delayed; so the plan ends."""
    rules: dict[str, Any] = {"collisions": collisions, "on_target": "stay", "allow_stay": True}
    env = MultiGridEnv(GridConfig(size=(2, 3), num_agents=4, delays=Delays(0.5), max_cycles=500, **rules))

    def turn(_env: Any, _observations: Any) -> dict[str, int]:
        return {"agent_0": 0, "agent_1": 1, "agent_2": 2, "agent_3": 3}

    for _ in range(5):
        observations, _ = env.reset(options=ROTATION)
        policy = Executor(turn)
        while env.agents:
            observations, *_ = env.step(policy(env, observations))
        assert env.metrics()["csr"] == 1


def test_lists_of_targets_are_visited_in_the_plans_order() -> None:
    """Lifelong plans for lists of targets end where they end without delays; drawn targets are refused."""
    walls = some_walls(6, 5, 0.1, 3)
    random = np.random.default_rng(2)
    cells = np.argwhere(GridConfig(walls=walls, num_agents=1).components[0] == 1)
    layout = {
        "agents": random.permutation(cells)[:5],
        "targets": [random.permutation(cells)[:4].tolist() for _ in range(5)],
    }
    rules: dict[str, Any] = {"on_target": "restart", "collisions": "soft", "allow_stay": True, "max_cycles": None}
    config = GridConfig(walls=walls, num_agents=5, **rules)

    def limited() -> Any:
        plan, left = controller("pibt"), iter(range(40))

        def act(env: Any, observations: Any) -> dict[str, int]:
            return plan(env, observations) if next(left, None) is not None else dict.fromkeys(env.agents, 4)

        return act

    planned, _ = visits(MultiGridEnv(config), limited(), layout, 40)
    delayed = MultiGridEnv(dataclasses.replace(config, delays=Delays(0.2, (1, 4))))
    assert visits(delayed, Executor(limited()), layout, 600)[0] == planned
    drawn = MultiGridEnv(config)
    observations, _ = drawn.reset(seed=0)
    with pytest.raises(ValueError, match="on_target is 'restart': under delays agents arrive in another order"):
        controller("pibt", keep_order=True)(drawn, observations)


def test_another_episode_begins_anew() -> None:
    """One executor plays several episodes and environments, also when somebody else has moved the agents."""
    config = world("soft", "stay", 6, delays=Delays(0.1, (1, 3)))
    env, other, policy = MultiGridEnv(config), MultiGridEnv(config), controller("lacam", keep_order=True)
    for seed, one in enumerate([env, other, env, env]):
        observations, _ = one.reset(seed=seed)
        for step in range(400):
            if not one.agents:
                break
            # In some steps all walk to the right, whatever the plan.
            actions = dict.fromkeys(one.agents, 0) if step in (2, 3) else policy(one, observations)
            observations, *_ = one.step(actions)
        assert one.metrics()["csr"] == 1


@pytest.mark.parametrize(
    "options", [{"collisions": "block_both"}, {"collisions": "none"}, {"allow_stay": False}], ids=str
)
def test_rules_without_following_are_refused(options: Any) -> None:
    """Where agents cannot follow one another, or not wait, an executor says which rules it needs."""
    env = multigrid.parallel_env(**{"num_agents": 2, "collisions": "soft", "allow_stay": True, **options})
    observations, _ = env.reset(seed=0)
    with pytest.raises(ValueError, match=re.escape("expected 'symmetric' or 'soft', under which agents follow")):
        Executor(lambda env, _: dict.fromkeys(env.agents, 0))(env, observations)


def test_what_an_executor_does_not_execute_is_refused() -> None:
    """An executor takes a policy, and plays worlds of path finding, one at a time."""
    with pytest.raises(TypeError, match="controller is None; expected a policy"):
        Executor(None)  # type: ignore[arg-type]
    policy: Any = Executor(lambda env, _: dict.fromkeys(env.agents, 0))
    worlds = multigrid.vector_env(2, allow_stay=True)
    observations, _ = worlds.reset(seed=0)
    with pytest.raises(TypeError, match="env is of type MultiGridVectorEnv; expected what "):
        policy(worlds, observations)
    game = multigrid.parallel_env(game=multigrid.Game, allow_stay=True)
    observations, _ = game.reset(seed=0)
    with pytest.raises(ValueError, match="an Executor finds paths by the rules of path finding; the environment is of"):
        policy(game, observations)
