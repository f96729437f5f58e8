"""Folders of models that anybody may have written: they play, or are refused by name, and no code in them is run."""

import base64
import contextlib
import dataclasses
import io
import json
import pickle
import shutil
import sys
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO

import multigrid
from hostile import change_values, damage
from multigrid import GridConfig
from multigrid.cli import main
from multigrid.cli._episodes import play_episode
from multigrid.cli._models import make_policy_factory
from multigrid.core.rules import RULES_VERSION
from multigrid.integrations._sb3_policies import read_policy
from multigrid.integrations.sb3 import Actor, to_sb3
from multigrid.policies import Trained, load
from multigrid.policies._trained import read_training

pytestmark = pytest.mark.heavy

CONFIG = GridConfig(size=(4, 3), num_agents=3, max_cycles=12)
HIDDEN = (7, 5)
WEIGHTS = "policy.pth"


def trained(folder, config, hidden, steps=1):
    """A folder with what `multigrid train` writes of a model, here of a short training."""
    envs = to_sb3(multigrid.vector_env(4, config=config, autoreset_mode="SameStep"))
    kind = "MultiInputPolicy" if config.observation_keys else "MlpPolicy"
    settings = {"n_steps": 16, "batch_size": 32, "n_epochs": 1, "learning_rate": 0.03, "seed": 3, "device": "cpu"}
    model = PPO(kind, envs, policy_kwargs={"net_arch": list(hidden)}, **settings)
    model.learn(steps)
    folder.mkdir()
    model.save(folder / "model.zip")
    described = {"rules": RULES_VERSION, "grid": dataclasses.asdict(config), "hidden": list(hidden), "recurrent": False}
    (folder / "config.json").write_text(json.dumps(described))
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The folder of a small model, to be copied."""
    return trained(tmp_path_factory.mktemp("models") / "small", CONFIG, HIDDEN)


@pytest.fixture
def folder(model, tmp_path):
    """A copy of that folder, to be broken."""
    return Path(shutil.copytree(model, tmp_path / "run"))


CALLS = []


def call():
    """What a hostile pickle calls; pickles find it here by its name."""
    CALLS.append("yes")
    return {}


class Hostile:
    """Calls `call` when it is unpickled."""

    def __reduce__(self):
        return call, ()


@pytest.fixture(autouse=True)
def nothing_called():
    """No test ends with a pickle's call that it did not expect."""
    CALLS.clear()
    yield
    assert not CALLS


def entries(content):
    """The entries of a zip file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(content, kind=zipfile.ZIP_STORED):
    """A zip file of these entries."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", kind) as archive:
        for name, one in content.items():
            archive.writestr(name, one)
    return written.getvalue()


def with_entry(folder, name, content):
    """Put an entry in the place of that in the model's file."""
    path = folder / "model.zip"
    path.write_bytes(zipped({**entries(path.read_bytes()), name: content}))


def saved(content, **settings):
    """What torch.save writes."""
    written = io.BytesIO()
    torch.save(content, written, **settings)
    return written.getvalue()


EVERY_PART = ("view", "agent", "walls", "others", "action_mask", "offset", "target")
SEEN = {
    "default": (CONFIG, HIDDEN),
    "flat": (dataclasses.replace(CONFIG, flatten=True, on_target="leave"), (6,)),
    "flat with a mask": (dataclasses.replace(CONFIG, flatten=True, observe=("offset", "action_mask", "others")), (6,)),
    "all parts": (dataclasses.replace(CONFIG, observe=EVERY_PART, view_radius=1, allow_stay=True), (9, 4, 3)),
    "linear": (GridConfig(size=(2, 5), num_agents=1, max_cycles=9), ()),
}


@pytest.mark.parametrize("name", SEEN)
def test_a_policy_acts_as_that_of_stable_baselines3(name, tmp_path):
    """Whatever is seen and however many layers there are: the same weights, and the same actions in whole episodes."""
    config, hidden = SEEN[name]
    folder = trained(tmp_path / "run", config, hidden, steps=400)
    theirs = PPO.load(folder / "model.zip", device="cpu").policy
    state = torch.random.get_rng_state()
    ours = read_policy(folder, config, hidden, recurrent=False)
    assert torch.equal(torch.random.get_rng_state(), state)
    found, expected = ({key: one.tolist() for key, one in policy.state_dict().items()} for policy in (ours, theirs))
    assert found == expected
    for seed in range(6):
        of_theirs = Trained(partial(Actor, theirs), config, seed)
        for_episodes = (make_policy_factory(str(folder)), lambda _, policy=of_theirs: policy)
        one, other = (play_episode(name, config, chosen, seed, record=True) for chosen in for_episodes)
        assert one.recording == other.recording


