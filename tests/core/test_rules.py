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
MOVED, STAYED, EDGE, WALL, OCCUPIED, CONTESTED, SWAP, PARKED = Outcome


def cells(picture: str) -> dict[str, tuple[int, int]]:
    """Where each character of a picture stands, letters being unique."""
    rows = picture.split()
    return {character: (x, y) for y, row in enumerate(rows) for x, character in enumerate(row)}


def world(picture: str, **settings: Any) -> MultiGridEnv:
    """An env that starts as the picture shows; agents without a capital get a cell of the last row as their target."""
    rows = picture.split()
    walls = np.array([[character == "#" for character in row] for row in rows]).T
    at = cells(picture)
    letters = sorted(letter for letter in at if letter.islower())
    spare = [(x, len(rows) - 1) for x in range(len(rows[0])) if rows[-1][x] == "."]
    targets = [at[letter.upper()] if letter.upper() in at else spare.pop() for letter in letters]
    settings = {"on_target": "stay", "observe": ("agent", "target", "others"), **settings}
    env = parallel_env(walls=walls, num_agents=len(letters), allow_stay=True, **settings)
    env.reset(seed=0, options={"agents": [at[letter] for letter in letters], "targets": targets})
    return env


def play(env: MultiGridEnv, actions: str) -> tuple[dict[str, Any], ...]:
    """One step; the k-th character is the action of the k-th agent that is still there."""
    return env.step({agent: ACTIONS[action] for agent, action in zip(env.agents, actions, strict=True)})


def drawn(env: MultiGridEnv, like: str) -> str:
    """The picture of an env without its targets, laid out like another picture."""
    rows = [["#" if character == "#" else "." for character in row] for row in like.split()]
    for index, (x, y) in enumerate(env.state()[:, :2].tolist()):
        if x >= 0:
            rows[y][x] = "abcdefghij"[index]
    return "\n".join("".join(row) for row in rows)


def check(collisions: str, before: str, actions: str, after: str, outcomes: tuple[Outcome, ...]) -> None:
    """One step from one picture leads to the other, with an outcome that says why for everyone."""
    env = world(before, collisions=collisions)
    infos = play(env, actions)[-1]
    assert drawn(env, before) == "\n".join(after.split())
    assert tuple(Outcome(info["outcome"]) for info in infos.values()) == outcomes


ALL = ("symmetric", "priority", "block_both", "soft", "none")
BLOCKING = ALL[:4]


@pytest.mark.parametrize("collisions", ALL)
def test_edges_and_walls_stop(collisions: str) -> None:
    """Whoever asks for a cell outside the grid, or for a wall, stays, and its outcome says which it was."""
    check(collisions, "a.b# ....", "^>", "a.b# ....", (EDGE, WALL))
    check(collisions, "a.b# ....", "<v", "a..# ..b.", (EDGE, MOVED))


@pytest.mark.parametrize("collisions", BLOCKING)
def test_nobody_swaps(collisions: str) -> None:
    """Two agents that ask for each other's cells both stay."""
    check(collisions, ".ab.. .....", "><", ".ab.. .....", (SWAP, SWAP))


def test_none_lets_agents_swap_and_share() -> None:
    """Without collisions agents pass through one another and may share a cell."""
    check("none", ".ab.. .....", "><", ".ba.. .....", (MOVED, MOVED))
    env = world("a.b.. .....", collisions="none")
    infos = play(env, "><")[-1]
    assert env.state()[:, :2].tolist() == [[1, 0], [1, 0]]
    assert [info["outcome"] for info in infos.values()] == [MOVED, MOVED]


@pytest.mark.parametrize(
    ("collisions", "after", "outcomes"),
    [
        ("symmetric", "a.b.. .....", (CONTESTED, CONTESTED)),
        ("block_both", "a.b.. .....", (CONTESTED, CONTESTED)),
        ("priority", ".ab.. .....", (MOVED, CONTESTED)),
        ("soft", ".ab.. .....", (MOVED, CONTESTED)),
    ],
)
def test_a_contested_cell(collisions: str, after: str, outcomes: tuple[Outcome, ...]) -> None:
    """A free cell that two ask for goes to nobody, or under priority and soft to the lower index."""
    check(collisions, "a.b.. .....", "><", after, outcomes)


