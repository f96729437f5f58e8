"""A subclass of `GridWorldEnv` plays as the same subclass of the documented class; and each documented member works."""

import copy
import pickle
import re

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import judged
from editions import by_edition
from multigrid import GridWorldEnv, Outcome, RowColumnGridWorldEnv
from multigrid.envs.grid_world import Actions


class _Documented:
    """What is added to each of the two classes: those below are played by both."""


class _AddsToWhatIsReturned(_Documented):
    """The class overrides `_get_obs` and `_get_info`, and calls those of its base."""

    def _get_obs(self):
        return {**super()._get_obs(), "offset": self._target_location - self._agent_location}

    def _get_info(self):
        return {**super()._get_info(), "corner": int(self._agent_location.sum()), "side": self.size}


class _ObservesWithNoise(_Documented):
    """The class draws from `np_random` in `_get_obs`, and observes a vector."""

    def __init__(self, **options):
        super().__init__(**options)
        self.observation_space = gymnasium.spaces.Box(-9, 99, (4,))

    def _get_obs(self):
        cells = np.concatenate([self._agent_location, self._target_location])
        return (cells + self.np_random.normal(size=4)).astype(np.float32)


class _DrawsAsInTheDocuments(_Documented):
    """The class has the whole documented `reset`, which draws once more after that of its base."""

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self._agent_location = self.np_random.integers(0, self.size, size=2, dtype=int)
        self._target_location = self._agent_location
        while np.array_equal(self._target_location, self._agent_location):
            self._target_location = self.np_random.integers(0, self.size, size=2, dtype=int)
        return self._get_obs(), self._get_info()


class _NeverCallsItsBasesReset(_Documented):
    """The class seeds with the `reset` of `gymnasium.Env`, and places agent and target itself."""

    def reset(self, seed=None, options=None):
        gymnasium.Env.reset(self, seed=seed)
        self._agent_location = self.np_random.integers(0, self.size, size=2)
        self._target_location = self.np_random.integers(0, self.size, size=2)
        return self._get_obs(), self._get_info()


class _SetsLocations(_Documented):
    """The class sets the agent now and then before a step, also onto the target, which it moves after each step."""

    def step(self, action):
        draw = self.np_random.random()
        if draw < 0.3:
            self._agent_location = self.np_random.integers(self.size, size=2) if draw < 0.2 else self._target_location
        _, *returned, _ = super().step(action)
        drift = self.np_random.integers(-1, 2, size=2)
        self._target_location = np.clip(self._target_location + drift, 0, self.size - 1)
        return self._get_obs(), *returned, self._get_info()


class _MovesByItself(_Documented):
    """The class has a `step` of its own: over an edge to the opposite side, with a reward of its own."""

    def step(self, action):
        self._agent_location = (self._agent_location + self._action_to_direction[action]) % self.size
        terminated = np.array_equal(self._agent_location, self._target_location)
        if self.render_mode == "human":
            self._render_frame()
        return self._get_obs(), 10 if terminated else -1, terminated, False, self._get_info()


class _StoresWhatItLikes(_Documented):
    """The class has attributes of its own, whose names are short, and counts its steps."""

    def reset(self, seed=None, options=None):
        self._seed = self._agent = self._target = self._action = self._reward = self._terminated = None
        self._distance = self._cells = self._size = self._steps = self._early = self._locations_seen = 0
        return super().reset(seed=seed, options=options)

    def step(self, action):
        self._steps += 1
        self._action, self._reward = action, -self._steps
        observation, _, terminated, _, info = super().step(action)
        return observation, self._reward, terminated, self._steps == 30, info


