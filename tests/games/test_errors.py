"""Mistakes in a game are one short message when the environment is made, which names the function and the line."""

import dataclasses
import enum
import inspect
import math
import os
import random
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from gymnasium import spaces
from numpy.typing import NDArray
from sample_games import NOBODY, Hop, KeyAndDoor

import multigrid
from multigrid import Game, PartSpec, games
from multigrid.runtime.compiled import JUST_IN_TIME

try:
    from numba import njit
except ImportError:  # Python runs games

    def njit(function: Any) -> Any:
        """Return a function as it is."""
        return function


CASES: list[tuple[str, Any, str | None]] = []
STRINGS: list[str] = []
NUMBERS = {1, 2}
TABLE = np.zeros(3)
GENERATOR = np.random.default_rng(0)
CHANCES = (partial(random.Random(0).randint, 0, 3), math.sqrt)  # noqa: S311
draw = np.random.random
count = 0


class Ice(enum.Enum):
    """A class that Numba does not know."""

    THIN = [1]


class Plain:
    """Another one."""

    THICK = 3


class Luck:
    """A class with a generator of random numbers."""

    generator = random.Random(0)  # noqa: S311


class Small(Game):
    """What the mistakes are made in: a game of few functions, for each is compiled for each mistake."""

    actions = ("pick_up",)
    options = {"penalty": 0.01}
    parts = {"has_key": KeyAndDoor.parts["has_key"]}
    State = KeyAndDoor.State
    write_has_key = KeyAndDoor.write_has_key


def refused(name: str, message: str, interpreted: str | None = "") -> Callable[[Any], Any]:
    """Add a function that a game cannot have under a name, and what the error says.

    `interpreted` is what it says where Python runs games, if that is something else, or None for no error.
    """

    def add(function: Any) -> Any:
        CASES.append((name, function, message if JUST_IN_TIME or interpreted == "" else interpreted))
        return function

    return add


@refused("begin", "s has no 'carier'; expected 'carrier'")
def misspelt_own_array(w, s, e):
    s.carier[e] = 1


@refused("after_moves", "w has no 'rewads'; expected 'rewards'")
def misspelt_array(w, s, e):
    w.rewads[e, 0] = 1


@refused("after_moves", "s has no 'qqq'; it has carrier, door, has_key_part, key, ")
def unknown_array(w, s, e):
    s.qqq[e] = 1


@refused("may_enter", "may_enter returns nothing; expected a bool")
def no_answer(w, s, e, i, x, y):
    s.carrier[e] = 1


@refused("may_enter", "may_enter returns a value of type float64; expected a bool", "returns a number; expected a bool")
def a_number_for_an_answer(w, s, e, i, x, y):
    return 0.5


@refused("begin", "begin returns a number; expected nothing")
def an_answer_to_nothing(w, s, e):
    return 3


@refused("request", "request returns a number; expected two integers")
def one_coordinate(w, s, e, i):
    return 3


@refused("metric_visits", "metric_visits returns nothing; expected a number")
def no_metric(w, s, e):
    pass


@refused("begin", "setitem(array(int64, 1d, C), int64, Literal[str](x))", "ValueError: invalid")
def a_string(w, s, e):
    s.carrier[e] = "x"


@refused("begin", "setitem(array(int64, 1d, C), int64, list(int64)", "Error: ")
def a_list(w, s, e):
    s.carrier[e] = [1, 2]


@refused("begin", "name 'undefined_name' is not defined")
def undefined(w, s, e):
    s.carrier[e] = 1
    undefined_name(3)  # noqa: F821 - here


@refused("begin", "module 'multigrid.games' has no attribute 'draw_intger'")
def a_misspelt_function(w, s, e):
    s.carrier[e] = 1
    games.draw_intger(w, e, 0, 3)  # here


@refused("begin", "it cannot use multigrid.GridConfig, a class; above the game, write what it needs", "Error: ")
def a_class_of_a_module(w, s, e):
    s.carrier[e] = multigrid.GridConfig.unknown


@refused("begin", "it cannot use math.dist, which Numba does not know; write it out", None)
def a_function_that_numba_does_not_know(w, s, e):
    s.carrier[e] = math.dist((0, 0), (1, 1))


@refused("begin", "it cannot use 'recurse', which calls itself; use a loop", None)
def a_recursive_helper(w, s, e):
    s.carrier[e] = recurse(3)


def recurse(n):
    return 1 if n < 1 else n * recurse(n - 1)


@refused("begin", "cannot use 'NUMBERS', of type set; use numbers, tuples, NumPy arrays and functions")
def a_global_set(w, s, e):
    s.carrier[e] = e in NUMBERS


