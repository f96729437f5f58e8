"""Games on the command line: ``--game`` and ``--option``, whole commands on an example, and what is refused."""

import csv
import io
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pygame
import pytest
from rich.console import Console

import multigrid
from helpers import read_gif
from multigrid.cli import main
from multigrid.cli import play as play_module
from multigrid.cli._options import fill_options, read_given, tell_expected
from multigrid.cli._play_screen import Screen, figures, headline, keys
from multigrid.cli._play_session import Session
from multigrid.cli._train_options import TrainOptions, check_options
from multigrid.cli._train_runs import print_headline
from multigrid.cli.play import KeyboardController, PlayOptions
from multigrid.game import describe
from multigrid.runtime import kernel_cache
from multigrid.scenarios import load

pytestmark = pytest.mark.heavy

EXAMPLE = Path(__file__).parents[3] / "examples/games/key_and_door.py"
GAME = "--game door.py:KeyAndDoor"
WORLD = f"{GAME} --size 4 3 --max-cycles 12"
TINY = "--steps 64 --copies 2 --rollout 8 --batch-size 16 --epochs 1 --hidden 8 --episodes 2 --evaluations 2"
DOOR = (0x8D, 0x6E, 0x63)  # the colour of its mark
MEASURED = """

class Measured(KeyAndDoor):
    options = {"most": 3, "quick": False}

    def metric_held(w, s, e):
        return s.carrier[e] != NOBODY
"""


@pytest.fixture(autouse=True)
def file(home, monkeypatch):
    """The example's file in the folder of the test; Python runs the game, for to compile it takes longer."""
    monkeypatch.setenv("MULTIGRID_CHECK", "1")
    monkeypatch.setattr(kernel_cache, "print_message", lambda line: None)  # of what is compiled
    return Path(shutil.copy(EXAMPLE, home / "door.py"))