def test_pickles_beside_the_weights_are_not_read(folder):
    """What PPO.load runs is left alone by a rollout, which plays."""
    data = json.loads(entries((folder / "model.zip").read_bytes())["data"])
    data["policy_class"][":serialized:"] = base64.b64encode(pickle.dumps(Hostile())).decode()
    with_entry(folder, "data", json.dumps(data).encode())
    for name in ("pytorch_variables.pth", "policy.optimizer.pth"):
        with_entry(folder, name, pickle.dumps(Hostile()))
    assert main(["rollout", "--policy", str(folder), "--episodes", "2"]) == 0
    assert not CALLS
    with contextlib.suppress(Exception):
        PPO.load(folder / "model.zip", device="cpu")
    assert CALLS, "the pickle would have run"
    CALLS.clear()


LYING = "mlp_extractor.policy_net.2.weight"
TOO_MANY = "holds more weights than it has bytes for"
HOSTILE_WEIGHTS = {
    "a pickle": (lambda _: pickle.dumps(Hostile()), "BadZipFile"),
    "a pickle in torch's form": (lambda _: saved(Hostile()), "UnpicklingError: Weights only load failed"),
    "a pickle among the weights": (lambda weights: saved({**weights, "more": Hostile()}), "UnpicklingError"),
    "torch's older form": (lambda weights: saved(weights, _use_new_zipfile_serialization=False), "BadZipFile"),
    "something before the zip file": (lambda weights: b"\x80\x02" + saved(weights), "does not begin as a zip file"),
    "TorchScript": (lambda weights: zipped({**entries(saved(weights)), "archive/constants.pkl": b""}), "TorchScript"),
    "compressed": (lambda weights: zipped(entries(saved(weights)), zipfile.ZIP_DEFLATED), "is compressed"),
    "a list": (lambda weights: saved(list(weights.values())), "holds a list"),
    "a number": (lambda weights: saved({**weights, "more": 3}), "holds 'more' of type int"),
    "a name that is none": (lambda weights: saved({**weights, 3: torch.zeros(2)}), "holds 3 of type Tensor"),
    "a parameter": (lambda weights: saved({**weights, "more": torch.nn.Parameter(torch.zeros(2))}), "of type Param"),
    "doubles": (lambda weights: saved({name: one.double() for name, one in weights.items()}), "torch.float64"),
    "sparse": (lambda weights: saved({name: one.to_sparse() for name, one in weights.items()}), "torch.sparse_coo"),
    "without memory": (lambda weights: saved({name: one.to("meta") for name, one in weights.items()}), "meta"),
    "a huge one": (lambda weights: saved({**weights, "more": torch.zeros(1).expand(10**12)}), TOO_MANY),
    "many that are one": (lambda _: saved(dict.fromkeys(map(str, range(200)), torch.zeros(5000))), TOO_MANY),
    "one more": (lambda weights: saved({**weights, "more": torch.zeros(2)}), "weights, but the network that"),
    "none": (lambda _: saved({}), "holds 0 weights, but the network that .*config.json describes has"),
    "another shape": (
        lambda weights: saved({**weights, LYING: weights[LYING].T.contiguous()}),
        r"size mismatch for .*\[7, 5\]",
    ),
    "another name": (
        lambda weights: saved({f"x{name}": one for name, one in weights.items()}),
        r"Missing key\(s\) in state_dict",
    ),
    "a long name": (
        lambda weights: zipped({**entries(saved(weights)), "archive/data.pkl": b"c" + b"x" * 10**6 + b"\ny\n."}),
        "holds a pickle of more than 32768 bytes",
    ),
    "NaN": (lambda weights: saved({name: one * np.nan for name, one in weights.items()}), "NaN or infinite"),
}


def renamed(content, name):
    """The same zip file with its weights under another name."""
    return zipped({name if one == WEIGHTS else one: held for one, held in entries(content).items()})