@pytest.mark.parametrize(
    ("collisions", "after", "outcomes"),
    [
        ("symmetric", ".b... a.c.. .....", (CONTESTED, CONTESTED, CONTESTED)),
        ("block_both", ".b... a.c.. .....", (CONTESTED, CONTESTED, CONTESTED)),
        ("priority", ".b... .ac.. .....", (MOVED, CONTESTED, CONTESTED)),
        ("soft", ".b... .ac.. .....", (MOVED, CONTESTED, CONTESTED)),
    ],
)
def test_three_newcomers(collisions: str, after: str, outcomes: tuple[Outcome, ...]) -> None:
    """A free cell that three ask for is settled as one that two ask for."""
    check(collisions, ".b... a.c.. .....", ">v<", after, outcomes)


@pytest.mark.parametrize(
    ("collisions", "after", "outcomes"),
    [
        ("symmetric", ".abc. .....", (MOVED, MOVED, MOVED)),
        ("soft", ".abc. .....", (MOVED, MOVED, MOVED)),
        ("block_both", "ab.c. .....", (OCCUPIED, OCCUPIED, MOVED)),
        ("priority", "ab.c. .....", (OCCUPIED, OCCUPIED, MOVED)),
    ],
)
def test_following(collisions: str, after: str, outcomes: tuple[Outcome, ...]) -> None:
    """A row of agents moves as one, or where following is forbidden only its head does."""
    check(collisions, "abc.. .....", ">>>", after, outcomes)


def test_priority_lets_a_higher_index_follow_a_lower_one() -> None:
    """Under priority a cell is free for those whose turn comes after its occupant has left."""
    check("priority", "cba.. .....", ">>>", ".cba. .....", (MOVED, MOVED, MOVED))


@pytest.mark.parametrize("collisions", ["symmetric", "soft"])
@pytest.mark.parametrize(
    ("before", "actions", "head"),
    [("..abc .....", ">>>", EDGE), (".abc# .....", ">>>", WALL), ("..abc .....", ">>-", STAYED)],
)
def test_a_blocked_head_holds_up_the_row(collisions: str, before: str, actions: str, head: Outcome) -> None:
    """Who asks for the cell of one who stays, stays, and so does everyone behind."""
    check(collisions, before, actions, before, (OCCUPIED, OCCUPIED, head))


def test_the_row_is_held_up_whatever_the_order_of_its_agents() -> None:
    """The chain of refusals reaches agents of lower and of higher index alike."""
    check("symmetric", "..cab .....", ">>>", "..cab .....", (OCCUPIED, EDGE, OCCUPIED))
    check("symmetric", "..cba .....", ">>>", "..cba .....", (EDGE, OCCUPIED, OCCUPIED))


@pytest.mark.parametrize("collisions", BLOCKING)
def test_a_parked_agent_holds_up_the_row(collisions: str) -> None:
    """Whatever a parked agent is asked to do, it stays, and so does the whole row behind it."""
    env = world("abCc. A...B", collisions=collisions, on_target="park")
    play(env, "--<")
    *_, infos = play(env, ">>v")
    assert [info["outcome"] for info in infos.values()] == [OCCUPIED, OCCUPIED, PARKED]
    assert drawn(env, "abCc. A...B") == "abc..\n....."


@pytest.mark.parametrize(
    ("collisions", "after", "outcomes"),
    [
        ("symmetric", ".ad.. .bc.. .....", (MOVED, MOVED, MOVED, MOVED)),
        ("soft", ".ad.. .bc.. .....", (MOVED, MOVED, MOVED, MOVED)),
        ("block_both", ".ba.. .cd.. .....", (OCCUPIED,) * 4),
        ("priority", ".ba.. .cd.. .....", (OCCUPIED,) * 4),
    ],
)
def test_a_rotation(collisions: str, after: str, outcomes: tuple[Outcome, ...]) -> None:
    """Four agents in a ring change places where cycles are allowed, and stay where they are not."""
    check(collisions, ".ba.. .cd.. .....", "<v>^", after, outcomes)


