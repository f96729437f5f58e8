"""`multigrid rollout`: its numbers against episodes known by hand, its policies, and the files that it leaves."""

import dataclasses
import io
import itertools
import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest
from rich.console import Console

from helpers import AROUND, names, read_gif, read_pixels, read_rows, run_in_terminal, run_python
from multigrid import GridConfig, MultiGridEnv, Outcome, evaluate, games, parallel_env
from multigrid.cli import _films as films
from multigrid.cli import main
from multigrid.cli import rollout as rollout_module
from multigrid.cli._episodes import format_estimate, label_of, make_table, play_episode
from multigrid.cli._models import make_policy_factory, match_observations
from multigrid.core.metrics import DELAYS
from multigrid.envs.spaces import observation_space
from multigrid.evaluation._estimates import MEASURES, Estimate
from multigrid.policies import random_policy, shortest_path_policy
from multigrid.rendering._frame import readable_size
from multigrid.rendering._text import describe_step
from multigrid.scenarios import load
from multigrid.scenarios.tracing import EpisodeTrace, trace_episode

pytestmark = pytest.mark.heavy

RIGHT = 0
CORRIDORS = "a..A.\n#####\nb.B##"


def episodes_of(folder):
    """The rows of a rollout's episodes."""
    return read_rows(Path(folder) / "episodes.csv")


def played(env, policy, seed=0):
    """The environment, after an episode of a policy."""
    observations, _ = env.reset(seed=seed)
    while env.agents:
        observations, *_ = env.step(policy(env, observations))
    return env


def test_the_numbers_are_those_of_an_episode_known_by_hand(run, shown, saved):
    """Ways of three and two steps make a sum of costs of five; four successes in four have Wilson's interval."""
    content = shown(f"rollout --scenario {saved()} --episodes 4")
    (world,) = content["worlds"]
    assert (world["name"], world["num_agents"], content["episodes"]) == ("by-hand", 2, 4)
    metrics = world["metrics"]
    assert metrics["success"] == metrics["csr"] == {"mean": 1.0, "low": pytest.approx(0.5101, abs=1e-4), "high": 1.0}
    assert metrics["sum_of_costs"] == {"mean": 5.0, "low": None, "high": None}
    assert metrics["throughput"] == {"mean": None, "low": None, "high": None}
    printed = run("rollout --scenario by-hand.json --episodes 4")
    assert [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if "│" in line] == [
        ["success (CSR): all agents arrived", "1.000", "[0.510, 1.000]"],
        ["ISR: individual success rate", "1.000", ""],
        ["sum of costs: steps until arrival", "5.0", ""],
        ["makespan: steps until the last arrival", "3.0", ""],
    ]
    assert printed.startswith("shortest-path: 4 episodes, mean [95 % confidence interval]")
    assert list(Path().iterdir()) == [Path("by-hand.json")], "nothing was asked for, and nothing is written"


def test_a_search_plans_and_bounds(home, saved):
    """Where one of two has to step aside, LaCAM* plans it at the smallest sum of costs, of which the gap is 0."""
    path = saved("aB..bA\n##.###", on_target="stay", allow_stay=True)
    words = f"-m multigrid rollout --policy lacam --scenario {path} --episodes 1 --gap 5 --json".split()
    # Interpreted, for a minute of compilation would be the price; tests/cli/planning has more.
    done = run_python(*words, cwd=home, env={**AROUND, "NUMBA_DISABLE_JIT": "1"})
    metrics = json.loads(done.stdout)["worlds"][0]["metrics"]
    assert [metrics[name]["mean"] for name in ("csr", "gap")] == [1.0, 0.0]


def test_the_same_flags_give_the_same_numbers(run):
    """Two runs agree; episode i of seed s is that of s + i; and what is recorded plays again with the row's figures."""
    flags = "rollout --policy random --size 4 3 --max-cycles 40 --episodes 6 --keep 2 --record"
    for seed, folder in ((3, "one"), (3, "same"), (5, "later")):
        run(f"{flags} --seed {seed} --output {folder}")
    one, same, later = (episodes_of(folder) for folder in ("one", "same", "later"))
    assert one == same
    assert Path("one/metrics.json").read_bytes() == Path("same/metrics.json").read_bytes()
    assert one[2:] == later[:-2]
    assert one != later
    assert [int(row["seed"]) for row in later] == [5, 6, 7, 8, 9, 10]
    files = ["grid-4x3-2-5.json", "grid-4x3-2-6.json"]
    assert names(Path("later")) == ["episodes.csv", *files, "metrics.json"]
    for name, row in zip(files, later[:2], strict=True):
        episode = trace_episode(load(Path("later") / name))
        figures = (episode.num_steps, episode.metrics["sum_of_costs"], episode.metrics["isr"])
        assert tuple(float(row[key]) for key in ("steps", "sum_of_costs", "isr")) == figures


