"""Figures and the numbers in them: intervals, smoothing, counts of visits, and what is drawn where."""

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from helpers import read_pixels
from multigrid import GridConfig, MultiGridEnv
from multigrid.cli._figures import (
    HeatMap,
    HeatMaps,
    Panel,
    Series,
    curve_figure,
    heat_figure,
    smooth,
    sweep_figure,
    write_figure,
)
from multigrid.cli._train_runs import HeldOut
from multigrid.cli._train_sb3 import panels
from multigrid.evaluation._estimates import MEASURES, Estimate, bootstrap, wilson
from multigrid.scenarios.tracing import EpisodeTrace

pytestmark = pytest.mark.heavy

RIGHT, UP, LEFT, DOWN, STAY = range(5)
NAN = math.nan


def watched(config, *steps, seed=0):
    """The episode that these joint actions make; what those who have left would do is ignored."""
    env = MultiGridEnv(config)
    env.reset(seed=seed)
    trace = EpisodeTrace(env)
    trace.note()
    for actions in steps:
        env.step(dict(zip(env.possible_agents, actions, strict=True)))
        trace.note()
    return trace.episode("a few steps")


def heat_of(config, *steps, seed=0):
    """The heat map of such an episode: visits and blocked moves, row by row."""
    heat = HeatMap(config.components[0] == 0)
    heat.add(watched(config, *steps, seed=seed))
    return heat.visits.T.tolist(), heat.blocked.T.tolist()


def read_back(figure, folder):
    """The pixels of a figure as PNG, int64 (height, width, 3)."""
    write_figure(folder / "figure.png", figure)
    return read_pixels(folder / "figure.png")


def pixel_at(figure, pixels, panel, x, y):
    """The colour at a point of a panel, in the coordinates of its data."""
    axes = figure.axes[panel]
    across, up = axes.transData.transform((x, y)) * (pixels.shape[1] / figure.bbox.width)
    return tuple(pixels[pixels.shape[0] - 1 - round(up), round(across)].tolist())


def bars_of(axes):
    """By label: the place, the mean, and both ends of each estimate that a panel shows."""
    found = {}
    for container in axes.containers:
        points, _, (bars,) = container.lines
        ends = [segment[:, 1] for segment in bars.get_segments()]
        found[container.get_label()] = [(*point, *both) for point, both in zip(points.get_xydata(), ends, strict=True)]
    return found


