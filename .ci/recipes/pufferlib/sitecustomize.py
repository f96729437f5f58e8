"""What the setup.py of PufferLib 3.0.0 needs, when it is on PYTHONPATH while pip builds PufferLib.

With ``NO_OCEAN=1``, which leaves out the games in C and the downloads that they need, setup.py uses a name that it has
not defined. And where nvcc is installed it compiles for CUDA, which torch's CPU build cannot.
"""

import builtins
import shutil
from typing import Any

builtins.c_extension_paths = []  # type: ignore[attr-defined]
_which = shutil.which


def _which_but_nvcc(name: Any, *arguments: Any, **options: Any) -> Any:
    return None if name == "nvcc" else _which(name, *arguments, **options)


shutil.which = _which_but_nvcc