def test_the_suite_is_played_by_name(run, shown):
    """Parts of names, and patterns for whole ones, choose scenarios of the suite, which appear as rows."""
    played = [world["name"] for world in shown("rollout --suite 9x7 maze-*-4 --episodes 1")["worlds"]]
    assert played == ["empty-9x7-2", "maze-9x7-2", "maze-11x9-4", "random-9x7-2", "rooms-9x7-2", "warehouse-9x7-2"]
    printed = run("rollout --suite empty-9x7-2 rooms-9x7-2 --episodes 2")
    assert all(part in printed for part in ("(CSR)", "empty-9x7-2", "rooms-9x7-2"))


def test_alone_an_agent_takes_a_shortest_way():
    """Around walls and across open grids an agent takes a shortest way; of several, one is drawn."""
    policy = shortest_path_policy(np.random.default_rng(0))
    around = GridConfig(walls="a.#A\n..#.\n....", max_cycles=50)
    assert played(MultiGridEnv(around), policy).metrics()["makespan"] == 7
    # The same policy goes on in another world.
    for seed in range(10):
        env = MultiGridEnv(GridConfig(size=(7, 5), num_agents=1))
        _, infos = env.reset(seed=seed)
        assert played(env, policy, seed).metrics()["makespan"] == infos["agent_0"]["distance"]
    env = MultiGridEnv(GridConfig(walls="...\na..\n...\n..A"))
    observations, _ = env.reset(seed=0)
    counts = np.bincount([policy(env, observations)["agent_0"] for _ in range(200)])
    assert ((counts > 70).tolist(), counts.sum()) == ([True, True], 200)


@pytest.mark.parametrize(("allow_stay", "outcomes"), [(True, {"STAYED"}), (False, {"WALL", "EDGE"})])
def test_on_its_target_an_agent_rests(allow_stay, outcomes):
    """Under *stay* an agent that has arrived waits for the other: it stays, or without that action asks for a wall."""
    env = MultiGridEnv(GridConfig(walls="aA##\n####\nb..B", on_target="stay", allow_stay=allow_stay, max_cycles=30))
    policy = shortest_path_policy(np.random.default_rng(0))
    observations, infos = env.reset(seed=0)
    seen = []
    while env.agents:
        observations, *_, infos = env.step(policy(env, observations))
        seen.append(Outcome(infos["agent_0"]["outcome"]).name)
    assert (seen[0], len(seen)) == ("MOVED", 3)
    assert set(seen[1:]) <= outcomes


def test_agents_in_each_others_way_step_aside():
    """Two that meet head on go around one another; without the drawn moves they would stand there for ever."""
    env = MultiGridEnv(GridConfig(walls="bA.aB\n.....", max_cycles=200))
    for seed in range(5):
        stubborn, polite = (shortest_path_policy(np.random.default_rng(seed), **more) for more in ({"sidestep": 0}, {}))
        assert played(env, stubborn).metrics()["isr"] == 0
        assert played(env, polite).metrics()["csr"] == 1


def test_policies_answer_for_those_who_are_there():
    """Who has left is not asked for, and over many draws random play has a fifth of each of five actions."""
    env = MultiGridEnv(GridConfig(walls="aA...\nb...B", on_target="leave", allow_stay=True))
    for policy in (random_policy(np.random.default_rng(0)), shortest_path_policy(np.random.default_rng(0))):
        observations, _ = env.reset(seed=0)
        assert list(policy(env, observations)) == ["agent_0", "agent_1"]
        env.step({"agent_0": RIGHT, "agent_1": RIGHT})
        assert list(policy(env, {})) == ["agent_1"]
    env = MultiGridEnv(GridConfig(size=(6, 5), num_agents=20, allow_stay=True))
    env.reset(seed=0)
    policy = random_policy(np.random.default_rng(0))
    counts = np.bincount([action for _ in range(100) for action in policy(env, {}).values()])
    assert (np.abs(counts - 400) < 80).tolist() == [True] * 5


