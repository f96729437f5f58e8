"""The wrappers that record: statistics of each agent's own episode, and videos with a tile for each world."""

import dataclasses
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as gymnasium_wrappers

import multigrid
from helpers import same
from multigrid import GridConfig
from multigrid.wrappers import ClipReward, RecordEpisodeStatistics, RecordVideo

NUM_WORLDS, NUM_AGENTS, SEED = 4, 3, 50
LEAVE = GridConfig(size=(4, 3), num_agents=NUM_AGENTS, on_target="leave", max_cycles=9)
KINDS = (RecordEpisodeStatistics, gymnasium_wrappers.RecordEpisodeStatistics)
by_mode = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)


def random_actions(steps, rows=NUM_WORLDS * NUM_AGENTS):
    """Random actions, (steps, rows)."""
    return np.random.default_rng(8).integers(4, size=(steps, rows))


@by_mode
@pytest.mark.parametrize("on_target", ["park", "leave", "stay", "restart"])
def test_each_agent_has_one_episode_in_each_of_its_world(on_target, mode):
    """Returns and lengths are of the steps that an agent has played, from the reset to that in which it ends."""
    config = dataclasses.replace(LEAVE, on_target=on_target, reward="shared")
    envs = RecordEpisodeStatistics(multigrid.vector_env(NUM_WORLDS, config, autoreset_mode=mode), buffer_length=5000)
    envs.reset(seed=SEED)
    returns, lengths, over = np.zeros(envs.num_envs), np.zeros(envs.num_envs, int), np.zeros(envs.num_envs, bool)
    counted = []
    for actions in random_actions(150):
        if mode is AutoresetMode.DISABLED and over.any():
            envs.reset(options={"reset_mask": over})
        _, rewards, terminated, truncated, infos = envs.step(actions)
        alive = np.where(infos.get("_final_info", False), infos.get("final_info", infos)["alive"], infos["alive"])
        played = alive & ~(over & (mode is AutoresetMode.NEXT_STEP))
        returns[over], lengths[over] = 0, 0
        returns[played] += rewards[played]
        lengths[played] += 1
        expected = [(row, returns[row], lengths[row]) for row in np.flatnonzero(played & (terminated | truncated))]
        rows = np.flatnonzero(infos.get("_episode", np.zeros(envs.num_envs)))
        assert [(row, infos["episode"]["r"][row], infos["episode"]["l"][row]) for row in rows] == expected
        counted += expected
        same_step = mode is AutoresetMode.SAME_STEP
        over = infos.get("_final_info", over & False) if same_step else envs.unwrapped.episode_over.repeat(NUM_AGENTS)
    assert envs.episode_count == len(counted) == len(envs.time_queue) > 150
    assert [*zip(envs.return_queue, envs.length_queue, strict=True)] == [one[1:] for one in counted]


@pytest.mark.parametrize("on_target", ["park", "stay", "restart"])
def test_where_nobody_leaves_all_is_as_gymnasium_has_it(on_target):
    """Infos, queues and attributes are those of Gymnasium's wrapper, under the same key."""
    config = dataclasses.replace(LEAVE, on_target=on_target)
    ours, theirs = (kind(multigrid.vector_env(NUM_WORLDS, config), buffer_length=7, stats_key="mine") for kind in KINDS)
    for envs in (ours, theirs):
        envs.reset(seed=SEED)
    for actions in random_actions(60):
        returned, expected = ours.step(actions), theirs.step(actions)
        for infos in (returned[-1], expected[-1]):
            infos.get("mine", {}).pop("t", None)  # seconds
        same(returned, expected)
    assert ours.episode_count == theirs.episode_count > 20
    for name in ("return_queue", "length_queue", "episode_lengths"):
        assert list(getattr(ours, name)) == list(getattr(theirs, name))
    assert len(ours.return_queue) == len(ours.length_queue) == 7


