"""The wrappers that record: statistics of each agent's own episode, and videos with a tile for each world."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as gymnasium_wrappers

import multigrid
from helpers import same
from multigrid import GridConfig, MultiGridEnv
from multigrid.wrappers import ClipReward, RecordEpisodeStatistics, RecordVideo

NUM_WORLDS, NUM_AGENTS, SEED = 4, 3, 50
MODES = list(AutoresetMode)
ON_TARGET = ["park", "leave", "stay", "restart"]
LEAVE = GridConfig(size=(4, 3), num_agents=NUM_AGENTS, on_target="leave", max_cycles=9)
_Episode = tuple[int, float, int]


def random_actions(steps: int, rows: int = NUM_WORLDS * NUM_AGENTS) -> np.ndarray:
    """Random actions, (steps, rows)."""
    return np.random.default_rng(8).integers(4, size=(steps, rows))


class Counted:
    """A world of its own, which counts the episodes of its agents one by one."""

    def __init__(self, config: GridConfig, world: int) -> None:
        self.env, self.world = MultiGridEnv(config), world
        self.env.reset(seed=SEED + world)
        self.begin()

    def begin(self) -> None:
        """Begin to count anew."""
        self.returns, self.lengths = dict.fromkeys(self.env.agents, 0.0), dict.fromkeys(self.env.agents, 0)

    def step(self, actions: np.ndarray) -> list[_Episode]:
        """Play a step, and return the row, the return and the length of each episode that it ends."""
        agents = {agent: self.env.possible_agents.index(agent) for agent in self.env.agents}
        _, rewards, terminated, truncated, _ = self.env.step({agent: actions[i] for agent, i in agents.items()})
        ends = []
        for agent, i in agents.items():
            self.returns[agent] += rewards[agent]
            self.lengths[agent] += 1
            if terminated[agent] or truncated[agent]:
                ends.append((self.world * NUM_AGENTS + i, self.returns[agent], self.lengths[agent]))
        return ends


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("on_target", ON_TARGET)
def test_each_agent_has_one_episode_in_each_of_its_world(on_target: str, mode: AutoresetMode) -> None:
    """Returns and lengths are those of agents in single worlds, from the reset to the step in which they end."""
    config = GridConfig(size=(4, 3), num_agents=NUM_AGENTS, on_target=on_target, max_cycles=9, reward="shared")
    envs = RecordEpisodeStatistics(multigrid.vector_env(NUM_WORLDS, config, autoreset_mode=mode), buffer_length=5000)
    envs.reset(seed=SEED)
    worlds, over = [Counted(config, world) for world in range(NUM_WORLDS)], [False] * NUM_WORLDS
    counted: list[_Episode] = []
    for actions in random_actions(150):
        if mode is AutoresetMode.DISABLED and any(over):
            envs.reset(options={"reset_mask": np.repeat(over, NUM_AGENTS)})
        infos = envs.step(actions)[-1]
        expected: list[_Episode] = []
        for world, one in enumerate(worlds):
            if over[world]:
                one.env.reset()
                one.begin()
            if not over[world] or mode is not AutoresetMode.NEXT_STEP:
                expected += one.step(actions.reshape(NUM_WORLDS, NUM_AGENTS)[world])
            over[world] = not one.env.agents
        rows = np.flatnonzero(infos.get("_episode", np.zeros(envs.num_envs)))
        told = [(row, infos["episode"]["r"][row], infos["episode"]["l"][row]) for row in rows]
        assert told == expected
        counted += expected
    assert len(counted) > 150
    assert envs.episode_count == len(counted)
    assert list(envs.return_queue) == [one[1] for one in counted]
    assert list(envs.length_queue) == [one[2] for one in counted]
    assert len(envs.time_queue) == len(counted)
    assert min(envs.time_queue) >= 0


def test_under_leave_the_mean_return_is_the_isr() -> None:
    """Over whole episodes each agent has one return, 1 if it arrived; Gymnasium's own wrapper has more of them."""
    ours, theirs = (
        wrap(multigrid.vector_env(1, LEAVE), buffer_length=1000)
        for wrap in (RecordEpisodeStatistics, gymnasium_wrappers.RecordEpisodeStatistics)
    )
    for envs in (ours, theirs):
        envs.reset(seed=SEED)
    isr: list[float] = []
    for actions in random_actions(200, NUM_AGENTS):
        infos = ours.step(actions)[-1]
        theirs.step(actions)
        isr += infos["isr"][:1].tolist() if "isr" in infos else []
        if len(isr) == 15:
            break
    assert len(isr) == 15
    assert 0.1 < np.mean(isr) < 0.9
    assert ours.episode_count == 15 * NUM_AGENTS < theirs.episode_count
    assert np.mean(ours.return_queue) == pytest.approx(np.mean(isr))
    assert np.mean(ours.return_queue) > np.mean(theirs.return_queue)


