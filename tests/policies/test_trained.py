"""`policies.load`: what `multigrid train` has trained, as a policy; tests/cli/test_hostile_models.py has more."""

import copy
import dataclasses
import json
import pickle
import re

import numpy as np
import pytest

import multigrid
from helpers import run_python
from multigrid.cli import main
from multigrid.evaluation._playing import play
from multigrid.policies import load
from own_game import KeyAndDoor

pytestmark = pytest.mark.heavy

TINY = "--steps 64 --copies 2 --rollout 8 --batch-size 16 --epochs 1 --hidden 8 --episodes 2 --evaluations 2 "
WORLD = "--size 5 4 --num-agents 3 --observe agent target view --view-radius 1 --max-cycles 12 --on-target leave "


def train(folder, flags):
    """The folder of a short training, without films."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("multigrid.cli._train_sb3.write_films", lambda *_, **__: None)
        assert main(["train", *(TINY + flags).split(), "--folder", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module", params=["", "--recurrent"])
def folder(request, tmp_path_factory):
    """The folder of a training of three agents that leave, with flat observations, to be played and not changed."""
    return train(tmp_path_factory.mktemp("trained") / "run", f"{WORLD} --flatten --allow-stay {request.param}")


def test_it_is_measured_as_by_the_command(folder, capsys):
    """Its world has the flags of the training, and `seeded` gives the episodes of `multigrid evaluate`."""
    policy = load(folder)
    assert (policy.config.flatten, policy.config.on_target, policy.config.num_agents) == (True, "leave", 3)
    capsys.readouterr()
    assert main(["evaluate", str(folder), "--episodes", "9", "--json"]) == 0
    (world,) = json.loads(capsys.readouterr().out)["worlds"]
    mine = multigrid.evaluate(policy.config, policy.seeded, range(9), per_episode=True)
    assert {name: one["mean"] for name, one in world["metrics"][str(folder)].items()} == {
        name: None if np.isnan(mine[name].mean) else mine[name].mean for name in world["metrics"][str(folder)]
    }


def test_it_draws_from_its_own_stream(folder):
    """Equal seeds give equal actions, a generator goes on, and the streams of torch and of NumPy are left alone."""
    before = copy.deepcopy(np.random.get_state()[1].tolist())  # noqa: NPY002 - the stream in question
    config = load(folder).config
    episodes = [
        [actions for actions, _ in play(multigrid.parallel_env(config), load(folder, seed=seed), seed=1)]
        for seed in (4, 4, np.random.default_rng([4, 2]), 5)
    ]
    assert episodes[0] == episodes[1] == episodes[2] != episodes[3]
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002 - as above


def test_it_plays_many_worlds(folder):
    """`act` is a policy of a vector env: in one world it chooses as the policy does, from the same stream."""
    policy, other = load(folder), load(folder)
    # Under *leave*, rows of agents that have left take draws of their own.
    config = dataclasses.replace(policy.config, on_target="stay")
    envs = multigrid.vector_env(1, config=config)
    rows, _ = envs.reset(seed=3)
    for actions, step in play(multigrid.parallel_env(config), policy, seed=3):
        if actions is not None:
            chosen = other.act(envs, rows)
            assert (chosen.dtype, chosen.tolist()) == (np.int64, list(actions.values()))
            rows = envs.step(chosen)[0]
        assert np.array_equal(rows, list(step.observations.values()))
    with pytest.raises(
        ValueError, match=r"agents observe \{'agent': .* make the environment with the attribute config"
    ):
        other.act(multigrid.vector_env(2, num_agents=3), {})


def test_it_can_be_pickled_in_mid_episode(folder):
    """A copy goes on where it was."""
    policy = load(folder)
    env = multigrid.parallel_env(policy.config)
    observations, _ = env.reset(seed=2)
    env.step(policy(env, observations))
    again = pickle.loads(pickle.dumps(policy))
    assert policy(env, observations) == again(env, observations)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        (
            {"flatten": False},
            r"agents observe \{'agent': \(2,\).*trained to observe \{'': \(\d+,\)\}; make ",
        ),
        ({"view_radius": 2}, r"agents observe .* trained to observe"),
        ({"allow_stay": False}, r"have the actions Discrete\(4\).* trained with Discrete\(5\); .* allow_stay"),
    ],
)
def test_a_world_that_does_not_fit_is_refused(fields, complaint, folder):
    """Agents that observe something else than in the training, or cannot do all of its actions, are refused."""
    policy = load(folder)
    with pytest.raises(ValueError, match=complaint) as refused:
        multigrid.evaluate(dataclasses.replace(policy.config, **fields), policy, [0])
    assert len(str(refused.value)) <= 600


def test_more_actions_do_no_harm(tmp_path):
    """A model that was trained without the action stay plays where agents can stay."""
    policy = load(train(tmp_path / "run", WORLD))
    config = dataclasses.replace(policy.config, allow_stay=True)
    assert len(multigrid.evaluate(config, policy, range(3)).episodes) == 3


def test_a_game_is_passed_or_registered(tmp_path, monkeypatch):
    """A run names its game, which has to be passed or registered; so has `find_world`, which says the same."""
    monkeypatch.setattr("multigrid.games._registry._GAMES", {})
    multigrid.register("Door-v0", KeyAndDoor, num_agents=2, size=(4, 3), max_cycles=9, penalty=0.5)
    run = train(tmp_path / "run", "--game Door-v0")
    assert load(run).config.options["penalty"] == 0.5
    multigrid.scenarios.find_world(run)
    monkeypatch.setattr("multigrid.games._registry._GAMES", {})
    for read in (load, multigrid.scenarios.find_world):
        with pytest.raises(ValueError, match="of the game 'KeyAndDoor'; pass game=KeyAndDoor, or register it"):
            read(run)
    policy = load(run, game=KeyAndDoor)
    assert policy.config.options == multigrid.scenarios.find_world(run, game=KeyAndDoor).options == {"penalty": 0.5}
    assert multigrid.evaluate(policy.config, policy, range(3))["return"].mean <= 5


@pytest.mark.parametrize(
    ("kind", "arguments", "complaint"),
    [
        (
            FileNotFoundError,
            ("runs/none",),
            "runs/none is not a folder; expected the folder of a run of `multigrid",
        ),
        (FileNotFoundError, (".",), r"\. has no config\.json and no model\.zip in it; .* that has ended"),
        (TypeError, (3,), "expected str, bytes or os.PathLike object, not int"),
        (TypeError, (".", {"game": 3}), r"game is 3 of type int; expected a subclass of multigrid\.Game"),
    ],
)
def test_what_is_no_run_is_refused(kind, arguments, complaint, tmp_path, monkeypatch):
    """A folder without a model, and arguments of other types, are named."""
    monkeypatch.chdir(tmp_path)
    where, keywords = arguments[0], dict(*arguments[1:])
    with pytest.raises(kind, match=complaint):
        load(where, **keywords)


@pytest.mark.parametrize(("kind", "seed"), [(TypeError, 1.5), (TypeError, None), (ValueError, -1)])
def test_what_is_no_seed_is_refused(kind, seed, folder):
    """The seed is an integer of at least 0, or a generator."""
    for make in (lambda: load(folder, seed=seed), lambda: load(folder).seeded(seed)):
        with pytest.raises(kind, match=f"seed is {seed}.* or a numpy Generator"):
            make()


WITHOUT = """
import sys
sys.modules["torch"] = None  # so that importing it fails
import multigrid
multigrid.policies.pretrained()
try:
    multigrid.policies.load({folder!r})
except ModuleNotFoundError as error:
    print(error)
"""


def test_without_torch_it_says_what_to_install(folder):
    """The libraries that train are needed by `load` alone, which names the extra to install."""
    done = run_python("-W", "ignore:Numba is not installed", "-c", WITHOUT.format(folder=str(folder)))
    assert re.fullmatch(r".* needs \w+, which is not installed: pip install .*\[train\]\"\n", done.stdout), done.stderr