def close_over():
    def inner(e):
        return e

    def a_helper_in_a_closure(w, s, e):
        s.carrier[e] = inner(e)  # here

    return a_helper_in_a_closure


refused("begin", "it cannot use 'inner', a function inside another one; define it outside", None)(close_over())


@refused("begin", "a call does not fit the arguments (w, e): missing a required argument: 'e'", "missing 1 required")
def a_call_without_an_argument(w, s, e):
    helper(w)


@refused("begin", "w has no 'reward'; expected 'rewards'")
def a_new_array(w, s, e):
    w.reward = 1


@refused(
    "may_enter", "may_enter returns a bool or nothing; expected a bool", "may_enter returns nothing; expected a bool"
)
def an_answer_to_some(w, s, e, i, x, y):
    if x > 1:
        return True
    return None


@refused("begin", "UnboundLocalError: ")
def a_variable_that_is_never_set(w, s, e):
    if e > 5:
        last = 1
    s.carrier[e] = last  # here


@refused("begin", "reads 'os.getpid', which the seed does not determine; random numbers come from games.draw_integer, ")
def a_python_module(w, s, e):
    os.getpid()


@refused("begin", "reads 'open', which the seed does not determine")
def a_file(w, s, e):
    with open("x") as file:  # noqa: F841, PTH123
        pass


@refused("begin", "s.carrier cannot be replaced; write into the array, s.carrier[e] = ...")
def an_array_is_replaced(w, s, e):
    s.carrier = 1


@refused("begin", "s.penalty is an option, which stays as it is; what changes is an array of State")
def an_option_is_set(w, s, e):
    s.penalty = 1.0


@refused("begin", "cannot use 'STRINGS', of type list; use numbers, tuples, NumPy arrays and functions")
def a_global_list(w, s, e):
    STRINGS.append("x")


@refused("begin", "getitem(array(int64, 2d, C), ", "IndexError: too many indices")
def too_many_indices(w, s, e):
    s.key[e] = s.key[e, 0, 1]


@refused("begin", "format spec in f-strings not supported yet", None)
def a_format(w, s, e):
    print(f"{s.carrier[e]:3d}")  # noqa: T201


@refused("write_has_key", "could not broadcast input array from shape (2,2) into shape (1,)")
def a_part_of_another_shape(w, s, e, i, out):
    out[:] = w.location[e]


def helper(w, e):
    w.locaton[e, 0, 0] = 1


@refused("begin", "w has no 'locaton'; expected 'location'")
def a_mistake_in_a_helper(w, s, e):
    helper(w, e)


@refused("begin", "it cannot use 'Plain', a class; above the game, write what it needs into a constant", None)
def a_class(w, s, e):
    s.carrier[e] = Plain.THICK


@refused("begin", "it cannot use 'Ice', a class; above the game, write what it needs into a constant", None)
def an_enum(w, s, e):
    s.carrier[e] = Ice.THIN.value[0]


@refused("write_has_key", "IndexError: index 3 is out of bounds for axis 0 with size 1")
def a_part_out_of_bounds(w, s, e, i, out):
    out[3] = 5


@refused("after_moves", "IndexError: index 2 is out of bounds for axis 1 with size 2")
def an_agent_too_many(w, s, e):
    w.rewards[e, w.rewards.shape[1]] = 1


@refused("after_moves", "leaves an agent or a target outside the grid, in a wall, or where it cannot move")
def an_agent_outside(w, s, e):
    w.location[e, 0, 0] = -1


@refused("begin", "ValueError: three agents are needed")
def a_game_that_refuses(w, s, e):
    if w.location.shape[1] < 3:
        raise ValueError("three agents are needed")


@refused("write_has_key", "writes into 'carrier', but it may only read")
def a_writer_that_writes(w, s, e, i, out):
    s.carrier[e] = i


@refused("legal", "writes into 'rewards', but it may only read")
def a_mask_that_writes(w, s, e, i, action):
    w.rewards[e, i] += 1
    return True


@refused("metric_visits", "draws a random number, but it may only read")
def a_metric_that_draws(w, s, e):
    return games.draw_float(w, e)


@refused("check", "writes into 'carrier', but it may only read")
def a_check_that_writes(w, s, e):
    s.carrier[e] = NOBODY
    return True


@refused("begin", "writes into 'components', a constant")
def a_wall_is_opened(w, s, e):
    w.components[w.map_index[e], 0, 0] = 0


@refused(
    "begin",
    "it writes into a constant; what changes is an array of State",
    "writes into an array that it may only read",
)
def a_global_array_is_changed(w, s, e):
    TABLE[0] = 1  # here


