"""``multigrid evaluate --cross-play``: every policy plays with every other one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from multigrid.cli import _episodes as episodes
from multigrid.cli._models import is_pool, make_policy_factory
from multigrid.config import GridConfig
from multigrid.evaluation._cross_play import CrossPlay, cross_play
from multigrid.policies import read_pool
from multigrid.policies._baselines import BUILT_IN


def play_pairs(options: Any, console: Console) -> int:
    """Let all pairs play, print a matrix for each world, write the picture that the options name, and return 0.

    The options are those of ``multigrid evaluate``.
    """
    policies = _load(options)
    given = episodes.find_worlds(options)
    worlds = {name: episodes.let_wait(config, options.cross_play) for name, config in given.items()}
    if options.picture is not None and len(worlds) > 1:
        raise ValueError(f"--picture shows one matrix, and there are {len(worlds)} worlds; name one world")
    fitted = {name: _fit(name, config, options.cross_play) for name, config in worlds.items()}
    seeds = range(options.seed, options.seed + options.episodes)
    results = {name: cross_play(config, policies, seeds, metric=options.metric) for name, config in fitted.items()}
    try:
        if options.picture is not None:
            (result,) = results.values()
            result.draw(options.picture)
            console.print(Text(f"matrix in {options.picture}"), soft_wrap=True)
    finally:
        _print_report(results, options)
    episodes.tell_stay(console, given, fitted)
    return 0


def _print_report(results: Mapping[str, CrossPlay], options: Any) -> None:
    """Print the matrices to standard output, as text or as JSON."""
    out = Console()
    if options.json:
        listed = [_summarize(name, result) for name, result in results.items()]
        out.out(json.dumps({**episodes.describe_episodes(options), "worlds": listed}, indent=2), highlight=False)
        return
    for name, result in results.items():
        what = "the team's return" if options.metric is None else options.metric
        out.out(episodes.title_of(f"{name}, {what}", options.episodes, " from each seat"), highlight=False)
        out.out(str(result), highlight=False)


def _load(options: Any) -> dict[str, Any]:
    """Return the policies by name; those of a pool have its name before theirs."""
    policies: dict[str, Any] = {}
    for word in options.cross_play:
        if not is_pool(Path(word)):
            policies[word] = make_policy_factory(word, options.grid.game)(options.seed)
            continue
        pool = read_pool(word, game=options.grid.game, seed=options.seed)
        names = [Path(one).name for one in options.cross_play]
        prefix = word if names.count(Path(word).name) > 1 else Path(word).name
        before = f"{prefix}/" if len(names) > 1 else ""
        policies |= {f"{before}{name}": policy for name, policy in pool.items()}
    return policies


def _fit(name: str, config: GridConfig, words: tuple[str, ...]) -> GridConfig:
    """Return a world with the observations that all trained policies need."""
    fitted = {word: episodes.fit_world(name, config, word) for word in words}
    trained = {word: one for word, one in fitted.items() if word not in BUILT_IN}
    first = next(iter(trained), words[0])
    for word, one in trained.items():
        if one != fitted[first]:
            raise ValueError(
                f"{first} and {word} were trained with other observations or actions, and one world has one kind of "
                "them; expected policies that were trained with the same"
            )
    return fitted[first]


def _summarize(name: str, result: CrossPlay) -> Mapping[str, Any]:
    returns = result.returns
    rows, columns = map(range, returns.shape)
    cells = [[episodes.numbers_of(returns[i, j]) for j in columns] for i in rows]
    totals = {one: episodes.numbers_of(getattr(result, one)) for one in ("self_play", "cross_play", "gap")}
    return {"name": name, "policies": result.policies, "returns": cells, **totals}
