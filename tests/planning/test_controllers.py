"""Controllers play whole episodes: every move is granted, and what each promises about its method holds."""

import functools

import numpy as np
import pytest

from helpers import check_pickles
from multigrid import GridConfig, MultiGridEnv, planning, vector_env
from multigrid.maps import RandomWalls
from multigrid.maps._cells import distances_to
from multigrid.policies import pretrained

METHODS = ["pibt", "windowed"]
RULES = ["restart", "stay", "leave", "park"]
# Not square, not symmetric, with a corridor and a dead end.
MAP = """\
........#
.##.#.#..
....#....
.#.....#.
...#.#...
.#.....##"""


def play(env, policy, seed, most):
    """Play an episode with a policy; return the locations before each step, (T + 1, N, 2), and the statuses."""
    observations, _ = env.reset(seed=seed)
    states = [env.get_state()]
    while env.agents and len(states) <= most:
        observations, *_ = env.step(policy(env, observations))
        states.append(env.get_state())
        # Moved, stayed or parked: no move was refused.
        assert set(states[-1]["outcomes"].tolist()) <= {0, 1, 7}, states[-1]["outcomes"]
    return np.stack([state["location"] for state in states]), np.stack([state["status"] for state in states])


def make(on_target, num_agents=8, **options):
    """Return an environment on the map."""
    options = {"allow_stay": True, "max_cycles": 120, **options}
    return MultiGridEnv(GridConfig(walls=MAP, num_agents=num_agents, on_target=on_target, **options))


@pytest.mark.parametrize("collisions", ["symmetric", "soft"])
@pytest.mark.parametrize("on_target", RULES)
@pytest.mark.parametrize("method", METHODS)
def test_every_move_is_granted(method, on_target, collisions):
    """No two agents are in a cell, no two swap, and the game refuses no move."""
    env = make(on_target, collisions=collisions)
    policy = planning.controller(method, seed=3)
    for seed in range(2):
        cells, statuses = play(env, policy, seed, 40)
        for before, after, status in zip(cells, cells[1:], statuses, strict=False):
            there = list(map(tuple, after[status != 2].tolist()))
            assert len(set(there)) == len(there)
            moves = set(zip(map(tuple, before.tolist()), map(tuple, after.tolist()), strict=True))
            assert not any(old != new and (new, old) in moves for old, new in moves)


@pytest.mark.parametrize("method", [*METHODS, "lacam"])
def test_drawn_maps_are_planned_on(method):
    """Controllers and the pretrained policy plan on the map of each episode: with drawn agents, all arrive."""
    walls, rules = RandomWalls(side=(6, 9), density=0.2), {"collisions": "soft", "on_target": "leave"}
    env = MultiGridEnv(GridConfig(walls=walls, num_agents=(2, 4), allow_stay=True, max_cycles=120, **rules))
    orders = (planning.controller(method, keep_order=keep_order) for keep_order in (False, True))
    for policy in (*orders, pretrained(shield=True)):
        for seed in range(4):
            observations, _ = env.reset(seed=seed)
            while env.agents:
                observations, *_ = env.step(policy(env, observations))
            assert env.metrics()["csr"] == 1


@pytest.mark.parametrize("on_target", ["stay", "leave"])
@pytest.mark.parametrize("num_agents", [2, 12])
def test_pibt_arrives(on_target, num_agents):
    """All agents reach their targets, also in a crowd."""
    env = make(on_target, num_agents)
    for seed in range(4):
        play(env, planning.controller("pibt"), seed, 120)
        assert env.metrics()["success"].all()


def test_windows_bring_more_arrivals():
    """In a crowd, planning some steps ahead is better than one step at a time."""
    arrivals, env = dict.fromkeys(METHODS, 0), make("restart", num_agents=14, max_cycles=60)
    for method in METHODS:
        for seed in range(3):
            play(env, planning.controller(method), seed, 60)
            arrivals[method] += int(env.get_state()["arrivals"].sum())
    assert arrivals["windowed"] > 1.2 * arrivals["pibt"], arrivals


@pytest.mark.parametrize("method", METHODS)
def test_where_agents_pass_through_one_another_they_take_shortest_paths(method):
    """Under *none* each agent arrives after as many steps as if it were alone."""
    env = make("leave", collisions="none", allow_stay=False)
    policy = planning.controller(method)
    for seed in range(3):
        starts = play(env, policy, seed, 120)[0][0]
        tables = [distances_to(env.config.components[0], target) for target in env.get_state()["target"].tolist()]
        away = [table[tuple(start)] for table, start in zip(tables, starts, strict=True)]
        assert env.metrics()["arrival_step"].tolist() == away