@refused("begin", "sets 'count', which is outside State; what changes is an array of State")
def a_counter(w, s, e):
    global count  # noqa: PLW0603
    count += 1  # here


@refused("begin", "imports 'time'; import above the class")
def an_import(w, s, e):
    import time  # here

    s.carrier[e] = time.time()


@refused("begin", "reads 'np.random.random', which the seed does not determine; random numbers come from games.draw_")
def a_foreign_draw(w, s, e):
    s.carrier[e] = 3 * np.random.random()  # noqa: NPY002 # here


@refused("after_moves", "reads 'draw', which the seed does not determine")
def a_foreign_draw_by_another_name(w, s, e):
    w.rewards[e, 0] = draw()  # here


@refused("after_moves", "reads 'np.random.rand', which the seed does not determine")
def a_module_by_another_name(w, s, e):
    module = np.random
    w.rewards[e, 0] = module.rand()  # here


@refused("write_has_key", "reads 'random.random', which the seed does not determine")
def a_foreign_draw_for_a_part(w, s, e, i, out):
    out[0] = 2 * random.random()  # noqa: S311 # here


@refused("metric_visits", "reads 'GENERATOR', which the seed does not determine")
def a_generator(w, s, e):
    return GENERATOR.random()  # here


@refused("legal", "reads 'random.random', which the seed does not determine")
def a_foreign_draw_in_a_helper(w, s, e, i, action):
    return flip()


@refused("legal", "reads 'draw', which the seed does not determine")
def a_foreign_draw_in_a_compiled_helper(w, s, e, i, action):
    return flip_compiled()


@refused("check", "reads 'Luck.generator', which the seed does not determine")
def a_generator_of_a_class(w, s, e):
    return Luck.generator.random() > 1  # here


@refused("check", "reads 'CHANCES', which the seed does not determine")
def a_foreign_draw_in_a_tuple(w, s, e):
    return CHANCES[0]() > 1  # here


@refused("begin", "reads 'perf_counter', which the seed does not determine")
def a_clock(w, s, e):
    s.carrier[e] = perf_counter()  # here


@refused("begin", "reads 'os.environ', which the seed does not determine; random numbers come from games.draw_")
def a_variable_of_the_environment(w, s, e):
    s.carrier[e] = len(os.environ)  # here


def flip():
    return random.random() < 0.5  # noqa: S311


@njit
def flip_compiled():
    return draw() < 0.5


@pytest.mark.parametrize(("name", "function", "message"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_what_a_function_does_wrong(name: str, function: Any, message: str | None) -> None:
    """A function's mistake is said in at most five lines, with the game, the function and the line that is wrong."""
    if message is None:
        pytest.skip("only Numba refuses it")
    game = type("Mine", (Small,), {name: function})
    with pytest.raises((TypeError, ValueError)) as error:
        multigrid.parallel_env(game=game, num_agents=2, size=(5, 4))
    text = str(error.value)
    assert message in text
    assert text.startswith(f"Mine.{name} ")
    assert f'File "{__file__}", line ' in text
    for line in inspect.getsource(function).splitlines():
        assert not line.endswith("here") or line.strip() in text
    assert text.count("\n") < 5
    assert all(len(line) < 300 for line in text.splitlines())


def test_a_game_observes_what_its_state_has() -> None:
    """Neither `make_observations` nor `prepare` may draw random numbers, which differ from call to call."""

    def make_observations(c, parts):
        return parts | {"noise": np.random.random(3)}  # noqa: NPY002

    def prepare(c):
        return {"table": GENERATOR.random(3)}

    class Table(NamedTuple):
        table: Annotated[NDArray[np.float64], "3"]

    with pytest.raises(
        ValueError, match=r"Mine\.make_observations reads 'np\.random\.random', which the seed does not"
    ):
        multigrid.parallel_env(game=type("Mine", (Game,), {"make_observations": make_observations}))
    with pytest.raises(ValueError, match=r"Mine\.prepare returns another 'table' when it is called again"):
        multigrid.parallel_env(game=type("Mine", (Game,), {"prepare": prepare, "State": Table}))


class Move(enum.IntEnum):
    """An enum that Numba knows."""

    AHEAD = 3


PRICES = np.array([0.5, 2.0])


@njit
def pay(x):
    return math.sqrt(x) + np.abs(math.pi) + PRICES[1]


class Fair(Game):
    """A game that uses all that a function may; `random` and `choice` are names of its own."""

    class State(NamedTuple):
        random: Annotated[NDArray[np.float64], "E"]
        choice: Annotated[NDArray[np.float64], "E"]

    def after_moves(w, s, e):
        s.random[e] = games.draw_float(w, e) + pay(4.0) + int(Move.AHEAD == 3) + games.DIRECTIONS[0, 0]
        s.choice[e] = sum([k * 0 for k in range(2)]) + np.floor(NUMBER) + sys.maxsize % 7


NUMBER = 2.5


def test_what_a_function_may_read() -> None:
    """Numbers, enums, tables, functions of NumPy and math, and helpers are no sources of other results."""
    env = multigrid.parallel_env(game=Fair, num_agents=2, size=(5, 4))
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, 0))
    assert env.get_state()["choice"] == 2


