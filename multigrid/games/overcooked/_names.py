"""The layouts of overcooked_ai by name.

The layouts are those of overcooked_ai, written in another form, with its notice:

    Copyright (c) 2019 Center for Human-Compatible AI

    Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
    documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
    rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to
    permit persons to whom the Software is furnished to do so, subject to the following conditions:

    The above copyright notice and this permission notice shall be included in all copies or substantial portions of
    the Software.

    THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO
    THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
    AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
    TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
    SOFTWARE.
"""

from __future__ import annotations

import re
from typing import Any

_BY_INGREDIENT = {"onion_value": 21, "tomato_value": 13, "onion_time": 15, "tomato_time": 7}
_TEXT = """
asymmetric_advantages XXXXXXXXX/O.XSXOX.S/X...P.1.X/X2..P...X/XXXDXDXXX
asymmetric_advantages_tomato XTXXXXXOX/D.XOXTX.S/X...P.1.X/X2..X...X/XXXSXDXXX
    orders=ooo,oot,ttt,t bonus=ttt,oot by_ingredient
bonus_order_test XXPXX/O..2T/X1..X/XDXSX
    orders=ooo,ttt,ot bonus=ot,ttt recipe_values=10,20,15 recipe_times=20,15,10
bottleneck XXOXDXX/X.1X2.X/X..X..X/X.....X/XSXXPPX
centre_objects XXXXXXX/X..1..X/X.P.S.X/X.....X/X.D.O.X/X..2..X/XXXXXXX
centre_pots XXXOSSX/X..1..X/X.P.P.X/X..2..X/XDDOXXX
coordination_ring XXXPX/X.1.P/D2X.X/O...X/XOSXX
corridor
    XXXXXOXXDXXXXX/X..1..XX..2..X/X.....XX.....X/X..XXXXXXXX..X/X............X/X..XXXXXXXX..X/X.....XX.....X/X.....XX.....X/XXXXXSXXPPXXXX
counter_circuit XXXPDPXXX/X...2...X/X.XXXXX.X/X...1...X/XXXOSTXXX
    orders=ott,oot,ot bonus=ot by_ingredient
counter_circuit_o_1order XXXPPXXX/X..2...X/D.XXXX.S/X..1...X/XXXOOXXX
cramped_corridor XTPXXXXSX/D......2X/XXXX.XXXX/D......1X/XOPXXXXSX
    orders=t,ooo,ttt,ot,tt bonus=ot,t,tt by_ingredient
cramped_room XXPXX/O..2O/X1..X/XDXSX
cramped_room_o_3orders XXPXX/O..2X/X1..X/XDXSX orders=ooo,oo,o recipe_values=20,9,4 recipe_times=20,20,20
cramped_room_single XXPXX/O...O/X1..X/XDXSX
cramped_room_tomato XXPXX/O..2T/X1..X/XDXSX
    orders=ooo,ttt,ot bonus=ot tomato_value=10 onion_value=15 tomato_time=10 onion_time=10
five_by_five XDPXX/X...S/O.2.X/X1..D/XOXPX
forced_coordination XXXPX/O.X1P/O2X.X/D.X.X/XXXSX
forced_coordination_tomato XXXPX/T.X1P/O2X.X/S.X.X/XXXDX
    orders=ooo,ott,oot,ttt recipe_values=10,10,10,15 recipe_times=10,10,10,10
inverse_marshmallow_experiment XOXXXXXXXXXOX/X.....X.....X/XXXX..D..XXXX/XXS.2.P.1.SXX/XXXXXTXTXXXXX
    orders=o,t,oot,ooo,ttt bonus=ooo by_ingredient
large_room XXXPXXX/O....2O/X.....X/X.....X/X.....X/X1....X/XDXXXSX
long_cook_time XOXXXXXXXXXXX/X.XXXXXXXXXXX/X..1........X/X...........P/X..2........X/X.DXXXXXXXXXX/XSXXXXXXXXXXX
    orders=ooo,oo,o recipe_values=10,10,10 recipe_times=100,100,100
m_shaped_s XPXXX/O.X2O/X1..X/XDXSX
marshmallow_experiment XXXXXXXXXXXXX/O...DTXTD...O/XX....P....XX/S...2.P.1...S/XXXXXTXTXXXXX
    orders=ooo,ttt bonus=ooo by_ingredient
marshmallow_experiment_coordination XXXXXXXXXXXOX/X....XTTX...X/XXX..P....XXX/S..2.P.1....X/XXXXDXTTXXXXX
    orders=ooo,ttt bonus=ooo by_ingredient
mdp_test XXPXX/O..2O/T1..T/XDPSX
    orders=o,ooo,oot bonus=oot tomato_value=5 onion_value=10 tomato_time=2 onion_time=2
multiplayer_schelling XXSPDXX/X..1..X/X..X..X/O3...4O/X..X..X/X..2..X/XXDPSXX
pipeline XXXPDPXXX/X.......X/X.XXXXX.X/X.X.....X/X.XXXXX.X/X..1.2..X/XXXOSOXXX
    orders=ooo,oo,o bonus=oo by_ingredient
scenario1_s XXOXDXX/X.1X2.X/X..X..X/X.....X/XSXXPPX
scenario2 XXXXXOXXXX/S........O/D....1.2.X/XXXXXXPXXX
scenario2_s XXOXXXX/S.....O/D.1.2.X/XXXPXXX
scenario3 XXXXXOXXXX/S.....XXPX/X....1...X/D.XXXXXX.X/X.....2..O/XXXXXXXXXX
scenario4 XXXXXOXXXX/S......XPX/D....1...X/XXXXXXXX.X/XXXXXX2..O/XXXXXXXXXX
schelling XXSPDXX/X..1..X/X..X..X/O.....O/X..X..X/X..2..X/XXDPSXX
schelling_s XSPDX/X.1.X/O...O/X.2.X/XDPSX
simple_o XXPXX/X..2X/X1..O/XXDSX recipe_values=20 recipe_times=5
simple_o_t XXPXX/T..2T/X1..O/XXDSX orders=ooo,ttt recipe_values=20,15 recipe_times=5,5
simple_tomato XXPXX/T..2T/X1..O/XXDSX orders=ttt
small_corridor XXXXXOXDXXXXX/X..1..X..2..X/X..XXXXXXX..X/X...........X/XSXXXXXXXXPPX
soup_coordination XXXDTXOXXXX/X....X....X/S.2..P..1.S/X....X....X/XXXXOXTDXXX
    orders=oot,ttt,ot,t,o bonus=t,oot,ttt,o by_ingredient
tutorial_0 XXPXXXX/O...2.S/XXPDXXX/O...1.S/XXXXXXX by_ingredient
tutorial_1 XXPXXXX/O...2.S/XTPDXXX/O...1.S/XXXXXXX
    orders=ott,ot by_ingredient
tutorial_2 XXPXXXX/O...2.S/XTPDXXX/O...1.S/XXXXXXX
    orders= by_ingredient
tutorial_3 XXPXXXX/O...2.S/XTPDXXX/O...1.S/XXXXXXX
    orders= bonus=ott order_bonus=inf by_ingredient
unident XXXXXXXXXXX/O.XXSXOXX.S/X....P..1.X/X2...P....X/XXXXDXDXXXX
you_shall_not_pass XXXXXSSSXXXXX/XXTSSS.SSSOXX/P.1.......2.P/XXDSSSSSSSDXX
    orders=o,t,oot,ott,ttt,oo bonus=oot,ott by_ingredient
"""
"""A name, the rows of the grid, with . for floor, and what else is in the file, with an initial for each ingredient."""
_INGREDIENTS = {"o": "onion", "t": "tomato"}
_START_STATES: dict[str, Any] = {
    "tutorial_1": {
        "players": [{"position": (4, 3), "orientation": (-1, 0)}, {"position": (4, 1), "orientation": (0, -1)}],
        "objects": [{"name": "soup", "position": (2, 2), "_ingredients": [{"name": "onion"}, {"name": "onion"}]}],
    }
}