@pytest.fixture(scope="module")
def trained_folder(tmp_path_factory):
    """A folder with the example's file and the run folder of a tiny training in the game, to be played alone."""
    folder = tmp_path_factory.mktemp("trained")
    shutil.copy(EXAMPLE, folder / "door.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("MULTIGRID_CHECK", "1")
        assert main(f"train {WORLD} {TINY} --flatten --folder run".split()) == 0
    return folder


def options_of(*words):
    """The options of `multigrid play` with some flags."""
    return fill_options(PlayOptions, read_given(PlayOptions, words, "multigrid play"))


def test_a_game_is_a_class_of_a_file_or_of_a_module_or_an_id(file, monkeypatch):
    """A file is loaded once, a module is imported, and an id brings the fields and options it was registered with."""
    word = f"{file}:KeyAndDoor"
    game = options_of("--game", word).grid.game
    assert options_of("--game", "./door.py:KeyAndDoor").grid.game is game
    assert options_of("--game", "examples.games.key_and_door:KeyAndDoor").grid.game.__name__ == "KeyAndDoor"
    monkeypatch.setattr("multigrid.games._registry._GAMES", {})
    multigrid.register("Costly-v0", game, penalty=0.5, num_agents=3)
    costly = options_of("--game", "Costly-v0", "--size", "7").grid
    assert (costly.game, costly.num_agents, costly.width, costly.options["penalty"]) == (game, 3, 7, 0.5)
    assert options_of("--game", "Costly-v0", "--option", "penalty=2").grid.options["penalty"] == 2
    assert options_of("--game", word, "--size", "7").grid.num_agents == multigrid.GridConfig().num_agents


def test_options_have_the_types_of_their_defaults(file):
    """NAME=VALUE gives a bool, an int or a float; what is left out keeps its default."""
    file.write_text(file.read_text() + MEASURED)
    words = ["--option", "most=1_000", "--option", "quick=True", "--option", "penalty=1"]
    options = dict(options_of("--game", "door.py:Measured", *words).grid.options)
    assert options == {"penalty": 1.0, "most": 1000, "quick": True}
    assert [type(options[name]) for name in ("penalty", "most", "quick")] == [float, int, bool]
    for word, kind in (("most=1.5", "int"), ("quick=1", "bool"), ("penalty=much", "float")):
        with pytest.raises(ValueError, match=f"--option is '{word}'; expected a value of type {kind}"):
            options_of("--game", "door.py:Measured", "--option", word)


@pytest.mark.parametrize("command", ["train", "rollout", "evaluate random", "play"])
def test_choices_and_defaults_are_those_of_the_game(command, capsys, monkeypatch):
    """With --game, in either form and in any place, --observe takes the game's parts alone; help shows its defaults."""
    monkeypatch.setenv("COLUMNS", "250")
    for flags in (f"{GAME} --help", f"--help {GAME.replace(' ', '=')}"):
        with pytest.raises(SystemExit, match="0"):
            main([*command.split(), *flags.split()])
        printed = capsys.readouterr().out
        assert "{agent,others,view,walls,action_mask,delayed,delay_left,messages,rgb,rgb_view,has_key,goal}" in printed
        assert "(default: agent others has_key goal)" in printed
        assert "(default: penalty=0.01)" in printed
        assert ("(with --game, idle or random, the default)" in " ".join(printed.split())) == (command == "play")
    with pytest.raises(SystemExit, match="2"):
        main([*command.split(), *f"{GAME} --observe target".split()])
    assert "'has_key', 'goal')" in capsys.readouterr().err


LESSON = """

class Lesson(KeyAndDoor):
    training = {"steps": 64, "gamma": 0.5, "size": (4, 3), "num_agents": 3, "penalty": 0.25, "observe": ("goal",)}
"""


def test_a_game_has_defaults_of_training(file, capsys, monkeypatch):
    """They replace those of the command; those of an id, and flags, replace them; other commands have their own."""
    file.write_text(file.read_text() + LESSON)

    def options_for(*words, kind=TrainOptions):
        return fill_options(kind, read_given(kind, ["--game", *words], "multigrid train"))

    taken = options_for("door.py:Lesson")
    assert (taken.steps, taken.gamma, taken.epochs) == (64, 0.5, TrainOptions().epochs)
    assert (taken.grid.size, taken.grid.num_agents, taken.grid.parts) == ((4, 3), 3, ("goal",))
    assert taken.grid.options["penalty"] == 0.25
    monkeypatch.setattr("multigrid.games._registry._GAMES", {})
    multigrid.register("Lesson-v0", taken.grid.game, num_agents=1, options={"penalty": 0.5})
    given = options_for("Lesson-v0", "--gamma", "0.75", "--size", "5", "--observe", "has_key")
    assert (given.steps, given.gamma, given.grid.size) == (64, 0.75, 5)
    assert (given.grid.num_agents, given.grid.parts, given.grid.options["penalty"]) == (1, ("has_key",), 0.5)
    assert options_for("Lesson-v0", "--option", "penalty=2").grid.options["penalty"] == 2
    assert options_for("door.py:Lesson", kind=PlayOptions).grid == multigrid.GridConfig(game=taken.grid.game)
    monkeypatch.setenv("COLUMNS", "250")
    with pytest.raises(SystemExit, match="0"):
        main(["train", "--game", "door.py:Lesson", "--help"])
    assert {"(default: 64)", "(default: 0.5)", "(default: penalty=0.25)"} <= set(
        re.findall(r"\(default: .*?\)", capsys.readouterr().out)
    )


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"step": 64}, r"Lesson.training has 'step' \(did you mean 'steps'\?\); expected flags of multigrid train"),
        ({"map": ()}, "Lesson.training has 'map'"),
        ({"folder": "runs"}, "Lesson.training has 'folder'"),
        ({"options": {"penalty": 1}}, "Lesson.training has 'options'"),
        ({"steps": 1e6}, r"Lesson.training\['steps'\] is 1000000.0; expected of type int"),
        ({"copies": "32"}, r"Lesson.training\['copies'\] is '32'; expected of type int"),
        ({"expect": 5}, r"Lesson.training\['expect'\] is 5; expected of type str"),
        ({"steps": 0}, "--steps is 0; expected 1 to"),
        ({"penalty": "much"}, "penalty is 'much'"),
    ],
)
def test_defaults_of_training_are_checked(training, message, file, refused):
    """Names that the command does not know, and values that it does not take, are refused before a training."""
    file.write_text(file.read_text() + f"\n\nclass Lesson(KeyAndDoor):\n    training = {training}\n")
    refused("train --game door.py:Lesson", message)


