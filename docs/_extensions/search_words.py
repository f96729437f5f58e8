"""Add the words of other libraries, under which readers look for a page, to the search and to the index.

Sphinx finds words of the text and names of the reference. A page that has an index entry for what is typed comes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

WORDS = {
    "questions": "gpu, cuda, faq, frequently asked questions, troubleshooting, notebook, jupyter, colab, larger maps",
    "start": "install, installation, getting started, quick start, tutorial",
    "make_a_game": "custom environment, custom env, own environment, custom game, new environment, heterogeneous, "
    "heterogeneous agents, different agents, agent types, roles, communication",
    "games/index": "games, all games, list of games",
    "games/foraging": "foraging, lb-foraging, lbforaging, lbf",
    "games/minigrid": "minigrid",
    "games/overcooked": "overcooked",
    "games/robotic_warehouse": "rware, robotic warehouse",
    "rules": "collision, collisions, conflict, vertex conflict, swap conflict, blocked move",
    "environments/multi_grid": "pettingzoo parallel, parallel env, pettingzoo parallel env, pettingzoo aec, options",
    "environments/multi_grid_vector": "vector env, vectorized, vectorised, parallel environments, batch, autoreset",
    "how_to/rewards": "custom reward, custom rewards, own reward, reward function, reward shaping",
    "how_to/observations": "custom observation, custom observations, observation space, partial observability, "
    "image observations, images, pixels",
    "how_to/maps": "custom map, custom maps, own map, obstacles, walls, layout, grid layout, custom grid",
    "how_to/standard_form": "action mask, action masking, flatten",
    "how_to/state": "global state, centralised critic, centralized critic, ctde",
    "how_to/tuning": "hyperparameters, hyperparameter search",
    "how_to/curricula": "curriculum, curriculum learning",
    "how_to/partners": "cross-play, ad hoc teamwork, zero-shot coordination, self-play, partners",
    "how_to/pytorch": "recurrent, memory, rnn, gru, lstm",
    "how_to/words": "text, language model, language models, llm, messages",
    "how_to/evaluate": "evaluate, evaluation, benchmark own policy, confidence interval, paper figure, plot, "
    "worst tenth, worst case",
    "how_to/cluster": "slurm, distributed",
    "using": "save and load, copy, threads, seed, seeds, seeding, random seed, reproducible, reproducibility",
    "watching": "video, videos, record video, gif, render, rendering, record, replay, visualise, visualize",
}
"""By page: what readers may type."""


class SearchWords(SphinxTransform):
    """Add the words of this document."""

    default_priority = 700  # before the index is made of all entries

    def apply(self, **_kwargs: Any) -> None:
        """Add an index entry for each phrase, and its words as keywords of the page."""
        phrases = [phrase.strip() for phrase in WORDS.get(self.env.docname, "").split(",") if phrase]
        if phrases:
            entries = [("single", phrase, "", "main", None) for phrase in phrases]
            words = sorted({word for phrase in phrases for word in phrase.split()})
            self.document += [
                addnodes.index(entries=entries, inline=False),
                nodes.meta(name="keywords", content=",".join(words)),
            ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the transform."""
    app.add_transform(SearchWords)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