@pytest.mark.parametrize("collisions", ["symmetric", "soft"])
def test_longer_rings(collisions: str) -> None:
    """Six agents in a ring go round as four do (on a grid no ring is odd), unless one of them stays."""
    ring = "abc... fed... ......"
    check(collisions, ring, ">>v<<^", "fab... edc... ......", (MOVED,) * 6)
    check(collisions, ring, ">>v<-^", ring, (*(OCCUPIED,) * 4, STAYED, OCCUPIED))


@pytest.mark.parametrize(
    ("collisions", "after", "outcomes"),
    [
        ("symmetric", ".b... a.dc. .....", (CONTESTED, CONTESTED, OCCUPIED, CONTESTED)),
        ("soft", ".b... .adc. .....", (MOVED, CONTESTED, OCCUPIED, CONTESTED)),
        ("block_both", ".b... a.dc. .....", (CONTESTED, CONTESTED, OCCUPIED, CONTESTED)),
        ("priority", ".b... .adc. .....", (MOVED, CONTESTED, OCCUPIED, CONTESTED)),
    ],
)
def test_refusals_spread_from_a_contested_cell(collisions: str, after: str, outcomes: tuple[Outcome, ...]) -> None:
    """Who follows an agent that was refused a contested cell is refused too, for its cell stays occupied."""
    check(collisions, ".b... a.dc. .....", ">v<<", after, outcomes)


def test_softs_refused_winner_does_not_pass_the_cell_on() -> None:
    """Under soft the lowest index wins the cell of c, c stays, and the cell goes to nobody."""
    check("soft", ".b... acd.. .....", ">v-<", ".b... acd.. .....", (CONTESTED, CONTESTED, STAYED, CONTESTED))


def test_an_occupied_cell_that_two_ask_for() -> None:
    """A cell that two newcomers ask for goes to none of them under symmetric, though its occupant leaves it."""
    check("symmetric", ".b... ac... .....", ">vv", ".b... a.... .c...", (CONTESTED, CONTESTED, MOVED))
    check("soft", ".b... ac... .....", ">vv", ".b... .a... .c...", (MOVED, CONTESTED, MOVED))
    check("priority", ".b... ac... .....", ">vv", ".b... a.... .c...", (CONTESTED, CONTESTED, MOVED))
    check("block_both", ".b... ac... .....", ">vv", ".b... a.... .c...", (CONTESTED, CONTESTED, MOVED))


@pytest.mark.parametrize(
    ("collisions", "after", "outcomes"),
    [
        ("symmetric", ".b... a.d.. .c...", (CONTESTED, CONTESTED, MOVED, CONTESTED)),
        ("soft", ".b... .ad.. .c...", (MOVED, CONTESTED, MOVED, CONTESTED)),
        ("block_both", ".b... a.d.. .c...", (CONTESTED, CONTESTED, MOVED, CONTESTED)),
        ("priority", ".b... ad... .c...", (CONTESTED, CONTESTED, MOVED, MOVED)),
    ],
)
def test_three_newcomers_to_a_cell_that_is_left(collisions: str, after: str, outcomes: tuple[Outcome, ...]) -> None:
    """Of three newcomers soft lets in the first; priority, the first whose turn comes after the occupant's."""
    check(collisions, ".b... acd.. .....", ">vv<", after, outcomes)


def test_swapping_is_reported_before_contesting() -> None:
    """Of an agent that would swap and whose cell a third one asks for, the swap is the outcome."""
    check("symmetric", "..c.. .ab.. .....", "><v", "..c.. .ab.. .....", (SWAP, SWAP, CONTESTED))
    check("symmetric", "cab.. .....", "><>", "cab.. .....", (SWAP, SWAP, CONTESTED))
    check("soft", "bac.. .....", "<>-", "bac.. .....", (SWAP, SWAP, STAYED))
    check("soft", "abc.. .....", "><<", "abc.. .....", (SWAP, SWAP, CONTESTED))


