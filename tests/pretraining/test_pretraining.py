"""Training of the learned policy: labels, symmetries, the network in torch, and that a training goes on exactly."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from multigrid import GridConfig, MultiGridEnv
from multigrid.planning.learned.network import describe_ways, score
from multigrid.planning.learned.surroundings import ARRIVED, CAME, HERE, NUM_CELLS, Surroundings, Windows
from multigrid.planning.tables import Tables
from multigrid.policies.weights import load_weights, save_weights
from multigrid.pretraining import imitation
from multigrid.pretraining import labels as labelling
from multigrid.pretraining.held_out import measure
from multigrid.pretraining.imitation import Settings, imitate
from multigrid.pretraining.labels import Labels, produce
from multigrid.pretraining.network import Network
from multigrid.pretraining.symmetry import SYMMETRIES, transform

pytestmark = pytest.mark.heavy

TINY = Settings(rounds=4, labels=3000, samples=4000, memory=2, batch_size=256, hidden=(16, 16, 8))


def look(env: MultiGridEnv, surroundings: Surroundings) -> Windows:
    """The windows of an environment."""
    state: Any = env.get_state()
    return surroundings.observe({name: np.asarray(state[name])[None] for name in Surroundings.FIELDS})


def turn(cells: Any, width: int, turns: int, mirrored: bool) -> Any:
    """Cells [x, y] of a square world after a mirroring of y and quarter turns, and after them of the next."""
    cells = np.array(cells)
    if mirrored:
        cells = np.stack([cells[:, 0], width - 1 - cells[:, 1]], axis=1)
    for _ in range(turns):
        cells = np.stack([width - 1 - cells[:, 1], cells[:, 0]], axis=1)
    return cells


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("turns", range(4))
def test_a_turned_world_is_seen_turned(turns: int, mirrored: bool) -> None:
    """If walls, agents, targets and moves are turned or mirrored, windows and labels are what `transform` makes."""
    walls = np.array(
        [list(line) for line in ("..#....", "....#..", ".#.....", "...##..", ".......", "#..#...", "....#..")]
    )
    starts, targets = [[0, 0], [3, 1], [5, 6], [2, 4]], [[6, 0], [1, 3], [0, 1], [6, 6]]
    blocked = np.argwhere(walls.T == "#")
    moves = np.array([[0, 1], [1, 0], [0, -1], [0, 1]])
    symmetry = SYMMETRIES[4 * mirrored + turns]

    def see(how: tuple[int, bool]) -> Windows:
        grid = np.zeros((7, 7), bool)
        grid[tuple(turn(blocked, 7, *how).T)] = True
        config = GridConfig(walls=grid, num_agents=4, allow_stay=True, on_target="stay")
        env = MultiGridEnv(config)
        env.reset(options={"agents": turn(starts, 7, *how), "targets": turn(targets, 7, *how)})
        surroundings = Surroundings(Tables(config.is_wall, 4), 1, 4)
        look(env, surroundings)
        # A move is turned as the difference of two cells is.
        steps = turn(moves, 1, *how)
        directions = [[1, 0], [0, 1], [-1, 0], [0, -1]]
        env.step({agent: directions.index(step) for agent, step in zip(env.agents, steps.tolist(), strict=True)})
        return look(env, surroundings)

    plain, turned = see((0, False)), see((turns, mirrored))
    assert (plain.agents[:, NUM_CELLS // 2] >= CAME).any()
    made = transform(Labels(*plain, np.arange(4, dtype=np.uint8)), symmetry)
    for part, own in zip(made[:3], turned, strict=True):
        np.testing.assert_array_equal(part, own)
        # Kernels are compiled for arrays in C order, and again for others.
        assert part.flags.c_contiguous
    directions = [[1, 0], [0, 1], [-1, 0], [0, -1]]
    assert [directions[action] for action in made.actions] == turn(directions, 1, turns, mirrored).tolist()


def test_labels_are_the_planner_s() -> None:
    """An agent that sees no other and is far from its target takes a step that brings it nearer, as in a short plan."""
    found = produce(None, seed=3, number=0, count=40_000)
    middle = found.agents[:, NUM_CELLS // 2].astype(int)
    others = (found.agents & HERE != 0).sum(axis=1) - 1
    chosen = (others == 0) & (middle & ARRIVED == 0) & (found.ways > 12) & (found.actions < 4)
    assert chosen.sum() > 100
    assert ((middle[chosen] >> (1 + found.actions[chosen])) & 1).mean() > 0.95


def test_labels_depend_on_the_arguments_alone() -> None:
    """Equal arguments give equal labels; another round or another seed gives other ones."""
    weights = Network((16, 16, 8)).weights()
    one, again, other, seeded = (
        produce(weights, seed, number, 2000) for seed, number in ((0, 1), (0, 1), (0, 2), (1, 1))
    )
    for part, own in zip(one, again, strict=True):
        np.testing.assert_array_equal(part, own)
    assert not any(np.array_equal(one.grounds, labels.grounds) for labels in (other, seeded))


def test_plans_that_are_not_worth_it_give_no_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan whose costs are far above the shortest paths is not imitated."""
    monkeypatch.setattr(labelling, "_RATIO", 0.1)
    monkeypatch.setattr(labelling, "_DELAY", 0)
    generator = np.random.default_rng(0)
    config = GridConfig(size=(6, 4), num_agents=3, allow_stay=True, on_target="stay", collisions="soft", max_cycles=50)
    assert list(labelling._play(None, config, generator)) == []