class _HasTheDocumentsConstructor(_Documented):
    """The class sets everything up itself, as in the documents, and has a fifth action that walks diagonally."""

    metadata = GridWorldEnv.metadata

    def __init__(self, render_mode=None, size=5):
        self.size = size
        self.window_size = 512
        self.action_space = gymnasium.spaces.Discrete(5)
        self._agent_location = np.array([-1, -1], dtype=np.int32)
        self._target_location = np.array([-1, -1], dtype=np.int32)
        cell = gymnasium.spaces.Box(0, size - 1, shape=(2,), dtype=int)
        self.observation_space = gymnasium.spaces.Dict({"agent": cell, "target": cell})
        self._action_to_direction = {
            Actions.RIGHT.value: np.array([1, 0]),
            Actions.UP.value: np.array([0, 1]),
            Actions.LEFT.value: np.array([-1, 0]),
            Actions.DOWN.value: np.array([0, -1]),
            4: np.array([-1, 1]),
        }
        assert render_mode is None or render_mode in self.metadata["render_modes"]
        self.render_mode = render_mode
        self.window = None
        self.clock = None


class _ChangesADirection(_Documented):
    """The class changes a direction in place at each step, in length too."""

    def step(self, action):
        self._action_to_direction[action][:] = self.np_random.integers(-2, 3, size=2)
        return super().step(action)


class _IsPushed(_Documented):
    """The class writes into both locations; the agent's leaves the grid for a line, and the target's is kept."""

    def reset(self, seed=None, options=None):
        returned = super().reset(seed=seed, options=options)
        self.goal = self._target_location
        return returned

    def step(self, action):
        self._agent_location += self.np_random.integers(-1, 2, size=2)
        self._agent_location = np.clip(self._agent_location, 0, self.size - 1)
        self._agent_location[1] = self.size - 1 - self._agent_location[1]
        self.goal[0] = self.np_random.integers(self.size)
        return super().step(action)


SUBCLASSES = _Documented.__subclasses__()


