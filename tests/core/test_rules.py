"""The rules for N agents, in pictures.

A picture shows the cells: ``.`` free, ``#`` wall, a letter an agent, its capital the agent's target. An action is drawn
as the eye sees it: ``>`` right, ``<`` left, ``v`` down the page (which is UP, for y grows downwards), ``^`` up the
page, ``-`` stay.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multigrid import MultiGridEnv, Outcome, parallel_env
from reference import DOWN, LEFT, RIGHT, STAY, UP

ACTIONS = {">": RIGHT, "v": UP, "<": LEFT, "^": DOWN, "-": STAY}
MOVED, STAYED, EDGE, WALL, OCCUPIED, CONTESTED, SWAP, PARKED, DELAYED = Outcome
OUTCOMES = dict(zip("MSEWOCXPD", Outcome, strict=True))  # X is a swap


def world(picture: str, **settings: Any) -> MultiGridEnv:
    """An env that starts as the picture shows; agents without a capital get a cell of the last row as their target."""
    rows = picture.split()
    at = {character: (x, y) for y, row in enumerate(rows) for x, character in enumerate(row)}
    walls = np.array([[character == "#" for character in row] for row in rows]).T
    letters = sorted(filter(str.islower, at))
    spare = [(x, len(rows) - 1) for x in range(len(rows[0])) if rows[-1][x] == "."]
    targets = [at[letter.upper()] if letter.upper() in at else spare.pop() for letter in letters]
    settings = {"on_target": "stay", "observe": ("agent", "target", "others"), **settings}
    env = parallel_env(walls=walls, num_agents=len(letters), allow_stay=True, **settings)
    env.reset(seed=0, options={"agents": [at[letter] for letter in letters], "targets": targets})
    return env


def play(env: MultiGridEnv, actions: str) -> tuple[dict[str, Any], ...]:
    """One step; the k-th character is the action of the k-th agent that is still there."""
    return env.step({agent: ACTIONS[action] for agent, action in zip(env.agents, actions, strict=True)})


def outcomes(env: MultiGridEnv, actions: str) -> list[int]:
    """The outcomes of one step."""
    return [info["outcome"] for info in play(env, actions)[-1].values()]


BLOCKING = "symmetric priority block_both soft"
FREE_CELL, LEFT_CELL = ".b... a.c.. .....", ".b... ac... ....."
STEPS = [
    # Whoever asks for a cell outside the grid, or for a wall, stays.
    (BLOCKING + " none", "a.b# ....", "^>", "a.b# ....", "EW"),
    (BLOCKING + " none", "a.b# ....", "<v", "a..# ..b.", "EM"),
    # Two agents that ask for each other's cells both stay; without collisions they pass through one another.
    (BLOCKING, ".ab.. .....", "><", ".ab.. .....", "XX"),
    ("none", ".ab.. .....", "><", ".ba.. .....", "MM"),
    # A free cell that two or three ask for goes to nobody, or under priority and soft to the lowest index.
    ("symmetric block_both", "a.b.. .....", "><", "a.b.. .....", "CC"),
    ("priority soft", "a.b.. .....", "><", ".ab.. .....", "MC"),
    ("symmetric block_both", FREE_CELL, ">v<", FREE_CELL, "CCC"),
    ("priority soft", FREE_CELL, ">v<", ".b... .ac.. .....", "MCC"),
    # A row of agents moves as one, or where following is forbidden only its head does.
    ("symmetric soft", "abc.. .....", ">>>", ".abc. .....", "MMM"),
    ("block_both priority", "abc.. .....", ">>>", "ab.c. .....", "OOM"),
    # Under priority a cell is free for those whose turn comes after its occupant has left.
    ("priority", "cba.. .....", ">>>", ".cba. .....", "MMM"),
    # Who asks for the cell of one who stays, stays, and so does everyone behind, of lower and of higher index.
    ("symmetric soft", "..abc .....", ">>>", "..abc .....", "OOE"),
    ("symmetric soft", ".abc# .....", ">>>", ".abc# .....", "OOW"),
    ("symmetric soft", "..abc .....", ">>-", "..abc .....", "OOS"),
    ("symmetric", "..cab .....", ">>>", "..cab .....", "OEO"),
    ("symmetric", "..cba .....", ">>>", "..cba .....", "EOO"),
    # Agents in a ring change places where cycles are allowed, unless one of them stays.
    ("symmetric soft", ".ba.. .cd.. .....", "<v>^", ".ad.. .bc.. .....", "MMMM"),
    ("block_both priority", ".ba.. .cd.. .....", "<v>^", ".ba.. .cd.. .....", "OOOO"),
    ("symmetric soft", "abc... fed... ......", ">>v<<^", "fab... edc... ......", "MMMMMM"),
    ("symmetric soft", "abc... fed... ......", ">>v<-^", "abc... fed... ......", "OOOOSO"),
    # Who follows an agent that was refused a contested cell is refused too, for its cell stays occupied.
    ("symmetric block_both", ".b... a.dc. .....", ">v<<", ".b... a.dc. .....", "CCOC"),
    ("soft priority", ".b... a.dc. .....", ">v<<", ".b... .adc. .....", "MCOC"),
    # Under soft the lowest index wins the cell of c, c stays, and the cell goes to nobody.
    ("soft", ".b... acd.. .....", ">v-<", ".b... acd.. .....", "CCSC"),
    # A cell that several newcomers ask for goes to none of them, though its occupant leaves it; of three, soft lets in
    # the first; priority, the first whose turn comes after the occupant's.
    ("symmetric priority block_both", LEFT_CELL, ">vv", ".b... a.... .c...", "CCM"),
    ("soft", LEFT_CELL, ">vv", ".b... .a... .c...", "MCM"),
    ("symmetric block_both", ".b... acd.. .....", ">vv<", ".b... a.d.. .c...", "CCMC"),
    ("soft", ".b... acd.. .....", ">vv<", ".b... .ad.. .c...", "MCMC"),
    ("priority", ".b... acd.. .....", ">vv<", ".b... ad... .c...", "CCMM"),
    # Of an agent that would swap and whose cell a third one asks for, the swap is the outcome.
    ("symmetric", "..c.. .ab.. .....", "><v", "..c.. .ab.. .....", "XXC"),
    ("symmetric", "cab.. .....", "><>", "cab.. .....", "XXC"),
    ("soft", "bac.. .....", "<>-", "bac.. .....", "XXS"),
    ("soft", "abc.. .....", "><<", "abc.. .....", "XXC"),
]


@pytest.mark.parametrize(
    ("collisions", "before", "actions", "after", "reasons"),
    [(collisions, *step) for rules, *step in STEPS for collisions in rules.split()],
)
def test_one_step(collisions: str, before: str, actions: str, after: str, reasons: str) -> None:
    """One step from one picture leads to the other, with an outcome that says why for everyone."""
    env = world(before, collisions=collisions)
    assert outcomes(env, actions) == [OUTCOMES[reason] for reason in reasons]
    rows = [["#" if character == "#" else "." for character in row] for row in before.split()]
    for index, (x, y) in enumerate(env.state()[:, :2].tolist()):
        rows[y][x] = "abcdef"[index]
    assert " ".join("".join(row) for row in rows) == after


def test_none_lets_agents_share_a_cell() -> None:
    """Without collisions two agents that ask for one cell both get it."""
    env = world("a.b.. .....", collisions="none")
    assert outcomes(env, "><") == [MOVED, MOVED]
    assert env.state()[:, :2].tolist() == [[1, 0], [1, 0]]


# Of each step: the actions; who arrives; and who terminates (T), is truncated (L), or both (B).
EPISODES = [
    # Under park nobody terminates before all have arrived, and then all do.
    ("park", "aA... bB.C. c....", [">-^ 100 ...", "v-- 000 ...", "->> 010 ...", *["--> 000 ..."] * 2, "--^ 001 TTT"]),
    ("park", "aA.b# ....B", [">< 10 ..", ">- 00 .."]),
    ("leave", "abB.. ..A..", [">> 01 .T", "> 0 .", "v 1 T"]),
    ("leave", "aA... b.B.. c..C.", [">>> 100 T..", ">> 10 T.", "> 1 T"]),
    # Under stay an agent may walk off again, and only all together end the episode.
    ("stay", "aA... .Bb..", [">- 10 ..", "-- 00 ..", "<< 01 ..", "-< 00 ..", ">> 11 TT"]),
    ("restart", "aA..# b...B", [">- 10 ..", "-- 00 .."]),
    # With the last step of a limit of 2 everyone present is truncated, the parked too, and who terminates in it.
    ("park 2", "a.A.. .....", ["> 0 .", "> 1 B"]),
    ("park 2", "aA.b. ....B", [">- 10 ..", "-- 00 LL"]),
    ("leave 2", "aA... b.B.. c....", [">>- 100 T..", ">- 10 BL"]),
    ("stay 2", "a.A.. .....", ["> 0 .", "> 1 B"]),
    ("restart 2", "a.A.. .....", ["> 0 .", "> 1 L"]),
]


@pytest.mark.parametrize(("rule", "picture", "steps"), EPISODES)
@pytest.mark.parametrize("reward", ["individual", "shared"])
def test_arrivals_rewards_and_ends(rule: str, picture: str, steps: list[str], reward: str) -> None:
    """Each arrival gives 1, under stay when all stand; shared, everyone who was there gets the mean."""
    on_target, _, limit = rule.partition(" ")
    settings = {"on_target": on_target, "reward": reward, "max_cycles": int(limit or 300)}
    env, other = world(picture, **settings), world(picture, **settings)
    for step in steps:
        actions, arrived, ends = step.split()
        present = list(env.agents)
        _, rewards, terminated, truncated, infos = play(env, actions)
        expected = [float(digit) for digit in arrived]
        if on_target == "stay":
            expected = [float(ends[0] in "TB")] * len(ends)
        if reward == "shared":
            expected = [sum(expected) / len(expected)] * len(expected)
        assert list(rewards.values()) == pytest.approx(expected)
        assert [repr(info["arrived"]) for info in infos.values()] == list(arrived)
        flags = [".TLB"[terminated[agent] + 2 * truncated[agent]] for agent in present]
        assert "".join(flags) == ends
        assert env.agents == [agent for agent, end in zip(present, ends, strict=True) if end == "."]
        other.set_state(env.get_state())
        np.testing.assert_array_equal(other._worlds.arrays.arrived, env._worlds.arrays.arrived)
    assert {info["arrived"] for info in env.reset()[1].values()} == {0}


@pytest.mark.parametrize("collisions", BLOCKING.split())
def test_parked_agents_are_obstacles(collisions: str) -> None:
    """An agent on its target stays whatever it is asked to do, which is its outcome, and so does the row behind it."""
    env = world("abC# A.cB", collisions=collisions, on_target="park")
    assert play(env, "--^")[-1]["agent_2"] == {"distance": 0.0, "outcome": MOVED, "arrived": 1}
    for action in "-^<v>":
        assert outcomes(env, f">>{action}") == [OCCUPIED, OCCUPIED, PARKED]
    assert env.state()[:, :2].tolist() == [[0, 0], [1, 0], [2, 0]]


def test_leave_frees_the_cell_from_the_next_step() -> None:
    """Under leave an agent is gone after its arrival, also from what others see, and others may enter its cell then."""
    env = world("abB.. ..A..", on_target="leave", view_radius=1, observe=("agent", "target", "others", "view"))
    observations, *_, infos = play(env, ">>")
    assert infos["agent_1"] == {"distance": 0.0, "outcome": MOVED, "arrived": 1}
    assert observations["agent_0"]["others"].tolist() == [[-1, -1]]
    assert observations["agent_0"]["view"][1].tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert observations["agent_1"]["agent"].tolist() == observations["agent_1"]["target"].tolist() == [2, 0]
    assert observations["agent_1"]["view"][1].sum() == 1  # agent_0 next to it, its own centre empty
    assert env.state().tolist() == [[1, 0, 2, 1], [-1, -1, -1, -1]]
    observations, *_ = play(env, ">")
    assert list(observations) == ["agent_0"]
    assert env.state()[0].tolist() == [2, 0, 2, 1]


def test_leave_keeps_the_cell_closed_in_the_step_of_arrival() -> None:
    """Who comes later in a step, wanting the cell in which another has just arrived, meets it there."""
    env = world("aAb.. ...B.", on_target="leave", collisions="priority")
    assert outcomes(env, "><") == [MOVED, CONTESTED]
    assert outcomes(env, "<") == [MOVED]
    assert env.state()[1, :2].tolist() == [1, 0]


def test_restart_gives_a_new_target_in_the_step_of_arrival() -> None:
    """Under restart observation and distance show the new target in the step of the arrival."""
    env = world("aA..# .....", on_target="restart", max_cycles=None)
    observations, *_, infos = play(env, ">")
    target = observations["agent_0"]["target"].tolist()
    assert target != [1, 0]
    assert infos["agent_0"] == {"distance": float(abs(target[0] - 1) + target[1]), "outcome": MOVED, "arrived": 1}
    assert env.state().tolist() == [[1, 0, *target]]


def test_restart_may_give_another_agents_target() -> None:
    """A new target is a cell that the agent can reach, though another has the same target, or stands there."""
    env = parallel_env(size=(2, 1), num_agents=2, on_target="restart", collisions="none", allow_stay=True)
    env.reset(seed=0, options={"agents": [[0, 0], [1, 0]], "targets": [[1, 0], [0, 0]]})
    play(env, ">-")
    assert env.state().tolist() == [[1, 0, 0, 0], [1, 0, 0, 0]]
    play(env, "<-")
    play(env, "-<")
    assert env.state().tolist() == [[0, 0, 1, 0], [0, 0, 1, 0]]


GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "pogema_episodes.json").read_text())


@pytest.mark.parametrize(
    "episode", GOLDEN, ids=[f"{e['collisions']}-{e['on_target']}-{len(e['starts'])}" for e in GOLDEN]
)
def test_pogemas_rules(episode: dict[str, Any]) -> None:
    """POGEMA's recorded episodes are played step by step: locations, rewards, terminations, who is there, and views."""
    env = parallel_env(
        walls="\n".join(episode["map"]),
        num_agents=len(episode["starts"]),
        collisions=episode["collisions"],
        on_target={"finish": "leave", "nothing": "stay"}[episode["on_target"]],
        observe=("view",),
        view_radius=episode["view_radius"],
        allow_stay=True,
        max_cycles=None,
    )
    observations, _ = env.reset(options={"agents": episode["starts"], "targets": episode["targets"]})
    views = episode.get("views", [])
    left: set[str] = set()
    seen = 0
    for k, (actions, locations, rewards, terminated) in enumerate(episode["steps"]):
        assert env.agents
        present = list(env.agents)
        for agent in present if k < len(views) else []:
            recorded = views[k][env.possible_agents.index(agent)]
            assert observations[agent]["view"].ravel().tolist() == recorded, (k, agent)
            seen += 1
        observations, given, terminations, _, _ = env.step(dict(zip(env.possible_agents, actions, strict=True)))
        at = env.state()[:, :2].tolist()
        left |= {agent for agent in present if terminations[agent]} if episode["on_target"] == "finish" else set()
        for i, agent in enumerate(env.possible_agents):
            assert at[i] == (locations[i] if locations[i] is not None else [-1, -1]), (k, agent)
            assert given.get(agent, 0.0) == rewards[i], (k, agent)
            assert (terminations.get(agent, False) or agent in left) == terminated[i], (k, agent)
        assert set(env.agents) == {agent for agent in present if not terminations[agent]}
    assert seen == len(views) * len(episode["starts"])
