"""Training of the pretrained policy: symmetries, the network in torch, and that a training goes on exactly."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from few_labels import produce_few
from multigrid import GridConfig, MultiGridEnv
from multigrid.evaluation._playing import evaluate
from multigrid.planning._graph import Tables
from multigrid.policies._learned import load_weights, save_weights
from multigrid.policies._network import describe_ways, score
from multigrid.policies._surroundings import CAME, NUM_AGENT_BITS, NUM_CELLS, Surroundings, Windows
from tools.pretraining.held_out import _make, sample_held_out
from tools.pretraining.imitation import Settings, count_rounds, imitate
from tools.pretraining.labels import Labels, produce
from tools.pretraining.network import Network
from tools.pretraining.symmetry import SYMMETRIES, transform

pytestmark = pytest.mark.heavy

TINY = Settings(rounds=4, labels=500, samples=2000, memory=2, batch_size=256, hidden=(16, 16, 8))


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
    bits = (torch.from_numpy(windows.agents.astype(np.int64))[..., None] >> torch.arange(NUM_AGENT_BITS)) & 1
    by_torch = [network.ground.grad, network.agents.grad]
    ground, agents = (part.detach().clone().requires_grad_() for part in (network.ground, network.agents))
    sums = ground[cells, torch.from_numpy(windows.grounds.astype(np.int64))].sum(1)
    sums = sums + torch.einsum("rkb,kbh->rh", bits.float(), agents)
    units = torch.relu(sums + network.ways(torch.from_numpy(describe_ways(windows.ways))))
    network.last(torch.relu(network.third(torch.relu(network.second(units))))).square().sum().backward()
    for own, expected in zip(by_torch, (ground.grad, agents.grad), strict=True):
        torch.testing.assert_close(own, expected, atol=1e-3, rtol=1e-3)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Torch uses one thread, as in the command: the layers are small, and more threads wait for one another."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels take little time."""
    produce_few(monkeypatch)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The weights of a training that was not interrupted."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        produce_few(monkeypatch)
        return imitate(TINY, tmp_path_factory.mktemp("whole"), lambda *_: None)


@pytest.mark.usefixtures("few")
def test_a_training_goes_on_exactly(whole: Any, tmp_path: Path) -> None:
    """A training whose process for labels was killed, and that goes on, has the weights of one without interruption."""

    def kill(number: int, *_: Any) -> None:
        if number == 2:
            (child,) = multiprocessing.active_children()
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)
            child.join()

    with pytest.raises(ChildProcessError, match=r"^the process .* labels ended before .* goes on"):
        imitate(TINY, tmp_path, kill)
    first = count_rounds(tmp_path)
    assert first in {2, 3}
    rounds: list[int] = []
    parts = imitate(TINY, tmp_path, lambda number, *_: rounds.append(number))
    assert rounds == list(range(first + 1, 5))
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_short_training_learns(tmp_path: Path) -> None:
    """After a training of less than a minute most agents arrive, with an untrained network hardly any."""
    settings = Settings(rounds=6, labels=20_000, samples=60_000, memory=8, batch_size=256, hidden=(48, 32, 16))
    losses: list[float] = []
    weights = imitate(settings, tmp_path, lambda _, loss, __: losses.append(loss))
    assert losses[-1] < 0.6 * losses[0]
    shares = []
    for each in (Network((48, 32, 16)).weights(), weights):
        make = functools.partial(_make, each, False)
        shares.append(evaluate(sample_held_out("random", 24), make, range(6), per_episode=True)["isr"].mean)
    assert shares[0] < 0.1
    assert shares[1] > 0.8