def shown(value):
    """A value that == compares, arrays with their dtype, whatever the type of a float."""
    if isinstance(value, dict):
        return {name: shown(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return tuple(map(shown, value))
    return (value.dtype.name, value.tolist()) if isinstance(value, np.ndarray) else value


def places(env):
    """Where agent and target are."""
    return shown((env._agent_location, env._target_location))


def looks(env):
    """Where agent and target are, the observation and the info."""
    return places(env), shown(env._get_obs()), shown(env._get_info())


def both(edition, added, size, **options):
    """An env of the subclass of each class of an edition; None is the class itself."""
    bases = [(base,) if added is None else (added, base) for base in (edition.env, edition.documented)]
    return [type("Subclass", base, {})(size=size, **options) for base in bases]


@by_edition
@pytest.mark.parametrize("added", SUBCLASSES)
def test_subclasses_play_as_those_of_the_documented_class(edition, added):
    """Whole episodes, and steps after their ends, are the same in all that is returned, in locations and in streams."""
    env, oracle = both(edition, added, 4)
    assert env.action_space == oracle.action_space
    random, ends = np.random.default_rng(4), 0
    assert shown(env.reset(seed=5)) == shown(oracle.reset(seed=5))
    for _ in range(600):
        action = int(random.integers(env.action_space.n))
        came = shown(env.step(action))
        assert came == shown(oracle.step(action))
        assert places(env) == places(oracle)
        # Half of the episodes are played on after their ends.
        if (came[2] or came[3]) and random.random() < 0.5:
            ends += 1
            assert shown(env.reset()) == shown(oracle.reset())
    assert ends > 2
    assert str(env.np_random.bit_generator.state) == str(oracle.np_random.bit_generator.state)


@by_edition
@pytest.mark.parametrize("added", SUBCLASSES)
def test_frames_of_subclasses(edition, added):
    """The frames of a subclass are those of the same subclass of the documented class, at any size of the window."""
    env, oracle = both(edition, added, 4, render_mode="rgb_array")
    env.window_size = oracle.window_size = 120
    for one in (env, oracle):
        one.reset(seed=1)
    for action in (0, 1, 1, 2, 3, 0):
        env.step(action), oracle.step(action)
        np.testing.assert_array_equal(env.render(), oracle.render())
        np.testing.assert_array_equal(env._render_frame(), oracle._render_frame())
    assert env.render().shape == (120, 120, 3)


class _DrawsItsOwnFrames:
    """The class overrides `_render_frame`, and counts the calls."""

    calls = ()

    def _render_frame(self):
        self.calls += (self._agent_location.tolist(),)
        return 255 - np.zeros((2, 2, 3), np.uint8)


@by_edition
@pytest.mark.parametrize("mode", [None, "human", "rgb_array"])
def test_own_frames(edition, mode):
    """Each reset and step of a window, and each `render` of frames, calls the `_render_frame` of a subclass."""
    env, oracle = both(edition, _DrawsItsOwnFrames, 3, render_mode=mode)
    env.reset(seed=2), oracle.reset(seed=2)
    for action in (0, 1, 2):
        env.step(action), oracle.step(action)
        if mode == "rgb_array":
            assert env.render().tolist() == oracle.render().tolist()
        else:
            assert env.render() is None
    assert env.calls == oracle.calls
    assert len(env.calls) == {None: 0, "human": 4, "rgb_array": 3}[mode]


@by_edition
@pytest.mark.parametrize("seed", range(2))
def test_locations_are_set_at_any_time(edition, seed):
    """Each location may be set alone, between any two steps; the states can be saved, restored and played on."""
    env, oracle = both(edition, None, 3)
    other, random = edition.env(size=3), np.random.default_rng(seed)
    env.reset(seed=seed), oracle.reset(seed=seed)
    for _ in range(400):
        match int(random.integers(8)):
            case 0:
                env._agent_location = oracle._agent_location = random.integers(3, size=2)
            case 1:
                env._target_location = oracle._target_location = random.integers(3, size=2)
            case 2:
                env._agent_location, oracle._agent_location = env._target_location, oracle._target_location
            case 3:
                env._target_location, oracle._target_location = env._agent_location, oracle._agent_location
            case 4:
                assert shown(env.reset()) == shown(oracle.reset())
            case _:
                action = int(random.integers(4))
                assert shown(env.step(action)) == shown(oracle.step(action))
        assert looks(env) == looks(oracle)
        state = env.get_state()
        assert judged.breaches(env.config, state) == []
        other.set_state(state)
        assert shown(other.step(1)) == shown(copy.deepcopy(oracle).step(1))


@by_edition
def test_the_end_is_found_by_the_next_step(edition):
    """An agent that is set onto its target arrives by the next step, if it still stands there, and no second time."""
    env = edition.env(size=3)
    env.reset(seed=0)
    env._agent_location = env._target_location = [0, 2]
    metrics = env.metrics()
    assert (metrics["success"].tolist(), metrics["csr"]) == ([False], 0.0)
    assert env.step(edition.action(-1, 0))[1:4] == (1, True, False)
    env._agent_location = env._target_location = [1, 1]
    assert env.metrics()["arrival_step"].tolist() == [1.0]
    env._target_location = [1, 2]
    assert env.metrics()["success"].tolist() == [False]
    assert env.step(edition.action(0, -1))[1:4] == (0, False, False)


def test_a_refused_action_leaves_what_was_set():
    """A location that was set before an action that is refused is where the next step begins."""
    env = GridWorldEnv(size=4)
    env.reset(seed=1)
    env._agent_location, env._target_location = [1, 0], [0, 3]
    with pytest.raises(ValueError, match="action is 9"):
        env.step(9)
    assert env.step(0)[0]["agent"].tolist() == [2, 0]


@by_edition
@pytest.mark.parametrize("seed", range(2))
def test_locations_are_written_into(edition, seed):
    """Arrays that were read at any time, and arrays that were set, are written into as in the documented code."""
    (env, oracle), random = both(edition, None, 4), np.random.default_rng(seed)
    held = [[one._agent_location, one._target_location] for one in (env, oracle)]
    for _ in range(300):
        match int(random.integers(5)):
            case 0:
                came = env.reset(seed=seed)
                assert shown(came) == shown(oracle.reset(seed=seed))
                came[0]["target"] += 1  # a copy, too
            case 1:
                for its, one in zip(held, (env, oracle), strict=True):
                    its += [one._agent_location, one._target_location]
            case 2:
                which, axis, value = random.integers(len(held[0])), *random.integers(2, size=2)
                held[0][which][axis] = held[1][which][axis] = value
            case 3 if env._started:
                action = int(random.integers(4))
                assert shown(env.step(action)) == shown(oracle.step(action))
        env._get_obs()["agent"] += 1  # a copy
        assert shown(tuple(held[0])) == shown(tuple(held[1]))
        assert looks(env) == looks(oracle)


@by_edition
def test_states_are_those_of_the_faster_steps(edition):
    """An env whose members were read has the states, outcomes included, of one that plays in the kernel."""
    env, other = edition.env(size=3), edition.env(size=3)
    env.reset(seed=2), other.reset(seed=2)
    assert [env._action_to_direction[action].tolist() for action in range(4)] == [*edition.steps]
    outcomes = set()
    for action in np.random.default_rng(2).integers(4, size=200).tolist():
        assert shown(env.step(action)) == shown(other.step(action))
        assert shown(env.get_state()) == shown(other.get_state())
        assert judged.breaches(env.config, env.get_state()) == []
        outcomes.add(int(env.get_state()["outcomes"][0]))
    assert outcomes == {Outcome.MOVED, Outcome.EDGE}
    env._action_to_direction[0] = [0, 0]
    env.step(0)
    assert env.get_state()["outcomes"].tolist() == [Outcome.STAYED]


BAD_LOCATIONS = [
    *(([1, 2, 3], ValueError, r"has the shape \(3,\)"), ([[1, 2]], ValueError, r"has the shape \(1, 2\)")),
    *(([[1], [2, 3]], ValueError, "is ragged"), (None, ValueError, r"has the shape \(\)")),
    *(([1.0, 2.0], TypeError, "is of float64"), ([True, False], TypeError, "is of bool")),
]


@by_edition
@pytest.mark.parametrize("name", ["_agent_location", "_target_location"])
def test_bad_locations(edition, name):
    """A location that is no cell is refused with its name, and nothing changes, before the first episode either."""
    env = edition.env()
    for _ in range(2):
        before = places(env)
        for location, error, message in BAD_LOCATIONS:
            with pytest.raises(error, match=f"{name} {message}"):
                setattr(env, name, location)
            assert places(env) == before
        env.reset(seed=0)


@by_edition
@pytest.mark.parametrize("name", ["_agent_location", "_target_location"])
@pytest.mark.parametrize("location", [[5, 0], [0, -1], np.array([2**64 - 1, 0], np.uint64)])
def test_locations_outside_the_grid(edition, name, location):
    """What uses a location outside the grid refuses it by name; once it is inside again, the episode goes on."""
    env, twin = edition.env(), edition.env()
    env.reset(seed=0), twin.reset(seed=0)
    before = getattr(env, name).copy()
    setattr(env, name, location)
    given = re.escape(str(np.asarray(location).tolist()))
    for use in (lambda: env.step(0), env._get_info, env._render_frame, env.get_state, env.metrics):
        with pytest.raises(ValueError, match=rf"{name} is {given}, outside the grid; .* a free cell of the 5 x 5 grid"):
            use()
    setattr(env, name, before)
    assert shown(env.step(2)) == shown(twin.step(2))
    setattr(env, name, location)
    assert shown(env.reset(seed=1)) == shown(twin.reset(seed=1))


@by_edition
def test_before_the_first_reset(edition):
    """Locations, infos and frames are as in the documents; an episode begins with two locations, or with a reset."""
    env, oracle = both(edition, None, 4, render_mode="rgb_array")
    np.testing.assert_array_equal(env.render(), oracle.render())
    target = env._target_location = oracle._target_location = np.array([3, 1])
    for _ in range(2):
        assert looks(env) == looks(oracle)
        np.testing.assert_array_equal(env.render(), oracle.render())
        if (env._agent_location < 0).any():
            for refused in (lambda: env.step(0), env.metrics, env.get_state):
                with pytest.raises(ResetNeeded):
                    refused()
            env._agent_location = oracle._agent_location = np.array([2, 1])
    target[0] = 1
    assert [shown(env.step(action)) for action in (1, 3, 2)] == [shown(oracle.step(action)) for action in (1, 3, 2)]
    for given in ((0,), (7, {})):  # by position
        assert shown(env.reset(*given)) == shown(oracle.reset(*given))


@by_edition
def test_bad_directions(edition):
    """A direction that is not two integers is refused by its action; others are clipped, whatever their length."""
    env = edition.env()
    env.reset(seed=0)
    for direction, error, message in (
        ([1, 0, 0], ValueError, r"has the shape \(3,\); expected two integers, the step"),
        ([0.5, 0], TypeError, "is of float64"),
        (None, ValueError, r"has the shape \(\)"),
    ):
        env._action_to_direction[2] = direction
        with pytest.raises(error, match=f"the direction of action 2 {message}"):
            env.step(2)
    env._action_to_direction = {"far": np.array([2**63 - 1, -(2**63)]), Actions.UP: np.array([2**64 - 1, 0], np.uint64)}
    assert env.step("far")[0]["agent"].tolist() == [4, 0]
    env._agent_location = [0, 3]
    assert env.step(1)[0]["agent"].tolist() == [4, 3]


@by_edition
def test_a_method_of_the_instance_is_replaced_and_restored(edition):
    """A function set on an instance is called until it is deleted; other instances keep the class's."""
    env, other = edition.env(size=3, render_mode="rgb_array"), edition.env(size=3)
    expected = env.reset(seed=0)[1]
    env._get_info, env._render_frame = lambda: {"mine": 1}, lambda: "a frame"
    assert (env.step(0)[4], env.reset(seed=0)[1], env.render()) == ({"mine": 1}, {"mine": 1}, "a frame")
    assert other.reset(seed=0)[1] == expected
    del env._get_info
    assert env.reset(seed=0)[1] == expected


class _SetsItsSize:
    """The class sets the size that it passes on, before and after; or without one it does nothing of the kind."""

    def __init__(self, size=None):
        self.window = None
        if size is not None:
            self.size = size
            super().__init__(size=self.size)
            self.size = size


@by_edition
def test_a_constructor_without_a_size(edition):
    """A constructor that neither calls that of the class nor sets a size leaves attributes missing."""
    kind = type("Mine", (_SetsItsSize, edition.env), {})
    with pytest.raises(AttributeError, match="Mine has no attribute '_"):
        kind().reset(seed=0)
    env, _ = both(edition, _HasTheDocumentsConstructor, 5)
    assert not hasattr(env, "elsewhere")
    assert env.reset(seed=0)[1] == {"distance": 4.0}


@by_edition
def test_the_size_stays(edition):
    """A subclass may set the size that it passes on, before or after; another size is refused."""
    env = type("Mine", (_SetsItsSize, edition.env), {})(6)
    assert env.size == 6
    with pytest.raises(ValueError, match="size is 6 and cannot be changed to 7; make another env"):
        env.size = 7
    env.reset(seed=0)
    env.window_size = 15
    with pytest.raises(ValueError, match="window_size is 15"):
        env._render_frame()


@pytest.fixture
def pygame(monkeypatch):
    """Give pygame without any window, before the test and after it, and windows without a pause."""
    import pygame

    monkeypatch.setitem(GridWorldEnv.metadata, "render_fps", 10_000)
    pygame.display.quit()
    yield pygame
    pygame.display.quit()


class _OpensItsOwnWindow:
    """The class has the documented code for a window."""

    def _render_frame(self):
        import pygame

        if self.window is None and self.render_mode == "human":
            pygame.display.init()
            self.window = pygame.display.set_mode((self.window_size, self.window_size))
        if self.clock is None and self.render_mode == "human":
            self.clock = pygame.time.Clock()
        self.window.fill((0, 9 * int(self._agent_location[0]), 0))
        self.clock.tick(self.metadata["render_fps"])


@by_edition
@pytest.mark.parametrize("added", [None, _OpensItsOwnWindow])
def test_window_and_clock(edition, pygame, added):
    """They are None until the first frame, then pygame's own, a copy's None at first, and None again after `close`."""
    env = both(edition, added, 3, render_mode="human")[0]
    assert (env.window, env.clock) == (None, None)
    env.reset(seed=0)
    assert env.window is pygame.display.get_surface()
    assert isinstance(env.clock, type(pygame.time.Clock()))
    env._agent_location = [1, 2]
    assert env._render_frame() is None
    assert added is None or env.window.get_at((5, 5))[:3] == (0, 9, 0)
    other = copy.deepcopy(env)
    assert (other.window, other.clock) == (None, None)
    env.close()
    assert (env.window, env.clock) == (None, None)
    assert not pygame.display.get_init()


class _Counting:
    """The class has a count of its own."""

    count = 0

    def _get_info(self):
        self.count += 1
        return {**super()._get_info(), "count": self.count, "isr": self.metrics()["isr"]}


def test_a_subclass_may_name_what_games_have() -> None:
    """Members of environments of games, such as `shaping`, are free names in a subclass of the documented class."""

    class Shaped(GridWorldEnv):
        def __init__(self) -> None:
            self.shaping = 0.1
            super().__init__()
            self.shaping *= 2

    assert Shaped().shaping == 0.2


class _CountingGridWorld(_Counting, GridWorldEnv):
    """A class that `pickle` finds."""


class _CountingRowColumnGridWorld(_Counting, RowColumnGridWorldEnv):
    """A class that `pickle` finds."""


@by_edition
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deep", "pickle"])
def test_copies_of_subclasses(edition, copied):
    """A copy of a subclass plays on as the original, its own attributes and unfinished locations included."""
    (kind,) = set(_Counting.__subclasses__()) & set(edition.env.__subclasses__())
    env = kind(size=4)
    env._agent_location = [1, 1]
    assert places(copied(env)) == places(env)
    env.reset(seed=4)
    env.step(0)
    env._target_location = [3, 0]
    other = copied(env)
    assert shown(env._get_info()) == shown(other._get_info())
    for action in (0, 3, 2):
        assert shown(env.step(action)[:4]) == shown(other.step(action)[:4])


@by_edition
def test_steps_are_fast_again_when_members_are_left_alone(edition):
    """The agent's array is used until the next step, the target's until the next reset, and directions for ever."""
    env, plain = edition.env(), []
    env.reset(seed=0)
    for read in (lambda: env._agent_location, lambda: env._target_location, lambda: env._action_to_direction):
        for go_on in (read, lambda: env.step(0), env.reset):
            go_on()
            plain.append(env._is_plain)
    assert plain == [False, True, True, False, False, True, False, False, False]


@by_edition
def test_the_documents_entry_point(edition):
    """The class is found and registered where the documents put it; wrappers set its locations, too."""
    from multigrid import envs

    name = edition.env.__name__
    assert getattr(envs, name) is edition.env
    assert {action.name: action.value for action in Actions} == {"RIGHT": 0, "UP": 1, "LEFT": 2, "DOWN": 3}
    assert name in dir(envs)
    with pytest.raises(AttributeError, match=r"module 'multigrid\.envs' has no attribute 'GridWorld'"):
        envs.GridWorld  # noqa: B018 (asking is the point)
    spec = gymnasium.envs.registration.EnvSpec("ours/GridWorld-v0", entry_point=f"multigrid.envs:{name}")
    env = gymnasium.make(spec, size=4)
    assert type(env.unwrapped) is edition.env
    env.reset(seed=0)
    env.unwrapped._agent_location = [0, 0]
    env.set_wrapper_attr("_target_location", [0, 1])
    assert env.get_wrapper_attr("_target_location").tolist() == [0, 1]
    assert env.step(edition.action(0, 1))[1:3] == (1, True)