@pytest.mark.parametrize("on_target", ["park", "stay", "restart"])
def test_where_nobody_leaves_all_is_as_gymnasium_has_it(on_target: str) -> None:
    """Infos, queues and attributes are those of Gymnasium's wrapper, under the same key."""
    config = GridConfig(size=(4, 3), num_agents=NUM_AGENTS, on_target=on_target, max_cycles=9)
    ours, theirs = (
        kind(multigrid.vector_env(NUM_WORLDS, config), buffer_length=7, stats_key="mine")
        for kind in (RecordEpisodeStatistics, gymnasium_wrappers.RecordEpisodeStatistics)
    )
    for envs in (ours, theirs):
        envs.reset(seed=SEED)
    for actions in random_actions(60):
        returned, expected = ours.step(actions), theirs.step(actions)
        for infos in (returned[-1], expected[-1]):
            infos.get("mine", {}).pop("t", None)  # seconds
        same(returned, expected)
    assert ours.episode_count == theirs.episode_count > 20
    for name in ("return_queue", "length_queue"):
        assert list(getattr(ours, name)) == list(getattr(theirs, name))
        assert len(getattr(ours, name)) == 7
    same(ours.episode_lengths, theirs.episode_lengths)


@pytest.mark.parametrize("kind", [RecordEpisodeStatistics, gymnasium_wrappers.RecordEpisodeStatistics])
def test_the_key_of_the_statistics_is_not_overwritten(kind: Any) -> None:
    """A second wrapper under one key is refused, also around Gymnasium's; a key of the infos, at an end."""
    envs = kind(multigrid.vector_env(1, walls="a.A", max_cycles=1))
    with pytest.raises(ValueError, match="has statistics under 'episode' already; name another stats_key"):
        RecordEpisodeStatistics(envs)
    both = RecordEpisodeStatistics(envs, stats_key="distance")
    both.reset(seed=0)
    with pytest.raises(ValueError, match="have 'distance' already; name another stats_key"):
        both.step([0])