def encrypted(content):
    """The same zip file, whose directory says that every entry is encrypted."""
    array, start = bytearray(content), zipfile.ZipFile(io.BytesIO(content)).start_dir
    while (start := array.find(b"PK\x01\x02", start)) >= 0:
        array[start + 8] |= 1
        start += 1
    return bytes(array)


HOSTILE_ZIPS = {
    "empty": lambda _: b"",
    "an empty zip file": lambda _: zipped({}),
    "a name that climbs": lambda content: renamed(content, f"../../{WEIGHTS}"),
    "a long name": lambda content: renamed(content, WEIGHTS * 5000),
    "a bomb": lambda _: zipped({WEIGHTS: bytes(10**8)}, zipfile.ZIP_DEFLATED),
    "a bomb beside the weights": lambda content: zipped({**entries(content), "data": bytes(10**7)}, zipfile.ZIP_LZMA),
    "a pickle": lambda _: pickle.dumps(Hostile()),
    "torch's form": lambda _: saved(Hostile()),
    "encrypted": encrypted,
}


def changed(**fields):
    """Change fields of config.json; those of the grid with a double underscore."""

    def change(content):
        for name, value in fields.items():
            part, _, key = name.rpartition("__")
            (content[part] if part else content)[key] = value
        return json.dumps(content)

    return change


HOSTILE_DESCRIPTIONS = {
    "empty": (lambda _: "", "JSONDecodeError"),
    "not UTF-8": (lambda _: '{"rules": "\udcff"}', "UnicodeDecodeError"),
    "deep lists": (lambda _: "[" * 10**6, "RecursionError"),
    "deep objects": (lambda content: json.dumps(content)[:-1] + ', "more": ' + '{"a":' * 10**6, "RecursionError"),
    "a long number": (lambda _: "9" * 10**5, "ValueError"),
    "a list": (lambda _: "[]", "TypeError"),
    "no fields": (lambda _: "{}", "KeyError: 'rules'"),
    "other rules": (changed(rules=RULES_VERSION + 1), "was trained under version .* of the rules"),
    "rules as a list": (changed(rules=[[]]), "was trained under version"),
    "a grid that is a list": (changed(grid=[]), "AttributeError"),
    "a field of no grid": (changed(grid__colour="red"), "colour"),
    "a huge grid": (changed(grid__size=[10**5, 10**5]), "expected at most 16777216 cells"),
    "hidden as a number": (changed(hidden=7), "hidden is 7"),
    "hidden as text": (changed(hidden=["7", "5"]), "hidden is"),
    "layers of none": (changed(hidden=[7, 0]), "hidden is"),
    "recurrent as text": (changed(recurrent="yes"), "recurrent is 'yes'; expected true or false"),
    "an LSTM of no size": (changed(hidden=[], recurrent=True), "hidden is empty"),
}
# Of a network with another number of weights, which is refused before it is built, however huge it would be; or with as
# many, but for other observations.
SIZE = r"holds \d+ weights, but .*config\.json describes has \d+;"
SEES = "was trained to see agent others target, but .*"
OTHER_NETWORKS = {
    "huge layers": (changed(hidden=[10**12, 10**12]), SIZE),
    "many layers": (changed(hidden=[1] * 10**5), SIZE),
    "no layers": (changed(hidden=[]), SIZE),
    "other layers": (changed(hidden=[5, 7]), SIZE),
    "recurrent": (changed(recurrent=True), SIZE),
    "a huge LSTM": (changed(hidden=[10**12], recurrent=True), SIZE),
    "other agents": (changed(grid__num_agents=2), SIZE),
    "actions": (changed(grid__allow_stay=True), SIZE),
    "a huge view": (changed(grid__observe=["agent", "view"], grid__view_radius=2000), SIZE),
    "flat": (changed(grid__flatten=True), f"{SEES}describes one vector;"),
    "parts": (
        changed(grid__num_agents=1, grid__observe=["agent", "target", "action_mask"]),
        f"{SEES}describes action_",
    ),
}
HOSTILE = {
    "weights": HOSTILE_WEIGHTS,
    "zip": HOSTILE_ZIPS,
    "description": HOSTILE_DESCRIPTIONS,
    "network": OTHER_NETWORKS,
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, table in HOSTILE.items() for name in table])
def test_hostile_folders_are_refused(kind, name, folder, refused):
    """What is no model gives a ValueError that names the file, in one line; no pickle is run, nothing is unpacked."""
    model, config = folder / "model.zip", folder / "config.json"
    before = [model.read_bytes(), config.read_bytes()]
    if kind == "zip":
        model.write_bytes(HOSTILE_ZIPS[name](before[0]))
        complaint = "is not what `multigrid train` writes: .*; expected weights"
    else:
        make, complaint = HOSTILE[kind][name]
        if kind == "weights":
            weights = entries(before[0])[WEIGHTS]
            with_entry(folder, WEIGHTS, make(torch.load(io.BytesIO(weights), weights_only=True)))
        else:
            config.write_text(make(json.loads(before[1])), errors="surrogateescape")
    assert [model.read_bytes(), config.read_bytes()] != before
    by_name = kind == "description"
    complaint = rf"run.{'config' if by_name else 'model'}\.\w+ ?.*{complaint}"
    for read in (lambda folder: make_policy_factory(str(folder)), load, *[read_training][:by_name]):
        with pytest.raises(ValueError, match=complaint):
            read(folder)
    refused(f"rollout --policy {folder}", complaint)
    assert sorted(one.name for one in folder.parent.rglob("*")) == ["config.json", "model.zip", "run"]