def test_minigrid_has_defaults_of_training(capsys, monkeypatch):
    """They are shown, members of enums by their names, and an option that is given leaves the others."""
    monkeypatch.setenv("COLUMNS", "250")
    words = ["--game", "MiniGrid-DoorKey-5x5-v0"]
    with pytest.raises(SystemExit, match="0"):
        main(["train", *words, "--help"])
    assert {"task=DOOR_KEY", "image=ONEHOT", "0.0007)"} <= set(capsys.readouterr().out.split())
    words += ["--option", "agent_view_size=5"]
    options = fill_options(TrainOptions, read_given(TrainOptions, words, "multigrid train"))
    assert (options.gamma, options.hidden, options.copies) == (0.99, (64, 64), 32)
    expected = multigrid.games.config("MiniGrid-DoorKey-5x5-v0", image="onehot", reward="all", agent_view_size=5)
    assert options.grid.options == expected.options


@pytest.mark.parametrize(
    "game",
    ["rware-tiny-2ag-v2", "Foraging-8x8-2p-2f-coop-v3", "MiniGrid-DoorKey-8x8-v0", "Overcooked-cramped_room-v0"]
    + ["OvercookedV2-cramped_room-v0"]
    + [f"examples.games.{name}" for name in ("bridge:Bridge", "key_and_door:KeyAndDoor", "pursuit:Pursuit", "tag:Tag")],
)
def test_games_have_defaults_and_tell_what_to_expect(game, capsys, monkeypatch):
    """Each game here has a number of steps of its own, with which a training may begin, and help tells the rest."""
    options = fill_options(TrainOptions, read_given(TrainOptions, ["--game", game], "multigrid train"))
    check_options(options)
    assert options.steps == describe(options.grid.game).training["steps"] != TrainOptions().steps
    monkeypatch.setenv("COLUMNS", "2000")
    with pytest.raises(SystemExit, match="0"):
        main(["train", "--game", game, "--help"])
    told = describe(options.grid.game).training["expect"]
    assert f"With the defaults of the game: {told}" in capsys.readouterr().out
    assert re.search(r"\bone core\b", told)


def test_a_training_begins_with_what_to_expect(tmp_path):
    """The text of the game is printed below the headline; a run that goes on does not print it again."""
    grid = multigrid.games.config("MiniGrid-DoorKey-5x5-v0")
    for done, expected in ((0, 1), (64, 0)):
        print_headline(console := Console(file=io.StringIO()), tmp_path, TrainOptions(grid=grid), 128, done)
        assert console.file.getvalue().count(f"\n{tell_expected(grid.game)}\n") == expected


def test_a_part_of_the_game_is_observed(shown):
    """An own part alone can be chosen, and becomes what the agents of the game see."""
    given = options_of(*f"{GAME} --observe goal has_key".split()).grid
    assert (given.parts, given.observation_keys) == (("goal", "has_key"), ("goal", "has_key"))
    assert shown(f"rollout {WORLD} --observe has_key --episodes 1")["worlds"][0]["num_agents"] == 2


WAREHOUSE = ["--game", "rware-tiny-2ag-v2"]