def test_parked_is_reported_before_all_else() -> None:
    """The outcome of a parked agent is PARKED, whatever it asks for: to stay, the edge, a wall, or another's cell."""
    env = world("#Bc.. abC.. ....A", on_target="park")
    play(env, "-^-")
    for action in "-^<v>":
        assert play(env, f"-{action}-")[-1]["agent_1"]["outcome"] == PARKED
    assert env.state()[1, :2].tolist() == [1, 0]


@pytest.mark.parametrize("collisions", BLOCKING)
def test_parked_agents_are_obstacles(collisions: str) -> None:
    """An agent on its target ignores its actions, which its outcome says, and stands in the way of the others."""
    env = world("aA.b# ....B", collisions=collisions, on_target="park")
    _, rewards, terminations, _, infos = play(env, "><")
    assert (rewards, terminations) == ({"agent_0": 1.0, "agent_1": 0.0}, {"agent_0": False, "agent_1": False})
    assert infos["agent_0"] == {"distance": 0.0, "outcome": MOVED, "arrived": 1}
    _, rewards, *_, infos = play(env, ">-")
    assert rewards == {"agent_0": 0.0, "agent_1": 0.0}
    _, rewards, *_, infos = play(env, "v<")
    assert [info["outcome"] for info in infos.values()] == [PARKED, OCCUPIED]
    assert env.state()[:, :2].tolist() == [[1, 0], [2, 0]]


def test_park_terminates_everyone_with_the_last_arrival() -> None:
    """Under park nobody terminates before all have arrived, and then all do, each rewarded once."""
    env = world("aA... bB.C. c....", on_target="park")
    steps = [play(env, actions) for actions in (">-^", "v--", "->>", "-->", "-->")]
    assert [list(rewards.values()) for _, rewards, *_ in steps] == [
        [1, 0, 0],
        [0, 0, 0],
        [0, 1, 0],
        [0, 0, 0],
        [0, 0, 0],
    ]
    assert not any(any(terminations.values()) for _, _, terminations, *_ in steps)
    assert env.agents == env.possible_agents
    _, rewards, terminations, truncations, _ = play(env, "--^")
    assert rewards == {"agent_0": 0.0, "agent_1": 0.0, "agent_2": 1.0}
    assert all(terminations.values())
    assert not any(truncations.values())
    assert env.agents == []


def test_leave_frees_the_cell_from_the_next_step() -> None:
    """Under leave an agent is gone after its arrival: others may enter its cell in the next step, not in the same."""
    env = world("abB.. ..A..", on_target="leave", view_radius=1, observe=("agent", "target", "others", "view"))
    observations, rewards, terminations, _, infos = play(env, ">>")
    assert rewards == {"agent_0": 0.0, "agent_1": 1.0}
    assert terminations == {"agent_0": False, "agent_1": True}
    assert infos["agent_1"] == {"distance": 0.0, "outcome": MOVED, "arrived": 1}
    assert env.agents == ["agent_0"]
    assert observations["agent_0"]["others"].tolist() == [[-1, -1]]
    assert observations["agent_0"]["view"][1].tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert observations["agent_1"]["agent"].tolist() == observations["agent_1"]["target"].tolist() == [2, 0]
    assert observations["agent_1"]["view"][1].sum() == 1  # agent_0 next to it, its own centre empty
    assert env.state().tolist() == [[1, 0, 2, 1], [-1, -1, -1, -1]]
    observations, *_ = play(env, ">")
    assert list(observations) == ["agent_0"]
    _, rewards, terminations, *_ = play(env, "v")
    assert (rewards, terminations, env.agents) == ({"agent_0": 1.0}, {"agent_0": True}, [])


def test_leave_keeps_the_cell_closed_in_the_step_of_arrival() -> None:
    """Who comes later in a step, wanting the cell in which another has just arrived, meets it there."""
    env = world("aAb.. ...B.", on_target="leave", collisions="priority")
    _, _, terminations, _, infos = play(env, "><")
    assert terminations == {"agent_0": True, "agent_1": False}
    assert [info["outcome"] for info in infos.values()] == [MOVED, CONTESTED]
    *_, infos = play(env, "<")
    assert infos["agent_1"]["outcome"] == MOVED
    assert env.state()[1, :2].tolist() == [1, 0]


