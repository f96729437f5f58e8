"""Choose the levels of a training: domain randomisation, PLR, ACCEL and SFL over the PPO of `examples.ppo`.

Install: ``pip install "multigrid-marl" torch tyro``. Run: ``python -m examples.levels --method accel --steps 1000000``.

A level is a map with the cells and the targets of its agents, and in a game what the episode begins with. In each round
every world repeats one level, and the level's score is its regret as *positive value loss*: the mean over its steps of
the advantages, negative ones as 0.

- *dr*, domain randomisation: each episode has a level that the environment draws, and every round trains.
- *plr*: a round draws new levels, which are scored and kept, without training; or, with `replay`, it trains on levels
  that were kept, each sampled by the rank of its score and by the rounds since it was sampled last.
- *accel*: as *plr*; after each round that trains, its levels are mutated, and scored and kept as new ones.
- *sfl*, sampling for learnability: every `period` rounds, new levels are played without training, and those with the
  highest p (1 - p) are kept, where p is the share of its episodes that are solved. In every round a share of the
  worlds, `replay`, trains on kept levels, each as likely as any other; the other worlds train on new ones.

An episode is solved if it terminates; at the limit of steps it is truncated.

Sources: Jiang et al. 2021 (PLR, arXiv:2010.03934, and without training on new levels, arXiv:2110.02439),
Parker-Holder et al. 2022 (ACCEL, arXiv:2203.01302), whose defaults these are, and Rutherford et al. 2024 (SFL and the
worst tenth, arXiv:2408.15099), whose numbers of levels are a hundred times as high.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import tyro
from numpy.typing import NDArray
from torch import Tensor

from examples import ppo
from multigrid import GridConfig, MultiGridVectorEnv, vector_env
from multigrid._checks import check_name
from multigrid._files import replace_file
from multigrid.evaluation import Estimate, Evaluation
from multigrid.game import describe
from multigrid.games._registry import load_game
from multigrid.integrations.training import FIRST_TRAINING_SEED, list_metrics
from multigrid.maps import Level, Mazes, RandomWalls, mutate, parse_map

EDITS = 5
WALLS = 60 / 15**2
LIMIT = 250 / 15**2
"""The share of cells that may be walls, and the steps of an episode for each cell."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Train one policy for all agents on mazes, and play held-out ones."""

    method: Literal["dr", "plr", "accel", "sfl"] = "accel"
    """How levels are chosen."""
    game: str | None = None
    """A game to play on the same maps, such as examples.games.key_and_door:KeyAndDoor; by default agents find paths."""
    side: int = 15
    """The cells of a side of the maps; known mazes are held out for 15."""
    num_agents: int = 1
    """The agents of each world."""
    steps: int = 10_000_000
    """Agent-steps to train on, rounded up to whole rounds; rounds that only score levels come on top."""
    seed: int = 0
    """The seed of the levels, the actions and the weights."""
    worlds: int = 32
    """Worlds played side by side, each with a level."""
    rollout: int = 256
    """Steps of a round."""
    replay: float | None = None
    """The share of rounds, for sfl of worlds, that train on kept levels; by default 0.5, for accel 0.8."""
    capacity: int = 4000
    """The most levels that are kept; training begins when half of them are there."""
    temperature: float = 0.3
    """How much more the ranks of high scores are sampled: rank ** (-1 / temperature)."""
    staleness: float = 0.3
    """The share of the sampling that goes by the rounds since a level was sampled last."""
    once: bool = False
    """Let no two worlds of a round play the same kept level. The papers allow it, and in short trainings most do."""
    period: int = 20
    """Rounds of sfl between two searches for levels."""
    candidates: int = 256
    """The new levels of a search."""
    chosen: int = 32
    """How many of them are kept."""
    trial: int = 1000
    """Steps for which each of them is repeated."""
    held_out: int = 250
    """Held-out seeds for each map: starts and targets, and drawn maps."""
    episodes: int = 4
    """Episodes of each seed; half of them choose the worst tenth of the seeds, the others measure it."""
    metric: str = "isr"
    """What is measured; for a game one of its own metrics, or return."""
    save: Path | None = None
    """Where to write the results, as JSON; by default nowhere."""