class Doubled(NamedTuple):
    """A state with a name that the rules have."""

    location: Annotated[NDArray[np.int64], "E 2"]


class Unannotated(NamedTuple):
    """A state whose array says nothing of its shape."""

    door: NDArray[np.int64]


class NoWorlds(NamedTuple):
    """A state whose array is not by world."""

    door: Annotated[NDArray[np.int64], "N 2"]


class UnknownExtent(NamedTuple):
    """A state with an extent that nothing has."""

    door: Annotated[NDArray[np.int64], "E Q"]


class Objects(NamedTuple):
    """A state of Python objects."""

    door: Annotated[NDArray[np.object_], "E"]


class Priced(NamedTuple):
    """A state with a constant."""

    price: Annotated[NDArray[np.uint8], "2"]


class Roomy(NamedTuple):
    """A state with an extent of `prepare`."""

    room: Annotated[NDArray[np.int64], "E F"]


class Halves(NamedTuple):
    """A state of a dtype that Numba does not know."""

    half: Annotated[NDArray[np.float16], "E"]


class Marked(NamedTuple):
    """A state with a mark that there is not."""

    door: Annotated[NDArray[np.int64], "E", []]


class Double(NamedTuple):
    """A state with two marks."""

    door: Annotated[NDArray[np.int64], "E", games.KEPT, games.SCRATCH]


class Parts(NamedTuple):
    """A state with a name that pictures have."""

    parts: Annotated[NDArray[np.int64], "E"]


class Begun(NamedTuple):
    """A state of which each world has its own."""

    door: Annotated[NDArray[np.int64], "E"]


class Shapeless(NamedTuple):
    """A state whose shape is a number."""

    door: Annotated[NDArray[np.int64], 3]