def test_options_of_the_originals_are_those_of_their_packages():
    """An option may change the size and the limit, a member of an enum goes by name or number, and a list by commas."""
    for word, changes in {
        "shelf_rows=2": {"shelf_rows": 2},
        "max_steps=700": {"max_steps": 700},
        "reward_type=GLOBAL": {"reward_type": 0},
        "reward_type=0": {"reward_type": "GLOBAL"},
        "image_observation_layers=SHELVES,4": {"image_observation_layers": ("SHELVES", 4)},
        "image_observation_layers=GOALS": {"image_observation_layers": ("GOALS",)},
        "layout=.x.\n.g.": {"layout": ".x.\n.g.", "request_queue_size": 0},
    }.items():
        own = [word, *(["request_queue_size=0"] if "layout" in word else [])]
        options = options_of(*WAREHOUSE, *(item for one in own for item in ("--option", one)))
        expected = multigrid.games.config("rware-tiny-2ag-v2", **changes)
        assert (options.grid, options.grid.size, options.grid.max_cycles) == (
            expected,
            expected.size,
            expected.max_cycles,
        )
    medium = options_of("--game", "rware-medium-4ag-v2", "--option", "shelf_rows=3").grid
    assert medium == multigrid.games.config("rware-medium-4ag-v2", shelf_rows=3)
    food = options_of("--game", "Foraging-8x8-2p-2f-v3", "--option", "max_food_level=3", "--num-agents", "3")
    assert food.grid == multigrid.games.config("Foraging-8x8-2p-2f-v3", max_food_level=3, num_agents=3)
    assert food.grid.num_agents == 3
    for word, message in {
        "reward_type=MINE": "expected one of GLOBAL",
        "reward_type=7": "one of GLOBAL",
        "fixed=2": "bool",
    }.items():
        with pytest.raises(ValueError, match=message):
            options_of(*WAREHOUSE, "--option", word)


BROKEN = {
    "syntax.py": "import multigrid\n\n\ndef begin(w s, e):\n    pass\n",
    "library.py": "import multigrid\nimport nothing_such\n",
    "raises.py": "def fail():\n    raise SystemExit(3)\n\n\nfail()\n",
    "names.py": "import multigrid\n\nPlain = int\n\nclass Door(multigrid.Game):\n    def begn(w): pass\n",
}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--game nowhere.py:Door", "there is no file nowhere.py"),
        ("--game door.py", "'door.py', without a class; expected FILE.py:CLASS"),
        ("--game door.py:KeyAndDor", r"no class 'KeyAndDor' \(did you mean KeyAndDoor\?\); its games are KeyAndDoor"),
        ("--game names.py:Plain", "names.py has Plain, which is no game; expected a subclass of multigrid.Game"),
        ("--game names.py:Door", r"Door has a function 'begn' \(did you mean 'begin'\?\)"),
        ("--game syntax.py:Door", r"syntax.py, line 4: .*: 'def begin\(w s, e\):'"),
        (
            "--game library.py:Door",
            "library.py cannot be loaded, line 2: import nothing_such: ModuleNotFound",
        ),
        ("--game raises.py:Door", r"raises.py cannot be loaded, line 2: raise SystemExit\(3\)"),
        ("--game no.such.module:Door", "no.such.module.*cannot be imported: ModuleNotFoundError"),
        ("--game Dor-v0", "the game is 'Dor-v0'.*; multigrid.register was called for .*; expected FILE.py:CLASS"),
        (
            f"{GAME} --option penalt=1",
            r"'penalt=1' \(did you mean penalty\?\); expected NAME=VALUE, and the game has pen",
        ),
        (f"{GAME} --option penalty", "--option is 'penalty'.*; expected NAME=VALUE"),
        (f"{GAME} --option penalty=1 --option penalty=2", "--option penalty comes twice"),
        ("--option penalty=1", "--option is 'penalty=1', but there is no game; name one with --game"),
        (f"{GAME} --policy pibt", "a controller finds paths .* the game KeyAndDoor"),
        (f"{GAME} --policy pretrained", "the pretrained policy finds paths .* the game KeyAndDoor"),
        (f"{GAME} --policy shortest-path", "shortest_path_policy finds paths .* the game KeyAndDoor"),
        (f"{GAME} --gap 1", "a planner finds paths .* the game KeyAndDoor"),
    ],
)
def test_what_is_no_game_is_refused(words, complaint, refused):
    """Each mistake in naming a game is one line that says what is wrong, where, and what is expected."""
    for name, content in BROKEN.items():
        Path(name).write_text(content)
    before = list(sys.path)
    refused(f"rollout --episodes 1 {words}", complaint)
    assert sys.path == before