def test_a_trained_model_plays_its_own_world(trained, shown, saved):
    """Without flags the world is that of the training; in any other it sees and does what it was trained to."""
    flags = f"rollout --policy {trained}"
    content = shown(f"{flags} --episodes 5")
    assert content["worlds"][0]["name"] == "grid-5x4-3"
    # Its draws are seeded, and where agents can stay, a model that was trained without plays the very same episodes.
    assert shown(f"{flags} --episodes 5 --allow-stay") == shown(f"{flags} --episodes 5") == content
    path = saved(observe=("walls",), max_cycles=4)
    for more, name, steps in (
        ("", "grid-5x4-3", 12),
        ("--size 6 4 --num-agents 2", "grid-6x4-2", 12),
        (f"--scenario {path}", "by-hand", 4),
        ("--suite empty-9x7", "empty-9x7-2", 300),
    ):
        (world,) = shown(f"{flags} --episodes 2 {more}")["worlds"]
        assert world["name"] == name
        assert world["metrics"]["makespan"]["mean"] <= steps


def test_what_a_model_sees_and_does_is_that_of_its_training():
    """The world's rules stay; a world without the model's action to stay, or with other shapes, is refused."""
    grid = GridConfig(size=(4, 6), on_target="leave")
    near = {"observe": ("view",), "view_radius": 1, "flatten": True}
    assert match_observations("a", grid, GridConfig(**near)) == dataclasses.replace(grid, **near)
    assert not match_observations("grid", dataclasses.replace(grid, allow_stay=True), GridConfig()).allow_stay
    with pytest.raises(ValueError, match="trained to stay, but agents of grid cannot; add --allow-stay"):
        match_observations("grid", grid, GridConfig(allow_stay=True))
    with pytest.raises(ValueError, match=r"grid sees .*'others': \(3, 2\).* trained to see .*'others': \(1, 2\)"):
        match_observations("grid", GridConfig(size=(6, 4), num_agents=4), GridConfig())


@pytest.mark.parametrize("game_id", ["Foraging-5x5-2p-1f-v3", "rware-tiny-2ag-v2", "Overcooked-cramped_room-v0"])
def test_what_a_model_of_a_game_sees_is_the_games_own(game_id):
    """A game's observation, be it one array or what the game makes of its parts, is that of the training."""
    grid = games.config(game_id)
    for trained in (grid, dataclasses.replace(grid, observe="rgb"), dataclasses.replace(grid, flatten=True)):
        assert observation_space(match_observations("g", grid, trained)) == observation_space(trained)


@pytest.fixture(scope="module")
def film():
    """An episode of two agents on a map of 5 x 3, of three steps."""
    config = GridConfig(walls=CORRIDORS, max_cycles=20)
    return play_episode("corridors", config, make_policy_factory("shortest-path"), 0, watch=True).episode


def test_a_gif_shows_every_step(film):
    """A frame for the reset and one for each step, a quarter of a second each; each of two episodes is held longer."""
    films.write_gif(Path("film.gif"), [film, film], 4)
    info, pictures, durations = read_gif(Path("film.gif"))
    assert (info["loop"], durations) == (0, [250, 250, 250, 1250] * 2)
    for index, (pixels, frame) in enumerate(zip(pictures[:4], films.film_frames(film), strict=True)):
        # Below the picture of 308 lines stands a line of text.
        assert pixels.shape == (336, 512, 3)
        assert (pixels == frame).all(axis=2).mean() > 0.98
        assert np.abs(pixels - frame).max() < 40
        assert np.abs(pictures[4 + index] - frame).mean() < 1
        # Agent a walks along the uppermost row, its disc blue left and right of its number.
        x, y = round((index + 0.5) * 102.4), round(0.5 * 102.4)
        np.testing.assert_allclose(pixels[y, x - 26], (0, 114, 178), atol=6)
        np.testing.assert_allclose(pixels[round(1.5 * 102.4), x], (70, 70, 78), atol=6)