PART = PartSpec(np.uint8, "1", 0, 1, "a part.")


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ({"begin": lambda w, s: None}, ValueError, "begin has the arguments (w, s); expected def begin(w, s, e)"),
        ({"begin": 7}, TypeError, "begin is of type int; expected a function, def begin(w, s, e)"),
        ({"begin": lambda w, s, *, e=0: None}, ValueError, "the arguments (w, s, *, e=0); expected def begin(w, s, e)"),
        (
            {"begin": lambda w, s, e, *, k=0: None},
            ValueError,
            "arguments (w, s, e, *, k=0); expected def begin(w, s, e)",
        ),
        (
            {"begin": lambda w, s, *e: None},
            ValueError,
            "begin has the arguments (w, s, *e); expected def begin(w, s, e)",
        ),
        ({"begin": lambda w, s, e: (yield)}, TypeError, "begin has async or yield; expected a function without them"),
        (
            {"begn": lambda w, s, e: None},
            ValueError,
            " has a function 'begn' (did you mean 'begin'?); expected begin, ",
        ),
        ({"options": {"toll": []}}, TypeError, "options['toll'] is []; expected a bool, an int, a float or a member"),
        ({"moves": False}, ValueError, "moves is False; expected own actions, and a function step or request"),
        ({"moves": 1}, TypeError, "moves is 1; expected True or False"),
        ({"idle": "wait"}, ValueError, "idle is set; expected moves = False"),
        ({"options": {"size": 3}}, ValueError, "options has 'size', which every environment has; choose another name"),
        ({"options": {"a b": 3}}, ValueError, "options has the name 'a b'; expected an identifier"),
        ({"options": ["toll"]}, TypeError, "options is ['toll']; expected a dict"),
        ({"parts": {"agent": PART}}, ValueError, "parts has 'agent', which every game has; choose another name"),
        ({"parts": {"hue": PART}}, ValueError, "no function that writes it; add def write_hue(w, s, e, i, out)"),
        ({"parts": {"hue": 3}}, TypeError, "parts['hue'] is 3; expected a multigrid.PartSpec"),
        ({"actions": "jump"}, TypeError, "actions is 'jump'; expected a tuple of names"),
        ({"actions": ("jump", "jump")}, ValueError, "actions is ('jump', 'jump'); name each action once"),
        ({"actions": ("stay",)}, ValueError, "actions has 'stay', which every game has; choose another name"),
        (
            {"parts": {"hue": PartSpec(np.int64, "1", 0, None, "")}},
            ValueError,
            "high None, which is for cells [x, y], and the shape '1'; expected a shape that ends in 2, or a number",
        ),
        ({"parts": {"hue": PartSpec(np.uint8, "1", None, 1, "")}}, ValueError, "low is None; expected 0 or more, or a"),
        ({"parts": {"hue": PartSpec(np.bool_, "1", 0, 1, "")}}, ValueError, "is of bool; expected integers or floats"),
        ({"parts": {"hue": PartSpec(np.uint8, "1", 0, 300, "")}}, ValueError, "high 300; expected a number that uint8"),
        ({"parts": {"hue": PartSpec(np.int64, "1", 0, "9", "")}}, TypeError, "high '9'; expected a number of int64"),
        ({"parts": {"hue": PartSpec(np.int64, "1", 0.5, 9, "")}}, TypeError, "low 0.5; expected a number of int64"),
        ({"parts": {"hue": PartSpec(np.float32, "1", math.nan, 9, "")}}, ValueError, "low nan; expected a number that"),
        ({"parts": {"hue": PartSpec(np.int64, "1", 9, 0, "")}}, ValueError, "has low 9 and high 0; swap them"),
        ({"parts": {"hue": PartSpec(np.int64, 2, 0, 9, "")}}, TypeError, "has the shape 2; expected a str"),
        ({"parts": {"hue": PartSpec(np.int64, "1", 0, 9, 3)}}, TypeError, "has the meaning 3; expected a str"),
        ({"parts": {"hue": PartSpec(">i4", "1", 0, 9, "")}}, ValueError, "is of >i4; expected integers or floats"),
        ({"parts": {"hue": PartSpec(np.float16, "1", 0, 9, "")}}, ValueError, "is of float16; expected integers or"),
        ({"parts": {"hue": PartSpec("hue", "1", 0, 9, "")}}, TypeError, "has the dtype 'hue'; expected integers or"),
        ({"legal": lambda w, s, e, i, action: True}, ValueError, "legal, which is for own actions; expected names in"),
        ({"options": {"delays": 0.1}}, ValueError, "options has 'delays', which every environment has; choose another"),
        ({"options": {"game_id": 1}}, ValueError, "options has 'game_id', which every environment has; choose another"),
        ({"observation_space": lambda c: 3}, TypeError, "observation_space returns 3; expected a space of Gymnasium"),
        ({"observation_space": lambda c: c.hue}, TypeError, "observation_space: AttributeError: "),
        ({"prepare": lambda c: {}["hue"]}, ValueError, "prepare: KeyError: 'hue'"),
        ({"prepare": lambda c: int("x" * 5000)}, ValueError, "prepare: invalid literal for int() with base 10: 'xxx"),
        ({"prepare": lambda c: {"hue": 3}}, ValueError, "prepare returns 'hue', which neither State nor a shape has"),
        ({"prepare": lambda c: {"hue": [3]}}, ValueError, "prepare returns 'hue', which neither State nor a shape has"),
        ({"prepare": lambda c: {"W": 3}}, ValueError, "prepare returns 'W', which is taken; choose another name"),
        ({"prepare": lambda c: {"maps": 3}}, ValueError, "prepare returns 'maps', which is taken; choose another name"),
        ({"prepare": lambda c: {"toll": 3}, "options": {"toll": 1}}, ValueError, "prepare returns 'toll', which is ta"),
        ({"prepare": lambda c: {3: 3}}, ValueError, "prepare returns 3, expected a str"),
        ({"prepare": lambda c: {"observe": "hue"}}, ValueError, "prepare: a part of observe is 'hue'; expected one of"),
        ({"prepare": lambda c: {"size": "hue"}}, TypeError, "prepare: size is 'hue' of type str; expected the side"),
        ({"prepare": lambda c: {"max_cycles": 0}}, ValueError, "prepare: max_cycles is 0; expected an integer of at"),
        ({"State": Priced, "prepare": lambda c: {"price": [300, 1]}}, ValueError, "300 in price, which uint8 does not"),
        ({"State": Priced, "prepare": lambda c: {"price": [1.7, 1]}}, ValueError, "1.7 in price, which uint8 does not"),
        ({"State": Priced, "prepare": lambda c: {"price": [math.nan, 1]}}, ValueError, "nan in price, which uint8"),
        ({"State": Priced, "prepare": lambda c: {"price": ["a", "b"]}}, ValueError, "expected numbers of shape (2,)"),
        (
            {"State": Priced, "prepare": lambda c: {"price": [[1], [1, 2]]}},
            ValueError,
            "expected numbers of shape (2,)",
        ),
        ({"State": Roomy, "prepare": lambda c: {"F": 10**11}}, ValueError, "State with the parts of Mine takes about"),
        ({"State": Roomy, "prepare": lambda c: {"F": -2}}, ValueError, "F of Mine.prepare is -2; expected an integer"),
        (
            {"State": Roomy, "prepare": lambda c: {"F": True}},
            ValueError,
            "returns 'F', which neither State nor a shape",
        ),
        ({"State": Halves}, ValueError, "State.half is of float16; expected integers, floats or bools"),
        (
            {"State": Marked},
            TypeError,
            "State.door has ('E', []) beside its dtype; expected a shape, 'E ...', and maybe",
        ),
        (
            {"State": Double},
            TypeError,
            "State.door has ('E', ['kept', Scratch(clean=None)]) beside",
        ),
        ({"State": Parts}, ValueError, "State has 'parts', which the rules have; choose another name"),
        (
            {"State": Priced, "options": {"price": "x"}, "prepare": lambda c: {}},
            ValueError,
            "State has 'price', and so have",
        ),
        ({"options": {"agents": "x"}}, ValueError, "options has 'agents', which pictures have; choose another name"),
        ({"options": {"id": 3}}, ValueError, "options has 'id', which every environment has; choose another name"),
        ({"parts": {"hue": PartSpec(np.int64, "Q" * 999, 0, 9, "")}}, ValueError, "['hue'] has the shape 'QQQ"),
        (
            {"State": Begun, "prepare": lambda c: {"door": [1]}},
            ValueError,
            "prepare returns door, which is no constant",
        ),
        ({"begin": lambda w, s, e="x" * 999, f=0: None}, ValueError, "expected def begin(w, s, e)"),
        ({"parts": {"hue" * 99: PART}}, ValueError, "parts has the name 'huehue"),
        ({"metric_" + "hue" * 99: lambda w, s, e: 0}, ValueError, "expected an identifier of at most 100 letters"),
        ({"State": Shapeless}, TypeError, "State.door has (3, None) beside its dtype; expected a shape, 'E ...', and"),
        ({"targets": 0}, TypeError, "targets is 0; expected True or False"),
        ({"State": Doubled}, ValueError, "State has 'location', which the rules have; choose another name"),
        ({"State": Unannotated}, TypeError, '; expected Annotated[NDArray[dtype], "E ..."]'),
        ({"State": NoWorlds}, ValueError, "State.door has the shape 'N 2'; expected the worlds first, 'E ...'"),
        ({"State": UnknownExtent}, ValueError, "shape 'E Q'; expected numbers, or out of E, N, W, H"),
        ({"State": Objects}, ValueError, "State.door is of object; expected integers, floats or bools"),
        ({"State": dict}, TypeError, "State is <class 'dict'>; expected a NamedTuple class"),
    ],
)
def test_what_is_declared_wrong(body: dict[str, Any], error: type[Exception], message: str) -> None:
    """What a game's class declares is checked when an env is made, and the message says what is expected."""
    game = type("Mine", (Game,), body)
    with pytest.raises(error) as refusal:
        multigrid.parallel_env(game=game, num_agents=2, size=(5, 4))
    assert "Mine" in str(refusal.value)
    assert message in str(refusal.value)
    assert len(str(refusal.value)) <= 600


