"""The directive `planners`: a table of scenarios of the suite by planner and policy, each figure with its replay.

```{planners} sum_of_costs
:scenarios: maze-9x7-2 maze-11x9-4
```

Its argument is a figure of `env.metrics()`; without the option it has all scenarios in which agents may wait. The
build plays the episodes and writes their replays to the folder _static/replays of the site; with `-t quick` it leaves
them out. Nothing depends on the speed of the machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.display import status_iterator
from sphinx.util.docutils import SphinxDirective

import multigrid
from multigrid import planning, scenarios
from multigrid.policies._baselines import built_in_factory
from multigrid.rendering._episode import Episode
from multigrid.rendering.replay import replay_page
from multigrid.scenarios.tracing import EpisodeTrace

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

LACAM = "lacam"
EXPANSIONS = 20_000
PLAYERS = {
    "shortest-path": "shortest paths",
    "pibt": "PIBT",
    "windowed": "windowed planning",
    LACAM: "LaCAM*",
    "pretrained": "pretrained policy, alone",
    "pretrained-shield": "pretrained policy, with a shield",
}
"""What plays, by its name for the command line, and the heading of its column."""
FOLDER = "_static/replays"
"""Where the replays are in the site: among the files that are no pages of it."""
_SOURCES = (".py", ".js", ".css", ".html", ".json", ".npz")


def play(name: str, player: str) -> Episode:
    """Play a scenario of the suite and return the episode."""
    scenario = scenarios.get(name)
    env = scenario.env()
    observations, _ = env.reset()
    trace = EpisodeTrace(env)
    trace.note()
    if player == LACAM:
        plan = planning.solve(scenario, "lacam", time_limit=None, max_expansions=EXPANSIONS, seed=0)
        if plan.actions is None:
            raise ValueError(f"LaCAM* found no plan of {name} in {EXPANSIONS} expansions; raise EXPANSIONS")
        for row in plan.actions.tolist():
            actions = dict(zip(env.possible_agents, row, strict=True))
            env.step(actions)
            trace.note(actions)
    else:
        policy = built_in_factory(player)(0)
        while env.agents:
            actions = policy(env, observations)
            observations, *_ = env.step(actions)
            trace.note(actions)
    return trace.episode(f"{name}, {PLAYERS[player]}")


def _list_scenarios() -> list[str]:
    """Return the scenarios in which agents may wait, as planners require."""
    return [name for name in scenarios.names() if scenarios.get(name).config.allow_stay]


class Planners(SphinxDirective):
    """The table; see above."""

    required_arguments = 1
    option_spec: ClassVar = {"scenarios": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Play what this page has not played yet, and return the table."""
        if self.env.app.tags.has("quick"):
            return [nodes.paragraph(text="A quick build of the site leaves out this table and its replays.")]
        (figure,) = self.arguments
        names = self.options["scenarios"].split() if "scenarios" in self.options else _list_scenarios()
        played = self._play(names)
        head = ["scenario", *(["lower bound"] if figure == "sum_of_costs" else []), *PLAYERS.values()]
        rows = []
        for name in names:
            cells: list[nodes.Node] = [nodes.Text(name)]  # which ends with the number of agents
            bound = scenarios.lower_bound(name)
            if figure == "sum_of_costs":
                cells.append(nodes.Text(str(bound)))
            for player in PLAYERS:
                metrics = played[name, player]
                best = figure == "sum_of_costs" and metrics["csr"] == 1 and metrics[figure] == bound
                cells.append(self._link(name, player, _say(metrics, figure), strong=best))
            rows.append(cells)
        _find_pages(self.env)[self.env.docname] = _digest()
        return [_table(head, rows)]

    def _play(self, names: Sequence[str]) -> dict[tuple[str, str], dict[str, Any]]:
        """Return the metrics of this page's episodes by scenario and player, and write the pages that play them."""
        played: dict[tuple[str, str], dict[str, Any]] = self.env.temp_data.setdefault("planners", {})
        missing = [(name, player) for name in names for player in PLAYERS if (name, player) not in played]
        folder = Path(self.env.app.outdir) / FOLDER
        for name, player in status_iterator(missing, "playing the suite... ", length=len(missing), stringify_func=str):
            episode = play(name, player)
            path = folder / name / f"{player}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(replay_page(episode), encoding="utf-8")
            played[name, player] = episode.metrics
        return played

    def _link(self, name: str, player: str, text: str, *, strong: bool) -> nodes.Node:
        above = "../" * self.env.docname.count("/")
        shown = nodes.strong("", text) if strong else nodes.Text(text)
        uri = f"{above}{FOLDER}/{name}/{player}.html"
        return nodes.reference("", "", shown, refuri=uri, reftitle=f"Replay: {name}, {PLAYERS[player]}")


def _say(metrics: dict[str, Any], figure: str) -> str:
    if metrics["csr"] == 1:
        return f"{metrics[figure]:.0f}"
    return f"\u2013 {int(sum(metrics['success']))} of {len(metrics['success'])}"


def _table(head: Sequence[str], rows: Sequence[Sequence[nodes.Node]]) -> nodes.table:
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    body = nodes.tbody("", *(_row([nodes.paragraph("", "", cell) for cell in row]) for row in rows))
    group += [nodes.thead("", _row([nodes.paragraph("", text) for text in head])), body]
    return nodes.table("", group, classes=["colwidths-auto", "planners"])


def _row(cells: Sequence[nodes.Node]) -> nodes.row:
    # As MyST marks the columns of numbers.
    return nodes.row(
        "",
        *(
            nodes.entry("", cell, classes=["text-right" if column else "text-left"])
            for column, cell in enumerate(cells)
        ),
    )


def _digest() -> str:
    """Return what the episodes and pages depend on."""
    files = [path for path in sorted(Path(multigrid.__file__).parent.rglob("*.*")) if path.suffix in _SOURCES]
    return hashlib.sha256(b"".join(path.read_bytes() for path in [Path(__file__), *files])).hexdigest()


def _find_outdated(app: Sphinx, env: BuildEnvironment, *_changes: set[str]) -> list[str]:
    """Return the pages whose episodes are to be played again."""
    pages = _find_pages(env)
    if not pages:
        return []
    current = _digest() if (Path(app.outdir) / FOLDER).is_dir() else ""
    return [page for page, digest in pages.items() if digest != current and page in env.found_docs]


def _find_pages(env: BuildEnvironment) -> dict[str, str]:
    """Return the digests of the pages that have the directive; the environment keeps them between builds."""
    pages: dict[str, str] = vars(env).setdefault("planners_pages", {})
    return pages


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive, and the script that fits the frames of replays to their heights."""
    app.add_js_file("frames.js", loading_method="defer")
    app.add_directive("planners", Planners)
    app.connect("env-get-outdated", _find_outdated)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