def test_films_have_the_size_and_the_pace_that_are_asked_for(film):
    """Durations are rounded, not cut, to hundredths of a second; the longer side is `pixels`, or what can be read."""
    for frames_per_second, milliseconds in ((60, 20), (30, 30), (24, 40), (15, 70)):
        films.write_gif(Path("film.gif"), [film], frames_per_second, pixels=200)
        _, pictures, durations = read_gif(Path("film.gif"))
        assert (durations[0], pictures[0].shape[1]) == (milliseconds, 200)
    assert next(films.film_frames(film, pixels=200)).shape == (120 + 16, 200, 3)
    for size, side in (((5, 3), 512), ((41, 31), 984), ((31, 41), 984), ((200, 100), 1280)):
        assert readable_size(GridConfig(size=size)) == side


def test_smooth_films_have_frames_between_steps(film):
    """Four steps a second become 20 frames a second, in which a disc moves by a fifth of a cell each."""
    films.write_gif(Path("film.gif"), [film], 4, smooth=True)
    _, pictures, durations = read_gif(Path("film.gif"))
    assert durations == [50] * 15 + [1050]
    blue = [np.abs(picture[51] - (0, 114, 178)).max(axis=1) < 12 for picture in pictures]
    lefts = [np.flatnonzero(row)[0] for row in blue]
    np.testing.assert_allclose(np.diff(lefts)[:14], 102.4 / 5, atol=1.6)
    films.write_mp4(Path("film.mp4"), film, 4, smooth=True)
    assert len(decoded("film.mp4")[1]) == 3 * 8 + 1 + 32


def stuck(max_cycles):
    """An episode in which two agents meet after one step, and ask for each other's cells ever after."""
    env = parallel_env(walls="a..bc\nB.A.C", max_cycles=max_cycles)
    trace, actions = EpisodeTrace(env), {"agent_0": 0, "agent_1": 2, "agent_2": 3}
    env.reset()
    trace.note()
    while env.agents:
        env.step(actions)
        trace.note(actions)
    return trace.episode("stuck")


def test_films_end_after_a_deadlock():
    """Four steps after the last change a film ends; its caption then names the step; short standstills are shown."""
    episode = stuck(60)
    assert len(list(films.film_frames(episode))) == 6
    said = [describe_step(episode, step)[0] for step in (0, 1, 5)]
    assert said == ["step 0: 0 of 3 arrived", *["deadlock from step 1: 0 of 3 agents arrived"] * 2]
    films.write_gif(Path("film.gif"), [episode, episode], 4)
    assert sum(read_gif(Path("film.gif"))[2]) == 2 * (6 * 250 + 1000)
    films.write_mp4(Path("film.mp4"), episode, 8)
    assert len(decoded("film.mp4")[1]) == 6 + 8
    assert len(list(films.film_frames(stuck(9)))) == 10


def test_a_gif_has_whole_episodes_only(film):
    """Of episodes of four frames as many are shown as there is room for; a first one that is too long is cut."""
    found = {room: [one.num_steps + 1 for one in films.fit_frames([film] * 3, room)] for room in (3, 4, 7, 8, 99)}
    assert found == {3: [3], 4: [4], 7: [4], 8: [4, 4], 99: [4, 4, 4]}
    for episode in (film, stuck(60)):
        (cut,) = films.fit_frames([episode], 3)
        assert (cut.agents == episode.agents[:3]).all()
        assert (cut.verdict, len(list(films.film_frames(cut)))) == (episode.verdict, 3)