@pytest.mark.parametrize("game", [3, "KeyAndDoor", int, KeyAndDoor()])
def test_what_is_no_game(game: Any) -> None:
    """A game is a subclass of `multigrid.Game`, not an instance or a name."""
    with pytest.raises(TypeError, match=r"game is .*; expected a subclass of multigrid\.Game"):
        multigrid.GridConfig(game=game)


def test_a_game_adds_to_its_parents() -> None:
    """A subclass adds its actions after the parent's, whose numbers stay, and its arrays to the parent's."""

    class Swims(KeyAndDoor):
        actions = ("pick_up", "swim", "dive")

        class State(NamedTuple):
            air: Annotated[NDArray[np.int64], "E N"]

        def begin(w, s, e):
            s.carrier[e] = NOBODY
            s.air[e] = 9

    class Sinks(Swims):
        actions = ("sink",)

    env = multigrid.parallel_env(game=Sinks, num_agents=2, size=(5, 4))
    env.reset(seed=0)
    assert env.action_space("agent_0").n == 9
    assert {"carrier", "visits", "air"} < env.get_state().keys()
    assert env.get_state()["air"].tolist() == [9, 9]


def test_what_an_option_can_be() -> None:
    """An option's error says what it can be, and a keyword that no environment has is compared with the options."""
    with pytest.raises(TypeError, match=r"'penalti' \(did you mean penalty\?\); expected penalty, opens, config, "):
        multigrid.parallel_env(game=KeyAndDoor, penalti=3)
    with pytest.raises(TypeError, match=r"options has 'penalti' \(did you mean 'penalty'\?\); KeyAndDoor has penalty"):
        multigrid.GridConfig(game=KeyAndDoor, options={"penalti": 3})
    with pytest.raises(TypeError, match=r"'penalti' \(did you mean penalty\?\); expected penalty, opens, size, "):
        multigrid.register("KeyAndDoor-v1", KeyAndDoor, penalti=3)
    with pytest.raises(TypeError, match=r"last is 1\.5 of type float; expected an integer$"):
        multigrid.parallel_env(game=Hop, last=1.5)
    with pytest.raises(ValueError, match="expected an integer of 64 bits"):
        multigrid.parallel_env(game=Hop, last=2**63)
    with pytest.raises(ValueError, match="chance is nan, which is not equal to itself; expected a number"):
        multigrid.parallel_env(game=Hop, chance=math.nan)
    with pytest.raises(TypeError, match="last is given twice, as a keyword and in options; give it once"):
        multigrid.vector_env(2, game=Hop, last=3, options={"last": 2})


