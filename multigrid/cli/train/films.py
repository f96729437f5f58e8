"""Play episodes with a trained policy, and write what shows them: films, a recording, and heat maps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from multigrid._files import replace_file
from multigrid.cli._episodes import EpisodeResult, play_episode
from multigrid.cli._figures import HeatMaps, heat_figure, write_figure
from multigrid.cli._files import Unwritten
from multigrid.cli._films import fit_frames, write_gif
from multigrid.cli._models import make_policy, make_policy_factory
from multigrid.cli.train.progress import TrainingBar
from multigrid.config import GridConfig
from multigrid.rendering.scene import Episode
from multigrid.rendering.svg import compare_svg
from multigrid.scenarios import save

if TYPE_CHECKING:
    from stable_baselines3 import PPO

__all__ = ["write_films"]

_GIF_EPISODES = 6
_GIF_FRAMES = 160
# The longer side, in pixels, for a projector.
_PIXELS = 960
_EPISODES = 20


def write_films(
    folder: Path, config: GridConfig, model: PPO, *, first_seed: int, bar: TrainingBar, unwritten: Unwritten
) -> None:
    """Play 20 layouts with a trained policy and with shortest paths, and write what shows them.

    The files are evaluation.gif, heat.png, comparison.svg and episode.json. The last two are of the first layout that
    the trained agents solve and shortest paths do not; without one, of the first layout.

    Args:
        folder: of the run.
        config: the configuration of the environment.
        model: the policy.
        first_seed: the seed of the first episode; the seeds of the others follow.
        bar: shows the progress.
        unwritten: gets the files that could not be written.
    """
    learned, shortest, shortest_paths = [], [], make_policy_factory("shortest-path")
    with bar.doing("playing episodes for the films", 2 * _EPISODES) as tell:
        for number, seed in enumerate(range(first_seed, first_seed + _EPISODES)):
            learned.append(
                play_episode(
                    "held-out",
                    config,
                    lambda seed: make_policy(model.policy, np.random.default_rng([seed, 1])),
                    seed,
                    watch=True,
                    record=True,
                )
            )
            tell(2 * number + 1)
            shortest.append(play_episode("held-out", config, shortest_paths, seed, watch=True))
            tell(2 * number + 2)
    with bar.doing("drawing films and figures"):
        episodes = [_get_episode(result) for result in learned]
        with unwritten.noting("evaluation.gif"):
            write_gif(folder / "evaluation.gif", fit_frames(episodes[:_GIF_EPISODES], _GIF_FRAMES), 4, pixels=_PIXELS)
        heat = HeatMaps()
        for episode in episodes:
            heat.add(episode)
        title = f"after {model.num_timesteps:,} steps of training, {_EPISODES} held-out episodes"
        with unwritten.noting("heat.png"):
            write_figure(folder / "heat.png", heat_figure(heat.most_played(), title))
        number = _most_telling(learned, shortest)
        with unwritten.noting("comparison.svg"):
            _compare(folder, learned[number], shortest[number])
        recording = learned[number].recording
        assert recording is not None
        with unwritten.noting("episode.json"):
            save(recording, folder / "episode.json")


def _get_episode(result: EpisodeResult) -> Episode:
    assert result.episode is not None
    return result.episode


def _most_telling(learned: list[EpisodeResult], shortest: list[EpisodeResult]) -> int:
    """Return the number of the first episode that the trained agents solve and shortest paths do not; else 0."""
    alone = [
        mine.measures["success"] > theirs.measures["success"] for mine, theirs in zip(learned, shortest, strict=True)
    ]
    return alone.index(True) if True in alone else 0


def _compare(folder: Path, learned: EpisodeResult, shortest: EpisodeResult) -> None:
    named = {"trained": _get_episode(learned), "shortest paths": _get_episode(shortest)}
    episodes = {f"{name}: {episode.verdict.text}": episode for name, episode in named.items()}
    with replace_file(folder / "comparison.svg") as temporary:
        temporary.write_text(compare_svg(episodes), encoding="utf-8")