@pytest.mark.parametrize("method", METHODS)
def test_a_lone_agent_needs_no_stay_action(method):
    """One agent never waits, so it walks without the stay action, too."""
    env = make("restart", num_agents=1, allow_stay=False)
    play(env, planning.controller(method), 0, 60)
    assert env.get_state()["arrivals"][0] > 4


@pytest.mark.parametrize("method", METHODS)
def test_another_episode_is_noticed(method):
    """A controller that has played other episodes and environments plays the next one as a new controller does."""
    used, pool = planning.controller(method, seed=5), [MAP, MAP[::-1]]
    configs = [make("restart").config, make("stay", num_agents=3).config, GridConfig(walls=pool, allow_stay=True)]
    for config in [*configs, *configs]:
        for seed in (1, 2):
            again = play(MultiGridEnv(config), used, seed, 8)[0]
            np.testing.assert_array_equal(again, play(MultiGridEnv(config), planning.controller(method, 5), seed, 8)[0])


@pytest.mark.parametrize("method", METHODS)
def test_a_state_that_nobody_planned_is_planned_from(method):
    """After a jump to another state, moves are still granted."""
    env, policy = make("restart"), planning.controller(method)
    play(env, policy, 0, 5)
    other = make("restart")
    play(other, planning.controller("pibt"), 7, 9)
    env.set_state(other.get_state())
    for _ in range(5):
        env.step(policy(env, {}))
        assert set(env.get_state()["outcomes"].tolist()) <= {0, 1}


def test_a_plan_is_dropped_where_targets_have_changed():
    """A later state with the planned cells, but other targets, is planned for anew."""
    env, policy = MultiGridEnv(GridConfig(walls="a...A\n.....", on_target="leave")), planning.controller("lacam")
    env.reset()
    env.step(policy(env, {}))
    env.reset(options={"agents": [[0, 0]], "targets": [[1, 1]]})
    env.step({"agent_0": 0})
    env.step(policy(env, {}))
    assert env.metrics()["csr"] == 1


def test_what_is_not_supported_is_refused():
    """The message names the option or the argument, and for rules what to do."""
    rules = ({"collisions": "priority"}, {"collisions": "block_both"}, {"allow_stay": False})
    words = ("collisions is 'priority'", "collisions is 'block_both'", "allow_stay=True")
    for options, message in zip(rules, words, strict=True):
        envs = make("restart", **options), vector_env(2, num_agents=2, **{"allow_stay": True, **options})
        for env in envs:
            env.reset(seed=0)
        for method in METHODS:
            with pytest.raises(ValueError, match=message):
                planning.controller(method)(envs[0], {})
        with pytest.raises(ValueError, match=message):
            planning.expert(envs[1])
    env = make("restart")
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"or use multigrid\.planning\.controller with 'pibt' or 'windowed'$"):
        planning.controller("lacam")(env, {})
    for arguments, message in ((("cbs",), "method"), (("pibt", -1), "seed")):
        with pytest.raises(ValueError, match=message):
            planning.controller(*arguments)


@pytest.mark.parametrize("method", METHODS)
def test_controllers_see_the_present_targets(method):
    """Controllers go to the targets of the lists, one after the other, repeated ones too."""
    lists = [[[6, 0], [6, 0], [6, 0], [0, 0]], [[0, 2], [0, 2], [6, 2]]]
    rules = {"on_target": "restart", "allow_stay": True, "collisions": "soft", "max_cycles": 30}
    env = MultiGridEnv(GridConfig(walls=np.zeros((7, 3), bool), num_agents=2, **rules))
    observations, _ = env.reset(options={"agents": [[0, 0], [6, 2]], "targets": lists})
    policy = planning.controller(method)
    arrivals = [[], []]
    while env.agents:
        observations, *_, infos = env.step(policy(env, observations))
        for agent, info in enumerate(infos.values()):
            if info["arrived"]:
                arrivals[agent].append(int(env.get_state()["steps"]))
    # Six cells there, repeated targets one step later each, six cells back.
    assert arrivals[0] == [6, 7, 8, 14, 20, 21, 22, 28]
    assert arrivals[1] == [6, 7, 13, 19, 20, 26]


@pytest.mark.parametrize(("on_target", "methods"), [("stay", ["pibt", "windowed", "lacam"]), ("restart", METHODS)])
def test_a_pickled_controller_goes_on(on_target, methods, tmp_path):
    """Pickled before an episode or within, a controller acts in another process as it would have here."""
    makes = [functools.partial(planning.controller, method, 3) for method in methods]
    if on_target == "stay":
        makes.append(functools.partial(planning.controller, "windowed", 3, keep_order=True))
    config = make(on_target, max_cycles=30, delays=0.2).config
    assert max(check_pickles(makes, config, tmp_path)) < 50_000
