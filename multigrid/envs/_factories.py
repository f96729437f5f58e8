"""`parallel_env`, `env` and `vector_env`: environments of N agents, from a `GridConfig` or its fields as keywords."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_origin, get_type_hints

from gymnasium.vector import AutoresetMode
from typing_extensions import Unpack

from multigrid._checks import unexpected_keywords
from multigrid.config import GridConfig, GridOptions, resolve_config
from multigrid.game import describe
from multigrid.rendering._frame import WINDOW_SIZE

if TYPE_CHECKING:
    from multigrid.envs._annotations import ObservationType
    from multigrid.envs.aec import MultiGridAECEnv
    from multigrid.envs.parallel import MultiGridEnv
    from multigrid.envs.vector import MultiGridVectorEnv

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _show_fields(function: _Function) -> _Function:
    """Show the fields of `GridConfig` in a function's signature, in the place of its last parameter, ``**options``."""
    signature, kind = inspect.signature(function), inspect.Parameter.KEYWORD_ONLY
    hints = {name: getattr(hint, "__forward_arg__", hint) for name, hint in GridOptions.__annotations__.items()}
    # The names of rules are written out.
    hints |= {name: hint for name, hint in get_type_hints(GridOptions).items() if get_origin(hint) is Literal}
    fields = [
        inspect.Parameter(field.name, kind, default=field.default, annotation=hints[field.name])
        for field in dataclasses.fields(GridConfig)
    ]
    parameters = [*list(signature.parameters.values())[:-1], *fields]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function


def _resolve_options(function: Callable[..., Any], config: GridConfig | None, options: GridOptions) -> GridConfig:
    """Return the config passed to a function, or a config of its options; raise TypeError for unknown options."""
    names = inspect.signature(function).parameters
    game = options.get("game")
    known = {} if game is None else describe(game).options
    if not options.keys() <= names.keys() | known.keys():
        raise unexpected_keywords(function.__name__, options, [*known, *names])
    if own := known.keys() & options.keys():
        given: dict[str, Any] = dict(options)
        if twice := own & set(given.get("options") or ()):
            raise TypeError(f"{min(twice)} is given twice, as a keyword and in options; give it once")
        values = {name: given.pop(name) for name in own}
        options = {**given, "options": {**(given.get("options") or {}), **values}}  # type: ignore[typeddict-item]
    return resolve_config(config, **options)


@_show_fields
def parallel_env(
    config: GridConfig | None = None,
    *,
    render_mode: str | None = None,
    render_size: int = WINDOW_SIZE,
    render_trails: int = 0,
    render_view: int | None = None,
    **options: Unpack[GridOptions],
) -> MultiGridEnv[ObservationType]:
    """Return a PettingZoo ParallelEnv of a `GridConfig`, or of its fields as keywords.

    The `render_...` keywords are those of `MultiGridEnv`.

    Raises:
        TypeError: both a config and keywords, or a keyword that is no field of `GridConfig`.
        ValueError: as `GridConfig` and `MultiGridEnv`.

    >>> parallel_env(num_agents=3, size=(6, 4)).possible_agents
    ['agent_0', 'agent_1', 'agent_2']

    See the page "MultiGrid" (docs/environments/multi_grid.md in the source).
    """
    from multigrid.envs.parallel import MultiGridEnv

    config = _resolve_options(parallel_env, config, options)
    return MultiGridEnv(
        config, render_mode, render_size=render_size, render_trails=render_trails, render_view=render_view
    )


@_show_fields
def env(
    config: GridConfig | None = None,
    *,
    render_mode: str | None = None,
    render_size: int = WINDOW_SIZE,
    render_trails: int = 0,
    render_view: int | None = None,
    **options: Unpack[GridOptions],
) -> MultiGridAECEnv:
    """Return a PettingZoo AECEnv: `parallel_env`, but the agents act in turn.

    The keywords are those of `parallel_env`.

    Raises:
        TypeError, ValueError: as `parallel_env`.

    >>> env(num_agents=2).possible_agents
    ['agent_0', 'agent_1']

    See the page "MultiGrid" (docs/environments/multi_grid.md in the source).
    """
    from multigrid.envs.aec import MultiGridAECEnv
    from multigrid.envs.parallel import MultiGridEnv

    config = _resolve_options(env, config, options)
    return MultiGridAECEnv(
        MultiGridEnv(config, render_mode, render_size=render_size, render_trails=render_trails, render_view=render_view)
    )


@_show_fields
def vector_env(
    num_worlds: int,
    config: GridConfig | None = None,
    *,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    render_mode: str | None = None,
    copy: bool = True,
    num_threads: int = 1,
    metrics: bool = True,
    **options: Unpack[GridOptions],
) -> MultiGridVectorEnv[ObservationType]:
    """Return a `MultiGridVectorEnv` of a `GridConfig`, or of its fields as keywords.

    Raises:
        TypeError: both a config and keywords, or a keyword that is no field of `GridConfig`.
        ValueError: as `GridConfig` and `MultiGridVectorEnv`.

    >>> vector_env(100, num_agents=8, size=16).num_envs
    800

    See the page "MultiGrid, many worlds" (docs/environments/multi_grid_vector.md in the source).
    """
    from multigrid.envs.vector import MultiGridVectorEnv

    return MultiGridVectorEnv(
        _resolve_options(vector_env, config, options),
        num_worlds,
        autoreset_mode=autoreset_mode,
        render_mode=render_mode,
        copy=copy,
        num_threads=num_threads,
        metrics=metrics,
    )


def one_agent_error(function: str, instead: str, given: Mapping[str, object], names: Collection[str]) -> TypeError:
    """Return the error for unknown keywords of a function that creates environments of one agent."""
    fields = [name for name in given if name in GridOptions.__annotations__ and name not in names]
    if not fields:
        return unexpected_keywords(function, given, names)
    call = f"multigrid.{instead}({', '.join(f'{name}=...' for name in fields)})"
    return TypeError(f"{function}() has one agent and no option {', '.join(fields)}; call {call}")