class Buffer:
    """Kept levels with their scores."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.levels: list[Level] = []
        self.scores, self.sampled = np.zeros(0), np.zeros(0)

    @property
    def is_ready(self) -> bool:
        """Whether there are enough levels to train on."""
        return 2 * len(self.levels) >= self.options.capacity

    def weights(self, now: int) -> NDArray[np.float64]:
        """Return the probability with which each level is sampled in a round."""
        ranks = np.empty(len(self.scores))
        ranks[np.argsort(-self.scores, kind="stable")] = np.arange(1, len(self.scores) + 1)
        by_score, stale = ranks ** (-1 / self.options.temperature), now - self.sampled
        stale = stale / stale.sum() if stale.any() else np.full(len(stale), 1 / len(stale))
        return (1 - self.options.staleness) * by_score / by_score.sum() + self.options.staleness * stale  # type: ignore[no-any-return]

    def sample(self, now: int, rng: np.random.Generator) -> list[Level]:
        """Return a level for each world."""
        repeats = not self.options.once or len(self.levels) < self.options.worlds
        chosen = rng.choice(len(self.levels), self.options.worlds, replace=repeats, p=self.weights(now))
        self.sampled[chosen] = now
        return [self.levels[one] for one in chosen]

    def keep(self, levels: list[Level], scores: NDArray[np.float64], now: int) -> None:
        """Set the scores of levels; a new one takes the place of the lowest score, if that is lower, when all are."""
        places = {level: place for place, level in enumerate(self.levels)}
        for level, score in zip(levels, scores, strict=True):
            place = places.get(level)
            if place is None and len(self.levels) < self.options.capacity:
                place = len(self.levels)
                self.levels.append(level)
                self.scores, self.sampled = np.append(self.scores, 0.0), np.append(self.sampled, now)
            elif place is None:
                place = int(self.scores.argmin())
                if self.scores[place] >= score:
                    continue
                del places[self.levels[place]]
                self.levels[place], self.sampled[place] = level, now
            places[level] = place
            self.scores[place] = score


def play_round(
    net: torch.nn.ModuleDict,
    envs: MultiGridVectorEnv,
    levels: list[Level] | None,
    setup: ppo.Options,
    stream: torch.Generator,
) -> tuple[tuple[Tensor, ...], list[Level], NDArray[np.float64]]:
    """Play a round; return the transitions to train on, and the level and the score of each world.

    Each world repeats its level, a drawn one without `levels`, or in domain randomisation draws one for each episode.
    """
    length, rows, repeats = setup.rollout, envs.num_envs, levels is not None
    first: Any = envs.reset(options={"level": levels} if levels else None)[0]
    levels = envs.get_levels()  # also what a game has drawn for levels that were mutated
    observations = torch.zeros(length + 1, *first.shape)
    observations[0] = torch.from_numpy(first)
    logits, rewards = torch.zeros(length, rows, envs.config.num_actions), torch.zeros(length, rows)
    actions = torch.zeros(length, rows, dtype=torch.int64)
    terminated, alive, done = (torch.zeros(length + 1, rows, dtype=torch.bool) for _ in range(3))
    for t in range(length):
        with torch.no_grad():
            logits[t] = net["actor"](observations[t])
        actions[t] = ppo.sample(logits[t], stream)
        following, reward, ended, limited, infos = envs.step(actions[t].numpy())
        observations[t + 1], rewards[t] = map(torch.from_numpy, (following, reward))
        terminated[t], alive[t], done[t + 1] = map(torch.from_numpy, (ended, infos["alive"], ended | limited))
        over = np.flatnonzero(envs.episode_over)
        if repeats and len(over) and t + 1 < length:
            envs.set_next_levels(over, [levels[e] for e in over])
    with torch.no_grad():
        values = net["critic"](observations).squeeze(2)
        discounts = {"gamma": setup.gamma, "gae_lambda": setup.gae_lambda}
        advantages = ppo.advantages_of(rewards, values, terminated[:-1], done[1:], **discounts)
        old = logits.log_softmax(dim=2).gather(2, actions[..., None]).squeeze(2)
    kept = alive[:-1] & ~done[:-1]
    shape = length, envs.num_worlds, -1
    gains = (advantages.clamp(min=0) * kept).view(shape).sum(dim=(0, 2)) / kept.view(shape).sum(dim=(0, 2))
    returns, chosen = (advantages + values[:-1])[kept], advantages[kept]
    chosen = (chosen - chosen.mean()) / (chosen.std() + 1e-8)
    return (observations[:-1][kept], actions[kept], old[kept], chosen, returns), levels, gains.numpy()


@torch.no_grad()
def find_learnable(
    net: torch.nn.ModuleDict, envs: MultiGridVectorEnv, options: Options, stream: torch.Generator
) -> list[Level]:
    """Return the new levels with the highest learnability, p (1 - p), where p is the share of solved episodes."""
    found: list[tuple[float, Level]] = []
    while len(found) < options.candidates:
        rows: Any = envs.reset()[0]
        levels, solved, played = envs.get_levels(), np.zeros(envs.num_worlds), np.zeros(envs.num_worlds)
        for _ in range(options.trial):
            actions = ppo.sample(net["actor"](torch.from_numpy(rows)), stream)
            rows, _, terminated, *_ = envs.step(actions.numpy())
            over = envs.episode_over
            played += over
            solved += over & terminated.reshape(len(over), -1).any(axis=1)
            if over.any():
                envs.set_next_levels(np.flatnonzero(over), [levels[e] for e in np.flatnonzero(over)])
        rates = solved / np.maximum(played, 1)
        found += zip((rates * (1 - rates)).tolist(), levels, strict=True)
    found.sort(key=lambda pair: -pair[0])
    return [level for _, level in found[: options.chosen]]


def train(options: Options) -> torch.nn.ModuleDict:
    """Train, and return the net."""
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    stream, rng = torch.Generator().manual_seed(options.seed), np.random.default_rng(options.seed)
    config = make_config(options)
    setup = ppo.Options(
        config, rollout=options.rollout, learning_rate=1e-3, gamma=0.99, entropy=0.01, hidden=(128, 128)
    )
    envs = vector_env(options.worlds, config)
    envs.reset(seed=FIRST_TRAINING_SEED + options.seed * options.worlds)
    net, buffer, played, now = ppo.make_net(envs, setup.hidden), Buffer(options), 0, 0
    optimizer = torch.optim.Adam(net.parameters(), eps=1e-5)
    shares = {"dr": 0.0, "plr": 0.5, "accel": 0.8, "sfl": 0.5}
    share, learnable = shares[options.method] if options.replay is None else options.replay, list[Level]()
    while played < options.steps:
        now += 1
        replays = buffer.is_ready and rng.random() < share
        trains = replays or options.method in {"dr", "sfl"}
        given = buffer.sample(now, rng) if replays else None
        if options.method == "sfl" and (now - 1) % options.period == 0:
            learnable = find_learnable(net, envs, options, stream)
        if not replays and options.method != "dr":
            envs.reset()
            given = envs.get_levels()
        if given and learnable:
            count = round(share * options.worlds)
            given[:count] = [learnable[k] for k in rng.integers(len(learnable), size=count)]
        batch, levels, scores = play_round(net, envs, given, setup, stream)
        if trains:
            optimizer.param_groups[0]["lr"] = setup.learning_rate * (1 - played / options.steps)
            ppo.update(net, optimizer, batch, setup)
            played += options.rollout * envs.num_envs
        if options.method in {"dr", "sfl"}:
            continue
        buffer.keep(levels, scores, now)
        if options.method == "accel" and replays:
            changed = [mutate(level, EDITS, rng) for level in levels]
            _, levels, scores = play_round(net, envs, changed, setup, stream)
            buffer.keep(levels, scores, now)
    envs.close()
    return net


def make_config(options: Options, **changes: Any) -> GridConfig:
    """Return the world: maps with few or many walls; agents see half a side each way, and what they look for."""
    fields: dict[str, Any] = {
        "walls": RandomWalls(size=options.side, density=(0.0, WALLS)),
        "num_agents": options.num_agents,
        "max_cycles": round(LIMIT * options.side**2),
    } | changes
    parts: Any = ("offset",)
    if options.game is not None:
        fields["game"] = load_game(options.game)
        parts = (*(parts if fields["game"].targets else ("agent",)), *describe(fields["game"]).parts)
    return GridConfig(observe=("view", *parts), view_radius=options.side // 2, flatten=True, **fields)


@torch.no_grad()
def evaluate(net: torch.nn.ModuleDict, config: GridConfig, options: Options) -> Evaluation:
    """Play held-out episodes, those of each seed with other actions, side by side."""
    seeds = [seed for seed in range(options.held_out) for _ in range(options.episodes)]
    envs, stream = vector_env(len(seeds), config), torch.Generator().manual_seed(0)
    rows: Any = envs.reset(seed=seeds)[0]
    found, returns, playing = np.zeros(len(seeds)), np.zeros(len(seeds)), np.ones(len(seeds), bool)
    while playing.any():
        rows, rewards, _, _, infos = envs.step(ppo.sample(net["actor"](torch.from_numpy(rows)), stream).numpy())
        returns += rewards.reshape(len(seeds), -1).mean(axis=1)
        over = envs.episode_over & playing
        if over.any():
            values = returns if options.metric == "return" else infos[options.metric].reshape(len(seeds), -1)[:, 0]
            found[over] = values[over]
            playing &= ~over
    envs.close()
    return Evaluation(config, seeds, [{options.metric: float(value)} for value in found], repeats=options.episodes)


def read_mazes(side: int) -> dict[str, Any]:
    """Return the maps of no training by name: known ones of this side, and a generator of perfect mazes."""
    texts = (Path(__file__).parent / "held_out_mazes.txt").read_text(encoding="utf-8").split("\n\n")
    known = {name: parse_map(picture).walls for name, picture in (text.split("\n", 1) for text in texts)}
    return {**{name: maze for name, maze in known.items() if len(maze) == side}, "PerfectMaze": Mazes(size=side)}


def main(options: Options) -> dict[str, tuple[Estimate, Estimate]]:
    """Train; play held-out episodes, and print the mean of the metric on each map, and that of the worst tenth."""
    check_name("metric", options.metric, ("return", *list_metrics(make_config(options))))
    if options.save is not None and not options.save.parent.is_dir():
        raise FileNotFoundError(f"--save is {options.save}, but {options.save.parent} is not a folder; make it first")
    net = train(options)
    worlds = {"drawn as in training": {}, **{name: {"walls": maze} for name, maze in read_mazes(options.side).items()}}
    found = {}
    for name, changes in worlds.items():
        result = evaluate(net, make_config(options, **changes), options)
        found[name] = result[options.metric], result.worst(options.metric, 0.1)
        print(f"{name:24} {found[name][0].mean:.2f}, the worst tenth {found[name][1].mean:.2f}")
    if options.save is not None:
        with replace_file(options.save) as temporary:
            temporary.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found


if __name__ == "__main__":
    main(tyro.cli(Options))