def _read(line: str) -> dict[str, Any]:
    """Return the content of the layout file that a line is short for."""
    name, grid, *words = line.split()
    found: dict[str, Any] = {"grid": grid.replace(".", " ").replace("/", "\n"), "orders": "ooo", "bonus": ""}
    for word in words:
        key, _, value = word.partition("=")
        found |= {key: value} if key != "by_ingredient" else _BY_INGREDIENT
    for key, theirs in (("orders", "start_all_orders"), ("bonus", "start_bonus_orders")):
        recipes = filter(None, found.pop(key).split(","))
        found[theirs] = [{"ingredients": [_INGREDIENTS[one] for one in recipe]} for recipe in recipes]
    for key in {"recipe_values", "recipe_times"} & found.keys():
        found[key] = [int(number) for number in found[key].split(",")]
    for key, value in found.items():
        found[key] = float(value) if isinstance(value, str) and key != "grid" else value
    return found | ({"start_state": _START_STATES[name]} if name in _START_STATES else {})


LAYOUTS = {line.split()[0]: _read(line) for line in re.sub(r"\n +", " ", _TEXT).strip().splitlines()}
LAYOUTS |= {"random0": LAYOUTS["forced_coordination"], "random3": LAYOUTS["counter_circuit_o_1order"]}
"""The content of the layout files, by name."""
