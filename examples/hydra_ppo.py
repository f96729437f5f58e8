"""The training of `examples.ppo` under Hydra, with every field of its options, and of the world, as a key.

Install: ``pip install "multigrid-marl" hydra-core torch``. Run:
``python -m examples.hydra_ppo 'grid.size=[6,4]' grid.on_target=leave steps=100000``, or with
``--multirun grid.num_agents=1,2,3`` for a training of each.
"""

from __future__ import annotations

from multigrid.integrations.extras import exit_without

if __name__ == "__main__":
    exit_without("hydra", "torch", text=__doc__)

import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from examples import ppo
from multigrid import GridConfig

__all__ = ["main", "make_schema"]


def make_schema() -> DictConfig:
    """Return the options of `ppo` as a schema, whose values Hydra can replace.

    >>> schema = make_schema()
    >>> schema.merge_with({"steps": 9, "grid": {"size": [6, 4]}})
    >>> OmegaConf.to_object(schema).grid.width
    6
    """
    schema = OmegaConf.structured(ppo.Options)
    OmegaConf.set_readonly(schema, value=False)  # Hydra replaces nothing in the schema of a frozen dataclass
    schema.grid = GridConfig  # with size and num_agents None, so that a map can set them
    OmegaConf.set_readonly(schema.grid, value=False)
    return schema


@hydra.main(version_base=None, config_name="ppo")  # type: ignore[untyped-decorator] # mypy skips Hydra
def main(settings: DictConfig) -> float:
    """Train, and return the success rate on held-out episodes, for sweepers that maximise it."""
    return ppo.main(OmegaConf.to_object(settings)).after.success_rate


if __name__ == "__main__":
    ConfigStore.instance().store(name="ppo", node=make_schema())
    main()