@pytest.mark.parametrize("kind", KINDS)
def test_the_key_of_the_statistics_is_not_overwritten(kind):
    """A second wrapper under one key is refused, also around Gymnasium's; a key of the infos, at an end."""
    envs = kind(multigrid.vector_env(1, walls="a.A", max_cycles=1))
    with pytest.raises(ValueError, match="has statistics under 'episode' already; name another stats_key"):
        RecordEpisodeStatistics(envs)
    both = RecordEpisodeStatistics(envs, stats_key="distance")
    both.reset(seed=0)
    with pytest.raises(ValueError, match="have 'distance' already; name another stats_key"):
        both.step([0])


@pytest.mark.parametrize("wrap", [RecordEpisodeStatistics, lambda envs: RecordVideo(envs, "videos")])
def test_other_envs_are_refused(wrap, tmp_path, monkeypatch):
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
def videos(monkeypatch, tmp_path):
    """The frames of each video by its name, from a stand-in for MoviePy, which pins an older Pillow."""
    written = {}

    class ImageSequenceClip:
        def __init__(self, frames, fps):
            assert fps == 4
            self.frames = list(frames)

        def write_videofile(self, path, logger):
            written[Path(path).name] = self.frames

    for name in ("moviepy", "moviepy.video", "moviepy.video.io", "moviepy.video.io.ImageSequenceClip"):
        module = ModuleType(name)
        module.ImageSequenceClip = ImageSequenceClip
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.chdir(tmp_path)
    return written


@needs_videos
@pytest.mark.parametrize("mode", ["NextStep", pytest.param("Disabled", marks=pytest.mark.long)])
def test_a_video_has_each_world_once(mode, videos):
    """Four worlds of three agents are four tiles; a video shows an episode of the first world from reset to end."""
    settings = {"autoreset_mode": mode, "render_mode": "rgb_array"}
    envs = RecordVideo(multigrid.vector_env(NUM_WORLDS, LEAVE, **settings), "videos", episode_trigger=lambda _: True)
    plain = multigrid.vector_env(NUM_WORLDS, LEAVE, **settings)
    for one in (envs, plain):
        one.reset(seed=SEED)

    def tiled():
        frames = plain.render()[::NUM_AGENTS]
        return np.vstack([np.hstack(frames[:2]), np.hstack(frames[2:])])

    expected, departed, over = [[tiled()]], False, plain.episode_over
    for actions in random_actions(40):
        expected += [[]] if over[0] else []
        if mode == "Disabled" and over.any():
            for one in (envs, plain):
                one.reset(options={"reset_mask": np.repeat(over, NUM_AGENTS)})
            expected[-1].append(tiled())
        returned, due = envs.step(actions), plain.step(actions)
        same(returned, due)
        over = plain.episode_over
        departed |= bool(due[2][0] and not over[0])
        expected[-1].append(tiled())
    assert envs.num_envs == plain.num_envs == NUM_WORLDS * NUM_AGENTS
    envs.close()
    assert departed, "an agent left before its world ended, which ends no video"
    assert list(videos) == [f"rl-video-episode-{number}.mp4" for number in range(len(expected))]
    same(list(videos.values()), expected)


@needs_videos
@pytest.mark.filterwarnings("ignore:.*same-step")  # Gymnasium says that last frames are missing
def test_in_same_step_mode_videos_end_with_the_first_world(videos):
    """Each end of the first world's episode begins another video; of its last step Gymnasium has no frame."""
    envs = multigrid.vector_env(2, LEAVE, autoreset_mode="SameStep", render_mode="rgb_array")
    envs = RecordVideo(envs, "videos", record_first_only=True, episode_trigger=lambda _: True)
    envs.reset(seed=SEED)
    lengths = [1]
    for actions in random_actions(40, 2 * NUM_AGENTS):
        infos = envs.step(actions)[-1]
        lengths += [0] if "_final_info" in infos and infos["_final_info"][0] else []
        lengths[-1] += 1
    envs.close()
    assert len(lengths) > 3
    assert [len(frames) for frames in videos.values()] == lengths
    assert {frame.shape for frames in videos.values() for frame in frames} == {(384, 512, 3)}