def test_an_option_given_again_replaces_the_registered_one() -> None:
    """A keyword has precedence over the options with which a game was registered."""
    multigrid.register("Hop-v0", Hop, options={"last": 3, "chance": 0.25})
    config = games.config("Hop-v0", last=5)
    assert (config.options["last"], config.options["chance"]) == (5, 0.25)
    assert games.parallel_env("Hop-v0", last=5).config == config


def test_a_constant_of_floats_is_rounded() -> None:
    """What `prepare` returns may be any numbers where State has floats."""

    class Rates(NamedTuple):
        rate: Annotated[NDArray[np.float32], "F"]

    body = {"State": Rates, "prepare": lambda c: {"F": np.int32(2), "rate": [1 / 3, 1]}}
    assert multigrid.parallel_env(game=type("Mine", (Game,), body)).config.extents["F"] == 2


class Talk(Game):
    """Agents that send as many bits as an option says."""

    moves = False
    actions = ("wait", "go")
    options = {"bits": 2}

    def prepare(c):
        return {"message_bits": c.bits}

    def step(w, s, e):
        w.rewards[e, 0] = w.actions[e, 0]


@pytest.mark.parametrize("bits", [-1, 33, 2000])
def test_as_many_bits_as_an_action_has(bits: int) -> None:
    """A message has at most 32 bits, whether it is the user who says how many, or the game."""
    expected = f"message_bits is {bits}; expected an integer of at least 0"
    for given in ({"bits": bits}, {"bits": 0, "message_bits": bits}):
        with pytest.raises(ValueError, match=expected):
            multigrid.parallel_env(game=Talk, **given)


def test_the_bits_of_a_game_are_given_once() -> None:
    """Bits that the options of a game set cannot be given as another number; a game without some may have any."""
    with pytest.raises(ValueError, match="message_bits is 3, but by its options the game has 2; leave it out"):
        multigrid.parallel_env(game=Talk, message_bits=3)
    config = multigrid.GridConfig(game=Talk)
    assert config.message_bits == 2
    assert dataclasses.replace(config, options={"bits": 5}).message_bits == 5