def test_rollout_plays_films_and_records_a_game(run, shown):
    """Random agents play by default; the return is measured, films show the marks, and recordings are replayed."""
    out = "--episodes 2 --keep 1 --pixels 96 --output out --gif --record --figures"
    content = shown(f"rollout {WORLD} --option penalty=0.5 {out}")
    (world,) = content["worlds"]
    assert (content["policy"], world["name"]) == ("random", "KeyAndDoor-4x3-2")
    assert world["metrics"]["return"]["mean"] <= -0.5 or world["metrics"]["return"]["mean"] > 0
    assert world["metrics"]["success"]["mean"] is None, "nobody has a target"
    with Path("out/episodes.csv").open() as rows:
        assert [(row["success"], bool(row["return"])) for row in csv.DictReader(rows)] == [("", True)] * 2
    _, frames, _ = read_gif(Path("out/KeyAndDoor-4x3-2-0.gif"))
    assert (frames[0] == DOOR).all(axis=2).sum() > 200
    assert "return: the rewards of an agent in an episode" in run(f"rollout {WORLD} --episodes 1")
    run(f"replay out/KeyAndDoor-4x3-2-0.json {GAME}")
    assert Path("out/KeyAndDoor-4x3-2-0.html").is_file()


def test_metrics_of_a_game_are_shown(file, shown, run):
    """A table and JSON have the metrics that a game adds, by their names."""
    file.write_text(file.read_text() + MEASURED)
    world = "--game door.py:Measured --size 3 1 --num-agents 1 --max-cycles 40 --episodes 4"
    held = shown(f"evaluate random {world}")["worlds"][0]["metrics"]["random"]["held"]["mean"]
    assert 0 < held <= 1
    assert re.search(rf"held: a metric of the game +│ +{held:.3f} ", run(f"rollout {world}"))


MANY = """
class Counted(KeyAndDoor):
    metric_a = metric_b = metric_c = metric_d = metric_e = metric_f = staticmethod(lambda w, s, e: 0)
    metric_g = metric_h = metric_i = staticmethod(lambda w, s, e: w.steps[e])
"""


def test_many_metrics_are_rows(file, run):
    """Where a game has many metrics, a table of policies has a row for each, and a page leaves out those of 0."""
    file.write_text(file.read_text() + MANY)
    world = "--game door.py:Counted --size 3 1 --num-agents 1 --max-cycles 4 --episodes 2"
    assert re.search(r"^│ g +│ +\d", run(f"evaluate random {world}"), re.MULTILINE)
    run(f"rollout {world} --record --keep 1 --output out")
    (recording,) = Path("out").glob("Counted-*.json")
    run(f"replay {recording} --game door.py:Counted --output page.html")
    listed = re.findall(r'\["(\w)",[\d.]+,"a metric of the game"\]', Path("page.html").read_text(encoding="utf-8"))
    assert listed == ["g", "h", "i"]


def test_a_trained_model_plays_and_is_compared(trained_folder, monkeypatch, run, shown):
    """The folder of a training has the world and the options; evaluate, rollout, --resume get the game as code."""
    monkeypatch.chdir(trained_folder)
    (compared,) = shown(f"evaluate run random {GAME} --episodes 2")["worlds"]
    assert compared["metrics"]["run"]["return"]["mean"] is not None
    assert compared["differences"]["random"]["return"]["episodes"] == 2
    played = shown(f"rollout --policy run {GAME} --episodes 2")["worlds"][0]
    assert (played["name"], played["metrics"]) == ("KeyAndDoor-4x3-2", compared["metrics"]["run"])
    assert main(f"train --resume run --steps 96 {GAME}".split()) == 0
    with Path("run/metrics.csv").open() as rows:
        assert [int(row["steps"]) for row in csv.DictReader(rows)] == [32, 64, 96]


def test_a_training_leaves_out_success(trained_folder, capsys, monkeypatch):
    """Without targets there are returns and steps in place of success, and each command at the end names the game."""
    monkeypatch.chdir(trained_folder)
    after = json.loads(Path("run/evaluation.json").read_text())["after"].keys()
    assert (after >= {"mean_return", "mean_steps"}, after & {"success_rate", "isr"}) == (True, set())
    header = Path("run/metrics.csv").read_text().splitlines()[0].split(",")
    assert header == ["steps", "episodes", "mean_steps", "reward_per_step", "seconds"]
    assert main(f"train --resume run {GAME}".split()) == 0
    printed = capsys.readouterr().err
    commands = [line for line in printed.splitlines() if line.startswith("  multigrid")]
    assert len(commands) == 5
    assert all(GAME in line for line in commands), commands