@pytest.mark.parametrize("wrap", [RecordEpisodeStatistics, lambda envs: RecordVideo(envs, "videos")])
def test_other_envs_are_refused(wrap: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Single envs, and vector envs that are not multigrid's, are refused by name."""
    monkeypatch.chdir(tmp_path)
    for env in (ClipReward(multigrid.GridWorldEnv(), 0.0, 1.0), 3):
        with pytest.raises(TypeError, match=r"expected what multigrid.vector_env\(...\) returns"):
            wrap(env)
    with pytest.raises(ValueError, match="buffer_length is 0; expected an integer of at least 1"):
        RecordEpisodeStatistics(multigrid.vector_env(2), buffer_length=0)
    assert list(tmp_path.iterdir()) == []


needs_videos = pytest.mark.skipif(
    not hasattr(gymnasium_wrappers, "RecordVideo"), reason="Gymnasium records vector envs from 1.2 on"
)


@pytest.fixture
def videos(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, list[np.ndarray]]:
    """The frames of each video by its name, from a stand-in for MoviePy, which pins an older Pillow."""
    written: dict[str, list[np.ndarray]] = {}

    class ImageSequenceClip:
        def __init__(self, frames: list[np.ndarray], fps: int) -> None:
            assert fps == 4
            self.frames = list(frames)

        def write_videofile(self, path: str, logger: Any) -> None:
            written[Path(path).name] = self.frames

    for name in ("moviepy", "moviepy.video", "moviepy.video.io", "moviepy.video.io.ImageSequenceClip"):
        module: Any = ModuleType(name)
        module.ImageSequenceClip = ImageSequenceClip
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.chdir(tmp_path)
    return written


@needs_videos
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED], ids=lambda mode: mode.value)
def test_a_video_has_each_world_once(mode: AutoresetMode, videos: dict[str, list[np.ndarray]]) -> None:
    """Four worlds of three agents are four tiles; a video shows an episode of the first world from reset to end."""
    settings: dict[str, Any] = {"autoreset_mode": mode, "render_mode": "rgb_array"}
    envs = RecordVideo(multigrid.vector_env(NUM_WORLDS, LEAVE, **settings), "videos", episode_trigger=lambda _: True)
    plain = multigrid.vector_env(NUM_WORLDS, LEAVE, **settings)
    for one in (envs, plain):
        one.reset(seed=SEED)
    expected, departed = [[plain.render()[::NUM_AGENTS]]], False
    over = np.zeros(NUM_WORLDS, dtype=bool)
    for actions in random_actions(40):
        if mode is AutoresetMode.DISABLED and over.any():
            for one in (envs, plain):
                one.reset(options={"reset_mask": np.repeat(over, NUM_AGENTS)})
            expected += [[plain.render()[::NUM_AGENTS]]] if over[0] else []
            if not over[0]:
                expected[-1].append(plain.render()[::NUM_AGENTS])
        elif over[0]:
            expected.append([])
        returned, due = envs.step(actions), plain.step(actions)
        same(returned, due)
        departed |= bool(due[2][0] and not plain.episode_over[0])
        over = plain.episode_over
        expected[-1].append(plain.render()[::NUM_AGENTS])
    assert envs.num_envs == plain.num_envs == NUM_WORLDS * NUM_AGENTS
    envs.close()
    assert departed, "an agent left before its world ended, which ends no video"
    assert list(videos) == [f"rl-video-episode-{number}.mp4" for number in range(len(expected))]
    for frames, worlds in zip(videos.values(), expected, strict=True):
        assert len(frames) == len(worlds)
        for frame, tiles in zip(frames, worlds, strict=True):
            height, width, _ = tiles[0].shape
            assert frame.shape == (2 * height, 2 * width, 3)
            for number, tile in enumerate(tiles):
                y, x = divmod(number, 2)
                np.testing.assert_array_equal(frame[y * height :, x * width :][:height, :width], tile)


@needs_videos
@pytest.mark.filterwarnings("ignore:.*same-step")  # Gymnasium says that last frames are missing
def test_in_same_step_mode_videos_end_with_the_first_world(videos: dict[str, list[np.ndarray]]) -> None:
    """Each end of the first world's episode begins another video; of its last step Gymnasium has no frame."""
    settings: dict[str, Any] = {"autoreset_mode": "SameStep", "render_mode": "rgb_array"}
    envs = RecordVideo(
        multigrid.vector_env(2, LEAVE, **settings), "videos", record_first_only=True, episode_trigger=lambda _: True
    )
    envs.reset(seed=SEED)
    lengths = [1]
    for actions in random_actions(40, 2 * NUM_AGENTS):
        infos = envs.step(actions)[-1]
        if "_final_info" in infos and infos["_final_info"][0]:
            lengths.append(0)
        lengths[-1] += 1
    envs.close()
    assert len(lengths) > 3
    assert [len(frames) for frames in videos.values()] == lengths
    assert {frame.shape for frames in videos.values() for frame in frames} == {(384, 512, 3)}


@needs_videos
def test_without_a_render_mode_there_is_no_video(videos: dict[str, list[np.ndarray]]) -> None:
    """Gymnasium's wrapper says what it needs."""
    with pytest.raises(ValueError, match="Render mode is None"):
        RecordVideo(multigrid.vector_env(2), "videos")