WATCHED = {"pickle.find_class", "os.system", "os.exec", "subprocess.Popen", "os.posix_spawn"}
# What Python does that no weights need, while somebody watches: the hook of an interpreter cannot be taken away again.
NOTED, WATCHING = [], []
sys.addaudithook(lambda event, _: NOTED.append(event) if WATCHING and event in WATCHED else None)


def scrambled_entry(content, draw, *, deep):
    """A zip file with an entry, or an entry of its weights, scrambled under a checksum that fits."""
    held = entries(content)
    if deep:
        return zipped({**held, WEIGHTS: scrambled_entry(held[WEIGHTS], draw, deep=False)})
    # The pickle is the smallest of them, and the one with the most to break.
    name = str(draw.choice([*held, *[one for one in held if one.endswith((".pkl", ".pth"))] * 5]))
    return zipped({**held, name: damage(held[name], draw)})


def outcome(folder):
    """Let whatever is in a folder play, and say what came of it; an error names the file."""
    try:
        chosen = make_policy_factory(str(folder))
    except ValueError as error:
        is_named = any(str(folder / name) in str(error) for name in ("model.zip", "config.json"))
        return "refused" if is_named else f"refused without the name of a file: {error}"
    config = dataclasses.replace(read_training(folder)[0], max_cycles=5)
    assert 1 <= play_episode("fuzz", config, chosen, seed=0).steps <= 5
    return "played"


def test_scrambled_folders_play_or_are_refused(folder, request):
    """Whichever bytes of a folder change, it plays or gives a ValueError that names the file, and no code is run."""
    make_policy_factory(str(folder))  # what is imported on the way is no part of the file
    model, config = ((folder / name).read_bytes() for name in ("model.zip", "config.json"))
    scrambles = [
        ("model.zip", lambda draw: damage(model, draw)),
        ("model.zip", lambda draw: scrambled_entry(model, draw, deep=True)),
        ("model.zip", lambda draw: scrambled_entry(model, draw, deep=False)),
        ("config.json", lambda draw: damage(config, draw)),
        ("config.json", lambda draw: json.dumps(change_values(json.loads(config), draw)).encode()),
    ]
    outcomes = {"played": 0, "refused": 0}
    for number in range(5_000 if request.config.getoption("--long", default=False) else 200):
        (folder / "model.zip").write_bytes(model)
        (folder / "config.json").write_bytes(config)
        name, scramble = scrambles[number % 5]
        (folder / name).write_bytes(scramble(np.random.default_rng([11, number])))
        NOTED.clear()
        WATCHING.append(number)
        try:
            outcomes[outcome(folder)] += 1
        except Exception as error:
            raise AssertionError(f"mutation {number}: {error!r}") from error
        finally:
            WATCHING.clear()
        assert NOTED == [], f"mutation {number}"
    assert min(outcomes.values()) > 20, outcomes
