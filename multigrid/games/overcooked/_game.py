"""The game Overcooked: what it declares, and the tables that its rules read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multigrid._checks import check_int, shorten
from multigrid.game import Game
from multigrid.games.overcooked import _rules as rules
from multigrid.games.overcooked._features import count_features, find_nearest, write_features
from multigrid.games.overcooked._layouts import FLOOR, OUTSIDE, RECIPES, TRAINING, Dynamics, Layout, read_layout
from multigrid.games.overcooked._lossless import make_template, write_lossless
from multigrid.games.overcooked._pictures import draw_picture, list_marks, read_kitchen
from multigrid.games.overcooked._rules import EVENTS
from multigrid.games.overcooked._words import describe
from multigrid.parts import PartSpec

_LONGEST_IN_A_BYTE, _MOST_POTS = 255, 100
_DELIVERY = EVENTS.index("soup_delivery")


class Overcooked(Game):
    """Overcooked for one to nine players, on a layout given by its name, as a file, or as text."""

    moves = False
    targets = False
    departures = False
    actions = ("north", "south", "east", "west", "stay", "interact")
    idle = "stay"
    options: ClassVar[Mapping[str, Any]] = {
        "layout": "cramped_room",
        "dynamics": Dynamics.NEW,
        "shaping": 0.0,
        "random_positions": False,
        "random_objects": 0.0,
        "num_pots": 2,
    }
    training: ClassVar[Mapping[str, Any]] = TRAINING | {
        "observe": ("features",),
        "expect": "two to four minutes on one core; cooks scored 240 in cramped_room, 460 in asymmetric_advantages, "
        "280 in coordination_ring, 199 in forced_coordination, and 0 in counter_circuit_o_1order.",
    }
    parts: ClassVar[Mapping[str, PartSpec]] = {
        "lossless": PartSpec(np.uint8, "W H LAYERS", 0, 255, "the whole kitchen in layers; times above 255 as 255."),
        "lossless_long": PartSpec(np.int32, "W H LAYERS", 0, 2**31 - 1, "the same for longer times."),
        "features": PartSpec(np.int32, "FEATURES", -(2**31), 2**31 - 1, "distances, and what is in hands and pots."),
    }
    infos: ClassVar[Mapping[str, PartSpec]] = {
        "sparse": PartSpec(np.float64, "1", 0, np.inf, "the value of what the player has delivered."),  # type: ignore[arg-type]
        "shaped": PartSpec(np.float64, "1", 0, np.inf, "the player's shaped reward."),  # type: ignore[arg-type]
        "events": PartSpec(np.int64, "1", 0, 2 ** len(EVENTS) - 1, "the player's events, a bit for each."),
    }

    class State(NamedTuple):
        """Things have the codes of `multigrid.games.overcooked._layouts`."""

        direction: Annotated[NDArray[np.int64], "E N"]
        held: Annotated[NDArray[np.int64], "E N"]
        thing: Annotated[NDArray[np.uint8], "E W H"]  # on counters and in pots
        cooking: Annotated[NDArray[np.int64], "E P"]  # 0, or 1 + the steps that the soup in the pot has cooked
        sparse: Annotated[NDArray[np.float64], "E N"]  # of the last step, as `shaped` and `events`
        shaped: Annotated[NDArray[np.float64], "E N"]
        events: Annotated[NDArray[np.int64], "E N"]
        count: Annotated[NDArray[np.int64], "E 25"]  # of events in this episode
        score: Annotated[NDArray[np.float64], "E"]  # the values of all deliveries in this episode
        kind: Annotated[NDArray[np.uint8], "M W H"]
        pot: Annotated[NDArray[np.int64], "M P 2"]  # cells; of a layout with fewer, [-1, -1] behind them
        pot_in: Annotated[NDArray[np.int64], "M W H"]  # the number of the pot in a cell
        start: Annotated[NDArray[np.int64], "M N 4"]
        start_thing: Annotated[NDArray[np.uint8], "M W H"]
        start_cooking: Annotated[NDArray[np.int64], "M P"]
        reward: Annotated[NDArray[np.float64], "M 16"]  # by recipe
        cook_time: Annotated[NDArray[np.int64], "M 16"]
        best: Annotated[NDArray[np.float64], "M 16"]  # what the original calls the value of the optimal recipe
        bonus: Annotated[NDArray[np.float64], "M 3"]  # the shaped rewards
        ingredient_value: Annotated[NDArray[np.float64], "M 2"]  # of an onion and a tomato, for `potential` alone
        template: Annotated[NDArray[np.uint8], "M W*H*LAYERS"]  # what never changes of the part lossless
        nearest: Annotated[NDArray[np.int64], "M W H 4 FOUND"]  # as `find_nearest`

    def prepare(c: Any) -> dict[str, Any]:
        return _prepare(c)

    def place(w, s, e):
        m = w.map_index[e]
        for i in range(w.num_agents[e]):
            w.location[e, i, 0], w.location[e, i, 1] = s.start[m, i, 0], s.start[m, i, 1]
            while s.random_positions and not rules.draw_place(w, s, e, i):
                pass

    def begin(w, s, e):
        rules.begin(w, s, e)

    def step(w, s, e):
        rules.interact(w, s, e)
        rules.move(w, s, e)
        rules.cook(w, s, e)
        total = 0.0
        for i in range(w.num_agents[e]):
            total += s.sparse[e, i]
        s.score[e] += total
        for i in range(w.num_agents[e]):
            w.rewards[e, i] = total + s.shaping * s.shaped[e, i]

    def write_lossless(w, s, e, i, out):
        write_lossless(w, s, e, i, out, _LONGEST_IN_A_BYTE)

    def write_lossless_long(w, s, e, i, out):
        write_lossless(w, s, e, i, out, 2**31 - 1)

    def write_features(w, s, e, i, out):
        write_features(w, s, e, i, out)

    def write_info_sparse(w, s, e, i):
        return s.sparse[e, i]

    def write_info_shaped(w, s, e, i):
        return s.shaped[e, i]

    def write_info_events(w, s, e, i):
        return s.events[e, i]

    def metric_score(w, s, e):
        return s.score[e]

    def metric_deliveries(w, s, e):
        return s.count[e, _DELIVERY]

    def check(w, s, e):
        return rules.check(w, s, e)

    def marks(scene: Any) -> Iterator[Any]:
        return list_marks(scene, read_kitchen(scene))

    def picture(scene: Any) -> NDArray[np.uint8]:
        return draw_picture(scene, read_kitchen(scene))

    def describe(scene: Any, i: int) -> str:
        return describe(scene, i)


def _count_event(event: int) -> Any:
    """Return a function that counts an event in an episode."""

    def count(w, s, e):
        return s.count[e, event]

    return count


for _event, _name in enumerate(EVENTS):
    setattr(Overcooked, f"metric_{_name}", _count_event(_event))


def _prepare(c: Any) -> dict[str, Any]:
    names = c.layout if isinstance(c.layout, tuple) else (c.layout,)
    if not names:
        raise ValueError("layout is (); expected a name, the path of a layout file, its text, or several of them")
    if not 0 <= c.shaping < np.inf:
        raise ValueError(f"shaping is {shorten(c.shaping)}; expected a number of at least 0")
    if not 0 <= c.random_objects <= 1:
        raise ValueError(f"random_objects is {shorten(c.random_objects)}; expected a probability")
    check_int("num_pots", c.num_pots, 0, most=_MOST_POTS)
    layouts = [read_layout(name, is_old=c.dynamics == Dynamics.OLD) for name in names]
    numbers = [len(one.players) for one in layouts]
    if len(set(numbers)) > 1:
        raise ValueError(f"the layouts have {shorten(numbers)} players; expected as many in each")
    width, height = (max(sides) for sides in zip(*(one.kind.shape for one in layouts), strict=True))
    num_pots = max(len(one.pots) for one in layouts)
    filled = [_fill_up(one, width, height, num_pots) for one in layouts]
    kind = np.array([one.kind for one in filled])
    pot = np.full((len(layouts), num_pots, 2), -1)
    pot_in = np.zeros(kind.shape, np.int64)
    for m, one in enumerate(layouts):
        pot[m, : len(one.pots)] = one.pots
        pot_in[m][tuple(one.pots.T)] = np.arange(len(one.pots))
    longest = max(int(one.cook_time[RECIPES].max()) for one in layouts)
    return {
        "walls": kind != FLOOR,
        "num_agents": numbers[0],
        "max_cycles": 400,
        "observe": "lossless" if longest <= _LONGEST_IN_A_BYTE else "lossless_long",
        "P": num_pots,
        "FOUND": 4 + c.num_pots,
        "FEATURES": (count_features(c.num_pots) + 2) * numbers[0],
        "LAYERS": 5 * numbers[0] + 16,
        "kind": kind,
        "pot": pot,
        "pot_in": pot_in,
        "start": np.array([one.players for one in filled]),
        "start_thing": np.array([one.things for one in filled]),
        "start_cooking": np.array([one.cooking for one in filled]),
        "reward": np.array([one.reward for one in filled]),
        "cook_time": np.array([one.cook_time for one in filled]),
        "best": np.array([one.best for one in filled]),
        "bonus": np.array([one.shaping for one in filled]),
        "ingredient_value": np.array([one.ingredient_value for one in filled]),
        "template": np.array([make_template(one.kind, numbers[0]) for one in filled]),
        "nearest": np.array([find_nearest(one.kind, c.num_pots) for one in filled]),
    }


def _fill_up(layout: Layout, width: int, height: int, num_pots: int) -> Layout:
    """Return a layout with so many columns, rows and pots."""
    more = [(0, width - layout.kind.shape[0]), (0, height - layout.kind.shape[1])]
    return layout._replace(
        kind=np.pad(layout.kind, more, constant_values=OUTSIDE),
        things=np.pad(layout.things, more),
        cooking=np.pad(layout.cooking, (0, num_pots - len(layout.cooking))),
    )