def decoded(path):
    """What ffmpeg says of a video, and all its frames: int (T, height, width, 3)."""
    ffmpeg = [imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(ffmpeg, capture_output=True, check=True)
    printed = done.stderr.decode()
    (size,) = re.findall(r"Video: h264.* (\d+x\d+)", printed.split("Output")[0])
    width, height = map(int, size.split("x"))
    return printed, np.frombuffer(done.stdout, dtype=np.uint8).reshape(-1, height, width, 3).astype(int)


def test_a_video_shows_every_step(film):
    """An MP4 has the same frames in H.264 and 4:2:0 at the asked pace, and holds its end."""
    films.write_mp4(Path("film.mp4"), film, 8)
    printed, pixels = decoded("film.mp4")
    assert all(words in printed for words in ("yuv420p", "8 fps"))
    frames = list(films.film_frames(film))
    assert pixels.shape == (4 + 8, 336, 512, 3)
    for index, frame in enumerate([*frames, *[frames[-1]] * 8]):
        assert np.abs(pixels[index] - frame).mean() < 4
        disc = pixels[index][51, round((min(index, 3) + 0.5) * 102.4) - 26]
        np.testing.assert_allclose(disc, (0, 114, 178), atol=25)
    # A player can begin before it has all of the file.
    content = Path("film.mp4").read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit to the size of a file")
def test_a_film_on_a_full_disk_is_an_error(film):
    """When there is no room, ffmpeg fails without a word; the error names the film, and nothing is left."""
    import resource

    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, allowed[1]))
    try:
        with pytest.raises(OSError, match=r"film\.mp4"):
            films.write_mp4(Path("film.mp4"), film, 4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
    assert not list(Path().iterdir())


def test_names_are_not_taken_for_markup(trained, capsys):
    """Folders with the letters of rich's markup, of its emoji and of Matplotlib's formulas are named as they are."""
    folder, output = Path("[bold]a[/x] $x_$ :smile:"), "[/out] $ :cat:"
    shutil.copytree(trained, folder)
    assert main(["rollout", "--policy", str(folder), "--episodes=1", "--figures", "--output", output]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(f"{folder}: 1 episode")
    assert f"outputs in {output}" in printed.err
    assert (Path(output) / "grid-5x4-3-heat.png").is_file()


FILES = {
    "--output out": "0.gif heat.png",
    "--gif --mp4 --svg --record --figures --figure-format svg --fps 8 --output deep/er": "0.gif 0.mp4 0.svg heat.svg",
    "--record": "",
}


@pytest.mark.parametrize("flags", FILES)
def test_files_are_left_in_the_folder(flags, home, saved, capsys):
    """The kinds that are named, or the usual ones, are left for each kept episode, by default in rollouts/TIME."""
    assert main(f"rollout --scenario {saved()} --episodes 2 --keep 1 {flags}".split()) == 0
    (folder,) = [Path(flags.split()[-1])] if "--output" in flags else Path("rollouts").iterdir()
    files = [f"by-hand-{kind}" for kind in ("0.json", *FILES[flags].split())] + ["episodes.csv", "metrics.json"]
    assert names(folder) == sorted(files)
    assert len([path for path in home.rglob("*") if path.is_file()]) == len(files) + 1
    assert f"outputs in {folder}" in capsys.readouterr().err
    if "gif" in FILES[flags]:
        assert read_gif(folder / "by-hand-0.gif")[2][0] == pytest.approx(125 if "--fps 8" in flags else 250, abs=5)


def test_a_sweep_has_its_figure_and_its_worlds(run):
    """Each number of agents is a world of its own, in rising order, and success by that number is drawn."""
    run("rollout --num-agents-sweep 4 1 2 4 --size 6 3 --episodes 3 --figures --output out")
    content = json.loads(Path("out/metrics.json").read_text())
    worlds = [(world["name"], world["num_agents"]) for world in content["worlds"]]
    assert worlds == [("grid-6x3-1", 1), ("grid-6x3-2", 2), ("grid-6x3-4", 4)]
    assert len(episodes_of("out")) == 9
    assert (read_pixels(Path("out/by-number-of-agents.png")) == (0, 114, 178)).all(axis=2).sum() > 1000


def test_a_drawn_number_of_agents_is_drawn_in_each_episode(shown):
    """Two numbers after --num-agents are the least and the largest one; a sweep plays each number of its own."""
    flags = "rollout --size 6 3 --num-agents 1 4 --episodes 6"
    (world,) = shown(flags)["worlds"]
    drawn = GridConfig(size=(6, 3), num_agents=(1, 4))
    expected = evaluate(drawn, make_policy_factory("shortest-path"), range(6), per_episode=True)
    assert world["metrics"]["sum_of_costs"]["mean"] == expected["sum_of_costs"].mean
    swept = shown(f"{flags} --num-agents-sweep 2 4")["worlds"]
    assert swept == shown("rollout --size 6 3 --num-agents-sweep 2 4 --episodes 6")["worlds"]


def test_a_table_is_legible_where_output_is_piped():
    """In 80 columns, which a pipe has, no metric and no number of the table of one world is cut."""
    table = make_table("title", "grid-20x10-100", "mean", "interval")
    for name in (*MEASURES, DELAYS, "return", "gap"):
        table.add_row(": ".join(label_of(name)), *format_estimate(name, Estimate(1234.5, 1233.5, 1235.5)))
    console = Console(file=io.StringIO(), width=80)
    console.print(table)
    assert "…" not in console.file.getvalue()


@pytest.mark.parametrize(("owner", "function"), [(rollout_module, "play_episode"), (films, "scene_of")])
def test_an_interrupted_rollout_leaves_nothing(owner, function, saved, monkeypatch, capsys):
    """Interrupted among the episodes or in a film, it says so in one line and leaves no file and no folder."""
    proper, calls = getattr(owner, function), itertools.count(1)

    def break_off(*arguments, **named):
        if next(calls) < 4:
            return proper(*arguments, **named)
        assert [path.suffix for path in Path().iterdir() if path.is_dir()] == [".part"] * (owner is films)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, function, break_off)
    assert main(f"rollout --scenario {saved()} --episodes 5 --output out --gif --mp4 --record".split()) == 130
    assert capsys.readouterr().err.splitlines()[-1].startswith("multigrid rollout: interrupted")
    assert names(Path()) == ["by-hand.json"]


@pytest.mark.parametrize("reason", [OSError("no space"), OverflowError("too long")], ids=repr)
@pytest.mark.parametrize("part", ["write_gif", "write_mp4"])
def test_no_file_of_a_rollout_is_lost_because_another_cannot_be_written(part, reason, saved, monkeypatch, capsys):
    """What could not be written is named with the reason, the exit code is 2, and all else is in its place."""

    def fail(*_, **__):
        raise reason

    monkeypatch.setattr(films, part, fail)
    assert main(f"rollout --scenario {saved()} --keep 1 --output out --gif --mp4 --record".split()) == 2
    assert str(reason) in capsys.readouterr().err.splitlines()[-1]
    lost = f"by-hand-0.{part.removeprefix('write_')}"
    kept = {"by-hand-0.gif", "by-hand-0.json", "by-hand-0.mp4", "episodes.csv", "metrics.json"} - {lost}
    assert names(Path("out")) == sorted(kept)


def test_sigterm_cleans_up_as_ctrl_c_does(monkeypatch):
    """What a scheduler ends leaves no half file, and the handler of whoever called is there again."""
    monkeypatch.setattr(films, "write_gif", lambda *_, **__: signal.raise_signal(signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit, match=str(128 + signal.SIGTERM)):
        main(["rollout", "--episodes", "1", "--gif", "--output", "out"])
    assert list(Path().iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) == before


def screen_of(printed):
    """The lines that a terminal shows at the end, without digits: of what moves the cursor, what rich writes."""
    rows, row, column = [""], 0, 0
    codes = r"(\x1b\[2K)|\x1b\[(\d+)A|([\r\n]|\x1b\[[0-9;?]*[A-Za-z])|([^\x1b\r\n]+)"
    for erased, up, control, text in re.findall(codes, printed):
        if erased:
            rows[row] = ""
        elif up:
            row -= int(up)
        elif control == "\n":
            row += 1
            rows += [""] * (row == len(rows))
        elif control == "\r":
            column = 0
        elif text:
            rows[row] = rows[row].ljust(column)[:column] + text + rows[row][column + len(text) :]
            column += len(text)
    return [re.sub(r"\d", "", line).rstrip() for line in rows if line.strip()]


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_compilation_leaves_one_line_on_the_terminal(tmp_path):
    """With an empty cache a terminal of 80 columns shows at the end one line more than without a compilation."""
    words = [sys.executable, "-m", "multigrid", "rollout", "--episodes", "2"]
    env = AROUND | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "MULTIGRID_JIT": "1", "TERM": "xterm"}
    shown = []
    for run in ("cold", "warm"):
        (tmp_path / run).mkdir()
        printed, code = run_in_terminal(words, cwd=tmp_path / run, env=env)
        assert code == 0, printed
        assert ("compiling the rules of the game" in printed) == (run == "cold")
        shown.append(screen_of(printed))
    assert len(shown[1]) > 3
    assert len(shown[0]) == len(shown[1]) + 1
    assert [line for line in shown[0] if "compiling the rules" not in line] == shown[1]
