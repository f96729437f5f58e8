"""The settings of the site: `sphinx-build -W docs site`, and with `-t quick` without what takes minutes.

Nothing that a page needs comes from the network: Furo uses the fonts of the reader's system, and Sphinx's search runs
in the page.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `benchmarks`
sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

from multigrid import __version__

project = "multigrid"
author = "multigrid developers"
copyright = author  # noqa: A001 - Sphinx's name
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    # of docs/_extensions
    "accessible",
    "docstrings",
    "explorer",
    "figures",
    "outside_links",
    "pictures",
    "public_names",
    "replays",
    "search_words",
    "sortable_tables",
]
exclude_patterns = ["_extensions"]

html_theme = "furo"
html_title = f"multigrid {release}"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_js_files = [("sidebar.js", {"defer": "defer"})]
html_favicon = "_static/logo.svg"
html_logo = "_static/logo.svg"
html_copy_source = False
html_search_scorer = str(Path(__file__).parent / "_extensions" / "search_scores.js")
html_show_sphinx = False
html_theme_options = {
    "navigation_with_keys": True,
    "top_of_page_buttons": [],
    "light_css_variables": {"color-code-background": "#f5f6f8", "sidebar-item-spacing-vertical": "0.3rem"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

# docs/start.md is a notebook: the build runs it, in a folder of its own, and fails where it fails.
nb_execution_mode = "off" if tags.has("quick") else "force"  # noqa: F821 - Sphinx passes it
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 240
nb_merge_streams = True

# Commands are copied without the prompt, and without what they print.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# Signatures have these names, not what they stand for.
autodoc_type_aliases = {
    "ArrayLike": "ArrayLike",
    "RewardFunction": "RewardFunction",
    "_fields.SizeField": "Size | None",
    "_fields.CountField": "int | Sequence[int] | None",
    "_fields.WallsField": "Walls | None",
    "_fields.PartsField": "Sequence[Part] | Part | None",
    "_fields.CollisionsField": "Collisions",
    "_fields.OnTargetField": "OnTarget",
    "_fields.RewardField": "Reward",
    "_fields.GameField": "type[Game] | None",
    "_fields.OptionsField": "Mapping[str, Any] | None",
    "_fields.DelaysField": "Delays | float | None",
}
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
# In docstrings, a word in single backticks is a link if it is a name of the reference.
default_role = "py:obj"
# Each of these wants an environment of its own.
autodoc_mock_imports = ["benchmarl", "ray", "tensordict", "torchrl"]