@pytest.mark.parametrize("check", ["0", "1"])
def test_the_action_is_shown_as_it_was_given(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bit that is neither 0 nor 1 is refused with the whole action and its row, also where all is checked."""
    monkeypatch.setenv("MULTIGRID_CHECK", check)
    envs = multigrid.vector_env(2, game=Talk, num_agents=2)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"row 2 \(agent_0 of world 1\) is array\(\[0, 2, 0\]\); expected .* 2 bits"):
        envs.step(np.array([[0, 0, 0], [1, 1, 1], [0, 2, 0], [0, 0, 0]]))


def test_many_names_are_cut_short() -> None:
    """An error that lists what is known has at most 600 characters."""
    options = {f"option_{k}" * 4: 1 for k in range(300)}
    parts = {f"part_{k}" * 4: PART for k in range(300)}
    writers = {f"write_{name}": lambda w, s, e, i, out: None for name in parts}
    game = type("Mine", (Game,), {"options": options, "parts": parts, **writers})
    for keywords in ({"zzz": 3}, {"options": {"zzz": 3}}, {"observe": "zzz"}, {f"z{k}" * 20: 3 for k in range(300)}):
        with pytest.raises((TypeError, ValueError), match=r"zzz|z0z0") as error:
            multigrid.parallel_env(game=game, **keywords)
        assert len(str(error.value)) <= 600

    with pytest.raises(ValueError, match="has a function 'xxx") as error:
        multigrid.parallel_env(game=type("Mine", (Game,), {"x" * 3000: lambda w, s, e: None}))
    assert len(str(error.value)) <= 600


@pytest.mark.parametrize("name", ["level", "_distance", "", "delays", "terminal_observation", "steps", "seed"])
def test_a_metric_is_no_info(name: str) -> None:
    """A metric has neither the name of an info, or of a mask of one, nor that of a column of a table."""
    with pytest.raises(ValueError, match=f"Mine has a function metric_{name}, but every environment has"):
        multigrid.parallel_env(game=type("Mine", (Game,), {f"metric_{name}": lambda w, s, e: 0}))


LONG = "lambda w, s, e: 1" + " " * 30 + "# " + "x" * 999


def test_a_long_line_is_cut_short(tmp_path: Path) -> None:
    """Of the line that is wrong, an error shows the beginning."""
    file = tmp_path / "long.py"
    file.write_text(f"begin = {LONG}\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), file, "exec"), names)  # noqa: S102 - a function of a file
    with pytest.raises(TypeError, match=r"Mine\.begin returns an? \w+; expected nothing(.|\n)*begin = lambda") as error:
        multigrid.parallel_env(game=type("Mine", (Game,), {"begin": names["begin"]}))
    assert len(str(error.value)) <= 600


S = spaces.Dict(hue=spaces.Discrete(3))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda c, parts: None, TypeError, "Mine.make_observations: 'NoneType' object is not subscriptable"),
        (lambda c, parts: {"hue": parts["nothing"]}, ValueError, "Mine.make_observations: KeyError: 'nothing'"),
        (lambda c, parts: {"shade": parts["agent"]}, ValueError, "Mine.make_observations: KeyError: 'hue'"),
        (lambda c, parts: {"hue": 1}, TypeError, "Mine.make_observations: object of type 'int' has no len()"),
        (lambda c, parts: {"hue": [1] * 7}, ValueError, "returns 7 observations for 2 agents; expected one for each"),
    ],
)
def test_observations_that_a_game_makes_wrong(make: Any, error: type[Exception], message: str) -> None:
    """Exceptions of `make_observations`, and what is not for each agent, name the function, on each face."""
    game = type("Mine", (Game,), {"observation_space": lambda c: S, "make_observations": make})
    for env in (multigrid.parallel_env(game=game), multigrid.vector_env(1, game=game)):
        with pytest.raises(error, match=re.escape(message)):
            env.reset(seed=0)


@pytest.mark.parametrize("game_id", [f"Foraging-8x8-{'9' * 6000}p-2f-v3", f"rware-{'9' * 6000}s-tiny-2ag-v2", "Foe-v0"])
def test_an_id_of_no_game_is_shown(game_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it is, and however many games are registered, the error has it and at most 600 characters."""
    monkeypatch.setattr("multigrid.games._registry._GAMES", {f"Fog{k}-v0": (Hop, {}) for k in range(1000)})
    with pytest.raises(
        ValueError, match=f"the game is '{game_id[:6]}.*; multigrid.register was called for 'Fog0-v0', .* others"
    ) as error:
        games.parallel_env(game_id)
    assert len(str(error.value)) <= 600


def test_what_marks_raises_names_the_game() -> None:
    """An exception of `marks`, also of a generator, is a TypeError or ValueError that names the function."""

    class Painted(Game):
        def marks(scene):
            yield scene.colour

    env = multigrid.parallel_env(game=Painted, render_mode="rgb_array")
    env.reset(seed=0)
    with pytest.raises(TypeError, match=r"Painted\.marks: AttributeError: .* 'colour'"):
        env.render()


def test_a_game_is_tried_without_its_pictures() -> None:
    """The calls that check a new game draw from no stream that the environment has, and never call `marks`."""

    class Marked(KeyAndDoor):
        def marks(scene):
            raise RuntimeError

    first, second = (multigrid.parallel_env(game=Marked, num_agents=2, size=(5, 4)) for _ in range(2))
    first.reset(seed=3), second.reset(seed=3)
    assert first.get_state()["key"].tolist() == second.get_state()["key"].tolist()
