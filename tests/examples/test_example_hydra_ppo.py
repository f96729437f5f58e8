"""The training under Hydra: keys of the command line reach the options and the world."""

import pytest
from hydra import compose, initialize
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from examples import ppo
from examples.hydra_ppo import make_schema
from helpers import run_python
from multigrid import GridConfig

pytestmark = pytest.mark.heavy


def composed(*keys):
    """Return the options that Hydra composes of these keys."""
    ConfigStore.instance().store(name="test_ppo", node=make_schema())
    with initialize(version_base=None):
        return OmegaConf.to_object(compose(config_name="test_ppo", overrides=list(keys)))


@pytest.mark.parametrize(
    ("keys", "fields"),
    [
        ([], {}),
        (["grid.size=8"], {"size": 8}),
        (["grid.size=[8,5]", "grid.num_agents=4"], {"size": (8, 5), "num_agents": 4}),
        (['grid.walls="a.#\n.A."', "grid.on_target=leave"], {"walls": "a.#\n.A.", "on_target": "leave"}),
        (["grid.observe=[agent,view]", "grid.max_cycles=null"], {"observe": ("agent", "view"), "max_cycles": None}),
    ],
)
def test_keys_reach_the_world(keys, fields):
    """A key of the world gives the field its value; a map sets the size and the number of agents."""
    options = composed(*keys)
    assert options.grid == GridConfig(**fields)
    # Without keys of their own, the others are the defaults of `ppo`.
    assert isinstance(options, ppo.Options)
    assert (options.steps, options.save, tuple(options.hidden)) == (300_000, None, (64, 64))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("grid.on_target=lave", r"on_target is 'lave' \(did you mean 'leave'\?\); expected one of"),
        ("grid.view_radius=x", "Error merging override grid.view_radius=x"),
        ("grid.num_agent=3", "Could not override 'grid.num_agent'"),
        ("steps=many", "Error merging override steps=many"),
    ],
)
def test_bad_keys_are_refused(key, message):
    """A value that does not fit, and a key that does not exist, are errors that name them."""
    with pytest.raises(Exception, match=message):
        composed(key)


def test_it_trains(tmp_path):
    """The command trains in the world of its keys, and Hydra writes them down."""
    keys = ["grid.size=[4,3]", "grid.max_cycles=20", "steps=2000", "worlds=8", "episodes=10", "hydra.run.dir=run"]
    result = run_python("-m", "examples.hydra_ppo", *keys, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "10 held-out episodes" in result.stdout
    written = OmegaConf.load(tmp_path / "run" / ".hydra" / "config.yaml")
    assert (written.grid.size, written.steps) == ([4, 3], 2000)