@pytest.mark.parametrize(
    "command", ["rollout --policy run", "evaluate run", "train --resume run", "replay run/episode.json"]
)
def test_files_of_a_game_need_the_game(command, trained_folder, file, refused):
    """Neither a model nor a recording loads code: without --game, or with another version, it is refused by name."""
    shutil.copytree(trained_folder / "run", "run")
    refused(command, "the world is of the game 'KeyAndDoor'.*--game, an id or FILE.py:CLASS")
    Path("other.py").write_text(file.read_text().replace("+= 5", "+= 6"))
    refused(f"{command} --game other.py:KeyAndDoor", "the world is of version .* of the game 'KeyAndDoor'")


@pytest.fixture
def player():
    """Who plays the game at the keyboard."""
    return KeyboardController(Session(options_of(*WORLD.split()).grid, 4, "random"), str)


def press(player, key):
    """Press a key and release it."""
    for kind in (pygame.KEYDOWN, pygame.KEYUP):
        player.handle(pygame.event.Event(kind, key=key, mod=0))


def test_own_actions_have_keys(player):
    """The first own action is played by 1 and X stays; both are shown, and the class says what the game is about."""
    session = player.session
    press(player, pygame.K_1)
    press(player, pygame.K_x)
    assert [one["agent_0"] for one in session._played] == [5, 4]
    shown = keys(session)
    assert ("1", "pick up") in shown
    assert ("X", "stay") in shown
    assert "distance" not in dict(figures(session))
    assert headline(session, running=False).second.startswith("KeyAndDoor: An agent picks up the key")
    picture = pygame.Surface(Screen.first_size(session))
    Screen().draw(picture, session, running=False)
    assert (pygame.surfarray.array3d(picture) == DOOR).all(axis=2).sum() > 200
    while not session.over:
        press(player, pygame.K_x)
    assert "Rewards: " in headline(session, running=False).second


@pytest.mark.parametrize(
    ("game", "played", "hint"),
    [("Foraging-8x8-2p-1f-v3", [1, 4, 0, 5], "load"), ("rware-tiny-2ag-v2", [1, 3, 0, 0], "forward")],
)
def test_arrows_play_actions_by_their_names(game, played, hint):
    """Without the four moves, arrows are north to east, or forward and turns; X does nothing, and all have keys."""
    player = KeyboardController(Session(options_of("--game", game).grid, 4, "idle"), str)
    for key in (pygame.K_UP, pygame.K_RIGHT, pygame.K_x, pygame.K_6):
        press(player, key)
    assert [one["agent_0"] for one in player.session._played] == played[: 4 - (hint == "forward")]
    assert {one["agent_1"] for one in player.session._played} == {0}
    assert hint in dict(keys(player.session)).values()


def test_layouts_of_a_game_are_played_again(player):
    """R restarts with the same draws, and N begins another layout."""
    session = player.session
    begun = session.state
    press(player, pygame.K_LEFT)
    press(player, pygame.K_r)
    np.testing.assert_equal(session.state, begun)
    press(player, pygame.K_n)
    assert not np.array_equal(session.state["location"], begun["location"])


def test_play_records_a_game(monkeypatch, run):
    """A recording that play saves is loaded with the game, and played from its start by --scenario."""
    played = []

    def show(controller, *_):
        press(controller, pygame.K_1)
        played.append(controller.session)

    monkeypatch.setattr(play_module, "show", show)
    run(f"play {WORLD} --seed 3 --record played.json")
    assert load("played.json", played[0].config.game).actions[0, 0] == 5
    run(f"play --scenario played.json {GAME} --record again.json")
    first, second = (load(file, played[0].config.game).start for file in ("played.json", "again.json"))
    np.testing.assert_equal(second, first)