def test_stay_rewards_everyone_when_all_stand_at_once() -> None:
    """Under stay an agent may walk off again, and only all together end the episode, with reward 1 for everyone."""
    env = world("aA... .Bb..", on_target="stay")
    _, rewards, terminations, *_ = play(env, ">-")
    assert not any([*rewards.values(), *terminations.values()])
    _, rewards, terminations, *_ = play(env, "<<")
    assert not any([*rewards.values(), *terminations.values()])
    _, rewards, terminations, *_ = play(env, ">-")
    assert list(rewards.values()) == [1.0, 1.0]
    assert all(terminations.values())
    assert env.agents == []


def test_restart_gives_a_new_target_in_the_step_of_arrival() -> None:
    """Under restart an arrival is rewarded, nobody terminates, and observation and distance show the new target."""
    env = world("aA..# .....", on_target="restart", max_cycles=None)
    observations, rewards, terminations, _, infos = play(env, ">")
    target = observations["agent_0"]["target"].tolist()
    assert rewards == {"agent_0": 1.0}
    assert terminations == {"agent_0": False}
    assert target != [1, 0]
    assert infos["agent_0"] == {"distance": float(abs(target[0] - 1) + target[1]), "outcome": MOVED, "arrived": 1}
    assert env.state().tolist() == [[1, 0, *target]]


def test_restarts_targets_are_drawn_from_the_stream_in_agent_order() -> None:
    """Two that arrive in one step get targets by index, x before y, again until free, reachable and not their cell."""
    picture = "aA..# B..#. b...."
    for seed in range(20):
        env = world(picture, on_target="restart", collisions="priority")
        env.np_random = np.random.default_rng(seed)
        stream, expected = np.random.default_rng(seed), []
        play(env, ">^")
        for own in ((1, 0), (0, 1)):
            while True:
                cell = (int(stream.integers(5)), int(stream.integers(3)))
                if cell not in (own, (4, 0), (3, 1)):
                    break
            expected.append(list(cell))
        # The cell [4, 1] is open to the last row, so all free cells are reachable.
        assert env.state()[:, 2:].tolist() == expected


def test_restart_may_give_another_agents_target() -> None:
    """A new target is a cell that the agent can reach, though another has the same target, or stands there."""
    env = parallel_env(size=(2, 1), num_agents=2, on_target="restart", collisions="none", allow_stay=True)
    env.reset(seed=0, options={"agents": [[0, 0], [1, 0]], "targets": [[1, 0], [0, 0]]})
    play(env, ">-")
    assert env.state().tolist() == [[1, 0, 0, 0], [1, 0, 0, 0]]
    play(env, "<-")
    play(env, "-<")
    assert env.state().tolist() == [[0, 0, 1, 0], [0, 0, 1, 0]]


def test_restart_stays_within_reach() -> None:
    """A new target never lies behind walls."""
    for seed in range(10):
        env = world("aA#... ..####", on_target="restart", max_cycles=None)
        env.np_random = np.random.default_rng(seed)
        play(env, ">")
        assert env.state()[0, 2:].tolist() in ([0, 0], [0, 1], [1, 1])


@pytest.mark.parametrize(("reward", "expected"), [("individual", [0, 1, 0]), ("shared", [1 / 3] * 3)])
def test_shared_rewards_are_the_mean(reward: str, expected: list[float]) -> None:
    """Shared, one arrival of three gives everyone a third."""
    env = world("bB... a.... c....", on_target="park", reward=reward)
    assert list(play(env, "->-")[1].values()) == pytest.approx(expected)