@pytest.mark.parametrize(
    ("successes", "episodes", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_intervals_of_rates_are_the_published_ones(successes, episodes, low, high):
    """Wilson's interval has the ends that Newcombe (Statistics in Medicine 17, 1998) prints for these counts."""
    estimate = wilson(np.repeat([1.0, 0.0], [successes, episodes - successes]))
    assert estimate.mean == successes / episodes
    assert (estimate.low, estimate.high) == (pytest.approx(low, abs=5.1e-5), pytest.approx(high, abs=5.1e-5))


def test_intervals_of_means_are_as_wide_as_those_of_a_normal_mean():
    """Of many values the bootstrap's interval is the mean, give or take 1.96 standard errors."""
    values = np.random.default_rng(3).exponential(5.0, size=400)
    estimate, error = bootstrap(values), values.std() / 20
    assert estimate.mean == values.mean()
    ends = values.mean() + 1.96 * error * np.array([-1, 1])
    np.testing.assert_allclose(estimate[1:], ends, atol=0.2 * error)
    assert bootstrap(values) == estimate


def test_smoothing_is_the_mean_of_the_last_rows():
    """Each point is the mean of its window, which is shorter at the beginning and passes over what is missing."""
    rows = np.array([NAN, 4.0, 2.0, NAN, 9.0, 3.0])
    np.testing.assert_allclose(smooth(rows, 3), [NAN, 4.0, 3.0, 3.0, 5.5, 6.0])
    np.testing.assert_array_equal(smooth(rows, 1), rows)


def test_the_curve_shows_rows_their_mean_and_evaluations():
    """Of sixty rows the panel has the raw line, faint, that of means over three, and evaluations with their ends."""
    values = np.arange(60.0) % 7 / 10
    rows = [{"steps": 512 * (row + 1), "rate": value} for row, value in enumerate(values)]
    panel = Panel("rate", "a rate", [(0, Estimate(0.2, 0.1, 0.4)), (30720, Estimate(0.8, 0.7, 0.9))], top=1.05)
    (axes,) = curve_figure(rows, [panel]).axes
    raw, smooth = axes.lines[:2]
    np.testing.assert_array_equal(raw.get_xydata(), np.column_stack([512 * np.arange(1, 61), values]))
    assert raw.get_alpha() < 0.5
    assert smooth.get_label() == "training, mean of 3 rollouts (faint: each)"
    assert smooth.get_ydata()[10] == pytest.approx(values[8:11].mean())
    bars = bars_of(axes)["held-out episodes, 95 % CI"]
    np.testing.assert_allclose(bars, [(0, 0.2, 0.1, 0.4), (30720, 0.8, 0.7, 0.9)])
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("a rate", "steps of all agents together")
    # Interrupted before its first row, a run shows its evaluations alone.
    (axes,) = curve_figure([], [Panel("rate", "a rate", [(0, Estimate(0.5, NAN, NAN))])]).axes
    np.testing.assert_allclose(bars_of(axes)["held-out episodes, 95 % CI"], [(0, 0.5, 0.5, 0.5)])


def test_success_is_shown_on_held_out_episodes_alone():
    """Where the episodes that ended in a rollout would mislead, one line leads from evaluation to evaluation."""
    rows = [{"steps": 512 * row, "success_rate": 1.0, "mean_steps": 3.0, "reward_per_step": 0.1} for row in (1, 2, 3)]
    early, late = (
        HeldOut(np.array(steps), np.array(returns), {"csr": np.floor(returns), "isr": np.array(returns)})
        for returns, steps in (([1.0, 0.5, 0.0], [4.0, 20.0, 20.0]), ([1.0, 1.0, 0.0], [5.0, 9.0, 20.0]))
    )
    success, steps, reward = curve_figure(rows, panels(GridConfig(), [(0, early), (1536, late)])).axes
    for axes, values in ((success, [1 / 3, 2 / 3]), (steps, [44 / 3, 34 / 3])):
        np.testing.assert_allclose(axes.lines[0].get_xydata(), [(0, values[0]), (1536, values[1])])
        assert axes.get_legend_handles_labels()[1] == ["held-out episodes, 95 % CI"]
    assert success.yaxis.get_major_formatter()(0.5, 0) == "50 %"
    assert reward.get_legend_handles_labels()[1] == ["training"]
    np.testing.assert_allclose(reward.lines[0].get_xydata(), [(512, 0.1), (1024, 0.1), (1536, 0.1)])


def test_heat_maps_count_cells_and_refusals():
    """Every step counts the cell that an agent stands on, and its refusal there; not once it rests on its target."""
    config = GridConfig(walls="a.A\n#B.\n.b.", on_target="park", allow_stay=True, max_cycles=20)
    # a: edge, wall, right, right, then parked. b: stays thrice, goes to its target, then parked.
    steps = ([LEFT, STAY], [UP, STAY], [RIGHT, STAY], [STAY, DOWN], [STAY, UP], [RIGHT, STAY])
    # b arrives with its fourth step; a with its sixth, having stood on (1, 0) for three.
    assert heat_of(config, *steps) == ([[3, 3, 1], [0, 1, 0], [0, 4, 0]], [[2, 0, 0], [0, 0, 0], [0, 0, 0]])
    # Two that would swap, and two that ask for one cell, are blocked on their own cells.
    assert heat_of(GridConfig(walls="Bab.A", max_cycles=9), [RIGHT, LEFT])[1] == [[0, 1, 1, 0, 0]]
    assert heat_of(GridConfig(walls="Ba.bA", max_cycles=9), [RIGHT, LEFT])[1] == [[0, 1, 0, 1, 0]]
    # Agents that take no part have no cell.
    drawn = GridConfig(size=(4, 3), num_agents=(1, 4))
    assert np.sum(heat_of(drawn, seed=1)[0]) == watched(drawn, seed=1).present.sum() == 2


@pytest.mark.parametrize("on_target", ["leave", "park", "stay"])
def test_resting_on_a_target_is_no_visit(on_target):
    """The arrival counts, the steps after it do not, whatever the rule; bumping there is no blocked move either."""
    config = GridConfig(walls="aA...\nb...B", on_target=on_target, allow_stay=True, max_cycles=20)
    visits, blocked = heat_of(config, [RIGHT, RIGHT], [DOWN, RIGHT], [STAY, RIGHT], [DOWN, RIGHT])
    assert (visits, blocked) == ([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1]], [[0] * 5] * 2)


def test_of_several_maps_the_most_played_is_shown():
    """Episodes on different maps are not added up."""
    maps = HeatMaps()
    for picture in ("a.A\n.#.", "a.A\n..#", "a.A\n..#"):
        maps.add(watched(GridConfig(walls=picture), [RIGHT]))
    heat = maps.most_played()
    assert (heat.episodes, bool(heat.walls[2, 1])) == (2, True)
    assert heat.visits.T.tolist() == [[2, 2, 0], [0, 0, 0]]


def test_the_heat_map_is_drawn_as_frames_are(tmp_path):
    """Walls are dark, y grows downwards, and cells are from white to the palette's colour, by their visits."""
    heat = HeatMap(np.array([[0, 0, 1], *[[0, 0, 0]] * 4], dtype=bool))
    heat.visits[4, 0], heat.visits[1, 2], heat.blocked[2, 1] = 40, 10, 3
    heat.episodes = 10
    figure = heat_figure(heat, "a title")
    pixels = read_back(figure, tmp_path)
    for panel, x, y, colour in (
        *((0, 0, 2, (70, 70, 78)), (1, 0, 2, (70, 70, 78)), (0, 0, 0, (255, 255, 255)), (1, 4, 0, (255, 255, 255))),
        (0, 1, 2, (127, 184, 216)),  # a quarter of the largest value stands half way on a scale of square roots
        *((0, 4, 0, (0, 114, 178)), (1, 2, 1, (213, 94, 0))),
    ):
        np.testing.assert_allclose(pixel_at(figure, pixels, panel, x, y), colour, atol=2)
    first, second = figure.axes[:2]
    titles = [axes.get_title(loc="left") for axes in (first, second)]
    assert titles == ["visits, square-root scale", "blocked moves, square-root scale"]
    (scale,) = first.child_axes
    assert (scale.get_ylabel(), first.images[0].get_clim()) == ("visits per episode", (0, 4.0))
    assert first.get_ylim()[0] > first.get_ylim()[1]
    assert (first.get_xlabel(), first.get_ylabel()) == ("x (cells)", "y (cells)")


@pytest.mark.parametrize("shape", [(1, 40), (40, 1), (90, 2), (2, 3)])
def test_maps_of_any_shape_have_a_heat_map(shape, tmp_path):
    """Long and narrow maps are drawn without a warning, their last cell where it belongs."""
    heat = HeatMap(np.zeros(shape, dtype=bool))
    heat.visits[-1, -1] = heat.episodes = 1
    figure = heat_figure(heat, "a title that is as long as those of a rollout, 100 episodes")
    pixels = read_back(figure, tmp_path)
    np.testing.assert_allclose(pixel_at(figure, pixels, 0, shape[0] - 1, shape[1] - 1), (0, 114, 178), atol=2)
    assert pixel_at(figure, pixels, 0, 0, 0) == (255, 255, 255)


def test_the_sweep_shows_means_and_ends_by_number_of_agents():
    """Each line has its means at its numbers of agents, with the ends of their intervals, on both panels."""
    undefined = dict.fromkeys(MEASURES, Estimate(NAN, NAN, NAN))
    estimates = [
        undefined | {"csr": Estimate(rate, rate - 0.1, rate + 0.05), "isr": Estimate(single, single, single)}
        for rate, single in ((0.9, 1.0), (0.3, 0.7))
    ]
    figure = sweep_figure([Series("maze", [2, 8], estimates)])
    left, right = figure.axes
    np.testing.assert_allclose(bars_of(left)["maze"], [(2, 0.9, 0.8, 0.95), (8, 0.3, 0.2, 0.35)])
    np.testing.assert_allclose(bars_of(right)["maze"], [(2, 1.0, 1.0, 1.0), (8, 0.7, 0.7, 0.7)])
    assert (left.get_xlabel(), list(left.get_xticks())) == ("number of agents", [2, 8])
    labels = [left.get_ylabel(), right.get_ylabel()]
    assert labels == ["share of episodes in which all arrived", "share of agents that arrived"]
    assert not figure.legends
    # Where success rates are not defined, the one panel has the throughput; several lines have a legend.
    values = undefined | {"throughput": Estimate(0.5, 0.4, 0.7)}
    figure = sweep_figure([Series("maze", [4], [values]), Series("rooms", [4], [values])])
    (axes,) = figure.axes
    assert axes.get_ylabel() == "throughput (arrivals per step)"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["maze", "rooms"]
    (one,), (other,) = bars_of(axes).values()
    assert one[1:] == other[1:] == (0.5, pytest.approx(0.4), pytest.approx(0.7))
    assert one[0] < 4 < other[0], "side by side"
    # In a game without targets there are returns alone, which may be negative.
    (axes,) = sweep_figure([Series("maze", [4], [undefined | {"return": Estimate(-2.0, -3.0, -1.0)}])]).axes
    assert (axes.get_ylabel(), bars_of(axes)["maze"]) == ("return of an agent", [(4, -2, -3, -1)])
    assert axes.get_ylim()[0] < -3


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_figure_is_written_as_its_suffix_says(suffix, start, tmp_path):
    """PNG, SVG and PDF begin as such files do, equal figures give equal bytes; another suffix is refused."""
    contents = []
    for name in ("one", "other"):
        figure = curve_figure([{"steps": 1, "rate": 0.5}], [Panel("rate", "a rate", [(0, Estimate(0.2, 0.1, 0.4))])])
        write_figure(tmp_path / f"{name}.{suffix}", figure)
        contents.append((tmp_path / f"{name}.{suffix}").read_bytes())
    assert contents[0].startswith(start)
    assert contents[0] == contents[1]
    with pytest.raises(ValueError, match=r"figure.doc is to be a figure; expected .* .png, .svg or .pdf"):
        write_figure(tmp_path / "figure.doc", Figure())
    assert len(list(tmp_path.iterdir())) == 2
