"""Write rows as the episodes of a Minari dataset, a part at a time."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multigrid._checks import shorten
from multigrid._files import create_folder
from multigrid._version import __version__
from multigrid.datasets._recipe import KEY, Recipe, find_spec, wrap_env
from multigrid.datasets._rows import AgentRow, EpisodeBuffer, update_digest
from multigrid.integrations.extras import list_versions, missing_library

if TYPE_CHECKING:
    import gymnasium

ARRAYS = ("observations", "actions", "rewards", "terminations", "truncations", "infos")
"""The names that Minari gives to the arrays of an episode."""

_LIBRARIES = ("numpy", "numba", "gymnasium", "pettingzoo", "minari")
# The bytes of rows that are kept in memory and written together: opening the file takes some milliseconds.
_BYTES_TOGETHER = 2**25


def import_minari() -> Any:
    """Return the module `minari`."""
    try:
        # Minari 0.5 imports Pillow without requiring it, and requires h5py only in its extra "hdf5".
        for library in ("h5py", "PIL"):
            importlib.import_module(library)
        return importlib.import_module("minari")
    except ModuleNotFoundError as error:
        raise missing_library("multigrid.datasets", error, "datasets") from error


def find_folder(name: str) -> Path:
    """Return the folder of a dataset, which Minari derives from its name: ``(NAMESPACE/)NAME-vVERSION``."""
    import_minari()
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.storage import get_dataset_path

    try:
        parse_dataset_id(name)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"the dataset's name is {shorten(name)}; expected (NAMESPACE/)NAME-vVERSION, with at least two "
            "letters in NAMESPACE, such as multigrid/rooms-v0"
        ) from error
    # Minari joins relative paths to themselves when it computes the size of a dataset.
    path: Path = get_dataset_path(name).absolute()
    return path


@contextlib.contextmanager
def open_writer(
    name: str, recipe: Recipe, spaces: tuple[gymnasium.Space[Any], gymnasium.Space[Any]], description: str | None = None
) -> Iterator[DatasetWriter]:
    """Yield a writer; the dataset appears when all rows are written, and after an exception not at all."""
    path = find_folder(name)
    if os.path.lexists(path):
        raise FileExistsError(f"the dataset {name} exists already, in {path}; choose another name or version")
    with create_folder(path) as stage:
        writer = DatasetWriter(stage / "data", name, recipe, spaces)
        yield writer
        writer.finish(description)
        from minari.namespace import create_namespace, list_local_namespaces

        namespace = name.rpartition("/")[0]
        if namespace and namespace not in list_local_namespaces():
            create_namespace(namespace)


class DatasetWriter:
    """Write rows to a new folder, in the form of Minari's storage of HDF5; `open_writer` makes one."""

    def __init__(
        self, folder: Path, name: str, recipe: Recipe, spaces: tuple[gymnasium.Space[Any], gymnasium.Space[Any]]
    ) -> None:
        from minari.dataset.minari_storage import MinariStorage

        spec = find_spec(recipe.config, row_column=recipe.row_column)
        self._storage: Any = MinariStorage.new(folder, *spaces, spec, data_format="hdf5")
        self._recipe, self._name = recipe, name
        self.num_episodes = 0
        """The number of the worlds' episodes that were added."""
        self._rows: list[AgentRow] = []
        self._num_bytes = 0
        self._digest = hashlib.sha256()

    def wrap(self, env: Any) -> Any:
        """Return an env that plays the recipe with the observations and states of the rows."""
        return wrap_env(env, self._recipe)

    def make_buffer(self, env: Any) -> EpisodeBuffer:
        """Return a buffer for the next episode of an env that `wrap` returned; `add` takes its rows."""
        return EpisodeBuffer(env, with_states=find_spec(self._recipe.config) is None)

    def add(self, rows: Iterable[AgentRow]) -> None:
        """Add the rows of the next episode of a world; they are written as soon as there are enough of them."""
        self.num_episodes += 1
        for row in rows:
            self._rows.append(row)
            self._num_bytes += row.num_bytes
            update_digest(self._digest, row.ids, _arrays_of(row))
        if self._num_bytes >= _BYTES_TOGETHER:
            self._write()

    @property
    def checksum(self) -> str:
        """The SHA-256 of all rows that were added, 64 hexadecimal digits."""
        return self._digest.hexdigest()

    def finish(self, description: str | None) -> None:
        """Write the last rows and the metadata."""
        self._write()
        versions = {"multigrid": __version__, **list_versions(*_LIBRARIES)}
        recipe = self._recipe.fields() | {"versions": versions, "sha256": self.checksum}
        metadata = {
            "dataset_id": self._name,
            "minari_version": versions["minari"],
            "algorithm_name": self._recipe.policy,
            "requirements": ["multigrid-marl"],
            KEY: recipe,
        }
        self._storage.update_metadata(metadata | ({} if description is None else {"description": description}))

    def _write(self) -> None:
        from minari.data_collector import EpisodeBuffer as MinariBuffer

        first, count = self._storage.total_episodes, len(self._rows)
        self._storage.update_episodes(MinariBuffer(**_arrays_of(row)) for row in self._rows)
        self._storage.update_episode_metadata([row.ids for row in self._rows], range(first, first + count))
        self._rows, self._num_bytes = [], 0


def _arrays_of(row: AgentRow) -> Mapping[str, Any]:
    """Return the arrays of a row, by the names of Minari."""
    infos = {} if row.states is None else {"state": row.states}
    values = (row.observations, row.actions, row.rewards, row.terminations, row.truncations, infos)
    return dict(zip(ARRAYS, values, strict=True))