def test_shared_rewards_are_those_of_the_agents_still_there() -> None:
    """Shared, under leave, the mean is over those who were there when the step began, so the sum stays the arrivals."""
    env = world("aA... b.B.. c..C.", on_target="leave", reward="shared")
    given = [sum(play(env, actions)[1].values()) for actions in (">>>", ">>", ">")]
    assert given == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_the_limit_truncates_everyone(on_target: str) -> None:
    """With the last step of the limit everyone present is truncated, also one that terminates in it."""
    env = world("a.A.. .....", on_target=on_target, max_cycles=2)
    *_, truncations, _ = play(env, ">")
    assert truncations == {"agent_0": False}
    _, _, terminations, truncations, _ = play(env, ">")
    assert truncations == {"agent_0": True}
    assert terminations == {"agent_0": on_target != "restart"}
    assert env.agents == []


def test_the_limit_truncates_the_parked_too() -> None:
    """At the limit those who have parked and those who have not are truncated alike, and nobody terminates."""
    env = world("aA.b. ....B", on_target="park", max_cycles=2)
    play(env, ">-")
    _, rewards, terminations, truncations, _ = play(env, "--")
    assert rewards == {"agent_0": 0.0, "agent_1": 0.0}
    assert terminations == {"agent_0": False, "agent_1": False}
    assert truncations == {"agent_0": True, "agent_1": True}
    assert env.agents == []


def test_leavers_of_the_last_step_are_truncated_and_earlier_ones_get_nothing() -> None:
    """An agent that left earlier has no entry; those of the last step, leaving or not, are truncated."""
    env = world("aA... b.B.. c....", on_target="leave", max_cycles=2)
    play(env, ">>-")
    _, _, terminations, truncations, _ = play(env, ">-")
    assert terminations == {"agent_1": True, "agent_2": False}
    assert truncations == {"agent_1": True, "agent_2": True}
    assert env.agents == []


GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "pogema_episodes.json").read_text())


@pytest.mark.parametrize(
    "episode", GOLDEN, ids=[f"{e['collisions']}-{e['on_target']}-{len(e['starts'])}" for e in GOLDEN]
)
def test_pogemas_rules(episode: dict[str, Any]) -> None:
    """POGEMA's recorded episodes are played step by step: locations, rewards, terminations, who is there, and views."""
    walls = np.array([[character == "#" for character in row] for row in episode["map"]]).T
    n = len(episode["starts"])
    env = parallel_env(
        walls=walls,
        num_agents=n,
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
            gone = agent in left
            assert at[i] == (locations[i] if locations[i] is not None else [-1, -1]), (k, agent)
            assert given.get(agent, 0.0) == rewards[i], (k, agent)
            assert (terminations.get(agent, False) or gone) == terminated[i], (k, agent)
        assert set(env.agents) == {agent for agent in present if not terminations[agent]}
    assert seen == len(views) * n


@pytest.mark.parametrize(
    ("picture", "on_target", "steps"),
    [
        ("aA.b# ....B", "park", [("><", [1, 0]), (">-", [0, 0])]),
        ("abB.. ..A..", "leave", [(">>", [0, 1]), (">", [0]), ("v", [1])]),
        ("aA... .Bb..", "stay", [(">-", [1, 0]), ("--", [0, 0]), ("<<", [0, 1]), ("-<", [0, 0]), (">>", [1, 1])]),
        ("aA..# b...B", "restart", [(">-", [1, 0]), ("--", [0, 0])]),
    ],
)
@pytest.mark.parametrize("reward", ["individual", "shared"])
def test_infos_tell_who_arrives(picture: str, on_target: str, steps: list[tuple[str, list[int]]], reward: str) -> None:
    """The info `arrived` is 1 in the step in which an agent comes to its target and 0 while it stands there."""
    env, other = (world(picture, on_target=on_target, reward=reward) for _ in range(2))
    for actions, arrived in steps:
        infos = play(env, actions)[-1]
        assert [info["arrived"] for info in infos.values()] == arrived
        assert {type(info["arrived"]) for info in infos.values()} == {int}
        other.set_state(env.get_state())
        np.testing.assert_array_equal(other._worlds.arrays.arrived, env._worlds.arrays.arrived)
    assert {info["arrived"] for info in env.reset()[1].values()} == {0}