def test_torch_and_the_kernels_give_the_same_scores(tmp_path: Path) -> None:
    """The scores without torch are torch's to 1e-5, and gradients of the vectors are torch's own."""
    torch.manual_seed(0)
    network = Network((32, 16, 8))
    found = produce(None, seed=0, number=0, count=300)
    windows = Windows(*(part[:300] for part in found[:3]))
    with torch.no_grad():
        scores = network(windows).numpy()
    np.testing.assert_allclose(score(network.weights(), windows), scores, atol=1e-5)
    save_weights(network.weights(), tmp_path / "weights.npz")
    np.testing.assert_allclose(score(load_weights(tmp_path / "weights.npz"), windows), scores, atol=0.05)

    network(windows).square().sum().backward()
    cells = torch.arange(NUM_CELLS)
    bits = (torch.from_numpy(windows.agents.astype(np.int64))[..., None] >> torch.arange(12)) & 1
    by_torch = [network.ground.grad, network.agents.grad]
    ground, agents = (part.detach().clone().requires_grad_() for part in (network.ground, network.agents))
    sums = ground[cells, torch.from_numpy(windows.grounds.astype(np.int64))].sum(1)
    sums = sums + torch.einsum("rkb,kbh->rh", bits.float(), agents)
    units = torch.relu(sums + network.ways(torch.from_numpy(describe_ways(windows.ways))))
    network.last(torch.relu(network.third(torch.relu(network.second(units))))).square().sum().backward()
    for own, expected in zip(by_torch, (ground.grad, agents.grad), strict=True):
        torch.testing.assert_close(own, expected, atol=1e-3, rtol=1e-3)


def test_a_training_goes_on_exactly(tmp_path: Path) -> None:
    """A training that ended after two of four rounds, and goes on, has the weights of one that was not interrupted."""

    class EndedError(Exception):
        pass

    def end_after_two(number: int, *_: Any) -> None:
        if number == 1:
            raise EndedError

    whole = imitate(TINY, tmp_path / "whole", lambda *_: None)
    with pytest.raises(EndedError):
        imitate(TINY, tmp_path / "parts", end_after_two)
    parts = imitate(TINY, tmp_path / "parts", lambda *_: None)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)
    other = imitate(dataclasses.replace(TINY, seed=1), tmp_path / "other", lambda *_: None)
    assert not np.array_equal(whole.ground, other.ground)


def skip_learning(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Let rounds produce labels without learning from them; return a list that gets the labels' sums in each round."""
    seen: list[list[int]] = []

    def look_at(network: Any, optimizer: Any, settings: Any, known: Labels, number: int) -> float:
        seen.append([number, len(known.actions), int(known.grounds.astype(int).sum())])
        return 0.0

    monkeypatch.setattr(imitation, "_learn", look_at)
    return seen


def test_a_training_goes_on_after_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the state of a round cannot be written, the same command repeats this round with the same labels."""
    settings = dataclasses.replace(TINY, rounds=3, labels=200)
    seen, save = skip_learning(monkeypatch), imitation._save

    def fail(network: Any, optimizer: Any, folder: Path, number: int) -> None:
        if number == 1:
            raise OSError(28, "No space left on device")
        save(network, optimizer, folder, number)

    monkeypatch.setattr(imitation, "_save", fail)
    with pytest.raises(OSError, match="No space left"):
        imitate(settings, tmp_path, lambda *_: None)
    monkeypatch.setattr(imitation, "_save", save)
    imitate(settings, tmp_path, lambda *_: None)
    assert [number for number, *_ in seen] == [0, 1, 1, 2]
    assert seen[1] == seen[2]


def test_other_settings_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder's training goes on with its own settings only; others are named, and nothing is changed."""
    settings = dataclasses.replace(TINY, rounds=1, labels=200)
    seen = skip_learning(monkeypatch)
    imitate(settings, tmp_path, lambda *_: None)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=r"a training with rounds=1, and seed=0; got rounds=5, and seed=1; expected"):
        imitate(dataclasses.replace(settings, rounds=5, seed=1), tmp_path, lambda *_: None)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert len(seen) == 1


def test_a_short_training_learns(tmp_path: Path) -> None:
    """From nothing, a training of less than a minute solves more held-out episodes than an untrained network."""
    settings = Settings(rounds=8, labels=40_000, samples=120_000, memory=8, batch_size=512, hidden=(64, 32, 16))
    losses: list[float] = []
    weights = imitate(settings, tmp_path, lambda _, loss, __: losses.append(loss))
    assert losses[-1] < 0.6 * losses[0]
    before = measure(Network((64, 32, 16)).weights(), episodes=6)["random-24-shield"]
    after = measure(weights, episodes=6)["random-24-shield"]
    assert before == 0 < after
