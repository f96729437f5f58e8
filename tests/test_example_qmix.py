"""The recipe `multigrid.examples.qmix`: the task is as it is told, and QMIX learns it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import multigrid
from multigrid import Action
from multigrid.examples.qmix import MAP, Agents, Mixer, Replay, Worlds, evaluate, main

NUMBERS = Path(__file__).parents[1] / "docs" / "central" / "curve.json"


def rewards_of(first, second):
    """Play both agents' actions on the recipe's map: the rewards of each step, and whether both arrived."""
    env = multigrid.parallel_env(walls=MAP, reward="shared", allow_stay=True, max_cycles=30)
    env.reset(seed=0)
    told, both = [], False
    for actions in zip(first, second, strict=True):
        _, rewards, terminations, _, _ = env.step(dict(zip(("agent_0", "agent_1"), actions, strict=True)))
        told.append(rewards["agent_0"])
        both = all(terminations.values())
    return told, both


def test_the_short_way_shuts_the_other_out_and_giving_way_does_not() -> None:
    """The short way earns 1/2 and the other never comes by; by the lay-by both arrive in five steps and earn 1."""
    right = [Action.RIGHT] * 29
    told, both = rewards_of(right, right)
    assert (sum(told), told.index(0.5), both) == (0.5, 2, False)
    # On screen y grows downwards: Action.DOWN is up in the picture.
    round_about = [Action.DOWN, Action.RIGHT, Action.RIGHT, Action.UP, Action.RIGHT]
    told, both = rewards_of(round_about, right[:5])
    assert (sum(told), both) == (1.0, True)


def test_agents_see_themselves_alone_and_the_state_all() -> None:
    """An agent's input is its own cell and target; the state has a cell for each agent."""
    worlds = Worlds(2, 3, seed=0)
    look = worlds.look()
    assert look["seen"].shape == (2, 3, 2, 2)
    # Cells are numbered x * 2 + y: a stands on (1, 1) with (4, 1) as its target, b on (0, 1) with (5, 1).
    assert look["seen"][1, 2].tolist() == [[3, 9], [1, 11]]
    assert look["states"][1, 2].tolist() == [3, 1]


def test_the_team_never_loses_by_an_agents_gain() -> None:
    """The mixed value rises with each agent's value in every state, so that each agent's best action is the team's."""
    torch.manual_seed(0)
    mixer = Mixer(3, 12, 2)
    values, state = torch.randn(3, 50, 2), torch.randint(12, (3, 50, 2))
    before = mixer(values, state)
    for agent in range(2):
        more = values.clone()
        more[..., agent] += 1.0
        assert (mixer(more, state) > before).all()


def test_learners_do_not_feel_each_other() -> None:
    """What one learner loses moves no weight of another."""
    agents = Agents(3, 12, 5)
    agents(torch.zeros(3, 4, 2, 2, dtype=torch.int64))[1].square().sum().backward()
    for parameter in agents.parameters():
        assert parameter.grad is not None
        assert not parameter.grad[[0, 2]].any()
    assert agents.layers[0].weight.grad[1].any()


@pytest.mark.parametrize(("terminated", "discount"), [(1.0, 0.0), (0.0, 0.25)])
def test_returns_end_with_the_episode(terminated, discount) -> None:
    """An n-step return stops with its episode: nothing follows an end, and the last state's value a cut."""
    replay = Replay(8, 1, 1, 1)
    for step in range(5):
        replay.add(
            seen=torch.full((1, 1, 1, 2), step),
            states=torch.full((1, 1, 1), step),
            actions=torch.zeros(1, 1, 1, dtype=torch.int64),
            rewards=torch.full((1, 1, 1), 10.0**step),
            terminated=torch.full((1, 1), terminated * (step == 1)),
            ended=torch.full((1, 1), step == 1),
            played=torch.ones(1, 1),
        )
    torch.manual_seed(0)
    now, returns, discounts, later = replay.sample(200, 3, 0.5)
    drawn = {
        (
            int(replay.states[now][0, i, 0]),
            float(returns[0, i, 0]),
            float(discounts[0, i]),
            int(replay.states[later][0, i, 0]),
        )
        for i in range(200)
    }
    # Steps 0 and 1 are of an episode that ends with step 1; the observation after it is kept with step 2.
    assert drawn == {(0, 1 + 5.0, discount, 2), (1, 10.0, 2 * discount, 2)}


def test_qmix_learns_to_give_way_and_independent_learners_do_not() -> None:
    """With equal nets, rewards and steps both agents of most QMIX learners arrive, and of no independent one."""
    central = main(steps=1500, learners=3, verbose=False, checks=1)
    assert not central["before"].any()
    assert central["after"].mean() > 0.5
    assert (evaluate(central["agents"], 3, seed=77) == central["after"]).all()
    assert not main("iql", steps=1500, learners=1, verbose=False, checks=1)["after"].any()


def test_the_same_seed_learns_the_same() -> None:
    """Two runs of one seed end with the same nets, bit for bit."""
    runs = [main(steps=60, learners=2, worlds=4, seed=5, checks=1, verbose=False)["agents"] for _ in range(2)]
    for one, other in zip(*(run.parameters() for run in runs), strict=True):
        assert torch.equal(one, other)


def test_an_unknown_method_is_refused() -> None:
    """Another method is an error that names those there are."""
    with pytest.raises(ValueError, match="method is 'coma'; expected one of qmix, vdn, iql"):
        main("coma")


def test_the_committed_curves_say_what_the_text_says() -> None:
    """In the figure's numbers QMIX ends with both arriving in most seeds, and independent learners in none."""
    told = {name: np.array(curve["success"])[-1] for name, curve in json.loads(NUMBERS.read_text()).items()}
    assert {name: len(success) for name, success in told.items()} == dict.fromkeys(told, 6)
    for name, success in told.items():
        if name.startswith("QMIX"):
            assert success.mean() > 0.5
        if name.startswith("independent"):
            assert not success.any()
