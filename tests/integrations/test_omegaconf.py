"""OmegaConf: `OmegaConf.structured(GridConfig)` is a schema, which files and command lines fill in."""

import dataclasses

import pytest
from omegaconf import OmegaConf
from omegaconf.errors import ConfigTypeError, ReadonlyConfigError

from multigrid import GridConfig


def override(*words):
    """Return the object of the schema with these words of a command line."""
    return OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(GridConfig), OmegaConf.from_cli(list(words))))


def test_the_schema_has_the_fields_and_their_defaults():
    """The schema has every field, in order, with its default, is read-only, and its object is a `GridConfig`."""
    schema = OmegaConf.structured(GridConfig)
    assert list(schema.items()) == [(field.name, field.default) for field in dataclasses.fields(GridConfig)]
    with pytest.raises(ReadonlyConfigError):
        schema.size = 3
    assert OmegaConf.to_object(schema) == GridConfig()


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("size=8", {"size": 8}),
        ("size=[8,5] num_agents=4", {"size": (8, 5), "num_agents": 4}),
        ("walls=a.A", {"walls": "a.A"}),
        (r'walls=["a.A\n","A.a\n"]', {"walls": ["a.A\n", "A.a\n"]}),
        ("collisions=soft on_target=leave", {"collisions": "soft", "on_target": "leave"}),
        ("observe=[view,agent] view_radius=3", {"observe": ("view", "agent"), "view_radius": 3}),
        ("flatten=true max_cycles=7", {"flatten": True, "max_cycles": 7}),
        ("max_cycles=null", {"max_cycles": None}),
    ],
)
def test_words_of_a_command_line(words, fields):
    """Words of a command line give the fields their values, as keywords do."""
    assert override(*words.split()) == GridConfig(**fields)


@pytest.mark.parametrize(
    ("word", "error", "message"),
    [
        ("size=big", ConfigTypeError, "size is 'big' of type str; expected the side of a square"),
        ("size=[3]", ConfigTypeError, "size is .* of type list; expected"),
        ("num_agents=26", ValueError, "num_agents is 26, but the grid .* has room for 25"),
        ("on_target=lave", ValueError, r"on_target is 'lave' \(did you mean 'leave'\?\); expected one of"),
        ("observe=[goal]", ValueError, "a part of observe is 'goal'; expected one of"),
        ("walls=ab", ValueError, "agent 'a' has no target"),
        ("max_cycles=0", ValueError, "max_cycles is 0"),
    ],
)
def test_bad_values_are_refused(word, error, message):
    """What OmegaConf's types let through, `GridConfig` refuses with its own message."""
    with pytest.raises(error, match=message):
        override(word)


@dataclasses.dataclass
class Experiment:
    """An experiment of one's own."""

    grid: GridConfig = dataclasses.field(
        default_factory=lambda: GridConfig(size=(7, 4), num_agents=2, observe=("agent",))
    )
    seed: int = 0


def test_configurations_and_dataclasses_around_them():
    """A configuration, and a dataclass with one inside, come back equal; text in a YAML file is a map of lines."""
    config = GridConfig(size=(7, 4), num_agents=3, observe=("agent", "view"), max_cycles=None)
    assert OmegaConf.to_object(OmegaConf.structured(config)) == config
    assert OmegaConf.to_object(OmegaConf.structured(Experiment)) == Experiment()
    file = OmegaConf.create("on_target: leave\nwalls: |\n  a.#\n  .A.\n")
    merged = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(GridConfig), file))
    assert merged == GridConfig(walls="a.#\n.A.", on_target="leave")
